"""The files of a release in a folder: ``part-*.parquet``, and ``_manifest.json`` that names every one of them.

A release in a folder may be put together from tables that were appended to it one after the other, each under its own
noise. The rows of an addition follow those of the one before, and the order that the manifest states is that of the
rows inside each. Which addition a row came with is therefore public, like a column that was copied.

Whoever is in several additions is protected by what they promise together. Every addition declares how many rows a
person has in it; in the whole release a person has at most their sum, and ``rows_per_person`` and ``guarantee`` of the
manifest are those of that sum.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, Self

from discreet import limits
from discreet.blocks.checks import flag, mapping, text, whole
from discreet.engines import Engine, Local
from discreet.engines.local import available_cores
from discreet.errors import ManifestError, ReleaseError
from discreet.files import file_sha256, ordinary_content, ordinary_file
from discreet.manifest.digest import checked_sha256
from discreet.plain_text import one_line
from discreet.tables.readers import PARQUET, reading, refuse

#: The manifest of a folder. It is written last: a folder without it is no release.
MANIFEST_NAME = "_manifest.json"
#: How a Parquet file begins and ends.
_MAGIC = (b"PAR1", b"PARE")
#: What a part may be called; nothing in it leads out of the folder.
_NAME = re.compile(r"part-[A-Za-z0-9][A-Za-z0-9._-]*\.parquet")


@dataclass(frozen=True)
class PartFile:
    """One file of a release: its name, its rows and the SHA-256 of its bytes."""

    name: str
    rows: int
    sha256: str

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"name": self.name, "rows": self.rows, "sha256": self.sha256}

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Rebuild from plain data."""
        data = mapping(data, "a part")
        name = text(data.get("name"), "parts.name")
        if not _NAME.fullmatch(name):
            raise ManifestError("the manifest is damaged: a part must be called part-….parquet")
        return cls(name, whole(data.get("rows"), "parts.rows", 0), checked_sha256(data.get("sha256"), "parts.sha256"))

    @classmethod
    def of(cls, path: Path, rows: int) -> Self:
        """A file that is there."""
        return cls(path.name, rows, _sha256(path))


def files_from(data: Any) -> tuple[PartFile, ...]:
    """The parts that a manifest lists, each once; none when it is that of a single file."""
    if data is None:
        return ()
    if not isinstance(data, list) or not data:
        raise ManifestError('the manifest is damaged: "parts" must be a list of files')
    files = tuple(PartFile.from_dict(part) for part in data)
    if len({file.name for file in files}) < len(files):
        raise ManifestError("the manifest is damaged: a part is listed twice")
    return files


def manifest_of_folder(folder: Path) -> bytes:
    """What the manifest of a folder holds."""
    path = folder / MANIFEST_NAME
    with reading(path, "manifest"), contextlib.suppress(FileNotFoundError):
        return ordinary_content(path, limits.MANIFEST_BYTES)
    raise ReleaseError(f"{folder} is not a release: it has no {MANIFEST_NAME}, which is written last")


def check_files(folder: Path, files: tuple[PartFile, ...], engine: Engine | None = None) -> None:
    """Refuse a folder whose parts are not those of its manifest, by name and by SHA-256.

    Parts are read where the engine reads them.
    """
    if not files:
        raise ManifestError(f"{folder.name} does not match its manifest: that is the manifest of a single file")
    _refuse_others(folder, {file.name for file in files})
    read, names = _Sha256(str(folder.absolute())), [file.name for file in files]
    there = None if engine is None else engine.over_parts(names, read, add=False)
    found = Local(available_cores()).map_batches(names, read) if there is None else there
    for file, sha256 in zip(files, found, strict=True):
        if sha256 != file.sha256:
            raise ManifestError(
                f"{folder.name} does not match its manifest: {file.name} was changed after the release, "
                "its SHA-256 differs"
            )


def _refuse_others(folder: Path, listed: set[str]) -> None:
    """Refuse a part that is missing, and a file that some program would read as one more part.

    Programs differ in what they read: some take files of any name, some take hidden ones, and all follow links.
    """
    left, seen = set(listed), 0
    with reading(folder, "Parquet"):
        for place, below, files in os.walk(folder, onerror=refuse):
            links = [name for name in below if os.path.islink(os.path.join(place, name))]
            seen += len(files)
            if seen > limits.FOLDER_PARTS:
                raise ReleaseError(f"{folder} has more than {limits.FOLDER_PARTS:,} files")
            for name in (*sorted(files), *links):
                path = Path(place, name)
                inside = path.relative_to(folder).as_posix()
                if inside not in listed and inside != MANIFEST_NAME and _may_be_read(path):
                    raise ManifestError(f"{folder.name} does not match its manifest: {inside} is not in the manifest")
                left.discard(inside)
    for name in sorted(left):
        raise ManifestError(f"{folder.name} does not match its manifest: {name} is missing")


