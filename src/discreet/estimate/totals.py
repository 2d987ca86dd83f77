"""How many people have each value: Horvitz–Thompson totals, with standard errors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.errors import EstimationError
from discreet.estimate import display, intervals
from discreet.estimate.result import Floats, Frequencies, frozen
from discreet.estimate.spread import Linearised


@dataclass(frozen=True, eq=False, repr=False)
class Totals:
    """How many people have each value, with standard errors."""

    estimate: Floats
    frequencies: Frequencies
    survey: Linearised | None

    def __post_init__(self) -> None:
        self.estimate.flags.writeable = False

    @property
    def labels(self) -> Any:
        """The true values in code order."""
        return self.frequencies.labels

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
        quantile = intervals.two_sided_quantile(
            intervals.checked_level(level), self.frequencies.spread.degrees_of_freedom
        )
        return intervals.wald(self.estimate, self.std_error, quantile)

    def summary(self, level: float = 0.95) -> str:
        """A table to read."""
        shown = min(self.estimate.size, display.SHOWN)
        bounds = self.interval(level)[:shown]
        header = ["value", "total", "std. error", f"{display.percent(level)} interval (wald)"]
        lines = [
            [
                display.label_text(self.frequencies.channels.label(code)),
                display.amount(self.estimate[code]),
                display.amount(self.std_error[code]),
                display.ends(bounds[code, 0], bounds[code, 1], write=display.amount),
            ]
            for code in range(shown)
        ]
        text = f"Totals, n = {self.frequencies.n:,}\n\n{display.aligned(header, lines)}"
        if self.estimate.size > shown:
            text += f"\n… and {self.estimate.size - shown:,} more values"
        return text

    def __str__(self) -> str:
        return self.summary()

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        bounds = self.interval(level)
        return {
            "kind": "totals",
            "n": self.frequencies.n,
            "labels": display.plain(list(self.labels)),
            "estimate": display.plain(self.estimate),
            "std_error": display.plain(self.std_error),
            "interval": {
                "level": level,
                "method": "wald",
                "low": display.plain(bounds[:, 0]),
                "high": display.plain(bounds[:, 1]),
            },
        }
