"""Codes of reports: how they are given, and how often each occurs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet import arguments
from discreet.errors import EstimationError

Ints = NDArray[np.int64]

#: Reports counted at once: the widened copy (2 MB) stays in the second-level cache.
_CHUNK = 1 << 18


def report_codes(reports: ArrayLike) -> NDArray[Any]:
    """Reports as a one-dimensional integer array; booleans are 0 and 1."""
    codes = arguments.array(reports, "reports", EstimationError)
    if codes.ndim != 1:
        raise EstimationError(f"reports must be one column of codes, not an array of {codes.ndim} dimensions")
    if codes.dtype == np.bool_:
        return codes.view(np.uint8)
    if codes.size and codes.dtype.kind not in "iu":
        raise EstimationError(f"reports must be integer codes or booleans, not {codes.dtype}")
    return codes.astype(np.uint8) if codes.size == 0 else codes


def count_reports(codes: NDArray[Any], size: int, first_row: int = 0) -> Ints:
    """How often each of the codes 0 … size − 1 occurs; a code outside is an error that names its row."""
    counts = np.zeros(size, np.int64)
    chunk = max(_CHUNK, size)  # a table larger than its chunk would cost more than the counting
    count = _count_bits if size == 2 and codes.dtype.itemsize == 1 else _count
    for start in range(0, codes.size, chunk):
        part = codes[start : start + chunk]
        found = count(part, size)
        if found is None:
            bad = int(np.flatnonzero((part < 0) | (part >= size))[0])
            raise EstimationError(
                f"row {first_row + start + bad} (counted from 0): a report is out of range; "
                f"expected a code from 0 to {size - 1}"
            )
        counts += found
    return counts


def _count_bits(part: NDArray[Any], _size: int) -> Ints | None:
    bits = part.view(np.uint8)
    if bits.max() > 1:
        return None
    ones = np.count_nonzero(bits)
    return np.array([bits.size - ones, ones], np.int64)


def _count(part: NDArray[Any], size: int) -> Ints | None:
    # Counting itself finds codes out of range; only wide types are checked first, lest they ask for a huge table.
    if part.dtype.itemsize > 2 and part.max() >= size:
        return None
    try:
        found = np.bincount(part.astype(np.intp, copy=False), minlength=size)
    except ValueError:  # a negative code
        return None
    return found if found.size == size else None
