"""How a release appears under its name: whole, or not at all, wherever the process is killed.

While ``out.csv`` is written there are, beside it and readable by nobody else,

``.discreet-out.csv.lock``
    held by the one process that may write ``out.csv``,
``.discreet-out.csv.tmp``
    the table as far as it is written,
``.discreet-out.csv.manifest``
    in the last moment, the manifest that belongs beside the table.

A release in a folder is written into ``.discreet-out.tmp`` and that folder renamed (``folder_output``).

The table is then renamed to its name, which is the moment that counts, and the manifest after it. What a killed
process left is put right at the next start: a table that did not get its name is removed, and the manifest that waits
with it; a manifest that waits alone is put in place if the digest says that it belongs to the table that is there.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import time
import warnings
from collections.abc import Iterable
from pathlib import Path

from discreet import arguments
from discreet.errors import ReleaseError
from discreet.files.lock import Lock
from discreet.files.whole import (
    already_there,
    create_private,
    flush,
    hold,
    lock_path,
    ordinary_mode,
    refuse_inputs,
    replaced_path,
    sync_folder,
    take_name,
    temporary_path,
)
from discreet.manifest.storage import belongs, is_manifest, is_torn, manifest_bytes, sidecar_path, staged_path
from discreet.tables.readers import CSV, PARQUET


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


_LEFT_OVER = re.compile(r"\.discreet-(?P<output>.+)\.(?:tmp|lock|manifest|old)", re.DOTALL)
#: How long executors that have lost their driver may go on writing.
_LINGERING_SECONDS = 10.0
#: What the system says of a folder to which something is added while it is removed.
_STILL_WRITTEN = frozenset({errno.ENOTEMPTY, errno.EEXIST, errno.EISDIR, errno.ENOENT})


def claim(output: Path) -> Lock:
    """Become the one writer of an output, and tidy up what killed writers left in its folder."""
    lock = hold(output)
    try:
        if lock.certain:
            recover(output)
            _sweep(output.parent)
        return lock
    except BaseException:
        lock.release()
        raise


def recover(output: Path) -> None:
    """Finish or undo what was begun for an output. Whoever calls this holds its lock."""
    waiting = staged_path(output)
    with contextlib.suppress(FileNotFoundError):
        if not _waits_for_its_name(output) and _belongs(waiting, output):
            finish(output)
        else:
            waiting.unlink()
    remove(temporary_path(output))
    if replaced_path(output).is_dir():  # a folder that was to be replaced
        if os.path.lexists(output):
            remove(replaced_path(output))
        else:
            replaced_path(output).rename(output)


def remove(path: Path) -> None:
    """A file or a folder that did not get its name.

    Executors that outlive a killed driver may go on writing into its folder for a moment: then it is tried again.
    """
    patience = time.monotonic() + _LINGERING_SECONDS
    while True:
        try:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
            return
        except OSError as error:
            if error.errno not in _STILL_WRITTEN or time.monotonic() > patience:
                raise
            time.sleep(0.05)


def _waits_for_its_name(output: Path) -> bool:
    """Whether a new table is there that is not yet the output; its bytes may be those of the old one all the same."""
    temporary = temporary_path(output)
    with contextlib.suppress(FileNotFoundError):
        return not temporary.samefile(output)  # for a moment a table that is named by a link has both names
    return os.path.lexists(temporary)


def put_in_place(output: Path, manifest: bytes | None, *, overwrite: bool) -> None:
    """Give a complete table its name, and then the manifest beside it, if there is one."""
    replace = overwrite or is_torn(output)
    stale = _sidecar_of(output) if manifest is None else None
    if manifest is not None:
        refuse_stranger(sidecar_path(output))
        with create_private(staged_path(output)) as sink:
            sink.write(manifest)
            flush(sink)
        with contextlib.suppress(OSError):  # it holds no reports, and readers may need it
            staged_path(output).chmod(ordinary_mode())
        sync_folder(output.parent)
    take_name(temporary_path(output), output, overwrite=replace)
    with contextlib.suppress(OSError):  # the release is there; what is left can be done at the next start
        finish(output)
        if stale is not None:
            stale.unlink()
    sync_folder(output.parent)


def finish(output: Path) -> None:
    """What follows once a table has its name: others may read it, and the manifest goes beside it."""
    with contextlib.suppress(OSError):  # on some mounted file systems a mode cannot be set
        output.chmod(ordinary_mode())
    with contextlib.suppress(FileNotFoundError):
        staged_path(output).replace(sidecar_path(output))


def refuse_stranger(sidecar: Path) -> None:
    """A file where the manifest must go is replaced only if it is a manifest."""
    if os.path.lexists(sidecar) and not (sidecar.is_file() and is_manifest(manifest_bytes(sidecar))):
        raise ReleaseError(f"{sidecar} exists and is not a manifest of discreet; move it away, or choose another name")


def _sidecar_of(output: Path) -> Path | None:
    """The manifest beside the table that is there now."""
    with contextlib.suppress(OSError):
        if _belongs(sidecar_path(output), output):
            return sidecar_path(output)
    return None


def _belongs(manifest: Path, output: Path) -> bool:
    """Whether what lies there is the manifest of a table; a pipe or a device is none."""
    try:
        return belongs(manifest_bytes(manifest), output)
    except ReleaseError:
        return False


def _sweep(folder: Path) -> None:
    """Finish or undo what killed processes of the same user left for other outputs of this folder."""
    with contextlib.suppress(OSError):  # not every folder that can be written to can be listed
        found = (_LEFT_OVER.fullmatch(entry.name) for entry in os.scandir(folder) if _is_mine(entry))
        for name in sorted({match["output"] for match in found if match}):
            lock = Lock.take(lock_path(folder / name))
            if lock is not None:
                with lock, contextlib.suppress(OSError):
                    if lock.certain:
                        recover(folder / name)


def _is_mine(entry: os.DirEntry[str]) -> bool:
    if not entry.name.startswith(".discreet-") or entry.is_symlink():
        return False
    if not (entry.is_file() or entry.is_dir()):
        return False
    return not hasattr(os, "geteuid") or entry.stat(follow_symlinks=False).st_uid == os.geteuid()


class ReplacedWarning(UserWarning):
    """A file is replaced that looks like an output but is no release."""


def check_output(output: str | os.PathLike[str], inputs: Iterable[tuple[str, Path]], *, overwrite: bool) -> Path:
    """A path that can be written to, refused before anything is read.

    Parameters
    ----------
    output : path
        Where the release is to go.
    inputs : iterable of (str, Path)
        What the run reads or keeps, each with what it is: it stays, whatever its other names are.
    overwrite : bool
        Whether a release or another table may be replaced.
    """
    path = arguments.path(output, "output", ReleaseError)
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise ReleaseError("the path of the output is not UTF-8, so it could not be opened; choose another") from None
    suffix = path.suffix.lower()
    if suffix not in (*PARQUET, *CSV, ""):
        raise ReleaseError(
            f'{path.name}: "{suffix}" is not a kind of table that can be written; use .parquet or .csv, '
            "or a name without an ending for a folder of parts"
        )
    if not path.name:
        raise ReleaseError("the output has no name; use out.parquet, out.csv, or a name without an ending for a folder")
    if not path.parent.is_dir():
        raise ReleaseError(f"there is no folder {path.parent}")
    if suffix == "":
        inputs = list(inputs)
        refuse_inputs((path,), inputs)
        refuse_inside(path, inputs)
        return path
    if path.is_dir():
        raise ReleaseError(f"{path} is a folder, not a file")
    inputs = list(inputs)
    refuse_inside(path, inputs)
    refuse_inputs((path, sidecar_path(path)), inputs)
    refuse_existing(path, overwrite=overwrite)
    if not overwrite and is_torn(path):
        message = f"{path} does not match the manifest beside it, so it is no release; it is replaced"
        warnings.warn(message, ReplacedWarning, stacklevel=4)
    return path


def refuse_inside(target: Path, inputs: Iterable[tuple[str, Path]]) -> None:
    """Refuse to write into a folder that is read."""
    for what, folder in inputs:
        if folder.is_dir() and target.resolve().is_relative_to(folder.resolve()):
            raise ReleaseError(f"{target} lies inside {what}; choose a place outside, so that the truth is kept apart")


def refuse_existing(path: Path, *, overwrite: bool) -> None:
    """Refuse a name that is taken; a table that does not match its manifest is no release, and may go."""
    if path.suffix.lower() in CSV:
        refuse_stranger(sidecar_path(path))
    if not overwrite and os.path.lexists(path) and not is_torn(path):
        raise already_there(path)
