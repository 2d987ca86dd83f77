"""A uniformly random order of rows of which there are few kinds: how often each occurs is all that has to be kept.

Rows of private columns alone are combinations of a few reports, and equal rows cannot be told apart. So a uniformly
random order of n rows is a uniformly random arrangement of n kinds with given counts, whoever the rows came from. It is
made in three steps, each exact:

1. Draw n kinds independently, kind k with probability n_k/n.
2. Where a kind was drawn more often than it occurs, choose a uniformly random set of its places to be given away.
3. Fill these places with the kinds that were drawn too rarely, in uniformly random order.

Nothing in it depends on the place, so that the result is exchangeable, and its counts are fixed: every arrangement is
equally likely. About √n places change in steps 2 and 3.

The draws are made chunk by chunk under streams of one key (:class:`~discreet.randomness.StreamKey`), first to count
them and once more to publish them, so that no row is ever held: memory holds one count for every chunk and kind.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.domains.buffers import array_of, numbers_of
from discreet.engines import Local
from discreet.randomness import AliasTable, Randomness, StreamKey, Thresholds, permutation

#: Kinds of rows that are counted. A chunk of 10⁶ rows then needs 32 kB of counts.
MAX_KINDS = 1 << 12
#: Kinds of which each is looked for on its own; more are sorted.
_FEW_KINDS = 16
#: Draws made at once: they stay in the cache.
_DRAWN_AT_ONCE = 1 << 18
#: Purposes of the streams under the key of an order.
_DRAWS, _CHANGES = "arrangement", "changes of an arrangement"
_KEY_BYTES = 32
#: Bytes of marks that are counted together.
_LINE = 64
#: How many bits of a byte are set.
_ONES = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1, dtype=np.uint8)

Kinds = NDArray[Any]


@dataclass(frozen=True)
class RowKinds:
    """The rows that a table of report codes can hold, numbered from 0.

    Parameters
    ----------
    schema : pa.Schema
        Columns of codes.
    sizes : tuple of int
        How many different cells each column can have.
    blanks : tuple of bool
        Whether the last of these is a blank.
    """

    schema: pa.Schema
    sizes: tuple[int, ...]
    blanks: tuple[bool, ...]

    @property
    def count(self) -> int:
        """How many there are."""
        return math.prod(self.sizes)

    @property
    def dtype(self) -> np.dtype[Any]:
        """What holds the number of a kind."""
        return np.min_scalar_type(self.count - 1)

    def numbers(self, batch: pa.RecordBatch) -> Kinds:
        """The kind of every row: its codes as the digits of a number."""
        total: Kinds | None = None
        for column, size in zip(batch.columns, self.sizes, strict=True):
            filled = column.fill_null(size - 1) if column.null_count else column
            codes = numbers_of(filled).astype(self.dtype, copy=False)
            total = codes if total is None else total * self.dtype.type(size) + codes
        assert total is not None
        return total

    def batch(self, kinds: Kinds) -> pa.RecordBatch:
        """Rows of these kinds."""
        arrays: list[pa.Array] = []
        for field, size, blank in zip(
            reversed(list(self.schema)), reversed(self.sizes), reversed(self.blanks), strict=True
        ):
            digits = kinds
            if len(arrays) + 1 < len(self.sizes):
                kinds, digits = np.divmod(kinds, self.dtype.type(size))
            codes = digits.astype(field.type.to_pandas_dtype(), copy=False)
            arrays.append(array_of(codes, digits == size - 1 if blank else None))
        return pa.RecordBatch.from_arrays(arrays[::-1], schema=self.schema)


class CountedRows:
    """Takes batches of codes and gives their rows back in a uniformly random order, having kept their counts only.

    Parameters
    ----------
    kinds : RowKinds
        What the rows can be.
    randomness : Randomness
        Where the key of the order comes from.
    engine : Local
        What chunks are made on, several at once.
    """

    def __init__(self, kinds: RowKinds, randomness: Randomness, engine: Local) -> None:
        self._kinds = kinds
        self._randomness = randomness
        self._engine = engine
        self.counts = np.zeros(kinds.count, np.int64)

    def add(self, batch: pa.RecordBatch) -> None:
        """Count the rows of a batch."""
        self.counts += tally(self._kinds.numbers(batch), self._kinds.count)

    def close(self) -> None:
        """There is nothing to let go of."""

    def rows(self, per_batch: int) -> Iterator[pa.RecordBatch]:
        """All rows in their new order; can be asked for once."""
        if not self.counts.any():
            return
        key = StreamKey(self._randomness.bytes(_KEY_BYTES).tobytes(), secure=self._randomness.secure)
        try:
            order = Arrangement(self.counts, per_batch, key, self._kinds.dtype)
            yield from order.mapped(self._engine, self._kinds.batch)
        finally:
            key.forget()


class Arrangement:
    """A uniformly random sequence in which every kind occurs as often as its count says, in chunks.

    Parameters
    ----------
    counts : array of int
        How often each kind occurs.
    chunk : int
        Length of a chunk; only the last may be shorter.
    key : StreamKey
        What everything is drawn from.
    dtype : dtype
        What holds the number of a kind.
    """

    def __init__(self, counts: NDArray[np.int64], chunk: int, key: StreamKey, dtype: np.dtype[Any]) -> None:
        self._counts = counts
        self._chunk = chunk
        self._key = key
        self._dtype = dtype
        self._total = int(counts.sum())
        self._present = np.flatnonzero(counts)
        weights = [int(count) for count in counts[self._present]]
        self._yes = Thresholds([weights[1]], self._total) if len(weights) == 2 else None
        self._table = AliasTable([weights], self._total) if len(weights) > 2 else None

    @property
    def chunks(self) -> range:
        """The numbers of the chunks."""
        return range(-(-self._total // self._chunk))

    def mapped(self, engine: Local, function: Any) -> Iterator[Any]:
        """What the function gives for each chunk, in their order."""
        tallies = np.array(list(engine.map_batches(self.chunks, self._tally)))
        changes = Changes.drawn(tallies, self._counts, Randomness.keyed(self._key, _CHANGES, 0))

        def made(chunk: int) -> Any:
            kinds = self._drawn(chunk)
            changes.apply(chunk, kinds, tallies[chunk])
            return function(kinds)

        return engine.map_batches(self.chunks, made)

    def _tally(self, chunk: int) -> NDArray[np.int64]:
        return tally(self._drawn(chunk), self._counts.size)

    def _drawn(self, chunk: int) -> Kinds:
        """The independent draws of a chunk, the same ones every time."""
        size = min(self._chunk, self._total - chunk * self._chunk)
        chance = Randomness.keyed(self._key, _DRAWS, chunk)
        out = np.empty(size, self._dtype)
        for start in range(0, size, _DRAWN_AT_ONCE):
            self._draw_into(out[start : start + _DRAWN_AT_ONCE], chance)
        return out

    def _draw_into(self, out: Kinds, chance: Randomness) -> None:
        if self._yes is not None and self._dtype == np.uint8:
            self._yes.below(out.size, chance, out=out.view(np.bool_))
        elif self._yes is not None:
            out[:] = self._yes.below(out.size, chance)
        elif self._table is not None:
            out[:] = self._table.draw(np.zeros(out.size, np.uint8), chance)
        else:
            out[:] = 0
        if self._present[-1] != self._present.size - 1:  # some kinds do not occur
            out[:] = self._present.astype(self._dtype)[out]


@dataclass(frozen=True)
class Changes:
    """Places of too frequent kinds, by chunk, kind and how many of that kind come before, and what they get instead."""

    chunk: NDArray[np.intp]
    kind: NDArray[np.intp]
    rank: NDArray[np.int64]
    instead: NDArray[np.intp]

    @classmethod
    def drawn(cls, tallies: NDArray[np.int64], counts: NDArray[np.int64], chance: Randomness) -> Changes:
        """What turns draws with these tallies, one row for each chunk, into a sequence with these counts."""
        surplus = tallies.sum(axis=0) - counts
        places: list[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]] = []
        for kind in np.flatnonzero(surplus > 0).tolist():
            ends = np.cumsum(tallies[:, kind])
            ranks = distinct(int(ends[-1]), int(surplus[kind]), chance)
            chunk = np.searchsorted(ends, ranks, side="right")
            places.append((chunk, np.full(ranks.size, kind), ranks - (ends - tallies[:, kind])[chunk]))
        if not places:
            none = np.empty(0, np.intp)
            return cls(none, none, none.astype(np.int64), none)
        chunk, of_kind, rank = (np.concatenate(parts) for parts in zip(*places, strict=True))
        missing = np.repeat(np.arange(counts.size), np.maximum(-surplus, 0))
        by_chunk = np.argsort(chunk, kind="stable")
        return cls(chunk[by_chunk], of_kind[by_chunk], rank[by_chunk], missing[permutation(missing.size, chance)])

    def apply(self, chunk: int, kinds: Kinds, tally_: NDArray[np.int64]) -> None:
        """Make the changes of one chunk to its draws."""
        start, stop = np.searchsorted(self.chunk, [chunk, chunk + 1])
        of_kind, rank = self.kind[start:stop], self.rank[start:stop]
        present = np.unique(of_kind)
        where = np.empty(stop - start, np.intp)
        if present.size <= _FEW_KINDS:
            for kind in present.tolist():
                chosen = of_kind == kind
                where[chosen] = places_of(kinds == kind, rank[chosen])
        else:
            first = np.cumsum(tally_) - tally_
            where = np.argsort(kinds, kind="stable")[first[of_kind] + rank]
        kinds[where] = self.instead[start:stop]


def distinct(total: int, count: int, chance: Randomness) -> NDArray[np.int64]:
    """A uniformly random set of ``count`` of the numbers 0 … total − 1: the first different ones of a long sequence."""
    shift = np.uint64(64 - total.bit_length())
    found = np.empty(0, np.int64)
    while found.size < count:
        words = chance.words(2 * (count - found.size) + 16) >> shift
        more = words[words < total].astype(np.int64)
        sequence = np.concatenate([found, more])
        _, first = np.unique(sequence, return_index=True)
        found = sequence[np.sort(first)]
    return np.sort(found[:count])


def places_of(marks: NDArray[np.bool_], ranks: NDArray[np.int64]) -> NDArray[np.intp]:
    """Where the marks with these numbers, counted from 0, are: ``np.flatnonzero(marks)[ranks]`` for few of many."""
    packed = np.packbits(marks)
    lines = np.concatenate([packed, np.zeros(-packed.size % _LINE, np.uint8)]).reshape(-1, _LINE)
    inside = _ONES[lines].sum(axis=1, dtype=np.int64)
    ends = np.cumsum(inside)
    line = np.searchsorted(ends, ranks, side="right")
    bits = np.cumsum(np.unpackbits(lines[line], axis=1), axis=1, dtype=np.int32)
    before = (ends - inside)[line]
    return np.asarray(8 * _LINE * line + np.argmax(bits > (ranks - before)[:, None], axis=1), np.intp)


def tally(kinds: Kinds, count: int) -> NDArray[np.int64]:
    """How often each kind occurs."""
    if count > _FEW_KINDS:
        return np.bincount(kinds, minlength=count)
    counted = [int(np.count_nonzero(kinds == kind)) for kind in range(1, count)]
    return np.array([kinds.size - sum(counted), *counted], np.int64)
