"""A falling function that is expensive: every value is remembered, and its inverse found by few of them."""

from __future__ import annotations

import math
from collections.abc import Callable

#: How far the search for a bracket goes at once.
_STRIDE = 3.0
#: Ratio of neighbouring nodes of an interpolated curve.
_NODES = 1.35


class Curve:
    """A function that falls on [low, high], both above 0.

    Parameters
    ----------
    function : callable
        One number to one number; it may be infinite on the left.
    low, high : float
        Where it is asked for.
    tolerance : float
        Relative precision of the inverse, on the safe side.
    """

    def __init__(self, function: Callable[[float], float], low: float, high: float, tolerance: float = 1e-9) -> None:
        self._function, self._low, self._high, self._tolerance = function, low, high, tolerance
        self._known: dict[float, float] = {}

    def value(self, argument: float) -> float:
        """The function, remembered."""
        if argument not in self._known:
            self._known[argument] = self._function(argument)
        return self._known[argument]

    def argument(self, value: float) -> float:
        """The smallest argument at which the function is at most ``value``, from above; ∞ if there is none.

        By Brent's method on logarithms, between the nearest arguments that are known, or are found by strides from the
        middle: the ends are expensive.
        """
        middle = min(max(1.0, self._low), self._high)
        while not any(found <= value for found in self._known.values()):
            if self.value(middle) > value and middle == self._high:
                return math.inf
            middle = min(middle * _STRIDE, self._high)
        bracket = self._bracket(value)
        if bracket is None:
            return self._low
        low, high = bracket
        if high - low <= self._tolerance * high:
            return high
        from scipy.optimize import brentq

        def excess(logarithm: float) -> float:
            found = self.value(math.exp(logarithm))
            return math.log(found / value) if math.isfinite(found) else 1e3

        ends = math.log(low), math.log(high)
        if excess(ends[1]) == 0:
            return high
        root = math.exp(brentq(excess, *ends, xtol=self._tolerance / 4))
        while self.value(root) > value:  # on the safe side, by a hair
            root = min(root * (1 + self._tolerance / 2), high)
        return root

    def _bracket(self, value: float) -> tuple[float, float] | None:
        """Known arguments on either side; None where the function is small enough everywhere."""
        middle = min(max(1.0, self._low), self._high)
        while not any(found > value for found in self._known.values()):
            if self.value(middle) <= value and middle == self._low:
                return None
            middle = max(middle / _STRIDE, self._low)
        low = max(x for x, found in self._known.items() if found > value)
        return low, min(x for x, found in self._known.items() if found <= value)

    def interpolated(self) -> Curve:
        """The same curve, cheaper: cubic in logarithms between nodes of a fixed ratio, to about three digits."""
        return Curve(self._interpolate, self._low, self._high, max(self._tolerance, 1e-7))

    def _interpolate(self, argument: float) -> float:
        place = math.log(argument / self._low) / math.log(_NODES)
        last = math.floor(math.log(self._high / self._low) / math.log(_NODES))
        first = min(max(math.floor(place) - 1, 0), max(last - 3, 0))
        nodes = range(first, min(first + 3, last) + 1)
        heights = [math.log(self.value(self._low * _NODES**node)) for node in nodes]
        total = 0.0
        for i, node in enumerate(nodes):
            weight = math.prod((place - other) / (node - other) for other in nodes if other != node)
            total += weight * heights[i]
        return math.exp(total)
