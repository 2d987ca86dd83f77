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

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.estimate.data.map_reduce import Source, nbytes, summed
from discreet.estimate.regressions.cell_passes import Moments, side_by_side
from discreet.estimate.regressions.cells import Codes
from discreet.estimate.regressions.families import Linear
from discreet.estimate.regressions.sample import Sample, ScoreSquares

Places = NDArray[np.intp]
_CHUNK = 1 << 15


@dataclass(frozen=True, eq=False)
class Unit:
    """Columns of the model that depend on the same randomised columns.

    Attributes
    ----------
    at : array of int
        Where they stand in z; the outcome stands last.
    mean : array (reports, columns)
        The debiased columns, for every combined report.
    excess : array (reports, columns, columns)
        What the debiased product has beyond the product of the means.
    """

    at: Places
    mean: Floats
    excess: Floats

    @classmethod
    def of(cls, at: Places, table: Floats, values: Floats) -> Unit:
        """From the weights of every report over the cells of the unit and its columns in every cell."""
        mean = table @ values
        square = np.einsum("rt,tp,tq->rpq", table, values, values, optimize=True)
        return cls(at, mean, square - mean[:, :, None] * mean[:, None, :])

    def pull(self, c: Floats) -> list[tuple[Places, Floats]]:
        """What the excess adds to ``zz'c``: where, and how much for every report."""
        return [(self.at, self.excess @ c[self.at])]

    def add_excess(self, G: Floats, counts: Floats) -> None:
        """To the sum of products, given the weight of every report."""
        G[np.ix_(self.at, self.at)] += np.tensordot(counts, self.excess, axes=1)


@dataclass(frozen=True, eq=False)
class Pair:
    """Two units that were randomised together: what their debiased product has beyond the product of the means."""

    first: Places
    second: Places
    excess: Floats

    @classmethod
    def of(cls, at: tuple[Places, Places], table: Floats, values: tuple[Floats, Floats]) -> Pair:
        """From the weights of every report over the cells of both, those of the first varying slowest."""
        one, other = values
        table = table.reshape(-1, len(one), len(other))
        together = np.einsum("rst,sp,tq->rpq", table, one, other, optimize=True)
        means = table.sum(axis=2) @ one, table.sum(axis=1) @ other
        return cls(*at, together - means[0][:, :, None] * means[1][:, None, :])

    def pull(self, c: Floats) -> list[tuple[Places, Floats]]:
        """As for a unit."""
        other = np.einsum("rpq,p->rq", self.excess, c[self.first])
        return [(self.first, self.excess @ c[self.second]), (self.second, other)]

    def add_excess(self, G: Floats, counts: Floats) -> None:
        """As for a unit."""
        product = np.tensordot(counts, self.excess, axes=1)
        G[np.ix_(self.first, self.second)] += product
        G[np.ix_(self.second, self.first)] += product.T


@dataclass(frozen=True, eq=False)
class MomentRows:
    """Some distinct rows.

    Attributes
    ----------
    public : array (rows, columns)
        The public columns, the outcome last if it is public.
    public_at : array of int
        Where they stand in z.
    units : tuple of (Unit, codes)
        With the combined report of every row; a randomised outcome is one of them.
    pairs : tuple of (Pair, codes)
    sample : Sample
    """

    public: Floats
    public_at: Places
    units: tuple[tuple[Unit, Codes], ...]
    pairs: tuple[tuple[Pair, Codes], ...]
    sample: Sample

    @property
    def rows(self) -> int:
        """Number of distinct rows."""
        return len(self.public)

    @property
    def _excesses(self) -> tuple[tuple[Unit | Pair, Codes], ...]:
        return (*self.units, *self.pairs)

    @property
    def columns(self) -> int:
        """Columns of z."""
        return self.public_at.size + sum(unit.at.size for unit, _ in self.units)

    @property
    def nbytes(self) -> int:
        """What they take; tables are shared with others."""
        return nbytes(self.public, *(codes for _, codes in self._excesses)) + self.sample.nbytes

    def pieces(self) -> Iterator[tuple[slice, Floats]]:
        """Rows with their debiased z, some at a time."""
        for start in range(0, self.rows, _CHUNK):
            rows = slice(start, min(start + _CHUNK, self.rows))
            z = np.empty((rows.stop - start, self.columns))
            z[:, self.public_at] = self.public[rows]
            for unit, codes in self.units:
                z[:, unit.at] = unit.mean[codes[rows]]
            yield rows, z

    def gram(self) -> Floats:
        """The debiased ``Σ ω zz'``."""
        G, weights = np.zeros((self.columns, self.columns)), self.sample.summed(self.rows)
        for rows, z in self.pieces():
            G += z.T @ (weights[rows, None] * z)
        for one, codes in self._excesses:
            one.add_excess(G, np.asarray(np.bincount(codes, weights, len(one.excess)), float))
        return G

    def row_scores(self, c: Floats) -> Floats:
        """The gradient of every row."""
        extra = [(at, codes, table) for one, codes in self._excesses for at, table in one.pull(c)]
        out = np.empty((self.rows, self.columns - 1))
        for rows, z in self.pieces():
            z *= (z @ c)[:, None]
            for at, codes, table in extra:
                z[:, at] += table[codes[rows]]
            out[rows] = -z[:, :-1]
        return out


