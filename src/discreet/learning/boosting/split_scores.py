"""The score of a split, in whole numbers, and how far one record can move it.

A side with n records and gradients h_i ∈ [−1, 1] that sum to S scores ``f(S, n) = S²/(n + λ)``; a split scores the
sum of its sides (Li, Wu, Wen and He 2020, equation 2, without the part that all splits of a node share).

**The range.** One more record with gradient h moves the side it falls on by

    ((2Sh + h²)(n + λ) − S²) / ((n + λ)(n + 1 + λ)),   |S| ≤ n, |h| ≤ 1, λ ≥ 0.

*At most 1*: with h of the sign of S the numerator grows in |h| and, as |S| ≤ n + λ, in |S|; at |h| = 1, |S| = n it is
``n² + 2nλ + n + λ``, the denominator less λ². *At least −3*: ``2Sh + h² ≥ −2|S|`` when |S| ≥ 1, so that the numerator
is at least ``−2n(n + λ) − n² ≥ −3(n + λ)²``; when |S| < 1 it is at least ``−S²(n + λ) − S²``, which is above −1 times
the denominator for n ≥ 1, and for n = 0 the change is h²/(1 + λ). Other sides do not move. So all scores of a node
move by amounts within an interval of length 4, in which the exponential mechanism needs ``rate = ε/4`` (twice the
sensitivity, as published, would be 6).

**Whole numbers.** Scores are counted in units of 1/``UNIT`` and rounded down, which keeps integer bounds. With at most
``MOST_ROWS`` records f·UNIT is below 2⁵¹; square, sum and quotient are each rounded correctly, together by less than
3.1·2⁻⁵³ of the value, less than one unit. A rounded score is therefore within one unit of the right one on each of
two data sets, and the interval has length 4·UNIT + 4 at most: ``SCORE_RANGE``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.learning.boosting.gradients import GRID

#: Units of a score.
UNIT = 1 << 24
#: Records of a fit, so that scores fit into floats to a unit.
MOST_ROWS = 1 << 27
#: No record moves the scores of a node by amounts that are further apart.
SCORE_RANGE = 4 * UNIT + 4


def side_scores(sums: NDArray[np.float64], counts: NDArray[np.float64], regularisation: float) -> NDArray[np.int64]:
    """``⌊UNIT·(S/GRID)²/(n + λ)⌋`` of sides whose whole-number gradients sum to S; zero where nobody is."""
    mean = sums * (1.0 / GRID)
    weight = counts + regularisation
    with np.errstate(invalid="ignore", divide="ignore"):
        scores = np.floor(mean * mean / weight * UNIT)
    return np.where(counts > 0, scores, 0.0).astype(np.int64)


def split_scores(sums: NDArray[np.float64], counts: NDArray[np.float64], regularisation: float) -> NDArray[np.int64]:
    """Scores (nodes, features, bins − 1) of all splits "bin ≤ b", from sums and counts (nodes, features, bins)."""
    left_sums, left_counts = np.cumsum(sums, axis=2), np.cumsum(counts, axis=2)
    all_sums, all_counts = left_sums[:, :, -1:], left_counts[:, :, -1:]
    left_sums, left_counts = left_sums[:, :, :-1], left_counts[:, :, :-1]
    return side_scores(left_sums, left_counts, regularisation) + side_scores(
        all_sums - left_sums, all_counts - left_counts, regularisation
    )
