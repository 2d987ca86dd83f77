"""Confidence intervals for frequencies, as plain functions of arrays.

Notation: π̂ is the unbiased estimate of one frequency π, q the share of its report, ``v_own`` and ``v_other`` the
randomisation variances of one debiased answer when the truth is, or is not, the value in question (see
:mod:`discreet.estimate.moments`). The variance of π̂ as a function of π is

    V(π)/n,   V(π) = π v_own + (1 − π) v_other + s π (1 − π),

with s = 1 when the people are a sample from a population and s = 0 when only the randomisation is random.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from discreet import arguments
from discreet.errors import EstimationError

Floats = NDArray[np.float64]

#: Every interval method, with what it needs.
METHODS = ("wilson", "clopper-pearson", "chebyshev", "wald", "simultaneous", "score", "likelihood-ratio")
#: Rounding of one multiplication and one addition, in units of the larger term.
_ROUNDING = 8 * np.finfo(float).eps


def checked_level(level: float) -> float:
    """A confidence level: a number strictly between zero and one."""
    return arguments.number(level, "level", EstimationError, above=0, below=1)


def checked_method(method: str) -> str:
    """The name of an interval method."""
    return arguments.choice(method, "the interval method", METHODS, EstimationError)


def two_sided_quantile(level: float, degrees_of_freedom: float = math.inf) -> float:
    """The normal quantile z (or Student's t) that leaves (1 − level)/2 on each side."""
    from scipy.special import ndtri, stdtrit

    tail = (1 - level) / 2
    if math.isinf(degrees_of_freedom):
        return -float(ndtri(tail))
    return -float(stdtrit(degrees_of_freedom, tail))


def chebyshev_factor(level: float) -> float:
    """``k = 1/√(1 − level)``: any mean is within k standard deviations with at least this probability."""
    return 1 / math.sqrt(1 - level)


def wald(estimate: Floats, std_error: Floats, quantile: float) -> Floats:
    """``π̂ ± z·se``. Not clipped: it is an approximation, and an end outside [0, 1] says how rough it is."""
    return np.stack([estimate - quantile * std_error, estimate + quantile * std_error], axis=-1)


def score(
    estimate: Floats, own: Floats, other: Floats, sampling: float, n: float | Floats, factor: float
) -> tuple[Floats, Floats]:
    """All π with ``(π̂ − π)² ≤ factor² V(π)/n``: two roots of a quadratic, nan where there are none.

    With the normal quantile as factor this is Wilson's interval (1927), mapped through the estimator; with
    Chebyshev's factor it is rigorous, because V is the variance *at each π*, not a plugged-in one.
    """
    k = factor**2 / np.asarray(n, float)
    slope = own - other + sampling
    # b² − ac, written so that the large terms never meet: k·V(π̂) + k²·(slope²/4 + s·v_other).
    at_estimate = other + slope * estimate - sampling * estimate**2
    with np.errstate(invalid="ignore"):
        root = np.sqrt(k * at_estimate + k**2 * (slope**2 / 4 + sampling * other))
    centre = estimate + k * slope / 2
    return (centre - root) / (1 + sampling * k), (centre + root) / (1 + sampling * k)


def clopper_pearson(counts: Floats, n: float | Floats, level: float) -> tuple[Floats, Floats]:
    """Exact binomial limits for the share of a report (Clopper and Pearson 1934), by quantiles of the beta law.

    When only the randomisation is random, the count is a sum of independent answers with different
    probabilities. Hoeffding (1956, theorem 5) shows that its tails, one or more away from the mean, are below
    those of the binomial with the same mean, and the two-sided interval still covers: the only other case is
    a mean below one (Greenberg and Mohri 2014), where P(count ≥ 1) ≤ −log(1 − α/2) < α and the other side
    cannot fail.
    """
    tail = (1 - level) / 2
    if np.ndim(n) == 0 and counts.size > 1:  # counts repeat: invert the beta law once for each different one
        different, back = np.unique(counts, return_inverse=True)
        low, high = _limits(different, np.full(different.shape, float(n)), tail)
        return low[back], high[back]
    return _limits(counts, np.broadcast_to(np.asarray(n, float), counts.shape), tail)


def _limits(counts: Floats, n: Floats, tail: float) -> tuple[Floats, Floats]:
    from scipy.special import betainccinv, betaincinv

    low, high = np.zeros(counts.shape), np.ones(counts.shape)
    some, not_all = counts > 0, counts < n
    low[some] = betaincinv(counts[some], (n - counts + 1)[some], tail)
    high[not_all] = betainccinv((counts + 1)[not_all], (n - counts)[not_all], tail)
    return low, high


def through_line(low: Floats, high: Floats, slope: Floats, offset: Floats) -> tuple[Floats, Floats]:
    """An interval for q as one for ``π = slope·q + offset``; a falling line (crosswise) swaps the ends."""
    first, second = slope * low + offset, slope * high + offset
    return np.minimum(first, second), np.maximum(first, second)


def within_unit(low: Floats, high: Floats, scale: float | Floats = 1.0) -> Floats:
    """The intersection with [0, 1]; (nan, nan) where it is empty: such reports contradict the design.

    ``scale`` is the size of the terms that were added up: ends that miss [0, 1] by their rounding still touch it.
    """
    rounding = _ROUNDING * np.asarray(scale)
    ends = np.stack([np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)], axis=-1)
    with np.errstate(invalid="ignore"):
        touches = (low <= 1 + rounding) & (high >= -rounding)
    ends[~touches] = np.nan
    return ends
