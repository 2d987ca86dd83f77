"""A domain in which "missing" is one more value, protected like the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self, cast

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from discreet.domains.finite import FiniteDomain
from discreet.errors import DomainError


@dataclass(frozen=True)
class WithBlank(FiniteDomain):
    """Another domain and the blank, which has the last code and decodes to null."""

    inner: FiniteDomain

    kind: ClassVar[str] = "blank"

    def __post_init__(self) -> None:
        if not isinstance(self.inner, FiniteDomain):
            raise DomainError(f"a blank is added to a list of values, not to a {type(self.inner).__name__}")

    @property
    def size(self) -> int:
        """One more than the inner domain."""
        return self.inner.size + 1

    def label(self, code: int) -> Any:
        """The value of one code; None for the blank."""
        return None if code == self.inner.size else self.inner.label(code)

    def describe(self) -> str:
        """What is accepted, for messages."""
        return f"{self.inner.describe()}, or empty"

    @property
    def arrow_type(self) -> pa.DataType:
        """As for the inner domain."""
        return self.inner.arrow_type

    def codes(self, values: pa.Array) -> pa.Array:
        """Codes of the inner domain; see ``encode_with_missing`` for the blank."""
        return self.inner.codes(values)

    def parse(self, text: pa.Array) -> pa.Array:
        """Values from text cells."""
        return self.inner.parse(text)

    def encode_with_missing(self, values: Any) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """A missing value is a value here, so nothing is missing."""
        codes, missing = self.inner.encode_with_missing(values)
        codes = codes.astype(self.code_dtype)
        if missing is not None:
            codes[missing] = self.inner.size
        return codes, None

    def decode(self, codes: ArrayLike) -> NDArray[Any]:
        """Values of codes as objects; None for the blank."""
        checked = self._checked_codes(codes)
        blank = checked == self.inner.size
        values = self.inner.decode(np.where(blank, 0, checked)).astype(object)
        values[blank] = None
        return values

    def decode_arrow(self, codes: NDArray[Any]) -> pa.Array:
        """Values of codes, in Arrow; null for the blank."""
        blank = codes == self.inner.size
        values = self.inner.decode_arrow(np.where(blank, 0, codes).astype(codes.dtype))
        if pa.types.is_dictionary(values.type):
            indices = pa.array(values.indices.to_numpy(), mask=blank)
            return pa.DictionaryArray.from_arrays(indices, values.dictionary)
        return pa.array(values.to_numpy(zero_copy_only=False), type=values.type, mask=blank)

    def to_dict(self) -> dict[str, Any]:
        """The inner domain, marked."""
        return {"kind": self.kind, "inner": self.inner.to_dict()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild from plain data."""
        from discreet.domains import from_dict

        return cls(cast("FiniteDomain", from_dict(data.get("inner", {}))))  # the constructor looks at it
