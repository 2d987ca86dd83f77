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
from discreet.estimate.coefficients import Coefficients
from discreet.estimate.data.checks import checked_matrix
from discreet.estimate.formulas import Matrices
from discreet.estimate.formulas.new_rows import is_table, new_rows
from discreet.estimate.intervals.levels import checked_level, two_sided_quantile, wald
from discreet.estimate.likelihood import inference
from discreet.estimate.likelihood.inference import Test
from discreet.estimate.likelihood.objective import Moments, Objective, Surface
from discreet.estimate.likelihood.search import listed
from discreet.estimate.likelihood.truth_given_report import Reporting
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
    degrees_of_freedom : float
        Clusters minus strata, of Student's t in Wald intervals and tests; infinite where rows are independent.
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

    @property
    def degrees_of_freedom(self) -> float:
        """Of Student's t: clusters minus strata for a cluster or survey covariance, infinite otherwise."""
        sampling = self.moments.sampling
        if sampling is None or self.covariance_kind not in ("cluster", "survey"):
            return math.inf
        return sampling.degrees_of_freedom

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

    def interval(self, level: float = 0.95, method: str | None = None) -> Floats:
        """Confidence intervals, one (low, high) row per coefficient.

        Parameters
        ----------
        level : float
        method : {"wald", "profile"}, optional
            "wald" (default): estimate ± z × standard error; with clusters or strata Student's t in place of z.
            "profile", or "likelihood-ratio": the values that a likelihood-ratio test does not reject; slower, better in
            small samples. When the estimate itself is infinite, as is common under strong randomisation, it is too
            short; yes/no fits have "score" for that. Not with weights, clusters or strata, where the likelihood ratio
            has another distribution.
        """
        level = checked_level(level)
        method = self.default_interval if method is None else method
        method = inference.SYNONYMS.get(method, method) if isinstance(method, str) else method
        method = arguments.choice(method, "the interval method", tuple(inference.INTERVALS), EstimationError)
        if method == "wald":
            quantile = two_sided_quantile(level, self.degrees_of_freedom)
            with np.errstate(invalid="ignore"):
                return wald(self.coefficients, self.std_error, quantile)
        self._refuse_survey("profile intervals")
        quantile = two_sided_quantile(level)
        ends = [
            inference.profile_interval(
                self.surface,
                self.coefficients,
                self.height,
                j,
                quantile,
                self.scale,
                float(self.std_error[j]),
            )
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
        value = arguments.number(value, "value", EstimationError)
        method = arguments.choice(method, "method", ("wald", "likelihood-ratio"), EstimationError)
        if method == "wald":
            known = (self.names, self.coefficients, self.covariance)
            return inference.wald_test(*known, names, value, self.degrees_of_freedom)
        chosen, which = inference.named(self.names, names)
        self._refuse_survey("likelihood-ratio tests")
        zero = np.zeros(self.coefficients.size)
        level, _ = inference.restricted_maximum(
            self.surface, self.coefficients, dict.fromkeys(which, value), self.scale, (zero,)
        )
        statistic = max(2.0 * (self.height - level), 0.0)
        return Test(method, chosen, statistic, len(which), inference.chi_square_tail(statistic, len(which)))

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
