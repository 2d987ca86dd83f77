"""Coefficients on the scale that readers know: odds ratios of a logit, rate ratios of a Poisson regression."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.regressions.coefficients import Coefficients
from discreet.estimate.reporting import display
from discreet.estimate.reporting.result import frozen
from discreet.estimate.reporting.table import Axis


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Ratios(Coefficients):
    """``exp(β)`` of every coefficient. Made by ``fit.odds_ratios()`` and ``fit.rate_ratios()``.

    Intervals are those of the coefficients, exponentiated, and keep their coverage; standard errors are by the delta
    method, ``exp(β) · se(β)``. Tests are those of the coefficients: that a ratio is one.

    Attributes
    ----------
    fit : Coefficients
        Whose coefficients they are.
    what : str
        "Odds ratios" or "Rate ratios".
    """

    fit: Coefficients = field(repr=False)
    what: str

    @property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]  # a field of fits, and computed here
        """What each ratio belongs to."""
        return self.fit.names

    @property
    def n(self) -> int:  # type: ignore[override]
        """The rows of the fit."""
        return self.fit.n

    @property
    def modelled(self) -> str | None:  # type: ignore[override]
        """What was modelled."""
        return self.fit.modelled

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]
        """What a reader should know."""
        return self.fit.notes

    @property
    def coefficients(self) -> Floats:  # type: ignore[override]
        """The ratios."""
        with np.errstate(over="ignore"):
            return frozen(np.exp(self.fit.coefficients))

    @property
    def covariance(self) -> Floats:
        """By the delta method."""
        with np.errstate(invalid="ignore", over="ignore"):
            return frozen(self.fit.covariance * np.outer(self.coefficients, self.coefficients))

    @property
    def degrees_of_freedom(self) -> float:
        """Of Student's t; infinite means the normal law."""
        return self.fit.degrees_of_freedom

    @property
    def default_interval(self) -> str:
        """The interval method that is used unless another is named."""
        return self.fit.default_interval

    @property
    def z(self) -> Floats:
        """Of the coefficients: the logarithm of the ratio over its standard error."""
        return self.fit.z

    @property
    def p_values(self) -> Floats:
        """Two-sided p values of the hypothesis that a ratio is one."""
        return self.fit.p_values

    @property
    def title(self) -> str:
        """How a summary calls them."""
        return f"{self.what}: {self.fit.title[:1].lower()}{self.fit.title[1:]}"

    def header(self) -> list[tuple[str, str]]:
        """What a summary says about the model."""
        return self.fit.header()

    def interval(self, level: float = 0.95, method: str | None = None) -> Floats:
        """The intervals of the coefficients, exponentiated."""
        with np.errstate(over="ignore"):
            return np.exp(self.fit.interval(level, method))

    @property
    def _figure(self) -> str:
        return "ratio"

    def _axis(self) -> Axis:
        return Axis(self.what.lower(), 1.0, log=True)

    def to_dict(self, level: float = 0.95, method: str | None = None) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "kind": self.what.lower(),
            "names": list(self.names),
            "estimate": display.plain(self.estimate),
            "std_error": display.plain(self.std_error),
            "interval": display.plain(self.interval(level, method)),
            "level": level,
            "p_values": display.plain(self.p_values),
        }


def ratios(fit: Coefficients, what: str) -> Ratios:
    """The ratios of a fit whose coefficients are logarithms of them."""
    has = fit.exponentiated
    if has != what:
        instead = {"odds ratios": "a logit", "rate ratios": "a Poisson regression"}[what]
        said = f"; this fit has {has}" if has else ""
        raise EstimationError(f"{what} are the exponentials of the coefficients of {instead}{said}")
    return Ratios(fit=fit, what=what.capitalize())
