"""Clopper and Pearson's exact binomial limits, mapped through the estimator."""

from __future__ import annotations

import numpy as np

from discreet.arguments import Floats


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
