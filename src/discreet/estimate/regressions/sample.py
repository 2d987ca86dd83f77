"""How the rows of a corrected loss were sampled: which are equal, what they weigh, and who belongs together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.estimate.data.map_reduce import nbytes
from discreet.estimate.noisy_numbers.copies import summed_by
from discreet.estimate.sampling.linearization import Linearization
from discreet.estimate.sampling.unit_totals import UnitTotals

#: Rows whose scores are written out at once.
_SCORE_ROWS = 1 << 16


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows as they were sampled, each pointing to one of some distinct rows.

    Attributes
    ----------
    count : int
        Number of rows; of records, where rows are copies of records with noise.
    distinct : array or None
        The distinct row of every row; None where each has its own, or equal rows were put together.
    weights : array or None
        Survey weights of every row, or their sums where equal rows were put together; None where all are one.
    squares, times : array or None
        Where equal rows were put together: the sums of squared weights, and how many rows each stands for.
    clusters, strata : Arrow array or None
        Of every row, or record.
    records : array or None
        The record of every row, where rows are copies.
    added : array (records, columns) or None
        Numbers of records that are added to the sums over their rows.
    """

    count: int
    distinct: NDArray[Any] | None = None
    weights: Floats | None = None
    squares: Floats | None = None
    times: Floats | None = None
    clusters: pa.Array | None = None
    strata: pa.Array | None = None
    records: NDArray[np.intp] | None = None
    added: Floats | None = None

    @property
    def n(self) -> int:
        """Number of rows, or of records where rows are copies."""
        return self.count

    @property
    def total(self) -> float:
        """The sum of the weights."""
        return float(self.count if self.weights is None else self.weights.sum())

    def written_out(self) -> Sample:
        """The same rows without reference to distinct ones."""
        return replace(self, distinct=None)

    @property
    def nbytes(self) -> int:
        """What it takes."""
        arrays = (self.distinct, self.weights, self.squares, self.times, self.clusters, self.strata, self.records)
        return nbytes(*arrays, self.added)

    def summed(self, rows: int) -> Floats:
        """The sum of the weights over the rows of each distinct row."""
        return self._by_distinct(rows, self.weights)

    def squared(self, rows: int) -> Floats:
        """The same of the squared weights."""
        if self.squares is not None:
            return self.squares
        return self._by_distinct(rows, None if self.weights is None else self.weights**2)

    def counted(self, rows: int) -> Floats:
        """How many rows each distinct row stands for."""
        return self.times if self.times is not None else self._by_distinct(rows, None)

    def _by_distinct(self, rows: int, numbers: Floats | None) -> Floats:
        if self.distinct is None:
            return np.ones(rows) if numbers is None else numbers
        return np.asarray(np.bincount(self.distinct, numbers, rows), float)

    def by_row(self, scores: Floats, rows: Any = slice(None)) -> Floats:
        """The weighed score of every row, or of some, from those of distinct rows."""
        single = scores[rows] if self.distinct is None else scores[self.distinct[rows]]
        return np.asarray(single if self.weights is None else single * self.weights[rows, None])

    def by_record(self, numbers: Floats) -> Floats:
        """The sum of numbers over the rows of every record, from those of distinct rows."""
        assert self.records is not None
        total = summed_by(self.records, self.by_row(numbers), self.n)
        return total if self.added is None else total + self.added

    def scored(self, scores: Floats) -> ScoreSquares:
        """What numbers of distinct rows, by default their scores, add to the middle of a sandwich."""
        found = ScoreSquares(self.n)
        if self.clusters is not None or self.strata is not None:
            found.sums = UnitTotals(scores.shape[1])
            for strata, clusters, single in self._by_unit(scores):
                found.sums.add(strata, clusters, single)
        elif self.records is not None:
            single = self.by_record(scores)
            found.squares = single.T @ single
        else:
            found.squares = (scores * self.squared(len(scores))[:, None]).T @ scores
        return found

    def _by_unit(self, scores: Floats) -> Iterator[tuple[Any, Any, Floats]]:
        """Strata, clusters and scores of rows, some at a time."""
        if self.records is not None:
            yield labels(self.strata), labels(self.clusters), self.by_record(scores)
            return
        for start in range(0, self.n, _SCORE_ROWS):
            rows = slice(start, start + _SCORE_ROWS)
            yield labels(self.strata, rows), labels(self.clusters, rows), self.by_row(scores, rows)

    def pieces(self, rows: int, most: int) -> Iterator[tuple[slice, Sample]]:
        """The sample of distinct rows from here to there, some at a time."""
        for start in range(0, rows, most):
            some = slice(start, min(start + most, rows))
            yield some, self if some == slice(0, rows) else self._of(some)

    def _of(self, some: slice) -> Sample:
        """Of these distinct rows; copies stay together."""
        assert self.records is None
        which: Any = some
        place, count = None, some.stop - some.start
        if self.distinct is not None:
            which = np.flatnonzero((self.distinct >= some.start) & (self.distinct < some.stop))
            place, count = self.distinct[which] - some.start, which.size
        elif self.times is not None:
            count = int(self.times[some].sum())
        numbers = {
            name: None if values is None else values[which]
            for name, values in (("weights", self.weights), ("squares", self.squares), ("times", self.times))
        }
        taken = pa.array(np.arange(some.start, some.stop) if self.distinct is None else which)
        clusters, strata = (None if one is None else one.take(taken) for one in (self.clusters, self.strata))
        return Sample(count, place, **numbers, clusters=clusters, strata=strata)


def labels(column: pa.Array | None, rows: slice = slice(None)) -> NDArray[Any] | None:
    """The labels of some rows as an array."""
    return None if column is None else np.asarray(column[rows].to_numpy(zero_copy_only=False))


@dataclass(eq=False)
class ScoreSquares:
    """The middle of a sandwich, of some rows; two of them add up.

    ``Σ ω² s s'`` times n/(n − 1) for independent rows, else scores summed by cluster and stratum.
    """

    n: int
    squares: Any = 0.0
    sums: UnitTotals | None = field(default=None)

    def __add__(self, other: ScoreSquares) -> ScoreSquares:
        if not (self.n and other.n):
            return self if self.n else other
        sums = None if self.sums is None or other.sums is None else self.sums + other.sums
        return ScoreSquares(self.n + other.n, self.squares + other.squares, sums)

    def finished(self) -> tuple[Floats, Linearization | None]:
        """The matrix, and how rows were sampled where there are clusters or strata."""
        if self.sums is None:
            return np.asarray(self.squares * (self.n / (self.n - 1))), None
        sampling = self.sums.finished()
        assert sampling is not None
        return sampling.scores, sampling
