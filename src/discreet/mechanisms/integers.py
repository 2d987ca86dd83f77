"""Weights as Python's integers: given ones, and channels computed in floats over a power of two that is fine enough."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import MechanismError, PrivacyError
from discreet.mechanisms.rounding import DENOMINATOR_BITS, RELATIVE_TOLERANCE, private_rows
from discreet.privacy import certify
from discreet.privacy.exact import Rows

#: Every positive entry is held to 40 bits at least, a relative error below 1e-12.
_BITS_HELD = 40


def weight(value: Any, name: str) -> int:
    """A given weight as an integer without end: those of numpy overflow where products are compared.

    >>> weight(np.int64(2**62), "keep") * 4
    18446744073709551616
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise MechanismError(f"{name} must be a whole number, not {value!r}")
    return int(value)


def realising_rows(matrix: NDArray[np.float64], epsilon: float) -> Rows:
    """Integer rows of a channel that was calibrated to ε in floats: within [ε(1 − 1e-9), ε], or refused."""
    rows = power_of_two_rows(matrix)
    if _realises(rows, epsilon):
        return rows
    rows = private_rows(rows, epsilon)  # so small an ε that the rounding of floats shows
    if _realises(rows, epsilon):
        return rows
    raise PrivacyError(
        f"epsilon = {epsilon:g} is too small for a channel that is computed in floating point: it cannot be met to "
        "nine digits; take at least 1e-6, or generalised response"
    )


def _realises(rows: Rows, epsilon: float) -> bool:
    return epsilon * (1 - float(RELATIVE_TOLERANCE)) <= certify(rows).epsilon <= epsilon


def power_of_two_rows(matrix: NDArray[np.float64]) -> Rows:
    """Integer rows that all sum to one power of two; what rounding leaves over goes to the largest entry of the row.

    Zeros stay zeros. Nothing is promised about ε: the result is to be certified.

    >>> power_of_two_rows(np.array([[0.75, 0.25], [0.5, 0.5]]))[0]
    (13835058055282163712, 4611686018427387904)
    """
    positive = matrix[matrix > 0]
    smallest = float(positive.min()) if positive.size else 0.0
    wanted = _BITS_HELD - math.floor(math.log2(smallest)) if smallest else DENOMINATOR_BITS[-1] + 1
    bits = next((bits for bits in DENOMINATOR_BITS if bits >= wanted), None)
    if bits is None:
        raise MechanismError(
            f"the smallest probability, {smallest:.3g}, cannot be held over the largest denominator, "
            f"2^{DENOMINATOR_BITS[-1]}: use a smaller ε"
        )
    total = 1 << bits
    rows = []
    for given in matrix.tolist():
        row = [int(math.ldexp(share, bits)) for share in given]
        largest = row.index(max(row))
        row[largest] += total - sum(row)
        if row[largest] < 0:
            raise MechanismError("a row of the channel does not sum to one")
        rows.append(tuple(row))
    return tuple(rows)
