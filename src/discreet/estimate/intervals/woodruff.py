"""Quantiles by inverting tests about the distribution function (Woodruff 1952).

The quantile at p is the smallest value t with ``F(t) ≥ p``. A value t can be it unless a test rejects ``F(t) ≥ p``, or
rejects ``F(t−) < p`` for the value just below, each at half of 1 − level; the interval reaches from the lowest to the
highest value that is left. Nothing is assumed about a density. Of a column with few values its coverage is above the
level, up to 100 %: ``F`` then jumps over p, and both tests are about shares that are not at p.

The estimated distribution function of a randomised column need not rise from value to value, and neither need the ends
of its confidence band. Where one crosses p is where the middle of two functions that do rise does: the largest so far
from below, and the smallest from here on. (The first crossing of a band that goes up and down is too far out.)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats

#: Up to this many values every one is tested, beyond it the ends are found by halving.
_EACH = 1024


@dataclass(frozen=True, kw_only=True)
class Distribution:
    """An estimated distribution function, less p, at increasing values.

    Parameters
    ----------
    values : array
        The values in increasing order.
    excess : array
        ``F̂(t) − p`` at each (times a positive factor, where a blank is among the values).
    variances : callable
        Its variances, if ``F(t) = p``, at the values with these places.
    """

    values: Floats
    excess: Floats
    variances: Callable[[NDArray[np.int64]], Floats]
    #: Where values beyond those that were met are possible, the variance of F̂ there; else None.
    beyond: float | None = None
    p: float = 0.5

    @property
    def estimate(self) -> float:
        """Where it crosses zero."""
        crossed = np.flatnonzero(_rising(self.excess) >= 0)
        return float(self.values[crossed[0]] if crossed.size else self.values[-1])

    def interval(self, quantile: float) -> tuple[float, float]:
        """The lowest and the highest value that no test rejects, for the two-sided quantile of the normal or t law."""
        last = self.values.size - 1

        def can_reach(places: NDArray[np.int64]) -> NDArray[np.bool_]:
            return np.asarray(self.excess[places] + quantile * np.sqrt(self.variances(places)) >= 0)

        def can_stay_below(places: NDArray[np.int64]) -> NDArray[np.bool_]:
            return np.asarray(self.excess[places] - quantile * np.sqrt(self.variances(places)) < 0)

        # F is one at the last value and zero below the first, whatever the estimate says.
        if 0 < last <= _EACH:
            reach = quantile * np.sqrt(self.variances(np.arange(last)))
            low, high = (int(np.sum(_rising(self.excess[:last] + side * reach) < 0)) for side in (1, -1))
        else:  # one value, or so many that the band is looked at where halving leads
            low = _first(can_reach, last)
            high = last - _first(lambda places: can_stay_below(last - 1 - places), last)
        ends = float(self.values[min(low, high)]), float(self.values[max(low, high)])
        if self.beyond is None:
            return ends
        outside = quantile * math.sqrt(self.beyond)
        return (-math.inf if outside >= self.p else ends[0], math.inf if outside > 1 - self.p else ends[1])


def _rising(values: Floats) -> Floats:
    """The middle of the largest so far and the smallest from here on; values that rise stay as they are."""
    return np.asarray((np.maximum.accumulate(values) + np.minimum.accumulate(values[::-1])[::-1]) / 2)


def _first(holds: Callable[[NDArray[np.int64]], NDArray[np.bool_]], size: int) -> int:
    """The first place at which a statement holds, ``size`` if nowhere, by halving."""
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        if holds(np.array([middle]))[0]:
            high = middle
        else:
            low = middle + 1
    return low
