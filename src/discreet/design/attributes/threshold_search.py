"""Any number of different attributes: one weighted threshold, without 2^k of anything.

The dual asks for weights that minimise ``E[(Σ w_i (B_i − p_i))₊]/Σ w_i d_i``; at its minimum the set
D = {Σ w_i B_i ≥ Σ w_i p_i} has truth rates ``π_i = p_i + κ d_i`` with one κ for all attributes (its Chow parameters),
which is what a mixture of D with the uniform answer needs to meet every level: θ = 1/(1 + κ). Weights
``w_i = logit π_i + ln(a_i − 1)`` are right for independent attributes; rounds of
``w_i += logit(wanted) − logit(achieved)`` make them right under the threshold. Every round also proves a bound,

    e^ε ≥ 1 + Σ v_i d_i / E[(Σ v_i (B_i − p_i))₊].

A larger κ, that is more of the uniform answer, makes pairs of attributes more positively correlated; it is raised
until every cross-table is kept. What whole-number weights miss is made up by a slightly larger θ, and every attribute
is then randomised down to its level exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.design.attributes.dual_bound import bound_from
from discreet.design.attributes.free_mixture import free_mixture
from discreet.design.attributes.mixture import mixture_law
from discreet.design.attributes.nested_thresholds import NestedSearch, pair_slack
from discreet.design.attributes.pair_keeping_mixture import PairKeepingSearch
from discreet.design.attributes.request import Request
from discreet.design.attributes.rounding import levelled
from discreet.design.attributes.threshold_sums import ThresholdSums, logit
from discreet.errors import PrivacyError
from discreet.mechanisms.joint import JointResponse, Threshold, ThresholdLaw
from discreet.mechanisms.joint.threshold import DENOMINATOR, MAX_SUM

#: Average weights of the first and of the last rounds; finer ones meet the levels better.
_COARSE_RESOLUTION = 60
_FINE_RESOLUTION = 1000
#: Rounds at each of them, and of lifting the attributes that are still below their level.
_COARSE_ROUNDS = 25
_FINE_ROUNDS = 4
_LIFT_ROUNDS = 4
#: Lifting may let weights grow by this factor.
_LARGEST_GROWTH = 2.0
#: A threshold that would need this share of the mixture does not become possible by aiming a little higher.
_UNREACHABLE_SHARE = 1.05
#: How far above their goal rates are aimed at, in steps of a whole-number weight.
_AIM_STEPS = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0)
#: Largest number of attributes; the law of the sum takes k·Σv steps.
MAX_THRESHOLD_ATTRIBUTES = 20_000
#: Attributes among which pairs are checked while κ is sought: those whose pairs suffer most.
_WATCHED_ATTRIBUTES = 16
#: One threshold that comes this close to the bound is good enough not to look for several.
_GOOD_GAP, _GOOD_GAP_MIXED, _GOOD_GAP_FREE = 0.01, 0.02, 0.005
#: Attributes up to which thresholds are mixed, with pairs kept and without.
MAX_MIXED_PAIRS, MAX_MIXED = 120, 300
#: Shares are larger than needed by this, relative: what the errors of the arithmetic could take from the attribute
#: that needs most.
_SHARE_SURPLUS = 1e-10
#: Pairs are floats.
_PAIR_ERROR = 1e-9
#: Σ v_i while two thresholds are sought.
_NESTED_SUM = 200_000
#: Steps by which κ is raised until cross-tables are kept.
_KAPPA_STEP = 1.1


@dataclass(frozen=True, eq=False)
class Fit:
    """Whole-number weights and threshold, with what they achieve: θ needed, truth rates and record level."""

    share: float
    weights: NDArray[np.int64]
    threshold: int
    truth: Floats
    epsilon: float


class ThresholdSearch:
    """The search for weights, threshold and θ."""

    def __init__(self, request: Request, *, keep_pairs: bool) -> None:
        if request.count > MAX_THRESHOLD_ATTRIBUTES:
            raise PrivacyError(
                f"the exact design is limited to {MAX_THRESHOLD_ATTRIBUTES:,} different attributes, "
                f"not {request.count:,}"
            )
        self.request = request
        self.keep_pairs = keep_pairs
        self._fine = max(_COARSE_RESOLUTION, min(_FINE_RESOLUTION, int(0.4 * MAX_SUM / request.count)))
        #: The most that π_i ≤ 1 allows.
        self._largest_kappa = float(np.min(request.lie / request.excess))
        self.bound = 0.0

    def run(self) -> JointResponse | None:
        """The finished mechanism, or None when no threshold meets the levels; ``bound`` then holds the lower bound."""
        real, kappa = self._free()
        if self.keep_pairs:
            single = self._with_uniform(real, kappa)
        else:
            fit = self._lifted(real, kappa)
            single = self._finish(fit) if math.isfinite(fit.epsilon) else None
        if single is not None and single.guarantee.epsilon <= self.bound * (1 + self._close_enough):
            return single
        several = self._several(real)
        if several is None and self.keep_pairs:
            several = self._with_second(real, kappa)
        found = [one for one in (single, several) if one is not None]
        return min(found, key=lambda one: one.guarantee.epsilon) if found else None

    @property
    def _close_enough(self) -> float:
        if not self.keep_pairs:
            return _GOOD_GAP_FREE
        # Mixing takes a minute there and seldom gains a per cent.
        return _GOOD_GAP_MIXED if self.request.count <= MAX_MIXED_PAIRS else _GOOD_GAP

    def _several(self, real: Floats) -> JointResponse | None:
        """A mixture of several thresholds, as long as there are not too many attributes for that."""
        if self.request.count > (MAX_MIXED_PAIRS if self.keep_pairs else MAX_MIXED):
            return None
        free = free_mixture(self.request, real, self.bound)
        self.bound = max(self.bound, free.bound)
        columns, mixed = free.columns, free.mixed
        if self.keep_pairs:
            kept = PairKeepingSearch(self.request, self.bound).run(free)
            if kept is None:
                return None
            columns, mixed = kept
        if not math.isfinite(mixed.epsilon):
            return None
        mechanism = levelled(
            self.request, mixture_law(self.request, zip(columns, mixed.shares, strict=True), _SHARE_SURPLUS)
        )
        if self.keep_pairs and pair_slack(mechanism.pair_eigenvalues()) < -_PAIR_ERROR:
            return None
        return mechanism

    def _with_uniform(self, real: Floats, kappa: float) -> JointResponse | None:
        """More of the uniform answer until every pair is kept; None when strong attributes leave no room."""
        while True:
            fit = self._lifted(real, kappa)
            if self._watched_slack(fit) >= 0:
                mechanism = self._finish(fit)
                if pair_slack(mechanism.pair_eigenvalues()) >= -_PAIR_ERROR:
                    return mechanism
            if kappa * 1.001 >= self._largest_kappa:
                return None
            kappa = min(kappa * _KAPPA_STEP, self._largest_kappa * 0.9995)
            real, kappa = self._followed(real, kappa)

    def _with_second(self, real: Floats, kappa: float) -> JointResponse | None:
        """A second threshold; see :mod:`discreet.design.attributes.nested_thresholds`."""
        # A share of a per cent is lost in coarse weights, so these are as fine as time allows.
        search = NestedSearch(
            self.request, max(2 * _COARSE_RESOLUTION, min(self._fine, _NESTED_SUM // self.request.count))
        )
        for uniform, share, tilt, coarse in search.candidates(real, kappa / (1 + kappa)):
            for more in (1.0, 1.15, 1.4):
                fit = search.fit(coarse.real, uniform, share * more, tilt, self._fine, 4)
                if fit is None:
                    break
                mechanism = levelled(self.request, fit.law(self.request, _SHARE_SURPLUS))
                if pair_slack(mechanism.pair_eigenvalues()) >= -_PAIR_ERROR:
                    return mechanism
        return None

    def _free(self) -> tuple[Floats, float]:
        """Weights and κ at the minimum of the dual."""
        # logit p_i + ln(a_i − 1) is ε_i.
        real, kappa = np.array(self.request.epsilons), 0.0
        for resolution, rounds in ((_COARSE_RESOLUTION, _COARSE_ROUNDS), (self._fine, _FINE_ROUNDS)):
            for _ in range(rounds):
                sums = self._sums(real, resolution)
                self.bound = max(self.bound, bound_from(self.request, sums))
                threshold = sums.centre
                _, achieved = sums.event(threshold)
                kappa = min(sums.kappa(achieved), 0.999 * self._largest_kappa)
                real = self._updated(real, kappa, achieved)
        return real, kappa

    def _followed(self, real: Floats, kappa: float) -> tuple[Floats, float]:
        """Weights that follow a κ that is given, the threshold matching the mean."""
        for _ in range(3):
            sums = self._sums(real, _COARSE_RESOLUTION)
            _, achieved = sums.event(sums.matching(sums.mean_for(kappa)))
            real = self._updated(real, kappa, achieved)
        return real, kappa

    def _updated(self, real: Floats, kappa: float, achieved: Floats) -> Floats:
        wanted = self.request.truth + kappa * self.request.excess
        return np.maximum(real + logit(wanted) - logit(achieved), 1e-3 * float(np.mean(real)))

    def _sums(self, real: Floats, resolution: int) -> ThresholdSums:
        scale = resolution / float(np.mean(real))
        return ThresholdSums(self.request, np.maximum(np.rint(real * scale), 1).astype(np.int64), 1 / scale)

    def _lifted(self, real: Floats, kappa: float) -> Fit:
        """Whole-number weights, those of attributes below their level raised until θ = 1/(1 + κ) is enough."""
        scale = self._fine / float(np.mean(real))
        exact = real * scale
        best: Fit | None = None
        for more in _AIM_STEPS:
            # Rates cannot all be at or above their goal when their mean is at it: aim a little higher until they are.
            goal = self.request.truth + kappa * self.request.excess
            goal = goal + more * goal * (1 - goal) / scale
            best, exact = self._lift(exact, goal, scale)
            if math.isfinite(best.epsilon) or best.share > _UNREACHABLE_SHARE:
                break
        assert best is not None
        return best

    def _lift(self, exact: Floats, wanted: Floats, scale: float) -> tuple[Fit, Floats]:
        best: Fit | None = None
        for _ in range(_LIFT_ROUNDS + 1):
            weights = np.maximum(np.rint(exact), 1).astype(np.int64)
            sums = ThresholdSums(self.request, weights, 1 / scale)
            self.bound = max(self.bound, bound_from(self.request, sums))
            threshold = sums.matching(float(weights @ wanted))
            log_chance, achieved = sums.event(threshold)
            fit = self._fit(weights, threshold, log_chance, achieved)
            if best is None or (fit.epsilon, fit.share) < (best.epsilon, best.share):
                best = fit
            if best.share > _UNREACHABLE_SHARE:
                break
            missing = (logit(wanted) - logit(achieved)) * scale
            exact = exact + np.where(missing > 0, np.maximum(missing, 0.51), np.minimum(missing + 0.5, 0.0))
            # Weights that grow for ever chase something that lifting cannot reach.
            exact *= min(1.0, _LARGEST_GROWTH * self._fine * self.request.count / float(exact.sum()))
        assert best is not None
        return best, exact

    def _fit(self, weights: NDArray[np.int64], threshold: int, log_chance: float, achieved: Floats) -> Fit:
        # Every attribute must reach its level before it is randomised down: the neediest decides on θ.
        above = achieved - 1 / self.request.a
        needed = float(np.max(self.request.excess / above)) if above.min() > 0 else math.inf
        epsilon = math.inf
        if needed < 1:
            log_ratio = math.log(needed) - math.log1p(-needed) - log_chance
            epsilon = log_ratio + math.log1p(math.exp(-log_ratio))
        return Fit(needed, weights, threshold, achieved, epsilon)

    def _finish(self, fit: Fit) -> JointResponse:
        return levelled(self.request, self._threshold_law(fit, _SHARE_SURPLUS))

    def _threshold_law(self, fit: Fit, surplus: float) -> ThresholdLaw:
        share = min(math.ceil(fit.share * (1 + surplus) * DENOMINATOR), DENOMINATOR - 1)
        return ThresholdLaw(self.request.sizes, (Threshold(share, tuple(fit.weights.tolist()), fit.threshold),))

    def _watched_slack(self, fit: Fit) -> float:
        """The smallest λ_ij/(λ_i λ_j) − 1 among the attributes whose pairs suffer most."""
        if not math.isfinite(fit.epsilon):
            return -1.0
        suffering = fit.weights * fit.truth * (1 - fit.truth) / (fit.truth - 1 / self.request.a)
        watched = np.argsort(-suffering)[:_WATCHED_ATTRIBUTES]
        return pair_slack(JointResponse(self._threshold_law(fit, 0.0)).pair_eigenvalues(watched.tolist()))
