"""What a regression with an intercept for every group returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.data.map_reduce import Held
from discreet.estimate.formulas import Matrices
from discreet.estimate.formulas.new_rows import new_rows
from discreet.estimate.intervals.levels import two_sided_quantiles
from discreet.estimate.regressions.coefficient_tests import Test, likelihood_ratio_test
from discreet.estimate.regressions.coefficients import Coefficients
from discreet.estimate.regressions.likelihood.averaged_effects import averaged_effects
from discreet.estimate.regressions.likelihood.effects import MarginalEffects, effect_notes, switches
from discreet.estimate.regressions.likelihood.links import Link
from discreet.estimate.regressions.likelihood.random_intercept import Maximum
from discreet.estimate.regressions.likelihood.truth_given_report import (
    Reporting,
    missing_reporting,
    posterior,
    posterior_slopes,
)
from discreet.estimate.regressions.predicted_rows import PredictedMeans
from discreet.estimate.regressions.sandwich import bread
from discreet.estimate.reporting import display
from discreet.estimate.reporting.result import frozen
from discreet.estimate.sampling.linearization import Linearization

#: What is said of a fit that found no maximum.
NO_MAXIMUM = (
    "no finite maximum was found: the likelihood goes on rising, as it does where groups have few rows and the "
    "randomisation is strong; fit without groups, and name them as clusters in the plan"
)
#: An error of the quadrature that a reader should know of, in units of log-likelihood.
_WORTH_SAYING = 1e-4


def quadrature_note(maximum: Maximum) -> tuple[str, ...]:
    """Say how exact the log-likelihood is where that is not to many digits."""
    if maximum.quadrature_error < _WORTH_SAYING:
        return ()
    return (f"the quadrature of {maximum.model.nodes} nodes is exact to {maximum.quadrature_error:.1g} only",)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class RandomInterceptRegression(Coefficients):
    """A regression of a randomised yes/no answer in which every group has an intercept of its own.

    Made by :func:`discreet.estimate.regressions.api` with ``(1 | group)`` in the formula. The coefficients are those of
    people *within* a group; the last one is the standard deviation of the groups' intercepts.

    Attributes
    ----------
    coefficients, estimate, std_error, covariance : array
        Maximum of the marginal likelihood; errors from its observed information, or, with weights, strata or clusters,
        from the spread of the scores of groups or of the clusters that hold them.
    freedom, degrees_of_freedom : array, float
        Of Student's t, of each coefficient and the fewest: of a survey, else between and within groups.
    groups : int
    log_likelihood, log_likelihood_without : float
        Of this fit, and of the same without groups.
    nodes : int
        Of the adaptive quadrature; ``quadrature_error`` is what more of them would change.
    """

    coefficients: Floats
    covariance: Floats
    names: tuple[str, ...]
    n: int
    group: str
    link: Link
    maximum: Maximum = field(repr=False)
    sampling: Linearization | None = None
    labels: tuple[Any, ...]
    log_likelihood_without: float
    converged: bool
    status: str
    notes: tuple[str, ...] = ()
    formula: str | None = None
    modelled: str | None = None
    matrices: Matrices | None = None
    reporting: Reporting | None = None

    @property
    def groups(self) -> int:
        """Number of groups."""
        return len(self.labels)

    @cached_property
    def freedom(self) -> Floats:
        """Degrees of freedom of each coefficient: those of the survey, or between and within groups.

        A column that is the same in all rows of a group is known from as many groups as there are, less the number of
        such columns; one that varies from the rows within them (Schluchter and Elashoff 1990).
        """
        model = self.maximum.model
        if self.sampling is not None:
            return self.sampling.degrees_of(bread(self.maximum.information))
        X, starts = model.rows.X, model.starts
        same = np.append((X[starts][model.of_row] == X).all(axis=0), True)
        between = self.groups - int(same[:-1].sum())
        within = self.n - self.groups - int((~same).sum())
        return np.maximum(np.where(same, between, within), 1.0)

    @property
    def log_likelihood(self) -> float:
        """Marginal log-likelihood at the estimate."""
        return self.maximum.value

    @property
    def nodes(self) -> int:
        """Nodes of the quadrature in every group."""
        return self.maximum.model.nodes

    @property
    def quadrature_error(self) -> float:
        """How much the log-likelihood changes with twice as many nodes."""
        return self.maximum.quadrature_error

    def _wald(self, level: float) -> Floats:
        """Wald intervals; of the standard deviation of the groups on the scale of its logarithm."""
        ends = super()._wald(level)
        quantile, spread = two_sided_quantiles(level, self.freedom)[-1], self.coefficients[-1]
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            ends[-1] = spread * np.exp(np.array([-1, 1]) * quantile * self.std_error[-1] / spread)
        return ends

    def test(self, names: str | Sequence[str], method: str = "wald", value: float = 0.0) -> Test:
        """Wald test of whether the named coefficients all have this value; the spread has :meth:`test_of_groups`."""
        if self.names[-1] in ((names,) if isinstance(names, str) else tuple(names)):
            raise EstimationError(f"names to test must be among {', '.join(self.names[:-1])}; see test_of_groups")
        return super().test(names, method, value)

    def predict(self, rows: Any) -> PredictedMeans:
        """The probability of a true "yes" for people with these covariates, averaged over all groups.

        ``∫ G(x'β + σu) φ(u) du``, by a quadrature of 40 points; errors by the delta method.

        Parameters
        ----------
        rows : table
            The columns of the right side of the formula, without the group.
        """
        return self._with_errors(*self._chances(rows))

    def truth_given_report(self, rows: Any) -> PredictedMeans:
        """Probabilities of a true "yes" of people with these covariates who made these reports.

        Averaged over all groups, with errors by the delta method.

        Parameters
        ----------
        rows : table
            Every column of the formula but the group, the outcome with *reports*.
        """
        if self.reporting is None:
            raise missing_reporting()
        yes, moves = self._chances(rows)
        prior, given = np.column_stack([1 - yes, yes]), self.reporting.given(rows)
        found = posterior(prior, given)
        slopes = posterior_slopes(found, prior, given, np.stack([-moves, moves], axis=1))
        return self._with_errors(found[:, 1], slopes[:, 1])

    def _chances(self, rows: Any) -> tuple[Floats, Floats]:
        """Probabilities averaged over all groups, and their derivatives."""
        if self.matrices is None:
            raise EstimationError("predictions need a fit by formula")
        X = self.matrices.matrix(new_rows(self.matrices, rows))
        nodes, weights = np.polynomial.hermite_e.hermegauss(40)
        weights = weights / weights.sum()
        eta = (X @ self.coefficients[:-1])[:, None] + self.coefficients[-1] * nodes
        _, yes, slope = self.link.parts(eta)
        return yes @ weights, np.column_stack([X * (slope @ weights)[:, None], slope @ (weights * nodes)])

    def _with_errors(self, chances: Floats, slopes: Floats) -> PredictedMeans:
        error = np.sqrt(np.einsum("ij,jk,ik->i", slopes, self.covariance, slopes))
        return PredictedMeans(
            estimate=frozen(chances), std_error=frozen(error), scale="probability", freedom=self.degrees_of_freedom
        )

    def marginal_effects(self) -> MarginalEffects:
        """Average marginal effects of every covariate but a constant on the probability of a true "yes".

        Means over the rows of ``∂/∂x_j ∫ G(x'β + σu) φ(u) du``, or of the difference between 1 and 0 for columns that
        are one or the other: averaged over all groups.
        """
        model = self.maximum.model
        X = model.rows.X
        share = np.full(len(X), 1 / len(X))
        if model.weights is not None:
            share = model.weights[model.of_row] / model.weights[model.of_row].sum()
        columns = [j for j in range(X.shape[1]) if np.ptp(X[:, j]) > 0]
        nodes, weights = np.polynomial.hermite_e.hermegauss(20)
        weights = weights / weights.sum()

        switched = {} if self.matrices is None else switches(Held((model.rows,)), columns, self.matrices)

        def at(theta: Floats) -> Floats:
            found = np.zeros(len(columns))
            for node, weight in zip(nodes, weights, strict=True):
                eta = X @ theta[:-1] + theta[-1] * node
                slope = float(share @ self.link.parts(eta)[2])
                for place, j in enumerate(columns):
                    one = slope * theta[j]
                    if j in switched:
                        others = list(switched[j])
                        off = eta - X[:, others] @ theta[others]
                        one = float(share @ (self.link.parts(off + theta[j])[1] - self.link.parts(off)[1]))
                    found[place] += weight * one
            return found

        def average(points: Floats) -> Floats:
            return np.array([at(theta) for theta in points])

        known = (self.coefficients, self.covariance, [self.names[j] for j in columns], self.degrees_of_freedom)
        return averaged_effects(average, *known, effect_notes(self.matrices)).of(self)

    def test_of_groups(self) -> Test:
        """Likelihood-ratio test of whether groups differ at all.

        No spread is on the boundary of what is possible: the p value is half that of chi-square with one degree of
        freedom (Self and Liang 1987). A weighted or clustered sample has no likelihood to compare.
        """
        if self.sampling is not None:
            raise EstimationError(
                "a likelihood-ratio test of groups needs a sample without weights, strata and clusters; look at the "
                f'interval of "{self.names[-1]}"'
            )
        found = likelihood_ratio_test(self.names[-1:], self.log_likelihood, self.log_likelihood_without, 1)
        return replace(found, p_value=found.p_value / 2 if found.statistic > 0 else 1.0)

    def group_effects(self) -> dict[Any, tuple[float, float]]:
        """Mean and standard deviation of every group's intercept given its reports."""
        means, deviations = self.maximum.model.effects(self.coefficients)
        return {label: (float(m), float(d)) for label, m, d in zip(self.labels, means, deviations, strict=True)}

    @property
    def title(self) -> str:
        """How a summary calls the model."""
        return f"Randomised yes/no answer with an intercept for every group, link {self.link.name}"

    def header(self) -> list[tuple[str, str]]:
        """What a summary says about the model, as pairs of name and text."""
        named = [("Formula", self.formula), ("Modelled", self.modelled)]
        tested = []
        if self.sampling is None:
            test = self.test_of_groups()
            tested = [("Groups differ", f"half χ²(1) = {test.statistic:.3f}, p = {test.p_value:.3g}")]
        return [
            *((name, text) for name, text in named if text is not None),
            ("No. observations", f"{self.n:,}"),
            ("Groups", f"{self.groups:,} of {self.group}"),
            ("Log-likelihood", f"{self.log_likelihood:.4f}"),
            *tested,
            ("Method", f"marginal likelihood, {self.nodes} nodes"),
            ("Converged", "yes" if self.converged else "no"),
        ]

    def _said(self, bounds: Floats, method: str | None) -> tuple[str, ...]:
        del bounds, method  # there is one method
        return ((self.status,) if self.status != "converged" else ()) + self.notes

    def to_dict(self, level: float = 0.95, method: str | None = None) -> dict[str, Any]:
        """Plain data for JSON."""
        return self._fit_data(level, method) | {
            "link": self.link.name,
            "group": self.group,
            "groups": self.groups,
            "degrees_of_freedom": display.plain(self.degrees_of_freedom),
            "log_likelihood": display.plain(self.log_likelihood),
            "log_likelihood_without": display.plain(self.log_likelihood_without),
            "nodes": self.nodes,
            "quadrature_error": display.plain(self.quadrature_error),
        }
