"""Work on the parts of a release where they are read, part by part: only what it gives travels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from discreet.manifest.document import Manifest
from discreet.manifest.folder import FolderTable
from discreet.manifest.release import Release

#: A part as a release of its own, and the number of rows before it, in; anything that can be sent out.
Work = Callable[[Release, int], Any]


def lies_elsewhere(release: Release) -> bool:
    """Whether the parts of a release are read somewhere else than here."""
    engine = getattr(release, "engine", None)
    return not (engine is None or engine.keeps_order or not release.manifest.files or release.path is None)


def over_parts(release: Release, work: Work) -> list[Any] | None:
    """What a function gives for each part of a release, in their order.

    Worked out where the engine reads the parts; None when that is here, and there is nothing to gain.
    """
    if not lies_elsewhere(release) or release.path is None:
        return None
    engine, files = release.engine, release.manifest.files
    starts = dict(zip((file.name for file in files), accumulate((0, *(file.rows for file in files))), strict=False))
    table = FolderTable(release.path, list(starts))
    found: list[Any] | None = engine.over_parts(table, _OfPart(release.manifest, str(release.path), starts, work))
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
    starts: Mapping[str, int]
    work: Work

    def __call__(self, name: str) -> Any:
        return self.work(Release(self.manifest, FolderTable(Path(self.folder), [name])), self.starts[name])
