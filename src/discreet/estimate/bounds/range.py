"""One quantity that the reports only confine: its range, with and without sampling error."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet import arguments
from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.intervals.levels import checked_level
from discreet.estimate.reporting import display
from discreet.estimate.reporting.result import Result, frozen
from discreet.estimate.reporting.table import Column, Ends, ResultTable, labels


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Range(Result):
    """A quantity that the reports only confine.

    Attributes
    ----------
    what : str
        The quantity.
    identified : tuple
        Smallest and largest value over all distributions with the fitted report shares: what remains unknown
        however many people report.
    low, high : object
        The range with sampling error: it covers the identified one with the stated confidence.
    level : float
        The confidence level; ``interval(level)`` gives the range at another one.
    n : int
        Number of reports.
    notes : tuple of str
    """

    what: str
    identified: tuple[Any, Any]
    low: Any
    high: Any
    level: float
    at_level: Callable[[float], tuple[Any, Any]]
    n: int
    notes: tuple[str, ...] = ()

    def times(self, factor: float, what: str) -> Range:
        """The range of so many times the quantity."""

        def scaled(ends: tuple[Any, Any]) -> tuple[Any, Any]:
            return factor * ends[0], factor * ends[1]

        low, high = scaled((self.low, self.high))
        at_level = self.at_level
        return replace(
            self,
            what=what,
            identified=scaled(self.identified),
            low=low,
            high=high,
            at_level=lambda level: scaled(at_level(level)),
        )

    @property
    def empty(self) -> bool:
        """Whether no distribution goes with the reports at this level, which then contradict the design."""
        return is_empty(self.low)

    @property
    def estimate(self) -> Floats:
        """The middle of the identified range: a number to draw, not one that more people would improve."""
        return frozen(np.array([sum(map(_number, self.identified)) / 2]))

    @property
    def std_error(self) -> Floats:
        """There is none: the error does not vanish with n."""
        return frozen(np.full(1, np.nan))

    @property
    def covariance(self) -> Floats:
        """There is none."""
        return frozen(np.full((1, 1), np.nan))

    def interval(self, level: float | None = None, method: str | None = None) -> Floats:
        """The range with sampling error as one row (low, high); of a value without a number, its label."""
        if method is not None:
            arguments.choice(method, "the method of a range", ("bounds",), EstimationError)
        return np.array([self._ends(level)])

    def _ends(self, level: float | None) -> tuple[Any, Any]:
        if level is None or checked_level(level) == self.level:
            return self.low, self.high
        return self.at_level(level)

    def heading(self) -> str:
        """What was estimated, from what."""
        return f"Range of the {self.what}, n = {self.n:,}"

    def _figures(self) -> tuple[str, ...]:
        return (self.summary(),)

    def _labels(self) -> list[str]:
        return [self.what]

    def summary(self, level: float | None = None, method: str | None = None) -> str:
        """One line."""
        low, high = self.interval(level, method)[0]
        if is_empty(low):
            return display.EMPTY
        return (
            f"{shown_end(low)} to {shown_end(high)} ({display.percent(self.level if level is None else level)}); "
            f"identified range {shown_end(self.identified[0])} to {shown_end(self.identified[1])}"
        )

    def _table(self, level: float | None, method: str | None, most: int | None) -> ResultTable:
        del most  # there is one row
        bounds = self.interval(level, method)
        inner = np.array([self.identified])
        percent = display.percent(self.level if level is None else level)
        return ResultTable(
            title=self.heading(),
            columns=(
                labels("quantity", [self.what]),
                Column("estimate", self.estimate, "middle"),
                Ends("identified range", inner, ("identified_low", "identified_high"), shown_end),
                Ends(f"{percent} range", bounds, write=shown_end, empty=np.array([is_empty(bounds[0, 0])])),
            ),
            rows=1,
            notes=self.notes,
        )

    def to_dict(self, level: float | None = None, method: str | None = None) -> dict[str, Any]:
        """Plain data."""
        low, high = (display.plain(end) for end in self.interval(level, method)[0])
        level = self.level if level is None else level
        return {
            "kind": "range",
            "quantity": self.what,
            "n": self.n,
            "level": level,
            "low": low,
            "high": high,
            "identified": [display.plain(end) for end in self.identified],
            "interval": {"level": level, "method": "bounds", "low": low, "high": high},
            "notes": list(self.notes),
        }


def is_empty(end: Any) -> bool:
    """Whether an end says that nothing is left."""
    return isinstance(end, float) and math.isnan(end)


def _number(value: Any) -> float:
    return float(value) if isinstance(value, (int, float, np.number)) else math.nan


def shown_end(value: Any) -> str:
    """An end as text: a number, or a label."""
    return display.number(value) if isinstance(value, float) else display.label_text(value)
