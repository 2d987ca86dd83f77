"""The number that stands for each value of a column, so that it has a mean and quantiles."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from discreet import arguments
from discreet.arguments import Floats
from discreet.domains import Binary, FiniteDomain, Ordinal, WithBlank
from discreet.domains.losses import OnALine
from discreet.errors import EstimationError

#: Why there is no mean and no quantile where a blank is one of the values.
NOBODY_KNOWN = "the corrected share of people whose value is known is not positive: too few reports"


def value_numbers(labels: Any, size: int, given: ArrayLike | None = None, column: str | None = None) -> Floats:
    """One number per value, in code order.

    Given numbers come first. Otherwise ordered values and grids have their positions, numbers are themselves, also
    where they were written as text, of two other values the second counts 1, and codes without labels stand for
    themselves. A blank has none: nan.

    Parameters
    ----------
    labels : FiniteDomain, sequence or None
        The true values.
    size : int
        How many there are.
    given : array, optional
        Numbers to use instead.
    column : str, optional
        Named in messages.

    Examples
    --------
    >>> value_numbers(Binary(), 2)
    array([0., 1.])
    >>> value_numbers(["10", "20", "40"], 3)
    array([10., 20., 40.])
    """
    blank = isinstance(labels, WithBlank)
    domain = labels.inner if blank else labels
    known = size - 1 if blank else size
    numbers = _given(given, known, size) if given is not None else _own(domain, known, column)
    return np.append(numbers, np.nan) if blank and numbers.size == known else numbers


def _given(given: ArrayLike, known: int, size: int) -> Floats:
    numbers = arguments.floats(given, "positions", EstimationError, dimensions=1)
    if numbers.size != known:
        blank = ", none for the blank" if known < size else ""
        raise EstimationError(f"positions must be {known} numbers, one per value{blank}, not {numbers.size}")
    return numbers


def _own(domain: Any, known: int, column: str | None) -> Floats:
    if domain is None:
        return np.arange(known, dtype=float)
    if isinstance(domain, OnALine):
        return np.asarray(domain.positions, float)
    labels = list(domain.labels) if isinstance(domain, FiniteDomain) else list(domain)
    try:
        numbers = np.array([_real(label) for label in labels])
        if np.isfinite(numbers).all():
            return numbers
    except (TypeError, ValueError, OverflowError):
        if isinstance(domain, Binary) or (known == 2 and not isinstance(domain, FiniteDomain)):
            return np.array([0.0, 1.0])
    where = f'column "{column}" has' if column else "the column has"
    raise EstimationError(
        f"{where} values without numbers, which have no mean and no quantiles: give positions, one number for each of "
        f"the {known} values, or use frequencies"
    )


def _real(label: Any) -> float:
    if isinstance(label, (complex, np.complexfloating)):
        raise TypeError
    return float(label)


def place_notes(labels: Any, given: ArrayLike | None) -> tuple[str, ...]:
    """What to say of a mean of ordered words: it is one of their places."""
    domain = labels.inner if isinstance(labels, WithBlank) else labels
    if given is not None or not isinstance(domain, Ordinal) or domain.numbered:
        return ()
    return ("the values are words in an order: their places 0, 1, 2, … stand for them; positions give other numbers",)


def value_names(labels: Any) -> dict[float, Any]:
    """What a value is called, by its number, for ordered values that are words; empty where numbers say it all."""
    domain = labels.inner if isinstance(labels, WithBlank) else labels
    if not isinstance(domain, (Binary, Ordinal)):
        return {}
    names = {float(number): domain.label(code) for code, number in enumerate(value_numbers(domain, domain.size))}
    return names if any(isinstance(name, str) for name in names.values()) else {}
