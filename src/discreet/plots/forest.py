"""Estimates with their intervals, one line each: a forest plot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.plots.canvas import BLACK, BLUE, GREEN, GREY, ORANGE, axes_for, figure_of, finish, in_lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Lines that fit legibly into one picture.
MAX_SHOWN = 60
_COLOURS = (BLUE, ORANGE, GREEN, BLACK, GREY)
#: Signs in a line of a label.
_LABEL = 38
#: An interval that has no end on a side: its height, its ends, its colour.
_OpenEnded = tuple[float, NDArray[np.float64], str]


@dataclass(frozen=True, eq=False)
class Series:
    """Estimates of the same quantities by one method: one number each, and the ends of its interval.

    A series without intervals is drawn as ticks or squares beside the others: the truth, or naive shares. One without
    a marker is a range, of which no point is better than another. An end may be infinite; where both are nan there is
    no interval, and the point is hollow.
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
    log: bool = False,
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
    log : bool
        Whether the numbers are ratios, of which a half and twice are equally far from 1.
    """
    if len(labels) > MAX_SHOWN:
        raise InputError(
            f"a picture of {len(labels):,} quantities is over the limit of {MAX_SHOWN}; draw the most frequent ones, "
            "result.top(20).plot(), or a part of the table"
        )
    ours = ax is None
    shown = [in_lines(str(label), _LABEL) for label in labels]
    folded = sum(label.count("\n") for label in shown)
    ax = axes_for(ax, height=1.5 + (0.2 + 0.17 * len(series)) * len(labels) + 0.1 * folded)
    base = np.arange(len(labels))[::-1].astype(float)
    with_intervals = [one for one in series if one.interval is not None]
    open_ended: list[_OpenEnded] = []
    for place, one in enumerate(series):
        beside = with_intervals.index(one) if one in with_intervals else (len(with_intervals) - 1) / 2
        y = base + 0.5 * ((len(with_intervals) - 1) / 2 - beside) / max(1, len(with_intervals))
        open_ended += _draw(ax, _positive(one) if log else one, y, _COLOURS[place % len(_COLOURS)])
    if log:
        _ratios(ax)
    ax.set_yticks(base, shown)
    ax.set_ylim(-0.6, len(labels) - 0.4)
    if reference is not None:
        ax.axvline(reference, color=GREY, linewidth=0.8)
    if open_ended:
        _to_the_edge(ax, open_ended)
    ax.set_xlabel(quantity)
    if percent:
        ax.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.4g}%")
    if len(series) > 1 or series[0].name:
        if ours:
            figure_of(ax).legend(frameon=False, loc="outside lower center", ncols=min(3, len(series)))
        else:
            ax.legend(frameon=False)
    return finish(ax, title)


def _positive(one: Series) -> Series:
    """Ratios on a logarithmic axis: an interval that reaches down to 0 has no end there."""
    estimate = np.where(one.estimate > 0, one.estimate, np.nan)
    bounds = None if one.interval is None else one.interval.astype(float)
    if bounds is not None:
        bounds[bounds[:, 0] <= 0, 0] = -np.inf
    return replace(one, estimate=estimate, interval=bounds)


def _ratios(ax: Axes) -> None:
    """A logarithmic axis with plain numbers, as many as can be read."""
    from matplotlib.ticker import LogLocator, NullFormatter

    ax.set_xscale("log")
    low, high = ax.get_xlim()
    if high / low < 30:  # decades alone would be one tick or none
        steps = (1.0, 2.0, 3.0, 5.0) if high / low > 3 else (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0)
        ax.xaxis.set_major_locator(LogLocator(subs=steps))
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:.4g}")
    ax.xaxis.set_minor_formatter(NullFormatter())


def _draw(ax: Axes, one: Series, y: NDArray[np.float64], colour: str) -> list[_OpenEnded]:
    """Draw the points and the intervals that have two ends; those that lack one are returned."""
    style: Any = {"marker": one.marker, "color": colour}
    if one.marker == "|":
        style |= {"markersize": 16, "markeredgewidth": 2}
    ax.plot([], [], linestyle="" if one.interval is None else "-", linewidth=2, label=one.name, **style)
    if one.interval is None:
        ax.plot(one.estimate, y, linestyle="", **style)
        return []
    none = np.isnan(one.interval).any(axis=1)  # a point without an interval is hollow
    ax.plot(one.estimate[~none], y[~none], linestyle="", **style)
    ax.plot(one.estimate[none], y[none], linestyle="", markerfacecolor="none", **style)
    known = np.isfinite(one.interval).all(axis=1)
    ax.hlines(y[known], *one.interval[known].T, color=colour, linewidth=2)
    if not one.marker:  # a range may have no length: its ends are marked
        ax.plot(one.interval[known].ravel(), np.repeat(y[known], 2), "|", color=colour, markersize=8)
    lacking = np.flatnonzero(np.isinf(one.interval).any(axis=1) & ~none)
    ends = one.interval[lacking].ravel()
    ax.scatter(ends[np.isfinite(ends)], np.full(np.isfinite(ends).sum(), y[0]), s=0)  # these are to be in sight too
    return [(float(y[place]), one.interval[place], colour) for place in lacking]


def _to_the_edge(ax: Axes, lines: Sequence[_OpenEnded]) -> None:
    """Intervals without an end on a side: lines to the edge of the picture, with an arrow there."""
    low, high = ax.get_xlim()
    for y, (left, right), colour in lines:
        ax.hlines(y, max(low, left), min(high, right), color=colour, linewidth=2)
        for end, edge, arrow in ((left, low, "<"), (right, high, ">")):
            if np.isinf(end):
                ax.plot(edge, y, arrow, color=colour, markersize=7, clip_on=False)
    ax.set_xlim(low, high)
