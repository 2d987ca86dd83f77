"""Weighted thresholds to mix: for one set of weights, what every threshold achieves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.design.attributes.request import Request
from discreet.design.attributes.threshold_sums import centre_of, log_chance, log_moment
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
