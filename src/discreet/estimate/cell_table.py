"""What every table of joint frequencies has, however many columns it crosses."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.errors import EstimationError
from discreet.estimate import display
from discreet.estimate.odds import odds_ratio
from discreet.estimate.result import Frequencies

Floats = NDArray[np.float64]


class CellTable:
    """Frequencies of cells, seen as a table; its classes hold ``cells`` and ``names`` and know their ``shape``."""

    cells: Frequencies
    names: tuple[str | None, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of values of each column."""
        raise NotImplementedError

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
        """Joint frequencies; unbiased, so a cell may be negative."""
        return self.cells.estimate.reshape(self.shape)

    @cached_property
    def std_error(self) -> Floats:
        """Standard errors."""
        return self.cells.std_error.reshape(self.shape)

    @property
    def covariance(self) -> Floats:
        """Covariance of all cells in row order; refused above 4,096 cells."""
        return self.cells.covariance

    def interval(self, level: float = 0.95, method: str | None = None) -> Floats:
        """Confidence intervals, one (low, high) per cell: "wald" (default), "chebyshev" or "simultaneous"."""
        return self.cells.interval(level, method).reshape(*self.shape, 2)

    def odds_ratio(self, level: float = 0.95) -> tuple[float, float, float]:
        """The odds ratio of two yes/no columns with its interval; see :mod:`discreet.estimate.odds`."""
        return odds_ratio(self.estimate, self.covariance, level)

    def _check_population(self) -> None:
        """Refuse a test of independence about the table of those who reported."""
        if self.target == "table":
            raise EstimationError(
                'independence is a statement about a population; make the cross-table with target="population"'
            )

    def summary(self, level: float = 0.95, method: str | None = None) -> str:
        """A table to read, one line per cell."""
        raise NotImplementedError

    def heading(self) -> str:
        """What was estimated, from what."""
        named = " × ".join(f'"{name}"' for name in self.names if name)
        whom = display.of_whom(self.target)
        return f"Joint frequencies{f' of {named}' if named else ''} {whom}: unbiased, n = {self.n:,}"

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return f"<{self.heading()}, {' × '.join(map(str, self.shape))}>"
