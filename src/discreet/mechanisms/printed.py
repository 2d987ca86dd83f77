"""Probabilities as people read them: short fractions, or decimals that are as private as the mechanism itself.

A probability that is printed to the nearest digit belongs to another mechanism, whose ε may be larger. Decimals are
therefore chosen so that the channel *as printed* keeps the stated guarantee, and they are certified as printed. Where
no few digits do, the exact fraction is printed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import product

from discreet.privacy import Guarantee, certify
from discreet.privacy.exact import Rows, largest_remainders

#: Fractions are printed as they are up to this denominator.
_SHORT = 1000
#: Digits after the point that are tried in turn.
_DIGITS = (6, 9, 12, 15, 18)
#: How far a printed probability may be from the exact one, relative to it.
_CLOSE = Fraction(1, 10**4)


def is_short(share: Fraction) -> bool:
    """Whether a probability is printed as a fraction."""
    return share.denominator <= _SHORT


def in_words(share: Fraction, *, percent: bool = False) -> str:
    """A short fraction as it is, a decimal with all its digits, anything else as an exact fraction.

    >>> in_words(Fraction(1, 6)), in_words(Fraction(731058, 10**6)), in_words(Fraction(731058, 10**6), percent=True)
    ('1/6', '0.731058', '73.1058%')
    """
    if is_short(share):
        return str(share)
    value = share * 100 if percent else share
    for digits in range(1, _DIGITS[-1] + 1):
        scaled = value * 10**digits
        if scaled.denominator == 1:
            figures = str(scaled.numerator).rjust(digits + 1, "0")
            return f"{figures[:-digits]}.{figures[-digits:]}{'%' if percent else ''}"
    return str(share)


def printed_rows(rows: Rows, denominator: int, stated: Guarantee) -> tuple[Rows, int]:
    """Rows of a channel that can be printed, at most as revealing as stated, and their common sum.

    Rows that are rounded to the nearest digit may be more revealing; then a hair of a report that does not depend on
    the true answer is mixed in first. Impossible reports stay impossible.
    """
    shares = [[Fraction(weight, denominator) for weight in row] for row in rows]
    if all(is_short(share) for row in shares for share in row):
        return rows, denominator
    mixed_in = [sum(column, Fraction(0)) if min(column) > 0 else Fraction(0) for column in zip(*shares, strict=True)]
    total = sum(mixed_in, Fraction(0))
    for digits, power in product(_DIGITS, (None, 0, 1, 2)):
        hair = Fraction(0) if power is None or not total else Fraction(10**power, 10**digits)
        mixed = [
            [(1 - hair) * q + hair * m / (total or 1) for q, m in zip(row, mixed_in, strict=True)] for row in shares
        ]
        found = tuple(largest_remainders(row, 10**digits) for row in mixed)
        near = (
            _near(Fraction(w, 10**digits), q)
            for a, b in zip(found, shares, strict=True)
            for w, q in zip(a, b, strict=True)
        )
        if all(near) and _keeps(found, stated):
            return found, 10**digits
    return rows, denominator


def printed_parameters(
    parameters: Sequence[Fraction], probabilities: Callable[..., tuple[Fraction, Fraction]]
) -> tuple[Fraction, ...]:
    """Parameters of a survey procedure that can be printed, for which its channel is at most as revealing.

    Each is rounded up or down; of those that keep the guarantee the most revealing channel is the nearest.
    """
    stated = certify(_channel(*probabilities(*parameters))).guarantee
    for digits in _DIGITS:
        found = [
            (certify(_channel(*probabilities(*tried))).epsilon, tried)
            for tried in product(*(_rounded(value, digits) for value in parameters))
            if all(0 <= p <= 1 for p in (*tried, *probabilities(*tried)))
            and all(_near(a, b) and _near(1 - a, 1 - b) for a, b in zip(tried, parameters, strict=True))
            and _keeps(_channel(*probabilities(*tried)), stated)
        ]
        if found:
            return max(found)[1]
    return tuple(parameters)


def _rounded(value: Fraction, digits: int) -> Iterator[Fraction]:
    """A short fraction, or the decimals below and above."""
    if is_short(value):
        yield value
        return
    below = int(value * 10**digits)
    yield Fraction(below, 10**digits)
    yield Fraction(below + 1, 10**digits)


def _channel(p00: Fraction, p11: Fraction) -> list[list[Fraction]]:
    return [[p00, 1 - p00], [1 - p11, p11]]


def _near(printed: Fraction, exact: Fraction) -> bool:
    return abs(printed - exact) <= _CLOSE * exact


def _keeps(rows: Sequence[Sequence[int | Fraction]], stated: Guarantee) -> bool:
    """Whether a channel is at most as revealing as stated, and hardly less."""
    found = certify(rows, stated.epsilon if stated.delta else None).guarantee
    hardly_less = math.isinf(stated.epsilon) or found.epsilon >= stated.epsilon * (1 - float(_CLOSE))
    return hardly_less and found.fits(stated.epsilon, stated.delta) and found.exposure <= stated.exposure
