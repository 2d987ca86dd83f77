"""A map: one place, and how likely every other place is to be reported for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.domains import Metric
from discreet.errors import InputError
from discreet.mechanisms import BipartiteResponse, FiniteMechanism
from discreet.plots.canvas import ORANGE, axes_for, figure_of, finish

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_place(
    domain: Metric, mechanism: FiniteMechanism, code: int, *, ax: Axes | None = None, title: str = ""
) -> Axes:
    """Draw all places, shaded by the probability of being reported when the one with this code is true."""
    if domain.coordinates is None or domain.coordinates.shape[1] != 2:
        raise InputError("a map needs a metric domain with two coordinates per value")
    if mechanism.shape[0] != domain.size or mechanism.shape[1] != domain.size:
        raise InputError(f"the mechanism is for {mechanism.shape[0]} values, but there are {domain.size} places")
    if not 0 <= code < domain.size:
        raise InputError(f"a code must lie between 0 and {domain.size - 1}, not {code}")
    # A map has longitude across and latitude up; a haversine domain holds latitude first.
    on_earth = domain.distance == "haversine"
    x, y = domain.coordinates.T[::-1] if on_earth else domain.coordinates.T
    ax = axes_for(ax, 6.8, 5.4)
    size = float(np.clip(4000 / domain.size, 3, 60))
    shades = ax.scatter(x, y, c=_row(mechanism, code), cmap="Blues", vmin=0.0, s=size, edgecolors="#999999",
                          linewidths=0.3)  # fmt: skip
    figure_of(ax).colorbar(shades, ax=ax, label="probability of the report")
    ax.plot(x[code], y[code], "*", color=ORANGE, markersize=14, label="the truth")
    if on_earth:
        ax.set_aspect(1 / np.cos(np.radians(float(np.mean(y)))))
    else:
        ax.set_aspect("equal")
    ax.set_xlabel("longitude" if on_earth else "x")
    ax.set_ylabel("latitude" if on_earth else "y")
    ax.legend(frameon=False)
    return finish(ax, title or f"reports for {domain.label(code)!s}")


def _row(mechanism: FiniteMechanism, code: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """One row of the channel; a bipartite one needs no matrix for it."""
    if isinstance(mechanism, BipartiteResponse):
        row = np.full(mechanism.size, mechanism.low / mechanism.denominator)
        row[mechanism.near_reports(code)] = mechanism.high / mechanism.denominator
        return row
    return np.asarray(mechanism.matrix()[code])
