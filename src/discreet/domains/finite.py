"""Domains that are a list: every value has a code, 0 … size − 1."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from discreet import arguments
from discreet import arrow_functions as pc
from discreet.domains.base import Domain
from discreet.domains.buffers import blanks_of, numbers_of
from discreet.domains.columns import as_arrow, entries_of, first_true
from discreet.errors import DomainError


class FiniteDomain(Domain):
    """A finite list of values with codes 0 … size − 1."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of values."""

    @abstractmethod
    def label(self, code: int) -> Any:
        """The value of one code, as a plain Python object."""

    @abstractmethod
    def codes(self, values: pa.Array) -> pa.Array:
        """Integer codes of Arrow values; null where a value is null or does not belong to the domain."""

    @property
    def labels(self) -> list[Any]:
        """All values in the order of their codes."""
        return [self.label(code) for code in range(self.size)]

    @property
    def code_dtype(self) -> np.dtype[Any]:
        """The smallest unsigned integers that hold every code."""
        return np.min_scalar_type(self.size - 1)

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
        return self._as_numpy(pc.fill_null(codes, 0)), blanks_of(codes)

    def _encode_dictionary(self, array: pa.DictionaryArray) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """Encode the dictionary once and look the codes up; entries that no row uses need not be valid."""
        entries = as_arrow(array.dictionary)
        codes = entries_of(self.codes(entries), array.indices)
        if codes.null_count:
            return self.encode_with_missing(entries.take(array.indices))
        return self._as_numpy(codes), None

    def _as_numpy(self, codes: pa.Array) -> NDArray[Any]:
        return numbers_of(codes).astype(self.code_dtype, copy=False)

    def _checked_codes(self, codes: ArrayLike) -> NDArray[Any]:
        array = arguments.array(codes, "codes", DomainError)
        if array.size and array.dtype.kind not in "iub":
            raise DomainError(f"codes must be integers, not {array.dtype}")
        if array.size and (array.min() < 0 or array.max() >= self.size):
            raise DomainError("a code is out of range", expected=f"a whole number from 0 to {self.size - 1}")
        return array.astype(np.intp)
