"""The frequency of one value: what indexing an estimate of frequencies gives."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.estimate import display

if TYPE_CHECKING:
    from discreet.estimate.result import Frequencies


@dataclass(frozen=True, eq=False, repr=False)
class ValueFrequency:
    """How frequent one true value is: ``frequencies(…)["yes"]``.

    Attributes
    ----------
    label
        The value.
    estimate, std_error : float
        ``float(one)`` is the estimate too.
    """

    frequencies: Frequencies
    code: int

    @property
    def label(self) -> Any:
        """The value."""
        return self.frequencies.channels.label(self.code)

    @property
    def estimate(self) -> float:
        """Its frequency."""
        return float(self.frequencies.estimate[self.code])

    @property
    def std_error(self) -> float:
        """The standard error."""
        return float(self.frequencies.std_error[self.code])

    def interval(self, level: float = 0.95, method: str | None = None) -> tuple[float, float]:
        """The confidence interval (low, high); methods as for :meth:`Frequencies.interval`."""
        low, high = self.frequencies.interval_of(self.code, level, method)
        return float(low), float(high)

    def __float__(self) -> float:
        return self.estimate

    def summary(self, level: float = 0.95, method: str | None = None) -> str:
        """One line to read."""
        low, high = self.interval(level, method)
        empty = math.isnan(low) and self.frequencies.correction is not None
        return (
            f"{display.label_text(self.label)}: {display.number(self.estimate)} "
            f"(std. error {display.number(self.std_error)}, {display.percent(level)} interval "
            f"{display.ends(low, high, empty=empty)})"
        )

    def __repr__(self) -> str:
        return self.summary()

    def to_dict(self, level: float = 0.95, method: str | None = None) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        low, high = self.interval(level, method)
        return {
            "label": display.plain(self.label),
            "estimate": display.plain(self.estimate),
            "std_error": display.plain(self.std_error),
            "interval": {
                "level": level,
                "method": self.frequencies.default_interval if method is None else method,
                "low": display.plain(low),
                "high": display.plain(high),
            },
        }
