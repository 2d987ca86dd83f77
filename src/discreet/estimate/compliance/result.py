"""What a model of non-compliance says: its shares with errors, and tests of whether people complied."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet import arguments
from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.channels.likelihood_intervals import likelihood_ratio
from discreet.estimate.compliance.maximum import Likelihood
from discreet.estimate.compliance.model import Model
from discreet.estimate.intervals.levels import checked_level, two_sided_quantile, wald
from discreet.estimate.regressions.coefficient_tests import chi_square_tail
from discreet.estimate.reporting import display
from discreet.estimate.reporting.result import Result, frozen
from discreet.estimate.reporting.table import SHARES, Axis, Column, Ends, ResultTable, interval_heading, labels

#: Differences of log-likelihoods below this are rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True)
class ComplianceTest:
    """A likelihood-ratio test of whether people complied.

    Attributes
    ----------
    hypothesis : str
        What is tested.
    statistic : float
        Twice the gain in log-likelihood without the hypothesis.
    degrees_of_freedom : int
    p_value : float
    boundary : bool
        Whether the hypothesis is on the boundary of what is possible (no share of cheaters is negative). The statistic
        is then zero in half of the samples and chi-square in the other half, and the p value is half the usual one
        (Self and Liang 1987); it is 1 where the statistic is zero.
    """

    hypothesis: str
    statistic: float
    degrees_of_freedom: int
    p_value: float
    boundary: bool = False

    @classmethod
    def of(cls, hypothesis: str, statistic: float, degrees_of_freedom: int, *, boundary: bool) -> ComplianceTest:
        """The test with its p value."""
        statistic = statistic if statistic > _ROUNDING else 0.0
        tail = chi_square_tail(statistic, degrees_of_freedom)
        p_value = (tail / 2 if statistic > 0 else 1.0) if boundary else tail
        return cls(
            hypothesis=hypothesis,
            statistic=statistic,
            degrees_of_freedom=degrees_of_freedom,
            p_value=p_value,
            boundary=boundary,
        )

    def figures(self) -> str:
        """The statistic with its law, and the p value."""
        law = f"{'half ' if self.boundary else ''}χ²({self.degrees_of_freedom})"
        return f"{law} = {self.statistic:.4f}, p = {self.p_value:.4g}"

    def summary(self) -> str:
        """One line to read."""
        return f"{self.hypothesis}: {self.figures()}"

    __str__ = summary

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "hypothesis": self.hypothesis,
            "statistic": self.statistic,
            "degrees_of_freedom": self.degrees_of_freedom,
            "p_value": self.p_value,
            "boundary": self.boundary,
        }


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Noncompliance(Result):
    """The shares that a model of non-compliance estimates; made by :func:`discreet.estimate.noncompliance`.

    Attributes
    ----------
    names : tuple of str
        What is estimated, such as "prevalence" and "cheating".
    estimate, std_error : array
        Maximum likelihood; errors from the observed information, by the delta method.
    covariance : array
    n : int
        Number of reports.
    counts : dict
        Counts of the reports by group.
    log_likelihood : float
    on_boundary : bool
        Whether the estimate lies on the boundary of what is possible, such as no cheaters at all.
    notes : tuple of str
        What a reader should know.
    """

    likelihood: Likelihood
    groups: tuple[str, ...]
    offsets: tuple[int, ...]
    notes: tuple[str, ...] = ()
    column: str | None = None

    @property
    def model(self) -> str:
        """The name of the model."""
        return self._model.name

    @property
    def _model(self) -> Model:
        return self.likelihood.model

    @property
    def names(self) -> tuple[str, ...]:
        """What is estimated."""
        return tuple(quantity.name for quantity in self._model.quantities)

    @property
    def n(self) -> int:
        """Number of reports."""
        return int(self.likelihood.counts.sum())

    @property
    def counts(self) -> dict[str, list[int]]:
        """Counts of the reports by group."""
        parts = np.split(self.likelihood.counts, self.offsets[1:])
        return {name: [int(c) for c in part] for name, part in zip(self.groups, parts, strict=True)}

    @cached_property
    def estimate(self) -> Floats:
        """Maximum likelihood estimates."""
        return frozen(np.array([quantity.value(self.likelihood.estimate) for quantity in self._model.quantities]))

    @cached_property
    def covariance(self) -> Floats:
        """``G J⁻¹ Gᵀ``: J the observed information about θ, G the derivatives of the quantities."""
        theta = self.likelihood.estimate
        gradients = np.array([quantity.gradient(theta) for quantity in self._model.quantities])
        information = self.likelihood.information(theta)
        if not np.isfinite(information).all() or np.linalg.cond(information) > 1e14:
            return frozen(np.full((len(gradients),) * 2, math.nan))
        return frozen(gradients @ np.linalg.solve(information, gradients.T))

    @cached_property
    def std_error(self) -> Floats:
        """Standard errors; they mean little where :attr:`on_boundary`."""
        return frozen(np.sqrt(np.diag(self.covariance)))

    @property
    def log_likelihood(self) -> float:
        """Log-likelihood of the reports given the groups."""
        return self.likelihood.value(self.likelihood.estimate)

    @property
    def on_boundary(self) -> bool:
        """Whether the estimate lies on the boundary of what is possible."""
        return not self._model.inside(self.likelihood.unrestricted)

    @property
    def default_interval(self) -> str:
        """The interval method that is used unless another is named."""
        return "likelihood-ratio"

    def interval(self, level: float = 0.95, method: str | None = None) -> Floats:
        """Confidence intervals, one (low, high) row per quantity.

        Parameters
        ----------
        level : float
        method : {"likelihood-ratio", "wald"}, optional
            "likelihood-ratio" (default): all values that a likelihood-ratio test does not reject (Wilks 1938); within
            [0, 1], and valid on the boundary, where it covers 93.8 to 97.5 % instead of 95. "wald": estimate ± z ×
            standard error, not clipped; not for estimates on the boundary.
        """
        level = checked_level(level)
        method = arguments.choice(
            self.default_interval if method is None else method,
            "the interval method",
            ("likelihood-ratio", "wald"),
            EstimationError,
        )
        quantile = two_sided_quantile(level)
        if method == "wald":
            return wald(self.estimate, self.std_error, quantile)
        rows = []
        for t, (value, error) in enumerate(zip(self.estimate, self.std_error, strict=True)):
            if math.isnan(value):  # nobody to whom it could apply: every value goes with the reports
                rows.append((0.0, 1.0))
                continue
            reach = error if math.isfinite(error) else 1.0
            rows.append(likelihood_ratio(self.likelihood, t, float(value), float(reach), quantile))
        return np.array(rows)

    def honesty_test(self) -> ComplianceTest:
        """Test whether everybody complied: no cheaters, no liars.

        ``2 (max ℓ − max ℓ with nobody who departs from the design)``. The hypothesis is on the boundary, so that the
        p value is half that of chi-square with one degree of freedom.
        """
        honest = self._model.honest
        if honest is None:
            raise EstimationError(
                f'the model "{self.model}" has no share of people who do not comply; consistency_test() asks whether '
                "the groups agree"
            )
        restricted = self.likelihood.value(self.likelihood.on_segment(honest))
        return ComplianceTest.of("everybody complies", 2 * (self.log_likelihood - restricted), 1, boundary=True)

    @property
    def degrees_of_freedom(self) -> int:
        """Free report shares minus parameters: what is left to test the model by."""
        sizes = [len(part) for part in self.counts.values() if sum(part)]
        return sum(size - 1 for size in sizes) - len(self.likelihood.rows) + 1

    def consistency_test(self) -> ComplianceTest:
        """Test whether the groups agree with one model: ``G² = 2 Σ c log(c/(n_g p̂))``.

        For the extended crosswise model this is the test of compliance of Heck, Hoffmann and Moshagen (2018). The
        parameters are not held to [0, 1] here, so that a share near zero does not look like disagreement.
        """
        freedom = self.degrees_of_freedom
        if freedom < 1:
            raise EstimationError(
                "there are as many parameters as report shares, and nothing is left to test the model by; a further "
                "group with another design would"
            )
        parts = [np.asarray(part, float) for part in self.counts.values()]
        counts = np.concatenate(parts)
        free = np.concatenate([part / max(part.sum(), 1.0) for part in parts])
        seen = counts > 0
        saturated = float(counts[seen] @ np.log(free[seen]))
        fitted = self.likelihood.value(self.likelihood.unrestricted)
        return ComplianceTest.of("the groups agree", 2 * (saturated - fitted), freedom, boundary=False)

    def tests(self) -> list[ComplianceTest]:
        """The tests that there are for this model and these groups."""
        found = [self.honesty_test()] if self._model.honest is not None else []
        return found + ([self.consistency_test()] if self.degrees_of_freedom > 0 else [])

    def heading(self) -> str:
        """What was estimated, from what."""
        of = f' of "{self.column}"' if self.column else ""
        how = f"maximum likelihood, {len(self.groups)} groups, n = {self.n:,}"
        return f"{self._model.title}{of}, {self._model.citation}: {how}"

    def _labels(self) -> tuple[str, ...]:
        return self.names

    def _axis(self) -> Axis:
        return SHARES

    def _table(self, level: float, method: str | None, most: int | None) -> ResultTable:
        del most  # there are two or three
        bounds = self.interval(level, method)
        chosen = self.default_interval if method is None else method
        return ResultTable(
            title=self.heading(),
            columns=(
                labels("share", self.names),
                labels("of", [quantity.meaning for quantity in self._model.quantities]),
                Column("estimate", self.estimate),
                Column("std_error", self.std_error, "std. error"),
                Ends(interval_heading(level, chosen), bounds),
            ),
            rows=len(self.names),
            facts=tuple((test.hypothesis, test.figures()) for test in self.tests()),
            notes=self.notes,
        )

    def to_dict(self, level: float = 0.95, method: str | None = None) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "model": self.model,
            "column": self.column,
            "names": list(self.names),
            "estimate": display.plain(self.estimate),
            "std_error": display.plain(self.std_error),
            "covariance": display.plain(self.covariance),
            "interval": display.plain(self.interval(level, method)),
            "level": level,
            "interval_method": self.default_interval if method is None else method,
            "log_likelihood": display.plain(self.log_likelihood),
            "tests": [test.to_dict() for test in self.tests()],
            "n": self.n,
            "counts": self.counts,
            "on_boundary": self.on_boundary,
            "notes": list(self.notes),
        }
