"""What a regression returns: frozen, and holding everything that inference needs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from discreet import arguments
from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.data.checks import checked_matrix
from discreet.estimate.formulas import Matrices
from discreet.estimate.formulas.new_rows import is_table, new_rows
from discreet.estimate.intervals.levels import two_sided_quantile
from discreet.estimate.regressions.coefficient_tests import Test, likelihood_ratio_test, named
from discreet.estimate.regressions.coefficients import Coefficients
from discreet.estimate.regressions.likelihood import inference
from discreet.estimate.regressions.likelihood.objective import Moments, Objective
from discreet.estimate.regressions.likelihood.search import listed
from discreet.estimate.regressions.likelihood.truth_given_report import Reporting
from discreet.estimate.regressions.optimise import Surface
from discreet.estimate.reporting import display


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LikelihoodFit(Coefficients):
    """A fitted likelihood: coefficients, and inference about them.

    Attributes
    ----------
    coefficients, estimate : array
        Maximum likelihood estimates.
    names : tuple of str
    n : int
        Number of rows.
    covariance, std_error : array
        By the method ``covariance_kind``: "model" (inverse information); "robust" when there are survey weights;
        "cluster" when there are clusters; "survey" when there are strata.
    freedom, degrees_of_freedom : float or array, float
        Of Student's t in Wald intervals and tests, of each coefficient and the fewest: clusters minus strata, or fewer
        where a small stratum makes most of a variance; infinite for a model-based covariance.
    log_likelihood : float
    converged : bool
        Whether this is a finite maximum, and none higher is known.
    status : str
        What happened, in words.
    notes : tuple of str
        What a reader should know.
    formula, modelled : str or None
        For a fit by formula: as it was given, and what it models, such as ``P(cheated = "yes")``.
    """

    coefficients: Floats
    names: tuple[str, ...]
    n: int
    objective: Objective
    moments: Moments
    scale: Floats
    direction: Floats | None
    converged: bool
    status: str
    notes: tuple[str, ...]
    weighted: bool
    clustered: bool
    passes: int
    stratified: bool = False
    formula: str | None = None
    modelled: str | None = None
    chosen_covariance: str | None = None
    matrices: Matrices | None = None
    reporting: Reporting | None = None

    def __post_init__(self) -> None:
        self.coefficients.flags.writeable = False

    @property
    def log_likelihood(self) -> float:
        """Log-likelihood at the estimate; with survey weights, the weighted sum."""
        return self.moments.value

    @property
    def surface(self) -> Surface:
        """What was maximised: the log-likelihood, or a penalised one."""
        return self.objective

    @property
    def height(self) -> float:
        """Its value at the estimate."""
        return self.log_likelihood

    @property
    def covariance_kind(self) -> str:
        """How ``covariance`` is computed."""
        if self.chosen_covariance is not None:
            return self.chosen_covariance
        if self.stratified:
            return "survey"
        return "cluster" if self.clustered else "robust" if self.weighted else self._plain_covariance

    @property
    def _plain_covariance(self) -> str:
        return "model"

    @cached_property
    def freedom(self) -> float | Floats:
        """Degrees of freedom of each coefficient: units minus strata or fewer for a survey, infinite for a model."""
        sampling, kind = self.moments.sampling, self.covariance_kind
        if kind == "robust":
            return float(max(self.n - 1, 1))
        if sampling is None or kind not in ("cluster", "survey"):
            return math.inf
        return sampling.degrees_of(inference.inverse(self.moments.observed, self.direction, self.scale))

    def _model_matrix(self, X: Any) -> Floats:
        """Covariates to predict for: a table with the columns of the formula, or the model matrix itself."""
        if not is_table(X) or (self.matrices is None and not isinstance(X, Mapping)):
            return checked_matrix(X, "X")
        if self.matrices is None:
            raise EstimationError("a table to predict for needs a fit by formula; give the model matrix")
        return checked_matrix(self.matrices.matrix(new_rows(self.matrices, X)), "X")

    def with_covariance(self, kind: str) -> Self:
        """The same fit with another covariance: "model", "observed", "robust", "cluster" or "survey"."""
        self.covariance_of(kind)
        return replace(self, chosen_covariance=kind)

    def covariance_of(self, kind: str) -> Floats:
        """Covariance matrix: "model", "observed" (information), "robust" (sandwich), "cluster" or "survey"."""
        return inference.covariance(kind, self.moments, self.n, self.direction, self.scale)

    @cached_property
    def covariance(self) -> Floats:
        """Covariance matrix of the coefficients."""
        matrix = self.covariance_of(self.covariance_kind)
        matrix.flags.writeable = False
        return matrix

    @property
    def aic(self) -> float:
        """Akaike's information criterion; nan with survey weights, which give no likelihood."""
        return math.nan if self.weighted else 2.0 * self.coefficients.size - 2.0 * self.log_likelihood

    @property
    def bic(self) -> float:
        """Schwarz's criterion, with log n per coefficient; nan with survey weights."""
        return math.nan if self.weighted else math.log(self.n) * self.coefficients.size - 2.0 * self.log_likelihood

    @property
    def interval_methods(self) -> tuple[str, ...]:
        """Wald's interval, and the profile likelihood's, which has two names in use.

        "profile", or "likelihood-ratio": the values that a likelihood-ratio test does not reject; slower, better in
        small samples. When the estimate itself is infinite, as is common under strong randomisation, it is too short;
        yes/no fits have "score" for that. Not with weights, clusters or strata, where the likelihood ratio has another
        distribution.
        """
        return ("wald", "profile", "likelihood-ratio")

    def _by_test(self, level: float, method: str) -> Floats:
        del method  # both names are those of the profile
        self._refuse_survey("profile intervals")
        quantile = two_sided_quantile(level)
        at = (self.surface, self.coefficients, self.height)
        ends = [
            inference.profile_interval(*at, j, quantile, self.scale, float(self.std_error[j]))
            for j in range(self.coefficients.size)
        ]
        return np.array(ends)

    def _refuse_survey(self, what: str) -> None:
        if self.weighted or self.clustered or self.stratified:
            raise EstimationError(
                f"{what} need independent, equally weighted rows: with weights, clusters or strata the likelihood "
                "ratio is not chi-square; use wald"
            )

    def test(self, names: str | Sequence[str], method: str = "wald", value: float = 0.0) -> Test:
        """Test whether the named coefficients all have this value.

        Parameters
        ----------
        names : str or sequence of str
        method : {"wald", "likelihood-ratio"}
        value : float
            The value under the hypothesis.
        """
        method = arguments.choice(method, "method", ("wald", "likelihood-ratio"), EstimationError)
        if method == "wald":
            return super().test(names, method, value)
        value = arguments.number(value, "value", EstimationError)
        chosen, which = named(self.names, names)
        self._refuse_survey("likelihood-ratio tests")
        zero = np.zeros(self.coefficients.size)
        level, _ = inference.restricted_maximum(
            self.surface, self.coefficients, dict.fromkeys(which, value), self.scale, (zero,)
        )
        return likelihood_ratio_test(chosen, self.height, level, len(which))

    @property
    def title(self) -> str:
        """How a summary calls the model."""
        return "Regression on randomised reports"

    def header(self) -> list[tuple[str, str]]:
        """What a summary says about the model, as pairs of name and text."""
        named = [("Formula", self.formula), ("Modelled", self.modelled)]
        return [
            *((name, text) for name, text in named if text is not None),
            ("No. observations", f"{self.n:,}"),
            ("Method", self._method_text),
            ("Log-likelihood", f"{self.log_likelihood:.6g}" if self.weighted else f"{self.log_likelihood:.4f}"),
            ("Covariance", self._covariance_text),
            ("AIC", display.number(self.aic)),
            ("Converged", "yes" if self.converged else "no"),
            ("BIC", display.number(self.bic)),
        ]

    @property
    def _method_text(self) -> str:
        return "maximum likelihood"

    @property
    def _covariance_text(self) -> str:
        """The covariance, and the clusters and strata behind it."""
        sampling, kind = self.moments.sampling, self.covariance_kind
        if sampling is None or kind not in ("cluster", "survey"):
            return kind
        if not self.stratified:
            return f"{kind} ({sampling.clusters:,} clusters)"
        what = "clusters within" if self.clustered else "rows in"
        return f"{kind} ({sampling.clusters:,} {what} {sampling.strata:,} strata)"

    def _said(self, bounds: Floats, method: str | None) -> tuple[str, ...]:
        notes = ((self.status,) if self.status != "converged" else ()) + self.notes
        if method == "score" and np.isnan(bounds).any():
            names = listed([name for name, (low, _) in zip(self.names, bounds, strict=True) if math.isnan(low)])
            notes += (f"the score test rejects every value of {names}: the reports contradict the model",)
        return notes

    def to_dict(self, level: float = 0.95, method: str | None = None) -> dict[str, Any]:
        """Plain data for JSON; "interval" holds one [low, high] per coefficient, null where an end is infinite."""
        return self._fit_data(level, method) | {
            "interval_method": self.default_interval if method is None else method,
            "covariance_kind": self.covariance_kind,
            "degrees_of_freedom": display.plain(self.degrees_of_freedom),
            "log_likelihood": display.plain(self.log_likelihood),
            "aic": display.plain(self.aic),
            "bic": display.plain(self.bic),
        }
