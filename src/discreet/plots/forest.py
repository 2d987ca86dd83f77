"""Estimates with their intervals, one line each: a forest plot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.plots.canvas import BLACK, BLUE, GREEN, GREY, ORANGE, axes_for, figure_of, finish

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Lines that fit legibly into one picture.
MAX_SHOWN = 60
_COLOURS = (BLUE, ORANGE, GREEN, BLACK, GREY)


@dataclass(frozen=True, eq=False)
class Series:
    """Estimates of the same quantities by one method: one number each, and the ends of its interval.

    A series without intervals is drawn as ticks or squares beside the others: the truth, or naive shares.
    """

    name: str
    estimate: NDArray[np.float64]
    interval: NDArray[np.float64] | None = None
    marker: str = "o"


def plot_forest(
    labels: Sequence[str],
    series: Sequence[Series],
    *,
    ax: Axes | None = None,
    title: str = "",
    quantity: str = "",
    reference: float | None = None,
    percent: bool = False,
) -> Axes:
    """Draw estimates with their intervals, one line per quantity, several methods in several colours.

    Parameters
    ----------
    labels : sequence of str
        What each quantity is called, from top to bottom; at most 60.
    series : sequence of Series
        One or several, each with a number per quantity.
    ax : Axes, optional
        Where to draw; a new figure by default.
    title : str
        Above the picture.
    quantity : str
        Below the horizontal axis.
    reference : float, optional
        A line to compare with, such as no effect at 0.
    percent : bool
        Whether the numbers are shares.
    """
    if len(labels) > MAX_SHOWN:
        raise InputError(
            f"a picture of {len(labels):,} quantities is over the limit of {MAX_SHOWN}; draw the most frequent ones, "
            "result.top(20).plot(), or a part of the table"
        )
    ours = ax is None
    ax = axes_for(ax, height=1.5 + (0.2 + 0.17 * len(series)) * len(labels))
    base = np.arange(len(labels))[::-1].astype(float)
    with_intervals = [one for one in series if one.interval is not None]
    for place, one in enumerate(series):
        beside = with_intervals.index(one) if one in with_intervals else (len(with_intervals) - 1) / 2
        y = base + 0.5 * ((len(with_intervals) - 1) / 2 - beside) / max(1, len(with_intervals))
        colour = _COLOURS[place % len(_COLOURS)]
        if one.interval is not None:
            ax.hlines(y, one.interval[:, 0], one.interval[:, 1], color=colour, linewidth=2)
        thick = {"markersize": 16, "markeredgewidth": 2} if one.marker == "|" else {}
        ax.plot(one.estimate, y, one.marker, color=colour, label=one.name, **thick)  # type: ignore[arg-type]
    ax.set_yticks(base, list(labels))
    ax.set_ylim(-0.6, len(labels) - 0.4)
    if reference is not None:
        ax.axvline(reference, color=GREY, linewidth=0.8)
    ax.set_xlabel(quantity)
    if percent:
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    if len(series) > 1 or series[0].name:
        if ours:
            figure_of(ax).legend(frameon=False, loc="outside lower center", ncols=min(3, len(series)))
        else:
            ax.legend(frameon=False)
    return finish(ax, title)
