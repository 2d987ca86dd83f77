"""Results as text and as plain data."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

#: Rows that a summary prints before it says how many more there are, and signs in a line of a wide table.
SHOWN, WIDTH = 20, 100
#: What a summary says in place of an interval that is empty.
EMPTY = "empty: the reports contradict the design"


#: Places of a share, where its error does not ask for more; and the most that any column has.
_SHARE, _MOST = 4, 12


def number(value: float) -> str:
    """A frequency or standard error on its own: to four places, smaller ones to three figures."""
    if math.isnan(value):
        return "–"
    if value != 0 and abs(value) < 1e-3:
        return f"{value:.2e}"
    return f"{value:.4f}"


def figure(value: float, places: int) -> str:
    """A number in a column, where all have the same places; thousands are set apart."""
    if not math.isfinite(value):
        return "–" if math.isnan(value) else ("∞" if value > 0 else "-∞")
    text = f"{value:,.{places}f}"
    return text[1:] if text.startswith("-") and not text.strip("-0.,") else text  # no "-0.00"


def share_places(errors: Any) -> int:
    """Places of a column of shares: four, or as many as show two figures of the smallest standard error."""
    return max(_SHARE, places(errors, 2) or 0)


def measured_places(errors: Any, values: Any) -> int:
    """Places of a column in units of its own: three figures of the smallest error; six of the values without errors.

    >>> measured_places([0.788, 12.5], [36.744, 42.7614])
    3
    """
    found = places(errors, 3)
    if found is not None:
        return found
    decimals = [f"{value:.6g}".partition(".")[2] for value in np.ravel(values) if math.isfinite(value)]
    return min(_MOST, max((len(one) for one in decimals if "e" not in one), default=0))


def places(values: Any, figures: int) -> int | None:
    """Places that show so many figures of the smallest of some numbers above 0; None where there is none."""
    known = np.ravel(np.asarray(values, float))
    known = known[np.isfinite(known) & (known > 0)]
    if not known.size:
        return None
    return int(np.clip(figures - 1 - math.floor(math.log10(known.min())), 0, _MOST))


def amount(value: float) -> str:
    """A total, with thousands set apart."""
    return "–" if math.isnan(value) else f"{value:,.1f}"


def measured(value: float) -> str:
    """A mean in the units of its column: six figures, thousands set apart."""
    if not math.isfinite(value):
        return "–" if math.isnan(value) else ("∞" if value > 0 else "-∞")
    return f"{value:,.6g}" if abs(value) < 1e6 else f"{value:,.1f}"


def p_value(value: float) -> str:
    """A p value to four places, small ones to two figures."""
    if math.isnan(value):
        return "–"
    return f"{value:.4f}" if value >= 1e-4 else f"{value:.2g}"


def count(value: float) -> str:
    """A number of people, with thousands set apart."""
    return f"{int(value):,}"


def label_text(label: Any) -> str:
    """A value as a person reads it; the blank has a name, and a group of several columns is a list."""
    if isinstance(label, tuple):
        return ", ".join(label_text(one) for one in label)
    if isinstance(label, float) and math.isfinite(label) and abs(label) < 1e15:
        return np.format_float_positional(label, trim="-")  # 17 hours, not 17.0
    return "(blank)" if label is None else str(label)


def ends(low: float, high: float, *, empty: bool = False, write: Callable[[float], str]) -> str:
    """An interval as text."""
    return EMPTY if empty else f"{write(low)} to {write(high)}"


def of_whom(target: str) -> str:
    """Whose frequencies are estimated, in a heading."""
    return "of the population" if target == "population" else "in the table of those who reported"


def design_effects(effects: Any) -> str:
    """The design effects of a survey for a heading, as one number or as a range; nothing without a survey."""
    known = np.ravel(effects)[np.isfinite(np.ravel(effects))] if effects is not None else np.empty(0)
    if not known.size:
        return ""
    low, high = f"{known.min():.2f}", f"{known.max():.2f}"
    return f", design effect {low}" if low == high else f", design effects {low} to {high}"


def aligned(
    header: Sequence[str], rows: Iterable[Sequence[str]], text_columns: int = 1, width: int | None = None
) -> str:
    """A table of text: the first columns to the left, numbers to the right; columns beyond a width go on below."""
    table = [list(header), *[list(row) for row in rows]]
    return "\n\n".join(_lines(part, text_columns) for part in _folded(table, text_columns, width))


def _folded(table: list[list[str]], text_columns: int, width: int | None) -> list[list[list[str]]]:
    """A table in parts that fit a width, the columns of text in each of them."""
    if width is None:
        return [table]
    widths = [max(len(row[i]) for row in table) + 2 for i in range(len(table[0]))]
    parts: list[list[int]] = [[]]
    for place in range(text_columns, len(widths)):
        taken = sum(widths[:text_columns]) + sum(widths[i] for i in parts[-1])
        if parts[-1] and taken + widths[place] - 2 > width:
            parts.append([])
        parts[-1].append(place)
    return [[[row[i] for i in (*range(text_columns), *part)] for row in table] for part in parts]


def _lines(table: list[list[str]], text_columns: int) -> str:
    header = table[0]
    # The last column is left as it is: a sentence in it must not push the others apart.
    widths = [max(len(row[i]) for row in table) for i in range(len(header))]
    widths[-1] = max((len(row[-1]) for row in table if row[-1] != EMPTY), default=0)
    lines = []
    for row in table:
        cells = [
            cell.ljust(width) if i < text_columns else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def plain(value: Any) -> Any:
    """A label or array as data for JSON: nan becomes null, unusual labels text."""
    if isinstance(value, np.ndarray) and value.ndim:
        return [plain(item) for item in value.tolist()]
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def percent(level: float) -> str:
    """A confidence level as text: 95 %."""
    return f"{100 * level:.6g} %"
