"""Integers for a requested ε: rounded toward more privacy, and hardly better than asked.

The realised ε lies in [ε(1 − 1e-9), ε]. Denominators are powers of two; the smallest that is fine enough is
taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeVar

from discreet import arguments, limits
from discreet.errors import PrivacyError
from discreet.privacy.bounds import exp_bounds, log_bounds
from discreet.privacy.exact import exact_rows

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
