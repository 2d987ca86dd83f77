"""A lock that ends with its holder: one writer per output, and left-overs that can be told from work in progress.

The lock is a file that is held open and locked by the operating system (``flock``; on Windows a locked byte), which
lets go when the process ends, however it ends. Its name is removed while it is still held, so whoever locks a file
looks once more whether that file still has the name.

On some shared file systems a lock holds on one machine only. The file therefore names the machine of its holder. A lock
that names another machine counts as held until it is a week old, because its holder cannot be asked.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import sys
import time
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Self

from discreet.errors import SystemFailureError

#: Between two looks at a lock that somebody holds.
_PAUSE_SECONDS = 0.01
#: How long a lock of another machine is believed: longer than any release takes.
_BELIEVED_SECONDS = 7 * 24 * 3600.0
#: What file systems without locks answer.
_NO_LOCKS = {errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.ENOLCK, errno.EINVAL}
#: Bytes of the name of a machine.
_MACHINE_BYTES = 300


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
        flags = sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_CLOEXEC", "O_NONBLOCK", "O_BINARY"))
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | flags, 0o600)
        except PermissionError:
            if path.exists():  # somebody else's
                return None
            raise
        try:
            held = _lock(descriptor)
            if held is not False and _has_name(descriptor, path) and not _held_elsewhere(descriptor):
                os.ftruncate(descriptor, 0)
                os.write(descriptor, machine())
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


@cache
def machine() -> bytes:
    """Name this machine since it was started: processes with the same name see each other's locks."""
    try:
        started = Path("/proc/sys/kernel/random/boot_id").read_bytes().strip()
    except OSError:  # not Linux
        started = b"-"
    return (started + b" " + socket.gethostname().encode(errors="replace"))[:_MACHINE_BYTES]


def holder(path: Path) -> str:
    """The name of the other machine on which a lock is held; empty if it is this one."""
    with contextlib.suppress(OSError):
        said, ours = path.read_bytes()[:_MACHINE_BYTES], machine()
        if said.partition(b" ")[0] != ours.partition(b" ")[0]:
            return said.partition(b" ")[2].decode(errors="replace")
    return ""


def _held_elsewhere(descriptor: int) -> bool:
    """Whether a lock that this machine does not hold may be held by a process on another one."""
    said = os.read(descriptor, _MACHINE_BYTES)
    os.lseek(descriptor, 0, os.SEEK_SET)
    (started, _, host), (our_start, _, our_host) = said.partition(b" "), machine().partition(b" ")
    if not said or started == our_start:  # of an earlier version, or of this machine, whose lock was just had
        return False
    written = os.fstat(descriptor).st_mtime
    if host == our_host and not host.startswith(b"localhost") and written < time.time() - time.monotonic():
        return False  # this machine was started again since
    return time.time() - written < _BELIEVED_SECONDS


def _lock(descriptor: int) -> bool | None:
    """True when it is ours now, False when somebody holds it, None when this cannot be known here."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:
        message = "this system has no locks for files, so discreet writes nothing here; use Linux or macOS"
        raise SystemFailureError(message) from None
    except OSError as error:
        return None if error.errno in _NO_LOCKS else False
    return True


def _has_name(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False
