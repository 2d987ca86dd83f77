"""What every table of joint frequencies has, however many columns it crosses."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.intervals.levels import checked_level, two_sided_quantile
from discreet.estimate.proportions.result import Frequencies
from discreet.estimate.reporting import display
from discreet.estimate.reporting.result import Result, written_interval
from discreet.estimate.reporting.table import Column, Ends, ResultTable, interval_heading, labels
from discreet.estimate.tables.independence import IndependenceTest

if TYPE_CHECKING:
    from matplotlib.axes import Axes


#: Beyond it the end of an interval would not be a number.
_LARGEST_LOG = math.log(np.finfo(float).max)
_SIGNS = np.array([1.0, -1.0, -1.0, 1.0])


def odds_ratio(
    table: Floats, covariance: Floats, level: float, degrees_of_freedom: float = math.inf
) -> tuple[float, float, float]:
    """``f00 f11/(f01 f10)`` with its interval: normal, or of a survey Student's t, on the logarithm.

    The standard error is ``√(g' Cov g)`` with g = (1/f00, −1/f01, −1/f10, 1/f11) and the full covariance of the
    corrected cells, whatever randomised them.
    """
    level = checked_level(level)
    if table.shape != (2, 2):
        raise EstimationError("an odds ratio needs two attributes with two values each")
    cells = table.reshape(-1)
    if cells.min() <= 0:
        raise EstimationError("a corrected cell is not positive: there are too few reports for an odds ratio")
    gradient = _SIGNS / cells
    log_ratio = float(_SIGNS @ np.log(cells))
    half = two_sided_quantile(level, degrees_of_freedom) * math.sqrt(float(gradient @ covariance @ gradient))
    if log_ratio + half > _LARGEST_LOG:
        raise EstimationError("a corrected cell is next to zero: there are too few reports for an odds ratio")
    return math.exp(log_ratio), math.exp(log_ratio - half), math.exp(log_ratio + half)


#: Cells that are read as a grid, more are a list; and columns that fit side by side on a terminal.
_GRID, _ACROSS = 120, 3
#: A test is about how the population came about, of which the population itself is a sample.
_NO_CORRECTION = (
    "the finite-population correction is not used in the test: it asks how the population came about, not about those "
    "who happen to be in it"
)


class CellTable(Result):
    """Frequencies of cells, seen as a table; its classes hold ``cells`` and ``names`` and know their ``labels``."""

    cells: Frequencies
    names: tuple[str | None, ...]

    @property
    def labels(self) -> list[list[Any]]:
        """True values of each column."""
        raise NotImplementedError

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Number of values of each column."""
        return tuple(len(labels) for labels in self.labels)

    @property
    def row_labels(self) -> list[Any]:
        """True values of the first column, the rows."""
        return self.labels[0]

    @property
    def column_labels(self) -> list[Any]:
        """True values of the second column, the columns."""
        return self.labels[1]

    @property
    def n(self) -> int:
        """Number of reports."""
        return self.cells.n

    @property
    def target(self) -> str:
        """Population or table."""
        return self.cells.target

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know."""
        return self.cells.notes

    @cached_property
    def estimate(self) -> Floats:
        """Joint frequencies, in the shape of the table; unbiased, so a cell may be negative."""
        return self.cells.estimate.reshape(self.shape)

    @cached_property
    def std_error(self) -> Floats:
        """Standard errors, in the shape of the table."""
        return self.cells.std_error.reshape(self.shape)

    @property
    def design_effect(self) -> Floats | None:
        """Variance over that of a simple random sample of as many people, by cell; None without a survey."""
        found = self.cells.design_effect
        return None if found is None else found.reshape(self.shape)

    @property
    def covariance(self) -> Floats:
        """Covariance of all cells in row order; refused above 4,096 cells."""
        return self.cells.covariance

    def interval(self, level: float = 0.95, method: str | None = None) -> Floats:
        """Confidence intervals, one (low, high) per cell: "wald" (default), "wilson", "chebyshev" or "simultaneous"."""
        return self.cells.interval(level, method).reshape(*self.shape, 2)

    def empty(self, level: float = 0.95, method: str | None = None) -> NDArray[np.bool_]:
        """Which intervals are empty."""
        return self.cells.empty(level, method).reshape(self.shape)

    def odds_ratio(self, level: float = 0.95) -> tuple[float, float, float]:
        """The odds ratio of two yes/no columns with its interval; see :mod:`discreet.estimate.tables.cells`."""
        return odds_ratio(self.estimate, self.covariance, level, self.cells.spread.degrees_of_freedom)

    def _of_the_population(self, test: Callable[[], IndependenceTest]) -> IndependenceTest:
        """A test of independence, with what is to be said of it; refused about the table of those who reported."""
        if self.target == "table":
            raise EstimationError(
                'independence is a statement about a population; make the cross-table with target="population"'
            )
        found = test()
        return found if self.cells.evidence.finite is None else replace(found, notes=(*found.notes, _NO_CORRECTION))

    def heading(self) -> str:
        """What was estimated, from what."""
        named = " × ".join(f'"{name}"' for name in self.names if name)
        whom = display.of_whom(self.target)
        effects = display.design_effects(self.design_effect)
        return f"Joint frequencies{f' of {named}' if named else ''} {whom}: unbiased, n = {self.n:,}{effects}"

    def _cell_labels(self, cell: int) -> tuple[Any, ...]:
        places = np.unravel_index(cell, self.shape)
        return tuple(labels[int(place)] for labels, place in zip(self.labels, places, strict=True))

    def _labels(self) -> Any:
        for cell in range(self.cells.estimate.size):
            yield " × ".join(display.label_text(label) for label in self._cell_labels(cell))

    def _table(self, level: float, method: str | None, most: int | None) -> ResultTable:
        total = self.cells.estimate.size
        shown = total if most is None else min(total, 2 * most)
        chosen = self.cells.default_interval if method is None else method
        bounds = self.cells.interval(level, method)[:shown]
        cells = [self._cell_labels(cell) for cell in range(shown)]
        return ResultTable(
            title=self.heading(),
            columns=(
                *(labels(name, [cell[place] for cell in cells]) for place, name in enumerate(self._column_names())),
                Column("estimate", self.cells.estimate[:shown]),
                Column("std_error", self.cells.std_error[:shown], "std. error"),
                Ends(interval_heading(level, chosen), bounds, empty=np.isnan(bounds[:, 0])),
            ),
            rows=shown,
            more=(f"{total - shown:,} more cells",) if total > shown else (),
            notes=self.notes,
        )

    def summary(self, level: float = 0.95, method: str | None = None) -> str:
        """The table as a grid with the interval of every cell; as a list where it is too wide for that."""
        return self._shown(level, method).text()

    def _page(self) -> ResultTable:
        return self._shown(0.95, None)

    def _shown(self, level: float, method: str | None) -> ResultTable:
        if np.prod(self.shape) > _GRID:
            return self._table(level, method, display.SHOWN)
        return self._grid(level, method)

    def _grid(self, level: float, method: str | None) -> ResultTable:
        """Rows down, columns across, layers below each other; in every cell the estimate and its interval.

        A table that is much wider than long is turned, so that it fits a terminal.
        """
        wide = len(self.shape) == 2 and self.shape[1] > max(2 * self.shape[0], _ACROSS)
        across, sides = (0, [1]) if wide else (1, [0, *range(2, len(self.shape))])
        places = [range(self.shape[side]) for side in sides]
        down = [tuple(reversed(back)) for back in product(*reversed(places))]  # the first side runs fastest
        written = self._written(level, method)

        def cell(column: int, place: tuple[int, ...]) -> str:
            at = [0] * len(self.shape)
            for side, where in zip((across, *sides), (column, *place), strict=True):
                at[side] = where
            return str(written[tuple(at)])

        names = self._column_names()
        beside = [
            labels(names[side], [self.labels[side][place[index]] for place in down]) for index, side in enumerate(sides)
        ]
        cells = [
            Column(f"{column}", [cell(column, place) for place in down], f"{names[across]} = {text}", str)
            for column, text in enumerate(map(display.label_text, self.labels[across]))
        ]
        chosen = self.cells.default_interval if method is None else method
        return ResultTable(
            title=self.heading(),
            columns=(*reversed(beside), *cells),
            rows=len(down),
            facts=(("In brackets", interval_heading(level, chosen)),),
            notes=self.notes,
            folded=True,
        )

    def _written(self, level: float, method: str | None) -> NDArray[np.object_]:
        """Every cell as text: the estimate and its interval, all with the same places."""
        bounds, empty = self.interval(level, method), self.empty(level, method)
        write = partial(display.figure, places=display.share_places(self.std_error))
        written = np.empty(self.shape, object)
        for at, value in np.ndenumerate(self.estimate):
            written[at] = f"{write(value)} ({display.ends(*bounds[at], empty=bool(empty[at]), write=write)})"
        return written

    def _column_names(self) -> list[str]:
        names = self.names or (None,) * len(self.shape)
        return [name or side for name, side in zip(names, ("rows", "columns", "layers"), strict=False)]

    def plot(
        self, ax: Axes | None = None, *, level: float = 0.95, method: str | None = None, title: str | None = None
    ) -> Axes:
        """Draw the table as shades, the estimate and its interval written into every cell of a small one.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        level, method
            Of the intervals, as in :meth:`interval`.
        title : str, optional
            Above the picture; the heading of the table by default.
        """
        from discreet.plots import plot_shades

        if len(self.shape) > 2:
            raise EstimationError("a picture shows two columns; make the cross-table of two of the three")
        bounds = self.interval(level, method)
        names = self._column_names()
        written = [
            [f"{self.estimate[at]:.1%}\n{bounds[at][0]:.1%} to {bounds[at][1]:.1%}" for at in places]
            for places in ([(i, j) for j in range(self.shape[1])] for i in range(self.shape[0]))
        ]
        return plot_shades(
            self.estimate,
            [display.label_text(label) for label in self.row_labels],
            [display.label_text(label) for label in self.column_labels],
            ax=ax,
            title=self.heading() if title is None else title,
            names=(names[0], names[1]),
            meaning="share",
            cells=written,
        )

    def to_dict(self, level: float = 0.95, method: str | None = None) -> dict[str, Any]:
        """Plain data, ready for JSON: tables as lists of rows."""
        chosen = self.cells.default_interval if method is None else method
        return {
            "kind": "crosstab",
            "columns": list(self.names),
            "n": self.n,
            "target": self.target,
            "labels": [display.plain(labels) for labels in self.labels],
            "row_labels": display.plain(self.row_labels),
            "column_labels": display.plain(self.column_labels),
            "estimate": display.plain(self.estimate),
            "std_error": display.plain(self.std_error),
            "design_effect": display.plain(self.design_effect),
            "interval": written_interval(self.interval(level, method), level, chosen),
            "notes": list(self.notes),
        }
