"""The likelihood of the reports with one frequency held fixed, the others being as favourable as they can.

With counts c of the reports and shares ``p = Qᵀf`` the log-likelihood is ``ℓ(f) = Σ_y c_y log p_y``. Its profile

    ℓ_t(v) = max { ℓ(f) : f on the simplex, f_t = v }

is concave in v, because ℓ is concave in f. Three ways to compute it, by what the channel allows:

* :class:`TwoValues`: two truths leave nothing to maximise.
* :class:`Symmetric`: generalised response, by water filling over the other values.
* :class:`General`: any channel. With ``f = v e_t + (1 − v) g`` the shares are ``p = Σ_j g_j (v Q_t + (1 − v) Q_j)``, so
  the restricted maximum is the ordinary one (:func:`discreet.estimate.channels.simplex_mle.channel_fit`) of a mixed
  channel, with
  its certificate.

Likelihood-ratio and score intervals for one frequency of any finite channel, by restricted maximum likelihood.

For a value v of the frequency f_t let f̃ be the likeliest frequencies with f_t = v
(:mod:`discreet.estimate.channels.likelihood_intervals`).

* Likelihood ratio: all v with ``2(max ℓ − ℓ_t(v)) ≤ z²`` (Wilks 1938). ℓ_t is concave, so this is an interval, and it
  always holds the maximum-likelihood estimate.
* Score: all v with ``(θ̂ − v)² ≤ z² V/n``, where ``θ̂ = Σ_y C_y p̂_y`` is a linear estimate of f_t with unbiased
  coefficients C and ``V = Σ_y p̃_y C_y² − v²`` its variance at f̃, not at the estimate. For maximum likelihood C is the
  row of ``(Q D⁻¹ Qᵀ)⁻¹ Q D⁻¹`` with D = diag(Qᵀf̃): the efficient score of Rao (1948) and Neyman (1959), which to first
  order does not feel how the other frequencies were fitted, also where some of them are zero. For the unbiased
  estimate C is its own row. For yes/no answers and generalised response both are Wilson's interval.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.estimate.channels.simplex_mle import channel_fit, nearby_fit


class Profile(ABC):
    """The profile likelihood of every frequency."""

    counts: Floats

    @property
    def n(self) -> float:
        """Number of reports."""
        return float(self.counts.sum())

    @abstractmethod
    def log_likelihood(self, t: int, v: float) -> float:
        """``ℓ_t(v)``; minus infinity where a report that was seen would be impossible."""

    def key(self, t: int) -> int:
        """Values with the same key have the same profile."""
        return t


@dataclass(frozen=True, eq=False)
class TwoValues(Profile):
    """Two truths, any number of reports: f_t = v leaves 1 − v for the other."""

    channel: Floats
    counts: Floats

    def log_likelihood(self, t: int, v: float) -> float:
        """``Σ_y c_y log(v Q_t + (1 − v) Q_other)_y``."""
        return _log_likelihood(self.counts, v * self.channel[t] + (1 - v) * self.channel[1 - t])

    def restricted(self, t: int, v: float) -> Floats | None:
        """The frequencies with f_t = v; None where they make a report impossible that was seen."""
        f = np.array([1 - v, v]) if t == 1 else np.array([v, 1 - v])
        return f if np.all((f @ self.channel)[self.counts > 0] > 0) else None


@dataclass(frozen=True, eq=False)
class General(Profile):
    """Any channel, or several side by side."""

    channel: Floats
    counts: Floats
    #: The last restricted fit: the next one is usually near it.
    _last: dict[int, Floats] = field(default_factory=dict, init=False)

    def restricted(self, t: int, v: float) -> Floats | None:
        """The likeliest frequencies with f_t = v; None where every one makes a report impossible that was seen."""
        others = np.delete(np.arange(self.channel.shape[0]), t)
        mixed = v * self.channel[t] + (1 - v) * self.channel[others]
        if np.any(mixed[:, self.counts > 0].max(axis=0) == 0):
            return None
        f = np.empty(self.channel.shape[0])
        f[t] = v
        f[others] = (1 - v) * self._fit(t, mixed)
        return f

    def _fit(self, t: int, mixed: Floats) -> Floats:
        if t not in self._last:
            self._last.clear()
        fit = nearby_fit(mixed, self.counts, self._last[t]) if t in self._last else channel_fit(mixed, self.counts)
        self._last[t] = fit.frequencies
        return fit.frequencies

    def log_likelihood(self, t: int, v: float) -> float:
        """ℓ at the restricted maximum."""
        f = self.restricted(t, v)
        return -math.inf if f is None else _log_likelihood(self.counts, f @ self.channel)


@dataclass(frozen=True, eq=False)
class Symmetric(Profile):
    """Generalised response: ``p_x = other + (keep − other) f_x``, at any number of values.

    With f_t = v the other shares maximise ``Σ c_j log p_j`` over p_j ≥ other with the sum that is left,
    ``R = 1 − p_t``: ``p_j = max(other, c_j/λ)``. The m largest counts are above the floor, m being the largest number
    with ``c_m (R − (N − 1 − m)·other) > other·(c_1 + … + c_m)``. The left side minus the right falls in m, so m is
    found by halving, and sums over the sorted counts give ℓ_t(v) in O(log N).
    """

    counts: Floats
    keep: float
    other: float

    @cached_property
    def _order(self) -> NDArray[np.intp]:
        return np.argsort(-self.counts, kind="stable")

    @cached_property
    def _rank(self) -> NDArray[np.intp]:
        rank = np.empty(self.counts.size, np.intp)
        rank[self._order] = np.arange(self.counts.size)
        return rank

    @cached_property
    def _sums(self) -> tuple[Floats, Floats, Floats]:
        """The counts in falling order; sums of c and of c log c over the first 0, 1, 2, … of them."""
        from scipy.special import xlogy

        falling = self.counts[self._order]
        zero = np.zeros(1)
        return (
            falling,
            np.concatenate([zero, np.cumsum(falling)]),
            np.concatenate([zero, np.cumsum(xlogy(falling, falling))]),
        )

    def key(self, t: int) -> int:
        """The profile of a value depends on its count."""
        return int(self.counts[t])

    def log_likelihood(self, t: int, v: float) -> float:
        """ℓ_t(v) by water filling."""
        falling, total, entropy = self._sums
        rank, own = int(self._rank[t]), float(self.counts[t])
        share = self.other + (self.keep - self.other) * v
        left, others = 1 - share, self.counts.size - 1

        def first(m: int, sums: Floats, itself: float) -> float:
            """A sum over the m largest of the other counts."""
            return float(sums[m] if m <= rank else sums[m + 1] - itself)

        def above(m: int) -> bool:
            count = falling[m - 1] if m <= rank else falling[m]
            return bool(count * (left - (others - m) * self.other) > self.other * first(m, total, own))

        low, high = 0, others
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if above(middle) else (low, middle - 1)
        filled = first(low, total, own)
        value = first(low, entropy, own * math.log(own) if own > 0 else 0.0)
        if filled > 0:
            value -= filled * math.log(filled / (left - (others - low) * self.other))
        return value + _times_log(float(total[-1]) - own - filled, self.other) + _times_log(own, share)


def _times_log(count: float, share: float) -> float:
    """``count·log(share)``, zero for a report that was not seen."""
    if count <= 0:
        return 0.0
    return count * math.log(share) if share > 0 else -math.inf


def _log_likelihood(counts: Floats, shares: Floats) -> float:
    seen = counts > 0
    with np.errstate(divide="ignore"):
        return float(counts[seen] @ np.log(shares[seen]))


#: Values for which restricted fits of a general channel are made: beyond, a table of intervals takes minutes.
MAX_RESTRICTED = 300
#: Ends are found this exactly, in units of the frequency.
_PRECISION = 1e-8
#: Signed roots beyond this many quantiles are held there: all that counts is that they are outside.
_OUTSIDE = 10.0
#: Where a score test is tried on the way to an end, in units of the quantile times the standard error: it may accept
#: again behind a rejected pocket.
_STEPS = np.array([0.0, 0.4, 0.7, 0.9, 1.1, 1.4, 2.0, 4.0])
#: A report that only absent values give has share zero: its limit, not a division by it.
_ABSENT = 1e-12


def likelihood_ratios(
    profile: Profile, codes: NDArray[np.int_], estimate: Floats, std_error: Floats, quantile: float
) -> Floats:
    """The likelihood-ratio interval of each of these values; the estimate is the maximum-likelihood one."""
    found: dict[int, tuple[float, float]] = {}
    for t in codes.tolist():
        if profile.key(t) not in found:
            found[profile.key(t)] = likelihood_ratio(profile, t, float(estimate[t]), float(std_error[t]), quantile)
    return np.array([found[profile.key(t)] for t in codes.tolist()]).reshape(-1, 2)


def scores(
    profile: Profile,
    codes: NDArray[np.int_],
    estimate: Floats,
    std_error: Floats,
    quantile: float,
    correction: Floats | None,
    *,
    of_the_table: bool,
) -> Floats:
    """The score interval of each of these values; ``correction`` is None for maximum likelihood."""
    assert isinstance(profile, (TwoValues, General))
    ends = []
    for t in codes.tolist():
        test = ScoreTest(profile, t, None if correction is None else correction[t], of_the_table)
        ends.append(test.interval(float(estimate[t]), float(std_error[t]), quantile))
    return np.array(ends).reshape(-1, 2)


def likelihood_ratio(
    profile: Profile, t: int, estimate: float, std_error: float, quantile: float
) -> tuple[float, float]:
    """The v with ``2(ℓ_t(estimate) − ℓ_t(v)) ≤ quantile²``, the estimate being the maximum-likelihood one."""
    top = profile.log_likelihood(t, estimate)

    def beyond(v: float) -> float:
        """The root of the likelihood ratio, minus the quantile: nearly a line in v."""
        drop = 2 * max(top - profile.log_likelihood(t, v), 0.0)
        return min(math.sqrt(drop), _OUTSIDE * quantile) - quantile

    reach = quantile * std_error + quantile**2 / profile.n
    if estimate + reach == estimate:  # a level of next to nothing: no step would leave the estimate
        return estimate, estimate
    return _outward(beyond, estimate, -reach, 0.0), _outward(beyond, estimate, reach, 1.0)


def _outward(beyond: Callable[[float], float], inside: float, reach: float, limit: float) -> float:
    """The end beyond an accepted point: steps that double until one is rejected, then the root before it."""
    while inside != limit:
        further = min(max(inside + reach, 0.0), 1.0)
        if beyond(further) > 0:
            return _end(beyond, further, inside)
        inside, reach = further, 2 * reach
    return limit


def _end(beyond: Callable[[float], float], rejected: float, accepted: float) -> float:
    """Where ``beyond`` changes its sign between a point that is rejected and one that is accepted."""
    from scipy.optimize import brentq

    return float(brentq(beyond, rejected, accepted, xtol=_PRECISION, rtol=1e-10))


@dataclass(frozen=True, eq=False)
class ScoreTest:
    """Whether a value of one frequency goes with the reports.

    Parameters
    ----------
    profile : TwoValues or General
        The restricted fits.
    t : int
        The value whose frequency is tested.
    correction : array or None
        The coefficients C of a fixed linear estimate; None for the efficient ones at each restricted fit.
    of_the_table : bool
        Whether the randomisation alone varies: then ``V = Σ_y p̃_y C_y² − v``.
    """

    profile: TwoValues | General
    t: int
    correction: Floats | None
    of_the_table: bool = False

    def statistic(self, v: float) -> float:
        """``(θ̂ − v)/√(V/n)``; infinite where v is impossible."""
        f = self.profile.restricted(self.t, v)
        if f is None:
            return math.inf
        counts = self.profile.counts
        n = float(counts.sum())
        expected = f @ self.profile.channel
        C = self._efficient(expected) if self.correction is None else self.correction
        # Differences from v: large coefficients do not cancel.
        distance = float((C - v) @ counts) / n
        variance = float((C - v) ** 2 @ expected) - (v * (1 - v) if self.of_the_table else 0.0)
        if distance == 0:
            return 0.0
        return math.copysign(math.inf, distance) if variance <= 0 else distance * math.sqrt(n / variance)

    def _efficient(self, expected: Floats) -> Floats:
        channel = self.profile.channel
        shares = expected + _ABSENT * channel.mean(axis=0)
        possible = shares > 0
        weighted = np.zeros_like(channel)
        weighted[:, possible] = channel[:, possible] / shares[possible]
        own = np.zeros(channel.shape[0])
        own[self.t] = 1.0
        return np.asarray(np.linalg.solve(weighted @ channel.T, own) @ weighted)

    def interval(self, estimate: float, std_error: float, quantile: float) -> tuple[float, float]:
        """From the smallest to the largest accepted v; (nan, nan) where none of the trials is accepted."""

        def beyond(v: float) -> float:
            return min(abs(self.statistic(v)), _OUTSIDE * quantile) - quantile

        # The second term is the reach where the standard error is zero, because all reports agree.
        reach = quantile * std_error + quantile**2 / self.profile.n
        trials = np.unique(np.clip(np.concatenate([estimate - reach * _STEPS, estimate + reach * _STEPS]), 0.0, 1.0))
        trials = np.unique([0.0, *trials, 1.0])
        accepted = np.flatnonzero([beyond(v) <= 0 for v in trials])
        if accepted.size == 0:
            return math.nan, math.nan
        first, last = int(accepted[0]), int(accepted[-1])
        low = 0.0 if first == 0 else _end(beyond, float(trials[first - 1]), float(trials[first]))
        high = 1.0 if last == trials.size - 1 else _end(beyond, float(trials[last + 1]), float(trials[last]))
        return low, high
