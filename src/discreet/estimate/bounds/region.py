"""Which report shares go with the counts: a region that contains the true shares with a stated confidence.

The smallest and largest value of a linear function over all frequencies that go with the reports.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.intervals.clopper_pearson import clopper_pearson
from discreet.estimate.sampling.weighted_counts import Evidence, effective_size


@dataclass(frozen=True, eq=False)
class ShareRegion:
    """All p with ``low ≤ p ≤ high`` and, where it is known, ``|cumulated p − cumulated shares| ≤ band``.

    Attributes
    ----------
    low, high : array
        Limits of each share, valid for all of them at once.
    cumulated : array or None
        Observed cumulated shares, without the last, which is one.
    band : float
        How far the true ones may be from them.
    """

    low: Floats
    high: Floats
    cumulated: Floats | None = None
    band: float = math.inf

    def contains(self, shares: Floats) -> bool:
        """Whether shares lie in the region."""
        inside = bool(np.all((shares >= self.low) & (shares <= self.high)))
        if self.cumulated is None or not inside:
            return inside
        return bool(np.abs(np.cumsum(shares)[:-1] - self.cumulated).max(initial=0.0) <= self.band)


def share_region(evidence: Evidence, target: str, level: float) -> ShareRegion:
    """The region at a confidence level, from counts of reports.

    Each share has its Clopper–Pearson limits, all together by Bonferroni's inequality. For a simple random sample half
    of the error goes to a band around the cumulated shares, ``√(log(2/α)/(2n))`` wide on each side (Dvoretzky, Kiefer
    and Wolfowitz 1956, with Massart's constant 1990): it holds whatever the distribution is, and is narrower for sums
    of many small shares, which is what means and quantiles depend on.

    With survey weights the limits use the effective sample size of each share. When only the randomisation is
    random the counts are sums of independent answers with different probabilities, for which Clopper–Pearson
    limits are valid too (Hoeffding 1956) and the band is left out.
    """
    alpha = 1 - level
    simple = target == "population" and evidence.survey is None and evidence.weights is None
    per_share = (alpha / 2 if simple else alpha) / evidence.counts.size
    size = effective_size(evidence, 1 - per_share) if target == "population" else evidence.kish
    exact = evidence.weights is None and evidence.survey is None
    counts = evidence.counts.astype(float) if exact else evidence.shares * size
    low, high = clopper_pearson(counts, size, 1 - per_share)
    if not simple:
        return ShareRegion(low, high)
    band = math.sqrt(math.log(2 / (alpha / 2)) / (2 * evidence.n))
    return ShareRegion(low, high, np.cumsum(evidence.shares)[:-1], band)


#: Singular values of a channel below this share of the largest are zero: floats err by about 1e-15.
_NULL = 1e-12
#: Half-widths of a region are at least this, so that rows can be scaled by them.
_NARROWEST = 1e-12


class Programme(ABC):
    """A set of frequencies over which linear functions have a range."""

    @abstractmethod
    def _solve(self, scores: Floats) -> float | None:
        """The least value of Σ scores·f, or None when there is no such f."""

    def range(self, scores: Floats) -> tuple[float, float]:
        """Smallest and largest value of ``Σ_x scores_x f_x``; (nan, nan) when no frequencies go with the reports."""
        least = self._solve(scores)
        if least is None:
            return np.nan, np.nan
        most = self._solve(-scores)
        return least, least if most is None else max(least, -most)

    def least(self, scores: Floats) -> float:
        """The smallest value alone."""
        found = self._solve(scores)
        return np.nan if found is None else found


@dataclass(frozen=True, eq=False)
class Identified(Programme):
    """All f ≥ 0 that lead to the same report shares as one of them: ``f₀ + V z``, V spanning the null space of Qᵀ."""

    fitted: Floats
    channel: Floats

    @cached_property
    def _directions(self) -> Floats:
        """V: directions in which the frequencies can move without a trace in the reports; they sum to zero."""
        left, values, _ = np.linalg.svd(self.channel)
        rank = int((values > _NULL * values[0]).sum())
        return np.asarray(left[:, rank:])

    def _solve(self, scores: Floats) -> float | None:
        V, at = self._directions, float(scores @ self.fitted)
        slope = scores @ V
        if V.shape[1] == 0 or np.abs(slope).max() <= _NULL * np.abs(scores).max(initial=1e-300):
            return at
        moved = _linear_programme(slope, A_ub=-V, b_ub=self.fitted, bounds=(None, None))
        return None if moved is None else at + moved


@dataclass(frozen=True, eq=False)
class Possible(Programme):
    """All f on the simplex whose report shares ``Qᵀf`` lie in a confidence region."""

    channel: Floats
    region: ShareRegion

    @cached_property
    def _rows(self) -> tuple[Floats, Floats]:
        """Constraints A f ≤ b, every row in units of the half-width of its limits, in which solvers err."""
        middle = (self.region.low + self.region.high) / 2
        half = np.maximum((self.region.high - self.region.low) / 2, _NARROWEST)
        # With Σ f = 1 the middle can be taken off the rows themselves, so that near-equal columns keep their digits.
        rows = [(self.channel - middle).T / half[:, None]]
        if self.region.cumulated is not None:
            cumulated = np.cumsum(self.channel, axis=1)[:, :-1]
            rows.append((cumulated - self.region.cumulated).T / max(self.region.band, _NARROWEST))
        stacked = np.vstack(rows)
        return np.vstack([stacked, -stacked]), np.ones(2 * len(stacked))

    def _solve(self, scores: Floats) -> float | None:
        rows, limits = self._rows
        ones = np.ones((1, self.channel.shape[0]))
        return _linear_programme(scores, A_ub=rows, b_ub=limits, A_eq=ones, b_eq=[1.0], bounds=(0, None))


def _linear_programme(costs: Floats, **constraints: Any) -> float | None:
    from scipy.optimize import linprog

    scale = float(np.abs(costs).max()) or 1.0
    found = linprog(costs / scale, method="highs", **constraints)
    if found.status == 2:  # infeasible
        return None
    if found.status != 0 or found.fun is None:
        raise EstimationError("the range of a frequency could not be found: the channel is too close to singular")
    return float(found.fun) * scale
