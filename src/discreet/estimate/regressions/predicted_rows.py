"""What a fit predicts for rows: one figure each, or one for each class."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet import arguments
from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.channels.moments import refuse_large
from discreet.estimate.intervals.levels import checked_level, two_sided_quantile, wald
from discreet.estimate.reporting import display
from discreet.estimate.reporting.result import Result, frozen, written_interval
from discreet.estimate.reporting.table import Axis, Column, Ends, ResultTable, interval_heading, labels


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PredictedRows(Result):
    """Predictions with delta-method standard errors.

    Attributes
    ----------
    estimate, std_error : array (rows,) or (rows, classes)
    """

    estimate: Floats
    std_error: Floats

    @property
    @abstractmethod
    def what(self) -> str:
        """What is predicted."""

    @property
    def _are_shares(self) -> bool:
        """Whether what is predicted is a probability."""
        return True

    def _axis(self) -> Axis:
        return Axis(self.what.lower(), percent=True) if self._are_shares else Axis(self.what.lower())

    @abstractmethod
    def _ends(self, quantile: float) -> Floats:
        """Both ends of every interval, last."""

    @property
    def degrees_of_freedom(self) -> float:
        """Of Student's t; infinite means the normal law."""
        return math.inf

    @property
    def covariance(self) -> Floats:
        """Variances on the diagonal; nan elsewhere, since rows are predicted one by one."""
        refuse_large(self.estimate.size)
        matrix = np.full((self.estimate.size,) * 2, np.nan)
        np.fill_diagonal(matrix, self.std_error.ravel() ** 2)
        return frozen(matrix)

    def interval(self, level: float = 0.95, method: str | None = None) -> Floats:
        """Intervals, (low, high) last, within the range of what is predicted."""
        if method is not None:
            arguments.choice(method, "the interval method of predictions", ("wald",), EstimationError)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return self._ends(two_sided_quantile(checked_level(level), self.degrees_of_freedom))

    def heading(self) -> str:
        """What was predicted, and for how many."""
        return f"{self.what}, {len(self.estimate):,} rows"

    def _labels(self) -> list[Any]:
        rows = range(len(self.estimate))
        return list(rows) if self.estimate.ndim == 1 else [(i, j) for i in rows for j in range(self.estimate.shape[1])]

    def _table(self, level: float, method: str | None, most: int | None) -> ResultTable:
        size = self.estimate.size
        shown = size if most is None else min(size, most)
        names = self._labels()[:shown]
        return ResultTable(
            title=self.heading(),
            columns=(
                labels("row" if self.estimate.ndim == 1 else "row, class", names),
                Column("estimate", self.estimate.ravel()[:shown]),
                Column("std_error", self.std_error.ravel()[:shown], "std. error"),
                Ends(interval_heading(level, "wald"), self.interval(level, method).reshape(-1, 2)[:shown]),
            ),
            rows=shown,
            more=(f"{size - shown:,} more rows",) if size > shown else (),
            measured=not self._are_shares,
        )

    def to_dict(self, level: float = 0.95, method: str | None = None) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "kind": "predictions",
            "estimate": display.plain(self.estimate),
            "std_error": display.plain(self.std_error),
            "interval": written_interval(self.interval(level, method), level, "wald"),
        }


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PredictedMeans(PredictedRows):
    """Predicted means, or probabilities of classes, with delta-method standard errors."""

    scale: str
    freedom: float

    @property
    def what(self) -> str:
        """What is predicted."""
        return "Predicted probability" if self._are_shares else "Predicted mean"

    @property
    def _are_shares(self) -> bool:
        return self.scale == "probability"

    @property
    def degrees_of_freedom(self) -> float:
        """Of Student's t; infinite means the normal law."""
        return self.freedom

    def _ends(self, quantile: float) -> Floats:
        """Of probabilities made on the scale of log odds, of counts on that of logarithms."""
        p, error = self.estimate, self.std_error
        if self.scale == "probability":
            ends = wald(np.log(p) - np.log1p(-p), error / (p * (1 - p)), quantile)
            return np.asarray(1 / (1 + np.exp(-ends)))
        if self.scale == "rate":
            return np.asarray(np.exp(wald(np.log(p), error / p, quantile)))
        return wald(p, error, quantile)
