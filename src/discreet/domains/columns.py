"""Bring any column of values into Arrow form, without ever printing one of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from discreet import arrow_functions as pc
from discreet.domains.buffers import array_of, array_of_list, bits_of
from discreet.errors import DomainError


def as_arrow(values: Any) -> pa.Array:
    """An Arrow array from Arrow, numpy, pandas, polars or plain Python; NaN and None both become null."""
    try:
        array = _convert(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError, ValueError):
        # Arrow's own message may quote the value.
        raise DomainError("the values cannot be read as one column of one type", row=_first_stranger(values)) from None
    if isinstance(array, pa.ChunkedArray):
        array = array.chunk(0) if array.num_chunks == 1 else array.combine_chunks()
    if pa.types.is_string_view(array.type):
        return array.cast(pa.string())  # Arrow has few functions for views
    if pa.types.is_float16(array.type):
        array = array.cast(pa.float32())  # Arrow has few functions for halves either
    if pa.types.is_floating(array.type):
        array = pc.if_else(pc.fill_null(pc.is_nan(array), True), pa.scalar(None, array.type), array)
    return array


def without_dictionary(cells: pa.Array | pa.ChunkedArray) -> pa.Array:
    """One array of the cells themselves, also where a column holds numbers of entries.

    Entries may be views, which Arrow does not take.
    """
    whole = cells.combine_chunks() if isinstance(cells, pa.ChunkedArray) else cells
    if not pa.types.is_dictionary(whole.type):
        return whole
    entries = whole.dictionary
    plain = entries.cast(pa.string()) if pa.types.is_string_view(entries.type) else entries
    return entries_of(plain, whole.indices)


def entries_of(entries: pa.Array, numbers: pa.Array) -> pa.Array:
    """The entries of a dictionary with these numbers; a number without an entry is refused."""
    try:
        return entries.take(numbers)
    except pa.ArrowIndexError:
        raise DomainError("the column is damaged: its dictionary has no entry for a cell") from None


def _first_stranger(values: Any) -> int | None:
    """The first value of a plain list whose type differs from that of the first value."""
    if not isinstance(values, (list, tuple)):
        return None
    kinds = [type(value) for value in values]
    first = next((kind for kind, value in zip(kinds, values, strict=True) if value is not None), None)
    return next((i for i, v in enumerate(values) if v is not None and kinds[i] is not first), None)


def _convert(values: Any) -> pa.Array | pa.ChunkedArray:
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return values
    if isinstance(values, (list, tuple)):
        plain = array_of_list(values)
        return pa.array(values, from_pandas=True) if plain is None else plain
    if hasattr(values, "__arrow_c_array__"):
        return pa.array(values)
    if hasattr(values, "__arrow_c_stream__"):
        return pa.chunked_array(values)
    if isinstance(values, (str, bytes)) or np.ndim(values) == 0:
        raise TypeError
    if isinstance(values, np.ndarray):
        if values.ndim != 1:
            raise TypeError
        if values.dtype.kind in "iuf" and values.dtype.isnative:
            return array_of(values)
        if values.dtype.kind in "iufb":
            return pa.array(values)
        return pa.array(values.tolist(), from_pandas=True)
    return pa.array(list(values), from_pandas=True)


def is_text(kind: pa.DataType) -> bool:
    """Whether a type holds text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def is_number(kind: pa.DataType) -> bool:
    """Whether a type holds numbers or truth values."""
    types = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_boolean(kind))


def first_true(mask: pa.Array) -> int:
    """Position of the first true entry; null counts as false."""
    return int(np.flatnonzero(bits_of(pc.fill_null(mask, False)))[0])
