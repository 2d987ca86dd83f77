"""Numbers in rows and columns as shades: a channel, a cross-table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet import arguments
from discreet.errors import InputError
from discreet.mechanisms import FiniteMechanism
from discreet.plots.canvas import LABEL_SIGN, axes_for, figure_of, finish, in_lines, room

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Truths and reports that still give a readable picture.
MAX_SHOWN = 512
#: Up to this many, every value is named on the axes; and up to this many cells are written into, where there is room.
_NAMED, _WRITTEN = 16, 144
#: Inches of a cell that is written into, of one that is not, and of a sign in a cell.
_CELL, _SHADE, _SIGN = (1.05, 0.5), (0.12, 0.1), 0.068
#: Points of the letters in a cell, at most and at least.
_LARGE, _SMALL = 9.0, 6.5
#: Signs in a line of a row's label, and in a column's.
_ROW, _COLUMN = 26, 20


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
    written = cells is not None and table.size <= _WRITTEN
    beside = [in_lines(str(label), _ROW) for label in rows] if rows is not None and len(rows) <= _NAMED else []
    below = (
        [in_lines(str(label), _COLUMN, 1) for label in columns]
        if columns is not None and len(columns) <= _NAMED
        else []
    )
    ax = axes_for(ax, *_size(table.shape, max((len(one) for one in beside), default=3), written=written))
    shades = ax.imshow(table, cmap="Blues", vmin=min(0.0, table.min()), aspect="auto", interpolation="nearest")
    figure_of(ax).colorbar(shades, ax=ax, label=meaning)
    if beside:
        ax.set_yticks(range(len(beside)), beside)
    if below:
        wide = room(ax) / len(below) < LABEL_SIGN * max(map(len, below))
        ax.set_xticks(range(len(below)), below, rotation=30 if wide else 0, ha="right" if wide else "center")
    if cells is not None and written:
        _write(ax, table, cells)
    ax.set_ylabel(names[0])
    ax.set_xlabel(names[1])
    return finish(ax, title)


def _size(shape: tuple[int, ...], label: int, *, written: bool) -> tuple[float, float]:
    """Width and height of a figure in inches, in which cells can be read."""
    across, down = _CELL if written else _SHADE
    width = float(np.clip(2.0 + label * LABEL_SIGN + across * shape[1], 6.4, 15.0))
    return width, float(np.clip(1.6 + down * shape[0], 3.4 if written else 5.4, 11.0))


def _write(ax: Axes, table: NDArray[np.float64], cells: Sequence[Sequence[str]]) -> None:
    """Write into the cells what there is room for: all lines, the first one, or nothing."""
    inches = room(ax) / table.shape[1]
    for kept in (None, 1):
        shown = [["\n".join(cell.split("\n")[:kept]) for cell in row] for row in cells]
        signs = max(len(line) for row in shown for cell in row for line in cell.split("\n"))
        size = min(_LARGE, _LARGE * inches / (signs * _SIGN))
        if size >= _SMALL:
            break
    else:
        return
    middle = (table.max() + min(0.0, table.min())) / 2
    for (i, j), value in np.ndenumerate(table):
        colour = "white" if value > middle else "black"
        ax.text(j, i, shown[i][j], ha="center", va="center", color=colour, fontsize=size)


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
