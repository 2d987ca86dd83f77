"""Averages over true records that use that they lie in the box.

On the box a record equals itself clipped to the box. So the exact correction of ``clip(x)_j clip(x)_k`` has the same
mean as that of ``x_j x_k``, but stays bounded, where the latter's variance grows like λ⁴. Second moments of the
covariates and the curvature of a loss are therefore known far better than corrected squares say. The correction

    f(x1)/δ₀ + (1 − 1/δ₀) E[f(x1 + S) | x1]

is averaged over draws of S from a fixed seed: numerical integration of what is already published, so that the same
reports always give the same answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from discreet.arguments import Floats
from discreet.estimate.m_estimation.objective import Objective
from discreet.estimate.m_estimation.sample import Sample

_SEED = 271828
#: Draws of S per row: they add a few per cent to the variance of an average.
_DRAWS = 8
#: Rows are dealt to this many batches, whose spread gives the error of an average.
_BATCHES = 20


@dataclass(frozen=True)
class Average:
    """An average over rows, and the same over batches of rows.

    Parameters
    ----------
    batches : array (b, ...)
    """

    batches: Floats

    @property
    def mean(self) -> Floats:
        """Over all rows."""
        return np.asarray(self.batches.mean(axis=0))

    @property
    def variance(self) -> Floats:
        """Of the mean, entry by entry."""
        return np.asarray(self.batches.var(axis=0, ddof=1) / len(self.batches))

    def along(self, direction: Floats) -> tuple[float, float]:
        """``v'Mv`` of an average matrix M and its standard error."""
        found = np.einsum("i,bij,j->b", direction, self.batches, direction)
        return float(found.mean()), float(found.std(ddof=1)) / math.sqrt(len(found))


@dataclass(frozen=True)
class SecondMoments:
    """Of true covariates x and a target t, which is linear in the outcome: ``E[xx']``, ``E[xt]`` and ``E[t²]``."""

    square: Average
    cross: Average
    target: float

    def residual_spread(self, theta: Floats) -> float:
        """Root mean square of ``t − θ'x``, never below a tenth of that of t; one when all t are zero."""
        found = self.target - 2 * float(theta @ self.cross.mean) + float(theta @ self.square.mean @ theta)
        found = max(found, 0.01 * self.target)
        return math.sqrt(found) if found > 0 else 1.0


def second_moments(sample: Sample, target: Floats) -> SecondMoments:
    """Clipped or, where that is less noisy (little noise, hardly any exact records), corrected squares."""
    x1 = np.concatenate([sample.private, sample.public], axis=1)
    d, p = sample.private.shape[1], x1.shape[1]
    zero, own = sample.mechanism.zero_probability, sample.outcome_noise
    noise = np.zeros(p)
    noise[:d] = (1 - zero) * sample.mechanism.noise_scale**2
    weighed = _by_weight(sample)
    matrix = _averaged(weighed(x1), x1)
    power = float(np.mean(weighed(target[:, None])[:, 0] * target))
    if own is not None:
        power -= (1 - own.zero_probability) * float(own.noise_scale[0]) ** 2
    plain = SecondMoments(
        Average(matrix - np.diag(noise)), Average(_averaged(weighed(x1), target[:, None])[..., 0]), power
    )
    if zero == 0:
        return plain
    square, along, size = np.zeros_like(matrix), np.zeros(matrix.shape[:2]), 0.0
    for weight, x, y in _copies(sample, outcome=sample.joint):
        kept = _clipped(x, sample)
        aim = np.clip(y, *_outcome_bounds(sample)) if sample.joint and y is not None else target
        square += weight * _averaged(weighed(kept), kept)
        along += weight * _averaged(weighed(kept), aim[:, None])[..., 0]
        size += weight * float(np.mean(weighed(aim[:, None])[:, 0] * aim))
    spread = column_spread(sample)
    unit = np.outer(spread, spread)
    clipped = SecondMoments(Average(square), Average(along), size if sample.joint else power)
    noisier = (clipped.square.variance / unit**2).sum() > (plain.square.variance / unit**2).sum()
    return plain if noisier else clipped


def _by_weight(sample: Sample) -> Callable[[Floats], Floats]:
    """Multiplies rows by their survey weights, where there are any."""
    weights = sample.row_weights
    return (lambda rows: rows) if weights is None else (lambda rows: rows * weights[:, None])


