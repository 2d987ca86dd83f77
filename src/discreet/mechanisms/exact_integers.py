"""Integers for a requested ε: rounded toward more privacy, and hardly better than asked.

The realised ε lies in [ε(1 − 1e-9), ε]. Denominators are powers of two; the smallest that is fine enough is
taken.

Weights as Python's integers: given ones, and channels computed in floats over a power of two that is fine enough.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet import arguments, limits
from discreet.errors import MechanismError, PrivacyError
from discreet.privacy import certify
from discreet.privacy.bounds import exp_bounds, log_bounds
from discreet.privacy.exact import Rows, exact_rows

#: Denominators 2^bits that are tried in turn.
DENOMINATOR_BITS = (64, 128, 192, 256)
#: How much better than asked the realised ε may be, relative to the request.
RELATIVE_TOLERANCE = Fraction(1, 10**9)
#: Up to this ε a failure is one of nearly equal rows, not of tiny probabilities.
_SMALL = 1e-3

T = TypeVar("T")


def checked_epsilon(epsilon: float, name: str = "epsilon") -> float:
    """A requested ε: a finite number above zero."""
    return arguments.number(epsilon, name, PrivacyError, above=0, most=limits.EPSILON)


def checked_delta(delta: float) -> float:
    """A requested δ: a number between zero and one."""
    return arguments.number(delta, "delta", PrivacyError, least=0, most=1)


def close_enough(ratio: Fraction, epsilon: float) -> bool:
    """Whether ln(ratio) lies in [ε(1 − 1e-9), ε], decided with rational bounds."""
    low, high = log_bounds(ratio)
    return high <= Fraction(epsilon) and low >= Fraction(epsilon) * (1 - RELATIVE_TOLERANCE)


def first_fine_enough(epsilon: float, attempt: Callable[[int], T | None]) -> T:
    """The result of ``attempt(denominator)`` for the smallest denominator at which it is not None."""
    for bits in DENOMINATOR_BITS:
        result = attempt(1 << bits)
        if result is not None:
            return result
    if epsilon <= _SMALL:
        raise PrivacyError(
            f"epsilon = {epsilon:g} is too small for a channel that was computed in floating point, or for the largest "
            f"denominator, 2^{DENOMINATOR_BITS[-1]}: it cannot be met to nine digits"
        )
    raise PrivacyError(
        f"epsilon = {epsilon:g} is too large, or delta too small, for the largest denominator, "
        f"2^{DENOMINATOR_BITS[-1]}: the smallest probability could not be held to nine digits"
    )


def keep_and_other(size: int, epsilon: float) -> tuple[int, int, int]:
    """Weights (keep, other, denominator) of generalised randomised response.

    ``other = ⌈d/(e^ε + N − 1)⌉`` and ``keep = d − (N − 1)·other``, so that keep/other ≤ e^ε.

    >>> keep_and_other(2, 1.0)
    (13485650502877570762, 4961093570831980854, 18446744073709551616)
    """
    exp_low = exp_bounds(epsilon)[0]

    def attempt(denominator: int) -> tuple[int, int, int] | None:
        other = math.ceil(denominator / (exp_low + size - 1))
        keep = denominator - (size - 1) * other
        if keep > other and close_enough(Fraction(keep, other), epsilon):
            return keep, other, denominator
        return None

    return first_fine_enough(epsilon, attempt)


def high_and_low(epsilon: float) -> tuple[int, int]:
    """Weights with high/low ≤ e^ε, and within 1e-9 of ε in the logarithm: ``high = ⌊e^ε·low⌋``.

    >>> high_and_low(1.0)
    (50143449209799256682, 18446744073709551616)
    """
    exp_low = exp_bounds(epsilon)[0]

    def attempt(low: int) -> tuple[int, int] | None:
        high = int(exp_low * low)
        return (high, low) if high > low and close_enough(Fraction(high, low), epsilon) else None

    return first_fine_enough(epsilon, attempt)


def private_rows(matrix: Any, epsilon: float) -> tuple[tuple[int, ...], ...]:
    """Integer rows close to a given channel that are ε-private for certain, and hardly more private.

    The channel is mixed with a hair of its column means, which leaves room between its extremes; entries are then
    rounded by largest remainders within [L_y, ⌊e^ε L_y⌋], L_y the smallest weight of column y. The finished
    integers are checked again.

    Parameters
    ----------
    matrix : rows of int, Fraction, str or float
        A channel that is ε-private up to the rounding of floats.
    epsilon : float
        The privacy level.
    """
    rows, total = exact_rows(matrix)
    exp_low = exp_bounds(epsilon)[0]
    shares = [[Fraction(weight, total) for weight in row] for row in rows]
    means = [sum(column, Fraction(0)) / len(rows) for column in zip(*shares, strict=True)]
    lows = [min(column) for column in zip(*shares, strict=True)]
    if any(mean and not low for mean, low in zip(means, lows, strict=True)):
        raise PrivacyError("the matrix has a report that some truth never gives: it has no finite ε")
    # Mixing raises the smallest entry of a column the most, by hair·mean/low of itself. That is a tenth of what may
    # be lost; the rounding of floats needs about 1e-15 of it.
    steepest = max(mean / low for mean, low in zip(means, lows, strict=True) if low)
    hair = Fraction(epsilon) * RELATIVE_TOLERANCE / (10 * steepest)
    mixed = [[(1 - hair) * q + hair * m for q, m in zip(row, means, strict=True)] for row in shares]

    def attempt(denominator: int) -> tuple[tuple[int, ...], ...] | None:
        floors = [[int(q * denominator) for q in row] for row in mixed]
        lowest = [min(column) for column in zip(*floors, strict=True)]
        caps = [int(exp_low * low) for low in lowest]
        finished = []
        for row, exact in zip(floors, mixed, strict=True):
            filled = _fill(row, exact, caps, denominator)
            if filled is None:
                return None
            finished.append(filled)
        return tuple(finished)

    return first_fine_enough(epsilon, attempt)


def _fill(row: list[int], exact: list[Fraction], caps: list[int], denominator: int) -> tuple[int, ...] | None:
    """Bring a row of floors to its sum by largest remainders, never above the caps; None when there is no room."""
    if any(weight > cap for weight, cap in zip(row, caps, strict=True)):
        return None
    missing = denominator - sum(row)
    order = sorted(range(len(row)), key=lambda y: (row[y] - exact[y] * denominator, y))
    filled = list(row)
    for y in order:
        if missing and filled[y] < caps[y]:
            filled[y] += 1
            missing -= 1
    return None if missing else tuple(filled)


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
