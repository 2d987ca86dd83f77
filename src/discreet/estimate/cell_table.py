"""What every table of joint frequencies has, however many columns it crosses."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate import display
from discreet.estimate.frequency_table import Frequencies
from discreet.estimate.odds import odds_ratio
from discreet.estimate.result import Result, written_interval
from discreet.estimate.result_table import Column, Ends, ResultTable, interval_heading, labels


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
    def covariance(self) -> Floats:
        """Covariance of all cells in row order; refused above 4,096 cells."""
        return self.cells.covariance

    def interval(self, level: float = 0.95, method: str | None = None) -> Floats:
        """Confidence intervals, one (low, high) per cell: "wald" (default), "chebyshev" or "simultaneous"."""
        return self.cells.interval(level, method).reshape(*self.shape, 2)

    def empty(self, level: float = 0.95, method: str | None = None) -> NDArray[np.bool_]:
        """Which intervals are empty."""
        return self.cells.empty(level, method).reshape(self.shape)

    def odds_ratio(self, level: float = 0.95) -> tuple[float, float, float]:
        """The odds ratio of two yes/no columns with its interval; see :mod:`discreet.estimate.odds`."""
        return odds_ratio(self.estimate, self.covariance, level)

    def _check_population(self) -> None:
        """Refuse a test of independence about the table of those who reported."""
        if self.target == "table":
            raise EstimationError(
                'independence is a statement about a population; make the cross-table with target="population"'
            )

    def heading(self) -> str:
        """What was estimated, from what."""
        named = " × ".join(f'"{name}"' for name in self.names if name)
        whom = display.of_whom(self.target)
        return f"Joint frequencies{f' of {named}' if named else ''} {whom}: unbiased, n = {self.n:,}"

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
        names = self.names or (None,) * len(self.shape)
        named = [name or side for name, side in zip(names, ("rows", "columns", "layers"), strict=False)]
        return ResultTable(
            title=self.heading(),
            columns=(
                *(labels(name, [cell[place] for cell in cells]) for place, name in enumerate(named)),
                Column("estimate", self.cells.estimate[:shown]),
                Column("std_error", self.cells.std_error[:shown], "std. error"),
                Ends(interval_heading(level, chosen), bounds, empty=np.isnan(bounds[:, 0])),
            ),
            rows=shown,
            more=(f"{total - shown:,} more cells",) if total > shown else (),
            notes=self.notes,
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
            "interval": written_interval(self.interval(level, method), level, chosen),
            "notes": list(self.notes),
        }
