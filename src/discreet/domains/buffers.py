"""Between numpy and Arrow by their common memory, for plain numbers.

``pa.array`` and ``to_numpy`` import pandas where it is installed, which takes longer than to release a small table.
These do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

#: Offsets of text are 32-bit integers.
_TEXT_BYTES = (1 << 31) - 1


def array_of(values: NDArray[Any], missing: NDArray[np.bool_] | None = None) -> pa.Array:
    """Numbers as an Arrow array that shares their memory, null where something is missing."""
    values = np.ascontiguousarray(values)
    valid = None if missing is None else pa.py_buffer(np.packbits(~missing, bitorder="little"))
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), values.size, [valid, pa.py_buffer(values)])


def numbers_of(cells: pa.Array) -> NDArray[Any]:
    """The numbers of an Arrow array without nulls, in the memory where they lie; booleans as bytes of their own."""
    if pa.types.is_boolean(cells.type):
        return bits_of(cells).view(np.bool_)
    dtype = np.dtype(cells.type.to_pandas_dtype())
    content = cells.buffers()[1]
    if content is None or len(cells) == 0:
        return np.empty(0, dtype)
    return np.frombuffer(content, dtype, len(cells), cells.offset * dtype.itemsize)


def bits_of(cells: pa.BooleanArray) -> NDArray[np.uint8]:
    """Booleans without nulls as zeros and ones."""
    bits = np.frombuffer(cells.buffers()[1], np.uint8) if len(cells) else np.empty(0, np.uint8)
    first = cells.offset // 8
    start = cells.offset % 8
    last = (cells.offset + len(cells) + 7) // 8
    return np.unpackbits(bits[first:last], bitorder="little")[start : start + len(cells)]


def blanks_of(cells: pa.Array) -> NDArray[np.bool_]:
    """Where nulls are."""
    return bits_of(cells.is_null()).view(np.bool_)


def array_of_list(values: Sequence[Any]) -> pa.Array | None:
    """A list of text or of booleans as an Arrow array; None of anything else."""
    kinds = set(map(type, values))
    if kinds == {bool}:
        bits = np.packbits(np.array(values), bitorder="little")
        return pa.Array.from_buffers(pa.bool_(), len(values), [None, pa.py_buffer(bits)])
    if kinds != {str}:
        return None
    encoded = [value.encode() for value in values]
    content = b"".join(encoded)
    if len(content) > _TEXT_BYTES:
        return None
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    return pa.Array.from_buffers(pa.string(), len(values), [None, pa.py_buffer(ends), pa.py_buffer(content)])
