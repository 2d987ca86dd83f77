"""Numeric vectors, each coordinate between two declared bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from discreet import arrow_functions as pc
from discreet import limits
from discreet.arguments import Floats
from discreet.domains.base import Domain
from discreet.domains.columns import as_arrow
from discreet.domains.labels import ArrayLabels
from discreet.errors import DomainError, ManifestError


@dataclass(frozen=True)
class Box(Domain):
    """Vectors with ``low[j] ≤ x[j] ≤ high[j]``; a number outside is an error, never clipped.

    Parameters
    ----------
    low, high : number or sequence of numbers
        One bound per coordinate. They are declared, never taken from private data.

    Examples
    --------
    >>> box = Box([0, 18], [100, 65])
    >>> box.dimension, box.widths.tolist()
    (2, [100.0, 47.0])
    >>> box.check([[50.0, 30.0]])
    array([[50., 30.]])
    """

    low: tuple[float, ...]
    high: tuple[float, ...]

    kind: ClassVar[str] = "box"

    def __init__(self, low: float | Sequence[float], high: float | Sequence[float]) -> None:
        object.__setattr__(self, "low", _bounds(low, "low"))
        object.__setattr__(self, "high", _bounds(high, "high"))
        if len(self.low) != len(self.high):
            raise DomainError(f"a box needs as many low bounds as high ones, not {len(self.low)} and {len(self.high)}")
        for j, (a, b) in enumerate(zip(self.low, self.high, strict=True)):
            if not (math.isfinite(a) and math.isfinite(b)):
                raise DomainError(f"the bounds of coordinate {j} must be finite, not {a} and {b}")
            if not a < b:
                raise DomainError(f"coordinate {j} of a box needs low < high, not {a} and {b}")
            if max(abs(a), abs(b)) > limits.LARGEST_NUMBER:
                raise DomainError(f"coordinate {j} of a box is too wide for floating point: bounds go up to 1e100")

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return len(self.low)

    @property
    def widths(self) -> Floats:
        """``high − low``, one number per coordinate."""
        widths: Floats = np.asarray(self.high) - np.asarray(self.low)
        return widths

    def check(self, values: ArrayLike, *, first_row: int = 0, columns: Sequence[str] | None = None) -> Floats:
        """Rows of numbers inside the box, as an n × d array; anything else is an error.

        Parameters
        ----------
        values : array (n, d), or (n,) for a box of one coordinate
        first_row : int
            Added to the row number in an error.
        columns : sequence of str, optional
            Names of the coordinates, for an error.
        """
        rows = self._shaped(values)
        low, high = np.asarray(self.low), np.asarray(self.high)
        # NaN compares false, so it is found here as well.
        inside = (rows >= low) & (rows <= high)
        if not inside.all():
            row, j = (int(index) for index in np.argwhere(~inside)[0])
            value = float(rows[row, j])
            problem = "the number is outside the box" if math.isfinite(value) else "the number is not finite"
            error = DomainError(problem, row=row, expected=self.describe_coordinate(j), value=value)
            raise error.at(column=columns[j] if columns else f"coordinate {j}", first_row=first_row)
        return rows

    def clip(self, values: ArrayLike) -> tuple[Floats, int]:
        """Numbers moved to the nearest bound, and how many were moved; one that is not finite is still an error.

        The count is about private data: it is for the steward's terminal, not for a manifest.
        """
        rows = self._shaped(values)
        if not np.isfinite(rows).all():
            row, j = (int(index) for index in np.argwhere(~np.isfinite(rows))[0])
            raise DomainError(
                "the number is not finite", column=f"coordinate {j}", row=row, expected=self.describe_coordinate(j)
            )
        clipped = np.clip(rows, self.low, self.high)
        return clipped, int(np.count_nonzero(clipped != rows))

    def _shaped(self, values: ArrayLike) -> Floats:
        try:
            array = np.asarray(values)
        except ValueError:
            raise DomainError(f"a box of {self.dimension} coordinates needs rows of one length") from None
        if array.dtype.kind not in "iufb":
            raise DomainError(f"a box holds numbers, not {array.dtype}", expected=self.describe())
        if array.ndim == 1 and self.dimension == 1:
            array = array.reshape(-1, 1)
        if array.ndim != 2 or array.shape[1] != self.dimension:
            raise DomainError(f"a box of {self.dimension} coordinates needs rows × {self.dimension}, not {array.shape}")
        return np.asarray(array, np.float64)

    def column(self, j: int) -> Box:
        """The box of one coordinate."""
        return Box([self.low[j]], [self.high[j]])

    def describe(self) -> str:
        """What is accepted, for messages."""
        if self.dimension == 1:
            return self.describe_coordinate(0)
        return f"{self.dimension} numbers, each between its bounds"

    def describe_coordinate(self, j: int) -> str:
        """What one coordinate accepts."""
        return f"a number from {self.low[j]:g} to {self.high[j]:g}"

    @property
    def arrow_type(self) -> pa.DataType:
        """Floats, one column per coordinate."""
        return pa.float64()

    @property
    def code_dtype(self) -> np.dtype[Any]:
        """Numbers are their own codes."""
        return np.dtype(np.float64)

    def parse(self, text: pa.Array) -> pa.Array:
        """Numbers from text cells."""
        try:
            return ArrayLabels(pa.array([self.low[0], self.high[0]])).parse(text)
        except DomainError as error:
            raise DomainError(
                "a cell cannot be read as a number", row=error.row, expected=self.describe(), value=error.value
            ) from None

    def encode_with_missing(self, values: Any) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """The numbers of one column, checked, and a mask of missing ones; a missing one is shown as the low bound."""
        numbers, missing = self.numbers(values)
        return self.check(numbers)[:, 0], missing

    def encode_reports(self, values: Any) -> tuple[Floats, NDArray[np.bool_] | None]:
        """The numbers as they are: reports are never clamped to the box."""
        return self.numbers(values)

    def numbers(self, values: Any) -> tuple[Floats, NDArray[np.bool_] | None]:
        """The numbers of one column, not checked against the bounds, and a mask of missing ones."""
        array = as_arrow(values)
        if pa.types.is_null(array.type):
            array = array.cast(pa.float64())
        if not (pa.types.is_integer(array.type) or pa.types.is_floating(array.type)):
            raise DomainError(f"the column holds {array.type} where a number is declared", expected=self.describe())
        missing = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
        floats = pc.fill_null(array.cast(pa.float64(), safe=False), self.low[0])
        return np.asarray(floats.to_numpy(zero_copy_only=False)), missing

    def encode(self, values: Any, *, column: str | None = None, first_row: int = 0) -> NDArray[Any]:
        """The numbers themselves, checked: a box has no codes."""
        if self.dimension == 1 and not (isinstance(values, np.ndarray) and values.ndim == 2):
            return super().encode(values, column=column, first_row=first_row)
        return self.check(values, first_row=first_row)

    def decode(self, codes: ArrayLike) -> NDArray[Any]:
        """The numbers themselves."""
        return np.asarray(codes, np.float64)

    def decode_arrow(self, codes: NDArray[Any]) -> pa.Array:
        """The numbers of one coordinate, in Arrow."""
        return pa.array(np.asarray(codes, np.float64))

    def to_dict(self) -> dict[str, Any]:
        """Kind and bounds."""
        return {"kind": self.kind, "low": list(self.low), "high": list(self.high)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild from plain data."""
        try:
            return cls(data["low"], data["high"])
        except KeyError as error:
            raise ManifestError(f"a box in the manifest is damaged: {error} is missing") from None


def _bounds(given: float | Sequence[float], name: str) -> tuple[float, ...]:
    try:
        values: list[Any] = [given] if np.ndim(given) == 0 else list(np.asarray(given, object).ravel())
        if not values or any(isinstance(value, (bool, str, type(None))) for value in values):
            raise TypeError
        return tuple(float(value) for value in values)
    except (TypeError, ValueError, OverflowError):
        raise DomainError(f"{name} must be a number, or one number per coordinate") from None
