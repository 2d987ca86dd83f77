"""Rational bounds on e^x and ln x, and rounding of exact numbers to floats in a chosen direction.

Every figure that discreet states about privacy passes through this file: a float is only ever produced by
rounding an exact number toward *less* privacy (a larger ε, a larger δ), so that the statement stays true.

The decimal module rounds ``exp`` and ``ln`` correctly to the working precision, so the neighbours of its
answer enclose the true value.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from discreet import limits
from discreet.decimals import own_context
from discreet.errors import PrivacyError

#: Digits carried. An ε of 150 with a relative error of 1e-9 needs about 75 digits of e^ε against a
#: denominator of 2^256; 100 leaves room.
DIGITS = 100

_CONTEXT = own_context(DIGITS)
_UP, _DOWN = own_context(DIGITS, ROUND_CEILING), own_context(DIGITS, ROUND_FLOOR)


def exp_bounds(x: float | Fraction) -> tuple[Fraction, Fraction]:
    """Fractions that enclose e^x.

    >>> low, high = exp_bounds(1.0)
    >>> low < high and abs(float(low) - math.e) < 1e-15
    True
    """
    if x == 0:
        return Fraction(1), Fraction(1)
    if not -limits.EPSILON <= x <= limits.EPSILON:
        raise PrivacyError(f"an ε of {float(x):g} is over the limit of {limits.EPSILON:g}")
    low = _decimal(Fraction(x), _DOWN).exp(_CONTEXT).next_minus(_CONTEXT)
    high = _decimal(Fraction(x), _UP).exp(_CONTEXT).next_plus(_CONTEXT)
    return Fraction(low), Fraction(high)


def log_bounds(x: Fraction) -> tuple[Fraction, Fraction]:
    """Fractions that enclose ln x, for x > 0."""
    if x == 1:
        return Fraction(0), Fraction(0)
    low = _decimal(x, _DOWN).ln(_CONTEXT).next_minus(_CONTEXT)
    high = _decimal(x, _UP).ln(_CONTEXT).next_plus(_CONTEXT)
    return Fraction(low), Fraction(high)


def _decimal(x: Fraction, context: Context) -> Decimal:
    return context.divide(Decimal(x.numerator), Decimal(x.denominator))


def round_up(x: Fraction) -> float:
    """The smallest float that is not below x; ∞ above the largest one."""
    try:
        nearest = float(x)
    except OverflowError:
        return math.inf
    return math.nextafter(nearest, math.inf) if Fraction(nearest) < x else nearest


def round_down(x: Fraction) -> float:
    """The largest float that is not above x."""
    nearest = float(x)
    return math.nextafter(nearest, -math.inf) if Fraction(nearest) > x else nearest


def log_up(x: Fraction) -> float:
    """The float at or just above ln x."""
    return round_up(log_bounds(x)[1])
