"""Discounted tails ``H(x) = Σ_{s ≥ x} P(s) e^{−t(s−x)}`` of a law on 0, 1, 2, …, with counted roundings.

Only additions, multiplications and divisions of floats are used, which IEEE 754 rounds correctly, and exponentials in
decimal arithmetic with 34 digits: no bound here rests on the accuracy of a library's ``exp``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal

import numpy as np

from discreet.arguments import Floats
from discreet.decimals import with_digits

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
