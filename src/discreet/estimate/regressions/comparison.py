"""Several fits side by side: the corrected, the naive and the non-private one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet import arguments
from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.intervals.levels import checked_level
from discreet.estimate.regressions.coefficient_table import figure, places_of
from discreet.estimate.regressions.coefficients import Coefficients
from discreet.estimate.reporting import display
from discreet.estimate.reporting.result import Result, frozen
from discreet.estimate.reporting.table import Column, Ends, ResultTable, interval_heading, labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Comparison(Result):
    """Coefficients of several fits, with intervals: a table, and the numbers of a forest plot.

    Attributes
    ----------
    fits : mapping
        The fits by name.
    methods, names : tuple of str
        The names of the fits, and of the coefficients.
    estimate, std_error : array (fits, coefficients)
    covariance : array (fits, coefficients, coefficients)
        Within each fit. Fits of the same rows are not independent of each other.
    level : float
        Of the intervals, unless another is asked for.
    method : str or None
        The interval method, likewise.
    """

    fits: Mapping[str, Coefficients]
    level: float
    method: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "fits", MappingProxyType(dict(self.fits)))

    @property
    def methods(self) -> tuple[str, ...]:
        """The names of the fits."""
        return tuple(self.fits)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the coefficients."""
        return next(iter(self.fits.values())).names

    @cached_property
    def estimate(self) -> Floats:
        """Coefficients, one row per fit."""
        return frozen(np.array([fit.coefficients for fit in self.fits.values()]))

    @cached_property
    def std_error(self) -> Floats:
        """Standard errors, one row per fit."""
        return frozen(np.array([fit.std_error for fit in self.fits.values()]))

    @cached_property
    def covariance(self) -> Floats:
        """Covariance matrix of each fit."""
        return frozen(np.array([fit.covariance for fit in self.fits.values()]))

    def interval(self, level: float | None = None, method: str | None = None) -> Floats:
        """Confidence intervals, (fits, coefficients, 2)."""
        level, method = self._chosen(level, method)
        return np.array([fit.interval(level, method) for fit in self.fits.values()])

    def _chosen(self, level: float | None, method: str | None) -> tuple[float, str | None]:
        return checked_level(self.level if level is None else level), self.method if method is None else method

    def rows(self, level: float | None = None, method: str | None = None) -> list[dict[str, Any]]:
        """One record for each line of a forest plot."""
        bounds = self.interval(level, method)
        return [
            {
                "name": name,
                "method": fit,
                "estimate": float(self.estimate[m, j]),
                "std_error": float(self.std_error[m, j]),
                "low": float(bounds[m, j, 0]),
                "high": float(bounds[m, j, 1]),
            }
            for j, name in enumerate(self.names)
            for m, fit in enumerate(self.methods)
        ]

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know about each fit, with its name; that one did not converge comes first."""
        failed = [f"{name}: {fit.status}" for name, fit in self.fits.items() if not getattr(fit, "converged", True)]
        return (*failed, *(f"{name}: {note}" for name, fit in self.fits.items() for note in fit.notes))

    def heading(self) -> str:
        """What is compared."""
        formulas = {getattr(fit, "formula", None) for fit in self.fits.values()}
        sizes = {getattr(fit, "n", None) for fit in self.fits.values()}
        named = "".join(f" of {one}" for one in formulas if one is not None and len(formulas) == 1)
        rows = "".join(f", n = {one:,}" for one in sizes if one is not None and len(sizes) == 1)
        return f"{len(self.fits)} fits{named} side by side{rows}"

    def _labels(self) -> list[str]:
        return [f"{fit}: {name}" for fit in self.methods for name in self.names]

    def summary(self, level: float | None = None, method: str | None = None) -> str:
        """A table to read."""
        table = self._table(level, method, None)
        cells = table.cells()
        for row in cells:  # a coefficient is named once
            row[0] = row[0] if row[1] == self.methods[0] else ""
        header = ["", *(column.title for column in table.columns[1:])]
        return "\n".join([table.title, "", display.aligned(header, cells, text_columns=2), *table.said()])

    def _table(self, level: float | None, method: str | None, most: int | None) -> ResultTable:
        del most  # a comparison is read as a whole
        rows = self.rows(level, method)
        level, method = self._chosen(level, method)
        places, bounds = places_of(self.std_error), np.array([[row["low"], row["high"]] for row in rows])
        return ResultTable(
            title=self.heading(),
            columns=(
                labels("name", [row["name"] for row in rows]),
                labels("fit", [row["method"] for row in rows]),
                Column("estimate", [row["estimate"] for row in rows], "coef", partial(figure, places=places)),
                Column("std_error", [row["std_error"] for row in rows], "std err", partial(figure, places=places)),
                Ends(interval_heading(level, method), bounds, write=partial(figure, places=places - 1)),
            ),
            rows=len(rows),
            notes=self.notes,
        )

    def plot(
        self,
        ax: Axes | None = None,
        *,
        level: float | None = None,
        method: str | None = None,
        title: str | None = None,
    ) -> Axes:
        """Draw every coefficient with its interval, one colour per fit.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        level, method
            Of the intervals, as in :meth:`interval`.
        title : str, optional
            Above the picture.
        """
        from discreet.plots import Series, plot_forest

        bounds = self.interval(level, method)
        percent = display.percent(self._chosen(level, method)[0])
        series = [
            Series(f"{name}, {percent} interval", self.estimate[m], bounds[m]) for m, name in enumerate(self.methods)
        ]
        title = self.heading() if title is None else title
        return plot_forest(self.names, series, ax=ax, title=title, quantity="coefficient", reference=0.0)

    def to_dict(self, level: float | None = None, method: str | None = None) -> dict[str, Any]:
        """Plain data for JSON."""
        rows = [{k: display.plain(v) for k, v in row.items()} for row in self.rows(level, method)]
        bounds = self.interval(level, method)
        return {
            "level": self._chosen(level, method)[0],
            "rows": rows,
            "interval": display.plain(bounds),
            "notes": list(self.notes),
        }


def compare(
    fits: Mapping[str, Coefficients] | Sequence[Coefficients],
    level: float = 0.95,
    method: str | None = None,
) -> Comparison:
    """Put fits of the same coefficients side by side.

    Parameters
    ----------
    fits : mapping from name to fit, or sequence of fits
        For example ``{"corrected": fit, "naive": fit.naive(), "true labels": binary_regression(X, truth, 1, 1)}``.
    level : float
    method : {"wald", "profile"}, optional
        Intervals, as for :meth:`discreet.estimate.LikelihoodFit.interval`.
    """
    level = checked_level(level)
    listed = [] if isinstance(fits, Mapping) else arguments.listed(fits, "fits", EstimationError)
    named = dict(fits) if isinstance(fits, Mapping) else {f"fit {i + 1}": fit for i, fit in enumerate(listed)}
    if not named:
        raise EstimationError("there are no fits to compare")
    for fit in named.values():
        if not isinstance(fit, Coefficients):
            raise EstimationError(f"every fit must be a regression or an M-estimate, not {arguments.shown(fit)}")
    first = next(iter(named.values()))
    if any(fit.names != first.names for fit in named.values()):
        raise EstimationError("the fits must have the same coefficients, in the same order")
    return Comparison(fits={str(name): fit for name, fit in named.items()}, level=level, method=method)
