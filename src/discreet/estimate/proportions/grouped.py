"""Frequencies for every group of one or several public columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.intervals.levels import checked_level, two_sided_quantile
from discreet.estimate.intervals.newcombe import Sides
from discreet.estimate.means.contrast import Contrast, unknown_group
from discreet.estimate.proportions.intervals import wilson_of_values
from discreet.estimate.proportions.result import Frequencies
from discreet.estimate.reporting import display
from discreet.estimate.reporting.result import Grouped, frozen
from discreet.estimate.reporting.table import (
    SHARES,
    Axis,
    Column,
    Ends,
    ResultTable,
    group_columns,
    interval_heading,
    labels,
)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class GroupedFrequencies(Grouped[Frequencies]):
    """One :class:`Frequencies` per group, in the order of the group labels.

    A mapping: ``grouped["north"]`` is the result of a group, ``grouped["north", "f"]`` of a group by two columns;
    iterating gives the labels, ``items()`` labels and results.

    Attributes
    ----------
    results : mapping
        From group label to its result.
    by : str, tuple of str or None
        The public column, or columns.
    notes : tuple of str
        What a reader should know about all groups; each result has its own.
    """

    results: Mapping[Any, Frequencies]
    by: str | tuple[str | None, ...] | None = None
    notes: tuple[str, ...] = ()

    @property
    def labels(self) -> Any:
        """The true values in code order."""
        return self._first.labels

    @property
    def estimate(self) -> Floats:
        """Frequencies, shape (groups, values)."""
        return frozen(np.stack([result.estimate for result in self.results.values()]))

    @property
    def std_error(self) -> Floats:
        """Standard errors, shape (groups, values)."""
        return frozen(np.stack([result.std_error for result in self.results.values()]))

    @property
    def covariance(self) -> Floats:
        """Covariance within each group, shape (groups, values, values).

        Groups are independent of each other, except where a cluster reaches into several.
        """
        return frozen(np.stack([result.covariance for result in self.results.values()]))

    def interval(self, level: float = 0.95, method: str | None = None) -> Floats:
        """Confidence intervals, shape (groups, values, 2)."""
        return np.stack([result.interval(level, method) for result in self.results.values()])

    def empty(self, level: float = 0.95, method: str | None = None) -> NDArray[np.bool_]:
        """Which intervals are empty, shape (groups, values)."""
        return np.stack([result.empty(level, method) for result in self.results.values()])

    def compare(self, first: Any, second: Any) -> Contrast:
        """The difference of every frequency between two groups, first − second, with a test that there is none.

        The groups of a survey are not independent where clusters reach into both, and the standard errors know it.
        """
        try:
            one, other = self.results[first], self.results[second]
        except (KeyError, TypeError):  # what cannot be a label is none
            raise EstimationError(unknown_group(self.groups)) from None
        return difference_of_frequencies(one, other, (first, second))

    def heading(self) -> str:
        """What was estimated, from what."""
        groups = "1 group" if len(self) == 1 else f"{len(self)} groups"
        return f"{self._first.heading().rsplit(', n =', 1)[0]}, {groups}, n = {int(self.n.sum()):,}"

    def _labels(self) -> Iterator[str]:
        for group in self.results:
            for label in self.labels:
                yield f"{display.label_text(group)}: {display.label_text(label)}"

    def _axis(self) -> Axis:
        return SHARES

    def _table(self, level: float, method: str | None, most: int | None) -> ResultTable:
        first, level = self._first, checked_level(level)
        size = first.estimate.size
        codes, shown = list(range(size)), list(self.results.items())
        if most is not None:  # of two values the second says it all
            codes = [1] if size == 2 else codes[:most]
            shown = shown[: max(1, 2 * most // len(codes))]
        groups = [group for group, _ in shown for _ in codes]
        bounds = np.concatenate([result.interval(level, method)[codes] for _, result in shown])
        empty = np.isnan(bounds[:, 0]) & (first.correction is not None)
        chosen = first.default_interval if method is None else method
        more = [f"{len(self) - len(shown):,} more groups"] if len(shown) < len(self) else []
        if size > len(codes) > 1:
            more.append(f"{size - len(codes):,} more values in each group")
        return ResultTable(
            title=self.heading(),
            columns=(
                *group_columns(groups, self.by),
                labels("value", [first.channels.label(code) for code in codes] * len(shown)),
                Column("n", np.repeat([result.n for _, result in shown], len(codes)), write=display.count),
                Column("estimate", np.concatenate([result.estimate[codes] for _, result in shown])),
                Column("std_error", np.concatenate([result.std_error[codes] for _, result in shown]), "std. error"),
                Ends(interval_heading(level, chosen), bounds, empty=empty),
            ),
            rows=len(groups),
            more=tuple(more),
            notes=self._all_notes(),
        )

    def _all_notes(self) -> tuple[str, ...]:
        own = [f"{display.label_text(group)}: {note}" for group, r in self.results.items() for note in r.notes]
        return (*self.notes, *own[: display.SHOWN])

    def to_dict(self, level: float = 0.95, method: str | None = None) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return {
            "kind": "grouped frequencies",
            "by": display.plain(self.by),
            "groups": [
                {"group": display.plain(group), **result.to_dict(level, method)}
                for group, result in self.results.items()
            ],
            "notes": list(self.notes),
        }


def difference_of_frequencies(one: Frequencies, other: Frequencies, groups: tuple[Any, Any]) -> Contrast:
    """``f̂ − f̂'`` of two groups, value by value; two values are one comparison, since one determines the other."""
    if one.correction is None or other.correction is None:
        raise EstimationError("these frequencies have no standard errors, so groups cannot be compared")
    if one.contamination or other.contamination:
        raise EstimationError("comparisons do not allow for made-up reports: compare groups without contamination")
    covariance = one.covariance + other.covariance
    crossed = one.spread.cross_covariance(other.spread, one.correction)
    if crossed is not None:
        covariance = covariance - crossed - crossed.T
    values = [1] if one.estimate.size == 2 else list(range(one.estimate.size))
    names = [display.label_text(one.channels.label(code)) for code in values]
    first, second = (display.label_text(group) for group in groups)
    degrees = min(one.spread.degrees_of_freedom, other.spread.degrees_of_freedom)
    sides, correlation = _sides_of_frequencies(one, other, values), np.zeros(len(values))
    if crossed is not None:
        size = one.std_error[values] * other.std_error[values]
        correlation = np.divide(np.diag(crossed)[values], size, out=correlation, where=size > 0)
    return Contrast(
        what=f'frequencies of "{one.column}"' if one.column else "frequencies",
        kind="difference",
        pairs=tuple((f"{first}: {name}", f"{second}: {name}") for name in names),
        estimate=one.estimate[values] - other.estimate[values],
        covariance=covariance[np.ix_(values, values)],
        degrees_of_freedom=np.full(len(values), float(degrees)),
        notes=(*one.notes, *other.notes),
        sides=sides,
        correlation=correlation if sides else None,
    )


def _sides_of_frequencies(one: Frequencies, other: Frequencies, values: list[int]) -> Sides | None:
    """How far Wilson's intervals of both groups reach; None where a frequency is no line in the share of one report."""
    if one.channels.line is None or one.method != "unbiased":
        return None

    def sides(quantiles: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        parts = []
        for group in (one, other):
            low, high = wilson_of_values(group, values, quantiles)
            parts += [group.estimate[values] - low, high - group.estimate[values]]
        return parts[0], parts[1], parts[2], parts[3]

    probed = sides(np.full(len(values), two_sided_quantile(0.95)))
    return sides if all(np.isfinite(side).all() for side in probed) else None
