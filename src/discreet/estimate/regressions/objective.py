"""The corrected loss of a sample: ``ℓ̃(θ) = Σ_i ω_i Σ_t w_i(t) ℓ(θ; t, public values of row i)``, and its derivatives.

Its expectation over the randomisation is the loss of the truths, for every θ: so are those of the gradient and of the
second derivatives (the corrected score of Nakamura 1990 and Stefanski 1989, for discrete errors). Rows that are equal
in everything are one row here, with the sum of their weights. Everything is a sum over rows, made in passes
(:mod:`discreet.estimate.data.map_reduce`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from discreet.arguments import Floats
from discreet.estimate.data.map_reduce import Source, summed
from discreet.estimate.regressions.cell_passes import (
    At,
    BendPass,
    CellRows,
    KnownStatistics,
    LinearScorePass,
    MomentPass,
    Moments,
    OutcomePass,
    ScorePass,
)
from discreet.estimate.regressions.families import Family
from discreet.estimate.regressions.sample import ScoreSquares


@dataclass(frozen=True, eq=False)
class Size:
    """How much there is.

    Attributes
    ----------
    n, distinct : int
        Rows, and those that differ where equal ones were put together.
    total : float
        The sum of the weights.
    metric : array
        The mean of x x' over rows and cells.
    cells : int
        Values of a randomised outcome included; 0 where none are needed.
    inflation : float
        By what the correction inflates variances; one without randomised predictors.
    """

    n: int
    distinct: int
    total: float
    metric: Floats
    cells: int
    inflation: float = 1.0


class CorrectedLoss:
    """The corrected loss over cells, as a mean over rows.

    Parameters
    ----------
    family : Family
    source : Source of CellRows
    size : Size
    constant : int or None
        The column of the model that is the intercept, where there is one.
    transform : array or None
        Makes the coefficients of all linear predictors from the parameters.
    every : Source of CellRows, optional
        The rows with their clusters and strata, where equal ones were put together without regard to these.
    """

    def __init__(
        self,
        family: Family,
        source: Source,
        size: Size,
        constant: int | None = None,
        transform: Floats | None = None,
        every: Source | None = None,
    ) -> None:
        self.family, self.source, self._size = family, source, size
        self.constant, self.transform = constant, transform
        self.every = source if every is None else every
        self._known = KnownStatistics()

    #: A loss whose curvature stands for that of this one; None where it is this one's own.
    curved: None = None

    def with_family(self, family: Family) -> CorrectedLoss:
        """The same rows and cells under another loss of one linear predictor."""
        every = None if self.every is self.source else self.every
        return CorrectedLoss(family, self.source, self._size, self.constant, every=every)

    def inflated(self, factor: float) -> CorrectedLoss:
        """The same, with variances that a further correction inflates by a factor."""
        size = replace(self._size, inflation=self._size.inflation * max(factor, 1.0))
        every = None if self.every is self.source else self.every
        return CorrectedLoss(self.family, self.source, size, self.constant, self.transform, every)

    @property
    def only(self) -> CellRows:
        """The rows, where they are here in one piece."""
        (rows,) = self.source.chunks()
        return rows  # type: ignore[no-any-return]

    @property
    def n(self) -> int:
        """Number of rows, or of records."""
        return self._size.n

    @property
    def rows(self) -> int:
        """Number of rows that differ, where equal ones were put together."""
        return self._size.distinct

    @property
    def total(self) -> float:
        """The sum of the weights."""
        return self._size.total

    @property
    def columns(self) -> int:
        """Number of columns of the model."""
        return len(self._size.metric)

    @property
    def size(self) -> int:
        """Number of parameters."""
        return self.family.predictors * self.columns if self.transform is None else self.transform.shape[1]

    @property
    def cells_used(self) -> int:
        """Number of cells, values of a randomised outcome included."""
        return self._size.cells

    @property
    def scale(self) -> Floats:
        """The root mean square of every column of the model over rows and cells."""
        return np.sqrt(np.diag(self.metric))

    @property
    def metric(self) -> Floats:
        """The mean of x x' over rows and cells."""
        return self._size.metric

    @property
    def inflation(self) -> float:
        """By what the correction inflates variances; one without randomised predictors."""
        return self._size.inflation

    def start(self) -> Floats:
        """Constants that fit the outcome alone, every other coefficient zero."""
        full = np.zeros((self.family.predictors, self.columns))
        if self.constant is not None:
            full[:, self.constant] = self.family.start(self._outcome_mean())
        flat = full.reshape(-1)
        return flat if self.transform is None else np.asarray(np.linalg.lstsq(self.transform, flat, rcond=None)[0])

    def _outcome_mean(self) -> Floats:
        """The corrected mean of the outcome, or the corrected shares of its classes."""
        classes = self.family.predictors + 1 if self.family.outcome == "classes" else 0
        *sums, total = summed(self.source, OutcomePass(classes))
        return np.asarray(np.array(sums) / total, float)

    def coefficients(self, theta: Floats) -> Floats:
        """One row of coefficients per linear predictor."""
        full = theta if self.transform is None else self.transform @ theta
        return np.asarray(full).reshape(self.family.predictors, self.columns)

    def at(self, theta: Floats, *, every: bool = False) -> At:
        """The loss at a point; with ``every``, for the rows with their clusters and strata."""
        known = KnownStatistics(0) if every and self.every is not self.source else self._known
        return At(self.family, self.coefficients(theta), self.transform, known)

    def moments(self, theta: Floats) -> Moments:
        """Value, gradient and second derivatives, per unit of weight."""
        K, p = self.family.predictors, self.columns
        found = summed(self.source, MomentPass(self.at(theta)))
        value, hessian = found.value, found.hessian
        for k in range(K):
            for j in range(k):
                hessian[j, :, k] = hessian[k, :, j].T
        flat, square = found.gradient.reshape(-1), hessian.reshape(K * p, K * p)
        if self.transform is not None:
            flat, square = self.transform.T @ flat, self.transform.T @ square @ self.transform
        return Moments(value / self.total, flat / self.total, square / self.total)

    def row_scores(self, theta: Floats) -> Floats:
        """The gradient of every distinct row, where they are here in one piece."""
        return self.at(theta).row_scores(0, self.only)

    def meat(self, theta: Floats) -> ScoreSquares:
        """The middle of the sandwich at a point."""
        return summed(self.every, ScorePass(self.at(theta, every=True)))

    def bends(self, theta: Floats, direction: Floats) -> ScoreSquares:
        """The squares of the second derivatives of rows along a direction."""
        return summed(self.every, BendPass(self.at(theta, every=True), direction))

    def linear_scores(self) -> ScoreSquares:
        """Of a squared loss: what the covariance of its scores at every θ is made of."""
        points = np.vstack([np.zeros(self.size), np.eye(self.size)])
        return summed(self.every, LinearScorePass(tuple(self.at(one, every=True) for one in points)))
