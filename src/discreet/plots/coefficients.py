"""Coefficients of several fits side by side: a forest plot."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from discreet.estimate.comparison import Comparison
from discreet.plots.canvas import BLACK, BLUE, GREY, ORANGE, canvas

_COLOURS = (BLUE, ORANGE, BLACK, GREY)


def plot_coefficients(comparison: Comparison, path: str | Path, *, title: str = "") -> None:
    """Draw every coefficient with its interval, one colour per fit."""
    methods, names = comparison.methods, comparison.names
    bounds = comparison.interval()
    with canvas(path, height=1.6 + (0.25 + 0.18 * len(methods)) * len(names)) as axes:
        base = np.arange(len(names))[::-1].astype(float)
        for m, method in enumerate(methods):
            y = base + 0.5 * ((len(methods) - 1) / 2 - m) / len(methods)
            colour = _COLOURS[m % len(_COLOURS)]
            low, high = bounds[m, :, 0], bounds[m, :, 1]
            axes.hlines(y, low, high, color=colour, linewidth=2)
            axes.plot(comparison.estimate[m], y, "o", color=colour, label=f"{method}, {comparison.level:.0%} interval")
        axes.set_yticks(base, list(names))
        axes.axvline(0, color=GREY, linewidth=0.8)
        axes.set_xlabel("coefficient")
        axes.set_title(title, loc="left")
        axes.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=min(3, len(methods)))
