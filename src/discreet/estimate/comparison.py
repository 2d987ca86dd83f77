"""Several fits side by side: the corrected, the naive and the non-private one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet import arguments
from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate import display
from discreet.estimate.intervals import checked_level
from discreet.estimate.likelihood.result import LikelihoodFit
from discreet.estimate.likelihood.table import figure
from discreet.estimate.m_estimation.result import MEstimate


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Coefficients of several fits, with intervals: a table, and the numbers of a forest plot.

    Attributes
    ----------
    methods, names : tuple of str
        The fits, and the coefficients.
    estimate, std_error : array (methods, coefficients)
    interval : array (methods, coefficients, 2)
    level : float
    """

    methods: tuple[str, ...]
    names: tuple[str, ...]
    estimate: Floats
    std_error: Floats
    interval: Floats
    level: float

    def rows(self) -> list[dict[str, Any]]:
        """One record for each line of a forest plot."""
        return [
            {
                "name": name,
                "method": method,
                "estimate": float(self.estimate[m, j]),
                "std_error": float(self.std_error[m, j]),
                "low": float(self.interval[m, j, 0]),
                "high": float(self.interval[m, j, 1]),
            }
            for j, name in enumerate(self.names)
            for m, method in enumerate(self.methods)
        ]

    def summary(self) -> str:
        """A table to read."""
        lines = []
        for row in self.rows():
            first = row["method"] == self.methods[0]
            ends = f"{figure(row['low'], 3)} to {figure(row['high'], 3)}"
            lines.append(
                (row["name"] if first else "", row["method"], figure(row["estimate"]), figure(row["std_error"]), ends)
            )
        head = ("", "fit", "coef", "std err", f"{display.percent(self.level)} interval")
        return display.aligned(head, lines, text_columns=2)

    def __repr__(self) -> str:
        return self.summary()

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"level": self.level, "rows": [{k: display.plain(v) for k, v in row.items()} for row in self.rows()]}


def compare(
    fits: Mapping[str, LikelihoodFit | MEstimate] | Sequence[LikelihoodFit | MEstimate],
    level: float = 0.95,
    method: str | None = None,
) -> Comparison:
    """Put fits of the same coefficients side by side.

    Parameters
    ----------
    fits : mapping from name to fit, or sequence of fits
        For example ``{"corrected": fit, "naive": fit.naive(), "true labels": binary_regression(X, truth, 1, 1)}``.
    level : float
    method : {"wald", "profile"}, optional
        Intervals, as for :meth:`LikelihoodFit.interval`.
    """
    level = checked_level(level)
    listed = [] if isinstance(fits, Mapping) else arguments.listed(fits, "fits", EstimationError)
    named = dict(fits) if isinstance(fits, Mapping) else {f"fit {i + 1}": fit for i, fit in enumerate(listed)}
    if not named:
        raise EstimationError("there are no fits to compare")
    for fit in named.values():
        if not isinstance(fit, (LikelihoodFit, MEstimate)):
            raise EstimationError(f"every fit must be a regression or an M-estimate, not {arguments.shown(fit)}")
    first = next(iter(named.values()))
    if any(fit.names != first.names for fit in named.values()):
        raise EstimationError("the fits must have the same coefficients, in the same order")
    return Comparison(
        tuple(str(name) for name in named),
        first.names,
        np.array([fit.coefficients for fit in named.values()]),
        np.array([fit.std_error for fit in named.values()]),
        np.array([fit.interval(level, method) for fit in named.values()]),
        level,
    )
