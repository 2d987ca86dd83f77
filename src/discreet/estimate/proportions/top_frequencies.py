"""The most frequent values, with intervals that hold although they were picked out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import arguments
from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.proportions.result import Frequencies
from discreet.estimate.reporting import display
from discreet.estimate.reporting.result import Result, frozen, written_interval
from discreet.estimate.reporting.table import SHARES, Axis, Column, Ends, ResultTable, interval_heading, labels


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class TopFrequencies(Result):
    """The k values with the largest estimates. Made by ``Frequencies.top(k)``.

    The largest of many estimates are too large on average. Intervals are therefore simultaneous over *all* values, not
    only those shown: with the stated confidence every one of them holds, whichever were picked.

    Attributes
    ----------
    frequencies : Frequencies
        Of all values.
    codes : array of int
        The values that were picked, the largest first; ties to the smaller code.
    estimate, std_error, covariance : array
    """

    frequencies: Frequencies
    codes: NDArray[np.int64]

    def __post_init__(self) -> None:
        self.codes.flags.writeable = False

    @property
    def labels(self) -> list[Any]:
        """The values that were picked."""
        return [self.frequencies.channels.label(int(code)) for code in self.codes]

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know."""
        return self.frequencies.notes

    @property
    def estimate(self) -> Floats:
        """Their frequencies."""
        return frozen(self.frequencies.estimate[self.codes])

    @property
    def std_error(self) -> Floats:
        """Standard errors."""
        return frozen(self.frequencies.std_error[self.codes])

    @property
    def covariance(self) -> Floats:
        """Covariance matrix; refused above 4,096 values in all."""
        return frozen(self.frequencies.covariance[np.ix_(self.codes, self.codes)])

    def interval(self, level: float = 0.95, method: str | None = None) -> Floats:
        """Confidence intervals, one (low, high) row per value: "simultaneous" over all values, unless another is named.

        Other methods, as for :meth:`Frequencies.interval`, ignore that the values were picked out.
        """
        chosen = "simultaneous" if method is None else method
        return np.concatenate([self.frequencies.interval_of(int(c), level, chosen)[None] for c in self.codes])

    def heading(self) -> str:
        """What was estimated, from what."""
        return f"The {self.codes.size:,} largest of {len(self.frequencies):,}: {self.frequencies.heading()}"

    def _labels(self) -> list[Any]:
        return self.labels

    def _axis(self) -> Axis:
        return SHARES

    def _table(self, level: float, method: str | None, most: int | None) -> ResultTable:
        shown = self.codes.size if most is None else min(self.codes.size, 2 * most)
        bounds = self.interval(level, method)[:shown]
        left_out = self.codes.size - shown
        return ResultTable(
            title=self.heading(),
            columns=(
                labels("value", self.labels[:shown]),
                Column("estimate", self.estimate[:shown]),
                Column("std_error", self.std_error[:shown], "std. error"),
                Ends(interval_heading(level, method or "simultaneous"), bounds, empty=np.isnan(bounds[:, 0])),
            ),
            rows=shown,
            more=(f"{left_out:,} more values",) if left_out else (),
            notes=self.notes,
        )

    def to_dict(self, level: float = 0.95, method: str | None = None) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return {
            "kind": "top frequencies",
            "column": self.frequencies.column,
            "n": self.frequencies.n,
            "values": len(self.frequencies),
            "labels": display.plain(self.labels),
            "estimate": display.plain(self.estimate),
            "std_error": display.plain(self.std_error),
            "interval": written_interval(self.interval(level, method), level, method or "simultaneous"),
            "notes": list(self.notes),
        }


def top(frequencies: Frequencies, k: int) -> TopFrequencies:
    """The k most frequent values."""
    k = arguments.whole(k, "k", EstimationError, least=1)
    codes = np.argsort(-frequencies.estimate, kind="stable")[:k]
    return TopFrequencies(frequencies=frequencies, codes=codes.astype(np.int64))
