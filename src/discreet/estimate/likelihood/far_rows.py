"""Rows of a regression that stay where they lie: every pass runs on the parts of a release, and sums come back.

The rows of a part are read, checked and turned into a model matrix there, in the same order as on one machine; the sums
of the parts are added in their order. A fit is therefore that of one machine but for the rounding of sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from discreet.estimate.likelihood.rows import Rows
from discreet.manifest import Release
from discreet.manifest.over_parts import over_parts, read_here

Part = TypeVar("Part")
#: Reads the rows of a release, given the number of rows before it.
Read = Callable[[Release, int], Iterator[Rows]]


@dataclass(frozen=True, eq=False)
class FarRows:
    """A source of rows whose sums are made elsewhere; whoever needs the rows themselves reads them here."""

    release: Release
    read: Read

    def chunks(self) -> Iterator[Rows]:
        """All rows, read here; a new pass each time."""
        return self.read(read_here(self.release), 0)

    def each(self, work: Callable[[Iterator[Rows]], Part]) -> list[Part]:
        """What a function gives for the rows of each part, in the order of the parts."""
        found = over_parts(self.release, _Of(self.read, work))
        return [work(self.chunks())] if found is None else found


@dataclass(frozen=True, eq=False)
class _Of:
    read: Read
    work: Callable[[Iterator[Rows]], Any]

    def __call__(self, part: Release, first_row: int) -> Any:
        return self.work(self.read(part, first_row))


def each_part(source: Any, work: Callable[[Iterator[Any]], Part]) -> list[Part]:
    """What a function gives for all rows of a source that is read here, or for those of each part that is not."""
    return source.each(work) if isinstance(source, FarRows) else [work(source.chunks())]
