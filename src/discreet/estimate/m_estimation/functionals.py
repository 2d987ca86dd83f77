"""Means of functions of a record, from privatised records."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import EstimationError
from discreet.estimate.m_estimation.losses import Expectation
from discreet.estimate.m_estimation.result import MEstimate
from discreet.estimate.m_estimation.sample import Sample
from discreet.randomness import Randomness

Floats = NDArray[np.float64]

#: Cells of the grid on which the average over one-dimensional Laplace noise is carried along.
_CELLS = 1 << 15
#: Draws per row in more than one dimension are doubled from the first number, at most to the last, until what they
#: add to the variance is below this share of it.
_FIRST_DRAWS, _MOST_DRAWS, MONTE_CARLO_SHARE = 8, 1024, 0.05


def expectation(
    loss: Expectation, sample: Sample, method: str, names: Sequence[str] | None, randomness: Randomness | None
) -> MEstimate:
    """The mean over rows of the corrected function, with its standard error."""
    if sample.outcome is not None or sample.public.size:
        raise EstimationError("an expectation is of a function of the reports alone: no outcome, no public columns")
    notes = ["the noise was ignored: this is biased"] if method == "naive" else []
    if method == "exact" and sample.mechanism.zero_probability > 0 and sample.mechanism.dimension > 1:
        answers, draws, share = _by_draws(loss, sample, randomness)
        notes.append(monte_carlo_note(draws, share))
    else:
        answers = corrected(loss, sample, method, randomness)
    n = sample.n
    mean = answers.mean(axis=0)
    centred = answers - mean
    scores = centred.T @ centred / n
    k = mean.size
    if names is not None and len(names) != k:
        raise EstimationError(f"names must be {k}, one per function, not {len(names)}")
    labels = tuple(map(str, names)) if names is not None else tuple(f"f{j + 1}" for j in range(k))
    covariance = scores / (n - 1) if n > 1 else np.full((k, k), math.nan)
    return MEstimate(
        mean, covariance, labels, n, "expectation", method, True, "converged", tuple(notes), np.eye(k), scores
    )


def monte_carlo_note(draws: int, share: float) -> str:
    """How many draws of S there were, and what they leave in the variance."""
    if draws == 1:
        return "one draw per row: its part of the variance cannot be told from the rest"
    text = f"averaged over {draws:,} draws per row, which make up {share:.1%} of the variance"
    return text if share <= MONTE_CARLO_SHARE else text + ": more draws would shorten the intervals"


def corrected(loss: Expectation, sample: Sample, method: str, randomness: Randomness | None) -> Floats:
    """The corrected function of every row, n × k."""
    x1, mechanism = sample.private, sample.mechanism
    zero, scale = mechanism.zero_probability, mechanism.noise_scale
    f = _rows_of(loss.function, "the function")
    if method == "naive":
        return f(x1)
    if method == "box":
        from discreet.estimate.m_estimation.box_method import box_corrected

        return box_corrected(f, mechanism, x1)
    if method == "exact" and zero > 0:
        if mechanism.dimension == 1:
            average = _average_on_a_line(f, x1[:, 0], math.sqrt(zero / 2) * float(scale[0]))
            return f(x1) / zero + (1 - 1 / zero) * average
        return _by_draws(loss, sample, randomness)[0]
    if method == "drcl":
        return f(x1) / zero + (1 - 1 / zero) * f(mechanism.doubly_randomized(x1, randomness))
    if loss.laplacian is None:
        why = "at zero probability 0" if method == "exact" else ""
        raise EstimationError(f'the method "{method}" {why} needs the Laplacian of the function'.replace("  ", " "))
    if len(set(scale.tolist())) > 1:
        raise EstimationError("a Laplacian weighs all coordinates alike: their scales must be equal")
    half = float(scale[0]) ** 2 / 2
    bend = _rows_of(loss.laplacian, "the Laplacian")
    if method == "exact":
        return f(x1) - half * bend(x1)
    x2 = mechanism.doubly_randomized(x1, randomness)
    if method == "sdrcl":
        return f(x1) - (1 - zero) * half * bend(x2)
    return f(x2) - half * bend(x2)


def _by_draws(loss: Expectation, sample: Sample, randomness: Randomness | None) -> tuple[Floats, int, float]:
    """The average over draws of S, their number, and the share of the variance (of the worst function) they leave.

    Given x1, the draws of a row differ only by S: their variance within rows, over R and times (1 − 1/δ₀)², is what
    Monte Carlo adds to the variance between rows.
    """
    x1, mechanism = sample.private, sample.mechanism
    weight = 1 - 1 / mechanism.zero_probability
    f = _rows_of(loss.function, "the function")
    first = f(x1) / mechanism.zero_probability
    total, square, draws = np.zeros_like(first), np.zeros(first.shape[1]), 0
    wanted = loss.draws or _FIRST_DRAWS
    while True:
        for _ in range(wanted - draws):
            value = f(mechanism.doubly_randomized(x1, randomness))
            total += value
            square += np.sum(value * value, axis=0)
        draws = wanted
        answers = first + weight * total / draws
        added = np.full(first.shape[1], math.nan)
        if draws > 1:
            within = (square - np.sum(total * total, axis=0) / draws) / (draws - 1) / sample.n
            added = weight**2 * within / draws
        between = np.var(answers, axis=0)
        share = float(np.max(np.where(between > 0, added / np.where(between > 0, between, 1.0), 0.0)))
        if loss.draws or draws >= _MOST_DRAWS or share <= MONTE_CARLO_SHARE:
            return answers, draws, share
        wanted = min(2 * draws, _MOST_DRAWS)


def _rows_of(function: Callable[[Floats], Any], what: str) -> Callable[[Floats], Floats]:
    def checked(x: Floats) -> Floats:
        value = np.asarray(function(x), float)
        value = value.reshape(-1, 1) if value.ndim == 1 else value
        if value.ndim != 2 or value.shape[0] != x.shape[0]:
            raise EstimationError(f"{what} must return one number per row ({x.shape[0]}), not {value.shape}")
        if not np.isfinite(value).all():
            raise EstimationError(f"{what} must return finite numbers, also outside the box")
        return value

    return checked


def _average_on_a_line(f: Callable[[Floats], Floats], at: Floats, b: float) -> Floats:
    """``E f(t + b·L)`` by recursion along a fine grid; jumps of f are placed to within one cell."""
    from scipy.signal import lfilter

    low, high = float(at.min()) - 40 * b, float(at.max()) + 40 * b
    edges = np.linspace(low, high, _CELLS + 1)
    step = float(edges[1] - edges[0])
    node, weight = np.polynomial.legendre.leggauss(4)
    offset = (node + 1) / 2 * step
    values = f((edges[:-1, None] + offset).reshape(-1, 1))
    k = values.shape[1]
    values = values.reshape(_CELLS, 4, k)
    share = weight / 2 * step
    past = np.einsum("cnk,n->ck", values, share * np.exp(-(step - offset) / b))
    future = np.einsum("cnk,n->ck", values, share * np.exp(-offset / b))
    keep = math.exp(-step / b)
    left = np.concatenate([np.zeros((1, k)), lfilter([1.0], [1.0, -keep], past, axis=0)])
    right = np.concatenate([np.zeros((1, k)), lfilter([1.0], [1.0, -keep], future[::-1], axis=0)])[::-1]
    total = (left + right) / (2 * b)
    return np.stack([np.interp(at, edges, total[:, j]) for j in range(k)], axis=1)
