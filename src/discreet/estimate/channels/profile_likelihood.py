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
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
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
