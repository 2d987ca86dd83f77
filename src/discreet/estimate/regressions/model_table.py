"""Several fits in one table, as journals print them: one column a fit, coefficients with standard errors below."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, cast

from discreet import arguments
from discreet.errors import EstimationError
from discreet.estimate.intervals.levels import checked_level
from discreet.estimate.regressions import coefficient_table as layout
from discreet.estimate.regressions.coefficients import Coefficients
from discreet.estimate.reporting import display
from discreet.estimate.reporting.result import Shown
from discreet.estimate.reporting.table import Column, ResultTable, labels

#: p values below which a coefficient gets one, two or three stars, where stars are asked for.
_STARS = (0.05, 0.01, 0.001)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ModelTable(Shown):
    """Fits side by side. Made by :func:`discreet.estimate.table`.

    ``print`` it, or take ``to_latex()``, ``to_markdown()``, ``to_frame()``.

    Attributes
    ----------
    fits : mapping
        The fits by name.
    below : {"std_error", "interval", "p_value"}
        What stands in brackets below each coefficient.
    level : float
        Of the intervals.
    stars : bool
    """

    fits: Mapping[str, Coefficients]
    below: str = "std_error"
    level: float = 0.95
    stars: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "fits", MappingProxyType(dict(self.fits)))

    @property
    def names(self) -> tuple[str, ...]:
        """Every coefficient of any fit, in the order in which they first appear."""
        return tuple(dict.fromkeys(name for fit in self.fits.values() for name in fit.names))

    @cached_property
    def _places(self) -> int:
        """Of all figures: one less than in the table of a fit on its own."""
        return layout.places_of(*(fit.std_error for fit in self.fits.values())) - 1

    def heading(self) -> str:
        """What is shown."""
        count = len(self.fits)
        return f"{count} {'fit' if count == 1 else 'fits'}, {len(self.names)} coefficients"

    def _page(self) -> ResultTable:
        first, columns = [], [[] for _ in self.fits]  # type: tuple[list[str], list[list[str]]]
        for name in self.names:
            first += [name, ""]
            for column, fit in zip(columns, self.fits.values(), strict=True):
                column += self._cells(fit, name)
        for what, entries in self._footer():
            first.append(what)
            for column, entry in zip(columns, entries, strict=True):
                column.append(entry)
        brackets = {
            "std_error": "standard errors",
            "interval": f"{display.percent(self.level)} intervals",
            "p_value": "p values",
        }[self.below]
        legend = f"in brackets: {brackets}"
        if self.stars:
            legend += "; * p < 0.05, ** p < 0.01, *** p < 0.001"
        said = [f"{name}: {fit.status}" for name, fit in self.fits.items() if not getattr(fit, "converged", True)]
        return ResultTable(
            title=self.heading(),
            columns=(
                labels("name", first),
                *(Column(name, column, write=str) for name, column in zip(self.fits, columns, strict=True)),
            ),
            rows=len(first),
            notes=tuple(said),
            ruled=2 * len(self.names),
            legend=legend,
        )

    def _cells(self, fit: Coefficients, name: str) -> list[str]:
        """The coefficient, and what stands below it; nothing where the fit does not have it."""
        if name not in fit.names:
            return ["", ""]
        place = fit.names.index(name)
        write = partial(layout.figure, places=self._places)
        value, p = write(fit.coefficients[place]), float(fit.p_values[place])
        if self.stars and not math.isnan(p):
            value += "*" * sum(p < bound for bound in _STARS)
        if self.below == "interval":
            low, high = fit.interval(self.level)[place]
            return [value, f"[{write(low)}, {write(high)}]"]
        figure = layout.p_value(p) if self.below == "p_value" else write(fit.std_error[place])
        return [value, f"({figure})"]

    def _footer(self) -> list[tuple[str, list[str]]]:
        """Rows that every reader looks for: what was modelled, how many rows, how well."""
        fits = list(self.fits.values())
        rows = [
            ("Modelled", [str(getattr(fit, "modelled", None) or "") for fit in fits]),
            ("Observations", [f"{fit.n:,}" if hasattr(fit, "n") else "" for fit in fits]),
            ("Log-likelihood", [_figure(fit, "log_likelihood") for fit in fits]),
            ("AIC", [_figure(fit, "aic") for fit in fits]),
        ]
        return [(what, entries) for what, entries in rows if any(entries)]


def _figure(fit: Coefficients, name: str) -> str:
    value = getattr(fit, name, None)
    return f"{value:.1f}" if value is not None and math.isfinite(value) else ""


def table(
    *fits: Coefficients | Mapping[str, Coefficients],
    names: Any = None,
    below: str = "std_error",
    level: float = 0.95,
    stars: bool = False,
) -> ModelTable:
    """A journal table of several fits side by side.

    Parameters
    ----------
    *fits : fits, or one mapping from name to fit
        Regressions, their odds ratios or marginal effects, in any mixture; a coefficient that a fit does not have is
        left empty.
    names : sequence of str, optional
        Above the columns; "(1)", "(2)" … by default.
    below : {"std_error", "interval", "p_value"}
        What stands in brackets below each coefficient.
    level : float
        Of the intervals.
    stars : bool
        Mark small p values; never by default, because an interval says more.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import estimate
    >>> X = np.column_stack([np.ones(400), np.arange(400) % 2])
    >>> fit = estimate.binary_regression(X, np.arange(400) % 5 == 0, 1, 1, names=["Intercept", "odd"])
    >>> print(estimate.table(fit, fit.odds_ratios(), names=["logit", "odds ratios"]).to_markdown().splitlines()[2])
    | Intercept | -1.386 | 0.250 |
    """
    arguments.choice(below, "below", ("std_error", "interval", "p_value"), EstimationError)
    level = checked_level(level)
    if len(fits) == 1 and isinstance(fits[0], Mapping):
        named = {str(name): fit for name, fit in fits[0].items()}
    else:
        shown = [f"({place + 1})" for place in range(len(fits))]
        if names is not None:
            shown = [str(name) for name in arguments.listed(names, "names", EstimationError)]
        if len(shown) != len(fits) or len(set(shown)) != len(shown):
            raise EstimationError(f"names must be {len(fits)} different ones, one for each fit")
        named = {name: cast("Coefficients", fit) for name, fit in zip(shown, fits, strict=True)}  # checked below
    if not named:
        raise EstimationError("there are no fits to put into a table")
    for fit in named.values():
        if not isinstance(fit, Coefficients):
            raise EstimationError(f"every fit must be a regression or an M-estimate, not {arguments.shown(fit)}")
    return ModelTable(fits=named, below=below, level=level, stars=arguments.flag(stars, "stars", EstimationError))
