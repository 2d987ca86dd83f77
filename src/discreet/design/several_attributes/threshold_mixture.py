"""Weighted thresholds to mix: for one set of weights, what every threshold achieves.

Mixtures of several weighted thresholds, for attributes that one threshold does not serve: the master programme.

With x_m the share of threshold m over that of the uniform answer, π_i^m its truth rates and l_i the eigenvalues that
the mixture reaches, the best mixture is

    minimise Σ x_m/P(D_m)   subject to   Σ x_m (π_i^m − p_i)/d_i ≥ 1                            for every attribute,
                                         Σ x_m E_m[(χ_i − l_i)(χ_j − l_j)]/(l_i l_j) ≥ −1       for every pair to keep,

and its value is e^ε − 1. Attributes above their level are randomised down afterwards, which leaves the sign of every
covariance alone. Columns are found by :mod:`discreet.design.several_attributes.mixture_search` and
:mod:`discreet.design.several_attributes.mixture_search`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.design.several_attributes.request import Request
from discreet.design.several_attributes.threshold_sums import centre_of, log_chance, log_moment
from discreet.design.several_attributes.yamamoto_lp import solved
from discreet.mechanisms.joint import Threshold, ThresholdLaw
from discreet.mechanisms.joint.threshold import DENOMINATOR
from discreet.mechanisms.joint.weighted_sum import WeightedSum

Weights = NDArray[np.int64]

#: Thresholds looked at: those whose cost is within these powers of e of the reference, in this many steps.
_CHEAPEST, _DEAREST, _STEPS = -8.0, 8.0, 40

#: Nested subsets of attributes to start from.
_SUBSETS = 12


@dataclass(frozen=True, eq=False)
class Column:
    """One threshold answer: ln P(event), truth rates, and χ_i and χ_iχ_j given the event (empty where not needed)."""

    weights: Weights
    threshold: int
    log_chance: float
    truth: Floats
    chi: Floats
    pairs: Floats


class Family:
    """The same weights under many thresholds.

    With H the discounted tails under the tilted law (see :mod:`discreet.mechanisms.joint.weighted_sum`) and H' those
    without attribute i, P(B_i = 1, S ≥ T)/P(S ≥ T) = q_i H'(T − v_i)/H(T); for a pair both factors are divided out.
    """

    def __init__(self, request: Request, weights: Weights, reference: float) -> None:
        self.request, self.weights = request, weights
        self._law = WeightedSum(request.sizes, weights.tolist(), centre_of(request, weights)[0])
        tails = self._law.discounted
        with np.errstate(divide="ignore"):
            logs = np.log(tails) + log_moment(request, weights, self._law.tilt)
        logs -= self._law.tilt * np.arange(tails.size)
        # Tails fall with the threshold, so the wanted ones are found by bisection; equal ones are one.
        goals = -reference - np.linspace(_CHEAPEST, _DEAREST, _STEPS)
        found = np.searchsorted(-logs, -goals)
        self.thresholds = np.unique(np.clip(found, 1, self._law.top))
        self.thresholds = self.thresholds[np.isfinite(logs[self.thresholds])]
        self.log_chance = logs[self.thresholds]

    @cached_property
    def truth(self) -> Floats:
        """P(B_i = 1 | S ≥ T): attributes × thresholds."""
        base = self._law.discounted[self.thresholds]
        out = np.empty((self.request.count, self.thresholds.size))
        for i, v in enumerate(self.weights.tolist()):
            out[i] = self._law.truth[i] * self._at(self._without[i], self.thresholds - v) / base
        return np.clip(out, 0.0, 1.0)

    @cached_property
    def chi(self) -> Floats:
        """E[χ_i | S ≥ T]."""
        a = self.request.a[:, None]
        return np.asarray((a * self.truth - 1) / (a - 1))

    @cached_property
    def pairs(self) -> Floats:
        """E[χ_i χ_j | S ≥ T]: attributes × attributes × thresholds; nothing of use on the diagonal."""
        k, a = self.request.count, self.request.a
        base = self._law.discounted[self.thresholds]
        both = np.zeros((k, k, self.thresholds.size))
        for j in range(1, k):
            without = self._divided(self._without[:j], j)
            places = self.thresholds[None, :] - self.weights[:j, None] - self.weights[j]
            chance = self._at(without, places) * self._law.truth[:j, None] * self._law.truth[j] / base
            both[:j, j] = both[j, :j] = chance
        scaled = a[:, None] * self.truth
        product = np.multiply.outer(a, a)[:, :, None]
        return np.asarray(
            (product * both - scaled[:, None] - scaled[None, :] + 1) / np.multiply.outer(a - 1, a - 1)[:, :, None]
        )

    def column(self, at: int) -> Column:
        """The answer at one of the thresholds."""
        return Column(
            self.weights,
            int(self.thresholds[at]),
            float(self.log_chance[at]),
            self.truth[:, at].copy(),
            self.chi[:, at].copy(),
            self.pairs[:, :, at].copy(),
        )

    @cached_property
    def _without(self) -> Floats:
        """Tails without each attribute: attributes × sums."""
        tails = self._law.discounted[None, :]
        return np.vstack([self._divided(tails, i) for i in range(self.request.count)])

    def _at(self, tails: Floats, x: NDArray[np.int64]) -> Floats:
        """Rows of tails at whole numbers: beyond the top they are 0, below 0 they are e^{tx} of the first."""
        inside = np.clip(x, 0, self._law.top)
        found = np.take_along_axis(tails, inside, axis=-1) if tails.ndim > 1 else tails[inside]
        return np.where(x > self._law.top, 0.0, found * np.exp(self._law.tilt * np.minimum(x, 0)))

    def _divided(self, tails: Floats, i: int) -> Floats:
        """Divide attribute i out of rows of tails: H(x) = f H'(x) + q H'(x − v), solved in the stable direction."""
        from scipy.signal import lfilter

        v, q = int(self.weights[i]), float(self._law.truth[i])
        f, tilt = 1 - q, self._law.tilt
        if v == 0:
            return tails
        rows, size = tails.shape
        blocks = -(-size // v) + 1
        padded = np.zeros((rows, blocks, v))
        padded.reshape(rows, -1)[:, :size] = tails
        if q < 0.5:
            # Below zero H' is e^{tx} H'(0), and H(0) = f H'(0) + q e^{−tv} H'(0).
            first = tails[:, 0] / (f + q * math.exp(-tilt * v))
            before = first[:, None, None] * np.exp(-tilt * np.arange(v, 0, -1))
            out, _ = lfilter([1 / f], [1.0, q / f], padded, axis=1, zi=-(q / f) * before)
        else:
            # H'(x) = (H(x + v) − f H'(x + v))/q, from the top down.
            solved = lfilter([1 / q], [1.0, f / q], padded[:, ::-1], axis=1)[:, ::-1]
            out = np.concatenate([solved[:, 1:], np.zeros((rows, 1, v))], axis=1)
        return np.asarray(out.reshape(rows, -1)[:, :size])


def single_column(request: Request, weights: Weights, threshold: int) -> Column:
    """One threshold without its pairs."""
    law = WeightedSum(request.sizes, weights.tolist(), threshold)
    truth = law.truth_given_event()[0]
    chi = (request.a * truth - 1) / (request.a - 1)
    return Column(weights, threshold, log_chance(request, law), truth, chi, np.zeros((0, 0)))


def nested_subsets(request: Request) -> list[Floats]:
    """Indicators of the strongest attributes, fewer and fewer.

    Being truthful about such a subset, and the larger the subset the more seldom, meets any levels and makes no pair
    anticorrelated: a mixture to start from.
    """
    order = np.argsort(-np.array(request.epsilons))
    out = []
    for count in sorted({math.ceil(request.count * part / _SUBSETS) for part in range(1, _SUBSETS + 1)}):
        strongest = np.zeros(request.count)
        strongest[order[:count]] = 1.0
        out.append(strongest)
    return out


def whole_weights(real: Floats, mean: float) -> Weights:
    """Whole-number weights ≥ 0 with about this mean."""
    inside = np.maximum(real, 0.0)
    return np.asarray(np.rint(inside * (mean * inside.size / inside.sum())), np.int64)


Pair = tuple[int, int]

#: Columns dearer than e to this, relative to the bound, are noise to the solver.
_LARGEST_LOG_COST = 14.0
#: A missing unit of a row costs this much: more than any dual weight of a mixture that is worth having.
_PENALTY = 1e5
#: Shares below this, relative to the largest, are what the solver leaves of nothing.
_NEGLIGIBLE_SHARE = 1e-13
#: The largest share over that of the uniform answer.
_LARGEST_SHARE = 1e9
#: What may be missing of a row that is met.
_ROW_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class Mixed:
    """A solved programme: ε (infinite when a row is not met), shares of the columns, dual weights of the rows."""

    epsilon: float
    shares: Floats
    duals: Floats
    pair_duals: Floats

    @property
    def used(self) -> NDArray[np.intp]:
        """Columns with a share."""
        return np.flatnonzero(self.shares > 0)


@dataclass(frozen=True)
class Programme:
    """The programme for a set of columns; costs are relative to e^bound, so that values are near one."""

    request: Request
    bound: float
    columns: tuple[Column, ...]
    pairs: tuple[Pair, ...] = ()
    reached: Floats | None = None

    def mixed(self) -> Mixed:
        """The best mixture; rows may be missed at a penalty, so that there is always one."""
        which, cost, rows = self._parts()
        goal = np.concatenate([np.ones(self.request.count), -np.ones(len(self.pairs))])
        answer = solved(
            np.concatenate([cost, np.full(len(rows), _PENALTY)]),
            A_ub=-np.hstack([rows, np.eye(len(rows))]),
            b_ub=-goal,
            bounds=(0.0, _LARGEST_SHARE),
        )
        shares = np.zeros(len(self.columns))
        if answer is None:
            return Mixed(math.inf, shares, np.zeros(self.request.count), np.zeros(len(self.pairs)))
        found, missing = np.split(np.asarray(answer.x), [cost.size])
        shares[which] = np.where(found > _NEGLIGIBLE_SHARE * found.max(), found, 0.0)
        duals = np.maximum(-np.asarray(answer.ineqlin.marginals), 0.0)
        epsilon = self.epsilon(answer.fun) if missing.max() < _ROW_TOLERANCE else math.inf
        return Mixed(epsilon, shares, *np.split(duals, [self.request.count]))

    def boxed(self, low: Floats, high: Floats) -> tuple[float, Floats, bool] | None:
        """The programme with its dual weights in a box: value as ε, dual weights, and whether the box binds."""
        _, cost, rows = self._parts()
        free = np.eye(self.request.count)
        answer = solved(
            np.concatenate([cost, high, -low]),
            A_ub=-np.hstack([rows, free, -free]),
            b_ub=-np.ones(self.request.count),
            bounds=(0.0, _LARGEST_SHARE),
        )
        if answer is None or not answer.fun > 0:
            return None
        binds = bool(answer.x[cost.size :].max() > _ROW_TOLERANCE)
        return self.epsilon(answer.fun), np.maximum(-np.asarray(answer.ineqlin.marginals), 0.0), binds

    def reduced_costs(self, mixed: Mixed) -> tuple[NDArray[np.intp], Floats]:
        """Columns that are cheap enough, and what a unit of each would add to the value."""
        which, cost, rows = self._parts()
        return which, cost - np.concatenate([mixed.duals, mixed.pair_duals]) @ rows

    def epsilon(self, value: float) -> float:
        """ε of a value of the programme, which is (e^ε − 1)/e^bound."""
        return self.bound + math.log(value + math.exp(-self.bound))

    def _parts(self) -> tuple[NDArray[np.intp], Floats, Floats]:
        logs = np.array([-column.log_chance - self.bound for column in self.columns])
        which = np.flatnonzero(logs < _LARGEST_LOG_COST)
        rows = truth_rows(self.request, np.array([self.columns[m].truth for m in which]).T)
        if self.pairs and self.reached is not None:
            first, second = np.array(self.pairs).T
            both = np.array([self.columns[m].pairs[first, second] for m in which]).T
            chi = np.array([self.columns[m].chi for m in which]).T
            rows = np.vstack([rows, covariance_rows(self.reached, both, chi, self.pairs)])
        return which, np.exp(logs[which]), rows


def truth_rows(request: Request, truth: Floats) -> Floats:
    """(π_i − p_i)/d_i: attributes × columns."""
    return np.asarray((truth - request.truth[:, None]) / request.excess[:, None])


def covariance_rows(reached: Floats, both: Floats, chi: Floats, pairs: Sequence[Pair]) -> Floats:
    """E[(χ_i − l_i)(χ_j − l_j)]/(l_i l_j): pairs × columns."""
    first, second = np.array(pairs).T
    one, other = reached[first][:, None], reached[second][:, None]
    return np.asarray(both / (one * other) - chi[first] / one - chi[second] / other + 1)


def mixture_law(request: Request, parts: Iterable[tuple[Column, float]], surplus: float) -> ThresholdLaw:
    """The mixture with integer shares; a surplus over what is needed makes up for errors of the arithmetic."""
    used = [(column, share) for column, share in parts if share > 0]
    whole = 1 + math.fsum(share for _, share in used)
    return ThresholdLaw(
        request.sizes,
        tuple(
            Threshold(
                math.ceil(share / whole * (1 + surplus) * DENOMINATOR), tuple(column.weights.tolist()), column.threshold
            )
            for column, share in used
        ),
    )
