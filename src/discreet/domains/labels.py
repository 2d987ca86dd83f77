"""The values of a domain as a compact list: a range, or one Arrow array."""

from __future__ import annotations

import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet import arrow_functions as pc
from discreet import limits
from discreet.domains.buffers import array_of, blanks_of, numbers_of
from discreet.domains.columns import as_arrow, first_true, is_text, without_dictionary
from discreet.errors import DomainError

#: Labels that an error message lists in full.
_SHOWN = 8


class Labels(ABC):
    """An immutable list of different values of one type."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def __getitem__(self, index: int) -> Any: ...

    @property
    @abstractmethod
    def arrow_type(self) -> pa.DataType:
        """The Arrow type of the values."""

    @abstractmethod
    def arrow(self) -> pa.Array:
        """All values as an Arrow array."""

    @abstractmethod
    def lookup(self, values: pa.Array) -> pa.Array:
        """Position of every value, null where it is not a label; the values have a fitting type."""

    @abstractmethod
    def to_data(self) -> Any:
        """Plain data for a manifest."""

    @abstractmethod
    def numbers(self) -> NDArray[np.float64] | None:
        """The values as floats where they are numbers; None for text and booleans."""

    def increase(self) -> bool:
        """Whether values that are numbers are finite and increase, as floats; text and booleans always do."""
        found = self.numbers()
        return found is None or bool(np.all(np.isfinite(found)) and np.all(np.diff(found) > 0))

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Labels) or len(self) != len(other):
            return NotImplemented if not isinstance(other, Labels) else False
        return bool(self.arrow_type == other.arrow_type and self.arrow().equals(other.arrow()))

    def __hash__(self) -> int:
        return hash((len(self), self[0], self[len(self) - 1]))

    def describe(self) -> str:
        """What is accepted, for an error message."""
        if len(self) <= _SHOWN:
            return "one of " + ", ".join(f'"{v}"' if isinstance(v, str) else str(v) for v in self)
        first, last = self[0], self[len(self) - 1]
        if pa.types.is_integer(self.arrow_type) and last - first == len(self) - 1 and self.increase():
            return f"a whole number from {first} to {last}"
        return f"one of {len(self):,} declared values"

    def coerce(self, values: pa.Array) -> pa.Array:
        """The values in a type that can be compared with the labels; numbers never become text."""
        kind = values.type
        own = self.arrow_type
        if pa.types.is_null(kind):
            return values.cast(own)
        if is_text(own):
            fits = is_text(kind)
        elif pa.types.is_boolean(own):
            fits = pa.types.is_boolean(kind)
        else:
            fits = pa.types.is_integer(kind) or pa.types.is_floating(kind)
        if not fits:
            raise DomainError(f"the column holds {kind} where {_kind_name(own)} is declared", expected=self.describe())
        if pa.types.is_integer(own) and pa.types.is_floating(kind):
            return self._whole(values)
        if pa.types.is_floating(own):
            return pc.add(self._cast(values), 0.0)  # −0.0 and 0.0 are one value
        return values if kind == own or is_text(own) else self._cast(values)

    def _whole(self, values: pa.Array) -> pa.Array:
        """Floats that are whole numbers, as a column with gaps arrives from numpy or pandas."""
        fractional = pc.not_equal(values, pc.floor(values))
        if pc.any(fractional).as_py():
            row = first_true(fractional)
            raise DomainError(
                "a value is not in the domain", row=row, expected=self.describe(), value=values[row].as_py()
            )
        return self._cast(values)

    def _cast(self, values: pa.Array) -> pa.Array:
        try:
            return values.cast(self.arrow_type)
        except pa.ArrowInvalid:
            row = next(i for i, value in enumerate(values) if value.is_valid and not _parses(value, self.arrow_type))
        raise DomainError("a value is not in the domain", row=row, expected=self.describe(), value=values[row].as_py())

    def parse(self, text: pa.Array) -> pa.Array:
        """Values written as text (a CSV cell) in the type of the labels; the first that cannot be read is named."""
        own = self.arrow_type
        if is_text(own):
            return text
        try:
            return text.cast(own)
        except pa.ArrowInvalid:
            row = next(i for i, v in enumerate(text) if v.is_valid and not _parses(v, own))
        raise DomainError(
            f"a cell cannot be read as {_kind_name(own)}",
            row=row,
            expected=self.describe(),
            value=text[row].as_py(),
        )


class RangeLabels(Labels):
    """Whole numbers in equal steps, held as a Python range: 10⁷ values take no memory."""

    __slots__ = ("_range",)

    def __init__(self, values: range) -> None:
        self._range = values

    def __len__(self) -> int:
        return len(self._range)

    def __getitem__(self, index: int) -> int:
        return self._range[index]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, RangeLabels):
            return self._range == other._range
        return super().__eq__(other)

    __hash__ = Labels.__hash__

    def __repr__(self) -> str:
        return repr(self._range)

    def increase(self) -> bool:
        """Whether the numbers increase; they need not be written out for that."""
        return self._range.step > 0

    @property
    def arrow_type(self) -> pa.DataType:
        """64-bit integers."""
        return pa.int64()

    def arrow(self) -> pa.Array:
        """All values, written out."""
        return pa.array(np.arange(self._range.start, self._range.stop, self._range.step, dtype=np.int64))

    def lookup(self, values: pa.Array) -> pa.Array:
        """By arithmetic: (value − start)/step where that is a whole number in range."""
        numbers_ = numbers_of(pc.fill_null(values, self._range.start) if values.null_count else values)
        # Compare first and subtract later: a subtraction could wrap around.
        low, high = min(self._range[0], self._range[-1]), max(self._range[0], self._range[-1])
        inside = (numbers_ >= low) & (numbers_ <= high)
        steps = np.where(inside, numbers_, self._range.start) - self._range.start
        if abs(self._range.step) != 1:
            inside &= steps % self._range.step == 0
        codes = steps // self._range.step
        outside = ~inside if values.null_count == 0 else ~inside | blanks_of(values)
        return array_of(codes, outside if outside.any() else None)

    def numbers(self) -> NDArray[np.float64]:
        """The range as floats."""
        return self.take(np.arange(len(self._range))).astype(float)

    def to_data(self) -> dict[str, int]:
        """Start, stop and step."""
        return {"from": self._range[0], "to": self._range[-1], "step": self._range.step}

    def take(self, codes: NDArray[Any]) -> NDArray[np.int64]:
        """Values of codes."""
        return np.asarray(codes, np.int64) * self._range.step + self._range.start


class ArrayLabels(Labels):
    """Any values of one type, held in one Arrow array."""

    def __init__(self, values: pa.Array) -> None:
        self._array = values

    @cached_property
    def _numpy(self) -> NDArray[Any]:
        if is_text(self._array.type):
            return np.array(self._array.to_pylist())
        return np.asarray(self._array.to_numpy(zero_copy_only=False))

    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, index: int) -> Any:
        return self._array[index].as_py()

    def __repr__(self) -> str:
        return repr(self._array.to_pylist())

    @property
    def arrow_type(self) -> pa.DataType:
        """Text, 64-bit integers, floats or booleans."""
        return self._array.type

    def arrow(self) -> pa.Array:
        """All values."""
        return self._array

    def lookup(self, values: pa.Array) -> pa.Array:
        """By hash table."""
        labels = self._array
        if values.type != labels.type:
            labels = labels.cast(values.type)
        return pc.index_in(values, value_set=labels, skip_nulls=True)

    def numbers(self) -> NDArray[np.float64] | None:
        """The values as floats where they are numbers."""
        kind = self._array.type
        return self._numpy.astype(float) if pa.types.is_integer(kind) or pa.types.is_floating(kind) else None

    def to_data(self) -> list[Any]:
        """The values in a list."""
        return list(self._array.to_pylist())

    def take(self, codes: NDArray[Any]) -> NDArray[Any]:
        """Values of codes."""
        return np.asarray(self._numpy.take(np.asarray(codes, np.intp)))


def make_labels(values: Any, minimum: int = 2) -> RangeLabels | ArrayLabels:
    """Labels from a range or from any list of different values of one type: text, whole numbers, floats, booleans."""
    if isinstance(values, (RangeLabels, ArrayLabels)):
        return values
    if isinstance(values, range):
        if not values[minimum - 1 :]:
            raise DomainError(f"a domain needs at least {minimum} values, not {len(values)}")
        if values[limits.DOMAIN_VALUES :]:
            raise _too_many()
        if not all(-(2**63) <= end < 2**63 for end in (values[0], values[-1])):
            raise DomainError("the whole numbers of a domain must fit into 64 bits")
        return RangeLabels(values)
    if isinstance(values, (list, tuple)):
        kinds = {_python_kind(v) for v in values}
        if len(kinds) > 1 or None in kinds:
            raise DomainError("the values of a domain must all be text, all whole numbers, all floats or all booleans")
    array = without_dictionary(as_arrow(values))
    if array.null_count:
        raise DomainError("a domain cannot contain an empty value; use the policy for missing values instead")
    if len(array) < minimum:
        raise DomainError(f"a domain needs at least {minimum} values, not {len(array)}")
    if len(array) > limits.DOMAIN_VALUES:
        raise _too_many()
    array = _standard(array)
    # A set of a short list is made before Arrow has looked up its function.
    different = len(set(values)) if isinstance(values, (list, tuple)) else pc.count_distinct(array).as_py()
    if different != len(array):
        raise DomainError("the values of a domain must all be different")
    return ArrayLabels(array)


def _too_many() -> DomainError:
    return DomainError(f"a domain has at most {limits.DOMAIN_VALUES:,} values")


def _standard(array: pa.Array) -> pa.Array:
    kind = array.type
    if pa.types.is_string(kind) or pa.types.is_int64(kind) or pa.types.is_boolean(kind):
        return array
    if is_text(kind):
        return array.cast(pa.string())
    if pa.types.is_integer(kind):
        return array.cast(pa.int64())
    if pa.types.is_floating(kind):
        return pc.add(array.cast(pa.float64()), 0.0)  # −0.0 and 0.0 are one value
    raise DomainError(f"a domain holds text, whole numbers, floats or booleans, not {kind}")


def _python_kind(value: Any) -> type | None:
    if isinstance(value, (bool, np.bool_)):
        return bool
    if isinstance(value, str):
        return str
    if isinstance(value, numbers.Integral):
        return int
    if isinstance(value, numbers.Real):
        try:
            return None if math.isnan(value) else float
        except OverflowError:  # a fraction that no float holds
            return None
    return None


def _kind_name(kind: pa.DataType) -> str:
    if is_text(kind):
        return "text"
    if pa.types.is_boolean(kind):
        return "a boolean"
    return "a whole number" if pa.types.is_integer(kind) else "a number"


def _parses(value: pa.Scalar, kind: pa.DataType) -> bool:
    try:
        value.cast(kind)
    except pa.ArrowInvalid:
        return False
    return True
