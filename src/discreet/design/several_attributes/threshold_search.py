"""A second, lower threshold over the same weights: cross-tables are kept also when levels differ widely.

With one threshold only the uniform answer makes attributes positively correlated, and strong attributes leave little
room for it: an attribute with λ_i = 0.96 bounds its share by 0.04. Under a *lower* threshold with the same weights the
strong attributes are still mostly truthful and the weak ones hardly, so that it serves the weak ones as the uniform
answer does. It costs little: the lower threshold is so much likelier that its density is negligible beside the first.

Any number of different attributes: one weighted threshold, without 2^k of anything.

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
from discreet.design.several_attributes.mixture_search import PairKeepingSearch, free_mixture
from discreet.design.several_attributes.request import Request
from discreet.design.several_attributes.rounding import levelled
from discreet.design.several_attributes.threshold_mixture import mixture_law
from discreet.design.several_attributes.threshold_sums import ThresholdSums, bound_from, logit
from discreet.errors import PrivacyError
from discreet.mechanisms.joint import JointResponse, Threshold, ThresholdLaw
from discreet.mechanisms.joint.threshold import DENOMINATOR, MAX_SUM

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
        """A second threshold; see :mod:`discreet.design.several_attributes.threshold_search`."""
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
