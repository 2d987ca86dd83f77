"""Differences and ratios of groups, with tests that there is none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet import arguments
from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate import display
from discreet.estimate.intervals import checked_level, two_sided_quantile, two_tails
from discreet.estimate.result import Axis, Result, frozen, written_interval
from discreet.estimate.result_table import Column, Ends, ResultTable, interval_heading, labels

if TYPE_CHECKING:
    from discreet.estimate.frequency_table import Frequencies
    from discreet.estimate.statistic import Statistic


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Contrast(Result):
    """Comparisons of two groups each. Made by ``compare``.

    Attributes
    ----------
    what : str
        What is compared, such as ``mean of "hours"``.
    kind : {"difference", "ratio"}
        ``first − second``, or ``first/second``.
    pairs : tuple of (first, second)
        The labels of the groups; of frequencies the values.
    estimate, std_error, covariance : array
    degrees_of_freedom : array
        Of Student's t, the smaller one of the two groups.
    p_values : array
        Two-sided, of the hypothesis that the groups do not differ; of several pairs times their number (Bonferroni), so
        that any one below 5 % says at that level that some groups differ.
    notes : tuple of str
    """

    what: str
    kind: str
    pairs: tuple[tuple[Any, Any], ...]
    estimate: Floats
    covariance: Floats
    degrees_of_freedom: Floats
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for array in (self.estimate, self.covariance, self.degrees_of_freedom):
            array.flags.writeable = False

    @cached_property
    def std_error(self) -> Floats:
        """Standard errors; of a ratio by the delta method."""
        return frozen(np.sqrt(np.maximum(np.diag(self.covariance), 0.0)))

    @cached_property
    def z(self) -> Floats:
        """The difference, or the logarithm of the ratio, over its standard error."""
        with np.errstate(invalid="ignore", divide="ignore"):
            if self.kind == "ratio":
                return frozen(np.log(self.estimate) * self.estimate / self.std_error)
            return frozen(self.estimate / self.std_error)

    @cached_property
    def p_values(self) -> Floats:
        """Two-sided, times the number of pairs."""
        tails = [float(two_tails(np.array(z), df)) for z, df in zip(self.z, self.degrees_of_freedom, strict=True)]
        return frozen(np.minimum(np.array(tails) * len(self.pairs), 1.0))

    @property
    def default_interval(self) -> str:
        """Simultaneous where there are several pairs."""
        return "simultaneous" if len(self.pairs) > 1 else "wald"

    def interval(self, level: float = 0.95, method: str | None = None) -> Floats:
        """Confidence intervals, one (low, high) row per pair.

        Parameters
        ----------
        level : float
        method : {"wald", "simultaneous"}, optional
            "wald" gives every pair this level on its own, "simultaneous" all pairs together, by Bonferroni. Intervals
            of a ratio are made on its logarithm.
        """
        level = checked_level(level)
        method = self.default_interval if method is None else method
        method = arguments.choice(
            method, "the interval method of a comparison", ("wald", "simultaneous"), EstimationError
        )
        if method == "simultaneous":
            level = 1 - (1 - level) / len(self.pairs)
        reach = self.std_error * [two_sided_quantile(level, df) for df in self.degrees_of_freedom]
        if self.kind == "ratio":
            factor = np.exp(reach / self.estimate)
            return np.stack([self.estimate / factor, self.estimate * factor], axis=1)
        return np.stack([self.estimate - reach, self.estimate + reach], axis=1)

    def heading(self) -> str:
        """What was compared."""
        plural = "s" if len(self.pairs) > 1 else ""
        return f"{self.kind.capitalize()}{plural} of the {self.what}"

    def _labels(self) -> list[str]:
        sign = " − " if self.kind == "difference" else " / "
        return [sign.join(display.label_text(one) for one in pair) for pair in self.pairs]

    def _write(self, value: float) -> str:
        return display.measured(value)

    def _axis(self) -> Axis:
        return Axis(self.kind, 1.0, log=True) if self.kind == "ratio" else Axis(self.kind, 0.0)

    def _picture_labels(self) -> list[str]:
        return self._labels()

    def _table(self, level: float, method: str | None, most: int | None) -> ResultTable:
        shown = len(self.pairs) if most is None else min(len(self.pairs), 2 * most)
        chosen = self.default_interval if method is None else method
        left_out = len(self.pairs) - shown
        return ResultTable(
            title=self.heading(),
            columns=(
                labels("first", [first for first, _ in self.pairs[:shown]]),
                labels("second", [second for _, second in self.pairs[:shown]]),
                Column("estimate", self.estimate[:shown], self.kind),
                Column("std_error", self.std_error[:shown], "std. error"),
                Column("p_value", self.p_values[:shown], "p", display.p_value),
                Ends(interval_heading(level, chosen), self.interval(level, method)[:shown]),
            ),
            rows=shown,
            more=(f"{left_out:,} more pairs",) if left_out else (),
            notes=self.notes,
            measured=True,
        )

    def to_dict(self, level: float = 0.95, method: str | None = None) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        chosen = self.default_interval if method is None else method
        return {
            "kind": self.kind,
            "of": self.what,
            "pairs": [display.plain(pair) for pair in self.pairs],
            "estimate": display.plain(self.estimate),
            "std_error": display.plain(self.std_error),
            "p_value": display.plain(self.p_values),
            "interval": written_interval(self.interval(level, method), level, chosen),
            "notes": list(self.notes),
        }


def unknown_group(groups: Sequence[Any]) -> str:
    """What to say when a comparison names a group that is not there."""
    known = ", ".join(display.label_text(label) for label in groups[: display.SHOWN])
    return f"compare names a group that is not there; the groups are {known}"


def contrast(statistic: Statistic, pairs: Sequence[tuple[int, int]], kind: str) -> Contrast:
    """Comparisons of pairs of groups, by their places; the covariance of all of them from that of the groups."""
    kind = arguments.choice(kind, "kind", ("difference", "ratio"), EstimationError)
    used = sorted({place for pair in pairs for place in pair})
    groups, m = statistic.groups, statistic.estimate
    unknown = [groups[place] for place in used if not math.isfinite(statistic.std_error[place])]
    if unknown:
        raise EstimationError(
            f"the group {display.label_text(unknown[0])} has no standard error, so it cannot be compared: "
            "leave it out or merge it with another"
        )
    if kind == "ratio" and (m[used] <= 0).any():
        raise EstimationError(f"a ratio needs groups whose {statistic.what} is above 0: compare differences")
    L = np.zeros((len(pairs), m.size))
    for row, (i, j) in enumerate(pairs):
        L[row, [i, j]] = (1.0, -1.0) if kind == "difference" else (1 / m[j], -m[i] / m[j] ** 2)
    found = [m[i] - m[j] if kind == "difference" else m[i] / m[j] for i, j in pairs]
    covariance = L[:, used] @ statistic.covariance[np.ix_(used, used)] @ L[:, used].T
    degrees = [min(statistic.degrees_of_freedom[i], statistic.degrees_of_freedom[j]) for i, j in pairs]
    return Contrast(
        what=statistic._named,
        kind=kind,
        pairs=tuple((groups[i], groups[j]) for i, j in pairs),
        estimate=np.array(found),
        covariance=covariance,
        degrees_of_freedom=np.array(degrees, float),
        notes=statistic.notes,
    )


def difference_of_frequencies(one: Frequencies, other: Frequencies, groups: tuple[Any, Any]) -> Contrast:
    """``f̂ − f̂'`` of two groups, value by value; two values are one comparison, since one determines the other."""
    if one.correction is None or other.correction is None:
        raise EstimationError("these frequencies have no standard errors, so groups cannot be compared")
    covariance = one.covariance + other.covariance
    crossed = one.spread.cross_covariance(other.spread, one.correction)
    if crossed is not None:
        covariance = covariance - crossed - crossed.T
    values = [1] if one.estimate.size == 2 else list(range(one.estimate.size))
    names = [display.label_text(one.channels.label(code)) for code in values]
    first, second = (display.label_text(group) for group in groups)
    degrees = min(one.spread.degrees_of_freedom, other.spread.degrees_of_freedom)
    return Contrast(
        what=f'frequencies of "{one.column}"' if one.column else "frequencies",
        kind="difference",
        pairs=tuple((f"{first}: {name}", f"{second}: {name}") for name in names),
        estimate=one.estimate[values] - other.estimate[values],
        covariance=covariance[np.ix_(values, values)],
        degrees_of_freedom=np.full(len(values), float(degrees)),
        notes=(*one.notes, *other.notes),
    )
