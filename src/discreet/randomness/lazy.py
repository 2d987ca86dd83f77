"""Random real numbers whose bits are drawn when a decision needs them: exponential and normal draws without error.

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

from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from functools import lru_cache

from discreet.decimals import own_context
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
