"""Quantiles, overall or by group: the result, whose intervals come from inverted tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from discreet import arguments
from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.intervals.levels import checked_level, two_sided_quantile
from discreet.estimate.means.contrast import Contrast
from discreet.estimate.means.result import Statistic, single_row_notes
from discreet.estimate.reporting import display

#: The level whose interval gives the standard error.
_LEVEL = 0.95


class Invertible(Protocol):
    """A distribution function that can be inverted."""

    @property
    def estimate(self) -> float:
        """The quantile."""

    def interval(self, quantile: float) -> tuple[float, float]:
        """The values that no test rejects."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Quantiles(Statistic):
    """A quantile of a column, overall or for every group. Made by ``estimate.quantile``.

    Attributes
    ----------
    p : float
        The share of people who do not exceed it.
    estimate : array
        One number per group.
    std_error : array
        Woodruff's: the length of the 95 % interval over 2 × 1.96, infinite where that is not bounded. Use the interval,
        which need not be symmetric.
    labels : list
        The values as they are called, where they are not numbers.
    """

    p: float
    distributions: tuple[Invertible, ...]
    clustered: bool = False
    names: Mapping[float, Any] = field(default_factory=dict)

    @property
    def labels(self) -> list[Any]:
        """The values as they are called."""
        return [self.names.get(float(value), float(value)) for value in self.estimate]

    @property
    def default_interval(self) -> str:
        """Inverted tests."""
        return "woodruff"

    def interval(self, level: float = 0.95, method: str | None = None) -> Floats:
        """Confidence intervals, one (low, high) row per group: "woodruff" (default), or "simultaneous" for all at once.

        An end is infinite where too few rows lie beyond it to bound a quantile so near to 0 or 1.
        """
        level = checked_level(level)
        method = self.default_interval if method is None else method
        options = ("woodruff", "simultaneous")
        method = arguments.choice(method, "the interval method of a quantile", options, EstimationError)
        if method == "simultaneous":
            level = 1 - (1 - level) / self.estimate.size
        return _ends(self.distributions, self.degrees_of_freedom, self.n, level)

    def __getitem__(self, group: Any) -> Self:
        return replace(super().__getitem__(group), distributions=(self.distributions[self._place(group)],))

    def compare(self, first: Any = None, second: Any = None, kind: str = "difference") -> Contrast:
        """As for every statistic, with Woodruff's standard errors; groups that share clusters are refused."""
        if self.clustered:
            raise EstimationError("quantiles of groups that share clusters cannot be compared: compare their means")
        return super().compare(first, second, kind)

    def _write(self, value: float) -> str:
        return display.label_text(self.names[value]) if value in self.names else display.measured(value)

    def _write_error(self, value: float) -> str:
        return display.measured(value)

    @property
    def _named_value(self) -> Callable[[float], str] | None:
        if self.names:
            return self._write
        values = self.estimate[np.isfinite(self.estimate)]
        if np.array_equal(values, values.round(3)):  # points of a grid, say, which have no error of their own
            return partial(display.figure, places=display.measured_places([], values))
        return None

    def to_dict(self, level: float = 0.95, method: str | None = None) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return super().to_dict(level, method) | {"p": self.p, "labels": display.plain(self.labels)}


def quantiles(
    *,
    p: float,
    distributions: tuple[Invertible, ...],
    n: NDArray[np.int64],
    degrees_of_freedom: Floats,
    groups: tuple[Any, ...],
    notes: tuple[str, ...],
    **known: Any,
) -> Quantiles:
    """Invert every distribution function."""
    ends = _ends(distributions, degrees_of_freedom, n, _LEVEL)
    errors = (ends[:, 1] - ends[:, 0]) / (2 * two_sided_quantile(_LEVEL))
    open_ended = int(np.isinf(ends).any(axis=1).sum())
    if open_ended:
        where = f" in {open_ended:,} groups" if groups else ""
        notes += (f"too few rows{where} to bound a quantile at {p:g} on both sides: that end is infinite",)
    covariance = np.zeros((n.size, n.size))
    np.fill_diagonal(covariance, errors**2)
    return Quantiles(
        what="median" if p == 0.5 else f"quantile at {p:g}",
        estimate=np.array([one.estimate for one in distributions]),
        covariance=covariance,
        p=p,
        distributions=distributions,
        n=n,
        degrees_of_freedom=degrees_of_freedom,
        groups=groups,
        notes=(*notes, *single_row_notes(groups, n)),
        **known,
    )


def _ends(distributions: tuple[Invertible, ...], degrees: Floats, n: NDArray[np.int64], level: float) -> Floats:
    """Intervals of all groups; one row alone has none."""
    ends = [
        one.interval(two_sided_quantile(level, df)) if rows > 1 else (np.nan, np.nan)
        for one, df, rows in zip(distributions, degrees, n, strict=True)
    ]
    return np.array(ends, float)
