"""Public bounds of features and outcomes, and bins of equal width between them.

A bin is worked out from one value and public numbers, so that bins say nothing about other records; quantiles, minima
and maxima of the rows would.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet import arguments
from discreet.arguments import Floats
from discreet.errors import InputError
from discreet.learning.boosting.tree import Bins


@dataclass(frozen=True, eq=False)
class FeatureBounds:
    """The lowest and highest value of every feature, declared."""

    low: Floats
    high: Floats

    @classmethod
    def read(cls, bounds: Any, features: int) -> FeatureBounds:
        """From a pair of numbers, for all features, or a pair of arrays with one number per feature."""
        low, high = _pair(bounds, "bounds", "feature")
        ends = []
        for name, end in (("low", low), ("high", high)):
            values = arguments.floats(end, f"bounds: {name}")
            if values.shape not in ((), (1,), (features,)):
                raise InputError(f"bounds: {name} must be one number, or {features} numbers, one per feature of X")
            ends.append(np.broadcast_to(values, (features,)).astype(np.float64))
        wrong = np.flatnonzero(~(ends[0] < ends[1]))
        if wrong.size:
            raise InputError(f"bounds: low must be below high; for feature {wrong[0]} (counted from 0) it is not")
        if not np.isfinite(ends[1] - ends[0]).all():
            raise InputError("bounds: the distance of low and high must be a finite number")
        return cls(*ends)

    def bins(self, X: Floats, count: int, *, clip: bool) -> Bins:
        """``⌊count·(x − low)/(high − low)⌋``, the highest value in the last bin."""
        places = self.shares(X, clip=clip) * count
        return np.minimum(places, count - 1).astype(np.uint8)

    def scaled(self, X: Floats, *, clip: bool) -> Floats:
        """Features on [−1, 1]."""
        return 2 * self.shares(X, clip=clip) - 1

    def shares(self, X: Floats, *, clip: bool) -> Floats:
        """``(x − low)/(high − low)``; what lies outside is refused, or moved to the nearest bound."""
        outside = ~((self.low <= X) & (self.high >= X))
        if outside.any() and not clip:
            row, column = (int(i) for i in np.argwhere(outside)[0])
            raise InputError(
                f"X is outside of the declared bounds (row {row}, column {column}, counted from 0): declare wider "
                "ones, or set clip=True to move such values to the nearest bound"
            )
        inside = np.clip(X, self.low, self.high)
        return np.asarray((inside - self.low) / (self.high - self.low))


def outcome_ends(bounds: Any, name: str = "outcome_bounds") -> tuple[float, float]:
    """The declared lowest and highest outcome."""
    low, high = _pair(bounds, name, "outcome")
    ends = arguments.number(low, f"{name}: low"), arguments.number(high, f"{name}: high")
    if not ends[0] < ends[1]:
        raise InputError(f"{name}: low must be below high")
    return ends


def scaled_outcome(y: Floats, ends: tuple[float, float], *, clip: bool) -> Floats:
    """Outcomes on [−1, 1]."""
    low, high = ends
    outside = np.flatnonzero((y < low) | (y > high))
    if outside.size and not clip:
        raise InputError(
            f"y is outside of outcome_bounds (row {outside[0]}, counted from 0): declare wider ones, or set clip=True "
            "to move such values to the nearest bound"
        )
    return np.asarray(2 * ((np.clip(y, low, high) - low) / (high - low)) - 1)


def _pair(bounds: Any, name: str, of: str) -> tuple[Any, Any]:
    if bounds is None:
        raise InputError(
            f"{name} must be given: the lowest and the highest value of the {of}, as far as it is public knowledge; "
            "read off the rows they would publish somebody's value"
        )
    if isinstance(bounds, np.ndarray) and bounds.ndim:
        bounds = list(bounds)
    if not isinstance(bounds, (list, tuple)) or len(bounds) != 2:
        raise InputError(f"{name} must be a pair (low, high)")
    return bounds[0], bounds[1]
