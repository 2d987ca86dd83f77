"""Wilson's interval through a channel: the score interval of a frequency whose reports were randomised.

Notation: π̂ is the unbiased estimate of one frequency π, ``v_own`` and ``v_other`` the randomisation variances of one
debiased answer when the truth is, or is not, the value in question (see :mod:`discreet.estimate.channels.moments`).
The variance
of π̂ as a function of π is

    V(π)/n,   V(π) = π v_own + (1 − π) v_other + s π (1 − π),

with s = 1 when the people are a sample from a population and s = 0 when only the randomisation is random.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.arguments import Floats


def variance_at(share: Floats, own: float | Floats, other: float | Floats, sampling: float) -> Floats:
    """``V(π)``: the variance of one debiased answer where the frequency is π."""
    return np.asarray(share * own + (1 - share) * other + sampling * share * (1 - share))


def wilson(
    estimate: Floats, own: Floats, other: Floats, sampling: float, n: float | Floats, factor: float | Floats
) -> tuple[Floats, Floats]:
    """All π with ``(π̂ − π)² ≤ factor² V(π)/n``: two roots of a quadratic, nan where there are none.

    With the normal quantile as factor this is Wilson's interval (1927), mapped through the estimator; with
    Chebyshev's factor it is rigorous, because V is the variance *at each π*, not a plugged-in one.
    """
    k = np.square(factor) / np.asarray(n, float)
    slope = own - other + sampling
    # b² − ac, written so that the large terms never meet: k·V(π̂) + k²·(slope²/4 + s·v_other).
    at_estimate = other + slope * estimate - sampling * estimate**2
    with np.errstate(invalid="ignore"):
        root = np.sqrt(k * at_estimate + k**2 * (slope**2 / 4 + sampling * other))
    centre = estimate + k * slope / 2
    return (centre - root) / (1 + sampling * k), (centre + root) / (1 + sampling * k)


def chebyshev_factor(level: float) -> float:
    """``k = 1/√(1 − level)``: any mean is within k standard deviations with at least this probability."""
    return 1 / math.sqrt(1 - level)
