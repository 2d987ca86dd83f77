"""Turn what a person writes for a probability, or for a matrix of them, into exact integers."""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from discreet import limits
from discreet.arguments import shown
from discreet.errors import MechanismError

Rows = tuple[tuple[int, ...], ...]

#: Rows of floats are read as exact binary fractions when they sum to one exactly; otherwise they are held over 2^64,
#: or over a larger power of two that leaves the smallest entry this many bits.
FLOAT_BITS = 64
_SMALLEST_BITS = 48
#: How far a row of floats may be from one: the accumulated rounding of a few thousand terms.
FLOAT_SUM_TOLERANCE = 1e-9


def probability(value: Any, name: str) -> Fraction:
    """An exact probability from an int, a float (its exact binary value), a Fraction or text such as "1/6".

    >>> probability("1/6", "p")
    Fraction(1, 6)
    """
    exact = _fraction(value, name)
    if not 0 <= exact <= 1:
        raise MechanismError(f"{name} must be a probability between 0 and 1, not {shown(value)}")
    return exact


def _fraction(value: Any, name: str) -> Fraction:
    if isinstance(value, bool):
        raise MechanismError(f"{name} must be a number, not {value}")
    try:
        if isinstance(value, Fraction):
            return value
        if isinstance(value, str):
            return fraction_from_text(value)
        if isinstance(value, numbers.Integral):
            return Fraction(int(value))
        number = float(value)
    except (TypeError, ValueError, ZeroDivisionError):
        raise MechanismError(f'{name} must be a number or a fraction such as "1/6", not {shown(value)}') from None
    if not math.isfinite(number):
        raise MechanismError(f"{name} must be finite, not {value}")
    return Fraction(number)


def fraction_from_text(text: str) -> Fraction:
    """An exact number from text, refused (ValueError) before it is worked out when it has too many digits.

    >>> fraction_from_text("1/6"), fraction_from_text("2.5e-1")
    (Fraction(1, 6), Fraction(1, 4))
    """
    power = re.search(r"[eE]([-+]?[0-9_]+)", text[: limits.NUMBER_CHARACTERS + 1])
    if len(text) > limits.NUMBER_CHARACTERS or (power and abs(int(power[1])) > limits.NUMBER_EXPONENT):
        raise ValueError("too many digits")
    return Fraction(text)


def exact_rows(matrix: Any, name: str = "matrix") -> tuple[Rows, int]:
    """Integer rows and their common sum, from a matrix of integers, fractions, text or floats.

    Integers are weights: every row must have the same sum. Fractions and text must sum to one exactly.
    Floats that do not sum to one exactly (0.7 + 0.2 + 0.1) are held over 2^64 by largest remainders, over a larger
    denominator when there are very small ones; zeros stay zeros.

    >>> exact_rows([["1/2", "1/2"], ["1/3", "2/3"]])
    (((3, 3), (2, 4)), 6)
    """
    rows = _as_lists(matrix, name)
    if all(isinstance(v, numbers.Integral) and not isinstance(v, bool) for row in rows for v in row):
        return _integer_rows([[int(v) for v in row] for row in rows], name)
    exact = [[probability(v, f"{name}[{i}][{j}]") for j, v in enumerate(row)] for i, row in enumerate(rows)]
    has_floats = any(not isinstance(v, (str, Fraction, numbers.Integral)) for row in rows for v in row)
    sums = [sum(row, Fraction(0)) for row in exact]
    if has_floats and any(s != 1 for s in sums):
        for i, s in enumerate(sums):
            if abs(s - 1) > FLOAT_SUM_TOLERANCE:
                raise MechanismError(f"{name} row {i} must sum to 1, not {float(s):.12g}")
        smallest = min(v for row in exact for v in row if v)
        needed = _SMALLEST_BITS + smallest.denominator.bit_length() - smallest.numerator.bit_length()
        denominator = 1 << max(FLOAT_BITS, 8 * math.ceil(needed / 8))
        return tuple(largest_remainders(row, denominator) for row in exact), denominator
    for i, s in enumerate(sums):
        if s != 1:
            raise MechanismError(f"{name} row {i} must sum to 1 exactly, not {s}")
    denominator = math.lcm(*(v.denominator for row in exact for v in row))
    return tuple(tuple(int(v * denominator) for v in row) for row in exact), denominator


def _as_lists(matrix: Any, name: str) -> list[list[Any]]:
    if hasattr(matrix, "tolist"):
        matrix = matrix.tolist()
    if not isinstance(matrix, Iterable) or isinstance(matrix, (str, bytes)):
        raise MechanismError(f"{name} must be a matrix: a list of rows")
    rows = []
    for i, row in enumerate(matrix):
        if hasattr(row, "tolist"):
            row = row.tolist()
        if not isinstance(row, Iterable) or isinstance(row, (str, bytes)):
            raise MechanismError(f"{name} row {i} must be a list of numbers")
        rows.append(list(row))
    if not rows or not rows[0]:
        raise MechanismError(f"{name} must have at least one row and one column")
    for i, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise MechanismError(f"{name} row {i} has {len(row)} entries where row 0 has {len(rows[0])}")
    return rows


def _integer_rows(rows: list[list[int]], name: str) -> tuple[Rows, int]:
    denominator = sum(rows[0])
    for i, row in enumerate(rows):
        if any(v < 0 for v in row):
            raise MechanismError(f"{name} row {i} has a negative weight")
        if sum(row) != denominator:
            raise MechanismError(
                f"{name} row {i} sums to {sum(row)} where row 0 sums to {denominator}; "
                "integer weights need equal row sums"
            )
    if denominator == 0:
        raise MechanismError(f"{name} row 0 has no positive weight")
    return tuple(tuple(row) for row in rows), denominator


def largest_remainders(shares: Sequence[Fraction], total: int) -> tuple[int, ...]:
    """Integers that sum to ``total`` and are as close to ``shares`` as can be; ties go to the smaller index.

    >>> largest_remainders([Fraction(1, 3), Fraction(2, 3)], 4)
    (1, 3)
    """
    scale = sum(shares, Fraction(0))
    exact = [share * total / scale for share in shares]
    floors = [math.floor(value) for value in exact]
    missing = total - sum(floors)
    order = sorted(range(len(exact)), key=lambda i: (floors[i] - exact[i], i))
    for i in order[:missing]:
        floors[i] += 1
    return tuple(floors)
