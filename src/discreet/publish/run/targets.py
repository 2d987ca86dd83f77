"""What a release may write to: a new name, an output that is to be replaced, and never anything that is read."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from pathlib import Path

from discreet import arguments
from discreet.errors import ReleaseError
from discreet.files.whole import already_there, refuse_inputs
from discreet.manifest.storage import is_torn, sidecar_path
from discreet.publish.run.commit import refuse_stranger
from discreet.tables.readers import CSV, PARQUET


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
