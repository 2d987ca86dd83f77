"""Losses that the user writes: any function of θ and a record, corrected by draws of S."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import EstimationError
from discreet.estimate.m_estimation.functionals import MONTE_CARLO_SHARE, monte_carlo_note
from discreet.estimate.m_estimation.losses import Autodiff
from discreet.estimate.m_estimation.result import MEstimate, sandwich
from discreet.estimate.m_estimation.sample import Sample
from discreet.randomness import Randomness

Floats = NDArray[np.float64]
RowFunction = Callable[[Floats], Floats]

#: Draws of S over which "exact" averages at first, and at most; more only shrink the Monte Carlo part of the variance.
_FIRST_DRAWS, _MOST_DRAWS = 4, 512
#: Numbers that all draws together may hold.
_MOST_NUMBERS = 1 << 26


def fit(
    loss: Callable[..., Any] | Autodiff,
    sample: Sample,
    start: Any,
    method: str,
    names: Sequence[str] | None,
    randomness: Randomness | None,
) -> MEstimate:
    """Minimise the corrected mean of a user's loss; derivatives are numerical unless the loss is ``Autodiff``."""
    if sample.weights is not None or sample.outcome_noise is not None:
        raise EstimationError("a loss of your own needs an outcome that was not randomised")
    if start is None:
        raise EstimationError("a loss of your own needs a start, which says how many parameters there are")
    theta = np.asarray(start, float).reshape(-1)
    if theta.size == 0 or not np.isfinite(theta).all():
        raise EstimationError("start must be finite numbers, one per parameter")
    notes = ["the noise was ignored: these parameters are biased"] if method == "naive" else []
    draws: list[Floats] = []
    if method == "exact" and sample.mechanism.zero_probability > 0:
        theta, converged, share = _with_enough_draws(loss, sample, theta, draws, randomness)
        notes.append(monte_carlo_note(len(draws), share))
        value, gradient = _row_functions(loss, sample, method, draws, randomness)
    else:
        value, gradient = _row_functions(loss, sample, method, draws, randomness)
        theta, converged = _minimise(value, gradient, theta)
    slopes = gradient(theta)
    scores = slopes.T @ slopes / sample.n
    hessian = _hessian(gradient, theta, scores, sample.n)
    covariance = sandwich(hessian, scores, sample.n)
    converged = converged and bool(np.isfinite(covariance).all())
    labels = tuple(names) if names is not None else tuple(f"theta{j + 1}" for j in range(theta.size))
    if len(labels) != theta.size:
        raise EstimationError(f"names must be {theta.size}, one per parameter, not {len(labels)}")
    status = "converged" if converged else "no minimum was found: try another start, more rows or a smoother loss"
    text = getattr(loss, "name", getattr(loss, "__name__", "function"))
    return MEstimate(
        theta, covariance, labels, sample.n, str(text), method, converged, status, tuple(notes), hessian, scores
    )


