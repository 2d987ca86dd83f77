"""Decimal arithmetic whose precision, rounding and traps are never those of the caller."""

from __future__ import annotations

from collections.abc import Callable
from decimal import (
    ROUND_HALF_EVEN,
    Context,
    DivisionByZero,
    InvalidOperation,
    Overflow,
    localcontext,
)
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


#: Largest exponents, unless more are asked for: a fraction of such a number still fits into memory.
EXPONENTS = 999_999


def own_context(digits: int, rounding: str = ROUND_HALF_EVEN, exponents: int = EXPONENTS) -> Context:
    """A context in which every setting is given, so that none comes from the caller or from decimal's defaults.

    Rounding, underflow and conversions from floats raise nothing.
    """
    return Context(
        prec=digits,
        rounding=rounding,
        Emin=-exponents,
        Emax=exponents,
        capitals=1,
        clamp=0,
        flags=[],
        traps=[DivisionByZero, InvalidOperation, Overflow],
    )


def with_digits(digits: int, exponents: int = EXPONENTS) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Run a function in a context of its own, rounded to nearest: also its operators, comparisons and conversions.

    >>> from decimal import Decimal
    >>> third = with_digits(5)(lambda: Decimal(1) / 3)
    >>> third()
    Decimal('0.33333')
    """
    context = own_context(digits, exponents=exponents)

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        @wraps(function)
        def run(*args: P.args, **kwargs: P.kwargs) -> T:
            with localcontext(context):
                return function(*args, **kwargs)

        return run

    return decorate
