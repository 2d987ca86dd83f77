"""An estimate whose error comes from replicates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet import arguments
from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.intervals.levels import checked_level, two_sided_quantile
from discreet.estimate.reporting import display
from discreet.estimate.reporting.result import Result, frozen, written_interval
from discreet.estimate.reporting.table import Column, Ends, ResultTable, interval_heading, labels


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Replicated(Result):
    """An estimate with the error that its replicates show. Made by :func:`discreet.estimate.replicate`.

    Attributes
    ----------
    estimate : array
        That of the full sample, one number per quantity.
    names : tuple of str
        What each is.
    replicates : array (R, quantities)
        The estimates under the replicate weights.
    coefficients : array (R,)
        ``c_r`` in ``V = Σ_r c_r (θ̂_r − θ̂)(θ̂_r − θ̂)ᵀ``.
    method : {"jackknife", "bootstrap", "brr"}
    what : str
        The heading of the estimate itself.
    degrees_of_freedom : float
    notes : tuple of str
    """

    estimate: Floats
    names: tuple[Any, ...]
    replicates: Floats
    coefficients: Floats
    method: str
    what: str
    degrees_of_freedom: float
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for array in (self.estimate, self.replicates, self.coefficients):
            array.flags.writeable = False

    @cached_property
    def covariance(self) -> Floats:
        """``Σ_r c_r (θ̂_r − θ̂)(θ̂_r − θ̂)ᵀ``."""
        centred = self.replicates - self.estimate
        return frozen((centred.T * self.coefficients) @ centred)

    @cached_property
    def std_error(self) -> Floats:
        """Standard errors."""
        return frozen(np.sqrt(np.diag(self.covariance)))

    def interval(self, level: float = 0.95, method: str | None = None) -> Floats:
        """Confidence intervals, one (low, high) row per quantity.

        Parameters
        ----------
        level : float
        method : {"wald", "percentile"}, optional
            "wald", the default: estimate ± quantile of Student's t × standard error. "percentile", of a bootstrap: the
            middle share of the replicates.
        """
        level = checked_level(level)
        method = arguments.choice(
            "wald" if method is None else method, "the interval method", ("wald", "percentile"), EstimationError
        )
        if method == "wald":
            reach = two_sided_quantile(level, self.degrees_of_freedom) * self.std_error
            return np.stack([self.estimate - reach, self.estimate + reach], axis=1)
        if self.method != "bootstrap":
            raise EstimationError(f"percentile intervals are for the bootstrap; the method here is {self.method}")
        return np.quantile(self.replicates, [(1 - level) / 2, (1 + level) / 2], axis=0).T

    def heading(self) -> str:
        """What was estimated, and how its error."""
        return f"{self.what}; errors by {self.method}, {len(self.replicates):,} replicates"

    def _labels(self) -> Sequence[Any]:
        return self.names

    def _write(self, value: float) -> str:
        return display.measured(value)

    def _table(self, level: float, method: str | None, most: int | None) -> ResultTable:
        shown = self.estimate.size if most is None else min(self.estimate.size, most)
        left_out = self.estimate.size - shown
        bounds = self.interval(level, method)[:shown]
        return ResultTable(
            title=self.heading(),
            columns=(
                labels("quantity", [display.label_text(name) for name in self.names[:shown]]),
                Column("estimate", self.estimate[:shown]),
                Column("std_error", self.std_error[:shown], "std. error"),
                Ends(interval_heading(level, method or "wald"), bounds),
            ),
            rows=shown,
            more=(f"{left_out:,} more",) if left_out else (),
            notes=self.notes,
            measured=True,
        )

    def to_dict(self, level: float = 0.95, method: str | None = None) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return {
            "kind": "replicated",
            "what": self.what,
            "method": self.method,
            "replicates": len(self.replicates),
            "labels": [display.plain(name) for name in self.names],
            "estimate": display.plain(self.estimate),
            "std_error": display.plain(self.std_error),
            "interval": written_interval(self.interval(level, method), level, method or "wald"),
            "notes": list(self.notes),
        }
