"""A lock that ends with its holder: one writer per output, and left-overs that can be told from work in progress.

The lock is a file that is held open and locked by the operating system (``flock``; on Windows a locked byte), which
lets go when the process ends, however it ends. Its name is removed while it is still held, so whoever locks a file
looks once more whether that file still has the name.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

#: Between two looks at a lock that somebody holds.
_PAUSE_SECONDS = 0.01
#: What file systems without locks answer.
_NO_LOCKS = {errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.ENOLCK, errno.EINVAL}


class Lock:
    """A name that one process holds.

    Attributes
    ----------
    certain : bool
        False on a file system without locks, where nobody can know whether the last holder still lives.
    """

    def __init__(self, path: Path, descriptor: int, *, certain: bool) -> None:
        self.path = path
        self.certain = certain
        self._descriptor: int | None = descriptor

    @classmethod
    def take(cls, path: Path, patience: float = 0.0) -> Self | None:
        """The lock of this name, or None when it is still held by somebody after so many seconds."""
        deadline = time.monotonic() + patience
        while True:
            lock = cls._try(path)
            if lock is not None or time.monotonic() >= deadline:
                return lock
            time.sleep(_PAUSE_SECONDS)

    @classmethod
    def _try(cls, path: Path) -> Self | None:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
        except PermissionError:
            if path.exists():  # somebody else's
                return None
            raise
        try:
            held = _lock(descriptor)
            if held is not False and _has_name(descriptor, path):
                lock = cls(path, descriptor, certain=held is True)
                descriptor = -1
                return lock
            return None
        finally:
            if descriptor >= 0:
                os.close(descriptor)

    def release(self) -> None:
        """Take the name away and let go."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is None:
            return
        if sys.platform == "win32":  # where an open file keeps its name
            os.close(descriptor)
        with contextlib.suppress(OSError):
            self.path.unlink(missing_ok=True)
        if sys.platform != "win32":
            os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def _lock(descriptor: int) -> bool | None:
    """True when it is ours now, False when somebody holds it, None when this cannot be known here."""
    try:
        if sys.platform == "win32":
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return None if error.errno in _NO_LOCKS else False
    return True


def _has_name(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False
