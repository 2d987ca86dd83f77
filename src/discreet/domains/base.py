"""What a true value can be: declared by people, never inferred from private data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from discreet.errors import DomainError


class Domain(ABC):
    """What the cells of a column can be, and how they are written down as codes and read back."""

    #: The name under which plans and manifests know this domain. It never changes.
    kind: ClassVar[str]

    @abstractmethod
    def describe(self) -> str:
        """What is accepted, for messages."""

    @property
    @abstractmethod
    def arrow_type(self) -> pa.DataType:
        """The type of a released column."""

    @property
    @abstractmethod
    def code_dtype(self) -> np.dtype[Any]:
        """The numpy type that holds every code."""

    @abstractmethod
    def parse(self, text: pa.Array) -> pa.Array:
        """Values from the text of CSV cells."""

    @abstractmethod
    def encode_with_missing(self, values: Any) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """Codes, and a mask of missing values (None when nothing is missing)."""

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

    def encode_reports(self, values: Any) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """Codes of released cells, which need not be values that a truth can have; and a mask of missing ones."""
        return self.encode_with_missing(values)
