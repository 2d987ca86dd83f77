"""Losses that the user writes: any function of θ and a record, corrected by draws of S."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.m_estimation.box.controls import degrees
from discreet.estimate.m_estimation.box.inside import Inside
from discreet.estimate.m_estimation.box.own_loss import box_rows
from discreet.estimate.m_estimation.functionals import MONTE_CARLO_SHARE, monte_carlo_note
from discreet.estimate.m_estimation.influence import LIMIT, decided_by_few, share_of_few
from discreet.estimate.m_estimation.losses import Autodiff
from discreet.estimate.m_estimation.numerical import (
    RowFunction,
    check_start,
    curvature,
    difference,
    laplacian,
    minimise,
)
from discreet.estimate.m_estimation.result import MEstimate, sandwich
from discreet.estimate.m_estimation.sample import Sample, labels_of, numbers
from discreet.randomness import Randomness

#: Draws of S over which "exact" averages at first, and at most; more only shrink the Monte Carlo part of the variance.
_FIRST_DRAWS, _MOST_DRAWS = 4, 512
#: Units at the minimum that differ from those at the start by this factor are worth another fit.
_OTHER_UNITS = 8.0
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
    try:
        theta = numbers(start, "start", single=True).reshape(-1).copy()
    except EstimationError:
        theta = np.empty(0)
    if theta.size == 0:
        raise EstimationError("start must be finite numbers, one per parameter")
    fallback = [f"theta{j + 1}" for j in range(theta.size)]
    labels = labels_of(fallback if names is None else names, theta.size, "parameter")
    own = loss if isinstance(loss, Autodiff) else _checked(loss)
    # With the box a loss is never evaluated outside it.
    seen = replace(sample, private=Inside.of(sample.mechanism).clip(sample.private)) if method == "box" else sample
    # Numerical steps suit parameters of about one; a start far away says little about the units near the minimum.
    for _ in range(2):
        unit, size = _units(own, seen, theta)
        result = _fit_in_units(_rescaled(own, unit, size), sample, theta / unit, method, labels, randomness)
        theta = np.array(result.coefficients) * unit
        again, _ = _units(own, seen, theta)
        if not result.converged or np.max(np.abs(np.log(again / unit))) < math.log(_OTHER_UNITS):
            break
    square = np.outer(unit, unit)
    return replace(
        result,
        coefficients=theta,
        covariance=result.covariance * square,
        hessian=result.hessian / square * size,
        scores=result.scores / square * size**2,
        loss=str(getattr(loss, "name", getattr(loss, "__name__", "function"))),
    )


def _units(own: Callable[..., Any] | Autodiff, sample: Sample, theta: Floats) -> tuple[Floats, float]:
    """How far each parameter must move for the loss of the reports to bend as much as it varies; and how it varies.

    The loss is taken as it is, without correction: that is enough for an order of magnitude, and well behaved.
    """
    x = np.concatenate([sample.private, sample.public], axis=1)
    y = () if sample.outcome is None else (sample.outcome,)
    rows = own.compiled(bool(y))[0] if isinstance(own, Autodiff) else own
    with np.errstate(all="ignore"):
        middle = rows(theta, x, *y)
        size = max(float(np.std(middle)), 0.01 * float(np.mean(np.abs(middle))))
        if not (math.isfinite(size) and size > 0):
            return np.ones(theta.size), 1.0
        unit = np.ones(theta.size)
        for j in range(theta.size):
            low, high = -15.0, 15.0
            while high - low > 0.05:
                power = (low + high) / 2
                step = np.zeros(theta.size)
                step[j] = 10.0**power
                bend = float(np.mean(rows(theta + step, x, *y) - 2 * middle + rows(theta - step, x, *y)))
                low, high = (power, high) if abs(bend) < size else (low, power)
            if -14 < low < 14:
                unit[j] = 10.0**low
    return unit, size


def _rescaled(own: Callable[..., Any] | Autodiff, unit: Floats, size: float) -> Callable[..., Any] | Autodiff:
    """The loss of parameters in these units, over this size."""
    plain = own.function if isinstance(own, Autodiff) else own

    def rescaled(theta: Any, *data: Any) -> Any:
        return plain(theta * unit, *data) / size

    return Autodiff(rescaled) if isinstance(own, Autodiff) else rescaled


def _fit_in_units(
    loss: Callable[..., Any] | Autodiff,
    sample: Sample,
    theta: Floats,
    method: str,
    labels: tuple[str, ...],
    randomness: Randomness | None,
) -> MEstimate:
    notes = ["the noise was ignored: these parameters are biased"] if method == "naive" else []
    draws: list[Floats] = []
    inflation = 1.0
    if method == "box":
        theta, converged, gradient, inflation, note = _over_the_box(loss, sample, theta)
        notes.append(note)
    elif method == "exact" and sample.mechanism.zero_probability > 0:
        theta, converged, share = _with_enough_draws(loss, sample, theta, draws, randomness)
        notes.append(monte_carlo_note(len(draws), share))
        value, gradient = _row_functions(loss, sample, method, draws, randomness)
    else:
        value, gradient = _row_functions(loss, sample, method, draws, randomness)
        check_start(value, gradient, theta)
        theta, converged = minimise(value, gradient, theta)
    with np.errstate(all="ignore"):
        slopes = gradient(theta)
        scores = inflation * sample.design.meat(slopes)
        hessian = curvature(gradient, theta, scores, sample.n)
    covariance = sandwich(hessian, scores, sample.n)
    converged = converged and bool(np.isfinite(covariance).all())
    status = "converged" if converged else "no minimum was found: try another start, more rows or a smoother loss"
    share = share_of_few(slopes, hessian) if converged and method != "naive" else 0.0
    if share > LIMIT:
        converged, status = False, decided_by_few(share, sample.n)
    return MEstimate(
        coefficients=theta,
        covariance=covariance,
        names=labels,
        n=sample.n,
        loss="function",
        method=method,
        converged=converged,
        status=status,
        notes=tuple(notes),
        hessian=hessian,
        scores=scores,
    )


def _over_the_box(
    loss: Callable[..., Any] | Autodiff, sample: Sample, theta: Floats
) -> tuple[Floats, bool, RowFunction, float, str]:
    """Fit over copies inside the box, as many as are needed, and again with the controls that fit there.

    Returns θ, whether a minimum was found, the gradient of every record, what the variance is multiplied by for the
    multiples of the controls, and a note.
    """
    if isinstance(loss, Autodiff):
        plain, slope = loss.compiled(sample.outcome is not None)
    else:
        plain = loss
        slope = partial(_own_gradient, loss)
    rows = box_rows(plain, slope, sample)
    check_start(rows.values, rows.gradients, theta, "everywhere in the box")
    while True:
        theta, converged = minimise(rows.values, rows.gradients, theta)
        with np.errstate(all="ignore"):
            share = rows.monte_carlo_share(theta) if converged else 0.0
        if not share > MONTE_CARLO_SHARE or rows.copies.count >= rows.copies.most:
            break
        rows = rows.with_count(rows.copies.wanted(share))
    note = rows.copies.note(share)
    if not converged:
        return theta, False, rows.gradients, 1.0, note
    rows, fitted = rows.controlled(theta)
    if fitted:
        theta, converged = minimise(rows.values, rows.gradients, theta)
    return theta, converged, rows.gradients, degrees(sample.n, fitted), note


def _own_gradient(loss: Callable[..., Floats], theta: Floats, x: Floats, *y: Floats) -> Floats:
    return difference(partial(_at, loss, x, y), theta)


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
        if len(draws) == _FIRST_DRAWS:
            check_start(value, gradient, theta)
        theta, converged = minimise(value, gradient, theta)
        with np.errstate(all="ignore"):
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
            one = difference(partial(_at, loss, x, y), theta)
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
    rows = sample.row_weights
    if isinstance(loss, Autodiff):
        return _by_jax(loss, copies, curved, weights, y, rows)
    plain = loss

    def value(theta: Floats) -> Floats:
        total = np.zeros(sample.n)
        for share, x in copies:
            total += share * plain(theta, x, *y)
        for share, x in curved:
            total += share * laplacian(plain, theta, x, y, weights)
        return total if rows is None else total * rows

    return value, lambda theta: difference(value, theta)


def _by_jax(
    loss: Autodiff,
    copies: list[tuple[float, Floats]],
    curved: list[tuple[float, Floats]],
    weights: Floats,
    y: tuple[Floats, ...],
    rows: Floats | None,
) -> tuple[RowFunction, RowFunction]:
    plain = loss.compiled(bool(y))
    bent = Autodiff(loss.laplacian(weights)).compiled(bool(y)) if curved else plain

    def summed(which: int) -> RowFunction:
        def total(theta: Floats) -> Floats:
            parts = [share * plain[which](theta, x, *y) for share, x in copies]
            parts += [share * bent[which](theta, x, *y) for share, x in curved]
            summed = np.asarray(sum(parts))
            return summed if rows is None else summed * (rows if which == 0 else rows[:, None])

        return total

    return summed(0), summed(1)


def _checked(loss: Callable[..., Any]) -> Callable[..., Floats]:
    def rows(theta: Floats, *data: Floats) -> Floats:
        n = len(data[0])
        try:
            found = np.asarray(loss(theta, *data))
        except (TypeError, ValueError) as error:
            raise EstimationError(
                f"the loss could not be evaluated at {theta.size} parameters and records of "
                f"{data[0].shape[1]} columns ({type(error).__name__}); does start have one number per parameter?"
            ) from None
        if found.dtype.kind not in "biuf":
            raise EstimationError("the loss must return real numbers, one per row")
        found = np.asarray(found, float)
        if found.shape != (n,):
            raise EstimationError(f"the loss must return one number per row ({n},), not {found.shape}")
        return found

    return rows
