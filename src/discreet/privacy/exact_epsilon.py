"""The exact ε of a channel: ``max_y ln(max_x Q[x, y] / min_x Q[x, y])``, from its integers."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

from discreet.privacy.bounds import log_up


def exact_epsilon(groups: Iterable[Iterable[tuple[int, ...]]]) -> float:
    """The smallest ε for which groups of columns are ε-private, rounded up.

    A column holds the weights of one report under the truths that are compared. ε is infinite when a report is
    impossible under one of them and possible under another.

    >>> exact_epsilon([[(3, 1), (1, 3)]])
    1.0986122886681098
    """
    ratio = largest_ratio(groups)
    return math.inf if ratio is None else log_up(ratio)


def largest_ratio(groups: Iterable[Iterable[tuple[int, ...]]]) -> Fraction | None:
    """The largest max/min over columns, or None when some column has a zero beside a positive weight."""
    top, bottom = 1, 1
    for columns in groups:
        for column in columns:
            high, low = max(column), min(column)
            if high and not low:
                return None
            if high * bottom > top * low:
                top, bottom = high, low
    return Fraction(top, bottom)
