"""The files of a release in a folder: ``part-*.parquet``, and ``_manifest.json`` that names every one of them."""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from discreet import limits
from discreet.engines import Engine, Local
from discreet.engines.local import available_cores
from discreet.errors import ManifestError, ReleaseError
from discreet.files import ordinary_content, ordinary_file
from discreet.manifest.checks import mapping, text, whole
from discreet.manifest.digest import checked_sha256
from discreet.manifest.tables import reading

#: The manifest of a folder. It is written last: a folder without it is no release.
MANIFEST_NAME = "_manifest.json"
#: While a table is appended: the names of its parts, one per line. Until the manifest lists them they are not there.
APPENDING_NAME = ".discreet-appending"
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


def check_files(folder: Path, files: tuple[PartFile, ...], present: list[str], engine: Engine | None = None) -> None:
    """Refuse a folder whose parts are not those of its manifest, by name and by SHA-256.

    Parts are read where the engine reads them.
    """
    if not files:
        raise ManifestError(f"{folder.name} does not match its manifest: that is the manifest of a single file")
    listed = {file.name for file in files}
    for name in sorted(listed ^ (set(present) - (being_appended(folder) - listed))):
        what = "is missing" if name in listed else "is not in the manifest"
        raise ManifestError(f"{folder.name} does not match its manifest: {name} {what}")
    read, names = _Sha256(str(folder.absolute())), [file.name for file in files]
    there = None if engine is None else engine.over_parts(names, read, add=False)
    found = Local(available_cores()).map_batches(names, read) if there is None else there
    for file, sha256 in zip(files, found, strict=True):
        if sha256 != file.sha256:
            raise ManifestError(
                f"{folder.name} does not match its manifest: {file.name} was changed after the release, "
                "its SHA-256 differs"
            )


def being_appended(folder: Path) -> set[str]:
    """Parts of an addition that is not finished, or was killed before the manifest could list it."""
    path = folder / APPENDING_NAME
    with reading(path, "list of parts"), contextlib.suppress(FileNotFoundError):
        names = ordinary_content(path, limits.MANIFEST_BYTES).decode(errors="replace").splitlines()
        return {name for name in names if _NAME.fullmatch(name)}
    return set()


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
    with reading(path, "Parquet"), ordinary_file(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
