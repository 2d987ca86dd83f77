"""Could these reports have come through the stated channel at all, whatever the truth was?

Counts c of n reports, channel Q with rows for the truths. Whatever the truths are, report y has a probability of at
most q = max_x Q[x, y] in every row, so its count is stochastically smaller than a binomial (n, q) one; and larger
than one with the smallest probability. That is the test of single reports.

For all reports together: with f the frequencies of the truths, p = Qᵀf and D the relative entropy,

    P(counts = c) ≤ exp(−n D(c/n ‖ p)),

for independent rows with fixed truths as well as for rows drawn from f: with a = log(c/(n p)), Markov's inequality
gives exp(−a·c) Π_i Σ_y Q[x_i, y] e^{a_y}, and the product is at most (Σ_y p_y e^{a_y})^n = 1 by the inequality of
arithmetic and geometric means. There are C(n + K − 1, K − 1) counts of K reports, so

    P(n min_f D(c/n ‖ Qᵀf) ≥ t) ≤ C(n + K − 1, K − 1) e^{−t}

without any approximation (the method of types; Cover and Thomas 2006, theorem 11.2.1). The minimum is the distance
from the counts to the convex hull of the channel's rows, which maximum likelihood on the simplex finds together
with a bound on what it missed; the bound is subtracted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.estimate.channels.simplex_mle import channel_fit

#: Chance of calling reports of a correct mechanism improbable, in one audit.
FALSE_ALARM = 1e-9
#: Cells of a channel up to which it is tested.
MAX_CELLS = 1 << 20
#: Relative slack on the floats of a channel, far above their rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Improbable:
    """Why counts are improbable: the report that stands out most, its share, and the nearest share possible."""

    report: int
    share: float
    possible: float


def improbable(counts: NDArray[np.int64], channel: NDArray[np.float64], chance: float) -> Improbable | None:
    """Whether counts have a probability below ``chance`` under every distribution of truths.

    Parameters
    ----------
    counts : array of int
        How often each report came.
    channel : array (truths, reports)
        Rows sum to one.
    chance : float
        The largest probability of an accusation that is wrong.
    """
    n = int(counts.sum())
    if n == 0:
        return None
    shares = counts / n
    low, high = channel.min(axis=0) * (1 - _ROUNDING), np.minimum(channel.max(axis=0) * (1 + _ROUNDING), 1.0)
    accused = _tails(counts, n, low, high) < chance / (4 * counts.size)
    if accused.any():
        possible = np.clip(shares, low, high)
        return _farthest(shares, possible, np.where(accused, np.abs(shares - possible), -1.0))
    seen = counts > 0
    fit = channel_fit(channel, counts.astype(np.float64))
    fitted = fit.frequencies @ channel
    distance = float(np.sum(counts[seen] * np.log(shares[seen] / fitted[seen]))) - fit.gap
    if distance < _log_types(n, counts.size) - math.log(chance / 2) + n * _ROUNDING:
        return None
    return _farthest(shares, fitted, np.abs(shares - fitted))


def _farthest(shares: NDArray[np.float64], possible: NDArray[np.float64], by: NDArray[np.float64]) -> Improbable:
    """The report that is farthest from what is possible; of several, the commonest."""
    worst = int(np.lexsort((-shares, -by.round(9)))[0])
    return Improbable(worst, float(shares[worst]), float(possible[worst]))


def _tails(
    counts: NDArray[np.int64], n: int, low: NDArray[np.float64], high: NDArray[np.float64]
) -> NDArray[np.float64]:
    """For every report the smaller of: so few with the smallest probability, so many with the largest."""
    from scipy.special import betainc

    many = np.where(counts == 0, 1.0, betainc(np.maximum(counts, 1), n - counts + 1, high))
    few = np.where(counts == n, 1.0, betainc(np.maximum(n - counts, 1), counts + 1, 1 - low))
    return np.asarray(np.minimum(many, few))


def _log_types(n: int, reports: int) -> float:
    """The logarithm of the number of different counts of n rows."""
    return math.lgamma(n + reports) - math.lgamma(reports) - math.lgamma(n + 1)
