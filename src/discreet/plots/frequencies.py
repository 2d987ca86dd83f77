"""Estimated frequencies with their intervals; truth and naive shares beside them where they are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from discreet.errors import EstimationError
from discreet.estimate import Frequencies, GroupedFrequencies
from discreet.estimate.display import label_text
from discreet.plots.canvas import BLACK, BLUE, GREY, ORANGE, canvas

#: Values that fit legibly into one picture.
MAX_SHOWN = 60


@dataclass(frozen=True)
class Row:
    """One line of a comparison: a corrected estimate with its interval, and what it is compared with."""

    label: str
    estimate: float
    low: float
    high: float
    naive: float | None = None
    truth: float | None = None


def plot_frequencies(
    result: Frequencies | GroupedFrequencies,
    path: str | Path,
    *,
    title: str = "",
    level: float = 0.95,
    method: str | None = None,
) -> None:
    """Draw every frequency with its interval; groups below each other."""
    results = result.results.items() if isinstance(result, GroupedFrequencies) else [("", result)]
    rows = []
    for group, one in results:
        for label, value, (low, high) in zip(one.labels, one.estimate, one.interval(level, method), strict=True):
            name = label_text(label)
            rows.append(Row(f"{label_text(group)}: {name}" if group != "" else name, value, low, high))
    plot_comparison(rows, path, title=title, level=level)


def plot_comparison(rows: Sequence[Row], path: str | Path, *, title: str = "", level: float = 0.95) -> None:
    """Draw a forest of estimates: corrected with interval, naive and true share where given."""
    if len(rows) > MAX_SHOWN:
        raise EstimationError(f"a picture of {len(rows)} values is over the limit of {MAX_SHOWN}")
    with canvas(path, height=1.4 + 0.38 * len(rows)) as axes:
        y = np.arange(len(rows))[::-1]
        for position, row in zip(y, rows, strict=True):
            axes.plot([row.low, row.high], [position, position], color=BLUE, linewidth=2)
        axes.plot([r.estimate for r in rows], y, "o", color=BLUE, label=f"corrected, {level:.0%} interval")
        if any(row.naive is not None for row in rows):
            axes.plot([np.nan if r.naive is None else r.naive for r in rows], y, "s", color=ORANGE, label="naive")
        if any(row.truth is not None for row in rows):
            axes.plot([np.nan if r.truth is None else r.truth for r in rows], y, "|", color=BLACK,
                      markersize=16, markeredgewidth=2, label="truth")  # fmt: skip
        axes.set_yticks(y, [row.label for row in rows])
        axes.axvline(0, color=GREY, linewidth=0.8)
        axes.set_xlabel("share")
        axes.xaxis.set_major_formatter(lambda v, _: f"{v:.0%}")
        axes.set_title(title, loc="left")
        axes.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.18 if len(rows) > 4 else -0.3), ncols=3)
