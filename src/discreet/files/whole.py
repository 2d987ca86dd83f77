"""The one way in which a file is written: it appears complete or not at all, and never instead of what is read.

A file is written as ``.discreet-<name>.tmp`` beside its place, readable by its owner alone and under the lock of its
name. It gets its name when its bytes are on the disk. What a killed process left is removed by the next writer of the
name, or by the next release into the folder.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from discreet import arguments
from discreet.errors import Argument, ReleaseError, SystemFailureError
from discreet.files.lock import Lock, holder

#: A writer that tidies a folder holds the locks of other names for a moment; one that writes takes longer.
PATIENCE_SECONDS = 2.0
#: What is read, or kept, by the command that writes: what it is called in a sentence, and where it lies.
Inputs = Iterable[tuple[str, Path]]


def write_whole(
    path: str | os.PathLike[str],
    content: bytes,
    *,
    overwrite: bool = False,
    inputs: Inputs = (),
    private: bool = False,
) -> None:
    """Write a file that appears complete or not at all; see :func:`whole_file`."""
    with whole_file(path, overwrite=overwrite, inputs=inputs, private=private) as sink:
        sink.write(content)


@contextlib.contextmanager
def whole_file(
    path: str | os.PathLike[str], *, overwrite: bool = False, inputs: Inputs = (), private: bool = False
) -> Iterator[IO[bytes]]:
    """Write a file that appears complete when the block ends, and not at all if it is left by an error.

    Parameters
    ----------
    path : path
        Where it appears. A link, a folder, a pipe or a device is never written to.
    overwrite : bool
        Whether an ordinary file of this name is replaced.
    inputs : iterable of (str, Path)
        What the command reads, each with what it is: it stays, also under its other names.
    private : bool
        Whether only the owner can read the file. Otherwise a replaced file keeps its mode.

    Raises
    ------
    ReleaseError
        The name is taken, or cannot be written to.
    SystemFailureError
        The machine failed; nothing is left behind.
    """
    final = check_new(path, overwrite=overwrite, inputs=inputs)
    with writing(final), hold(final):
        temporary = temporary_path(final)
        temporary.unlink(missing_ok=True)
        mode = 0o600 if private else ordinary_mode()
        if not private and final.is_file():
            mode = stat.S_IMODE(final.stat().st_mode)
        try:
            with create_private(temporary) as sink:
                yield sink
                flush(sink)
            with contextlib.suppress(OSError):  # on some mounted file systems a mode cannot be set
                temporary.chmod(mode)
            take_name(temporary, final, overwrite=overwrite)
            sync_folder(final.parent)
        finally:
            temporary.unlink(missing_ok=True)


def check_new(path: str | os.PathLike[str], *, overwrite: bool = False, inputs: Inputs = ()) -> Path:
    """A name that a file can be written to, refused before anything is computed."""
    final = arguments.path(path, "output", ReleaseError)
    if not final.name:
        raise ReleaseError(f'"{final}" is not the name of a file')
    if not final.parent.is_dir():
        raise ReleaseError(f"there is no folder {final.parent}")
    refuse_inputs((final,), inputs)
    if final.is_symlink():
        raise ReleaseError(f"{final} is a link, which is never written to; name the file itself")
    if final.is_dir():
        raise ReleaseError(f"{final} is a folder, not a file")
    if os.path.lexists(final) and not final.is_file():
        raise ReleaseError(f"{final} is not an ordinary file; choose another name")
    if not overwrite and os.path.lexists(final):
        raise already_there(final)
    return final


def refuse_inputs(targets: Iterable[Path], inputs: Inputs) -> None:
    """Refuse to write over what a command reads, also through links and other spellings of a name."""
    targets = list(targets)
    for what, file in inputs:
        for target in targets:
            if is_same_file(target, file):
                if what == "the input":
                    raise ReleaseError("the output is the input; choose another name, so that the truth is kept apart")
                raise ReleaseError(f"{target} is {what}; choose another name for the output")


def is_same_file(one: Path, other: Path) -> bool:
    """Whether two names lead to one file; names without a file are compared as if case did not matter."""
    try:
        return one.samefile(other)
    except OSError:
        return os.path.realpath(one).casefold() == os.path.realpath(other).casefold()


def already_there(path: Path) -> ReleaseError:
    """The sentence for a file that was not to be replaced."""
    return ReleaseError(f"{path} exists already; ", Argument("overwrite=True"), " replaces it")


def temporary_path(output: Path) -> Path:
    """Where an output is written until it is complete."""
    return output.with_name(f".discreet-{output.name}.tmp")


def replaced_path(output: Path) -> Path:
    """Where a folder waits while another one takes its name, on systems that cannot exchange two names at once."""
    return output.with_name(f".discreet-{output.name}.old")


def lock_path(output: Path) -> Path:
    """The lock of the one writer of an output."""
    return output.with_name(f".discreet-{output.name}.lock")


def hold(output: Path) -> Lock:
    """Become the one writer of a name."""
    lock = Lock.take(lock_path(output), PATIENCE_SECONDS)
    if lock is None:
        elsewhere = holder(lock_path(output))
        if elsewhere:
            raise ReleaseError(
                f"{output} is being written on the machine {elsewhere}, or was when that stopped; "
                f"if nothing writes it there, remove {lock_path(output).name}"
            )
        raise ReleaseError(f"{output} is being written by another process; wait for it, or choose another name")
    return lock


def create_private(path: Path) -> IO[bytes]:
    """A new file that only its owner can read."""
    flags = os.O_CLOEXEC if hasattr(os, "O_CLOEXEC") else 0
    return open(path, "xb", opener=lambda name, given: os.open(name, given | flags, 0o600))  # the caller closes it


def flush(sink: IO[bytes]) -> None:
    """Have the bytes on the disk before the name points to them."""
    sink.flush()
    os.fsync(sink.fileno())
    sink.close()


def take_name(temporary: Path, final: Path, *, overwrite: bool) -> None:
    """Give a complete file its name; without ``overwrite`` a file of that name stays."""
    if overwrite:
        temporary.replace(final)
        return
    try:
        os.link(temporary, final)
    except FileExistsError:
        raise already_there(final) from None
    except OSError:  # a file system without hard links
        if os.path.lexists(final):
            raise already_there(final) from None
        temporary.replace(final)
    else:
        temporary.unlink()


def exchange(one: Path, other: Path) -> bool:
    """Exchange the names of two folders in one step; False where the system or its file system cannot."""
    import ctypes

    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None) if sys.platform == "linux" else None
    if rename is None:
        return False
    sys.audit("os.rename", str(one), str(other), -1, -1)
    here, swap = ctypes.c_int(-100), ctypes.c_uint(2)  # AT_FDCWD and RENAME_EXCHANGE of Linux
    if rename(here, os.fsencode(one), here, os.fsencode(other), swap) == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EXDEV):
        return False
    raise OSError(code, os.strerror(code), str(other))


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Say what the machine could not do, and where."""
    try:
        yield
    except OSError as error:
        if isinstance(error, SystemFailureError):
            raise
        reason = error.strerror or "the file system refused"
        raise SystemFailureError(f"{path.resolve()} cannot be written: {reason}; nothing was left behind") from None


def ordinary_mode() -> int:
    """The permissions of a file that is made without asking for any.

    The mask of the process is never set, not even for a moment: all threads share it.
    """
    with contextlib.suppress(OSError, ValueError, IndexError):
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        return 0o666 & ~int(status.partition("\nUmask:")[2].split()[0], 8)
    with tempfile.TemporaryDirectory() as folder:  # a new file shows the mask of systems that do not state it
        descriptor = os.open(Path(folder) / "empty", os.O_WRONLY | os.O_CREAT, 0o666)
        try:
            return stat.S_IMODE(os.fstat(descriptor).st_mode)
        finally:
            os.close(descriptor)


def sync_folder(folder: Path) -> None:
    """Have the names in a folder on the disk."""
    with contextlib.suppress(OSError):  # not every system lets a folder be opened
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
