"""Certify what a finite channel really gives, by arithmetic on integers.

A channel Q is ε-private when ``max_x Q[x, y] ≤ e^ε min_x Q[x, y]`` for every report y, and (ε, δ)-private
when ``Σ_y max(Q[x, y] − e^ε Q[x', y], 0) ≤ δ`` for all truths x, x'.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol, cast, overload, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet import arguments, limits
from discreet.errors import PrivacyError
from discreet.privacy.bounds import exp_bounds, log_bounds, round_down, round_up
from discreet.privacy.exact import Rows, exact_rows
from discreet.privacy.exact_epsilon import exact_epsilon
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.trade_off import Pair, error_curve, hockey_stick, interpolate

#: Above this many truths δ(ε) and f(α), which compare every pair of rows, take minutes.
MAX_PAIRED_ROWS = 1024
#: Pairs whose δ in floating point is this close to the largest are compared exactly. A float sum of at most
#: 2^20 terms that add up to at most one errs by far less.
SCREENING_TOLERANCE = 1e-9


@runtime_checkable
class HasWeights(Protocol):
    """Anything with exact integer weights, one row per truth."""

    def weights(self) -> Rows:
        """Integer rows with a common sum."""


@runtime_checkable
class HasRowPairs(Protocol):
    """A structured channel that names its essentially different pairs of rows instead of all of them."""

    @property
    def denominator(self) -> int:
        """The sum of every row."""

    def row_pairs(self) -> tuple[Pair, ...]:
        """Pairs of rows to which every other pair is equal, up to the order of reports."""

    def exposure(self) -> Fraction:
        """The largest chance, over truths, of a report that proves the truth."""


@dataclass(frozen=True)
class Certificate:
    """What a channel gives, computed from its integers.

    Attributes
    ----------
    epsilon : float
        The smallest ε for which the channel is ε-private, rounded up; infinite when some report is
        impossible under one truth and possible under another.
    exposure : float
        The largest chance, over truths, of a report that only this truth can give, rounded up.
    requested : float or None
        The ε at which ``guarantee`` is stated, if one was asked for.
    """

    epsilon: float
    exposure: float
    denominator: int
    requested: float | None = None
    _source: tuple[Pair, ...] | Rows = field(default=(), repr=False)
    _error: Fraction = field(default=Fraction(0), repr=False)

    @cached_property
    def _pairs(self) -> tuple[Pair, ...]:
        """The pairs of different truths that have to be compared."""
        if not self._source or isinstance(self._source[0], Pair):
            return cast("tuple[Pair, ...]", self._source)
        rows = self._source
        if len(rows) > MAX_PAIRED_ROWS:
            raise PrivacyError(
                f"comparing every pair of {len(rows)} different rows is over the limit of {MAX_PAIRED_ROWS}"
            )
        return tuple(Pair(a, b) for i, a in enumerate(rows) for b in rows[i + 1 :])

    def within(self, error: Fraction) -> Certificate:
        """The certificate of a channel each of whose probabilities is within a relative ``error`` of the integers.

        The ratio of two of them grows by ``(1 + error)/(1 − error)`` at most.
        """
        if not error or math.isinf(self.epsilon):
            return self
        more = log_bounds((1 + error) / (1 - error))[1] if error < 1 else None
        level = math.inf if more is None else round_up(Fraction(self.epsilon) + more)
        return replace(self, epsilon=level, _error=error)

    def delta(self, epsilon: float) -> float:
        """The smallest δ for which the channel is (ε, δ)-private, rounded up."""
        epsilon = _checked_epsilon(epsilon)
        if math.isinf(epsilon):
            return round_up(self._infinite_delta())
        if epsilon >= self.epsilon:
            return 0.0
        # A smaller factor can only overstate δ. Probabilities that are off: Σ max(P(1 + e) − e^ε P'(1 − e), 0).
        low = exp_bounds(min(epsilon, limits.EPSILON))[0] * max(1 - self._error, Fraction(0)) / (1 + self._error)
        worst = max(
            (hockey_stick(pair, self.denominator, low) for pair in self._both_ways(self._screened(epsilon))),
            default=Fraction(0),
        )
        return min(1.0, round_up(worst * (1 + self._error)))

    def _infinite_delta(self) -> Fraction:
        """Mass of the reports that are impossible under the other truth."""
        return max(
            (
                Fraction(sum(a for a, b in zip(p.first, p.second, strict=True) if b == 0), self.denominator)
                for p in self._both_ways(self._pairs)
            ),
            default=Fraction(0),
        )

    def _screened(self, epsilon: float) -> tuple[Pair, ...]:
        """The pairs that can attain the largest δ(ε), found in floating point with a safe margin."""
        # e^ε would not fit into a float, or the tolerance would not cover the error.
        if len(self._pairs) <= 64 or epsilon > 700 or self._error * 10 > SCREENING_TOLERANCE:
            return self._pairs
        factor = math.exp(epsilon)
        scaled = np.array([[v / self.denominator for v in row] for row in cast("Rows", self._source)])
        rough = np.array([np.maximum(row - factor * scaled, 0).sum(axis=1) for row in scaled])
        i, j = np.nonzero(np.triu(np.maximum(rough, rough.T) >= rough.max() - SCREENING_TOLERANCE, 1))
        rows = cast("Rows", self._source)
        return tuple(Pair(rows[a], rows[b]) for a, b in zip(i, j, strict=True))

    @staticmethod
    def _both_ways(pairs: Iterable[Pair]) -> Iterable[Pair]:
        for pair in pairs:
            yield pair
            yield pair.reversed

    @cached_property
    def _curves(self) -> tuple[tuple[tuple[Fraction, Fraction], ...], ...]:
        return tuple(error_curve(pair, self.denominator) for pair in self._both_ways(self._pairs))

    @overload
    def trade_off(self, alpha: float) -> float: ...
    @overload
    def trade_off(self, alpha: ArrayLike) -> float | NDArray[np.float64]: ...
    def trade_off(self, alpha: ArrayLike) -> float | NDArray[np.float64]:
        """The trade-off curve f(α): the least missed-detection rate of any test with false-alarm rate α.

        The worst pair of truths counts at each α. ``f(α) = 1 − α`` is perfect privacy; the value is rounded
        down, toward less privacy (Dong, Roth and Su 2022).
        """
        alphas = arguments.floats(alpha, "alpha", PrivacyError)
        if np.any(~((alphas >= 0) & (alphas <= 1))):
            raise PrivacyError("alpha must lie between 0 and 1")
        values = [self._lowest(Fraction(float(a))) for a in alphas.ravel()]
        if alphas.ndim == 0:
            return values[0]
        return np.array(values).reshape(alphas.shape)

    def _lowest(self, alpha: Fraction) -> float:
        """F at α; probabilities that are off by e allow α/(1 − e) false alarms and (1 + e) times the detections."""
        if self._error >= 1:
            return 0.0
        level = min(alpha / (1 - self._error), Fraction(1))
        lowest = min((interpolate(curve, level) for curve in self._curves), default=1 - level)
        return round_down(max(1 - (1 + self._error) * (1 - min(lowest, 1 - level)), Fraction(0)))

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee at the requested ε, or the pure one."""
        if self.requested is None or self.requested >= self.epsilon:
            return Guarantee(self.epsilon, exposure=self.exposure)
        return Guarantee(self.requested, delta=self.delta(self.requested), exposure=self.exposure)

    def summary(self) -> str:
        """One paragraph for people."""
        if math.isinf(self.epsilon):
            text = (
                "No finite ε: at least one report is impossible under one truth and possible under another, "
                "so it rules that truth out."
            )
        else:
            text = f"ε = {self.epsilon:.9g}, δ = 0."
        if self.requested is not None and self.requested < self.epsilon:
            text += f" At ε = {self.requested:.9g}: δ = {self.delta(self.requested):.6g}."
        if self.exposure > 0:
            text += f" Exposure: a truth can be proven by its report with probability {self.exposure:.6g}."
        return text

    __str__ = summary

    def to_dict(self) -> dict[str, Any]:
        """Plain data: ε (null when infinite), δ at the requested ε, exposure."""
        return {"summary": self.summary(), "guarantee": self.guarantee.to_dict()}


