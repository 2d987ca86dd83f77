"""The sampling units of a release: clusters within strata, or rows.

Replicate weights: what every row counts in every replicate, and what every replicate counts in the variance.

``V = Σ_r c_r (θ̂_r − θ̂)(θ̂_r − θ̂)ᵀ`` with θ̂_r the estimate under the weights of replicate r:

* *jackknife*: one unit c of stratum h, which has m_h units, is left out, and the others of its stratum count
  m_h/(m_h − 1) times; ``c_r = (m_h − 1)/m_h``;
* *bootstrap* (Rao and Wu 1988, with m_h − 1 draws): units are drawn with replacement in every stratum, and count
  ``m_h/(m_h − 1)`` times as often as they were drawn; ``c_r = 1/R``;
* weights that came with the release: ``c_r`` is 1/R for the bootstrap and for balanced repeated replication, (R − 1)/R
  for the jackknife, or what was declared.

A release seen under the weights of one replicate.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from discreet import arrow_functions as pc
from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.data.checks import floats, row_of
from discreet.estimate.data.label_codes import Ints
from discreet.estimate.data.rows import Rows
from discreet.estimate.data.weighted_view import WeightedRelease
from discreet.estimate.sampling.unit_totals import UnitIndex
from discreet.manifest import Survey
from discreet.reading import Release


@dataclass(frozen=True, eq=False)
class Units:
    """Which unit every row belongs to, and which stratum every unit.

    Attributes
    ----------
    unit : array of int (rows,)
    stratum : array of int (units,)
    weights : array (rows,)
        The survey weights of the full sample; ones where there are none.
    """

    unit: Ints
    stratum: Ints
    weights: Floats
    #: Whether units were put together at random.
    is_grouped: bool = False

    @property
    def count(self) -> int:
        """Number of units."""
        return int(self.stratum.size)

    @property
    def sizes(self) -> Ints:
        """Number of units in every stratum."""
        return np.bincount(self.stratum)

    def grouped(self, most: int, chance: np.random.Generator) -> Units:
        """Units put together at random within their strata, so that there are about ``most`` of them.

        A random part of a stratum is a sample like the whole: the variance between such parts, as between clusters,
        is unbiased for that of the sample (the method of random groups, Wolter 2007, chapter 2).
        """
        if self.count <= most:
            return self
        part, stratum_of, start = np.empty(self.count, np.int64), [], 0
        for code, size in enumerate(self.sizes):
            groups = int(min(size, max(2, most * size // self.count)))
            own = np.flatnonzero(self.stratum == code)
            part[chance.permutation(own)] = start + np.arange(size) % groups
            stratum_of += [code] * groups
            start += groups
        return Units(part[self.unit], np.array(stratum_of), self.weights, is_grouped=True)


def read_units(release: Release) -> Units:
    """One pass over the columns that the manifest names."""
    survey = release.survey
    aside: dict[str, Any] = {"weights": survey.weight, "strata": survey.strata, "clusters": survey.cluster}
    rows = Rows(release, release.rows, (), **aside, table=release.columns[:1])  # one column at least, to count the rows
    index, unit, weights = UnitIndex(), [], []
    for batch in rows.batches():
        unit.append(index.encode(batch.strata, batch.clusters, batch.codes.size, batch.first_row))
        weights.append(np.ones(batch.codes.size) if batch.weights is None else batch.weights)
    by_row, stratum = np.concatenate(unit), index.stratum
    index.check()
    if survey.cluster is None:
        by_row, stratum = np.arange(by_row.size), by_row
    return Units(by_row, stratum, np.concatenate(weights))


#: Relative size below which an eigenvalue of the products of weights counts as zero: 1e-5 for the weights themselves.
_RANK_TOLERANCE = 1e-10


class Replicates(ABC):
    """Several sets of weights for the rows of one release."""

    #: Of Student's t.
    degrees_of_freedom: float

    def needs(self, replicate: int) -> tuple[str, ...]:
        """Columns that hold the weights of one replicate."""
        del replicate
        return ()

    @property
    @abstractmethod
    def coefficients(self) -> Floats:
        """``c_r``, one per replicate."""

    @abstractmethod
    def weights(self, replicate: int, batch: pa.RecordBatch, first_row: int) -> Floats:
        """The weights of some rows in one replicate; 0 leaves a row out."""


@dataclass(frozen=True, eq=False)
class Jackknife(Replicates):
    """Every unit is left out once."""

    units: Units

    @property
    def degrees_of_freedom(self) -> float:  # type: ignore[override]
        """Units minus strata."""
        return float(max(self.units.count - self.units.sizes.size, 1))

    @property
    def coefficients(self) -> Floats:
        """``(m_h − 1)/m_h``."""
        sizes = self.units.sizes[self.units.stratum]
        return np.asarray((sizes - 1) / sizes)

    def weights(self, replicate: int, batch: pa.RecordBatch, first_row: int) -> Floats:
        """Zero in the unit that is left out, more in the rest of its stratum."""
        units, rows = self.units, slice(first_row, first_row + batch.num_rows)
        own = units.stratum[replicate]
        size = int(units.sizes[own])
        factor = np.where(units.stratum == own, size / (size - 1), 1.0)
        factor[replicate] = 0.0
        return np.asarray(units.weights[rows] * factor[units.unit[rows]])


@dataclass(frozen=True, eq=False)
class Bootstrap(Replicates):
    """Units drawn with replacement in every stratum, one less than there are."""

    units: Units
    replicates: int
    seed: int

    @property
    def degrees_of_freedom(self) -> float:  # type: ignore[override]
        """Units minus strata, but not more than there are replicates."""
        return float(max(min(self.units.count - self.units.sizes.size, self.replicates - 1), 1))

    @property
    def coefficients(self) -> Floats:
        """``1/R``."""
        return np.full(self.replicates, 1 / self.replicates)

    def weights(self, replicate: int, batch: pa.RecordBatch, first_row: int) -> Floats:
        """How often the unit of a row was drawn, rescaled."""
        units, rows = self.units, slice(first_row, first_row + batch.num_rows)
        chance = np.random.default_rng([self.seed, replicate])  # the same for every batch
        sizes = units.sizes
        factor = np.empty(units.count)
        order, start = np.argsort(units.stratum, kind="stable"), 0
        for size in sizes:
            drawn = np.bincount(chance.integers(0, size, size - 1), minlength=size)
            factor[order[start : start + size]] = drawn * (size / (size - 1))
            start += size
        return np.asarray(units.weights[rows] * factor[units.unit[rows]])


@dataclass(frozen=True, eq=False)
class Released(Replicates):
    """Replicate weights in public columns of the release."""

    columns: Sequence[str]
    scale: float
    degrees_of_freedom: float = 1.0

    @classmethod
    def of(cls, release: Release, columns: Sequence[str], scale: float) -> Released:
        """Check all weights once: one less than the rank of their matrix are the degrees of freedom, as in R's survey.

        Many replicates of few clusters have no more degrees of freedom than the clusters.
        """
        found, first_row = cls(columns, scale), 0
        products = np.zeros((len(columns), len(columns)))
        for batch in release.batches(list(columns)):
            rows = np.stack([found.weights(place, batch, first_row) for place in range(len(columns))])
            products += rows @ rows.T
            first_row += batch.num_rows
        values = np.linalg.eigvalsh(products)
        rank = int(np.count_nonzero(values > _RANK_TOLERANCE * values[-1]))
        return replace(found, degrees_of_freedom=float(max(rank - 1, 1)))

    def needs(self, replicate: int) -> tuple[str, ...]:
        """Its own column."""
        return (self.columns[replicate],)

    @property
    def coefficients(self) -> Floats:
        """The same for all."""
        return np.full(len(self.columns), self.scale)

    def weights(self, replicate: int, batch: pa.RecordBatch, first_row: int) -> Floats:
        """The column, whose numbers must not be negative."""
        name = self.columns[replicate]
        found = floats(batch.column(name), f'column "{name}"')
        bad = ~(np.isfinite(found) & (found >= 0))
        if bad.any():
            raise EstimationError(
                f'column "{name}": {row_of(bad, first_row)} must be a number of at least 0, as replicate weights are'
            )
        return found


class Reweighted(WeightedRelease):
    """A release whose survey weights are those of one replicate; rows that count nothing are left out.

    Strata and clusters are not named any more: the replicates themselves say how much estimates vary.
    """

    __slots__ = ("_replicate", "_replicates")

    def __init__(self, release: Release, replicates: Replicates, replicate: int) -> None:
        super().__init__(release, "replicate weight")
        self._replicates, self._replicate = replicates, replicate

    @property
    def survey(self) -> Survey:
        """The weights alone."""
        return Survey(weight=self.weight)

    def _needs(self) -> Sequence[str]:
        return self._replicates.needs(self._replicate)

    def _weights(self, batch: pa.RecordBatch, first_row: int) -> pa.Array:
        return pa.array(self._replicates.weights(self._replicate, batch, first_row), pa.float64())

    def _counting(self, batch: pa.RecordBatch, weights: pa.Array) -> pa.RecordBatch:
        return batch.filter(pc.greater(weights, 0.0))
