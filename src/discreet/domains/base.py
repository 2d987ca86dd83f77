"""What a true value can be: declared by people, never inferred from private data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike, NDArray

from discreet import arguments
from discreet.domains.columns import as_arrow, first_true
from discreet.errors import DomainError


class Domain(ABC):
    """A finite list of values with codes 0 … size − 1."""

    #: The name under which plans and manifests know this domain. It never changes.
    kind: ClassVar[str]

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of values."""

    @abstractmethod
    def label(self, code: int) -> Any:
        """The value of one code, as a plain Python object."""

    @abstractmethod
    def describe(self) -> str:
        """What is accepted, for messages."""

    @property
    @abstractmethod
    def arrow_type(self) -> pa.DataType:
        """The type of a released column."""

    @abstractmethod
    def codes(self, values: pa.Array) -> pa.Array:
        """Integer codes of Arrow values; null where a value is null or does not belong to the domain."""

    @abstractmethod
    def parse(self, text: pa.Array) -> pa.Array:
        """Values from the text of CSV cells."""

    @abstractmethod
    def decode(self, codes: ArrayLike) -> NDArray[Any]:
        """Values of codes, in numpy."""

    @abstractmethod
    def decode_arrow(self, codes: NDArray[Any]) -> pa.Array:
        """Values of codes, in Arrow; the dictionary, if any, is the domain in its declared order."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Plain data for a manifest."""

    @classmethod
    @abstractmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild from plain data."""

    @property
    def labels(self) -> list[Any]:
        """All values in the order of their codes."""
        return [self.label(code) for code in range(self.size)]

    @property
    def code_dtype(self) -> np.dtype[Any]:
        """The smallest unsigned integers that hold every code."""
        return np.min_scalar_type(self.size - 1)

    def encode(self, values: Any, *, column: str | None = None, first_row: int = 0) -> NDArray[Any]:
        """Codes of values; every value must belong to the domain.

        Parameters
        ----------
        values : array
            numpy, Arrow (also dictionary-encoded), pandas, polars or a list.
        column : str, optional
            Named in an error.
        first_row : int
            Added to the row number in an error, when the values are one batch of a longer column.

        Raises
        ------
        DomainError
            Says column, row and what was expected. The value itself is in ``.value``, never in the message.
        """
        try:
            codes, missing = self.encode_with_missing(values)
            if missing is not None:
                row = int(np.flatnonzero(missing)[0])
                raise DomainError("the value is missing", row=row, expected=self.describe())
        except DomainError as error:
            raise error.at(column=column, first_row=first_row) from None
        return codes

    def encode_with_missing(self, values: Any) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """Codes, and a mask of missing values (None when nothing is missing); a missing value has code 0."""
        array = as_arrow(values)
        if pa.types.is_dictionary(array.type):
            return self._encode_dictionary(array)
        codes = self.codes(array)
        if codes.null_count == 0:
            return self._as_numpy(codes), None
        unknown = pc.and_(codes.is_null(), array.is_valid())
        if pc.any(unknown).as_py():
            row = first_true(unknown)
            raise DomainError(
                "a value is not in the domain", row=row, expected=self.describe(), value=array[row].as_py()
            )
        return self._as_numpy(pc.fill_null(codes, 0)), codes.is_null().to_numpy(zero_copy_only=False)

    def _encode_dictionary(self, array: pa.DictionaryArray) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """Encode the dictionary once and look the codes up; entries that no row uses need not be valid."""
        entries = as_arrow(array.dictionary)
        codes = self.codes(entries).take(array.indices)
        if codes.null_count:
            return self.encode_with_missing(entries.take(array.indices))
        return self._as_numpy(codes), None

    def _as_numpy(self, codes: pa.Array) -> NDArray[Any]:
        return np.asarray(codes.to_numpy(zero_copy_only=False)).astype(self.code_dtype, copy=False)

    def _checked_codes(self, codes: ArrayLike) -> NDArray[Any]:
        array = arguments.array(codes, "codes", DomainError)
        if array.size and array.dtype.kind not in "iub":
            raise DomainError(f"codes must be integers, not {array.dtype}")
        if array.size and (array.min() < 0 or array.max() >= self.size):
            raise DomainError("a code is out of range", expected=f"a whole number from 0 to {self.size - 1}")
        return array.astype(np.intp)
