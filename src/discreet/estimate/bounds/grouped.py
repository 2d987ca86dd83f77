"""Ranges for every group of one or several public columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.bounds.range import Range, is_empty, shown_end
from discreet.estimate.bounds.result import FrequencyBounds, bounds_from
from discreet.estimate.data.source import ListedSource
from discreet.estimate.data.survey_design import SurveyDesign, group_names, left_out_note
from discreet.estimate.intervals.levels import checked_level
from discreet.estimate.reporting import display
from discreet.estimate.reporting.result import Grouped, frozen
from discreet.estimate.reporting.table import SHARES, Axis, Column, Ends, ResultTable, group_columns, labels
from discreet.estimate.sampling.report_totals import collect, silent_note

Part = TypeVar("Part", FrequencyBounds, Range)


class _Ranges(Grouped[Part]):
    """Ranges by group, which are not compared."""

    def compare(self, first: Any = None, second: Any = None, kind: str = "difference") -> NoReturn:
        """Ranges are not compared: where they do not overlap, the groups differ."""
        del first, second, kind
        raise EstimationError("ranges are not compared: groups differ where their ranges do not overlap")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Ranges(_Ranges[Range]):
    """A quantity that the reports only confine, for every group: a mapping from group to :class:`Range`.

    Attributes
    ----------
    results : mapping
        From group label to its range.
    by : str, tuple of str or None
        The public column, or columns.
    notes : tuple of str
    """

    results: Mapping[Any, Range]
    by: str | tuple[str | None, ...] | None = None
    notes: tuple[str, ...] = ()

    @property
    def estimate(self) -> Floats:
        """The middles of the identified ranges."""
        return frozen(np.concatenate([one.estimate for one in self.results.values()]))

    @property
    def std_error(self) -> Floats:
        """There is none: the errors do not vanish with n."""
        return frozen(np.full(len(self), np.nan))

    @property
    def covariance(self) -> Floats:
        """There is none."""
        return frozen(np.full((len(self), len(self)), np.nan))

    def interval(self, level: float = 0.95, method: str | None = None) -> Floats:
        """The ranges with sampling error, one (low, high) row per group."""
        return np.concatenate([one.interval(level, method) for one in self.results.values()])

    def heading(self) -> str:
        """What was estimated, from what."""
        return f"Ranges of the {self._first.what}, {len(self)} groups, n = {int(self.n.sum()):,}"

    def _labels(self) -> list[Any]:
        return self.groups

    def _figures(self) -> Iterator[str]:
        for group, one in self.results.items():
            yield f"{display.label_text(group)} {shown_end(one.identified[0])} to {shown_end(one.identified[1])}"

    def _table(self, level: float, method: str | None, most: int | None) -> ResultTable:
        shown = len(self) if most is None else min(len(self), most)
        bounds, parts = self.interval(level, method)[:shown], list(self.results.values())[:shown]
        left_out = len(self) - shown
        return ResultTable(
            title=self.heading(),
            columns=(
                *group_columns(self.groups[:shown], self.by),
                Column("n", self.n[:shown], write=display.count),
                Column("estimate", self.estimate[:shown], "middle", display.measured),
                Ends(
                    "identified range",
                    np.array([one.identified for one in parts]),
                    ("identified_low", "identified_high"),
                    shown_end,
                ),
                Ends(
                    f"{display.percent(checked_level(level))} range",
                    bounds,
                    write=shown_end,
                    empty=np.array([is_empty(low) for low in bounds[:, 0]]),
                ),
            ),
            rows=shown,
            more=(f"{left_out:,} more groups",) if left_out else (),
            notes=self._told(),
        )

    def to_dict(self, level: float = 0.95, method: str | None = None) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        parts = [{"group": display.plain(g), **one.to_dict(level, method)} for g, one in self.results.items()]
        return {"kind": "ranges", "by": display.plain(self.by), "groups": parts, "notes": list(self._told())}


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class GroupedBounds(_Ranges[FrequencyBounds]):
    """The ranges of all frequencies, for every group: a mapping from group to :class:`FrequencyBounds`.

    Attributes
    ----------
    results : mapping
        From group label to its ranges.
    by : str, tuple of str or None
        The public column, or columns.
    notes : tuple of str
    """

    results: Mapping[Any, FrequencyBounds]
    by: str | tuple[str | None, ...] | None = None
    notes: tuple[str, ...] = ()

    @property
    def labels(self) -> Any:
        """The true values in code order."""
        return self._first.labels

    @property
    def identified(self) -> Floats:
        """Ranges at the fitted report shares, shape (groups, values, 2)."""
        return frozen(np.stack([one.identified for one in self.results.values()]))

    @property
    def estimate(self) -> Floats:
        """The middles of the identified ranges, shape (groups, values)."""
        return frozen(self.identified.mean(axis=2))

    @property
    def std_error(self) -> Floats:
        """There is none: the errors do not vanish with n."""
        return frozen(np.full(self.estimate.shape, np.nan))

    @property
    def covariance(self) -> Floats:
        """There is none."""
        return frozen(np.stack([one.covariance for one in self.results.values()]))

    def interval(self, level: float = 0.95, method: str | None = None) -> Floats:
        """Ranges with sampling error, shape (groups, values, 2); all values of a group hold at once."""
        return np.stack([one.interval(level, method) for one in self.results.values()])

    def each(self, question: Callable[[FrequencyBounds], Range]) -> Ranges:
        """One question to every group."""
        return Ranges(results={group: question(one) for group, one in self.results.items()}, by=self.by)

    def mean(self, level: float = 0.95, positions: ArrayLike | None = None) -> Ranges:
        """The range of the mean in every group."""
        return self.each(lambda one: one.mean(level, positions))

    def quantile(self, q: float = 0.5, level: float = 0.95) -> Ranges:
        """The range of a quantile in every group."""
        return self.each(lambda one: one.quantile(q, level))

    def functional(self, scores: ArrayLike, level: float = 0.95) -> Ranges:
        """The range of ``Σ_x scores_x f_x`` in every group."""
        return self.each(lambda one: one.functional(scores, level))

    def heading(self) -> str:
        """What was estimated, from what."""
        return f"{self._first.heading().rsplit(', n =', 1)[0]}, {len(self)} groups, n = {int(self.n.sum()):,}"

    def _labels(self) -> Iterator[str]:
        for group in self.results:
            for label in self.labels:
                yield f"{display.label_text(group)}: {display.label_text(label)}"

    def _figures(self) -> Iterator[str]:
        for label, (low, high) in zip(self._labels(), self.identified.reshape(-1, 2), strict=True):
            yield f"{label} {display.ends(low, high, write=display.number)}"

    def _axis(self) -> Axis:
        return SHARES

    def _table(self, level: float, method: str | None, most: int | None) -> ResultTable:
        values = self._first.channels.truths
        codes = list(range(values if most is None else min(values, most)))
        shown = list(self.results.items())
        shown = shown if most is None else shown[: max(1, 2 * most // len(codes))]
        bounds = np.concatenate([one.interval(level, method)[codes] for _, one in shown])
        inner = np.concatenate([one.identified[codes] for _, one in shown])
        more = [f"{len(self) - len(shown):,} more groups"] if len(shown) < len(self) else []
        if values > len(codes):
            more.append(f"{values - len(codes):,} more values in each group")
        return ResultTable(
            title=self.heading(),
            columns=(
                *group_columns([group for group, _ in shown for _ in codes], self.by),
                labels("value", [self._first.channels.label(code) for code in codes] * len(shown)),
                Column("n", np.repeat([one.n for _, one in shown], len(codes)), write=display.count),
                Ends("identified range", inner, ("identified_low", "identified_high")),
                Ends(f"{display.percent(level)} range, all values at once", bounds, empty=np.isnan(bounds[:, 0])),
            ),
            rows=len(bounds),
            more=tuple(more),
            notes=self._told(),
        )

    def to_dict(self, level: float = 0.95, method: str | None = None) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        parts = [{"group": display.plain(g), **one.to_dict(level, method)} for g, one in self.results.items()]
        return {"kind": "grouped bounds", "by": display.plain(self.by), "groups": parts, "notes": list(self._told())}


def bounds_of(source: ListedSource, design: SurveyDesign) -> FrequencyBounds | GroupedBounds:
    """The ranges of all frequencies that are compatible with the reports, overall or by group."""
    evidence, left_out = collect(source, design)
    notes = (*left_out_note(left_out), *source.notes)
    channels, name, target = source.channels, source.name, design.target
    if design.groups is None:
        return bounds_from(evidence[0][1], channels, target, notes=notes, column=name)
    ranges = {label: bounds_from(part, channels, target, column=name) for label, part in evidence if part.n}
    by = group_names(design.groups, source.release)
    return GroupedBounds(results=ranges, by=by, notes=(*notes, *silent_note(evidence)))
