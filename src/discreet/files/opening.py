"""The one way in which a file is opened for reading.

A path that a user or a received file names may lead to a pipe or a device, which may never end or never begin. The kind
of a file is therefore checked before it is opened, it is opened without waiting, and the open file is checked again.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple, TextIO

from discreet.errors import InputError, ReleaseError, SystemFailureError

#: Bytes that are read at once: room for all that is allowed is never asked for before it is needed.
_READ_BYTES = 1 << 18
#: Nothing waits, no program that is started inherits the file, no terminal becomes ours, and bytes stay bytes.
_FLAGS = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_BINARY"))
_KINDS = ((stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"))


class Identity(NamedTuple):
    """Which file it was that was opened: another file of the same name, or a changed one, has another."""

    device: int
    number: int
    size: int
    changed: int

    @classmethod
    def of(cls, status: os.stat_result) -> Identity:
        """Of a file by what the system says about it."""
        return cls(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


def ordinary_file(
    path: Path, error: type[InputError] = ReleaseError, *, same: Identity | None = None, buffering: int = -1
) -> IO[bytes]:
    """Open an ordinary file for reading bytes.

    Parameters
    ----------
    path : Path
        Its name; links are followed.
    error : type
        What is raised for a file of another kind.
    same : Identity, optional
        Of the file that was opened under this name before: another one is refused.
    buffering : int
        As for ``open``.

    Raises
    ------
    FileNotFoundError
        There is no file of this name; ``reading`` makes a sentence of it.
    InputError
        It is a folder, a pipe, a device, or a link that leads nowhere.
    """
    try:
        refuse_other_kinds(path, os.stat(path), error)
        file = os.fdopen(os.open(path, _FLAGS), "rb", buffering)
    except OSError as failure:
        if isinstance(failure, FileNotFoundError) and same is not None:
            raise error(f"{path} was replaced or removed after it was opened; open it again") from None
        if isinstance(failure, FileNotFoundError) and os.path.islink(path):
            raise error(f"{path} is a link to a file that does not exist") from None
        if failure.errno == errno.ELOOP:
            raise error(f"{path} is a link that leads back to itself") from None
        raise
    except InputError:
        raise
    except ValueError:  # a zero character, or half of a pair of surrogates
        raise error("a file cannot have this name") from None
    try:
        status = os.fstat(file.fileno())
        refuse_other_kinds(path, status, error)
        if same is not None and Identity.of(status) != same:
            raise error(f"{path} was replaced or changed after it was opened; open it again")
    except BaseException:
        file.close()
        raise
    return file


def refuse_other_kinds(path: Path, status: os.stat_result, error: type[InputError]) -> None:
    """Refuse whatever is no ordinary file: it may never end."""
    if not stat.S_ISREG(status.st_mode):
        kind = next((name for test, name in _KINDS if test(status.st_mode)), "a device")
        raise error(f"{path} is {kind}, not an ordinary file")


def ordinary_content(path: Path, most: int, error: type[InputError] = ReleaseError) -> bytes:
    """Everything in an ordinary file, refused if it has more bytes than ``most``; raises as ``ordinary_file`` does."""
    with ordinary_file(path, error, buffering=0) as file:
        pieces, size = [], 0
        while piece := file.read(_READ_BYTES):
            pieces.append(piece)
            size += len(piece)
            if size > most:
                raise error(f"{path.name} is over the limit of {most:,} bytes")
    return b"".join(pieces)


def file_sha256(path: Path) -> str:
    """The SHA-256 of an ordinary file; raises as ``ordinary_file`` does."""
    digest = hashlib.sha256()
    with ordinary_file(path, buffering=0) as file:
        while piece := file.read(_READ_BYTES):
            digest.update(piece)
    return digest.hexdigest()


def read_secret(path: Path, most: int, what: str, error: type[InputError]) -> bytes:
    """Everything in a file that nobody but its owner can read; raises as ``ordinary_file`` does."""
    with ordinary_file(path, error, buffering=0) as file:
        if os.name == "posix" and stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
            raise error(f"the {what} {path} can be read by others: chmod 600 {path}")
        return file.read(most + 1)


def ordinary_text(path: Path, encoding: str, error: type[InputError] = ReleaseError) -> TextIO:
    """Open an ordinary file for reading text, with its line ends as they are; raises as ``ordinary_file`` does."""
    return io.TextIOWrapper(ordinary_file(path, error), encoding=encoding, newline="")


@contextlib.contextmanager
def under_a_name(path: Path, same: Identity | None = None) -> Iterator[tuple[str, Identity]]:
    """An ordinary file for a library that opens files by name: a name that leads to the checked file, and which it is.

    Where the system has names for open files, the library opens the one that was checked, whatever happens to its
    path meanwhile.
    """
    with ordinary_file(path, same=same, buffering=0) as file:
        name = f"/dev/fd/{file.fileno()}"
        yield name if os.path.exists(name) else str(path), Identity.of(os.fstat(file.fileno()))


@contextlib.contextmanager
def reading(path: Path, error: type[InputError] = ReleaseError, what: str = "file") -> Iterator[None]:
    """Turn what the system says about a file into one sentence that quotes nothing from inside it."""
    try:
        yield
    except FileNotFoundError:
        raise error(f"there is no {what} {path}") from None
    except OSError as failure:
        if isinstance(failure, SystemFailureError):
            raise
        if failure.errno in (errno.ENAMETOOLONG, errno.ENOTDIR):
            raise error(f"there is no {what} {path}") from None
        raise SystemFailureError(f"{path} cannot be read: {failure.strerror or type(failure).__name__}") from None