def _with_enough_draws(
    loss: Callable[..., Any] | Autodiff,
    sample: Sample,
    theta: Floats,
    draws: list[Floats],
    randomness: Randomness | None,
) -> tuple[Floats, bool, float]:
    """Fit, see what the draws add to the variance of the gradient there, and fit again with as many as are needed.

    Fills ``draws``; returns θ, whether a minimum was found, and the share of the variance that the draws make up, the
    largest over parameters.
    """
    numbers = sample.n * (sample.private.shape[1] + sample.public.shape[1])
    most = max(_FIRST_DRAWS, min(_MOST_DRAWS, _MOST_NUMBERS // max(numbers, 1)))
    wanted = _FIRST_DRAWS
    while True:
        draws.extend(_second(sample, randomness) for _ in range(wanted - len(draws)))
        value, gradient = _row_functions(loss, sample, "exact", draws, randomness)
        theta, converged = _minimise(value, gradient, theta)
        share = _monte_carlo_share(loss, sample, theta, draws, gradient(theta))
        if not converged or share <= MONTE_CARLO_SHARE or len(draws) >= most:
            return theta, converged, share
        # The share falls like 1/R; a little more, so that one more fit is enough.
        wanted = min(most, math.ceil(1.5 * len(draws) * share / MONTE_CARLO_SHARE))


def _monte_carlo_share(
    loss: Callable[..., Any] | Autodiff, sample: Sample, theta: Floats, draws: list[Floats], slopes: Floats
) -> float:
    """``(1 − 1/δ₀)² Var[∇ℓ(x1 + S) | x1]/R`` over the variance of the corrected gradient, from the first draws."""
    some = draws[:_FIRST_DRAWS]
    y = () if sample.outcome is None else (sample.outcome,)
    total, square = np.zeros_like(slopes), np.zeros(theta.size)
    for x in some:
        if isinstance(loss, Autodiff):
            one = loss.compiled(bool(y))[1](theta, x, *y)
        else:
            plain = _checked(loss, sample.n)
            one = _difference(partial(_at, plain, x, y), theta)
        total += one
        square += np.sum(one * one, axis=0)
    within = (square - np.sum(total * total, axis=0) / len(some)) / (len(some) - 1) / sample.n
    added = (1 - 1 / sample.mechanism.zero_probability) ** 2 * within / len(draws)
    between = np.var(slopes, axis=0)
    return float(np.max(np.where(between > 0, added / np.where(between > 0, between, 1.0), 0.0)))


def _at(plain: Callable[..., Floats], x: Floats, y: tuple[Floats, ...], theta: Floats) -> Floats:
    return plain(theta, x, *y)


def _second(sample: Sample, randomness: Randomness | None) -> Floats:
    return np.concatenate([sample.mechanism.doubly_randomized(sample.private, randomness), sample.public], axis=1)


def _row_functions(
    loss: Callable[..., Any] | Autodiff,
    sample: Sample,
    method: str,
    draws: list[Floats],
    randomness: Randomness | None,
) -> tuple[RowFunction, RowFunction]:
    """Corrected loss and gradient of every row; the same draws of S at every θ."""
    zero = sample.mechanism.zero_probability
    x1 = np.concatenate([sample.private, sample.public], axis=1)
    y = () if sample.outcome is None else (sample.outcome,)
    copies: list[tuple[float, Floats]] = [(1.0, x1)]
    curved: list[tuple[float, Floats]] = []

    if method == "exact" and zero > 0:
        copies = [(1 / zero, x1)] + [((1 - 1 / zero) / len(draws), x) for x in draws]
    elif method == "drcl":
        copies = [(1 / zero, x1), (1 - 1 / zero, _second(sample, randomness))]
    elif method == "exact":
        curved = [(-0.5, x1)]
    elif method == "sdrcl":
        curved = [(-0.5 * (1 - zero), _second(sample, randomness))]
    elif method == "sl":
        other = _second(sample, randomness)
        copies, curved = [(1.0, other)], [(-0.5, other)]
    weights = np.zeros(x1.shape[1])
    weights[: sample.private.shape[1]] = sample.mechanism.noise_scale**2
    if isinstance(loss, Autodiff):
        return _by_jax(loss, copies, curved, weights, y)
    plain = _checked(loss, sample.n)

    def value(theta: Floats) -> Floats:
        total = np.zeros(sample.n)
        for share, x in copies:
            total += share * plain(theta, x, *y)
        for share, x in curved:
            total += share * _laplacian(plain, theta, x, y, weights)
        return total

    return value, lambda theta: _difference(value, theta)


def _by_jax(
    loss: Autodiff,
    copies: list[tuple[float, Floats]],
    curved: list[tuple[float, Floats]],
    weights: Floats,
    y: tuple[Floats, ...],
) -> tuple[RowFunction, RowFunction]:
    plain = loss.compiled(bool(y))
    bent = Autodiff(loss.laplacian(weights)).compiled(bool(y)) if curved else plain

    def summed(which: int) -> RowFunction:
        def total(theta: Floats) -> Floats:
            parts = [share * plain[which](theta, x, *y) for share, x in copies]
            parts += [share * bent[which](theta, x, *y) for share, x in curved]
            return np.asarray(sum(parts))

        return total

    return summed(0), summed(1)


def _checked(loss: Callable[..., Any], n: int) -> Callable[..., Floats]:
    def rows(theta: Floats, *data: Floats) -> Floats:
        found = np.asarray(loss(theta, *data), float)
        if found.shape != (n,):
            raise EstimationError(f"the loss must return one number per row ({n},), not {found.shape}")
        return found

    return rows


def _laplacian(loss: Callable[..., Floats], theta: Floats, x: Floats, y: tuple[Floats, ...], weights: Floats) -> Floats:
    """``Σ w_j ∂²ℓ/∂x_j²`` by central differences over a thousandth of the noise."""
    middle = loss(theta, x, *y)
    total = np.zeros(x.shape[0])
    for j in np.flatnonzero(weights):
        step = 1e-3 * math.sqrt(weights[j])
        up, down = x.copy(), x.copy()
        up[:, j] += step
        down[:, j] -= step
        total += weights[j] * (loss(theta, up, *y) - 2 * middle + loss(theta, down, *y)) / step**2
    return total


def _difference(value: RowFunction, theta: Floats) -> Floats:
    columns = []
    for j in range(theta.size):
        step = 1e-5 * (1 + abs(theta[j]))
        up, down = theta.copy(), theta.copy()
        up[j] += step
        down[j] -= step
        columns.append((value(up) - value(down)) / (2 * step))
    return np.stack(columns, axis=1)


def _minimise(value: RowFunction, gradient: RowFunction, theta: Floats) -> tuple[Floats, bool]:
    from scipy.optimize import minimize

    def risk(at: Floats) -> tuple[float, Floats]:
        return float(value(at).mean()), gradient(at).mean(axis=0)

    found = minimize(risk, theta, jac=True, method="BFGS", options={"gtol": 1e-7, "maxiter": 300})
    best = np.asarray(found.x, float)
    if not np.isfinite(best).all():
        return theta, False
    # A kink leaves a gradient of the size of a few rows; it is small beside the statistical error.
    slopes = gradient(best)
    error = slopes.std(axis=0) / math.sqrt(slopes.shape[0])
    return best, bool(found.success or (np.abs(slopes.mean(axis=0)) < 0.1 * error + 1e-9).all())


def _hessian(gradient: RowFunction, theta: Floats, scores: Floats, n: int) -> Floats:
    """Differences of the mean gradient over two standard errors, so that kinks are averaged over.

    The standard errors are those of differences over a first, narrower step.
    """
    first = (np.abs(theta) + 1.0) * n ** (-1 / 3) / 2
    error = np.sqrt(np.diag(sandwich(_differences(gradient, theta, first), scores, n)))
    step = np.clip(2 * np.where(np.isfinite(error), error, first), first, 8 * first)
    return _differences(gradient, theta, step)


def _differences(gradient: RowFunction, theta: Floats, steps: Floats) -> Floats:
    columns = []
    for j, step in enumerate(steps):
        up, down = theta.copy(), theta.copy()
        up[j] += step
        down[j] -= step
        columns.append((gradient(up).mean(axis=0) - gradient(down).mean(axis=0)) / (2 * step))
    matrix = np.stack(columns, axis=1)
    return np.asarray((matrix + matrix.T) / 2)
