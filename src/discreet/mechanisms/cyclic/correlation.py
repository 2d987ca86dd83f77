"""How much of a vector lies in each shift of a set, ``S_x = Σ_{d ∈ D} w_{x+d mod v}``, by one correlation.

In floats it is two Fourier transforms of a smooth length L ≥ v + k − 1: the first k − 1 entries of w are written once
more behind the last, so that nothing wraps around. (Transforms of length v itself are slow: v has large prime factors.)

For counts the result is a whole number and is found exactly. **Why rounding is right**: when every transform has a
relative error of at most η = c·u·log₂ L, u = 2⁻⁵³, the correlation errs by at most about ``3η·‖w‖₂·‖1_D‖₂`` in every
entry (Higham 2002, section 24.1; Schatzman 1996 finds c < 1 for good implementations). We take c = 8 and cut counts
into digits so small that the bound is below 1/8; what comes out further than 1/8 from a whole number, or does not add
up to ``Σ_y w_y N_y`` with N_y the number of shifts that hold y, is an error and never a result.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.mechanisms.cyclic.difference_sets import DifferenceSet

Counts = NDArray[np.int64]

#: Error of one transform, in units of 2⁻⁵³·log₂ v: far above what is ever seen.
_TRANSFORM_ERROR = 8.0
#: Rounding is trusted when the bound, and the distance from whole numbers that is seen, are below this.
_TRUSTED = 0.125


@dataclass(frozen=True, eq=False)
class Shifts:
    """The shifts x + D for x = 0 … size − 1, ready for correlations; holds one transform of L/2 complex numbers."""

    design: DifferenceSet
    size: int

    @cached_property
    def length(self) -> int:
        """L, a product of small primes."""
        return smooth_at_least(self.design.order + self.size - 1)

    @cached_property
    def _transform(self) -> NDArray[np.complex128]:
        return np.fft.rfft(self.indicator().astype(float), self.length)

    @cached_property
    def held(self) -> Counts:
        """N_y: how many of the shifts hold y."""
        return holders(self.design, self.size)

    def indicator(self) -> NDArray[np.bool_]:
        """Which numbers are in the set."""
        inside = np.zeros(self.design.order, bool)
        inside[self.design.elements] = True
        return inside

    def unrolled(self, values: Floats) -> NDArray[np.complex128]:
        """The transform of values that are repeated far enough for every shift."""
        return np.asarray(np.fft.rfft(np.concatenate([values, values[: self.size - 1]]), self.length, axis=0))

    def within(self, values: Floats) -> Floats:
        """``Σ_{d ∈ D} w_{x+d}`` for every shift x, in floats; for the columns of a matrix too."""
        transform = self._transform if values.ndim == 1 else self._transform[:, None]
        product = self.unrolled(values)
        product *= np.conj(transform)
        return np.asarray(np.fft.irfft(product, self.length, axis=0)[: self.size])

    def around(self, values: Floats) -> Floats:
        """``Σ_{d ∈ D} c_{y−d}`` for every y, c one number per shift: the sum over the shifts that hold y."""
        order = self.design.order
        product = np.fft.rfft(values, self.length)
        product *= self._transform
        unrolled = np.fft.irfft(product, self.length)
        out = unrolled[:order].copy()
        out[: self.size - 1] += unrolled[order : order + self.size - 1]
        return np.asarray(out)

    def count_within(self, counts: Counts) -> Counts:
        """How many reports lie in every shift: the same as :meth:`within`, exactly."""
        total = np.zeros(self.size, np.int64)
        digit_bits = self._digit_bits(counts)
        shift = 0
        while True:
            digits = (counts >> shift) & ((1 << digit_bits) - 1)
            total += self._rounded(digits) << shift
            shift += digit_bits
            if shift >= 63 or not np.any(counts >> shift):
                return total

    def _digit_bits(self, counts: Counts) -> int:
        """How many bits of a count may go into one transform."""
        # √2 because most entries are written twice.
        error = 3 * _TRANSFORM_ERROR * 2.0**-53 * math.log2(self.length) * math.sqrt(2 * self.design.block)
        if error * float(np.linalg.norm(counts.astype(float))) < _TRUSTED:
            return 63
        # The norm of digits below 2^b is below 2^b·√v.
        return max(1, math.floor(math.log2(_TRUSTED / (error * math.sqrt(self.design.order)))))

    def _rounded(self, digits: Counts) -> Counts:
        raw = self.within(digits.astype(float))
        rounded = np.rint(raw)
        found = rounded.astype(np.int64)
        # Both sums are taken modulo 2^64, so that none overflows.
        exact = found.sum() == self.held @ digits
        if not exact or float(np.abs(raw - rounded).max()) > _TRUSTED:
            raise ArithmeticError("a correlation of counts did not come out as whole numbers")
        return found


def smooth_at_least(number: int) -> int:
    """The smallest product of twos, threes and fives that is large enough.

    >>> smooth_at_least(4097)
    4320
    """
    best = 1 << (number - 1).bit_length()
    five = 1
    while five < best:
        three = five
        while three < best:
            quotient = -(-number // three)
            best = min(best, three << (quotient - 1).bit_length())
            three *= 3
        five *= 5
    return best


def holders(design: DifferenceSet, size: int) -> Counts:
    """``N_y``: how many of the shifts 0 … size − 1 hold y, for every y; by running sums.

    >>> from discreet.mechanisms.cyclic.difference_sets import SingerSet
    >>> holders(SingerSet(3, 1, 2), 13)
    array([4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4])
    """
    inside = np.zeros(design.order, np.int64)
    inside[design.elements] = 1
    # y is held by x exactly when y − x is an element: count elements among y − size + 1 … y, around the circle.
    running = np.cumsum(np.concatenate([inside[design.order - size + 1 :], inside]))
    return np.asarray(running[size - 1 :] - np.concatenate([[0], running[: design.order - 1]]))
