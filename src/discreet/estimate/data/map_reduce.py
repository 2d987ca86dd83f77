"""Passes over rows: a fit is a sequence of them, and each is a sum.

A pass is a function of some rows, an iterator of chunks, and two of its results add up with ``+``, the first rows
before the second. Where the rows are decides where it runs: here, chunk by chunk, or on the parts of a release where an
engine reads them. There the rows of a part are read, checked and turned into a model matrix in the same order as on one
machine, and only sums come back, which are added in the order of the parts. A fit is therefore that of one machine but
for the rounding of sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from functools import reduce
from operator import add
from typing import Any, Protocol, Self, TypeVar, runtime_checkable

from discreet.errors import EstimationError
from discreet.reading import Release
from discreet.reading.over_parts import lies_elsewhere, over_parts, read_here

Part = TypeVar("Part")
#: Some rows in, what adds up out.
Pass = Callable[[Iterator[Any]], Part]
#: Reads the rows of a release, or of a part of one, given the number of rows before it.
Read = Callable[[Release, int], Iterator[Any]]

#: Bytes of rows that are kept from pass to pass; of more rows every pass reads them anew.
HELD_BYTES = 1 << 27
#: Sums by cluster or group that are sent from where rows are read to whoever adds them up.
MOST_SENT = 1_000_000


class FieldSums:
    """A data class of sums: two of them add up field by field."""

    def __add__(self, other: Self) -> Self:
        own: Any = self
        return type(self)(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(own)))


class Source(Protocol):
    """Rows that can be read again and again, chunk by chunk."""

    def chunks(self) -> Iterator[Any]:
        """All rows; a new pass each time."""


@runtime_checkable
class InParts(Source, Protocol):
    """Rows in parts, each of which is passed over where it is read."""

    def each(self, work: Pass[Part]) -> list[Part]:
        """What a pass gives for some of the parts, in their order."""


def each_part(source: Source, work: Pass[Part]) -> list[Part]:
    """What a pass gives for all rows of a source that is read here, or for those of parts that are not."""
    return source.each(work) if isinstance(source, InParts) else [work(source.chunks())]


def summed(source: Source, work: Pass[Part]) -> Part:
    """What a pass gives for all rows."""
    return reduce(add, each_part(source, work))


def rows_of(release: Release, read: Read) -> Source:
    """The rows of a release, read here or passed over where they lie."""
    return FarRows(release, read) if lies_elsewhere(release) else _NearRows(release, read)


def remembered(source: Source) -> Source:
    """The same rows, kept here from pass to pass where they are read here and few enough."""
    return source if isinstance(source, InParts) else Remembered(source)


@dataclass(frozen=True, eq=False)
class FarRows:
    """Rows whose sums are made elsewhere; whoever needs the rows themselves reads them here."""

    release: Release
    read: Read

    def chunks(self) -> Iterator[Any]:
        """All rows, read here; a new pass each time."""
        return self.read(read_here(self.release), 0)

    def each(self, work: Pass[Part]) -> list[Part]:
        """What a pass gives for the rows of each part, in the order of the parts."""
        found = over_parts(self.release, _Of(self.read, work), add=True)
        return [work(self.chunks())] if found is None else found


@dataclass(frozen=True, eq=False)
class _Of:
    read: Read
    work: Pass[Any]

    def __call__(self, part: Release, first_row: int) -> Any:
        return self.work(self.read(part, first_row))


@dataclass(frozen=True, eq=False)
class _NearRows:
    """Rows that are read here, anew on each pass."""

    release: Release
    read: Read

    def chunks(self) -> Iterator[Any]:
        return self.read(self.release, 0)


@dataclass(frozen=True, eq=False)
class Held:
    """Chunks that are here."""

    held: tuple[Any, ...]

    def chunks(self) -> Iterator[Any]:
        """All rows; a new pass each time."""
        return iter(self.held)


class Remembered:
    """Rows that are kept from the first whole pass on where they are few enough, and otherwise read anew.

    A chunk says by ``nbytes`` what it takes.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._fits = True

    def chunks(self) -> Iterator[Any]:
        """All rows; a new pass each time."""
        return self._source.chunks() if isinstance(self._source, Held) else self._read()

    def _read(self) -> Iterator[Any]:
        held: list[Any] = []
        taken = 0
        for chunk in self._source.chunks():
            taken += chunk.nbytes
            self._fits = self._fits and taken <= HELD_BYTES
            if self._fits:
                held.append(chunk)
            else:
                held.clear()
            yield chunk
        if self._fits:
            self._source = Held(tuple(held))  # what they were made of can go


def changed(source: Source, change: Callable[[Any], Iterable[Any]]) -> Source:
    """A source whose chunks are made into others, each into some; where the rows lie elsewhere, there."""
    return _FarChanged(source, change) if isinstance(source, InParts) else _Changed(source, change)


@dataclass(frozen=True, eq=False)
class _Changed:
    source: Source
    change: Callable[[Any], Iterable[Any]]

    def chunks(self) -> Iterator[Any]:
        return _each_changed(self.source.chunks(), self.change)


@dataclass(frozen=True, eq=False)
class _FarChanged(_Changed):
    source: InParts

    def each(self, work: Pass[Part]) -> list[Part]:
        return self.source.each(_After(self.change, work))


@dataclass(frozen=True, eq=False)
class _After:
    change: Callable[[Any], Iterable[Any]]
    work: Pass[Any]

    def __call__(self, chunks: Iterator[Any]) -> Any:
        return self.work(_each_changed(chunks, self.change))


def _each_changed(chunks: Iterator[Any], change: Callable[[Any], Iterable[Any]]) -> Iterator[Any]:
    return (made for chunk in chunks for made in change(chunk))


def refuse_to_send(count: int, what: str) -> None:
    """Refuse sums by so many clusters or groups; here there is no such limit."""
    if count > MOST_SENT:
        raise EstimationError(
            f"there are more than {MOST_SENT:,} {what}, and their sums are too many to be sent from where the rows are "
            "read; open the release without an engine to work on one machine, or use larger ones"
        )


def nbytes(*arrays: Any) -> int:
    """What arrays take, those that are there."""
    return sum(int(one.nbytes) for one in arrays if one is not None)
