"""How well a mean is known: the largest variance of one debiased number over all distributions of the truth.

A report y stands for a number h_y with ``Σ_y Q[x, y] h_y = x``. With second moments ``s_x = Σ_y Q[x, y] h_y²`` and
truths distributed by p the variance of the mean of n reports is ``(Σ p_x s_x − (Σ p_x x)²)/n``. Among all p with mean μ
the first sum is largest on the upper concave envelope of the points (x, s_x), so the worst case is the largest value of
``envelope(μ) − μ²``: on each edge of the envelope a line less a square, whose maximum is at half the slope.
"""

from __future__ import annotations

import math
from itertools import pairwise
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from discreet import arguments
from discreet.arguments import Floats
from discreet.design.result import Design
from discreet.errors import DesignError
from discreet.mechanisms import FiniteMechanism, UnbiasedResponse

#: Cells of an interval on which a corrected number is squared and averaged.
_CELLS = 400


def mean_variance(mechanism: FiniteMechanism, positions: ArrayLike | None = None) -> float:
    """The largest variance of one debiased number, randomisation and spread of the truths together.

    Parameters
    ----------
    mechanism : FiniteMechanism or Design
        How numbers are randomised.
    positions : array, optional
        The number of every truth; those of unbiased numbers are their points.

    Examples
    --------
    >>> from discreet import Grid, design
    >>> round(mean_variance(design.mean(Grid(-1, 1, 5), 1.0).mechanism), 3)   # 3.98 given the truth, 1 for its spread
    4.98
    """
    given: Any = mechanism.mechanism if isinstance(mechanism, Design) else mechanism
    if not isinstance(given, FiniteMechanism):
        raise DesignError(f"a mechanism with finitely many reports is needed, not {type(given).__name__}")
    if positions is None and not isinstance(given, UnbiasedResponse):
        raise DesignError("positions must be given: one number for every truth")
    numbers = arguments.floats(
        given.points if positions is None and isinstance(given, UnbiasedResponse) else positions,
        "positions",
        DesignError,
        dimensions=1,
    )
    if numbers.size != given.shape[0]:
        raise DesignError(f"positions must be {given.shape[0]} numbers, one for every truth, not {numbers.size}")
    centre = float(numbers.min() + numbers.max()) / 2
    return _worst(numbers - centre, _second_moments(given, numbers - centre))


def finite_mean_margin(
    mechanism: FiniteMechanism, n: float, level: float = 0.95, positions: ArrayLike | None = None
) -> float:
    """Half the width of the interval for a mean with n people, at the worst distribution of the truth.

    >>> from discreet import Grid, design
    >>> round(finite_mean_margin(design.mean(Grid(0, 100, 11), 1.0).mechanism, 10_000), 2)
    2.19
    """
    n = arguments.number(n, "n", DesignError, least=1)
    level = arguments.number(level, "level", DesignError, above=0, below=1)
    return NormalDist().inv_cdf((1 + level) / 2) * math.sqrt(mean_variance(mechanism, positions) / n)


def _second_moments(mechanism: FiniteMechanism, numbers: Floats) -> Floats:
    """``Σ_y Q[x, y] h_y²`` for every truth, h as the estimator has it."""
    from discreet.estimate.channels.channel import Channels
    from discreet.estimate.channels.debiased_scores import inverse_for

    scores = inverse_for(Channels.of(mechanism), numbers[None, :])(numbers)
    return np.asarray(mechanism.matrix() @ (scores * scores))


def _worst(numbers: Floats, moments: Floats) -> float:
    """The largest value of ``envelope(μ) − μ²``."""
    order = np.argsort(numbers, kind="stable")
    hull: list[tuple[float, float]] = []
    for x, s in zip(numbers[order].tolist(), moments[order].tolist(), strict=True):
        while hull and hull[-1][0] == x:
            s = max(s, hull.pop()[1])
        while len(hull) > 1 and _below(hull[-2], hull[-1], (x, s)):
            hull.pop()
        hull.append((x, s))
    best = max(s - x * x for x, s in hull)
    for (x0, s0), (x1, s1) in pairwise(hull):
        slope = (s1 - s0) / (x1 - x0)
        at = min(max(slope / 2, x0), x1)
        best = max(best, s0 + slope * (at - x0) - at * at)
    return best


def _below(first: tuple[float, float], middle: tuple[float, float], last: tuple[float, float]) -> bool:
    """Whether the middle point lies on or under the line between the others."""
    across = (middle[0] - first[0]) * (last[1] - first[1])
    return (middle[1] - first[1]) * (last[0] - first[0]) <= across


def noisy_mean_variance(scale: float, zero_probability: float) -> float:
    """The largest variance of one number with zero-inflated Laplace noise as the estimator of a mean has it.

    Parameters
    ----------
    scale : float
        λ over the width of the coordinate.
    zero_probability : float
        δ₀; at 0 the report itself is taken, and truths at both ends are worst: ``1/4 + λ²``.

    Returns
    -------
    float
        In units of the squared width.

    Examples
    --------
    >>> round(noisy_mean_variance(1.0, 0.0), 3), round(noisy_mean_variance(1.0, 0.1), 3)
    (1.25, 0.732)
    """
    from discreet.domains import Box
    from discreet.estimate.noisy_numbers.interval import IntervalCorrection, applies
    from discreet.mechanisms import ZeroInflatedLaplace

    plain = 0.25 + (1 - zero_probability) * scale**2
    if zero_probability == 0:
        return plain
    mechanism = ZeroInflatedLaplace(Box(0.0, 1.0), scale, zero_probability)
    if not applies(mechanism):
        return plain
    corrected = IntervalCorrection(mechanism).of(lambda x: x - 0.5)
    edges = np.linspace(0.0, 1.0, _CELLS + 1)
    truths = (edges[1:] + edges[:-1]) / 2
    inside = corrected(truths)[:, 0]
    below, above = corrected(np.array([-1.0, 2.0]))[:, 0]
    b = scale / math.sqrt(2)
    # Chances of every cell, and of leaving on either side, given the truth.
    away = edges[None, :] - truths[:, None]
    cdf = np.where(away < 0, np.exp(np.minimum(away, 0) / b) / 2, 1 - np.exp(-np.maximum(away, 0) / b) / 2)
    noisy = np.diff(cdf, axis=1) @ inside**2 + cdf[:, 0] * below**2 + (1 - cdf[:, -1]) * above**2
    return _worst(truths - 0.5, zero_probability * inside**2 + (1 - zero_probability) * noisy)
