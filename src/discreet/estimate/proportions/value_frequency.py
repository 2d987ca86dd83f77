"""The frequency of one value: what indexing an estimate of frequencies gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.estimate.reporting import display
from discreet.estimate.reporting.result import Result, frozen, written_interval
from discreet.estimate.reporting.table import SHARES, Axis, Column, Ends, ResultTable, interval_heading, labels

if TYPE_CHECKING:
    from discreet.estimate.proportions.result import Frequencies


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ValueFrequency(Result):
    """How frequent one true value is: ``frequencies(…)["yes"]``.

    Attributes
    ----------
    label
        The value.
    estimate, std_error : array (1,)
        As for every result; ``float(one)`` is the estimate as a number.
    covariance : array (1, 1)
    """

    frequencies: Frequencies
    code: int

    @property
    def label(self) -> Any:
        """The value."""
        return self.frequencies.channels.label(self.code)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know."""
        return self.frequencies.notes

    @property
    def estimate(self) -> Floats:
        """Its frequency."""
        return self.frequencies.estimate[self.code : self.code + 1]

    @property
    def std_error(self) -> Floats:
        """The standard error."""
        return self.frequencies.std_error[self.code : self.code + 1]

    @property
    def covariance(self) -> Floats:
        """The variance."""
        return frozen(self.std_error[:, None] ** 2)

    def interval(self, level: float = 0.95, method: str | None = None) -> Floats:
        """The confidence interval, one row (low, high); methods as for :meth:`Frequencies.interval`."""
        return self.frequencies.interval_of(self.code, level, method)[None]

    def __float__(self) -> float:
        return float(self.estimate[0])

    def heading(self) -> str:
        """What was estimated, from what."""
        return self.frequencies.heading().replace("Frequencies", "Frequency", 1)

    def _labels(self) -> list[Any]:
        return [self.label]

    def _empty(self, bounds: Floats) -> NDArray[np.bool_]:
        return np.asarray(np.isnan(bounds[:, 0]) & (self.frequencies.correction is not None))

    def summary(self, level: float = 0.95, method: str | None = None) -> str:
        """One line to read."""
        bounds = self.interval(level, method)
        return (
            f"{display.label_text(self.label)}: {display.number(float(self))} "
            f"(std. error {display.number(self.std_error[0])}, {display.percent(level)} interval "
            f"{display.ends(*bounds[0], empty=bool(self._empty(bounds)[0]), write=display.number)})"
        )

    def _axis(self) -> Axis:
        return SHARES

    def _table(self, level: float, method: str | None, most: int | None) -> ResultTable:
        del most  # there is one row
        bounds = self.interval(level, method)
        chosen = self.frequencies.default_interval if method is None else method
        return ResultTable(
            title=self.heading(),
            columns=(
                labels("value", [self.label]),
                Column("estimate", self.estimate),
                Column("std_error", self.std_error, "std. error"),
                Ends(interval_heading(level, chosen), bounds, empty=self._empty(bounds)),
            ),
            rows=1,
            notes=self.notes,
        )

    def to_dict(self, level: float = 0.95, method: str | None = None) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        low, high = self.interval(level, method)[0]
        return {
            "label": display.plain(self.label),
            "estimate": display.plain(float(self)),
            "std_error": display.plain(float(self.std_error[0])),
            "interval": written_interval(
                np.array([low, high]), level, self.frequencies.default_interval if method is None else method
            ),
        }
