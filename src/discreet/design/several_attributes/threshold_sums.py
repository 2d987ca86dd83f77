"""Sums Σ v_i B_i near a threshold that is still to be found: chances, means and truth rates beyond it.

The dual bound: no mechanism with given attribute levels has a smaller record-level ε.

For any weights v ≥ 0, with B_i ~ Bernoulli(1/a_i) independent, p_i the truth rate that the level of attribute i allows
and d_i = p_i − 1/a_i,

    e^ε ≥ 1 + Σ v_i d_i / E[(Σ v_i (B_i − p_i))₊],

with equality at the best weights.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.design.several_attributes.request import Request
from discreet.mechanisms.joint.weighted_sum import WeightedSum, discounted_tails

#: Tails below this are too far out for the tilt at hand.
_LEAST_TAIL = 1e-180


class ThresholdSums:
    """The law of Σ v_i B_i under a given tilt, for thresholds near its mean."""

    def __init__(self, request: Request, weights: NDArray[np.int64], tilt: float) -> None:
        self._request, self.weights = request, weights
        self._law = WeightedSum(request.sizes, weights.tolist(), 0)
        self._law.__dict__["tilt"] = tilt
        self._tilt = tilt
        self._log_m = log_moment(request, weights, tilt)
        # K(x) = Σ_{s ≥ x} (s − x) P̃(s) e^{−t(s−x)} = Σ_{y > x} e^{−t(y−x)} H(y)
        tails = discounted_tails(self._law.discounted, tilt)
        self._excess = np.append(tails[1:] * math.exp(-tilt), 0.0)

    @property
    def centre(self) -> int:
        """The first sum at or above Σ v_i p_i."""
        return centre_of(self._request, self.weights)[0]

    def kappa(self, achieved: Floats) -> float:
        """κ for which the mean sum given the event is that of π = p + κ d."""
        surplus = float(self.weights @ (achieved - self._request.truth))
        return max(surplus / float(self.weights @ self._request.excess), 1e-12)

    @property
    def truth(self) -> Floats:
        """Truth rates under the tilted law."""
        return self._law.truth

    def mean_for(self, kappa: float) -> float:
        """The mean sum at truth rates p + κ d."""
        return float(self.weights @ (self._request.truth + kappa * self._request.excess))

    def matching(self, mean: float) -> int:
        """The threshold T at which E[S | S ≥ T] is nearest to a mean."""
        tails = self._law.discounted
        low, high = 1, self._law.top
        while low < high:
            middle = (low + high) // 2
            if tails[middle] <= 0 or middle + self._excess[middle] / tails[middle] >= mean:
                high = middle
            else:
                low = middle + 1
        return low

    def event(self, threshold: int) -> tuple[float, Floats]:
        """Ln P(S ≥ T), and the truth rates given it."""
        law = self._law
        law.threshold = threshold
        if law.discounted[threshold] < _LEAST_TAIL:
            # Too far from where this tilt is at home: the event has its own.
            law = WeightedSum(self._request.sizes, self.weights.tolist(), threshold)
        return log_chance(self._request, law), law.truth_given_event()[0]

    def log_mean_surplus(self) -> float:
        """Ln E[(Σ v_i (B_i − p_i))₊]; −∞ when these weights leave nothing above."""
        x, above = centre_of(self._request, self.weights)
        surplus = float(self._excess[x] + above * self._law.discounted[x])
        return math.log(surplus) + self._log_m - self._tilt * x if surplus > 0 else -math.inf


def centre_of(request: Request, weights: NDArray[np.int64]) -> tuple[int, float]:
    """The first sum at or above Σ v_i p_i, and how far above it is.

    Counted from the top in terms of 1 − p_i, which do not cancel where p_i is nearly one.
    """
    short = float(weights @ request.lie)
    down = math.floor(short)
    return int(weights.sum()) - down, short - down


def log_chance(request: Request, law: WeightedSum) -> float:
    """Ln P(S ≥ T), from the tilted law."""
    at_threshold = math.log(law.discounted[law.threshold])
    return at_threshold + log_moment(request, law.weights, law.tilt) - law.tilt * law.threshold


def log_moment(request: Request, weights: NDArray[np.int64], tilt: float) -> float:
    """Ln E[e^{t Σ v_i B_i}] = Σ ln((e^{t v_i} + a_i − 1)/a_i), without overflow."""
    tilted = tilt * weights
    return math.fsum(np.log1p((request.a - 1) * np.exp(-tilted)) + tilted - np.log(request.a))


def logit(p: Floats) -> Floats:
    """ln(p/(1 − p)), for rates that may have become certain by rounding."""
    inside = np.clip(p, 1e-12, 1 - 1e-12)
    return np.asarray(np.log(inside) - np.log1p(-inside))


#: Floats of a lower bound are trusted to this, relative; the arithmetic is good to about 1e-11.
TRUSTED = 1e-9
#: The average of the whole-number weights of a quick bound.
_QUICK_RESOLUTION = 60


def bound_from(request: Request, sums: ThresholdSums) -> float:
    """The bound that the weights of a sum prove; 0 when they prove nothing."""
    log_surplus = sums.log_mean_surplus()
    if not math.isfinite(log_surplus):
        return 0.0
    log_ratio = math.log(float(sums.weights @ request.excess)) - log_surplus - TRUSTED
    return log_ratio + math.log1p(math.exp(-log_ratio)) if log_ratio > 0 else math.log1p(math.exp(log_ratio))


def bound_at(request: Request, weights: NDArray[np.int64]) -> float:
    """The bound that whole-number weights prove; 0 when they prove nothing."""
    centre, _ = centre_of(request, weights)
    if centre >= int(weights.sum()):
        return 0.0
    tilt = WeightedSum(request.sizes, weights.tolist(), centre).tilt
    if tilt <= 0:
        return 0.0
    bound = bound_from(request, ThresholdSums(request, weights, tilt))
    return bound if math.isfinite(bound) else 0.0


def quick_bound(request: Request) -> float:
    """A bound that takes no search: from the weights that are right for independent attributes."""
    real = np.array(request.epsilons)
    scale = _QUICK_RESOLUTION / float(np.mean(real))
    whole = np.maximum(np.rint(real * scale), 1).astype(np.int64)
    return bound_from(request, ThresholdSums(request, whole, 1 / scale))
