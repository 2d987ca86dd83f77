"""A second, lower threshold over the same weights: cross-tables are kept also when levels differ widely.

With one threshold only the uniform answer makes attributes positively correlated, and strong attributes leave little
room for it: an attribute with λ_i = 0.96 bounds its share by 0.04. Under a *lower* threshold with the same weights the
strong attributes are still mostly truthful and the weak ones hardly, so that it serves the weak ones as the uniform
answer does. It costs little: the lower threshold is so much likelier that its density is negligible beside the first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.design.attributes.request import Request
from discreet.design.attributes.threshold_sums import ThresholdSums, logit
from discreet.mechanisms.joint import JointResponse, Threshold, ThresholdLaw
from discreet.mechanisms.joint.threshold import DENOMINATOR

#: The lower threshold is where the tilt is this much of the first.
_TILTS = (0.15, 0.3, 0.5, 0.7)
#: Its share starts here and grows until pairs are kept.
_FIRST_SHARE = 0.01
_GROWTH = 1.4
#: Parts of the free design's uniform share that are tried.
_UNIFORM_FACTORS = (1.0, 1.5, 0.6)
#: Attributes beyond which fewer combinations are tried: each takes seconds there.
_FEWER_TRIALS_BEYOND = 200
#: Attributes of each kind (weakest, strongest, in between) whose pairs are watched.
_WATCHED = 10
#: No attribute may have to be truthful more often than this under the first threshold.
_LARGEST_TRUTH_RATE = 0.9999


@dataclass(frozen=True, eq=False)
class NestedFit:
    """Two nested thresholds: shares, weights and what they achieve."""

    first_share: float
    second_share: float
    weights: NDArray[np.int64]
    first: int
    second: int
    epsilon: float
    real: Floats

    def law(self, request: Request, surplus: float = 0.0) -> ThresholdLaw:
        """The law with integer shares; a surplus over what is needed makes up for errors of the arithmetic."""
        shares = [math.ceil(share * (1 + surplus) * DENOMINATOR) for share in (self.first_share, self.second_share)]
        weights = tuple(self.weights.tolist())
        return ThresholdLaw(
            request.sizes, (Threshold(shares[0], weights, self.first), Threshold(shares[1], weights, self.second))
        )


@dataclass(frozen=True)
class NestedSearch:
    """The search for two nested thresholds that keep every pair."""

    request: Request
    coarse: int

    def candidates(self, real: Floats, uniform: float) -> list[tuple[float, float, float, NestedFit]]:
        """Shares and tilts that keep the watched pairs, the best first: (uniform, share, tilt, fit)."""
        found = []
        many = self.request.count > _FEWER_TRIALS_BEYOND
        for part in _UNIFORM_FACTORS[:1] if many else _UNIFORM_FACTORS:
            for tilt in _TILTS[1:3] if many else _TILTS:
                share, weights = _FIRST_SHARE, real
                while share < 0.9:
                    fit = self.fit(weights, uniform * part, share, tilt, self.coarse, 4)
                    if fit is None:
                        break
                    weights = fit.real
                    if self.watched_slack(fit) >= 0:
                        found.append((uniform * part, share, tilt, fit))
                        break
                    share *= _GROWTH
        return sorted(found, key=lambda one: one[3].epsilon)

    def fit(
        self, real: Floats, uniform: float, share: float, tilt: float, resolution: int, rounds: int
    ) -> NestedFit | None:
        """Weights that meet every level with these shares; None when some attribute cannot."""
        a, p, d = self.request.a, self.request.truth, self.request.excess
        best: NestedFit | None = None
        for _ in range(rounds):
            scale = resolution / float(np.mean(real))
            weights = np.maximum(np.rint(real * scale), 1).astype(np.int64)
            lower = ThresholdSums(self.request, weights, tilt / scale)
            second = lower.matching(float(weights @ lower.truth))
            log_second, truth_second = lower.event(second)
            wanted = (p - uniform / a - share * truth_second) / (1 - uniform - share)
            if wanted.max() >= _LARGEST_TRUTH_RATE or wanted.min() <= 0:
                return best
            upper = ThresholdSums(self.request, weights, 1 / scale)
            first = upper.matching(float(weights @ wanted))
            log_first, truth_first = upper.event(first)
            above = truth_first - 1 / a
            needed = float(np.max((d - share * (truth_second - 1 / a)) / above)) if above.min() > 0 else math.inf
            rest = 1 - needed - share
            if needed > 0 and rest > 0:
                # The first density is the larger by far; both are added up in logarithms.
                logs = np.array([math.log(needed) - log_first, math.log(share) - log_second]) - math.log(rest)
                epsilon = float(np.logaddexp.reduce([0.0, *logs]))
                if best is None or epsilon < best.epsilon:
                    best = NestedFit(needed, share, weights, first, second, epsilon, real)
            real = np.maximum(real + logit(wanted) - logit(truth_first), 1e-3 * float(np.mean(real)))
        return best

    def watched_slack(self, fit: NestedFit) -> float:
        """The smallest λ_ij/(λ_i λ_j) − 1 among weak, strong and middling attributes."""
        order = np.argsort(self.request.eigenvalues)
        middle = len(order) // 2
        chosen = {*order[:_WATCHED], *order[-_WATCHED:], *order[middle - _WATCHED // 2 : middle + _WATCHED // 2]}
        return pair_slack(JointResponse(fit.law(self.request)).pair_eigenvalues(sorted(int(i) for i in chosen)))


def pair_slack(eigenvalues: Floats) -> float:
    """The smallest λ_ij/(λ_i λ_j) − 1 over pairs; infinite for a single attribute."""
    own = np.diag(eigenvalues)
    ratio = eigenvalues / np.outer(own, own) - 1
    np.fill_diagonal(ratio, np.inf)
    return float(ratio.min())
