"""Intervals by score tests: all values of a coefficient that the scores of the rows do not contradict.

With scores of mean zero at the true θ, m(θ) their sum and M(θ) its estimated covariance,

    Q(θ) = m'M⁻¹m

is χ² there. The interval of coefficient j reaches from where Q is least to the first b on either side with
``min{Q(θ): θ_j = b} > z²`` (Hansen, Heaton and Yaron 1996; Stock and Wright 2000). No curvature is estimated and the
estimate need not be nearly normal; where the rows say little about a coefficient the interval is long, or has no end.
Values further out, where a few rows make up all of M, may be accepted again; that says nothing of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats

#: Steps of the other coefficients to their best, and the promised gain in Q at which they end.
_STEPS, _GAIN = 6, 0.01
#: How near √Q must come to the quantile, as a share of it, and trials to get there.
_NEAR, _TRIALS = 0.01, 40
#: An end further out than this many first guesses is none.
_FAR = 100.0
#: Coefficients of a squared loss up to which the covariance of its scores is written out as a function of θ.
_MOST_LINEAR = 15


@dataclass(frozen=True, eq=False)
class Standing:
    """Where θ stands: Q, the sum of scores, its covariance, and how the sum falls as θ grows (p, p)."""

    theta: Floats
    q: float
    total: Floats
    covariance: Floats
    information: Floats


@dataclass(frozen=True, eq=False)
class ScoreSearch:
    """The search for the ends of intervals.

    Parameters
    ----------
    at : function
        Of θ: its standing.
    start : array (p,)
        An estimate.
    covariance : array (p, p)
        Of the estimate, roughly: where to look first.
    """

    at: Callable[[Floats], Standing]
    start: Floats
    covariance: Floats

    def intervals(self, quantile: float) -> Floats:
        """(p, 2): low and high ends; infinite where nothing is rejected, nan where everything is."""
        best = self.settled(self.at(self.start), np.arange(self.start.size))
        return np.array([[self._end(best, j, side, quantile) for side in (-1.0, 1.0)] for j in range(self.start.size)])

    def settled(self, here: Standing, free: NDArray[np.intp]) -> Standing:
        """The free coefficients at their best, by Gauss–Newton steps."""
        if not (free.size and math.isfinite(here.q)):
            return here
        for _ in range(_STEPS):
            jacobian = here.information[:, free]
            weighed = np.linalg.solve(here.covariance, jacobian)
            slope = weighed.T @ here.total
            step = np.asarray(np.linalg.lstsq(weighed.T @ jacobian, slope, rcond=1e-12)[0], float)
            if float(slope @ step) < _GAIN:
                return here
            there = self._shorter(here, free, step)
            if there is None:
                return here
            here = there
        return here

    def _shorter(self, here: Standing, free: NDArray[np.intp], step: Floats) -> Standing | None:
        """The step, or a part of it, if that lowers Q."""
        for share in (1.0, 0.25):
            theta = here.theta.copy()
            theta[free] += share * step
            there = self.at(theta)
            if there.q < here.q:
                return there
        return None

    def _end(self, best: Standing, j: int, side: float, quantile: float) -> float:
        """The first value outward that is rejected."""
        if best.q > quantile**2:
            return math.nan
        ray = _Ray(self, best, j, side, self.covariance[:, j] / self.covariance[j, j])
        first = quantile * math.sqrt(self.covariance[j, j])
        return float(best.theta[j] + side * ray.crossing(first, quantile, _FAR * first))


@dataclass(eq=False)
class _Ray:
    """Values of one coefficient outward from the best, the others at their best for each."""

    search: ScoreSearch
    best: Standing
    j: int
    side: float
    path: Floats  # how all coefficients move with this one, per unit

    def root(self, distance: float) -> float:
        """√Q at a distance; infinite where it is not defined."""
        theta = self.best.theta + self.side * distance * self.path
        free = np.flatnonzero(np.arange(theta.size) != self.j)
        found = self.search.settled(self.search.at(theta), free)
        if not math.isfinite(found.q):
            return math.inf
        self.path = self.side * (found.theta - self.best.theta) / distance
        return math.sqrt(max(found.q, 0.0))

    def crossing(self, distance: float, quantile: float, far: float) -> float:
        """The distance at which √Q passes the quantile, from a first guess; infinite beyond ``far``."""
        inside, outside, low, high = 0.0, math.inf, 0.0, math.inf
        for _ in range(_TRIALS):
            root = self.root(distance)
            if abs(root - quantile) < _NEAR * quantile:
                break
            if root < quantile:
                inside, low = distance, root
            else:
                outside, high = distance, root
            distance = _next(inside, low, outside, high, quantile)
            if distance > far:
                return math.inf
        return distance


def _next(inside: float, low: float, outside: float, high: float, quantile: float) -> float:
    """Where √Q, nearly a line, passes the quantile: between an accepted and a rejected distance, or further out."""
    if math.isinf(outside):
        return inside * min(max(quantile / max(low, 1e-9), 1.2), 3.0)
    share = (quantile - low) / (high - low) if math.isfinite(high) else 0.5
    return inside + min(max(share, 0.1), 0.9) * (outside - inside)


def standing(theta: Floats, total: Floats, covariance: Floats, information: Floats) -> Standing:
    """Q at θ, from the sum of the scores and its covariance; infinite where that is singular."""
    size = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    with np.errstate(invalid="ignore"):
        scaled = covariance / np.outer(size, size)
    finite = np.isfinite(scaled).all() and np.isfinite(total).all() and np.isfinite(information).all()
    if not finite or np.linalg.eigvalsh(scaled)[0] < 1e-12:
        return Standing(theta, math.inf, total, covariance, information)
    q = float((total / size) @ np.linalg.solve(scaled, total / size))
    return Standing(theta, q, total, covariance, information)


class RiskStanding:
    """Q of a corrected loss as a function of θ.

    The scores of a squared loss are linear in θ: their sum and its covariance at every θ follow from one pass. Other
    losses take a pass for every θ.

    Parameters
    ----------
    risk : Risk
    """

    def __init__(self, risk: Any) -> None:
        self._risk = risk
        self._blocks: Floats | None = None
        if risk.family.curvature == "square" and risk.size <= _MOST_LINEAR:
            size = risk.size
            found, _ = risk.linear_scores().finished()
            self._blocks = found.reshape(1 + size, size, 1 + size, size)
            here = risk.moments(np.zeros(size))
            self._start, self._slope = here.gradient * risk.total, here.hessian * risk.total

    def __call__(self, theta: Floats) -> Standing:
        """Where θ stands."""
        risk = self._risk
        if self._blocks is not None:
            along = np.append(1.0, theta)
            covariance = np.einsum("k,kilj,l->ij", along, self._blocks, along)
            return standing(theta, -(self._start + self._slope @ theta), covariance, self._slope)
        with np.errstate(all="ignore"):
            here, (meat, _) = risk.moments(theta), risk.meat(theta).finished()
        return standing(theta, -here.gradient * risk.total, meat, here.hessian * risk.total)


@dataclass(frozen=True, eq=False)
class ScoreIntervals:
    """Score intervals of one fit; computed when they are asked for, and kept by quantile."""

    make: Callable[[], Callable[[Floats], Standing]]
    theta: Floats
    covariance: Floats
    _kept: dict[float, Floats] = field(default_factory=dict)

    def __call__(self, quantile: float) -> Floats:
        """(p, 2): low and high ends."""
        if quantile not in self._kept:
            self._kept[quantile] = ScoreSearch(self.make(), self.theta, self.covariance).intervals(quantile)
        return self._kept[quantile].copy()
