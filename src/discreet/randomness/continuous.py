"""Exponential and normal draws from the bytes of a source, with a stated precision.

Every draw is a smooth function of uniform numbers with 52 random bits, centred in their cells
(``(k + ½)/2^52``), so zero and one never occur. The law of a draw therefore differs from the ideal one in two ways,
both of which :func:`grid_slack` bounds once the result is rounded to a public grid:

* there are 2^52 atoms per uniform instead of a density: moving a uniform by half a cell moves the draw by a
  tiny amount, which changes the rounded value only when a boundary of the grid lies in between;
* an exponential is at most 52 ln 2 + ln 2 ≈ 36.7, a normal at most about 8.6: what lies beyond has a
  probability below 2^-52.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.randomness.source import Randomness

Floats = NDArray[np.float64]

#: Exponent bits of a float in [1, 2); the 52 random bits become its mantissa.
_ONE = np.uint64(0x3FF0000000000000)
_SHIFT = np.uint64(12)
#: Bits of one rounded coordinate that are lost: E|dz| ≤ 2^-49 for a draw of standard deviation one (the steepest
#: part of the polar method included), and a boundary of the grid is crossed with probability E|dz| · scale/grid.
#: Three further bits cover rounding in log, sqrt and products.
SLACK_BITS = 46


def unit_interval(count: int, randomness: Randomness) -> Floats:
    """Uniform numbers ``(k + ½)/2^52``: 52 random bits, never zero and never one."""
    words = randomness.words(count) >> _SHIFT
    words |= _ONE
    numbers: Floats = words.view(np.float64)
    numbers -= 1.0 - 2.0**-53
    return numbers


def exponential(count: int, randomness: Randomness) -> Floats:
    """Draws with density e^−w: ``−ln U``."""
    numbers = unit_interval(count, randomness)
    np.log(numbers, out=numbers)
    np.negative(numbers, out=numbers)
    return numbers


def normal(count: int, randomness: Randomness) -> Floats:
    """Standard normal draws, by the polar method (Marsaglia 1964).

    A point (u, v) uniform in the unit disc gives two independent normals ``u √(−2 ln s/s)`` and ``v √(−2 ln s/s)``,
    with ``s = u² + v²``. Points of the square that miss the disc are drawn again.
    """
    out = np.empty(count)
    filled = 0
    while filled < count:
        # Four of π points hit the disc; a little more than needed, so that one round nearly always suffices.
        pairs = (count - filled + 1) // 2
        tries = int(pairs * 1.2733) + 4 * int(pairs**0.5) + 16
        square = unit_interval(2 * tries, randomness)
        square *= 2.0
        square -= 1.0
        u, v = square[:tries], square[tries:]
        s = u * u
        s += v * v
        inside = np.flatnonzero(s < 1.0)[:pairs]
        s = s.take(inside)
        factor = np.log(s)
        factor *= -2.0
        factor /= s
        np.sqrt(factor, out=factor)
        first = u.take(inside)
        first *= factor
        second = v.take(inside)
        second *= factor
        half = min(first.size, count - filled)
        out[filled : filled + half] = first[:half]
        filled += half
        half = min(second.size, count - filled)
        out[filled : filled + half] = second[:half]
        filled += half
    return out


def grid_slack(scale: float, grid: float) -> float:
    """How far, in total variation, a noisy value rounded to a grid can be from the ideal one: at most this.

    ``2^-46 · scale/grid + 2^-50`` per coordinate; the first term for atoms in place of a density, the second for
    the tails that are cut off.
    """
    return float(2.0**-SLACK_BITS * scale / grid + 2.0**-50)
