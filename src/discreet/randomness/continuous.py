"""Exponential and normal draws in floating point, beside the bits they came from.

A draw is a smooth function of uniform numbers with 63 random bits: exponentials ``W = −ln U``, normals by the polar
method (Marsaglia 1964): a point (u, v) uniform in the unit disc gives ``u √(−2 ln s/s)`` and ``v √(−2 ln s/s)``,
s = u² + v². The numbers stand for ones with infinitely many bits, and the floats for these, with a proven error.

**The error of the floats**, with a logarithm that is right to 2⁻⁵⁰ of itself (eight units in the last place; numpy's
own tests allow fewer) and correctly rounded arithmetic. Draws with U or s outside [2⁻²², 1 − 2⁻²²] are set aside as
NaN, one in 2²¹. For the others

* U is known to 2⁻⁵³ of itself from rounding and to 2⁻⁶⁴ from the bits not drawn. Below ½ ln U then errs by 2⁻⁴² at most
  and √W ≥ .83; above ½ it errs by 2⁻⁵³ and √W ≥ 2⁻¹¹. As √W has the slope 1/(2√W), it errs by 2⁻⁴²·⁵ at most. It is
  itself at most 3.91.
* s is known to 2⁻⁴⁹·⁵ of itself, and to 2⁻⁵⁰ above ¼, so ``L = −2 ln s`` to 2⁻⁴⁸·⁵ or 2⁻⁴⁹, and 2⁻⁵⁰L. In
  ``N = (u/√s)·√L`` the first factor is at most one, and √L errs by half of that over √L, worst at L = 2⁻²¹: 2⁻³⁹·⁵. |N|
  is at most 5.53.

The product √W·N errs by at most 5.53·2⁻⁴²·⁵ + 3.91·2⁻³⁹·⁵ + 2⁻⁴⁶ < 2⁻³⁷, half of :data:`PRODUCT_ERROR`. Whoever decides
something by it asks the bits when the answer lies within that error of changing, or is NaN
(:mod:`~discreet.randomness.continuous`). So the law of the decision is the ideal one.

Random real numbers whose bits are drawn when a decision needs them: exponential and normal draws without error.

A uniform number is known by its first b bits, ``k/2^b ≤ U ≤ (k + 1)/2^b``, and every quantity made from it by an
interval. A question such as "which grid point is nearest?" is answered as soon as the interval allows one answer only;
until then 64 more bits are drawn. So the answer is that of a number with infinitely many random bits: its law is the
ideal one, tails included, and nothing is added to any δ. The bounds are computed with decimals rounded downward and
upward (``ln`` and ``sqrt`` of the decimal module are correctly rounded, so that the neighbouring decimals enclose the
true value).

Whoever draws millions does so in floating point and comes here only when floats leave a doubt
(:mod:`~discreet.randomness.continuous`).
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.decimals import own_context
from discreet.randomness.scratch import Scratch
from discreet.randomness.source import Randomness

Bounds = tuple[Decimal, Decimal]

#: Bits of a first word that is read as a signed integer, or shifted by one.
FIRST_BITS = 63
_INFINITY, _MINUS_INFINITY, _HALF = Decimal("Infinity"), Decimal("-Infinity"), Decimal("0.5")


@lru_cache(maxsize=64)
def contexts(bits: int) -> tuple[Context, Context]:
    """Arithmetic rounded downward and upward; any number of digits is safe, and these are more than the bits."""
    digits = bits // 3 + 12
    return own_context(digits, ROUND_FLOOR), own_context(digits, ROUND_CEILING)


class LazyExponential:
    """``W = −ln U``, U uniform: known to lie between two decimals."""

    __slots__ = ("bits", "k")

    def __init__(self, k: int) -> None:
        self.k, self.bits = k, FIRST_BITS

    def extend(self, randomness: Randomness) -> None:
        """Draw 64 more bits."""
        self.k, self.bits = (self.k << 64) | int(randomness.words(1)[0]), self.bits + 64

    def root_bounds(self) -> Bounds:
        """Enclose √W; the upper end is infinite while no bit was one."""
        down, up = contexts(self.bits)
        whole = Decimal(1 << self.bits)
        least = _minus_log(up.divide(Decimal(self.k + 1), whole), down)[0]
        most = _minus_log(down.divide(Decimal(self.k), whole), up)[1]
        return _root(least, down)[0], _root(most, up)[1]

    def value(self, randomness: Randomness) -> float:
        """W as a float, in the middle of what is known; bits are drawn until that is finite."""
        while not self.root_bounds()[1].is_finite():
            self.extend(randomness)
        return float(_middle(self.root_bounds(), self.bits)) ** 2


class LazyNormalPair:
    """Two normals ``u·q, v·q``, ``q = √(−2 ln s/s)``, ``s = u² + v² < 1``: the polar method (Marsaglia 1964)."""

    __slots__ = ("bits", "u", "v")

    def __init__(self, u: int, v: int) -> None:
        self.u, self.v, self.bits = u, v, FIRST_BITS

    def extend(self, randomness: Randomness) -> None:
        """Draw 64 more bits of both."""
        first, second = (int(word) for word in randomness.words(2))
        self.u, self.v, self.bits = (self.u << 64) | first, (self.v << 64) | second, self.bits + 64

    def _square_bounds(self) -> tuple[int, int]:
        """Bounds of s·2^2b: a cell between k and k + 1 has its nearer end at k, or at k + 1 when it is negative."""
        near = sum((k if k >= 0 else k + 1) ** 2 for k in (self.u, self.v))
        far = sum((k + 1 if k >= 0 else k) ** 2 for k in (self.u, self.v))
        return near, far

    def accepted(self, randomness: Randomness) -> bool:
        """Whether the point lies in the unit disc; bits are drawn until that is certain."""
        while True:
            near, far = self._square_bounds()
            limit = 1 << 2 * self.bits
            if far <= limit or near >= limit:
                return far <= limit
            self.extend(randomness)

    def factor_bounds(self) -> Bounds:
        """Enclose q, which falls with s; the upper end is infinite while s may be 0."""
        down, up = contexts(self.bits)
        near, far = self._square_bounds()
        whole = Decimal(1 << 2 * self.bits)
        small, large = down.divide(Decimal(near), whole), min(up.divide(Decimal(far), whole), Decimal(1))
        least = down.divide(down.multiply(2, _minus_log(large, down)[0]), large)
        if not small:
            return _root(least, down)[0], _INFINITY
        most = up.divide(up.multiply(2, _minus_log(small, up)[1]), small)
        return _root(least, down)[0], _root(most, up)[1]

    def coordinate_bounds(self, side: int) -> Bounds:
        """Enclose u (side 0) or v (side 1)."""
        down, up = contexts(self.bits)
        k, whole = (self.u, self.v)[side], Decimal(1 << self.bits)
        return down.divide(Decimal(k), whole), up.divide(Decimal(k + 1), whole)

    def value(self, side: int, randomness: Randomness) -> float:
        """The normal as a float, in the middle of what is known; bits are drawn until that is finite."""
        while not self.factor_bounds()[1].is_finite():
            self.extend(randomness)
        middles = (_middle(bounds, self.bits) for bounds in (self.coordinate_bounds(side), self.factor_bounds()))
        return float(contexts(self.bits)[0].multiply(*middles))


def nearest_step(
    offset: float,
    scale: float | Decimal,
    exponential: LazyExponential,
    pair: LazyNormalPair,
    side: int,
    randomness: Randomness,
) -> float:
    """The whole number nearest to ``offset + scale·√W·N``, decided without error."""
    factor = Decimal.from_float(scale) if isinstance(scale, float) else scale
    shift = Decimal.from_float(offset)
    while True:
        low, high = product_bounds(exponential, pair, side)
        down, up = contexts(max(exponential.bits, pair.bits))
        low = down.add(down.multiply(low, factor), shift)
        high = up.add(up.multiply(high, factor), shift)
        if low.is_finite() and high.is_finite():
            # The sides of the cell are exact: halves of whole numbers far below the precision.
            nearest = low.to_integral_value(ROUND_HALF_EVEN)
            if low > down.subtract(nearest, _HALF) and high < up.add(nearest, _HALF):
                return float(nearest)
        exponential.extend(randomness)
        pair.extend(randomness)


def product_bounds(exponential: LazyExponential, pair: LazyNormalPair, side: int) -> Bounds:
    """Enclose ``√W·N``."""
    down, up = contexts(max(exponential.bits, pair.bits))
    (root_low, root_high), (factor_low, factor_high) = exponential.root_bounds(), pair.factor_bounds()
    if not (root_high.is_finite() and factor_high.is_finite()):
        return _MINUS_INFINITY, _INFINITY
    least, most = down.multiply(root_low, factor_low), up.multiply(root_high, factor_high)
    low, high = pair.coordinate_bounds(side)
    return down.multiply(low, least if low >= 0 else most), up.multiply(high, most if high >= 0 else least)


def _middle(bounds: Bounds, bits: int) -> Decimal:
    """The middle of finite bounds."""
    down = contexts(bits)[0]
    return down.multiply(down.add(*bounds), _HALF)


def _minus_log(x: Decimal, context: Context) -> Bounds:
    """Enclose −ln x for 0 ≤ x ≤ 1; ``ln`` is rounded to nearest whatever the context says."""
    if x >= 1:
        return Decimal(0), Decimal(0)
    if not x:
        return _INFINITY, _INFINITY
    log = x.ln(context)
    # Python's minus would round to the precision of the thread.
    return log.next_plus(context).copy_negate(), log.next_minus(context).copy_negate()


def _root(x: Decimal, context: Context) -> Bounds:
    if not x.is_finite() or not x:
        return x, x
    root = x.sqrt(context)
    return root.next_minus(context), root.next_plus(context)


Words = NDArray[np.int64]

#: No product √W·N of draws in floating point that are not NaN errs by more.
PRODUCT_ERROR = 2.0**-36
#: Uniform numbers nearer to 0 or 1 than this are left to the bits.
EDGE = 2.0**-22
#: s in floats errs by less: points nearer to the circle are accepted or rejected by their bits.
_ON_THE_CIRCLE = 2.0**-45
_CELL = 2.0**-63


def exponential(count: int, randomness: Randomness) -> Floats:
    """Draws with density e^−w, tails included, as nearest as floats come."""
    draws = Exponentials.draw(count, randomness)
    for index in np.flatnonzero(np.isnan(draws.values)):
        draws.values[index] = draws.lazy(int(index)).value(randomness)
    return draws.values


def normal(count: int, randomness: Randomness) -> Floats:
    """Standard normal draws, tails included."""
    draws = Normals.draw(count, randomness)
    for index in np.flatnonzero(np.isnan(draws.values)):
        pair, side = draws.lazy(int(index))
        draws.values[index] = pair.value(side, randomness)
    return draws.values


@dataclass(frozen=True)
class Exponentials:
    """Draws with density e^−w; NaN where floats are not precise enough."""

    values: Floats
    words: Words

    @classmethod
    def draw(cls, count: int, randomness: Randomness) -> Exponentials:
        """``−ln U``, U = (k + ½)/2^63."""
        words = (randomness.words(count) >> np.uint64(1)).view(np.int64)
        numbers = words.astype(np.float64)
        numbers += 0.5  # changes nothing but a zero, of which there is no logarithm
        numbers *= _CELL
        aside = np.flatnonzero((numbers < EDGE) | (numbers > 1 - EDGE))
        np.log(numbers, out=numbers)
        np.negative(numbers, out=numbers)
        numbers[aside] = np.nan
        return cls(numbers, words)

    def lazy(self, index: int) -> LazyExponential:
        """The draw as a number whose bits go on."""
        return LazyExponential(int(self.words[index]))


@dataclass(frozen=True)
class Normals:
    """Standard normal draws; NaN where floats are not precise enough. Two come from each point of the unit disc."""

    values: Floats
    points: _Points

    @classmethod
    def draw(cls, count: int, randomness: Randomness, scratch: Scratch | None = None) -> Normals:
        """As many as asked for: first the abscissas of all points, then the ordinates."""
        pairs = (count + 1) // 2
        memory = scratch or Scratch()
        points = _Points.draw(pairs, randomness, memory)
        while points.at.size < pairs:
            points = points.followed_by(_Points.draw(pairs - points.at.size, randomness, Scratch()))
        values, factor = memory.floats(2 * pairs), points.factors(memory)
        np.multiply(points.x, factor, out=values[:pairs])
        np.multiply(points.y, factor, out=values[pairs:])
        return cls(values[:count], points)

    def lazy(self, index: int) -> tuple[LazyNormalPair, int]:
        """The pair of the draw as numbers whose bits go on, and which of the two it is."""
        side, pair = divmod(index, self.points.at.size)
        return self.points.lazy(pair), side


@dataclass(frozen=True)
class _Points:
    """Points of the unit disc: floats, squared distance from the middle, and the words at ``at`` they were made of."""

    x: Floats
    y: Floats
    s: Floats
    u: Words
    v: Words
    at: NDArray[np.intp]
    drawn: dict[int, LazyNormalPair]
    """Those whose bits may already go on."""

    @classmethod
    def draw(cls, wanted: int, randomness: Randomness, scratch: Scratch) -> _Points:
        """At most as many as wanted, and nearly always so many."""
        # Four of π points hit the disc; a little more than needed, so that one round nearly always suffices.
        tries = int(wanted * 1.2733) + 4 * int(wanted**0.5) + 16
        words = randomness.words(2 * tries).view(np.int64)
        square = scratch.floats(2 * tries)
        np.multiply(words, _CELL, out=square)
        x, y = square[:tries], square[tries:]
        s, other = np.multiply(x, x, out=scratch.floats(tries)), np.multiply(y, y, out=scratch.floats(tries))
        s += other
        at = np.flatnonzero(s < 1 + _ON_THE_CIRCLE)[:wanted]
        # Indices are in range; "clip" only spares numpy a copy.
        taken = [one.take(at, out=scratch.floats(at.size), mode="clip") for one in (x, y, s)]
        points = cls(taken[0], taken[1], taken[2], words[:tries], words[tries:], at, {})
        return points if not at.size or points.s.max() < 1 - _ON_THE_CIRCLE else points._inside(randomness)

    def _inside(self, randomness: Randomness) -> _Points:
        """Without the points that lie outside the circle; those on it in floats are decided by their bits."""
        near = np.flatnonzero(self.s >= 1 - _ON_THE_CIRCLE).tolist()
        outside = [pair for pair in near if not self.lazy(pair).accepted(randomness)]
        kept = np.delete(np.arange(self.at.size), outside)
        drawn = {int(np.searchsorted(kept, pair)): self.lazy(pair) for pair in near if pair not in outside}
        return _Points(self.x[kept], self.y[kept], self.s[kept], self.u, self.v, self.at[kept], drawn)

    def followed_by(self, other: _Points) -> _Points:
        """Both, this one first."""
        return _Points(
            np.concatenate([self.x, other.x]),
            np.concatenate([self.y, other.y]),
            np.concatenate([self.s, other.s]),
            np.concatenate([self.u, other.u]),
            np.concatenate([self.v, other.v]),
            np.concatenate([self.at, other.at + self.u.size]),
            self.drawn | {self.at.size + pair: lazy for pair, lazy in other.drawn.items()},
        )

    def lazy(self, pair: int) -> LazyNormalPair:
        """The point as numbers whose bits go on: one object for both of its draws."""
        if pair not in self.drawn:
            where = self.at[pair]
            self.drawn[pair] = LazyNormalPair(int(self.u[where]), int(self.v[where]))
        return self.drawn[pair]

    def factors(self, scratch: Scratch) -> Floats:
        """``√(−2 ln s/s)``, NaN at the edges."""
        with np.errstate(divide="ignore", invalid="ignore"):
            factor = np.log(self.s, out=scratch.floats(self.s.size))
            factor *= -2.0
            factor /= self.s
            np.sqrt(factor, out=factor)
        if self.s.size and not (self.s.min() >= EDGE and self.s.max() <= 1 - EDGE):
            factor[(self.s < EDGE) | (self.s > 1 - EDGE)] = np.nan
        return factor
