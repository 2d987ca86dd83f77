"""Channels computed in floats, as integers over a power of two that is fine enough for their smallest entry."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from discreet.errors import MechanismError
from discreet.mechanisms.rounding import DENOMINATOR_BITS
from discreet.privacy.exact import Rows

#: Every positive entry is held to 40 bits at least, a relative error below 1e-12.
_BITS_HELD = 40


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
