"""Intervals that may be looked at as often as one likes while the answers come in.

A 95 % interval holds at a number of answers that was fixed beforehand. Whoever looks after every fifty answers, and
stops when the interval pleases, is misled in a third of all surveys. A *confidence sequence* covers the truth at
every n at once. For a mean of independent debiased answers with standard deviation σ,

    |π̂_n − π| ≤ σ(π) √( 2(nρ² + 1)/(n²ρ²) · ln(√(nρ² + 1)/α) ),

with probability at least 1 − α for all n together: Robbins' (1970) mixture of normal boundaries, exact when the
answers are sub-Gaussian with this σ. It is tightest near the number of answers that was planned,

    ρ² = (−2 ln α + ln(1 − 2 ln α))/n_planned

(Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas 2024). For a frequency σ(π) is known from the design at every π, as in
Wilson's interval, and the sequence is all π that it accepts. An estimated σ would be nothing while all answers agree:
where the answer is rare and the design protects little, that missed in up to a quarter of surveys.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.arguments import Floats

#: The number of answers near which a sequence is tightest unless another is planned.
PLANNED = 1_000


def factor(n: int, level: float, planned: int = PLANNED) -> float:
    """What takes the place of the normal quantile at n answers."""
    alpha = 1 - level
    spread = n * (-2 * math.log(alpha) + math.log1p(-2 * math.log(alpha))) / planned
    return math.sqrt(2 * (spread + 1) / spread * (0.5 * math.log1p(spread) - math.log(alpha)))


def reach(n: int, deviation: Floats, level: float, planned: int = PLANNED) -> Floats:
    """Half the width of the confidence sequence at n answers, for standard deviations of one debiased answer."""
    return np.asarray(deviation * (factor(n, level, planned) / math.sqrt(n)))


def bounded_deviation(weights: Floats) -> Floats:
    """Half the range of the debiased answers of each value: with it the sequence holds at every n (Hoeffding 1963).

    ``weights[t, y]`` is what report y counts for value t.
    """
    return np.asarray(np.ptp(weights, axis=1) / 2)
