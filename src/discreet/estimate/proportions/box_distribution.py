"""The distribution function of one coordinate of a box, from reports with zero-inflated Laplace noise.

The corrected indicator of ``x ≤ t`` is ``1(x₁ ≤ t)/δ₀ + (1 − 1/δ₀) L((t − x₁)/b)``, L the Laplace distribution function
and ``b = λ√(δ₀/2)``: the derivative in t of the corrected check loss, so that its mean crosses p where that loss is
least. Where noise leaves the box, the indicator is instead corrected by the unbiased function of least variance on the
box (:mod:`.m_estimation.box.interval`). Its mean is tested at thresholds over the box, a few everywhere and more where
the answer changes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.data.map_reduce import Source, summed
from discreet.estimate.data.rows import Batch
from discreet.estimate.data.survey_design import Roles
from discreet.estimate.noisy_numbers.corrected_means import corrected_answers
from discreet.estimate.noisy_numbers.expectation import Expectation
from discreet.estimate.noisy_numbers.inside import is_coarse
from discreet.estimate.noisy_numbers.interval import CorrectedFunction, applies, interval_correction
from discreet.estimate.noisy_numbers.sample import read_sample
from discreet.estimate.sampling.score_means import ScoreMeans, ScoreSums
from discreet.mechanisms.laplace import ZeroInflatedLaplace

#: Corrected numbers of reports.
Indicator = Callable[[Floats], Floats]

#: Thresholds over the box on a fine grid of reports; every ``_APART``-th is tried first.
_POINTS, _APART = 4096, 128


class BoxThresholds:
    """Means of corrected indicators at any threshold, for all groups; each threshold is worked out once.

    Parameters
    ----------
    rows : Source of Batch
        All rows, with reports in place of codes.
    mechanism : ZeroInflatedLaplace
        Of one coordinate.
    roles, target
        As for :class:`ScoreSums`.
    p : float
        The share of the quantile.
    """

    def __init__(self, rows: Source, mechanism: ZeroInflatedLaplace, roles: Roles, target: str, p: float) -> None:
        self._rows, self._mechanism, self._roles, self._target, self._p = rows, mechanism, roles, target, p
        #: Rows without an answer, after the first look.
        self.left_out = 0
        low, high = mechanism.box.low[0], mechanism.box.high[0]
        self._coarse = is_coarse(mechanism)
        self._best = interval_correction(mechanism) if applies(mechanism) and not self._coarse else None
        if self._coarse:  # the truths are on the grid of the reports
            step = mechanism.grid[0]
            self.values = np.arange(math.ceil(low / step), math.floor(high / step) + 1) * step
        else:
            self.values = np.linspace(low, high, _POINTS + 1)
        if mechanism.zero_probability == 0 and not self._coarse:
            raise EstimationError(
                "quantiles of a box need records that are published exactly (zero probability above 0): a share "
                "cannot be corrected for noise alone"
            )
        self._kept: dict[int, ScoreMeans] = {}

    def at(self, place: int) -> ScoreMeans:
        """Mean and variance of the corrected indicator, less p, in every group."""
        if place not in self._kept:
            self.look_at([place])
        return self._kept[place]

    def look_at(self, places: Sequence[int]) -> None:
        """Work out several thresholds in one pass over the rows."""
        fresh = [place for place in places if place not in self._kept]
        if not fresh:
            return
        indicators = tuple(self._indicator(float(self.values[place])) for place in fresh)
        found = summed(self._rows, _Adding(indicators, self._roles, self._target, self._p))
        self.left_out = found.sums[0].left_out
        self._kept |= {place: sums.means() for place, sums in zip(fresh, found.sums, strict=True)}

    def _indicator(self, t: float) -> Indicator:
        """The corrected indicator of ``x ≤ t``, as a function of reports."""
        if self._coarse:
            return _OnGrid(self._mechanism, t)
        return _Exact(self._mechanism, t) if self._best is None else _OnBox(self._best.of(_Step(t)))


@dataclass(frozen=True)
class _Step:
    """``x ≤ t``."""

    t: float

    def __call__(self, x: Floats) -> Floats:
        return (x <= self.t).astype(float)


@dataclass(frozen=True, eq=False)
class _OnBox:
    """The unbiased function of least variance."""

    function: CorrectedFunction

    def __call__(self, reports: Floats) -> Floats:
        return self.function(reports)[:, 0]


@dataclass(frozen=True)
class _OnGrid:
    """Truths on the grid of the reports."""

    mechanism: ZeroInflatedLaplace
    t: float

    def __call__(self, reports: Floats) -> Floats:
        sample = read_sample(reports, self.mechanism, None, None, None)
        step = _Step(self.t + self.mechanism.grid[0] / 2)
        return corrected_answers(Expectation(lambda x: step(x[:, 0])), sample, "exact", None)[0][:, 0]


@dataclass(frozen=True)
class _Exact:
    """``1(x₁ ≤ t)/δ₀ + (1 − 1/δ₀) L((t − x₁)/b)``."""

    mechanism: ZeroInflatedLaplace
    t: float

    def __call__(self, reports: Floats) -> Floats:
        zero = self.mechanism.zero_probability
        u = (self.t - reports) / (math.sqrt(zero / 2) * float(self.mechanism.noise_scale[0]))
        tail = np.exp(-np.abs(u)) / 2
        averaged = np.where(u < 0, tail, 1 - tail)
        return np.asarray((u >= 0) / zero + (1 - 1 / zero) * averaged)


@dataclass(frozen=True, eq=False)
class ThresholdSums:
    """Sums at several thresholds; those of different rows add up."""

    sums: tuple[ScoreSums, ...]

    def __add__(self, other: ThresholdSums) -> ThresholdSums:
        return ThresholdSums(tuple(one + more for one, more in zip(self.sums, other.sums, strict=True)))


@dataclass(frozen=True, eq=False)
class _Adding:
    """The pass that adds up corrected indicators, less p."""

    indicators: tuple[Indicator, ...]
    roles: Roles
    target: str
    p: float

    def __call__(self, batches: Iterator[Batch]) -> ThresholdSums:
        found, p = [ScoreSums(1, self.roles, self.target, lost=1) for _ in self.indicators], self.p
        needs_squares = self.target == "table" or self.roles.fpc or self.roles.rows_per_person > 1
        for batch in batches:
            if not len(batch.codes):
                continue
            reports = np.nan_to_num(np.asarray(batch.codes, float), nan=0.0)  # whatever it is, it does not count
            for sums, corrected in zip(found, self.indicators, strict=True):
                indicator = corrected(reports)
                squares = ((1 - 2 * p) * indicator + p * p)[:, None, None]  # (1(x ≤ t) − p)² is linear in the indicator
                sums.add(batch, (indicator - p)[:, None], squares if needs_squares else None)
        return ThresholdSums(tuple(found))


@dataclass(frozen=True, kw_only=True)
class BoxDistribution:
    """The distribution function of one group."""

    thresholds: BoxThresholds
    group: int

    def _excess(self, place: int) -> tuple[float, float]:
        """``F̂ − p`` and its standard error."""
        found = self.thresholds.at(place)
        variance = float(found.covariance[self.group, self.group])
        return float(found.means[self.group, 0]), math.sqrt(max(variance, 0.0))

    @cached_property
    def _tried(self) -> list[int]:
        last = self.thresholds.values.size - 1
        tried = sorted({*range(0, last, max(1, min(_APART, last // 32))), last})
        self.thresholds.look_at(tried)
        return tried

    @cached_property
    def estimate(self) -> float:
        """Where the middle of the two rising distribution functions crosses p."""
        excess = np.array([self._excess(place)[0] for place in self._tried])
        rising = np.maximum.accumulate(excess) + np.minimum.accumulate(excess[::-1])[::-1]
        crossed = np.flatnonzero(rising >= 0)
        place = int(crossed[0]) if crossed.size else len(self._tried) - 1
        return self._value(self._between(place, lambda at: self._excess(at)[0] >= 0))

    def interval(self, quantile: float) -> tuple[float, float]:
        """The lowest and the highest value that no test rejects."""

        def can_reach(place: int) -> bool:
            excess, error = self._excess(place)
            return excess + quantile * error >= 0

        def must_exceed(place: int) -> bool:
            excess, error = self._excess(place)
            return excess - quantile * error >= 0

        tried, last = self._tried, len(self._tried) - 1
        # F is one at the upper bound of the box, whatever the estimate says.
        low = next((i for i, place in enumerate(tried) if i == last or can_reach(place)), last)
        below = [i for i, place in enumerate(tried[:-1]) if not must_exceed(place)]
        high = below[-1] + 1 if below else 0
        ends = self._value(self._between(low, can_reach)), self._value(self._between(high, must_exceed))
        return min(ends), max(ends)

    def _between(self, tried: int, holds: Callable[[int], bool]) -> int:
        """The first place, after the one tried before, at which a statement holds."""
        low, high = (self._tried[tried - 1] + 1 if tried else 0), self._tried[tried]
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if holds(middle) else (middle + 1, high)
        return high

    def _value(self, place: int) -> float:
        return float(self.thresholds.values[place])