def _may_be_read(path: Path) -> bool:
    """Whether a program could read this as a Parquet file, or wait for it: by its name, by its kind, by its content."""
    if path.name.lower().endswith(PARQUET):
        return True
    try:
        with ordinary_file(path, buffering=0) as file:
            start = file.read(len(_MAGIC[0]))
            file.seek(max(os.fstat(file.fileno()).st_size - len(start), 0))
            return start in _MAGIC or file.read(len(start)) in _MAGIC
    except (OSError, ReleaseError):  # a pipe, a device, a link to a folder, a file that others may read
        return True


def check_rows(folder: Path, files: tuple[PartFile, ...], rows: Mapping[str, int]) -> None:
    """Refuse a part with another number of rows than its manifest states."""
    for file in files:
        if rows[file.name] != file.rows:
            raise ManifestError(
                f"{folder.name} does not match its manifest: {file.name} has {rows[file.name]} rows "
                f"where {file.rows} were released"
            )


@dataclass(frozen=True)
class _Sha256:
    """Of a part of a folder, by its name."""

    folder: str

    def __call__(self, name: str) -> str:
        return _sha256(Path(self.folder) / name)


def _sha256(path: Path) -> str:
    with reading(path, "Parquet"):
        return file_sha256(path)


@dataclass(frozen=True)
class Addition:
    """One table of several: when it was released, its rows, where its chance came from, and the rows a person has.

    Parameters
    ----------
    id : str
        Of the release that added it: the one that a ledger knows.
    created : str
        UTC, ISO 8601.
    rows : int
        Released rows.
    secure : bool or None
        Whether its chance came from the cryptographic generator; None when all of it was the respondents'.
    source : str
        Where its chance came from, in words.
    rows_per_person : int or None
        Declared for this table alone.
    """

    id: str
    created: str
    rows: int
    secure: bool | None
    source: str
    rows_per_person: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "id": self.id,
            "created": self.created,
            "rows": self.rows,
            "randomness": {"secure": self.secure, "source": self.source},
            "rows_per_person": self.rows_per_person,
        }

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Rebuild from plain data."""
        data = mapping(data, "an addition")
        chance = mapping(data.get("randomness"), "additions.randomness")
        secure, each = chance.get("secure"), data.get("rows_per_person")
        return cls(
            text(data.get("id"), "additions.id"),
            text(data.get("created"), "additions.created"),
            whole(data.get("rows"), "additions.rows", 1),
            None if secure is None else flag(secure, "additions.randomness.secure"),
            text(chance.get("source"), "additions.randomness.source"),
            None if each is None else whole(each, "additions.rows_per_person", 1),
        )


def additions_from(data: Any) -> tuple[Addition, ...]:
    """The additions that a manifest lists; none when everything was released at once."""
    if data is None:
        return ()
    if not isinstance(data, list) or len(data) < 2:
        raise ManifestError('the manifest is damaged: "additions" must be a list of at least two')
    return tuple(Addition.from_dict(one) for one in data)


def check_additions(
    additions: Sequence[Addition], rows: int, rows_per_person: int | None, files: Sequence[PartFile]
) -> None:
    """Refuse additions that do not make up the release: its rows, its rows per person, its parts."""
    if not additions:
        return
    if sum(one.rows for one in additions) != rows:
        raise ManifestError("the manifest is damaged: its additions are of another number of rows than it states")
    if len({one.id for one in additions}) < len(additions):
        raise ManifestError("the manifest is damaged: an addition is listed twice")
    if total_rows_per_person([one.rows_per_person for one in additions]) != rows_per_person:
        raise ManifestError("the manifest is damaged: its rows per person are not those of its additions together")
    ends = set(accumulate(file.rows for file in files))
    if files and not ends.issuperset(accumulate(one.rows for one in additions)):
        raise ManifestError("the manifest is damaged: an addition ends inside a part")


def total_rows_per_person(each: Sequence[int | None]) -> int | None:
    """Rows of a person who is in all additions, given those in each; None when one of them does not say."""
    declared = [rows for rows in each if rows is not None]
    return sum(declared) if len(declared) == len(each) else None


def total_security(additions: Sequence[Addition]) -> bool | None:
    """As secure as the least secure of them."""
    found = {one.secure for one in additions}
    return False if False in found else True if True in found else None


def described(additions: Sequence[Addition]) -> str:
    """One line for people."""
    each = ", ".join(f"{one.rows:,} rows on {one_line(one.created[:10])}" for one in additions)
    return f"Put together from {len(additions)} additions, one after the other: {each}"
