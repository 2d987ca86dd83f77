"""Every file that discreet reads or writes passes through this package, and through nothing else.

``opening``
    Opens an ordinary file for reading. A pipe, a device, a folder or a link that leads nowhere is refused in one
    sentence, without waiting for it.
``toml``
    Reads TOML that others wrote: plans, surveys, known totals.
``whole``
    Writes a file that appears complete or not at all, and that never replaces what a command reads.
``lock``
    Gives a name to one writer at a time.

`tests/architecture/test_files.py` searches the source for files that are opened in any other way.
"""

from discreet.files.lock import Lock
from discreet.files.opening import (
    Identity,
    ordinary_content,
    ordinary_file,
    ordinary_text,
    read_secret,
    reading,
    under_a_name,
)
from discreet.files.toml import check_received, parse_toml, path_inside, read_toml
from discreet.files.whole import refuse_inputs, whole_file, write_whole

__all__ = [
    "Identity",
    "Lock",
    "check_received",
    "ordinary_content",
    "ordinary_file",
    "ordinary_text",
    "parse_toml",
    "path_inside",
    "read_secret",
    "read_toml",
    "reading",
    "refuse_inputs",
    "under_a_name",
    "whole_file",
    "write_whole",
]
