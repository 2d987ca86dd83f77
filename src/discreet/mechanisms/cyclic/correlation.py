"""How much of a vector lies in each shift of a set, ``S_x = Σ_{d ∈ D} w_{x+d mod v}``, by one circular correlation.

In floats it is two Fourier transforms, ``S = F⁻¹(F(w)·conj F(1_D))``. For counts the result is a whole number and is
found exactly. **Why rounding is right**: with a relative error of at most η = c·u·log₂ v per transform, u = 2⁻⁵³, the
correlation errs by at most about ``3η·‖w‖₂·‖1_D‖₂`` in every entry (Higham 2002, section 24.1; Schatzman 1996 finds
c < 1 for the transforms in use, also for lengths with large prime factors). We take c = 8 and cut counts into digits
so small that the bound is below 1/8; what comes out further than 1/8 from a whole number, or does not add up to
``s·Σw``, is an error and never a result.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.cyclic.difference_sets import DifferenceSet

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

#: Error of one transform, in units of 2⁻⁵³·log₂ v: far above what is ever seen.
_TRANSFORM_ERROR = 8.0
#: Rounding is trusted when the bound, and the distance from whole numbers that is seen, are below this.
_TRUSTED = 0.125


@dataclass(frozen=True, eq=False)
class Shifts:
    """The shifts of a difference set, ready for correlations; holds one transform of v/2 complex numbers."""

    design: DifferenceSet

    @cached_property
    def _transform(self) -> NDArray[np.complex128]:
        return np.conj(np.fft.rfft(self.indicator().astype(float)))

    def indicator(self) -> NDArray[np.bool_]:
        """Which numbers are in the set."""
        inside = np.zeros(self.design.order, bool)
        inside[self.design.elements] = True
        return inside

    def within(self, values: Floats) -> Floats:
        """``Σ_{d ∈ D} w_{x+d}`` for every shift x, in floats; for the columns of a matrix too."""
        transform = self._transform if values.ndim == 1 else self._transform[:, None]
        return np.asarray(np.fft.irfft(np.fft.rfft(values, axis=0) * transform, self.design.order, axis=0))

    def around(self, values: Floats) -> Floats:
        """``Σ_{d ∈ D} c_{y−d}`` for every y: the sum over the shifts that hold y."""
        return np.asarray(np.fft.irfft(np.fft.rfft(values) * np.conj(self._transform), self.design.order))

    def count_within(self, counts: Counts) -> Counts:
        """How many reports lie in every shift: the same as :meth:`within`, exactly."""
        total = np.zeros(self.design.order, np.int64)
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
        design = self.design
        error = 3 * _TRANSFORM_ERROR * 2.0**-53 * math.log2(design.order) * math.sqrt(design.block)
        if error * float(np.linalg.norm(counts.astype(float))) < _TRUSTED:
            return 63
        # The norm of digits below 2^b is below 2^b·√v.
        return max(1, math.floor(math.log2(_TRUSTED / (error * math.sqrt(design.order)))))

    def _rounded(self, digits: Counts) -> Counts:
        raw = self.within(digits.astype(float))
        rounded = np.rint(raw)
        found = rounded.astype(np.int64)
        exact = int(found.sum()) == self.design.block * int(digits.sum())
        if not exact or float(np.abs(raw - rounded).max()) > _TRUSTED:
            raise ArithmeticError("a correlation of counts did not come out as whole numbers")
        return found


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
