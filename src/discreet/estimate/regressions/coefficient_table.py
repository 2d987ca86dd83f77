"""Tables of coefficients as text, laid out as users of statsmodels and R know them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from discreet.estimate.reporting import display

_WIDTH = 78


#: Places of coefficients, where no standard error asks for more; and the most that they get.
_PLACES, _MOST = 4, 9


def places_of(*errors: Any) -> int:
    """Places of the coefficients of a table: four, or as many as show two figures of the smallest standard error."""
    return min(_MOST, max(_PLACES, *(display.share_places(one) for one in errors)))


def figure(value: float, places: int = _PLACES) -> str:
    """A number in a table, where all have the same places; only a huge one, of a fit that failed, has an exponent."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if abs(value) >= 1e7:
        return f"{value:.3e}"
    text = f"{value:.{places}f}"
    return text[1:] if text.startswith("-") and not text.strip("-0.") else text  # no "-0.000"


def ratio(value: float) -> str:
    """A ratio, to three places."""
    return figure(value, 3)


def p_value(value: float) -> str:
    """A p value to three places."""
    return "–" if math.isnan(value) else f"{value:.3f}"


def coefficients(rows: Iterable[Sequence[Any]], level: float, letter: str = "z", figures: str = "coef") -> list[str]:
    """Lines ``name coef std err z P>|z| [low high]``; the letter is that of the law, z or t."""
    tail = (1 - level) / 2
    heads = ["", figures, "std err", letter, f"P>|{letter}|", f"[{tail:.4g}", f"{1 - tail:.4g}]"]
    listed = list(rows)
    places = places_of([error for _, _, error, *_ in listed])
    cells = [heads]
    for name, value, error, z, p, (low, high) in listed:
        own = [figure(value, places), figure(error, places), figure(z, 3), p_value(p)]
        cells.append([name, *own, figure(low, places - 1), figure(high, places - 1)])
    widths = [max(len(row[i]) for row in cells) for i in range(len(heads))]
    widths = [widths[0], *[max(width, 9) for width in widths[1:]]]
    return [
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in cells
    ]


def summary(
    title: str,
    header: Sequence[tuple[str, str]],
    rows: Iterable[Sequence[Any]],
    level: float,
    notes: Sequence[str],
    letter: str = "z",
    figures: str = "coef",
) -> str:
    """The whole table: title, pairs of facts in two columns, coefficients, notes."""
    body = coefficients(rows, level, letter, figures)
    width = max(_WIDTH, *(len(line) for line in body))
    half = (width - 4) // 2
    facts = []
    pending: tuple[str, str] | None = None
    for name, text in header:
        if len(name) + len(text) + 3 > half:  # too long for half a line
            if pending is not None:
                facts.append(_fact(pending, half))
                pending = None
            facts.append(f"{name + ':':<18} {text}")
        elif pending is None:
            pending = (name, text)
        else:
            facts.append(f"{_fact(pending, half)}    {_fact((name, text), half)}".rstrip())
            pending = None
    if pending is not None:
        facts.append(_fact(pending, half))
    above = [*facts, "=" * width] if facts else []
    lines = [
        title.center(width).rstrip(),
        "=" * width,
        *above,
        body[0],
        "-" * width,
        *body[1:],
        "=" * width,
    ]
    return "\n".join([*lines, *(f"Note: {note}." for note in notes)])


def _fact(fact: tuple[str, str], width: int) -> str:
    name, text = fact
    return f"{name + ':'}{text.rjust(width - len(name) - 1)}"