def certify(channel: Any, epsilon: float | None = None) -> Certificate:
    """Say what a channel really gives, whatever it was meant to give.

    Parameters
    ----------
    channel : object with ``weights()``, or a matrix
        A mechanism, or rows of integers with equal sums, of fractions, of text such as "1/6", or of floats.
    epsilon : float, optional
        State the guarantee as (ε, δ(ε)) at this ε; default is the pure guarantee.

    Examples
    --------
    >>> certify([["3/4", "1/4"], ["1/4", "3/4"]]).epsilon
    1.0986122886681098
    >>> certify([["1/2", "1/2"], [0, 1]]).epsilon          # a report of 0 proves the truth 0
    inf
    """
    if epsilon is not None:
        epsilon = _checked_epsilon(epsilon)
    if isinstance(channel, type):
        raise PrivacyError(f"certify takes a mechanism or a matrix, not the class {channel.__name__}")
    if isinstance(channel, HasRowPairs):
        pairs = channel.row_pairs()
        source: tuple[Pair, ...] | Rows = pairs
        denominator, exposure = channel.denominator, channel.exposure()
        level = exact_epsilon(zip(pair.first, pair.second, strict=True) for pair in pairs)
    else:
        weights = channel.weights() if isinstance(channel, HasWeights) else channel
        rows, denominator = exact_rows(weights)
        # Identical rows are the same distribution: one of them is enough.
        source, exposure = tuple(dict.fromkeys(rows)), row_exposure(rows, denominator)
        level = exact_epsilon([zip(*rows, strict=True)])
    return Certificate(
        epsilon=level,
        exposure=round_up(exposure),
        denominator=denominator,
        requested=epsilon,
        _source=source,
    )


def _checked_epsilon(epsilon: float) -> float:
    return arguments.number(epsilon, "epsilon", PrivacyError, least=0, infinite=True)


def row_exposure(rows: Rows, denominator: int) -> Fraction:
    """The largest chance, over truths x, of a report that only x can give."""
    exposed = [0] * len(rows)
    if len(rows) > 1:
        for column in zip(*rows, strict=True):
            possible = [x for x, weight in enumerate(column) if weight]
            if len(possible) == 1:
                exposed[possible[0]] += column[possible[0]]
    return Fraction(max(exposed), denominator)
