"""Totals of scores by primary sampling unit: the rows of a cluster within its stratum, or single rows.

Rows may come in many chunks and from several parts; sums of different rows add up.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.data.label_codes import LabelIndex, PairIndex
from discreet.estimate.data.map_reduce import refuse_to_send
from discreet.estimate.sampling.finite_population import PopulationSizes
from discreet.estimate.sampling.linearization import Linearization

Ints = NDArray[np.int64]
#: Numbers kept for the strata together, where every row is its own unit (2^27 floats, 1 GB).
MAX_STRATUM_CELLS = 1 << 27


class UnitIndex:
    """Codes of strata and primary sampling units, the same over many chunks of rows.

    A cluster label is read within its stratum. Where there are no clusters every row is a unit, and rows are counted by
    stratum.
    """

    def __init__(self) -> None:
        self.has_strata = self.has_clusters = False
        self._strata, self._clusters, self._pairs = LabelIndex("strata"), LabelIndex("clusters"), PairIndex()
        self._rows: Ints = np.zeros(0, np.int64)
        self._population = PopulationSizes()

    def encode(self, strata: Any, clusters: Any, rows: int, first_row: int = 0, fpc: Floats | None = None) -> Ints:
        """The unit of every row of a chunk; the stratum, where there are no clusters."""
        self.has_strata, self.has_clusters = strata is not None, clusters is not None
        stratum = np.zeros(rows, np.int64) if strata is None else self._strata.encode(strata, first_row)
        self._rows = grown(self._rows, np.bincount(stratum))
        if fpc is not None:
            self._population.add(stratum, fpc, first_row)
        if clusters is None:
            return stratum
        return self._pairs.encode(stratum, self._clusters.encode(clusters, first_row))

    def take(self, other: UnitIndex) -> Ints:
        """The codes here of the units of other rows, in the order of their codes there."""
        self.has_strata |= other.has_strata
        self.has_clusters |= other.has_clusters
        if not other._rows.size:
            return np.zeros(0, np.int64)
        stratum, cluster = self._strata.take(other._strata), self._clusters.take(other._clusters)
        if not stratum.size:  # no strata were named: there is one
            stratum = np.zeros(1, np.int64)
        self._rows = grown(self._rows, at_codes(other._rows, stratum, int(stratum.max()) + 1))
        self._population.take(other._population, stratum)
        return self._pairs.take(other._pairs, stratum, cluster) if other.has_clusters else stratum

    @property
    def count(self) -> int:
        """Number of codes: clusters, or strata where every row is a unit."""
        return len(self._pairs) if self.has_clusters else self._rows.size

    @property
    def stratum(self) -> Ints:
        """The stratum of every code."""
        return self._pairs.pairs()[0] if self.has_clusters else np.arange(self._rows.size)

    @property
    def units(self) -> Ints:
        """Number of units in every stratum."""
        return self.check()

    def check(self) -> Ints:
        """The same; a stratum of one unit shows no variance and is refused."""
        found = np.bincount(self._pairs.pairs()[0]) if self.has_clusters else self._rows
        if found.min() < 2:
            where, remedy = ("a stratum", "; merge it with another") if self.has_strata else ("the sample", "")
            what = "cluster" if self.has_clusters else "row"
            raise EstimationError(f"{where} has a single {what}, so its variance cannot be estimated{remedy}")
        return found

    @property
    def fractions(self) -> Floats:
        """The sampled share of the units of every stratum."""
        return self._population.fractions(self.units, "clusters" if self.has_clusters else "rows")

    @property
    def recurring(self) -> bool:
        """Whether a cluster label occurs in several strata, where it is a different cluster in each."""
        return self.has_clusters and len(self._pairs) > len(self._clusters.labels)


class UnitTotals:
    """Totals of scores over primary sampling units; two of them add up.

    Parameters
    ----------
    size : int
        Number of scores of a row.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._index = UnitIndex()
        self._totals = np.zeros((size, 0))  # by cluster, or by stratum where every row is a unit
        self._squares = np.zeros((size, size, 0))  # by stratum, where every row is a unit

    def add(self, strata: Any, clusters: Any, scores: Floats, first_row: int = 0) -> None:
        """One chunk of rows: labels of strata and clusters (None where there are none), and scores (rows, size)."""
        if strata is None and clusters is None:
            return
        unit = self._index.encode(strata, clusters, len(scores), first_row)
        count = self._index.count
        self._totals = grown(self._totals, np.stack([np.bincount(unit, one, count) for one in scores.T]))
        if clusters is not None:
            return
        if count * self._size**2 > MAX_STRATUM_CELLS:
            raise EstimationError(f"{count:,} strata are more than memory should hold; merge strata")
        squares = np.zeros((self._size, self._size, count))
        for code in np.unique(unit):
            part = scores[unit == code]
            squares[:, :, code] = part.T @ part
        self._squares = grown(self._squares, squares)

    def __add__(self, other: UnitTotals) -> UnitTotals:
        both = UnitTotals(self._size)
        for one in (self, other):
            unit = both._index.take(one._index)
            count = both._index.count
            both._totals = grown(both._totals, at_codes(one._totals, unit, count))
            if one._squares.size:
                both._squares = grown(both._squares, at_codes(one._squares, unit, count))
        return both

    def __getstate__(self) -> dict[str, Any]:
        """Refuse to send the totals of too many clusters."""
        refuse_to_send(self._index.count, "clusters")
        return vars(self)

    def finished(self) -> Linearization | None:
        """The linearised variance of the sum of all scores; None where neither strata nor clusters were named."""
        index = self._index
        if not (index.has_strata or index.has_clusters):
            return None
        return Linearization(
            totals=self._totals.T,
            stratum=index.stratum,
            units=index.units,
            squares=None if index.has_clusters else np.moveaxis(self._squares, 2, 0),
            has_strata=index.has_strata,
            recurring=index.recurring,
        )


def grown(earlier: NDArray[Any], more: NDArray[Any]) -> NDArray[Any]:
    """Sums by code (the last axis) added up, where either may have more codes."""
    if earlier.shape[-1] == 0:
        return more
    if earlier.shape[-1] < more.shape[-1]:
        earlier, more = more, earlier
    out = earlier.copy()
    out[..., : more.shape[-1]] += more
    return out


def at_codes(sums: NDArray[Any], codes: Ints, size: int) -> NDArray[Any]:
    """Sums by code (the last axis) under other codes."""
    out = np.zeros((*sums.shape[:-1], size), sums.dtype)
    out[..., codes] = sums[..., : codes.size]
    return out