@dataclass(frozen=True, eq=False)
class _Scores:
    c: Floats
    #: Along which the second derivative is taken, in place of the scores.
    direction: Floats | None = None

    def __call__(self, chunks: Iterator[MomentRows]) -> ScoreSquares:
        found = ScoreSquares(0)
        for rows in chunks:
            scores = rows.row_scores(self.c)
            if self.direction is None:
                found = found + rows.sample.scored(scores)
            else:
                found = found + rows.sample.scored((scores @ self.direction)[:, None])
        return found


@dataclass(frozen=True, eq=False)
class _LinearScores:
    """Squares of the scores at zero, and of how they change with each parameter, side by side."""

    size: int

    def __call__(self, chunks: Iterator[MomentRows]) -> ScoreSquares:
        found = ScoreSquares(0)
        for rows in chunks:
            first, *others = (rows.row_scores(np.append(-one, 1.0)) for one in np.eye(1 + self.size, self.size, -1))
            found = found + rows.sample.scored(side_by_side(first, others))
        return found


class LinearMoments:
    """The corrected squared loss, as a mean over rows.

    Parameters
    ----------
    source : Source of MomentRows
    gram, metric : array
        The debiased ``Σ ω zz'`` per unit of weight, and the mean of x x' over rows and truths, which is positive.
    n, distinct : int
        Rows, and those that differ where equal ones were put together.
    total : float
        The sum of the weights.
    every : Source of MomentRows, optional
        The rows with their clusters and strata, where equal ones were put together without regard to these.
    """

    #: None are needed.
    cells_used = 0
    #: There is one linear predictor.
    transform = None

    def __init__(
        self,
        source: Source,
        gram: Floats,
        metric: Floats,
        n: int,
        distinct: int,
        total: float,
        every: Source | None = None,
    ) -> None:
        self.family = Linear()
        self.source, self.every = source, source if every is None else every
        self.gram, self.metric = gram, metric
        self.n, self.rows, self.total = n, distinct, total

    def inflated(self, factor: float) -> LinearMoments:
        """The same: there is no kink whose average depends on it."""
        del factor
        return self

    @property
    def only(self) -> MomentRows:
        """The rows, where they are here in one piece."""
        (rows,) = self.source.chunks()
        return rows  # type: ignore[no-any-return]

    @property
    def size(self) -> int:
        """Number of parameters."""
        return len(self.gram) - 1

    def coefficients(self, theta: Floats) -> Floats:
        """One row: there is one linear predictor."""
        return theta[None, :]

    def moments(self, theta: Floats) -> Moments:
        """Value, gradient and second derivatives."""
        c = np.append(-theta, 1.0)
        pull = self.gram @ c
        value, gradient = 0.5 * float(c @ pull), -pull[:-1]
        return Moments(value, gradient, self.gram[:-1, :-1])

    def row_scores(self, theta: Floats) -> Floats:
        """The gradient of every distinct row, where they are here in one piece."""
        return self.only.row_scores(np.append(-theta, 1.0))

    def meat(self, theta: Floats) -> ScoreSquares:
        """The middle of the sandwich at a point."""
        return summed(self.every, _Scores(np.append(-theta, 1.0)))

    def bends(self, theta: Floats, direction: Floats) -> ScoreSquares:  # noqa: ARG002  # the same at every point
        """The squares of the second derivatives of rows along a direction: scores are linear in the parameters."""
        return summed(self.every, _Scores(np.append(-direction, 0.0), direction))

    def linear_scores(self) -> ScoreSquares:
        """What the covariance of the scores at every θ is made of."""
        return summed(self.every, _LinearScores(self.size))
