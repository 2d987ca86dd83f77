"""The law of a weighted sum near a threshold that is still to be found, and the bound that its weights prove."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from discreet.design.attributes.request import Floats, Request
from discreet.mechanisms.joint.weighted_sum import WeightedSum, discounted_tails

#: Floats of a lower bound are trusted to this, relative; the arithmetic is good to about 1e-11.
_TRUST = 1e-9


class ThresholdSums:
    """The law of Σ v_i B_i under a given tilt, for thresholds near its mean."""

    def __init__(self, request: Request, weights: NDArray[np.int64], tilt: float) -> None:
        self._request, self._weights = request, weights
        self._law = WeightedSum(request.sizes, weights.tolist(), 0)
        self._law.__dict__["tilt"] = tilt
        self._tilt = tilt
        v = weights.astype(float)
        self._log_m = math.fsum(np.log((np.exp(tilt * v) + request.a - 1) / request.a))
        # K(x) = Σ_{s ≥ x} (s − x) P̃(s) e^{−t(s−x)} = Σ_{y > x} e^{−t(y−x)} H(y)
        tails = discounted_tails(self._law.discounted, tilt)
        self._excess = np.append(tails[1:] * math.exp(-tilt), 0.0)

    @property
    def centre(self) -> int:
        """The first sum above Σ v_i p_i."""
        return math.ceil(float(self._weights @ self._request.truth))

    def kappa(self, achieved: Floats) -> float:
        """κ for which the mean sum given the event is that of π = p + κ d."""
        surplus = float(self._weights @ (achieved - self._request.truth))
        return max(surplus / float(self._weights @ self._request.excess), 1e-12)

    @property
    def truth(self) -> Floats:
        """Truth rates under the tilted law."""
        return self._law.truth

    def mean_for(self, kappa: float) -> float:
        """The mean sum at truth rates p + κ d."""
        return float(self._weights @ (self._request.truth + kappa * self._request.excess))

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
        self._law.threshold = threshold
        log_chance = math.log(self._law.discounted[threshold]) + self._log_m - self._tilt * threshold
        return log_chance, self._law.truth_given_event()[0]

    def lower_bound(self) -> float:
        """No mechanism with these levels has a smaller record level."""
        centre = float(self._weights @ self._request.truth)
        x = self.centre
        excess = float(self._excess[x] + (x - centre) * self._law.discounted[x])
        log_mean = math.log(excess) + self._log_m - self._tilt * x
        log_ratio = math.log(float(self._weights @ self._request.excess)) - log_mean - _TRUST
        return log_ratio + math.log1p(math.exp(-log_ratio)) if log_ratio > 0 else math.log1p(math.exp(log_ratio))


def logit(p: Floats) -> Floats:
    """ln(p/(1 − p)), for rates that may have become certain by rounding."""
    inside = np.clip(p, 1e-12, 1 - 1e-12)
    return np.asarray(np.log(inside) - np.log1p(-inside))
