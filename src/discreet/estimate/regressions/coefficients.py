"""What every table of coefficients has: tests that each is zero, and the layout that users of R know."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet import arguments
from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.intervals.levels import checked_level, two_sided_quantiles, two_tails, wald
from discreet.estimate.regressions import coefficient_table as layout
from discreet.estimate.regressions.coefficient_tests import Test, named, wald_test
from discreet.estimate.reporting import display
from discreet.estimate.reporting.result import Result, frozen
from discreet.estimate.reporting.table import Axis, Column, Ends, ResultTable, interval_heading, labels

if TYPE_CHECKING:
    from discreet.estimate.regressions.ratios import Ratios


class Coefficients(Result):
    """Named coefficients with a covariance matrix; its classes hold ``coefficients``, ``covariance`` and ``names``."""

    coefficients: Floats
    names: tuple[str, ...]
    notes: tuple[str, ...]

    if TYPE_CHECKING:  # fields of fits; effects have none of them
        n: int
        formula: str | None
        modelled: str | None
        converged: bool
        status: str

    @property
    def estimate(self) -> Floats:
        """The coefficients."""
        return self.coefficients

    @cached_property
    def std_error(self) -> Floats:
        """Standard errors; infinite or nan for coefficients that are not identified."""
        return standard_errors(self.covariance)

    @property
    def freedom(self) -> float | Floats:
        """Degrees of freedom of Student's t, one for all coefficients or one each; infinite means the normal law."""
        return math.inf

    @property
    def degrees_of_freedom(self) -> float:
        """Of Student's t, the fewest that a coefficient has; infinite means the normal law."""
        return float(np.min(self.freedom))

    @property
    def default_interval(self) -> str:
        """The interval method that is used unless another is named."""
        return "wald"

    @property
    def interval_methods(self) -> tuple[str, ...]:
        """The interval methods of this fit."""
        return ("wald",)

    def interval(self, level: float = 0.95, method: str | None = None) -> Floats:
        """Confidence intervals, one (low, high) row per coefficient.

        "wald": estimate ± quantile × standard error, the quantile that of Student's t where the variance has finitely
        many degrees of freedom. Some fits have further methods, see ``interval_methods``.
        """
        level = checked_level(level)
        chosen = self.default_interval if method is None else method
        chosen = arguments.choice(chosen, "the interval method", self.interval_methods, EstimationError)
        return self._wald(level) if chosen == "wald" else self._by_test(level, chosen)

    def _wald(self, level: float) -> Floats:
        quantiles = two_sided_quantiles(level, np.asarray(self.freedom, float))
        with np.errstate(invalid="ignore"):
            return wald(self.coefficients, self.std_error, quantiles)

    def _by_test(self, level: float, method: str) -> Floats:
        """All values that a test does not reject, of fits that have such a method."""
        raise NotImplementedError(method)

    def test(self, names: str | Sequence[str], method: str = "wald", value: float = 0.0) -> Test:
        """Test whether the named coefficients all have this value.

        Parameters
        ----------
        names : str or sequence of str
        method : {"wald"}
        value : float
            The value under the hypothesis.
        """
        arguments.choice(method, "method", ("wald",), EstimationError)
        _, which = named(self.names, names)
        fewest = float(np.min(np.broadcast_to(self.freedom, len(self.names))[which]))
        return wald_test(self.names, self.coefficients, self.covariance, names, value, fewest)

    @cached_property
    def z(self) -> Floats:
        """Coefficients over their standard errors."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return frozen(self.coefficients / self.std_error)

    @cached_property
    def p_values(self) -> Floats:
        """Two-sided p values of the hypothesis that a coefficient is zero."""
        return frozen(two_tails(self.z, self.freedom))

    @property
    def exponentiated(self) -> str | None:
        """What the exponentials of the coefficients are: "odds ratios", "rate ratios", or nothing with a name."""
        return None

    def odds_ratios(self) -> Ratios:
        """``exp(β)`` of a logit: by what factor the odds change with one more of a covariate."""
        from discreet.estimate.regressions.ratios import ratios

        return ratios(self, "odds ratios")

    def rate_ratios(self) -> Ratios:
        """``exp(β)`` of a Poisson regression: by what factor the expected count changes."""
        from discreet.estimate.regressions.ratios import ratios

        return ratios(self, "rate ratios")

    @property
    def title(self) -> str:
        """How a summary calls the model."""
        return "Coefficients"

    def header(self) -> list[tuple[str, str]]:
        """What a summary says about the model, as pairs of name and text."""
        return []

    def heading(self) -> str:
        """What was fitted, from what."""
        rows = f", n = {self.n:,}" if hasattr(self, "n") else ""
        return f"{self.title}{rows}"

    def _fit_data(self, level: float, method: str | None) -> dict[str, Any]:
        """What the plain data of every fit hold; "interval" has one [low, high] per coefficient."""
        return {
            "formula": self.formula,
            "modelled": self.modelled,
            "names": list(self.names),
            "coefficients": display.plain(self.coefficients),
            "std_error": display.plain(self.std_error),
            "interval": display.plain(self.interval(level, method)),
            "level": level,
            "covariance": display.plain(self.covariance),
            "n": self.n,
            "converged": self.converged,
            "status": self.status,
            "notes": list(self.notes),
        }

    def _labels(self) -> tuple[str, ...]:
        return self.names

    def _write(self, value: float) -> str:
        return layout.figure(value)

    def _said(self, bounds: Floats, method: str | None) -> tuple[str, ...]:
        """The notes below these intervals."""
        del bounds, method  # only some fits have more to say
        return self.notes

    @property
    def _figure(self) -> str:
        """What stands above the estimates."""
        return "coef"

    @property
    def _letter(self) -> str:
        return "z" if math.isinf(self.degrees_of_freedom) else "t"

    def summary(self, level: float = 0.95, method: str | None = None) -> str:
        """The table of coefficients, with what was fitted above it and what to know below it."""
        bounds = self.interval(level, method)
        rows = zip(self.names, self.coefficients, self.std_error, self.z, self.p_values, bounds, strict=True)
        return layout.summary(
            self.title, self.header(), rows, level, self._said(bounds, method), self._letter, self._figure
        )

    def _axis(self) -> Axis:
        return Axis("coefficient", 0.0)

    def _table(self, level: float, method: str | None, most: int | None) -> ResultTable:
        del most  # a fit is read as a whole
        bounds = self.interval(level, method)
        letter, places = self._letter, layout.places_of(self.std_error)
        heading = interval_heading(level, self.default_interval if method is None else method)
        return ResultTable(
            title=self.heading(),
            columns=(
                labels("name", self.names),
                Column("estimate", self.coefficients, self._figure, partial(layout.figure, places=places)),
                Column("std_error", self.std_error, "std err", partial(layout.figure, places=places)),
                Column(letter, self.z, write=layout.ratio),
                Column("p_value", self.p_values, f"P>|{letter}|", layout.p_value),
                Ends(heading, bounds, write=partial(layout.figure, places=places - 1)),
            ),
            rows=len(self.names),
            facts=tuple(self.header()),
            notes=self._said(bounds, method),
        )


def standard_errors(matrix: Floats) -> Floats:
    """Square roots of the diagonal."""
    with np.errstate(invalid="ignore"):
        return frozen(np.sqrt(np.diag(matrix)))
