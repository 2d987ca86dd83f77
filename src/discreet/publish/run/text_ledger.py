"""The ledger of earlier versions: one JSON object per line of a text file, which is read once and left as it is."""

from __future__ import annotations

import json
from pathlib import Path

from discreet.errors import DiscreetError
from discreet.files import ordinary_content, ordinary_file
from discreet.publish.run.entry import Entry

#: Bytes of a ledger of earlier versions: a million entries.
_MOST_BYTES = 1_000_000_000
#: How every line began, and how an SQLite file begins.
_START, _SQLITE = b'{"path": ', b"SQLite format 3\0"


def read_text_ledger(path: Path) -> tuple[list[Entry], int]:
    """The entries of a text ledger, and the number of lines that hold none.

    A line ends at a line feed and nowhere else: titles may hold other characters that look like one. An entry that
    was written behind a truncated one, on the same line, is found.
    """
    entries, damaged = [], 0
    for line in ordinary_content(path, _MOST_BYTES).split(b"\n"):
        if not line.strip():
            continue
        whole = _entry(line)
        found = whole or _entry(line[max(line.rfind(_START), 0) :])
        if found is not None:
            entries.append(found)
        damaged += whole is None
    return entries, damaged


def is_text_ledger(path: Path) -> bool:
    """Whether a file is a ledger of earlier versions, however damaged."""
    if not path.is_file():
        return False
    with ordinary_file(path) as file:
        beginning = file.read(len(_SQLITE))
    if beginning == _SQLITE:  # whatever its titles look like
        return False
    return beginning.startswith(_START) or bool(read_text_ledger(path)[0])


def _entry(line: bytes) -> Entry | None:
    try:
        data = json.loads(line)
        return Entry.from_dict(data) if isinstance(data, dict) else None
    except (KeyError, TypeError, ValueError, RecursionError, DiscreetError):
        return None
