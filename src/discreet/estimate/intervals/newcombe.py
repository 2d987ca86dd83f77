"""The difference of two shares, from Wilson's interval of each.

With the estimates m₁, m₂ and the distances b, a from each of them down and up to the ends of its interval, the
difference m₁ − m₂ lies between

    m₁ − m₂ − √(b₁² + a₂² − 2ρ b₁ a₂)   and   m₁ − m₂ + √(a₁² + b₂² − 2ρ a₁ b₂),

ρ the correlation of the estimates (Newcombe 1998, method 10; Zou and Donner 2008 for ρ ≠ 0). Every end thus has the
variance at a place where the shares would be, were it true, and not the one at the estimates, which is nothing where a
small group has no "yes". The p value is the smallest 1 − level at which the interval leaves 0 out.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from discreet.arguments import Floats
from discreet.estimate.intervals.levels import two_tails

#: From a quantile for each pair to how far down and up each of its two intervals reaches: b₁, a₁, b₂, a₂.
Sides = Callable[[Floats], tuple[Floats, Floats, Floats, Floats]]

#: Beyond this quantile the tail of every law is nothing.
_FARTHEST = 1e4
#: Halvings that leave the quantile with all its figures.
_HALVINGS = 80


def difference_ends(difference: Floats, correlation: Floats, sides: Sides, quantile: Floats) -> Floats:
    """(low, high) of every pair."""
    b1, a1, b2, a2 = sides(quantile)
    low = np.sqrt(np.maximum(b1**2 + a2**2 - 2 * correlation * b1 * a2, 0.0))
    high = np.sqrt(np.maximum(a1**2 + b2**2 - 2 * correlation * a1 * b2, 0.0))
    return np.stack([difference - low, difference + high], axis=1)


def difference_p_values(difference: Floats, correlation: Floats, sides: Sides, degrees: Floats) -> Floats:
    """Two-sided, of the hypothesis that there is no difference: where an end of the interval meets 0."""
    low, high = np.zeros_like(difference), np.full_like(difference, _FARTHEST)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        ends = difference_ends(difference, correlation, sides, middle)
        outside = (ends[:, 0] > 0) | (ends[:, 1] < 0)
        low, high = np.where(outside, middle, low), np.where(outside, high, middle)
    found = [float(two_tails(np.array(one), df)) for one, df in zip((low + high) / 2, degrees, strict=True)]
    return np.where(difference == 0, 1.0, np.array(found))
