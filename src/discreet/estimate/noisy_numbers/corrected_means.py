"""Means of functions of a record, from privatised records."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.noisy_numbers.controls import multiples
from discreet.estimate.noisy_numbers.copies import MONTE_CARLO_SHARE, Copies, NoisyBlock, summed_by
from discreet.estimate.noisy_numbers.expectation import Expectation
from discreet.estimate.noisy_numbers.inside import is_coarse
from discreet.estimate.noisy_numbers.interval import applies, interval_correction
from discreet.estimate.noisy_numbers.sample import Sample
from discreet.randomness import Randomness

#: Cells of the grid on which the average over one-dimensional Laplace noise is carried along.
_CELLS = 1 << 15
#: Draws per row in more than one dimension are doubled from the first number, at most to the last, until what they
#: add to the variance is below this share of it.
_FIRST_DRAWS, _MOST_DRAWS = 8, 1024


def corrected_answers(
    loss: Expectation, sample: Sample, method: str, randomness: Randomness | None
) -> tuple[Floats, list[str]]:
    """The corrected function of every row, n × k, and what to know about it."""
    notes = ["the noise was ignored: this is biased"] if method == "naive" else []
    coarse = is_coarse(sample.mechanism)
    if method == "box" and not coarse:
        return box_answers(_rows_of(loss.function, "the function"), sample)
    if coarse and method != "naive" and (loss.laplacian is None or method == "box"):
        _check_grid(sample, method)
        step = sample.mechanism.grid[0]
        notes.append(f"corrected on the grid of the reports: the true numbers must be multiples of {step:g}")
        answers = on_the_grid(_rows_of(loss.function, "the function"), sample)
    elif method == "exact" and sample.mechanism.zero_probability > 0 and sample.mechanism.dimension > 1:
        answers, draws, share = _by_draws(loss, sample, randomness)
        notes.append(monte_carlo_note(draws, share))
    else:
        answers = corrected(loss, sample, method, randomness)
    return answers, notes


def _check_grid(sample: Sample, method: str) -> None:
    """On a coarse grid a function that may jump is corrected exactly in one dimension, and not at all in more."""
    if sample.mechanism.dimension == 1 and method == "exact":
        return
    what = 'use the method "exact"' if sample.mechanism.dimension == 1 else "release on a finer grid"
    what += "" if method == "box" else ", or give the Laplacian of a smooth function"
    raise EstimationError(
        f"the grid is too coarse for the noise (above a 20th of its scale) to correct a function that may jump "
        f'or bend by the method "{method}": {what}'
    )


def on_the_grid(f: Callable[[Floats], Floats], sample: Sample) -> Floats:
    """The exact correction of any function of one number that lies on the grid, for reports on it.

    Laplace noise rounded to a grid g is ``(1 − c)·1 + c·G``, ``c = cosh(g/2b)``, with G the two-sided geometric law
    of ratio ``q = e^{−g/b}``, whose inverse is ``1 + mD``: D minus the second difference, ``m = q/(1 − q)²``. So the
    law of a report is ``(1 + AmD)/(1 + mD)``, ``A = 1 − (1 − δ₀)c``, and its inverse

        f + (1 − A) m (1 + AmD)⁻¹ D f,

    where ``(1 + AmD)⁻¹`` is again a two-sided geometric law, of ratio r with ``r/(1 − r)² = Am`` and |r| < 1 (signs
    alternate where A < 0). It exists for every zero probability, also 0.
    """
    mechanism = sample.mechanism
    step, rate = mechanism.grid[0], mechanism.grid[0] * math.sqrt(2) / mechanism.scale[0]
    q = math.exp(-rate)
    m = q / (1 - q) ** 2
    rest = (1 - mechanism.zero_probability) * math.cosh(rate / 2)
    size = (1 - rest) * m
    # r/(1 − r)² = size, the root inside the unit circle.
    ratio = 2 * size / (1 + 2 * size + math.sqrt(1 + 4 * size))
    reach = 0 if ratio == 0 else math.ceil(-40 / math.log(abs(ratio)))
    law = (1 - ratio) / (1 + ratio) * ratio ** np.abs(np.arange(-reach, reach + 1)).astype(float)
    weights = rest * m * np.convolve(law, [-1.0, 2.0, -1.0])
    reach += 1
    weights[reach] += 1.0
    place = np.rint(sample.private[:, 0] / step).astype(np.int64)
    if not np.array_equal(place * step, sample.private[:, 0]):
        raise EstimationError(f"reports must be multiples of the grid, {step:g}")
    low, high = int(place.min()), int(place.max())
    if high - low > _CELLS + weights.size * sample.n:  # few rows far apart: each on its own
        parts = (
            w * f((place + k).astype(float).reshape(-1, 1) * step)
            for k, w in zip(range(-reach, reach + 1), weights, strict=True)
        )
        return np.asarray(sum(parts))
    values = f(np.arange(low - reach, high + reach + 1).astype(float).reshape(-1, 1) * step)
    answer = np.stack([np.convolve(column, weights, "valid") for column in values.T], axis=1)
    return np.asarray(answer[place - low])


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
        with np.errstate(all="ignore"):  # what is not finite is refused below
            value = np.asarray(function(x))
        if value.dtype.kind not in "biuf":
            raise EstimationError(f"{what} must return real numbers, one or more per row")
        value = np.asarray(value, float)
        value = value.reshape(-1, 1) if value.ndim == 1 else value
        if value.ndim != 2 or value.shape[0] != x.shape[0] or value.shape[1] == 0:
            raise EstimationError(f"{what} must return one number per row ({x.shape[0]}), not {value.shape}")
        if not np.isfinite(value).all():
            raise EstimationError(
                f"{what} must return finite numbers, also outside the box; with the method "
                '"box" it is not evaluated there'
            )
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


def box_answers(function: Callable[[Floats], Floats], sample: Sample) -> tuple[Floats, list[str]]:
    """The corrected function of every record, n × k, and what to know about it; it is not evaluated outside the box."""
    if applies(sample.mechanism):
        return interval_correction(sample.mechanism).of(function)(sample.private[:, 0]), []
    copies = Copies([NoisyBlock(sample.private, sample.mechanism)])
    while True:
        kept = copies.kept
        single = function(kept.values) * kept.weight[:, None]
        answers = summed_by(kept.record, single, sample.n)
        share = copies.share(single, answers)
        if share <= MONTE_CARLO_SHARE or copies.count >= copies.most:
            break
        copies = copies.with_count(copies.wanted(share))
    controls = np.zeros_like(answers)
    for draw in copies.draws():
        record = np.flatnonzero(~draw.inside)
        if record.size:
            controls[record] += draw.weight * function(copies.clip(draw.values[record]))
    return answers - controls @ multiples(answers, controls), [copies.note(share)]
