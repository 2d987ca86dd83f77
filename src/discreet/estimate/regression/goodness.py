"""Does the model fit the reports? Residuals and the Hosmer–Lemeshow test for randomised response."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import EstimationError
from discreet.estimate import display
from discreet.estimate.regression.inference import chi_square_tail
from discreet.estimate.regression.likelihood import linear_predictor, report_probability
from discreet.estimate.regression.links import Link
from discreet.estimate.regression.rows import Source

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class GoodnessOfFit:
    """Hosmer–Lemeshow test on reports.

    Rows are grouped by their fitted probability q of a report 1; in each group the number of such reports is compared
    with its expectation. For large samples the statistic ``Σ (O − E)²/Σ q(1 − q)`` is approximately chi-square
    with two degrees of freedom less than groups (Hosmer and Lemeshow 1980; for randomised response see the R
    package GLMMRR). It sees the model through the randomisation: with a small ε it has little power.
    """

    observed: Floats
    expected: Floats
    variance: Floats
    sizes: NDArray[np.int64]
    statistic: float
    degrees_of_freedom: int
    p_value: float

    def summary(self) -> str:
        """A table to read."""
        rows = [
            (str(g + 1), f"{size:,}", f"{o:.1f}", f"{e:.1f}", f"{(o - e) / np.sqrt(v):.2f}")
            for g, (size, o, e, v) in enumerate(
                zip(self.sizes, self.observed, self.expected, self.variance, strict=True)
            )
        ]
        body = display.aligned(("group", "rows", "reports", "expected", "z"), rows)
        return (
            f"{body}\nHosmer–Lemeshow: chi2({self.degrees_of_freedom}) = {self.statistic:.4f}, p = {self.p_value:.4g}"
        )

    def __repr__(self) -> str:
        return self.summary()

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


def fitted_reports(source: Source, theta: Floats, link: Link) -> tuple[NDArray[np.bool_], Floats]:
    """The reports and their fitted probabilities: nine bytes a row."""
    reports, fitted = [], []
    for rows in source.chunks():
        reports.append(rows.report)
        fitted.append(report_probability(linear_predictor(theta, rows), link, rows))
    return np.concatenate(reports), np.concatenate(fitted)


def hosmer_lemeshow(report: NDArray[np.bool_], fitted: Floats, groups: int) -> GoodnessOfFit:
    """The test; rows with equal fitted probabilities stay in one group."""
    if groups < 3:
        raise EstimationError(f"groups must be at least 3, not {groups}")
    edges = np.unique(np.quantile(fitted, np.arange(1, groups) / groups))
    group = np.searchsorted(edges, fitted, side="left")
    sizes = np.bincount(group)
    used = sizes > 0
    observed: Floats = np.bincount(group, weights=report)[used].astype(float)
    expected: Floats = np.bincount(group, weights=fitted)[used].astype(float)
    variance: Floats = np.bincount(group, weights=fitted * (1 - fitted))[used].astype(float)
    count = int(used.sum())
    if count < 3:
        raise EstimationError("the fitted probabilities have fewer than three different groups; nothing to test")
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = float(np.sum((observed - expected) ** 2 / variance))
    p = chi_square_tail(statistic, count - 2)
    return GoodnessOfFit(observed, expected, variance, sizes[used], statistic, count - 2, p)


def residuals(report: NDArray[np.bool_], fitted: Floats, kind: str) -> Floats:
    """Residuals of the reports.

    Pearson: ``(y − q)/√(q(1 − q))``. Deviance: ``±√(−2 log P(y))``. Response: ``y − q``.
    """
    difference = report - fitted
    if kind == "response":
        return np.asarray(difference)
    with np.errstate(divide="ignore", invalid="ignore"):
        if kind == "pearson":
            return np.asarray(difference / np.sqrt(fitted * (1 - fitted)))
        if kind == "deviance":
            return np.asarray(np.sign(difference) * np.sqrt(-2.0 * np.log(np.where(report, fitted, 1 - fitted))))
    raise EstimationError(f"residuals must be pearson, deviance or response, not {kind!r}")
