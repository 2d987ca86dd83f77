"""How many people have each value: Horvitz–Thompson totals, with standard errors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.intervals import levels
from discreet.estimate.proportions.result import Frequencies
from discreet.estimate.reporting import display
from discreet.estimate.reporting.result import Result, frozen, written_interval
from discreet.estimate.reporting.table import Column, Ends, ResultTable, interval_heading, labels
from discreet.estimate.sampling.finite_population import FiniteSample
from discreet.estimate.sampling.share_covariance import Linearised


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Totals(Result):
    """How many people have each value, with standard errors. Made by ``Frequencies.totals()``."""

    estimate: Floats
    frequencies: Frequencies
    survey: Linearised | FiniteSample | None

    def __post_init__(self) -> None:
        frozen(self.estimate)

    @property
    def labels(self) -> Any:
        """The true values in code order."""
        return self.frequencies.labels

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know."""
        return self.frequencies.notes

    @cached_property
    def std_error(self) -> Floats:
        """Standard errors."""
        correction = self.frequencies.correction
        if self.survey is None or correction is None:
            return frozen(self.frequencies.evidence.total * self.frequencies.std_error)
        return frozen(np.sqrt(self.survey.total_variances(correction)))

    @cached_property
    def covariance(self) -> Floats:
        """Covariance matrix; refused above 4,096 values."""
        correction = self.frequencies.correction
        if self.survey is None or correction is None:
            return frozen(self.frequencies.evidence.total**2 * self.frequencies.covariance)
        return frozen(self.survey.total_covariance(correction))

    def interval(self, level: float = 0.95, method: str | None = None) -> Floats:
        """Confidence intervals, one (low, high) row per value; Wald is the only method for totals."""
        if method not in (None, "wald"):
            raise EstimationError(f"intervals for totals are wald only, not {method!r}")
        quantile = levels.two_sided_quantile(levels.checked_level(level), self.frequencies.spread.degrees_of_freedom)
        return levels.wald(self.estimate, self.std_error, quantile)

    def heading(self) -> str:
        """What was estimated, from what."""
        named = f' of "{self.frequencies.column}"' if self.frequencies.column else ""
        return f"Totals{named}, n = {self.frequencies.n:,}"

    def _labels(self) -> Any:
        return self.labels

    def _write(self, value: float) -> str:
        return display.amount(value)

    def _table(self, level: float, method: str | None, most: int | None) -> ResultTable:
        shown = self.estimate.size if most is None else min(self.estimate.size, most)
        left_out = self.estimate.size - shown
        return ResultTable(
            title=self.heading(),
            columns=(
                labels("value", [self.frequencies.channels.label(code) for code in range(shown)]),
                Column("estimate", self.estimate[:shown], "total"),
                Column("std_error", self.std_error[:shown], "std. error"),
                Ends(interval_heading(level, "wald"), self.interval(level, method)[:shown]),
            ),
            rows=shown,
            more=(f"{left_out:,} more values",) if left_out else (),
            notes=self.notes,
            measured=True,
        )

    def to_dict(self, level: float = 0.95, method: str | None = None) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return {
            "kind": "totals",
            "n": self.frequencies.n,
            "labels": display.plain(list(self.labels)),
            "estimate": display.plain(self.estimate),
            "std_error": display.plain(self.std_error),
            "interval": written_interval(self.interval(level, method), level, "wald"),
            "notes": list(self.notes),
        }
