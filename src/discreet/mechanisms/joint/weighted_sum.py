"""The law of S = Σ v_i B_i under the uniformly random answer, where whole-number weights v_i meet a threshold T.

There are 2^k patterns but only Σ v_i + 1 sums, so dynamic programming over sums is enough. The event S ≥ T may have a
probability of e^{−200}; everything is computed under the exponentially tilted law, in which B_i has odds
``e^{t v_i}/(a_i − 1)`` and t is such that the mean of S is T. Then nothing that matters underflows:

    P(S ≥ T) = M e^{−tT} Σ_{s ≥ T} P̃(s) e^{−t(s−T)},   M = Π (e^{t v_i} + a_i − 1)/a_i.

All terms are positive, so the relative error of a sum is at most that of its terms, and is bounded here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: Half a unit in the last place.
_UNIT = 2.0**-53
#: Working precision of the few logarithms that enter a certificate.
_FIFTY = Context(prec=50)
#: e^30 is far inside the range of floats: exponentials are taken in blocks of this many exponents.
_BLOCK_EXPONENT = 30.0
#: Series are cut where terms are below this, relative to the first.
_NEGLIGIBLE = 1e-20
#: The same for pairs, which no certificate depends on.
_NEGLIGIBLE_PAIR = 1e-14


class WeightedSum:
    """The tilted law of a weighted number of truthful attributes.

    Parameters
    ----------
    sizes, weights : sequences of int
        a_i and v_i ≥ 0.
    threshold : int
        T; at most Σ v_i.
    """

    def __init__(self, sizes: Sequence[int], weights: Sequence[int], threshold: int) -> None:
        self.sizes = np.array(sizes, np.int64)
        self.weights = np.array(weights, np.int64)
        self.threshold = int(threshold)
        self.top = int(self.weights.sum())

    @cached_property
    def tilt(self) -> float:
        """T ≥ 0 with E[S] = T under the tilted law; at the very top, a t that is large enough."""
        v, others = self.weights.astype(float), self.sizes - 1.0
        scale = max(float(v.max(initial=1.0)), 1.0)

        def mean(t: float) -> float:
            return float(np.sum(v / (1 + others * np.exp(-t * v))))

        goal = min(float(self.threshold), self.top - 0.5 * float(v[v > 0].min(initial=1.0)))
        low, high = 0.0, 60.0 / scale
        if mean(0.0) >= goal:
            return 0.0
        while mean(high) < goal and high * scale < 1e6:
            high *= 2
        for _ in range(80):
            middle = (low + high) / 2
            low, high = (middle, high) if mean(middle) < goal else (low, middle)
        return high

    @cached_property
    def truth(self) -> Floats:
        """P̃(B_i = 1)."""
        return np.asarray(1 / (1 + (self.sizes - 1.0) * np.exp(-self.tilt * self.weights)))

    @cached_property
    def _false(self) -> Floats:
        """P̃(B_i = 0), without cancellation."""
        scaled = (self.sizes - 1.0) * np.exp(-self.tilt * self.weights)
        return np.asarray(scaled / (1 + scaled))

    @cached_property
    def probabilities(self) -> Floats:
        """P̃(S = s) for s = 0 … Σ v_i."""
        law, spare = np.zeros(self.top + 1), np.empty(self.top + 1)
        law[0], length = 1.0, 1
        for i in np.argsort(self.weights, kind="stable"):
            v = int(self.weights[i])
            if v == 0:
                continue
            np.multiply(law[:length], self.truth[i], out=spare[:length])
            law[:length] *= self._false[i]
            law[v : v + length] += spare[:length]
            length += v
        return law

    @cached_property
    def discounted(self) -> Floats:
        """``H(x) = Σ_{s ≥ x} P̃(s) e^{−t(s−x)}`` for x = 0 … Σ v_i."""
        return discounted_tails(self.probabilities, self.tilt)

    def tail(self, x: NDArray[np.int64], tails: Floats | None = None) -> Floats:
        """H at any whole number: beyond the top it is 0, below 0 it is ``e^{tx} H(0)``."""
        tails = self.discounted if tails is None else tails
        found = tails[np.clip(x, 0, self.top)]
        return np.where(x > self.top, 0.0, np.where(x < 0, found * np.exp(self.tilt * np.minimum(x, 0)), found))

    @cached_property
    def relative_error(self) -> float:
        """Bound on the relative error of every H: five roundings per attribute, three per step of a sum."""
        return 2 * _UNIT * (6 * len(self.weights) + 3 * self.top + 100)

    @cached_property
    def log_scale(self) -> Decimal:
        """Ln M − tT to about 45 digits."""
        t = Decimal(self.tilt)
        known: dict[tuple[int, int], Decimal] = {}
        total = Decimal(0)
        for a, v in zip(self.sizes.tolist(), self.weights.tolist(), strict=True):
            if (a, v) not in known:
                raised = _FIFTY.exp(_FIFTY.multiply(t, Decimal(v)))
                known[a, v] = _FIFTY.ln(_FIFTY.divide(_FIFTY.add(raised, Decimal(a - 1)), Decimal(a)))
            total = _FIFTY.add(total, known[a, v])
        return _FIFTY.subtract(total, _FIFTY.multiply(t, Decimal(self.threshold)))

    def log_probability_bounds(self) -> tuple[Fraction, Fraction]:
        """Fractions that enclose ln P(S ≥ T)."""
        tail = Decimal(float(self.discounted[self.threshold]))
        middle = Fraction(_FIFTY.add(_FIFTY.ln(tail), self.log_scale))
        # The floats that enter P̃ are themselves off by a few units in the exponent t·v.
        slack = Fraction(self.relative_error) + Fraction(1, 10**40)
        slack += Fraction(4 * _UNIT) * len(self.weights) * (2 + Fraction(self.tilt * float(self.weights.max())))
        return middle - slack, middle + slack

    def truth_given_event(self) -> tuple[Floats, Floats]:
        """P(B_i = 1 | S ≥ T) for every attribute, and a bound on the absolute error of each.

        Dividing the factor of attribute i out of the law is a geometric series in H, forward when its tilted truth
        rate is below ½ and backward otherwise; no law without the attribute is ever built.
        """
        base = float(self.discounted[self.threshold])
        joint, absolute = self._series(self.threshold, np.arange(len(self.weights)), self.discounted)
        exponent = self.tilt * self.weights.astype(float)
        relative = self.relative_error + 8 * _UNIT * (2 + exponent)
        return joint / base, absolute / base * 2 * relative + 1e-18

    def _series(
        self, at: int, which: NDArray[np.intp], tails: Floats, negligible: float = _NEGLIGIBLE
    ) -> tuple[Floats, Floats]:
        """Σ over sums with B_j = 1 of the discounted law from ``at`` on, and the sum of absolute terms."""
        values, sizes = np.zeros(which.size), np.zeros(which.size)
        q, v = self.truth[which], self.weights[which]
        odds = q / self._false[which]
        # Without a tilt the forward series of a fair coin does not end; the backward one always does.
        forward = (q < 0.5) & ((self.tilt > 0) | (odds < 0.9))
        for chosen, ahead in ((np.flatnonzero(forward), True), (np.flatnonzero(~forward), False)):
            if not chosen.size:
                continue
            ratio = odds[chosen] if ahead else 1 / odds[chosen]
            step = np.maximum(v[chosen], 1)
            by_ratio = np.full(ratio.size, np.inf)
            np.divide(math.log(negligible), np.log(ratio), out=by_ratio, where=ratio < 1)
            reach = (at + 50 / self.tilt if self.tilt else np.inf) if ahead else self.top - at
            needed = np.minimum(by_ratio, reach / step)
            # Attributes that need about as many terms are summed together.
            for part in np.array_split(np.argsort(needed), -(-chosen.size // 64)):
                power = np.arange(int(needed[part].max()) + 2)[None, :]
                moves = v[chosen[part]][:, None]
                x = at - (power + 1) * moves if ahead else at + power * moves
                size = ratio[part][:, None] ** power * self.tail(x, tails)
                if ahead:
                    size = size * ratio[part][:, None]
                values[chosen[part]] = np.sum(size * (1 - 2 * (power % 2)), axis=1)
                sizes[chosen[part]] = size.sum(axis=1)
        # A weight of zero leaves the attribute alone: it keeps its own rate.
        idle = v == 0
        values[idle] = sizes[idle] = q[idle] * float(tails[min(max(at, 0), self.top)])
        return values, sizes

    def pairs_given_event(self, attributes: Sequence[int]) -> Floats:
        """P(B_i = B_j = 1 | S ≥ T) for the attributes named; the diagonal is P(B_i = 1 | S ≥ T)."""
        chosen = np.array(attributes, np.intp)
        base = float(self.discounted[self.threshold])
        out = np.empty((chosen.size, chosen.size))
        for row, i in enumerate(chosen.tolist()):
            without, v = self._tails_without(i), int(self.weights[i])
            later = chosen[row + 1 :]
            if later.size:
                at = self.threshold - v
                joint, _ = self._series(at, later, without, _NEGLIGIBLE_PAIR)
                out[row, row + 1 :] = out[row + 1 :, row] = self.truth[i] * joint / base
            x = np.array([self.threshold - v])
            out[row, row] = self.truth[i] * self.tail(x, without)[0] / base
        return out

    def _tails_without(self, i: int) -> Floats:
        """H of the sum without attribute i, by dividing its factor out, in blocks of its weight."""
        v, q, f = int(self.weights[i]), float(self.truth[i]), float(self._false[i])
        if v == 0:
            return self.discounted
        blocks = -(-(self.top + 1) // v)
        padded = np.zeros((blocks, v))
        padded.reshape(-1)[: self.top + 1] = self.discounted
        out = np.empty_like(padded)
        if q < 0.5:
            at_zero = self.discounted[0] / (f + q * math.exp(-self.tilt * v))
            before = at_zero * np.exp(-self.tilt * np.arange(v, 0, -1))
            padded /= f
            ratio = q / f
            for block in range(blocks):
                before = padded[block] - ratio * before
                out[block] = before
        else:
            padded /= q
            ratio = f / q
            after = np.zeros(v)
            for block in range(blocks - 1, -1, -1):
                # H(x + v) = f H'(x + v) + q H'(x)
                out[block] = after
                after = padded[block] - ratio * after
        return out.reshape(-1)[: self.top + 1]


def discounted_tails(law: Floats, tilt: float) -> Floats:
    """``H(x) = law(x) + e^{−t} H(x + 1)``, by cumulative sums in blocks that cannot overflow."""
    if tilt == 0:
        return np.asarray(np.cumsum(law[::-1])[::-1])
    block = max(1, min(law.size, int(_BLOCK_EXPONENT / tilt)))
    decay = np.exp(-tilt * np.arange(block + 1))
    out = np.empty_like(law)
    carry = 0.0
    for stop in range(law.size, 0, -block):
        start = max(0, stop - block)
        width = stop - start
        sums = np.cumsum((law[start:stop] * decay[:width])[::-1])[::-1] + carry * decay[width]
        out[start:stop] = sums / decay[:width]
        carry = float(out[start])
    return out
