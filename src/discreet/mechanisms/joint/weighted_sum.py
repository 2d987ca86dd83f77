"""The law of S = Σ v_i B_i under the uniformly random answer, where whole-number weights v_i meet a threshold T.

There are 2^k patterns but only Σ v_i + 1 sums, so dynamic programming over sums is enough. The event S ≥ T may have a
probability of e^{−200}; everything is computed under the exponentially tilted law, in which B_i has odds
``e^{t v_i}/(a_i − 1)`` and t is such that the mean of S is T. Then nothing that matters underflows:

    P(S ≥ T) = H(T) Π (1 + z_i)/a_i · e^{t(Σ v_i − T)},   z_i = (a_i − 1) e^{−t v_i},
    H(x) = Σ_{s ≥ x} P̃(s) e^{−t(s−x)}.

These identities hold for every t, so t is just a float, taken as exact.

*Rounding.* u = 2^-53. Privacy is certified with these numbers, so their errors are counted, operation by operation;
only what IEEE 754 rounds correctly (+, −, ×, ÷) and decimal exponentials are used.

1. P̃(B_i = 1) = 1/(1 + z_i), P̃(B_i = 0) = z_i/(1 + z_i) and their quotients are computed with 34 decimal digits and
   rounded once to a float: one rounding each.
2. A step of the dynamic programme, ``P(s) f + P(s − v) q``, adds three roundings to every term: of f or q, of the
   product, of the sum. Only attributes with v_i > 0 take part. All terms are positive: P̃(s) carries at most 3k.
   A product below 2^-1022 may be lost: at most 3k(Σ v + 1)·2^-1022 < 2^-970 in all, since a step does not enlarge it.
3. H carries the roundings of :func:`~discreet.mechanisms.joint.weighted_sum.discounted_roundings` in addition, hence

       |H̃(x) − H(x)| ≤ R·H(x) + 2^-850,   R = 1.001 u (3k + those),

   where the factor covers products of errors (their number times u is below 10^-6 at the largest sizes allowed)
   and the 34 digits. A certificate is refused unless H̃(T) ≥ 2^-700, which makes the second part invisible.
4. The joint rate of B_i = 1 and the event is a finite alternating series in H, :meth:`WeightedSum._series`. Its bound
   adds up the sizes of the terms, each times R and the roundings of its coefficient, and what was left out.

Discounted tails ``H(x) = Σ_{s ≥ x} P(s) e^{−t(s−x)}`` of a law on 0, 1, 2, …, with counted roundings.

Only additions, multiplications and divisions of floats are used, which IEEE 754 rounds correctly, and exponentials in
decimal arithmetic with 34 digits: no bound here rests on the accuracy of a library's ``exp``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.decimals import with_digits
from discreet.errors import MechanismError

Indices = NDArray[np.intp]

#: Half a unit in the last place: a correctly rounded operation is off by at most this, relative.
UNIT = 2.0**-53
#: Absolute error of any H by underflow and by terms far away, see :func:`discounted_roundings`.
FLOOR = 2.0**-850
#: For an H at or above this, FLOOR is less than 2^-100 of it.
LEAST = 2.0**-700
#: Digits of decimal arithmetic whose rounding is invisible beside that of floats.
PRECISE = 34
#: e^30 is far inside the range of floats: exponentials are taken in blocks of this many exponents.
_BLOCK_EXPONENT = 30.0
#: Shorter blocks are not worth the calls: the recurrence is then followed step by step.
_SHORT_STEP = 16
#: Terms with exponents beyond this are below 2^-860 together.
_FAR_EXPONENT = 600.0
#: Digits of the few logarithms that enter a certificate.
_FIFTY = 50
#: Series are cut where terms are below this, relative to H(T); what is left out is bounded, not assumed away.
_NEGLIGIBLE = 1e-20
#: Errors above this, relative to H(T), are worth a second try.
_POOR = 1e-10
#: Coefficients of a series stay below e to this.
_HUGE = 300.0
#: Terms of series that are computed at once.
_TERMS = 1 << 20
#: Second-order terms of errors, and the rounding of the bounds themselves.
_ROOM = 1.01


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
        """T ≥ 0 with E[S] = T under the tilted law; at the very top, with E[S] half a unit below."""
        v, others = self.weights.astype(float), self.sizes - 1.0

        def mean(t: float) -> float:
            return float(np.sum(v / (1 + others * np.exp(-t * v))))

        goal = min(float(self.threshold), self.top - 0.5)
        if mean(0.0) >= goal:
            return 0.0
        low, high = 0.0, 60.0 / max(float(v.max(initial=1.0)), 1.0)
        while mean(high) < goal:
            high *= 2
        for _ in range(80):
            middle = (low + high) / 2
            low, high = (middle, high) if mean(middle) < goal else (low, middle)
        return high

    @cached_property
    def kinds(self) -> tuple[NDArray[np.int64], NDArray[np.intp], NDArray[np.int64]]:
        """The different (a, v), the kind of every attribute, and how many attributes each kind has."""
        both = np.stack([self.sizes, self.weights], axis=1)
        kinds, which, counts = np.unique(both, axis=0, return_inverse=True, return_counts=True)
        return kinds, which.reshape(-1), counts

    @cached_property
    @with_digits(PRECISE)
    def _rates(self) -> tuple[Floats, Floats, Floats, Floats]:
        """P̃(B_i = 1), P̃(B_i = 0), their quotient and its inverse, each rounded once."""
        kinds, which, _ = self.kinds
        t = Decimal(self.tilt)
        rows = []
        for a, v in kinds.tolist():
            z = (-t * v).exp() * (a - 1)
            truth = 1 / (1 + z)
            odds = 1 / z if z > Decimal("1e-300") else Decimal("1e300")
            rows.append((float(truth), float(z * truth), float(odds), float(z)))
        columns = np.array(rows).reshape(-1, 4)[which].T.copy()
        return columns[0], columns[1], columns[2], columns[3]

    @property
    def truth(self) -> Floats:
        """P̃(B_i = 1)."""
        return self._rates[0]

    @cached_property
    def probabilities(self) -> Floats:
        """P̃(S = s) for s = 0 … Σ v_i."""
        truth, false = self._rates[:2]
        law, spare = np.zeros(self.top + 1), np.empty(self.top + 1)
        law[0], length = 1.0, 1
        for i in np.argsort(self.weights, kind="stable"):
            v = int(self.weights[i])
            if v == 0:
                continue
            np.multiply(law[:length], truth[i], out=spare[:length])
            law[:length] *= false[i]
            law[v : v + length] += spare[:length]
            length += v
        return law

    @cached_property
    def discounted(self) -> Floats:
        """``H(x) = Σ_{s ≥ x} P̃(s) e^{−t(s−x)}`` for x = 0 … Σ v_i."""
        return discounted_tails(self.probabilities, self.tilt)

    @cached_property
    def relative_error(self) -> float:
        """R, the bound on the relative error of every H (see above)."""
        steps = 3 * int(np.count_nonzero(self.weights))
        return 1.001 * UNIT * (steps + discounted_roundings(self.top + 1, self.tilt))

    def _base(self) -> float:
        """H(T), large enough to be trusted."""
        base = float(self.discounted[self.threshold])
        if not base >= LEAST:
            raise MechanismError("the event of a threshold answer is too unlikely for its weights to be certified")
        return base

    @cached_property
    @with_digits(_FIFTY)
    def log_scale(self) -> Decimal:
        """``Σ ln((1 + z_i)/a_i) + t(Σ v_i − T)``, to within :meth:`_decimal_error`."""
        kinds, _, counts = self.kinds
        t = Decimal(self.tilt)
        total = t * (self.top - self.threshold)
        for (a, v), count in zip(kinds.tolist(), counts.tolist(), strict=True):
            z = (-t * v).exp() * (a - 1)
            total += ((1 + z) / a).ln() * count
        return total

    def _decimal_error(self) -> Fraction:
        """Fifty digits: a kind's logarithm is at most 14 and off by 10^-48; sums of them by 10^-49 of their size."""
        largest = 14 * len(self.weights) + Fraction(self.tilt) * self.top + 1
        return (len(self.weights) + 4) * largest * Fraction(10, 10**49)

    @with_digits(_FIFTY)
    def log_probability_bounds(self) -> tuple[Fraction, Fraction]:
        """Fractions that enclose ln P(S ≥ T)."""
        middle = Fraction(Decimal(self._base()).ln() + self.log_scale)
        # |ln(1 + e)| ≤ 1.01 |e| for |e| < 0.01; LEAST makes the absolute part of the error less than 2^-100.
        slack = Fraction(_ROOM * self.relative_error) + Fraction(1, 2**100) + self._decimal_error()
        return middle - slack, middle + slack

    def truth_given_event(self) -> tuple[Floats, Floats]:
        """P(B_i = 1 | S ≥ T) for every attribute, and a bound on the absolute error of each.

        The quotient of a joint rate G with error E and of H(T) with relative error R is off by at most
        ``(E + G R)/H(T)`` and a rounding.
        """
        base = self._base()
        joint, error = self._series(self.threshold, np.arange(len(self.weights)), self.discounted)
        rates = joint / base
        bound = _ROOM * ((error + np.abs(joint) * self.relative_error) / base + UNIT * np.abs(rates)) + 1e-30
        return rates, bound

    def _series(self, at: int, which: Indices, tails: Floats) -> tuple[Floats, Floats]:
        """``G_j(x) = P̃-mass of {B_j = 1, S ≥ x}, discounted from x = at on``, and a bound on the error of each.

        With H' the discounted tails without attribute j, H(x) = f H'(x) + q H'(x − v) and G(x) = q H'(x − v), so
        ``H(x) = G(x) + (f/q) G(x + v)``. Solved for either G and repeated:

            G(x) = Σ_{m=0}^{n−1} (−f/q)^m H(x + mv) + (−f/q)^n G(x + nv)          (backward, used when q ≥ ½)
            G(x) = −Σ_{m=1}^{n} (−q/f)^m H(x − mv) + (−q/f)^n G(x − nv)           (forward)

        and 0 ≤ G ≤ H bounds what is left out by the size of a term. Backward ends beyond the top. Forward ends at an
        x₀ = x − nv in [0, v), where ``G(x₀) = e^{t x₀} H(0)/a_j``: no attribute but j matters below zero. No law
        without the attribute is ever built.
        """
        values, errors = np.zeros(which.size), np.zeros(which.size)
        sizes, v = self.sizes[which], self.weights[which]
        if at < 0:
            values[:] = float(exponentials([self.tilt * at])[0]) * tails[0] / sizes
            return values, np.full(which.size, np.inf)
        here = float(tails[at]) if at <= self.top else 0.0
        idle = v == 0
        values[idle] = here * self.truth[which][idle]
        errors[idle] = values[idle] * (self.relative_error + 3 * UNIT)
        active = np.flatnonzero(~idle)
        ahead = self._rates[2][which[active]] < 1
        for forward in (True, False):
            chosen = active[ahead == forward]
            values[chosen], errors[chosen] = self._one_way(forward, at, which[chosen], tails, here)
            # Also the other way where this one cancels too much: near an end of the sums it may be shorter.
            poor = chosen[errors[chosen] > _POOR * here]
            again, bounds = self._one_way(not forward, at, which[poor], tails, here)
            better = bounds < errors[poor]
            values[poor[better]], errors[poor[better]] = again[better], bounds[better]
        return values, errors

    def _one_way(self, forward: bool, at: int, rows: Indices, tails: Floats, here: float) -> tuple[Floats, Floats]:
        """One of the two series; an infinite bound where its coefficients would become huge."""
        values, errors = np.zeros(rows.size), np.full(rows.size, np.inf)
        v = self.weights[rows]
        logs = np.log(np.maximum(self._rates[2 if forward else 3][rows], LEAST))
        needed = np.maximum(at // v if forward else (self.top - at) // v + 1, 1)
        shrinks = logs < 0
        enough = np.ceil(math.log(_NEGLIGIBLE * max(here, LEAST)) / logs[shrinks]) + 1
        needed[shrinks] = np.minimum(needed[shrinks], enough)
        usable = np.flatnonzero(logs * needed < _HUGE)
        for part in _parts(needed[usable]):
            which = usable[part]
            run = self._forward if forward else self._backward
            values[which], errors[which] = run(at, rows[which], int(needed[which].max()), tails)
        return values, errors

    def _backward(self, at: int, rows: Indices, count: int, tails: Floats) -> tuple[Floats, Floats]:
        step = np.arange(count + 1)
        x = at + step * self.weights[rows][:, None]
        power = _geometric(self._rates[3][rows], count)
        size = power * np.where(x <= self.top, tails[np.minimum(x, self.top)], 0.0)
        value = (size[:, :-1] * (1 - 2 * (step[:-1] % 2))).sum(axis=1)
        # Roundings of term m: 2m of the coefficient, a product, and at most `count` additions.
        error = size[:, :-1] @ (self.relative_error + UNIT * (2 * step[:-1] + count + 2)) + size[:, -1]
        return value, error + FLOOR * power.sum(axis=1)

    def _forward(self, at: int, rows: Indices, count: int, tails: Floats) -> tuple[Floats, Floats]:
        v, sizes = self.weights[rows], self.sizes[rows]
        step = np.arange(1, count + 1)
        x = at - step * v[:, None]
        power = _geometric(self._rates[2][rows], count)
        size = power[:, 1:] * np.where(x >= 0, tails[np.maximum(x, 0)], 0.0)
        value = (size * (2 * (step % 2) - 1)).sum(axis=1)
        error = size @ (self.relative_error + UNIT * (2 * step + count + 3))
        whole = at // v
        closed = np.flatnonzero(whole <= count)
        n = whole[closed]
        # t x₀ is rounded once before its exponential is, which then is off by t x₀ roundings more.
        exponent = self.tilt * (at - n * v[closed])
        grown = power[closed, n] * exponentials(exponent)
        last = grown * tails[0] / sizes[closed]
        value[closed] += last * (1 - 2 * (n % 2))
        error[closed] += last * (self.relative_error + UNIT * (2 * n + 6 + exponent)) + FLOOR * grown
        error[closed] += np.abs(value[closed]) * UNIT
        left = np.flatnonzero(whole > count)
        error[left] += size[left, -1]
        return value, error + FLOOR * power.sum(axis=1)

    def pairs_given_event(self, attributes: Sequence[int]) -> Floats:
        """P(B_i = B_j = 1 | S ≥ T) for the attributes named; the diagonal is P(B_i = 1 | S ≥ T).

        In floats without a bound: no privacy depends on them.
        """
        chosen = np.array(attributes, np.intp)
        base = self._base()
        out = np.empty((chosen.size, chosen.size))
        rates, _ = self._series(self.threshold, chosen, self.discounted)
        np.fill_diagonal(out, rates / base)
        for row, i in enumerate(chosen.tolist()):
            later = chosen[row + 1 :]
            if later.size:
                joint, _ = self._series(self.threshold - int(self.weights[i]), later, self._tails_without(i))
                out[row, row + 1 :] = out[row + 1 :, row] = self.truth[i] * joint / base
        return out

    def _tails_without(self, i: int) -> Floats:
        """H of the sum without attribute i, by dividing its factor out, in blocks of its weight."""
        v, q, f = int(self.weights[i]), float(self._rates[0][i]), float(self._rates[1][i])
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


def _geometric(ratio: Floats, count: int) -> Floats:
    """r^m for m = 0 … count, one row per ratio: m roundings of the ratio and m − 1 of products.

    Beyond e^300, where no series goes that is used, a row stays what it is: others of its part may be longer.
    """
    out = np.empty((ratio.size, count + 1))
    out[:, 0] = 1.0
    out[:, 1:] = ratio[:, None]
    for row in np.flatnonzero(ratio > 1):
        out[row, int(_HUGE / math.log(ratio[row])) + 2 :] = 1.0
    return np.asarray(np.cumprod(out, axis=1, out=out))


def _parts(needed: NDArray[np.int64]) -> Iterator[Indices]:
    """Attributes that need about as many terms are summed together, within a bounded number of terms."""
    order = np.argsort(needed, kind="stable")
    start = 0
    while start < order.size:
        stop = start + 1
        while stop < order.size and stop - start < 64 and (stop + 1 - start) * int(needed[order[stop]]) <= _TERMS:
            stop += 1
        yield order[start:stop]
        start = stop


@with_digits(PRECISE)
def exponentials(exponents: Iterable[float]) -> Floats:
    """e^x of every float x, each rounded once."""
    return np.array([float(Decimal(x).exp()) for x in exponents])


@with_digits(PRECISE)
def powers(tilt: float, count: int) -> Floats:
    """e^{−tj} for j = 0 … count, by doubling; at most two roundings for every binary digit of ``count``."""
    out = np.ones(count + 1)
    known = 1
    while known <= count:
        more = min(known, count + 1 - known)
        out[known : known + more] = out[:more] * float((Decimal(-tilt) * known).exp())
        known *= 2
    return out


def _block(size: int, tilt: float) -> int:
    """Sums of one block: their exponents stay within 30, and pass 15 unless all sums are in the block."""
    return size if tilt * size <= _BLOCK_EXPONENT else max(1, int(_BLOCK_EXPONENT / tilt))


def discounted_tails(law: Floats, tilt: float) -> Floats:
    """``H(x) = law(x) + e^{−t} H(x + 1)``, by cumulative sums in blocks that cannot overflow, or step by step."""
    if tilt == 0:
        return np.asarray(np.cumsum(law[::-1])[::-1])
    block = _block(law.size, tilt)
    if block < min(law.size, _SHORT_STEP):
        return _stepwise(law, tilt)
    decay = powers(tilt, block)
    out = np.empty_like(law)
    carry = 0.0
    for stop in range(law.size, 0, -block):
        start = max(0, stop - block)
        width = stop - start
        sums = np.cumsum((law[start:stop] * decay[:width])[::-1])[::-1] + carry * decay[width]
        out[start:stop] = sums / decay[:width]
        carry = float(out[start])
    return out


def _stepwise(law: Floats, tilt: float) -> Floats:
    step = float(exponentials([-tilt])[0])
    out = law.tolist()
    for x in range(len(out) - 2, -1, -1):
        out[x] += step * out[x + 1]
    return np.array(out)


def discounted_roundings(size: int, tilt: float) -> int:
    """How many roundings a term of :func:`discounted_tails` carries, beside those of the law.

    With n the number stated here, every computed H is within ``n·u·H + FLOOR`` of the truth, to first order in
    u = 2^-53. All terms are positive, so a sum is relatively as accurate as its worst term; but terms with exponents
    t(s − x) > 600 add up to less than e^{−600} < 2^-860, since P does to at most one: whatever their roundings (which
    stay below 2^-20 of each), they are inside FLOOR, and n counts those of the nearer terms.

    *In blocks.* A term in the block of x is multiplied by its power (D + 1 roundings, D ≤ 2·digits of the block's
    length), passes at most ``block`` additions of the cumulative sum, which numpy makes one after the other, one
    addition of the carry, and a division (D + 1): ``block + 2D + 3``. A term β blocks further on passes the boundary
    of a block β times, each time with a product (D + 1), an addition and a division (D + 1): ``β(2D + 3)`` more. β is
    at most the number of blocks less one; and when there is more than one, a block spans exponents of at least 15,
    so nearer terms have β ≤ 600/15 + 1.

    *Step by step.* Every step rounds e^{−t}, a product and a sum: three, over at most 600/t + 1 steps.

    *Underflow*, with results below 2^-1022 counted as lost altogether: a product in a block may lose 2^-1022, which the
    division by a power ≥ e^{−30} > 2^-44 enlarges; with at most 2^23 + 1 sums, and carries that shrink by e^{−15} from
    block to block, 2^(−1022 + 44 + 24 + 1) < 2^-950, which is inside FLOOR too. Step by step it is less.
    """
    if tilt == 0:
        return size
    block = _block(size, tilt)
    if block < min(size, _SHORT_STEP):
        return 3 * min(size, math.ceil(_FAR_EXPONENT / tilt) + 1)
    power = 2 * block.bit_length()
    boundaries = min(-(-size // block) - 1, int(_FAR_EXPONENT / 15) + 1)
    return block + 2 * power + 3 + boundaries * (2 * power + 3)
