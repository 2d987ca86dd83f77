"""Numbers in rows and columns as shades: a channel, a cross-table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet import arguments
from discreet.errors import InputError
from discreet.mechanisms import FiniteMechanism
from discreet.plots.canvas import axes_for, figure_of, finish

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Truths and reports that still give a readable picture.
MAX_SHOWN = 512
#: Up to this many, every value is named on the axes, and up to this many cells are written out.
_NAMED, _WRITTEN = 16, 64


def plot_shades(
    values: Any,
    rows: Sequence[Any] | None = None,
    columns: Sequence[Any] | None = None,
    *,
    ax: Axes | None = None,
    title: str = "",
    names: tuple[str, str] = ("", ""),
    meaning: str = "",
    cells: Sequence[Sequence[str]] | None = None,
) -> Axes:
    """Draw a table of numbers, darker for larger ones.

    Parameters
    ----------
    values : array (rows, columns)
    rows, columns : sequence, optional
        What the rows and the columns are called; written up to 16 of them.
    ax : Axes, optional
        Where to draw; a new figure by default.
    title : str
        Above the picture.
    names : tuple of str
        Of the rows and the columns together.
    meaning : str
        What the shades say.
    cells : rows of str, optional
        Written into the cells of a small table.
    """
    table = np.asarray(values, dtype=float)
    if max(table.shape) > MAX_SHOWN:
        raise InputError(f"a picture of {table.shape[0]} × {table.shape[1]} numbers is over the limit of {MAX_SHOWN}")
    ax = axes_for(ax, 6.4, 5.4)
    shades = ax.imshow(table, cmap="Blues", vmin=min(0.0, table.min()), aspect="auto", interpolation="nearest")
    figure_of(ax).colorbar(shades, ax=ax, label=meaning)
    if rows is not None and len(rows) <= _NAMED:
        ax.set_yticks(range(len(rows)), [str(label) for label in rows])
    if columns is not None and len(columns) <= _NAMED:
        named = [str(label) for label in columns]
        slanted = max(map(len, named)) * len(named) > _NAMED * 3
        ax.set_xticks(range(len(named)), named, rotation=30 if slanted else 0, ha="right" if slanted else "center")
    if cells is not None and table.size <= _WRITTEN:
        middle = (table.max() + min(0.0, table.min())) / 2
        for (i, j), value in np.ndenumerate(table):
            colour = "white" if value > middle else "black"
            ax.text(j, i, cells[i][j], ha="center", va="center", color=colour)
    ax.set_ylabel(names[0])
    ax.set_xlabel(names[1])
    return finish(ax, title)


def plot_channel(
    mechanism: FiniteMechanism, *, labels: Sequence[Any] | None = None, ax: Axes | None = None, title: str = ""
) -> Axes:
    """Draw a channel: one row per truth, one column per report, darker for more likely."""
    if not isinstance(mechanism, FiniteMechanism):
        raise InputError(f"mechanism must be a finite mechanism, not {arguments.shown(mechanism)}")
    truths, reports = mechanism.shape
    if max(truths, reports) > MAX_SHOWN:  # before the matrix is written out
        raise InputError(f"a picture of {truths} × {reports} probabilities is over the limit of {MAX_SHOWN}")
    if labels is not None and len(labels) != truths:
        raise InputError(f"there are {len(labels)} labels for {truths} values")
    return plot_shades(
        mechanism.matrix(),
        labels,
        labels if reports == truths else None,
        ax=ax,
        title=title or f"{type(mechanism).__name__}, ε = {mechanism.guarantee.epsilon:.4g}",
        names=("truth", "report"),
        meaning="probability of the report",
    )
