"""Predictions at true values, and average marginal effects over truths that nobody has seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.corrected_loss.objective import CorrectedLoss
from discreet.estimate.likelihood.effects import MarginalEffects, effect_notes
from discreet.estimate.likelihood.truth_given_report import posterior, posterior_slopes
from discreet.estimate.predicted_rows import PredictedMeans
from discreet.estimate.result import frozen

if TYPE_CHECKING:
    from discreet.estimate.corrected_loss.result import CorrectedRegression


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
    if not isinstance(risk, CorrectedLoss):  # a linear model: the effects are its coefficients
        kept = [j for j, name in enumerate(fit.names) if name != "Intercept"]
        return MarginalEffects(
            names=tuple(fit.names[j] for j in kept),
            coefficients=fit.coefficients[kept],
            covariance=fit.covariance[np.ix_(kept, kept)],
            freedom=fit.degrees_of_freedom,
            notes=effect_notes(fit.matrices),
        )
    names, effects, jacobian, single, share = _averages(fit, risk)
    influence = single - share[:, None] * effects
    influence -= risk.row_scores(fit.coefficients) @ np.linalg.solve(fit.hessian, jacobian.T)
    meat, _ = risk.sample.meat(influence)
    return MarginalEffects(
        names=names,
        coefficients=effects,
        covariance=meat / risk.total**2,
        freedom=fit.degrees_of_freedom,
        notes=effect_notes(fit.matrices),
    )


def _averages(fit: CorrectedRegression, risk: CorrectedLoss) -> tuple[tuple[str, ...], Floats, Floats, Floats, Floats]:
    """Names, averages, their derivatives, and for every distinct row its summands and its share, per unit of B."""
    B = risk.coefficients(fit.coefficients)
    columns = [j for j, low, high, _ in _ranges(risk) if low < high]
    discrete = {j for j, low, high, two in _ranges(risk) if two and (low, high) == (0.0, 1.0)}
    classes = fit.family.mean(np.zeros((1, fit.family.predictors)))[0].shape[1]
    count = len(columns) * classes
    single, share = np.zeros((risk.rows, count)), np.zeros(risk.rows)
    jacobian = np.zeros((count, B.size))
    weights = risk.sample.summed(risk.rows)
    for rows, matrix in risk.chunks():
        cells = risk.cells.of(rows).sum(axis=1)
        share[rows] = cells.sum(axis=1)
        X = matrix.written_out()
        eta = X @ B.T
        for place, j in enumerate(columns):
            effect, moves = _effect(fit, X, eta, B, j, j in discrete)  # (r, c, M), (r, c, M, K, p)
            at = slice(place * classes, (place + 1) * classes)
            single[rows, at] = np.einsum("rc,rcm->rm", cells, effect)
            jacobian[at] += np.einsum("r,rc,rcmkp->mkp", weights[rows], cells, moves).reshape(classes, -1)
    total = float(weights @ share)
    if risk.transform is not None:
        jacobian = jacobian @ risk.transform
    # ``meat`` is divided by the total weight squared, so summands are per mean share.
    scale = risk.total / total
    effects = weights @ single / total
    heads = getattr(fit.family, "classes", ("",))
    labels = tuple(f"{head}: {_name(fit, j)}" if head else _name(fit, j) for j in columns for head in heads)
    return labels, effects, jacobian / total, single * scale, share * scale


def _name(fit: CorrectedRegression, column: int) -> str:
    assert fit.matrices is not None
    return fit.matrices.names[column]


def _ranges(risk: CorrectedLoss) -> list[tuple[int, float, float, bool]]:
    """The smallest and largest number of every column of the model, and whether it has these two only."""
    found, matrix = [], risk.matrix
    parts = [(matrix.public_at, matrix.public), (matrix.private_at, matrix.private), (matrix.mixed_at, matrix.mixed)]
    for at, values in parts:
        for place, j in enumerate(at):
            column = values[..., place]
            low, high = float(column.min()), float(column.max())
            found.append((int(j), low, high, bool(((column == low) | (column == high)).all())))
    return sorted(found)


def _effect(
    fit: CorrectedRegression, X: Floats, eta: Floats, B: Floats, j: int, discrete: bool
) -> tuple[Floats, Floats]:
    """The effect of column j at every row and cell, and its derivatives in the coefficients (K, p)."""
    family = fit.family
    if discrete:
        assert fit.matrices is not None
        ends = []
        for value in (0.0, 1.0):
            moved = X.copy()
            moved[..., list(fit.matrices.alternatives[j])] = 0.0
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
