"""Linear regression on any number of randomised columns from first and second moments, without cells.

With z = (x, y) the squared loss is ``c'zz'c/2``, c = (−θ, 1): it needs the products of two columns of the model, hence
the true values of at most two *units* (columns that meet in a term) at a time. For a row with reports r, m the debiased
columns, ``m = Σ_t A[r, t] z(t)``,

* the product of two columns from units that were randomised independently is debiased by ``m_a m_b'``;
* within one unit it is ``Σ_t A[r, t] z_a(t) z_a(t)'``;
* of two units that were randomised together it is ``Σ A[r_a r_b, st] z_a(s) z_b(t)'``.

The last two differ from ``mm'`` by an *excess* that is a function of the reports of these units alone: it is tabulated
once, and looked up. The matrix ``G = Σ ω (mm' + excess)`` has the expectation of ``Σ ω zz'`` for the truths.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.estimate.corrected_loss.cells import CellWeights
from discreet.estimate.corrected_loss.families import Linear
from discreet.estimate.corrected_loss.objective import Sample
from discreet.estimate.m_estimation.objective import Moments

Places = NDArray[np.intp]
_CHUNK = 1 << 15


@dataclass(frozen=True, eq=False)
class Unit:
    """Columns of the model that depend on the same randomised columns.

    Attributes
    ----------
    at : array of int
        Where they stand in z; the outcome stands last.
    reports : array
        The combined report of every row, as a number.
    mean : array (reports, columns)
        The debiased columns.
    excess : array (reports, columns, columns)
        What the debiased product has beyond the product of the means.
    """

    at: Places
    reports: NDArray[np.int64]
    mean: Floats
    excess: Floats

    @classmethod
    def of(cls, at: Places, weights: CellWeights, values: Floats) -> Unit:
        """From the weights over the cells of the unit and its columns in every cell."""
        table = weights.table()
        mean = table @ values
        square = np.einsum("rt,tp,tq->rpq", table, values, values, optimize=True)
        return cls(at, weights.reports, mean, square - mean[:, :, None] * mean[:, None, :])


@dataclass(frozen=True, eq=False)
class Pair:
    """Two units that were randomised together: what their debiased product has beyond the product of the means."""

    first: Places
    second: Places
    reports: NDArray[np.int64]
    excess: Floats

    @classmethod
    def of(cls, first: Unit, second: Unit, weights: CellWeights, values: tuple[Floats, Floats]) -> Pair:
        """From the weights over the cells of both, those of the first varying slowest."""
        one, other = values
        table = weights.table().reshape(-1, len(one), len(other))
        together = np.einsum("rst,sp,tq->rpq", table, one, other, optimize=True)
        means = table.sum(axis=2) @ one, table.sum(axis=1) @ other
        return cls(first.at, second.at, weights.reports, together - means[0][:, :, None] * means[1][:, None, :])


class LinearMoments:
    """The corrected squared loss, as a mean over rows.

    Parameters
    ----------
    public : array (rows, columns)
        The public columns of the distinct rows, the outcome last if it is public.
    public_at : array of int
        Where they stand in z.
    units : sequence of Unit
        A randomised outcome is one of them.
    pairs : sequence of Pair
    sample : Sample
    """

    def __init__(
        self, public: Floats, public_at: Places, units: Sequence[Unit], pairs: Sequence[Pair], sample: Sample
    ) -> None:
        self.family, self.transform, self.sample = Linear(), None, sample
        self._public, self._public_at, self._units, self._pairs = public, public_at, tuple(units), tuple(pairs)
        self.rows = len(public)
        self._columns = public_at.size + sum(unit.at.size for unit in units)
        self._weights = sample.summed(self.rows)
        self.total = float(sample.weights.sum())

    @property
    def cells_used(self) -> int:
        """None."""
        return 0

    def coefficients(self, theta: Floats) -> Floats:
        """One row: there is one linear predictor."""
        return theta[None, :]

    def start(self) -> Floats:
        """Anywhere: the solution takes one step."""
        return np.zeros(self._columns - 1)

    def _chunks(self) -> Iterator[tuple[slice, Floats]]:
        """Distinct rows with their debiased z, some at a time."""
        for start in range(0, self.rows, _CHUNK):
            rows = slice(start, min(start + _CHUNK, self.rows))
            z = np.empty((rows.stop - start, self._columns))
            z[:, self._public_at] = self._public[rows]
            for unit in self._units:
                z[:, unit.at] = unit.mean[unit.reports[rows]]
            yield rows, z

    @cached_property
    def gram(self) -> Floats:
        """The debiased ``Σ ω zz'`` per unit of weight."""
        G = np.zeros((self._columns, self._columns))
        for rows, z in self._chunks():
            G += z.T @ (self._weights[rows, None] * z)
        for unit in self._units:
            counts = np.bincount(unit.reports, self._weights, len(unit.mean))
            G[np.ix_(unit.at, unit.at)] += np.tensordot(counts, unit.excess, axes=1)
        for pair in self._pairs:
            counts = np.bincount(pair.reports, self._weights, len(pair.excess))
            product = np.tensordot(counts, pair.excess, axes=1)
            G[np.ix_(pair.first, pair.second)] += product
            G[np.ix_(pair.second, pair.first)] += product.T
        return G / self.total

    @property
    def scale(self) -> Floats:
        """The root mean square of every column, as far as the moments know it."""
        return np.sqrt(np.maximum(np.abs(np.diag(self.gram)[:-1]), 1e-300))

    def moments(self, theta: Floats) -> Moments:
        """Value, gradient and second derivatives."""
        c = np.append(-theta, 1.0)
        pull = self.gram @ c
        value, gradient, tilt = 0.5 * float(c @ pull), -pull[:-1], self.sample.tilt
        if tilt is not None:
            value, gradient = value - float(tilt @ theta) / self.total, gradient - tilt / self.total
        return Moments(value, gradient, self.gram[:-1, :-1], np.zeros((0, 0)))

    def row_scores(self, theta: Floats) -> Floats:
        """The gradient of every distinct row."""
        c = np.append(-theta, 1.0)
        extra = [(one.at, one.reports, one.excess @ c[one.at]) for one in self._units]
        for pair in self._pairs:
            extra.append((pair.first, pair.reports, pair.excess @ c[pair.second]))
            extra.append((pair.second, pair.reports, np.einsum("rpq,p->rq", pair.excess, c[pair.first])))
        out = np.empty((self.rows, self._columns - 1))
        for rows, z in self._chunks():
            z *= (z @ c)[:, None]
            for at, reports, table in extra:
                z[:, at] += table[reports[rows]]
            out[rows] = -z[:, :-1]
        return out
