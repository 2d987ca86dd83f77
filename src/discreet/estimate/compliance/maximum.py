"""Maximum likelihood in a small polytope: Newton's method where the maximum is inside, its edges where it is not.

The log-likelihood ``ℓ(θ) = Σ_y c_y log p_y(θ)`` with p affine in θ is concave. Where its maximum over all θ with p ≥ 0
lies in the polytope it is the estimate. Elsewhere the estimate is on an edge, and on each edge the maximum is the root
of one falling function.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.arguments import Floats
from discreet.estimate.channels.likelihood_intervals import Profile
from discreet.estimate.compliance.model import Model

_STEPS = 200
#: A Newton step whose promised gain is below this changes no digit that counts.
_GAIN = 1e-13
#: Share of the way to a report of probability zero that a step may go.
_SHORT_OF_ZERO = 0.99


@dataclass(frozen=True, eq=False)
class Likelihood(Profile):
    """Counts of reports, the designs side by side, and the model that ties them together.

    Attributes
    ----------
    model : Model
    rows : array (1 + θ, reports)
        ``B_0, B_1, …`` of all designs side by side.
    counts : array (reports,)
    """

    model: Model
    rows: Floats
    counts: Floats

    def chances(self, theta: Floats) -> Floats:
        """The probability of every report under its own design."""
        return np.asarray(self.rows[0] + theta @ self.rows[1:])

    def value(self, theta: Floats) -> float:
        """The log-likelihood; minus infinity where a report that was seen is impossible."""
        seen = self.counts > 0
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(self.counts[seen] @ np.log(np.maximum(self.chances(theta)[seen], 0.0)))

    def information(self, theta: Floats) -> Floats:
        """Observed information: ``Σ_y c_y B_y B_yᵀ/p_y²``. p is affine, so there is no second derivative."""
        seen = self.counts > 0
        scaled = self.rows[1:, seen] * (np.sqrt(self.counts[seen]) / self.chances(theta)[seen])
        return np.asarray(scaled @ scaled.T)

    @cached_property
    def unrestricted(self) -> Floats:
        """The maximum over all θ that make every report's probability ≥ 0, in the polytope or not."""
        theta = self.model.corners.reshape(-1, self.rows.shape[0] - 1).mean(axis=0)
        seen = self.counts > 0
        slopes = self.rows[1:]
        for _ in range(_STEPS):
            chances = self.chances(theta)
            gradient = slopes[:, seen] @ (self.counts[seen] / chances[seen])
            # Reports that were not seen push nothing; a trace of them keeps the matrix regular.
            step = np.linalg.lstsq(self.information(theta), gradient, rcond=1e-12)[0]
            promised = float(gradient @ step)
            if promised < _GAIN:  # the last step doubles the digits, if it may be taken
                return np.asarray(theta + step if np.all(self.chances(theta + step) >= 0) else theta)
            change = step @ slopes
            falling = change < 0
            reach = _SHORT_OF_ZERO * float(np.min(-chances[falling] / change[falling], initial=np.inf))
            length, here = min(1.0, reach), self.value(theta)
            while self.value(theta + length * step) < here + 1e-4 * length * promised and length > 1e-12:
                length /= 2
            theta = theta + length * step
        return np.asarray(theta)

    @cached_property
    def estimate(self) -> Floats:
        """The maximum in the polytope."""
        if self.model.inside(self.unrestricted):
            return self.unrestricted
        points = [self.on_segment(edge) for edge in self.model.borders()]
        return max(points, key=self.value)

    def on_segment(self, ends: Floats) -> Floats:
        """The likeliest θ on a segment: the root of the slope, or the end toward which the likelihood rises."""
        first, change = self.chances(ends[0]), (ends[1] - ends[0]) @ self.rows[1:]
        seen = (self.counts > 0) & (change != 0)
        first, change = first[seen], change[seen]
        pull = self.counts[seen] * change

        def slope(s: float) -> float:
            with np.errstate(divide="ignore"):
                return float((pull / np.maximum(first + s * change, 0.0)).sum())

        if not seen.any() or slope(0.0) <= 0:
            return np.asarray(ends[0])
        if slope(1.0) >= 0:
            return np.asarray(ends[1])
        return np.asarray(ends[0] + _root(slope) * (ends[1] - ends[0]))

    def log_likelihood(self, t: int, v: float) -> float:
        """The profile: the largest log-likelihood at which quantity t has the value v."""
        return self.value(self.on_segment(self.model.quantities[t].ends(v)))


def _root(slope: Callable[[float], float]) -> float:
    """Where a falling function changes its sign between 0 and 1; it may be infinite at either end."""
    from scipy.optimize import brentq

    low, high = 0.0, 1.0
    if not np.isfinite(slope(low)):
        low = 1e-200  # its reciprocal does not overflow
    if not np.isfinite(slope(high)):
        high = 1 - np.finfo(float).epsneg
    if slope(low) <= 0:
        return low
    return high if slope(high) >= 0 else float(brentq(slope, low, high, xtol=1e-13, rtol=1e-12))
