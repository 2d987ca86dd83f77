"""Does the model fit the reports? Residuals and the Hosmer–Lemeshow test for randomised response."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import arguments
from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.data.map_reduce import Source
from discreet.estimate.regressions.coefficient_tests import chi_square_tail
from discreet.estimate.regressions.likelihood.links import Link
from discreet.estimate.regressions.likelihood.rows import Rows, made_by
from discreet.estimate.regressions.likelihood.yes_no import linear_predictor, report_probabilities
from discreet.estimate.reporting import display
from discreet.estimate.reporting.result import Shown, frozen
from discreet.estimate.reporting.table import Column, ResultTable, labels


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class GoodnessOfFit(Shown):
    """Hosmer–Lemeshow test on reports.

    Rows are grouped by their fitted probability q of a report 1; in each group the number of such reports is compared
    with its expectation. For large samples the statistic ``Σ (O − E)²/Σ q(1 − q)`` is approximately chi-square
    with two degrees of freedom less than groups (Hosmer and Lemeshow 1980; for randomised response see the R
    package GLMMRR). It sees the model through the randomisation: with a small ε it has little power.

    With more than two reports, rows are grouped by the fitted probability G of a true "yes", O adds up debiased answers
    (see :class:`FittedReports`), E adds up G, and the variance of a debiased answer stands for q(1 − q).
    """

    observed: Floats
    expected: Floats
    variance: Floats
    sizes: NDArray[np.int64]
    statistic: float
    degrees_of_freedom: int
    p_value: float

    def _page(self) -> ResultTable:
        z = (self.observed - self.expected) / np.sqrt(self.variance)
        return ResultTable(
            title=f"Hosmer–Lemeshow: {', '.join(self._figures())}",
            columns=(
                labels("group", range(1, self.sizes.size + 1)),
                Column("rows", self.sizes, write=display.count),
                Column("observed", self.observed, "reports", display.amount),
                Column("expected", self.expected, write=display.amount),
                Column("z", z, write="{:.2f}".format),
            ),
            rows=self.sizes.size,
        )

    def heading(self) -> str:
        """What was tested."""
        return "Hosmer–Lemeshow"

    def _figures(self) -> tuple[str, ...]:
        return f"χ²({self.degrees_of_freedom}) = {self.statistic:.4f}", f"p = {self.p_value:.4g}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "statistic": self.statistic,
            "degrees_of_freedom": self.degrees_of_freedom,
            "p_value": self.p_value,
            "sizes": display.plain(self.sizes),
            "observed": display.plain(self.observed),
            "expected": display.plain(self.expected),
        }


@dataclass(frozen=True, eq=False)
class FittedReports:
    """Each row's answer as a number, beside its fitted mean and variance.

    For two reports the answer is the report, with mean q = P(report 1) and variance q(1 − q). For more it is the
    debiased answer of least variance at the fitted probabilities m_r of the reports,
    ``φ_r = G + d_r/(m_r A)``, A = Σ d_r²/m_r, d_r = P(r | yes) − P(r | no): its mean is G, its variance 1/A, and for
    two reports ``φ − G = (y − q)/(p00 + p11 − 1)``, so that nothing new is said.

    ``probability`` holds q, or one column per report where there are more than two.
    """

    answer: Floats
    mean: Floats
    variance: Floats
    made: Floats
    probability: Floats


def fitted_reports(source: Source, theta: Floats, link: Link) -> FittedReports:
    """The reports and their fitted probabilities."""
    parts = [_fitted_chunk(rows, theta, link) for rows in source.chunks()]
    fields = FittedReports.__dataclass_fields__
    return FittedReports(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in fields})


def _fitted_chunk(rows: Rows, theta: Floats, link: Link) -> FittedReports:
    eta = linear_predictor(theta, rows)
    chances = report_probabilities(eta, link, rows)
    made = made_by(chances[None], rows.report)[0]
    if rows.reports == 2:
        q = chances[1]
        return FittedReports(rows.report.astype(float), q, q * (1 - q), made, q)
    yes = link.probability(eta)
    d = rows.difference
    with np.errstate(divide="ignore", invalid="ignore"):
        information = np.where(chances > 0, d * d / chances, 0.0).sum(axis=0)
        own = made_by(np.broadcast_to(d, chances.shape)[None], rows.report)[0]
        answer = yes + own / (made * information)
        return FittedReports(answer, yes, 1.0 / information, made, chances.T)


def hosmer_lemeshow(reports: FittedReports, groups: int) -> GoodnessOfFit:
    """The test; rows with equal fitted means stay in one group."""
    groups = arguments.whole(groups, "groups", EstimationError, least=3, most=reports.mean.size)
    edges = np.unique(np.quantile(reports.mean, np.arange(1, groups) / groups))
    group = np.searchsorted(edges, reports.mean, side="left")
    sizes = np.bincount(group)
    used = sizes > 0
    observed, expected, variance = (
        np.bincount(group, weights=values)[used].astype(float)
        for values in (reports.answer, reports.mean, reports.variance)
    )
    count = int(used.sum())
    if count < 3:
        raise EstimationError("the fitted probabilities have fewer than three different groups; nothing to test")
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = float(np.sum((observed - expected) ** 2 / variance))
    p = chi_square_tail(statistic, count - 2)
    return GoodnessOfFit(
        observed=frozen(observed),
        expected=frozen(expected),
        variance=frozen(variance),
        sizes=sizes[used],
        statistic=statistic,
        degrees_of_freedom=count - 2,
        p_value=p,
    )


def residuals(reports: FittedReports, kind: str) -> Floats:
    """Residuals of the reports.

    Response: ``answer − mean``. Pearson: the same over its standard deviation. Deviance: ``±√(−2 log P(report))``.
    """
    difference = reports.answer - reports.mean
    if kind == "response":
        return np.asarray(difference)
    with np.errstate(divide="ignore", invalid="ignore"):
        if kind == "pearson":
            return np.asarray(difference / np.sqrt(reports.variance))
        if kind == "deviance":
            return np.asarray(np.sign(difference) * np.sqrt(-2.0 * np.log(reports.made)))
    raise EstimationError(f"residuals must be pearson, deviance or response, not {kind!r}")
