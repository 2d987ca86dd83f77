"""What a report inside the box says: how likely it is the truth itself.

Noise throws most reports out of the box, so those inside are suspicious, whatever the grid. Let truths be spread evenly
over the box, a coordinate of width w and grid g. Given ``σ = λ√W`` the report of a noisy record stays in the box (with
half a step on either side, B = w + g) with probability ``Π p(B/σ)``, ``p(b) = E(1 − |N|/b)₊``, and is rounded back to
the truth with probability ``Π P(|N| < g/2σ)``. Averaged over W these are I and R, and by Bayes' rule

    P(report = truth | report in the box) = (δ₀ + (1 − δ₀)R)/(δ₀ + (1 − δ₀)I).

Nothing private enters: it is a fact about the mechanism and an even spread of truths.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from discreet.arguments import Floats

#: Nodes of the trapezoid rule in ln √W, from e^−60 (where the rest is 1e-52) to e^2 (1e-23).
_LOG_ROOTS = np.linspace(-60.0, 2.0, 6_201)


def share_of_truths(
    widths: Iterable[float], scale: Sequence[float], grid: Sequence[float], zero_probability: float
) -> float:
    """The share of truths among the reports in the box, for truths spread evenly over it.

    Whole numbers from 0 to 10 on a grid of 1, at (1, 0.1):

    >>> round(share_of_truths([10], [13.84], [1], 0.09), 2)
    0.3
    """
    from scipy.special import erf

    root = np.exp(_LOG_ROOTS)
    weight = 2 * root * root * np.exp(-root * root) * (_LOG_ROOTS[1] - _LOG_ROOTS[0])
    inside, back = np.ones(root.size), np.ones(root.size)
    for width, one, step in zip(widths, scale, grid, strict=True):
        inside *= _stays((width + step) / (one * root))
        back *= erf(step / (2 * math.sqrt(2) * one * root))
    noisy = 1 - zero_probability
    return float((zero_probability + noisy * (weight @ back)) / (zero_probability + noisy * (weight @ inside)))


def _stays(b: Floats) -> Floats:
    """``E(1 − |N|/b)₊ = 2Φ(b) − 1 − (2/b)(φ(0) − φ(b))``; the first terms of its series where these cancel."""
    from scipy.special import erf

    top = 1 / math.sqrt(2 * math.pi)
    whole = erf(b / math.sqrt(2)) + 2 * top * np.expm1(-b * b / 2) / b
    return np.asarray(np.where(b < 1e-3, top * b * (1 - b * b / 12), whole))
