"""Domains that list their values: Binary, Categorical, Ordinal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from discreet import arguments, limits
from discreet.domains.buffers import array_of, bits_of
from discreet.domains.columns import is_text
from discreet.domains.finite import FiniteDomain
from discreet.domains.labels import ArrayLabels, RangeLabels, make_labels
from discreet.domains.losses import OnALine
from discreet.errors import DomainError, ManifestError
from discreet.plain_text import is_one_line


@dataclass(frozen=True, init=False, repr=False)
class ListedDomain(FiniteDomain):
    """A domain given by the list of its values."""

    _labels: RangeLabels | ArrayLabels

    @property
    def size(self) -> int:
        """Number of values."""
        return len(self._labels)

    def check_printable(self) -> None:
        """Refuse labels with control characters: they came from others and will be shown to people."""
        labels = self._labels
        if is_text(labels.arrow_type) and not is_one_line("".join(labels.arrow().to_pylist())):
            raise DomainError("a value of the domain holds a control character")

    def label(self, code: int) -> Any:
        """The value of one code."""
        return self._labels[code]

    def describe(self) -> str:
        """What is accepted, for messages."""
        return self._labels.describe()

    @property
    def arrow_type(self) -> pa.DataType:
        """Text as a dictionary in declared order, everything else plainly."""
        own = self._labels.arrow_type
        return pa.dictionary(pa.int32(), own) if is_text(own) else own

    def codes(self, values: pa.Array) -> pa.Array:
        """Position in the list."""
        return self._labels.lookup(self._labels.coerce(values))

    def parse(self, text: pa.Array) -> pa.Array:
        """Text cells in the type of the values."""
        return self._labels.parse(text)

    def decode(self, codes: ArrayLike) -> NDArray[Any]:
        """Values of codes, in numpy."""
        return self._labels.take(self._checked_codes(codes))

    def decode_arrow(self, codes: NDArray[Any]) -> pa.Array:
        """Values of codes, in Arrow."""
        if is_text(self._labels.arrow_type):
            return pa.DictionaryArray.from_arrays(array_of(codes.astype(np.int32)), self._labels.arrow())
        return pa.array(self._labels.take(codes), type=self._labels.arrow_type)

    def to_dict(self) -> dict[str, Any]:
        """Kind and values."""
        return {"kind": self.kind, "values": self._labels.to_data()}


@dataclass(frozen=True, init=False, repr=False)
class Binary(ListedDomain):
    """Two values: the first has code 0, the second, the sensitive "yes", code 1.

    Examples
    --------
    >>> Binary().encode(["yes", "no"])
    array([1, 0], dtype=uint8)
    """

    kind: ClassVar[str] = "binary"

    def __init__(self, no: Any = "no", yes: Any = "yes") -> None:
        object.__setattr__(self, "_labels", make_labels([no, yes]))

    def __repr__(self) -> str:
        return f"Binary({self.label(0)!r}, {self.label(1)!r})"

    def encode_with_missing(self, values: Any) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """As for every domain; booleans of a boolean domain are taken over as they are."""
        if self._is_plain_boolean:
            if isinstance(values, np.ndarray) and values.dtype == np.bool_ and values.ndim == 1:
                return values.astype(np.uint8), None
            if isinstance(values, pa.BooleanArray) and values.null_count == 0:
                return bits_of(values), None
        return super().encode_with_missing(values)

    @property
    def _is_plain_boolean(self) -> bool:
        return self.label(0) is False and self.label(1) is True

    def decode_arrow(self, codes: NDArray[Any]) -> pa.Array:
        """Values of codes, in Arrow."""
        if self._is_plain_boolean:
            bits = np.packbits(np.asarray(codes, np.uint8), bitorder="little")
            return pa.Array.from_buffers(pa.bool_(), codes.size, [None, pa.py_buffer(bits)])
        return super().decode_arrow(codes)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild from plain data."""
        values = data.get("values")
        if not isinstance(values, list) or len(values) != 2:
            raise ManifestError("a binary domain in the manifest is damaged: it needs two values")
        return cls(*values)


