"""Parts of an estimate of frequencies: one value, the most frequent ones, and numbers of people."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet import arguments
from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.intervals import levels
from discreet.estimate.reporting import display
from discreet.estimate.reporting.result import Listed, Result, frozen, written_interval
from discreet.estimate.reporting.table import SHARES, Axis, Column, Ends, ResultTable, interval_heading, labels
from discreet.estimate.sampling.finite_population import FiniteSample
from discreet.estimate.sampling.share_covariance import Linearised

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


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class TopFrequencies(Listed):
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
    _rows_allowed = 2

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

    @property
    def default_interval(self) -> str:
        """Over all values, since these were picked out."""
        return "simultaneous"

    def _empty(self, bounds: Floats) -> NDArray[np.bool_]:
        return np.isnan(bounds[:, 0])

    def _label_columns(self, shown: int) -> list[Column]:
        return [labels("value", self.labels[:shown])]

    def _described(self) -> dict[str, Any]:
        whole = self.frequencies
        counts = {"column": whole.column, "n": whole.n, "values": len(whole)}
        return {"kind": "top frequencies", **counts, "labels": display.plain(self.labels)}


def top(frequencies: Frequencies, k: int) -> TopFrequencies:
    """The k most frequent values."""
    k = arguments.whole(k, "k", EstimationError, least=1)
    codes = np.argsort(-frequencies.estimate, kind="stable")[:k]
    return TopFrequencies(frequencies=frequencies, codes=codes.astype(np.int64))


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Totals(Listed):
    """How many people have each value, with standard errors. Made by ``Frequencies.totals()``."""

    estimate: Floats
    frequencies: Frequencies
    survey: Linearised | FiniteSample | None
    _estimate_heading = "total"
    _measured = True

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

    def _label_columns(self, shown: int) -> list[Column]:
        return [labels("value", [self.frequencies.channels.label(code) for code in range(shown)])]

    def _described(self) -> dict[str, Any]:
        return {"kind": "totals", "n": self.frequencies.n, "labels": display.plain(list(self.labels))}
