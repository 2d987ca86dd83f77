"""The dual bound: no mechanism with given attribute levels has a smaller record-level ε.

For any weights v ≥ 0, with B_i ~ Bernoulli(1/a_i) independent, p_i the truth rate that the level of attribute i allows
and d_i = p_i − 1/a_i,

    e^ε ≥ 1 + Σ v_i d_i / E[(Σ v_i (B_i − p_i))₊],

with equality at the best weights.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from discreet.design.attributes.request import Request
from discreet.design.attributes.threshold_sums import ThresholdSums, centre_of
from discreet.mechanisms.joint.weighted_sum import WeightedSum

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
