"""The first pass over the rows of a formula: how many there are, what was reported how often, which are equal.

Equal rows are put together, whatever batch they came in, as long as few differ: the loss is then a sum over these.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from discreet import limits
from discreet.arguments import Floats
from discreet.estimate.regressions.reading import EncodedRows, distinct_rows
from discreet.estimate.regressions.sample import Sample

#: Different rows that are kept where equal ones are put together.
_DIFFERENT = 1 << 17
#: So few are kept even where all rows of a batch differ: those of another batch may be the same.
_FEW = 1 << 12


@dataclass(eq=False)
class Look:
    """What some rows tell; two of them add up.

    Attributes
    ----------
    n, total
        Rows, and the sum of their weights.
    counts : tuple of array
        How often every code of each randomised column was seen.
    values : Arrow array or None
        The different values of a public outcome, up to one more than a category may have.
    together : EncodedRows or None
        All rows with equal ones put together, where there are few different ones.
    """

    counts: tuple[Floats, ...]
    n: int = 0
    total: float = 0.0
    values: pa.Array | None = None
    together: EncodedRows | None = None

    @property
    def few(self) -> EncodedRows | None:
        """The different rows, where working on these is worth it."""
        return self.together if self.together is not None and 2 * self.together.rows <= self.n else None

    def __add__(self, other: Look) -> Look:
        if not (self.n and other.n):
            return self if self.n else other
        together = None
        if self.together is not None and other.together is not None:
            together = put_together(self.together, other.together)
        return Look(
            tuple(one + more for one, more in zip(self.counts, other.counts, strict=True)),
            self.n + other.n,
            self.total + other.total,
            _different(self.values, other.values),
            together,
        )


@dataclass(frozen=True, eq=False)
class Looking:
    """Looks at some rows.

    Attributes
    ----------
    codes : tuple of int
        How many codes every randomised column has.
    """

    codes: tuple[int, ...]

    def __call__(self, chunks: Iterator[EncodedRows]) -> Look:
        """Of some rows."""
        found = Look(tuple(np.zeros(size) for size in self.codes))
        for rows in chunks:
            found = found + self._of(rows)
        return found

    def _of(self, rows: EncodedRows) -> Look:
        times = rows.sample.counted(rows.rows)
        counts = tuple(
            np.asarray(np.bincount(one, times, size), float) for one, size in zip(rows.codes, self.codes, strict=True)
        )
        values = _different(None, rows.outcome)
        return Look(counts, rows.sample.n, rows.sample.total, values, summed_rows(rows))


def summed_rows(rows: EncodedRows) -> EncodedRows | None:
    """Equal rows with the sums of their weights, whatever their clusters; None where too many differ."""
    sample, count = rows.sample, rows.rows
    if sample.records is not None or count > min(max(sample.n // 2, _FEW), _DIFFERENT):
        return None
    summed = Sample(sample.n, weights=sample.summed(count), squares=sample.squared(count), times=sample.counted(count))
    return EncodedRows(rows.public, rows.outcome, rows.codes, summed)


def put_together(first: EncodedRows, second: EncodedRows) -> EncodedRows | None:
    """The rows of both, equal ones as one; None where too many differ."""
    public = pa.concat_tables([first.public, second.public]).combine_chunks()
    outcome = None
    if first.outcome is not None:
        outcome = pa.concat_arrays([first.outcome, second.outcome])
    codes = tuple(np.concatenate(pair) for pair in zip(first.codes, second.codes, strict=True))
    known = [column.combine_chunks() for column in public.columns if not pa.types.is_null(column.type)]
    seen = [*known, *([] if outcome is None else [outcome]), *codes]
    place, back = distinct_rows(seen, public.num_rows, public.num_rows)
    samples = (first.sample, second.sample)
    sums = {name: np.concatenate([getattr(one, name) for one in samples]) for name in ("weights", "squares", "times")}
    if place is not None and back is not None:
        public, codes = public.take(pa.array(place)), tuple(one[place] for one in codes)
        outcome = None if outcome is None else outcome.take(pa.array(place))
        sums = {name: np.asarray(np.bincount(back, one, place.size), float) for name, one in sums.items()}
    made = EncodedRows(public, outcome, codes, Sample(first.sample.n + second.sample.n, **sums))
    return None if made.rows > _DIFFERENT else made


def _different(known: pa.Array | None, more: pa.Array | None) -> pa.Array | None:
    """The different values of both, as many as matter."""
    if more is None or (known is not None and len(known) > limits.CATEGORY_LEVELS):
        return known
    found = more.unique() if known is None else pa.concat_arrays([known, more.unique()]).unique()
    return found[: limits.CATEGORY_LEVELS + 1]
