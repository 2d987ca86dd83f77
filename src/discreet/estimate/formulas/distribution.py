"""The distribution of a number over all rows, collected batch by batch: different values and how often each occurs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from discreet import limits
from discreet.arguments import Floats
from discreet.errors import EstimationError


@dataclass(frozen=True, eq=False)
class Distribution:
    """Sorted different values with their counts.

    >>> found = Distribution.of([np.array([3.0, 1.0]), np.array([1.0, np.nan])], "x")
    >>> found.values.tolist(), found.counts.tolist(), found.mean
    ([1.0, 3.0], [2.0, 1.0], 1.6666666666666667)
    """

    values: Floats
    counts: Floats

    @classmethod
    def of(cls, parts: Iterable[Floats], name: str) -> Distribution:
        """From batches of numbers; a missing one does not count."""
        return sum((cls.of_rows(part) for part in parts), cls.nothing()).checked(name)

    @classmethod
    def nothing(cls) -> Distribution:
        """Of no rows."""
        return cls(np.empty(0), np.empty(0))

    @classmethod
    def of_rows(cls, numbers: Floats, times: Floats | None = None) -> Distribution:
        """Of some rows, each so many times; a missing number does not count."""
        there = ~np.isnan(numbers)
        values, place = np.unique(numbers[there], return_inverse=True)
        counts = np.bincount(place, None if times is None else times[there], values.size)
        return cls(values, np.asarray(counts, float))

    def __add__(self, other: Distribution) -> Distribution:
        if self.values.size > limits.DISTINCT_VALUES:
            return self  # too many already, and to be refused
        values, place = np.unique(np.concatenate([self.values, other.values]), return_inverse=True)
        counts = np.bincount(place, np.concatenate([self.counts, other.counts]), values.size)
        return Distribution(values, np.asarray(counts, float))

    def checked(self, name: str) -> Distribution:
        """The same, where something can be worked out from it."""
        if self.values.size > limits.DISTINCT_VALUES:
            raise EstimationError(
                f"{name} has more than {limits.DISTINCT_VALUES:,} different values, too many to work out what it "
                "depends on; round its column, or write the numbers out: I((x - 40) / 12)"
            )
        if not np.isfinite(self.values).all():
            raise EstimationError(f"{name} is infinite in some row")
        if self.values.size == 0:
            raise EstimationError(f"{name} has no values")
        return self

    @property
    def size(self) -> float:
        """Number of rows."""
        return float(self.counts.sum())

    @property
    def mean(self) -> float:
        """The average over rows."""
        return float(self.counts @ self.values / self.size)

    @property
    def deviation(self) -> float:
        """The standard deviation over rows, with n − 1."""
        return float(np.sqrt(self.counts @ (self.values - self.mean) ** 2 / max(self.size - 1, 1.0)))

    def quantiles(self, probabilities: Floats) -> Floats:
        """As R and numpy define them by default (type 7 of Hyndman and Fan 1996)."""
        ends = np.cumsum(self.counts)
        position = np.asarray(probabilities) * (self.size - 1)
        below = np.floor(position)
        low = self.values[np.searchsorted(ends, below, side="right")]
        high = self.values[np.searchsorted(ends, np.minimum(below + 1, self.size - 1), side="right")]
        return np.asarray(low + (position - below) * (high - low))