@dataclass(frozen=True, init=False, repr=False)
class Categorical(ListedDomain):
    """A list of different values without an order. A range of whole numbers stays a range.

    Examples
    --------
    >>> Categorical(["n", "s", "e", "w"]).encode(["w", "n"])
    array([3, 0], dtype=uint8)
    >>> Categorical(range(10**7)).size
    10000000
    """

    kind: ClassVar[str] = "categorical"

    def __init__(self, values: Any) -> None:
        object.__setattr__(self, "_labels", make_labels(values))

    def __repr__(self) -> str:
        return f"Categorical({self._labels!r})"

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild from plain data."""
        return cls(listed_values(data.get("values")))


@dataclass(frozen=True, init=False, repr=False)
class Ordinal(OnALine, ListedDomain):
    """Values in an order, with a position on a line each.

    Parameters
    ----------
    values : sequence
        The values from lowest to highest.
    positions : sequence of float, optional
        Increasing. By default values that are numbers are their own positions, and must then increase; text, even
        text that reads like a number, and booleans have the positions 0, 1, 2, ….

    Notes
    -----
    Positions are what a mean is the mean of, and their distances are the losses of the designs that report values near
    the truth: numbers that are unevenly spaced are unevenly far apart.

    Examples
    --------
    >>> Ordinal(["low", "middle", "high"], positions=[0, 1, 5]).positions
    array([0., 1., 5.])
    >>> Ordinal([1, 2, 4]).positions
    array([1., 2., 4.])
    >>> Ordinal(["low", "middle", "high"]).positions
    array([0., 1., 2.])
    """

    _positions: tuple[float, ...] | None

    kind: ClassVar[str] = "ordinal"

    def __init__(self, values: Any, positions: Sequence[float] | None = None) -> None:
        object.__setattr__(self, "_labels", make_labels(values))
        object.__setattr__(self, "_positions", None if positions is None else self._checked(positions))
        if positions is None and not self._labels.increase():
            raise DomainError(
                "the values of an ordinal domain are numbers but do not increase from one to the next: list them in "
                "order, or give positions"
            )

    def _checked(self, positions: Sequence[float]) -> tuple[float, ...]:
        checked = tuple(arguments.floats(positions, "positions", DomainError, dimensions=1, finite=False).tolist())
        if len(checked) != self.size:
            raise DomainError(
                f"an ordinal domain of {self.size} values needs {self.size} positions, not {len(checked)}"
            )
        if not np.all(np.abs(checked) <= limits.LARGEST_NUMBER) or any(b <= a for a, b in pairwise(checked)):
            raise DomainError(
                f"positions must be finite, at most {limits.LARGEST_NUMBER:g}, and increase from value to value"
            )
        return checked

    def __repr__(self) -> str:
        positions = "" if self._positions is None else f", positions={list(self._positions)!r}"
        return f"Ordinal({self._labels!r}{positions})"

    @property
    def positions(self) -> NDArray[np.float64]:
        """Position of every value on the line."""
        if self._positions is not None:
            return np.array(self._positions)
        numbers = self._labels.numbers()
        return np.arange(self.size, dtype=float) if numbers is None else numbers

    @property
    def numbered(self) -> bool:
        """Whether the positions were declared, or are the values themselves, and not just places 0, 1, 2, …."""
        return self._positions is not None or self._labels.numbers() is not None

    @property
    def step(self) -> float | None:
        """The distance between neighbours when all are equally far apart, else None."""
        if self._positions is None and isinstance(self._labels, RangeLabels):
            return float(self._labels[1] - self._labels[0])
        steps = np.diff(self.positions)
        return float(steps[0]) if np.all(steps == steps[0]) else None

    def to_dict(self) -> dict[str, Any]:
        """Kind, values and positions."""
        data = super().to_dict()
        if self._positions is not None:
            data["positions"] = list(self._positions)
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild from plain data; numbers out of order, which early versions took, are in the order of their codes."""
        labels, positions = make_labels(listed_values(data.get("values"))), data.get("positions")
        if positions is None and not labels.increase():
            positions = range(len(labels))
        return cls(labels, positions)


def listed_values(values: Any) -> Any:
    """Values as a manifest or a plan writes them: a list, or the ends of a range."""
    if isinstance(values, Mapping):
        ends: list[Any] = [values.get("from"), values.get("to"), values.get("step", 1)]
        if not all(isinstance(v, int) and not isinstance(v, bool) for v in ends) or ends[2] == 0:
            raise DomainError('a range of values needs whole numbers "from" and "to"')
        first, last, step = ends
        return range(first, last + (1 if step > 0 else -1), step)
    if not isinstance(values, list):
        raise DomainError("the values of a domain must be a list")
    return values
