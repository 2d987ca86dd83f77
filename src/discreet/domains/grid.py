"""A continuous interval cut into equally spaced points."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from discreet import arrow_functions as pc
from discreet import limits
from discreet.domains.finite import FiniteDomain
from discreet.domains.labels import ArrayLabels
from discreet.domains.losses import OnALine
from discreet.errors import DomainError, ManifestError


@dataclass(frozen=True)
class Grid(OnALine, FiniteDomain):
    """Numbers in [low, high], rounded to the nearest of equally spaced points; ties go down.

    The rounding error is at most ``step/2``. A number outside [low, high] is an error, never clipped.

    Examples
    --------
    >>> Grid(0, 10, 5).encode([0.0, 1.3, 10.0])
    array([0, 1, 4], dtype=uint8)
    """

    low: float
    high: float
    points: int

    kind: ClassVar[str] = "grid"

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "low", float(self.low))
            object.__setattr__(self, "high", float(self.high))
        except (TypeError, ValueError, OverflowError):
            raise DomainError("the ends of a grid must be numbers") from None
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise DomainError(f"a grid needs finite ends with low < high, not {self.low} and {self.high}")
        if max(abs(self.low), abs(self.high)) > limits.LARGEST_NUMBER:
            raise DomainError(f"the ends of a grid go up to {limits.LARGEST_NUMBER:g}, or distances would overflow")
        if isinstance(self.points, bool) or not isinstance(self.points, numbers.Integral):
            raise DomainError("a grid needs a whole number of points")
        if not 2 <= self.points <= limits.DOMAIN_VALUES:
            raise DomainError(f"a grid needs from 2 to {limits.DOMAIN_VALUES:,} points")
        object.__setattr__(self, "points", int(self.points))
        if not self.step > math.ulp(max(abs(self.low), abs(self.high))):
            raise DomainError("the points of a grid lie closer than floating-point numbers can tell apart")

    @property
    def size(self) -> int:
        """Number of points."""
        return self.points

    @property
    def step(self) -> float:
        """Distance between neighbouring points."""
        return (self.high - self.low) / (self.points - 1)

    @property
    def positions(self) -> NDArray[np.float64]:
        """Position of every point."""
        return np.linspace(self.low, self.high, self.points)

    def label(self, code: int) -> float:
        """The position of one point."""
        return float(self.decode([code])[0])

    def describe(self) -> str:
        """What is accepted, for messages."""
        return f"a number from {self.low:g} to {self.high:g}"

    @property
    def arrow_type(self) -> pa.DataType:
        """Floats."""
        return pa.float64()

    def codes(self, values: pa.Array) -> pa.Array:
        """Nearest point; null outside [low, high]."""
        if pa.types.is_null(values.type):
            return values.cast(pa.int64())
        if not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
            raise DomainError(f"the column holds {values.type} where a number is declared", expected=self.describe())
        numbers_ = pc.fill_null(values.cast(pa.float64(), safe=False), math.nan).to_numpy()
        inside = (numbers_ >= self.low) & (numbers_ <= self.high)
        scaled = (np.where(inside, numbers_, self.low) - self.low) / self.step
        nearest = np.clip(np.ceil(scaled - 0.5), 0, self.points - 1).astype(np.int64)
        return pa.array(nearest, mask=~inside)

    def parse(self, text: pa.Array) -> pa.Array:
        """Numbers from text cells."""
        return ArrayLabels(pa.array([self.low, self.high])).parse(text)

    def decode(self, codes: ArrayLike) -> NDArray[np.float64]:
        """Positions of codes."""
        # The last point is the upper end itself: low + (points − 1)·step can round to just above it.
        return np.asarray(np.minimum(self.low + self._checked_codes(codes) * self.step, self.high))

    def decode_arrow(self, codes: NDArray[Any]) -> pa.Array:
        """Positions of codes, in Arrow."""
        return pa.array(self.decode(codes))

    def to_dict(self) -> dict[str, Any]:
        """Kind, ends and number of points."""
        return {"kind": self.kind, "low": self.low, "high": self.high, "points": self.points}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild from plain data."""
        try:
            return cls(data["low"], data["high"], data["points"])
        except KeyError as error:
            raise ManifestError(f"a grid in the manifest is damaged: {error} is missing") from None
