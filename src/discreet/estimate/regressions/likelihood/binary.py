"""The result of a regression of a randomised yes/no answer."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet import arguments
from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.data.checks import checked_numbers
from discreet.estimate.data.map_reduce import Source, changed
from discreet.estimate.formulas.new_rows import is_table
from discreet.estimate.intervals.levels import two_sided_quantile
from discreet.estimate.regressions.likelihood import effects, goodness
from discreet.estimate.regressions.likelihood.effects import MarginalEffects, Predictions, Switches
from discreet.estimate.regressions.likelihood.firth import Firth
from discreet.estimate.regressions.likelihood.goodness import FittedReports, GoodnessOfFit
from discreet.estimate.regressions.likelihood.links import Link
from discreet.estimate.regressions.likelihood.result import LikelihoodFit
from discreet.estimate.regressions.likelihood.rows import joined, literally
from discreet.estimate.regressions.likelihood.scan import Scan
from discreet.estimate.regressions.likelihood.truth_given_report import missing_reporting, posterior
from discreet.estimate.regressions.optimise import Surface
from discreet.estimate.regressions.predicted_rows import PredictedMeans
from discreet.estimate.reporting import display
from discreet.estimate.reporting.result import frozen


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class BinaryRegression(LikelihoodFit):
    """A regression of a yes/no answer that was randomised; the coefficients are about the truth.

    Made by :func:`discreet.estimate.binary_regression`. Coefficients, covariance, intervals and tests are described
    at :class:`LikelihoodFit`.
    """

    link_function: Link
    facts: Scan
    source: Source
    #: The same fit of other rows.
    refit: Callable[[Source], BinaryRegression]
    penalty: str | None = None

    @cached_property
    def surface(self) -> Surface:
        """What was maximised: the log-likelihood, or with Firth's penalty."""
        return self.objective if self.penalty is None else Firth(self.objective)

    @cached_property
    def height(self) -> float:
        """Its value at the estimate."""
        return self.log_likelihood if self.penalty is None else self.surface.value(self.coefficients)

    @property
    def default_interval(self) -> str:
        """Wald; for a penalised fit the profile of the penalised likelihood."""
        return "wald" if self.penalty is None else "profile"

    @property
    def aic(self) -> float:
        """Akaike's information criterion; nan with a penalty or survey weights."""
        return super().aic if self.penalty is None else math.nan

    @property
    def bic(self) -> float:
        """Schwarz's criterion; nan with a penalty or survey weights."""
        return super().bic if self.penalty is None else math.nan

    @property
    def link(self) -> str:
        """Name of the link."""
        return self.link_function.name

    @property
    def title(self) -> str:
        """How a summary calls the model."""
        kind = "" if self.penalty is None else f", {self.penalty.capitalize()}'s penalty"
        return f"{self.link.capitalize()} regression on randomised yes/no reports{kind}"

    @property
    def _method_text(self) -> str:
        return super()._method_text if self.penalty is None else "penalised likelihood"

    @property
    def epsilon(self) -> float:
        """The largest ε of any row's design, in floating point; infinite when a row was asked directly."""
        return self.facts.epsilon[1]

    @property
    def design(self) -> str:
        """The design of the rows in words."""
        low, high = (("∞" if math.isinf(value) else f"{value:.4g}") for value in self.facts.epsilon)
        designs = self.facts.designs
        if designs is None:
            return f"differs from row to row, ε from {low} to {high}"
        if len(designs[0][0]) > 2:
            reveals = ", some of which reveal the truth" if math.isinf(self.epsilon) else ""
            several = f"{len(designs)} designs with up to " if len(designs) > 1 else ""
            return f"{several}{len(designs[0][0])} reports{reveals} (ε = {high})"
        listed = [(no[0], yes[1]) for no, yes in designs]
        if listed == [(1.0, 1.0)]:
            return "reports taken as truths (p00 = p11 = 1, ε = ∞)"
        if len(listed) == 1:
            return f"p00 = {listed[0][0]:.6g}, p11 = {listed[0][1]:.6g} (ε = {high})"
        pairs = ", ".join(f"({no:.4g}, {yes:.4g})" for no, yes in listed)
        return f"(p00, p11) = {pairs}; ε from {low} to {high}"

    def header(self) -> list[tuple[str, str]]:
        """What a summary says about the model."""
        facts = super().header()
        first = [name for name, _ in facts].index("No. observations")
        return [*facts[:first], ("Design", self.design), facts[first], ("Link", self.link), *facts[first + 1 :]]

    def predict(self, X: Any, offset: Any = None, interval: bool = False) -> Floats | Predictions:
        """Probabilities of a true "yes".

        Parameters
        ----------
        X : table, or array (rows, coefficients)
            Of a fit by formula: a table with the columns of its right side, and the result has intervals.
        offset : array, optional
        interval : bool
            Return :class:`Predictions`, with standard errors and intervals, instead of the plain array.
        """
        interval = arguments.flag(interval, "interval", EstimationError)
        interval = interval or (self.matrices is not None and is_table(X))
        design = self._model_matrix(X)
        if design.shape[1] != self.coefficients.size:
            raise EstimationError(f"X must have {self.coefficients.size} columns, not {design.shape[1]}")
        shift = None if offset is None else checked_numbers(offset, design.shape[0], "offset")
        known = (self.coefficients, self.covariance, self.link_function, self.degrees_of_freedom)
        found = effects.predictions(design, shift, *known)
        return found if interval else found.estimate

    def truth_given_report(self, rows: Any) -> PredictedMeans:
        """Probabilities of a true "yes" of people with these covariates who made these reports.

        ``Q[1, r] G/(Q[0, r] (1 − G) + Q[1, r] G)``, with delta-method errors.

        Parameters
        ----------
        rows : table
            Every column of the formula, the outcome with *reports*.
        """
        if self.reporting is None:
            raise missing_reporting()
        X = self._model_matrix(rows)
        no, yes, slope = self.link_function.parts(X @ self.coefficients)
        given = self.reporting.given(rows)
        found = posterior(np.column_stack([no, yes]), given)[:, 1]
        moves = (slope * given[:, 0] * given[:, 1] / (given[:, 0] * no + given[:, 1] * yes) ** 2)[:, None] * X
        error = np.sqrt(np.einsum("ij,jk,ik->i", moves, self.covariance, moves))
        return PredictedMeans(
            estimate=frozen(found), std_error=frozen(error), scale="probability", freedom=self.degrees_of_freedom
        )

    @property
    def interval_methods(self) -> tuple[str, ...]:
        """Those of every likelihood fit, and "score".

        "score": from the lowest to the highest value that a score test does not reject. It does not use the maximum of
        the likelihood, and keeps its level under strong randomisation, where that maximum is often infinite and profile
        intervals are too short. An end is infinite where the reports do not bound it. (nan, nan): every value is
        rejected, the reports contradict the model. Not with weights or clusters.
        """
        return (*super().interval_methods, "score")

    def _by_test(self, level: float, method: str) -> Floats:
        if method != "score":
            return super()._by_test(level, method)
        from discreet.estimate.regressions.likelihood.score import ScoreTest

        self._refuse_survey("score intervals")
        test = ScoreTest(joined([rows for rows in self.source.chunks() if rows.size]), self.link_function)
        quantile = two_sided_quantile(level)
        return np.array([test.interval(j, quantile) for j in range(self.coefficients.size)])

    def marginal_effects(self, discrete: Sequence[str] | None = None) -> MarginalEffects:
        """Average marginal effects on the probability of a true "yes".

        Parameters
        ----------
        discrete : sequence of str, optional
            0/1 columns, whose effect is the mean difference between 1 and 0 (a risk difference) instead of a
            derivative. By default all such columns of a fit by formula, as for every fit by formula, and none of a fit
            to arrays.

        Notes
        -----
        Constant columns are left out. Covariates are taken as given: the standard errors are those of the
        coefficients, carried over by the delta method. With weights the means are weighted.
        """
        columns = [j for j, constant in enumerate(self.facts.constant) if not constant]
        if discrete is None:
            switched: Switches = {}
            if self.matrices is not None:
                switched = effects.switches(self.source, columns, self.matrices)
        else:
            named = [
                arguments.text(name, "a name", EstimationError)
                for name in arguments.listed(discrete, "discrete", EstimationError)
            ]
            unknown = [name for name in named if name not in self.names]
            if unknown:
                raise EstimationError(f"discrete must name columns of X, and {unknown[0]!r} is none")
            switched = {self.names.index(name): (self.names.index(name),) for name in named}
        return effects.marginal_effects(
            self.source,
            self.coefficients,
            self.covariance,
            self.link_function,
            self.names,
            columns,
            switched,
            self.degrees_of_freedom,
            effects.effect_notes(self.matrices),
        ).of(self)

    @cached_property
    def _fitted(self) -> FittedReports:
        return goodness.fitted_reports(self.source, self.coefficients, self.link_function)

    @property
    def fitted_reports(self) -> Floats:
        """Fitted probability of a report 1, for every row; with more than two reports, one column for each."""
        return self._fitted.probability

    def residuals(self, kind: str = "pearson") -> Floats:
        """Residuals of the reports: "pearson", "deviance" or "response"."""
        return goodness.residuals(self._fitted, arguments.text(kind, "kind", EstimationError))

    @property
    def deviance(self) -> float:
        """``−2 log L``; for single yes/no reports the saturated log-likelihood is zero."""
        return -2.0 * self.log_likelihood

    def goodness_of_fit(self, groups: int = 10) -> GoodnessOfFit:
        """Hosmer–Lemeshow test on the reports; see :class:`GoodnessOfFit`."""
        if self.weighted or self.clustered or self.stratified:
            raise EstimationError("the Hosmer–Lemeshow test needs independent, equally weighted rows")
        return goodness.hosmer_lemeshow(self._fitted, groups)

    def naive(self) -> BinaryRegression:
        """The same rows with the reports read as truths: what an analyst who ignores the randomisation gets.

        With more than two reports, each is read as the truth under which it is likelier.
        """
        return self.refit(changed(self.source, literally))

    @property
    def exponentiated(self) -> str | None:
        """What the exponentials of the coefficients are."""
        return "odds ratios" if self.link == "logit" else None

    def to_dict(self, level: float = 0.95, method: str | None = None) -> dict[str, Any]:
        """Plain data for JSON."""
        designs = self.facts.designs
        return super().to_dict(level, method) | {
            "link": self.link,
            "penalty": self.penalty,
            "designs": None if designs is None else [_written(no, yes) for no, yes in designs],
            "epsilon": display.plain(list(self.facts.epsilon)),
        }


def _written(no: tuple[float, ...], yes: tuple[float, ...]) -> dict[str, Any]:
    """A design as plain data: two probabilities, or the whole channel."""
    return {"p00": no[0], "p11": yes[1]} if len(no) == 2 else {"channel": [list(no), list(yes)]}
