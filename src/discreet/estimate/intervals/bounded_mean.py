"""The interval of a mean of numbers that lie between known ends: Wilson's, for more than two values.

A sample need not show what decides a mean: ten people say nothing about a value that one in a hundred has. What is
known is that nobody lies beyond the ends of the domain. A mean μ above the estimate m is therefore tested against the
people who would hide it best: those who answered, and a share θ of others at the upper end b,

    μ = m + θ(b − m),    V(μ) = (1 − θ)s² + θ v_b + θ(1 − θ)(b − m)²,

s² being the variance of a score and v_b the variance that the randomisation gives the score of somebody at b. All μ
with ``n(μ − m)² ≤ q² V(μ)`` reach up to the positive root of

    (n + q²) δ² − q² κ δ − q² s² = 0,    δ = μ − m,    κ = (b − m) + (v_b − s²)/(b − m),

and downward likewise, towards the lower end. q is the quantile of Student's t. Of two values this is Wilson's interval
(1927), whatever the channel; of more it is the score interval along the worst direction, and differs from m ± q s/√n by
terms of the order 1/n. Randomisation makes s² at least the least variance that it gives any truth, which is known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.arguments import Floats


@dataclass(frozen=True, kw_only=True)
class Support:
    """Where the numbers behind a mean can lie, and how much their scores vary there.

    Attributes
    ----------
    low, high : float
        The smallest and the largest number that anybody can have.
    at_low, at_high : float
        The variance of the score of somebody who has it; nan where it is not known.
    least : float
        The least variance of the score of anybody.
    """

    low: float
    high: float
    at_low: float = math.nan
    at_high: float = math.nan
    least: float = 0.0


def reaches(mean: Floats, variance: Floats, n: Floats, quantile: Floats, support: Support) -> tuple[Floats, Floats]:
    """How far below and above the mean no value is rejected; not held to the ends.

    Parameters
    ----------
    mean, variance : array
        m and s².
    n : array
        Number of people; of a survey the effective one.
    quantile : array
        q.
    """
    below = _reach(mean - support.low, variance, support.at_low, n, quantile)
    return below, _reach(support.high - mean, variance, support.at_high, n, quantile)


def _reach(gap: Floats, variance: Floats, at_end: float, n: Floats, quantile: Floats) -> Floats:
    """The positive root of the quadratic, for the distance of the mean from one end."""
    square = quantile**2
    there = variance if math.isnan(at_end) else at_end
    with np.errstate(all="ignore"):  # a mean on the end itself, or beyond it, has no way to go there
        slope = square * np.where(gap > 0, gap + (there - variance) / gap, 0.0)
        root = np.sqrt(slope**2 + 4 * (n + square) * square * variance)
        # Of the two ways to write the root the one in which nothing cancels.
        found = np.where(slope >= 0, (slope + root) / (2 * (n + square)), 2 * square * variance / (root - slope))
    return np.asarray(found)


def bounded(mean: Floats, below: Floats, above: Floats, support: Support) -> Floats:
    """Intervals within the ends; (nan, nan) where nothing is left, and the reports contradict the design."""
    low, high = mean - below, mean + above
    rounding = 8 * np.finfo(float).eps * max(abs(support.low), abs(support.high), support.high - support.low)
    ends = np.stack([np.maximum(low, support.low), np.minimum(high, support.high)], axis=1)
    with np.errstate(invalid="ignore"):
        touches = (low <= support.high + rounding) & (high >= support.low - rounding)
    ends = np.sort(ends, axis=1)  # ends that miss by rounding
    ends[~touches] = np.nan
    return np.asarray(np.clip(ends, support.low, support.high))
