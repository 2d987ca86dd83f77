"""Results as text and as plain data."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

#: Rows that a summary prints before it says how many more there are.
SHOWN = 20
#: What a summary says in place of an interval that is empty.
EMPTY = "empty: the reports contradict the design"


def number(value: float) -> str:
    """A frequency or standard error to four places, smaller ones to three figures."""
    if math.isnan(value):
        return "–"
    if value != 0 and abs(value) < 1e-3:
        return f"{value:.2e}"
    return f"{value:.4f}"


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
    return "(blank)" if label is None else str(label)


def ends(low: float, high: float, *, empty: bool = False, write: Callable[[float], str] = number) -> str:
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


def aligned(header: Sequence[str], rows: Iterable[Sequence[str]], text_columns: int = 1) -> str:
    """A table of text: the first columns to the left, numbers to the right."""
    table = [list(header), *[list(row) for row in rows]]
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
