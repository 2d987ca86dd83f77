"""Ranges of frequencies, and through them of the mean and of quantiles, with and without sampling error."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from discreet import arguments
from discreet.arguments import Floats
from discreet.domains import FiniteDomain
from discreet.errors import EstimationError
from discreet.estimate.bounds.range import Range
from discreet.estimate.bounds.region import Identified, Possible, Programme, share_region
from discreet.estimate.channels.channel import Channels
from discreet.estimate.channels.value_numbers import value_numbers
from discreet.estimate.intervals import levels
from discreet.estimate.reporting import display
from discreet.estimate.reporting.result import Result, frozen, written_interval
from discreet.estimate.reporting.table import SHARES, Axis, Ends, ResultTable, labels
from discreet.estimate.sampling.weighted_counts import Evidence
from discreet.mechanisms import FiniteMechanism

#: Each range takes two linear programmes in as many unknowns as there are values.
MAX_VALUES = 1024
#: A range narrower than this is a point, for all that a solver can tell.
_POINT = 1e-7
#: A frequency below this is zero: the rounding of a sum of frequencies.
_ZERO = 1e-12


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class FrequencyBounds(Result):
    """The range of each frequency over all distributions that go with the reports.

    Made by ``estimate.frequencies(..., method="bounds")``, for channels that do not tell all values apart. Nothing is
    assumed about the distribution of the truths.

    Attributes
    ----------
    identified : array (values, 2)
        Range of each frequency at the fitted report shares: what more people would not narrow.
    n : int
        Number of reports.
    labels : sequence
        The true values; their codes when labels are not known.
    notes : tuple of str
        What a reader should know.
    """

    channels: Channels
    evidence: Evidence
    fitted: Floats
    target: str
    notes: tuple[str, ...] = ()
    column: str | None = None
    method: str = field(default="bounds", init=False)
    _kept: dict[float, Floats] = field(default_factory=dict, init=False)

    @property
    def n(self) -> int:
        """Number of reports."""
        return self.evidence.n

    @property
    def mechanism(self) -> FiniteMechanism:
        """The design."""
        return self.channels.mechanisms[0]

    @property
    def labels(self) -> Any:
        """The true values in code order; their codes when labels are not known."""
        labels = self.channels.labels
        if labels is None:
            return range(self.channels.truths)
        return labels.labels if isinstance(labels, FiniteDomain) else list(labels)

    @cached_property
    def _channel(self) -> Floats:
        return self.mechanism.matrix()

    @cached_property
    def _without_sampling(self) -> Identified:
        return Identified(self.fitted, self._channel)

    def _possible(self, level: float) -> Possible:
        return Possible(self._channel, share_region(self.evidence, self.target, level))

    @cached_property
    def identified(self) -> Floats:
        """Range of each frequency at the fitted report shares, (values, 2)."""
        return frozen(_each(self._without_sampling, self._channel))

    def bounds(self, level: float = 0.95) -> Floats:
        """Ranges with sampling error, (values, 2): all of them hold at once with at least this confidence.

        They cover the identified range, so they also cover every distribution in it. (nan, nan) when the reports
        contradict the design.
        """
        level = levels.checked_level(level)
        if level not in self._kept:
            self._kept[level] = frozen(_each(self._possible(level), self._channel))
        return self._kept[level]

    def interval(self, level: float = 0.95, method: str | None = None) -> Floats:
        """The same as :meth:`bounds`; there is one method."""
        if method is not None:
            arguments.choice(
                method, "the method of the ranges of unidentified frequencies", ("bounds",), EstimationError
            )
        return self.bounds(level)

    @property
    def estimate(self) -> Floats:
        """The middle of each identified range: a number to draw, not an estimate that more people would improve."""
        return frozen(self.identified.mean(axis=1))

    @property
    def std_error(self) -> Floats:
        """There is none: the error does not vanish with n."""
        return frozen(np.full(self.channels.truths, np.nan))

    @property
    def covariance(self) -> Floats:
        """There is none."""
        return frozen(np.full((self.channels.truths,) * 2, np.nan))

    def functional(self, scores: ArrayLike, level: float = 0.95) -> Range:
        """The range of ``Σ_x scores_x f_x``, for one number per value."""
        level = levels.checked_level(level)
        numbers = arguments.floats(scores, "scores", EstimationError)
        if numbers.shape != (self.channels.truths,):
            raise EstimationError(f"scores must be {self.channels.truths} finite numbers, one per value")
        return self._range("sum of scores", numbers, level)

    def _range(self, what: str, scores: Floats, level: float) -> Range:
        inner = self._without_sampling.range(scores)

        def at_level(level: float) -> tuple[float, float]:
            return _covering(self._possible(level).range(scores), inner)

        low, high = at_level(level)
        return self._as_range(what, inner, low, high, level, at_level)

    def _as_range(
        self, what: str, inner: Any, low: Any, high: Any, level: float, at_level: Callable[[float], tuple[Any, Any]]
    ) -> Range:
        named = f'{what} of "{self.column}"' if self.column else what
        return Range(
            what=named,
            identified=inner,
            low=low,
            high=high,
            level=level,
            at_level=at_level,
            n=self.n,
            notes=self.notes,
        )

    def mean(self, level: float = 0.95, positions: ArrayLike | None = None) -> Range:
        """The range of the mean: of the positions of the domain, of numeric labels, or of given positions."""
        level = levels.checked_level(level)
        numbers = value_numbers(self.channels.labels, self.channels.truths, positions, self.column)
        if np.isnan(numbers).any():
            raise EstimationError("the range of a mean needs a number for every value, and the blank has none")
        return self._range("mean", numbers, level)

    def quantile(self, q: float = 0.5, level: float = 0.95) -> Range:
        """The range of a quantile: the smallest value that at least the share q of people do not exceed.

        Values are taken in code order. With F_k the share of people up to value k, the quantile is at least the
        first k where F_k *can* reach q, and at most the first where it *must*.
        """
        level = levels.checked_level(level)
        q = arguments.number(q, "q, the share of a quantile,", EstimationError, above=0, below=1)
        label = self.channels.label

        def named(codes: tuple[int | None, int | None]) -> tuple[Any, Any]:
            first, last = (math.nan if code is None else label(code) for code in codes)
            return first, last

        def at_level(level: float) -> tuple[Any, Any]:
            return named(self._quantile(self._possible(level), q))

        inner = named(self._quantile(self._without_sampling, q))
        return self._as_range(f"quantile at {q:g}", inner, *at_level(level), level, at_level)

    def _quantile(self, programme: Programme, q: float) -> tuple[int | None, int | None]:
        size = self.channels.truths

        def up_to(k: int) -> Floats:
            return (np.arange(size) <= k).astype(float)

        if math.isnan(programme.least(up_to(0))):
            return None, None
        can = _first(size, lambda k: -programme.least(-up_to(k)) >= q - _POINT)
        must = _first(size, lambda k: programme.least(up_to(k)) >= q - _POINT)
        return can, must

    def _labels(self) -> Any:
        return self.labels

    def _figures(self) -> Any:
        for code in range(self.channels.truths):
            found = display.ends(*self.identified[code], write=display.number)
            yield f"{display.label_text(self.channels.label(code))} {found}"

    def _axis(self) -> Axis:
        return SHARES

    def _table(self, level: float, method: str | None, most: int | None) -> ResultTable:
        bounds = self.interval(level, method)
        shown = self.channels.truths if most is None else min(self.channels.truths, most)
        left_out = self.channels.truths - shown
        return ResultTable(
            title=self.heading(),
            columns=(
                labels("value", [self.channels.label(code) for code in range(shown)]),
                Ends("identified range", self.identified[:shown], ("identified_low", "identified_high")),
                Ends(
                    f"{display.percent(level)} range, all values at once",
                    bounds[:shown],
                    empty=np.isnan(bounds[:shown, 0]),
                ),
            ),
            rows=shown,
            more=(f"{left_out:,} more values",) if left_out else (),
            notes=self.notes,
        )

    def heading(self) -> str:
        """What was estimated, from what."""
        what = f'Ranges of the frequencies of "{self.column}"' if self.column else "Ranges of the frequencies"
        whom = display.of_whom(self.target)
        return f"{what} {whom}, n = {self.n:,}"

    def to_dict(self, level: float = 0.95, method: str | None = None) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        bounds = self.interval(level, method)
        return {
            "kind": "frequency bounds",
            "column": self.column,
            "n": self.n,
            "method": self.method,
            "target": self.target,
            "labels": display.plain(list(self.labels)),
            "identified": {
                "low": display.plain(self.identified[:, 0]),
                "high": display.plain(self.identified[:, 1]),
            },
            "interval": written_interval(bounds, level, self.method),
            "notes": list(self.notes),
        }


def bounds_from(
    evidence: Evidence, channels: Channels, target: str, *, notes: tuple[str, ...] = (), column: str | None = None
) -> FrequencyBounds:
    """The ranges from evidence that has been collected."""
    if evidence.n == 0:
        raise EstimationError("there are no reports to estimate from (n = 0)")
    if len(channels.mechanisms) > 1:
        instead = 'use method="mle" or "unbiased"' if channels.is_identified() else "ask for the rows of one design"
        raise EstimationError(
            f'method = "bounds" works with one design; these rows were asked under several; {instead}'
        )
    if channels.truths > MAX_VALUES or channels.reports > MAX_VALUES:
        raise EstimationError(
            f"ranges are limited to {MAX_VALUES:,} values, each of which takes two linear programmes; "
            f"there are {max(channels.truths, channels.reports):,}"
        )
    weights = np.asarray(evidence.counts, float) if evidence.weights is None else evidence.weights
    fitted = channels.fit(weights).frequencies
    told = [*notes, *evidence.notes]
    if channels.is_identified():
        told.append('the channel tells all values apart: method="unbiased" gives each frequency with its error bar')
    else:
        told.append(
            "the channel does not tell all values apart: ranges hold for every distribution that goes with the "
            "reports, and more people do not narrow them below the identified range"
        )
    return FrequencyBounds(
        channels=channels, evidence=evidence, fitted=frozen(fitted), target=target, notes=tuple(told), column=column
    )


def _each(programme: Programme, channel: Floats) -> Floats:
    """The range of every single frequency, within [0, 1]; values with the same row have the same range."""
    size = len(channel)
    alike: dict[bytes, list[int]] = {}
    for code, row in enumerate(channel):
        alike.setdefault(row.tobytes(), []).append(code)
    out = np.full((size, 2), np.nan)
    for codes in alike.values():
        scores = np.zeros(size)
        scores[codes[0]] = 1.0
        low, high = programme.range(scores)
        if math.isnan(low):
            break
        out[codes] = low if low > _ZERO else 0.0, min(high, 1.0)
    return out


def _covering(outer: tuple[float, float], inner: tuple[float, float]) -> tuple[float, float]:
    """The range with sampling error contains the identified one; only the tolerance of the solver can part them."""
    if math.isnan(outer[0]):
        return outer
    return (
        min(outer[0], inner[0]) if inner[0] > outer[0] - _POINT else outer[0],
        max(outer[1], inner[1]) if inner[1] < outer[1] + _POINT else outer[1],
    )


def _first(size: int, holds: Callable[[int], bool]) -> int:
    """The first code at which a statement that stays true holds; the last one if it never does."""
    low, high = 0, size - 1
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low
