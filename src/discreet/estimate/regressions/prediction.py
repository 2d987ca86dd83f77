"""Predictions at true values, and average marginal effects over truths that nobody has seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.data.map_reduce import summed
from discreet.estimate.formulas import Matrices
from discreet.estimate.regressions.cell_passes import At, CellRows
from discreet.estimate.regressions.families import Family
from discreet.estimate.regressions.laplace_exact import ExactLoss
from discreet.estimate.regressions.likelihood.effects import EffectSums, MarginalEffects, Switches, effect_notes
from discreet.estimate.regressions.likelihood.truth_given_report import posterior, posterior_slopes
from discreet.estimate.regressions.losses import Logistic as LogisticLoss
from discreet.estimate.regressions.losses import Poisson as PoissonLoss
from discreet.estimate.regressions.model_matrix import CellMatrix
from discreet.estimate.regressions.objective import CorrectedLoss
from discreet.estimate.regressions.predicted_rows import PredictedMeans
from discreet.estimate.regressions.sample import ScoreSquares
from discreet.estimate.reporting.result import frozen

if TYPE_CHECKING:
    from discreet.estimate.regressions.result import CorrectedRegression


def predictions(fit: CorrectedRegression, X: Floats) -> PredictedMeans:
    """Predicted means at the rows of a model matrix."""
    return _with_errors(fit, *_means(fit, X))


def truth_given_report(fit: CorrectedRegression, X: Floats, given: Floats) -> PredictedMeans:
    """Probabilities of the true classes at the rows of a model matrix; ``given`` holds the chances of their reports."""
    shares, slopes = _means(fit, X)
    two = shares.shape[1] == 1
    if two:  # of a yes/no outcome the mean is the chance of "yes"
        shares, slopes = np.hstack([1 - shares, shares]), np.concatenate([-slopes, slopes], axis=1)
    found = posterior(shares, given)
    moves = posterior_slopes(found, shares, given, slopes)
    return _with_errors(fit, found[:, 1:], moves[:, 1:]) if two else _with_errors(fit, found, moves)


def _means(fit: CorrectedRegression, X: Floats) -> tuple[Floats, Floats]:
    """What is predicted (rows, M), and its derivatives in the parameters (rows, M, parameters)."""
    bad = ~np.isfinite(X).all(axis=1)
    if bad.any():
        raise EstimationError(f"row {int(np.flatnonzero(bad)[0])} (counted from 0) to predict for is infinite")
    B = fit.risk.coefficients(fit.coefficients)
    mean, slopes = fit.family.mean(X @ B.T)  # (rows, M), (rows, M, K)
    jacobian = (slopes[..., None] * X[:, None, None, :]).reshape(*mean.shape, -1)
    return mean, jacobian if fit.risk.transform is None else jacobian @ fit.risk.transform


def _with_errors(fit: CorrectedRegression, mean: Floats, jacobian: Floats) -> PredictedMeans:
    """Delta-method errors; a single column is written as one number for each row."""
    error = np.sqrt(np.einsum("rmp,pq,rmq->rm", jacobian, fit.covariance, jacobian))
    if mean.shape[1] == 1:
        mean, error = mean[:, 0], error[:, 0]
    return PredictedMeans(
        estimate=frozen(mean), std_error=frozen(error), scale=fit.family.scale, freedom=fit.degrees_of_freedom
    )


def marginal_effects(fit: CorrectedRegression) -> MarginalEffects:
    """Average marginal effects ``Σ ω w ∂m/∂x_j / Σ ω w`` over rows and cells.

    With s_i the score of row i and e_i its summand, the influence of a row is ``(e_i − ē b_i)/B − J V⁻¹ s_i``, b_i the
    weight of all its cells, B their sum and J the derivative of the average in the parameters.
    """
    risk = fit.risk
    if fit.family.scale == "number":  # the mean is the linear predictor: the effects are its coefficients
        kept = [j for j, name in enumerate(fit.names) if name != "Intercept"]
        return _effects(fit, [fit.names[j] for j in kept], fit.coefficients[kept], fit.covariance[np.ix_(kept, kept)])
    if isinstance(risk, ExactLoss):
        return _exact_effects(fit, risk)
    assert isinstance(risk, CorrectedLoss)  # moments are those of a linear model
    columns_named = fit.names if fit.matrices is None else fit.matrices.names
    at, size = risk.at(fit.coefficients, every=True), len(columns_named)
    ranges = summed(risk.source, _Ranging(size))
    columns, discrete = _varying(ranges, fit.matrices)
    effect = _RowEffects(at, columns, discrete)
    averages = summed(risk.source, _Averaging(effect))
    effects, jacobian = averages.effects / averages.total, averages.jacobian / averages.total
    if risk.transform is not None:
        jacobian = jacobian @ risk.transform
    pull = np.asarray(np.linalg.solve(fit.hessian, jacobian.T), float)
    # The middle is divided by the total weight squared, so summands are per mean share.
    influences = _Influences(effect, effects, pull, risk.total / averages.total, fit.row_scores)
    meat, _ = summed(risk.every, influences).finished()
    heads = getattr(fit.family, "classes", ("",))
    named = [f"{head}: {columns_named[j]}" if head else columns_named[j] for j in columns for head in heads]
    return _effects(fit, named, effects, meat / risk.total**2)


def _effects(fit: CorrectedRegression, names: Sequence[str], effects: Floats, covariance: Floats) -> MarginalEffects:
    notes = effect_notes(fit.matrices)
    freedom = fit.degrees_of_freedom
    return MarginalEffects(
        names=tuple(names), coefficients=effects, covariance=covariance, freedom=freedom, notes=notes
    )


def _varying(ranges: _Ranges, matrices: Matrices | None) -> tuple[tuple[int, ...], Switches]:
    """Columns that are not constant, and those of a formula that are 0 or 1, with the ones of the same category."""
    columns = np.flatnonzero(ranges.low < ranges.high)
    two = np.flatnonzero(ranges.two & (ranges.low == 0) & (ranges.high == 1)).tolist()
    discrete = {} if matrices is None else {j: matrices.alternatives[j] for j in two}
    return tuple(columns.tolist()), discrete


def _exact_effects(fit: CorrectedRegression, risk: ExactLoss) -> MarginalEffects:
    """The same from the reports: the mean of a canonical loss is corrected as the loss is."""
    if not isinstance(risk.loss, (LogisticLoss, PoissonLoss)):
        raise EstimationError(
            'average marginal effects of a probit by the method "exact" are not available; use method="box"'
        )
    X, weights = risk.views[0].design, risk.sample.summed(risk.n)
    parts = _Ranging(X.shape[1]).of_columns(X)
    columns, discrete = _varying(parts, fit.matrices)
    theta = np.array(fit.coefficients)

    def rows(at: Floats) -> Floats:
        eta, out = X @ at, np.empty((len(X), len(columns)))
        slope = risk.corrected_mean(eta, at)[1]
        for place, j in enumerate(columns):
            if j in discrete:
                others = list(discrete[j])
                off = eta - X[:, others] @ at[others]
                out[:, place] = risk.corrected_mean(off + at[j], at)[0] - risk.corrected_mean(off, at)[0]
            else:
                out[:, place] = at[j] * slope
        return out

    single = rows(theta)
    effects = weights @ single / risk.total
    steps = 1e-3 * np.sqrt(np.diag(fit.covariance))
    moves = [(weights @ (rows(theta + move) - rows(theta - move))) / (2 * risk.total) for move in np.diag(steps)]
    pull = np.asarray(np.linalg.solve(fit.hessian, np.array(moves) / steps[:, None]), float)
    influence = single - effects - risk.row_scores(theta) @ pull
    meat, _ = risk.sample.scored(influence).finished()
    return _effects(fit, [fit.names[j] for j in columns], effects, meat / risk.total**2)


@dataclass(frozen=True, eq=False)
class _Ranges:
    """The smallest and largest number of every column of the model, and whether it has these two only."""

    low: Floats
    high: Floats
    two: NDArray[np.bool_]

    def __add__(self, other: _Ranges) -> _Ranges:
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        return _Ranges(low, high, self._within(low, high) & other._within(low, high))

    def _within(self, low: Floats, high: Floats) -> NDArray[np.bool_]:
        """Whether all numbers are one of these two; those of no rows are."""
        nothing = self.low > self.high
        ends = ((self.low == low) | (self.low == high)) & ((self.high == low) | (self.high == high))
        return np.asarray(nothing | (self.two & ends))


@dataclass(frozen=True, eq=False)
class _Ranging:
    columns: int

    def __call__(self, chunks: Iterator[CellRows]) -> _Ranges:
        size = self.columns
        found = _Ranges(np.full(size, np.inf), np.full(size, -np.inf), np.ones(size, bool))
        for rows in chunks:
            found = found + self._of(rows.matrix)
        return found

    def of_columns(self, X: Floats) -> _Ranges:
        """Of a plain matrix."""
        low, high = X.min(axis=0), X.max(axis=0)
        return _Ranges(low, high, ((low == X) | (high == X)).all(axis=0))

    def _of(self, matrix: CellMatrix) -> _Ranges:
        low, high, two = np.zeros(self.columns), np.zeros(self.columns), np.ones(self.columns, bool)
        parts = (
            (matrix.public_at, matrix.public),
            (matrix.private_at, matrix.private),
            (matrix.mixed_at, matrix.mixed.reshape(matrix.mixed.shape[0] * matrix.mixed.shape[1], -1)),
        )
        for at, values in parts:
            if not at.size:
                continue
            low[at], high[at] = values.min(axis=0), values.max(axis=0)
            two[at] = ((values == low[at]) | (values == high[at])).all(axis=0)
        return _Ranges(low, high, two)


@dataclass(frozen=True, eq=False)
class _RowEffects:
    """The effects of some columns in rows, summed over their cells.

    Attributes
    ----------
    at : At
        The loss at the estimate.
    columns : tuple of int
    discrete : mapping of int to columns
        Those whose effect is the difference between 1 and 0, each with the columns of the same category.
    """

    at: At
    columns: tuple[int, ...]
    discrete: Switches

    @property
    def classes(self) -> int:
        """Number of means that a column has an effect on."""
        family = self.at.family
        return int(family.mean(np.zeros((1, family.predictors)))[0].shape[1])

    def of(self, rows: CellRows, *, moves: bool) -> Iterator[tuple[slice, Floats, Floats, Floats | None]]:
        """Some rows at a time: effects, the weight of all cells, and how effects move with the coefficients, summed."""
        B, classes = self.at.coefficients, self.classes
        weights = rows.sample.summed(rows.rows)
        for some, matrix in rows.pieces(self.at.family.predictors):
            cells = rows.cells.of(some).sum(axis=1)
            X = matrix.written_out()
            eta = X @ B.T
            single = np.empty((matrix.rows, len(self.columns) * classes))
            jacobian = np.zeros((single.shape[1], B.size)) if moves else None
            for place, j in enumerate(self.columns):
                effect, bend = _effect(self.at.family, X, eta, B, j, self.discrete.get(j))  # (r, c, M), (r, c, M, K, p)
                at = slice(place * classes, (place + 1) * classes)
                single[:, at] = np.einsum("rc,rcm->rm", cells, effect)
                if jacobian is not None:
                    moved = np.einsum("r,rc,rcmkp->mkp", weights[some], cells, bend)
                    jacobian[at] = moved.reshape(classes, -1)
            yield some, single, cells.sum(axis=1), jacobian


@dataclass(frozen=True, eq=False)
class _Averaging:
    """``Σ ω w ∂m/∂x_j`` over rows and cells, its derivative in the coefficients, and ``Σ ω w``."""

    effect: _RowEffects

    def __call__(self, chunks: Iterator[CellRows]) -> EffectSums:
        count = len(self.effect.columns) * self.effect.classes
        found = EffectSums(np.zeros(count), np.zeros((count, self.effect.at.coefficients.size)), 0.0)
        for rows in chunks:
            weights = rows.sample.summed(rows.rows)
            for some, single, share, jacobian in self.effect.of(rows, moves=True):
                assert jacobian is not None
                found = found + EffectSums(weights[some] @ single, jacobian, float(weights[some] @ share))
        return found


@dataclass(frozen=True, eq=False)
class _Influences:
    """The squares of what every row adds to the average effects."""

    effect: _RowEffects
    effects: Floats
    pull: Floats
    scale: float
    #: Scores of records, where they are not those of the loss.
    scores: Floats | None = None

    def __call__(self, chunks: Iterator[CellRows]) -> ScoreSquares:
        found = ScoreSquares(0)
        for place, rows in enumerate(chunks):
            influence = np.zeros((rows.rows, self.effects.size))
            if self.scores is None:
                influence -= self.effect.at.row_scores(place, rows) @ self.pull
            for some, single, share, _ in self.effect.of(rows, moves=False):
                influence[some] += self.scale * (single - share[:, None] * self.effects)
            sample = rows.sample
            if self.scores is not None:
                sample = replace(sample, added=-self.scores @ self.pull)
            found = found + sample.scored(influence)
        return found


def _effect(
    family: Family, X: Floats, eta: Floats, B: Floats, j: int, alternatives: tuple[int, ...] | None
) -> tuple[Floats, Floats]:
    """The effect of column j at every row and cell, and its derivatives in the coefficients (K, p)."""
    if alternatives is not None:
        ends = []
        for value in (0.0, 1.0):
            moved = X.copy()
            moved[..., list(alternatives)] = 0.0
            moved[..., j] = value
            mean, slopes = family.mean(moved @ B.T)
            ends.append((mean, slopes[..., None] * moved[..., None, None, :]))
        return ends[1][0] - ends[0][0], ends[1][1] - ends[0][1]
    step = 1e-5 / max(1.0, float(np.abs(B[:, j]).max(initial=0.0)))  # central differences: errors of 1e-10
    (_, low), (_, high) = (family.mean(eta + side * step * B[:, j]) for side in (-1.0, 1.0))
    slopes = family.mean(eta)[1]
    bend = (high - low) / (2 * step)  # d slopes / dx_j, (r, c, M, K)
    moves = bend[..., None] * X[..., None, None, :]
    moves[..., j] += slopes
    return slopes @ B[:, j], moves
