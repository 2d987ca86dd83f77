"""Whole-number noise with exact tails: geometric and discrete Laplace draws.

``W = −ln U`` is exponential, so that ``⌊W/r⌋`` is geometric, ``P(k) = (1 − e^−r) e^−rk``, and the difference of two of
them is discrete Laplace, ``P(z) ∝ e^−r|z|`` (Ghosh, Roughgarden and Sundararajan 2012). Floats decide the floor of
nearly every draw; where their error leaves a doubt, more bits are drawn until there is none.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.errors import PrivacyError
from discreet.randomness.continuous import Exponentials, LazyExponential
from discreet.randomness.source import Randomness

#: An exponential draw in floats errs by less (``continuous`` proves 2⁻⁴²).
_DRAW_ERROR = 2.0**-41
#: Below this rate a tenth of a percent of the draws would be in doubt.
SMALLEST_RATE = Fraction(1, 1 << 31)


def geometric(rate: Fraction, count: int, randomness: Randomness) -> NDArray[np.int64]:
    """``count`` draws of k = 0, 1, 2, … with ``P(k) = (1 − e^−rate) e^−rate·k``, exactly.

    >>> int(geometric(Fraction(50), 1, Randomness.seeded(1))[0])
    0
    """
    if rate < SMALLEST_RATE:
        raise PrivacyError(f"noise of the rate {float(rate):.3g} is over what is drawn exactly: take a larger epsilon")
    draws = Exponentials.draw(count, randomness)
    scaled = draws.values / float(rate)
    with np.errstate(invalid="ignore"):
        whole = np.floor(scaled)
        # The quotient errs by the error of the draw over the rate, and by its own rounding and that of the rate.
        error = _DRAW_ERROR / float(rate) + scaled * 2.0**-51
        certain = (scaled - whole > error) & (whole + 1 - scaled > error)
        out = np.where(certain, whole, 0.0).astype(np.int64)
    for index in np.flatnonzero(~certain).tolist():
        out[index] = _floor(draws.lazy(index), rate, randomness)
    return out


def _floor(draw: LazyExponential, rate: Fraction, randomness: Randomness) -> int:
    """``⌊W/rate⌋``, with as many bits as that takes."""
    while True:
        low, high = draw.root_bounds()
        if high.is_finite():
            first, last = math.floor(Fraction(low) ** 2 / rate), math.floor(Fraction(high) ** 2 / rate)
            if first == last:
                return first
        draw.extend(randomness)


def discrete_laplace(rate: Fraction, count: int, randomness: Randomness) -> NDArray[np.int64]:
    """``count`` whole numbers z with ``P(z) = tanh(rate/2) e^−rate·|z|``, exactly.

    Added to whole numbers of which one person changes the sum of absolute values by at most Δ, it is
    ``rate·Δ``-private.
    """
    both = geometric(rate, 2 * count, randomness)
    return both[:count] - both[count:]
