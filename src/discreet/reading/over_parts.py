"""Work on the parts of a release where they are read, part by part: only what it gives travels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any

from discreet.manifest.document import Manifest
from discreet.reading.releases import Release
from discreet.tables.readers import FolderTable

#: A part as a release of its own, and the number of rows before it, in; anything that can be sent out.
Work = Callable[[Release, int], Any]


def lies_elsewhere(release: Release) -> bool:
    """Whether the parts of a release are read somewhere else than here."""
    engine = getattr(release, "engine", None)
    return not (engine is None or engine.keeps_order or not release.manifest.files or release.path is None)


def over_parts(release: Release, work: Work, *, add: bool = False) -> list[Any] | None:
    """What a function gives for each part of a release, in their order; with ``add``, for some of them together.

    Worked out where the engine reads the parts; None when that is here, and there is nothing to gain.
    """
    if not lies_elsewhere(release):
        return None
    assert release.path is not None  # else it would lie nowhere
    files = release.manifest.files
    starts = accumulate((0, *(file.rows for file in files)))
    parts = [f"{start}/{file.name}" for start, file in zip(starts, files, strict=False)]
    # What a part need not know grows with the number of parts, and every task takes along what it knows.
    known = replace(release.manifest, files=(), content=None, additions=(), signature=None)
    folder = str(release.path.absolute())  # executors work in folders of their own
    found: list[Any] | None = release.engine.over_parts(parts, _OfPart(known, folder, work), add=add)
    return found


def read_here(release: Release) -> Release:
    """The same release, whose rows this process reads."""
    if release.path is None or not release.manifest.files:
        return release
    return Release(release.manifest, FolderTable(release.path, [file.name for file in release.manifest.files]))


@dataclass(frozen=True)
class _OfPart:
    """Opens one part of a folder, wherever it runs, and does something with it."""

    manifest: Manifest
    folder: str
    work: Work

    def __call__(self, part: str) -> Any:
        start, _, name = part.partition("/")
        return self.work(Release(self.manifest, FolderTable(Path(self.folder), [name])), int(start))