def as_they_are(x: Floats, target: Floats) -> SecondMoments:
    """Moments of the reports, the noise taken for truth."""
    cross = Average(_averaged(x, target[:, None])[..., 0])
    return SecondMoments(Average(_averaged(x, x)), cross, float(np.mean(target**2)))


def curvature(objective: Objective, sample: Sample, theta: Floats, width: float) -> tuple[Average, Average]:
    """``E[ℓ''(η) xx']`` of a loss with a kink, and ``E[ℓ''(η)]``.

    The kink is averaged over two widths, h and 2h, combined so that their bias in h² cancels.
    """
    narrow, wide = objective.loss.smoothed(width), objective.loss.smoothed(2 * width)
    independent = sample.joint or sample.outcome_noise is not None
    matrix, level = None, None
    for weight, x, y in _copies(sample, outcome=independent):
        eta = x @ theta
        outcomes = ((y, None),) if independent and y is not None else objective.outcomes
        bend = np.zeros(sample.n)
        for one, share in outcomes:
            part = (4 * narrow.plain(eta, one)[2] - wide.plain(eta, one)[2]) / 3
            bend += part if share is None else part * share
        kept = _clipped(x, sample)
        square = weight * _averaged(kept * bend[:, None], kept)
        mean = weight * _averaged(bend[:, None], np.ones((sample.n, 1)))[:, 0, 0]
        matrix, level = (square, mean) if matrix is None or level is None else (matrix + square, level + mean)
    assert matrix is not None
    assert level is not None
    return Average(matrix), Average(level)


def _copies(sample: Sample, *, outcome: bool) -> Iterator[tuple[float, Floats, Floats | None]]:
    """Weights, covariates and outcomes whose weighted sum corrects any function of both.

    Parameters
    ----------
    outcome : bool
        Whether noise of the outcome is undone too; otherwise the function must be linear in it.
    """
    generator = np.random.default_rng(_SEED)
    zero, scale = sample.mechanism.zero_probability, sample.mechanism.noise_scale
    own = sample.outcome_noise
    for draw in range(_DRAWS + 1):
        weight, x, y = 1 / zero, sample.private, sample.outcome
        size = np.sqrt(zero * generator.standard_exponential((sample.n, 1)))
        if draw:
            weight = (1 - 1 / zero) / _DRAWS
            x = x + size * scale * generator.standard_normal(x.shape)
        x = np.concatenate([x, sample.public], axis=1)
        if not outcome or own is None or y is None:
            yield weight, x, y
            continue
        noise = float(own.noise_scale[0]) * generator.standard_normal(sample.n)
        if sample.joint:
            yield weight, x, y + size[:, 0] * noise if draw else y
        else:
            other = np.sqrt(own.zero_probability * generator.standard_exponential(sample.n))
            yield weight / own.zero_probability, x, y
            yield weight * (1 - 1 / own.zero_probability), x, y + other * noise


def _clipped(x: Floats, sample: Sample) -> Floats:
    box, d = sample.mechanism.box, sample.private.shape[1]
    kept = x.copy()
    np.clip(x[:, :d], box.low, box.high, out=kept[:, :d])
    return kept


def _outcome_bounds(sample: Sample) -> tuple[float, float]:
    assert sample.outcome_noise is not None
    box = sample.outcome_noise.box
    return float(box.low[0]), float(box.high[0])


def column_spread(sample: Sample) -> Floats:
    """Spread of each column: a quarter of the box for private ones, root mean square for public ones."""
    private = sample.mechanism.box.widths / 4
    public = np.sqrt(np.mean(sample.public**2, axis=0)) if sample.public.size else np.empty(0)
    return np.concatenate([private, np.where(public > 0, public, 1.0)])


def _averaged(left: Floats, right: Floats) -> Floats:
    """``left'right/n`` of every batch: every b-th row, so that an order of the rows does no harm.

    Each is taken over the average size of a batch, so that their mean is that of all rows also where sizes differ.
    """
    count = max(2, min(_BATCHES, len(left) // 4))
    parts = [(left[b::count], right[b::count]) for b in range(count)]
    return np.stack([a.T @ b * (count / len(left)) for a, b in parts])
