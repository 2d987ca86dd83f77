"""Whether something could be written in a folder, asked without writing."""

from __future__ import annotations

import errno
import os
from pathlib import Path


def refuse_place(folder: Path) -> None:
    """Raise what making a folder, or a file in it, would raise."""
    there = next(place for place in (folder, *folder.absolute().parents) if os.path.lexists(place))
    if not there.is_dir():
        code = errno.EEXIST if there == folder else errno.ENOTDIR
    elif not os.access(there, os.W_OK | os.X_OK):
        code = errno.EACCES
    else:
        return
    raise OSError(code, os.strerror(code))
