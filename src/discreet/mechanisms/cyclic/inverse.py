"""Undo a cyclic block design: supports of all values by one correlation, never a table of values by reports.

How much of a vector lies in each shift of a set, ``S_x = Σ_{d ∈ D} w_{x+d mod v}``, by one correlation.

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
from discreet.errors import MechanismError
from discreet.mechanisms.cyclic.difference_sets import DifferenceSet
from discreet.mechanisms.inverse import Inverse

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


#: Largest number of truths or reports for which the map is written out (2^24 numbers, 128 MB).
_MAX_WRITTEN = 4096
#: Lags whose correlations are worked out together, in numbers held at once.
_LAG_NUMBERS = 1 << 23


@dataclass(frozen=True, eq=False)
class CyclicInverse(Inverse):
    """``a_xy = scale·(1{y − x ∈ D} − N_y/k) + 1/k``, with N_y the number of the k truths x that have y − x ∈ D.

    ``f̂_x = scale·(S_x − S̄) + 1/k``: the share of reports in x + D, less its mean over the k truths. For any channel
    with two weights on a difference set this is unbiased, and the frequencies sum to one also where k < v. Without
    the centring they would only do so on average.

    Parameters
    ----------
    shifts : Shifts
        The difference set D modulo v, shifted by the k ≤ v truths.
    scale : float
        1/(P − Q), with P and Q the chances that a report lies in x + D under truth x, and under another.
    """

    shifts: Shifts
    scale: float

    @property
    def size(self) -> int:
        """Number of truths k."""
        return self.shifts.size

    @property
    def shape(self) -> tuple[int, int]:
        """Number of truths and number of reports."""
        return self.size, self.shifts.design.order

    @cached_property
    def _held(self) -> Floats:
        """N_y/k; the constant s/v where every number modulo v is a truth."""
        design = self.shifts.design
        if self.size == design.order:
            return np.broadcast_to(design.block / design.order, design.order)
        return np.asarray(self.shifts.held / self.size)

    def apply(self, shares: Floats) -> Floats:
        """``scale·(S − S̄) + Σp/k``."""
        supports = self.shifts.within(shares)
        return np.asarray(self.scale * (supports - supports.mean(axis=0)) + shares.sum(axis=0) / self.size)

    def of_counts(self, counts: Counts) -> Floats:
        """The frequencies from counts of reports, with supports that are exact whole numbers."""
        supports = self.shifts.count_within(counts)
        total = int(counts.sum())
        centred = supports - int(supports.sum()) / self.size
        return np.asarray(self.scale * (centred / total) + 1 / self.size)

    def variances(self, shares: Floats) -> Floats:
        """``scale²·Var(1{y ∈ x + D} − N_y/k)``, centred so that nothing large cancels."""
        supports = self.shifts.within(shares)
        spread = supports * (1 - supports)
        if self.size < self.shape[1]:
            off = self._held - float(self._held @ shares)
            spread += float(off**2 @ shares) - 2 * self.shifts.within(shares * off)
        return np.asarray(self.scale**2 * np.maximum(spread, 0.0))  # only rounding can make it negative

    def squares(self, weights: Floats) -> Floats:
        """``Σ_y w_y a_xy²``."""
        base = 1 / self.size - self.scale * self._held  # a_xy outside of x + D
        inside = self.shifts.within(weights * (self.scale * (self.scale + 2 * base)))
        return np.asarray(inside + float(base**2 @ weights))

    def scores(self, coefficients: Floats) -> Floats:
        """``Σ_x c_x a_xy`` for every report y: what one report adds to ``Σ c_x f̂_x``, by one correlation.

        The variance of ``Σ c_x f̂_x`` is that of these scores over the reports, whatever the size of the domain.
        """
        mean = float(coefficients.mean())
        return np.asarray(self.scale * (self.shifts.around(coefficients) - self.size * mean * self._held) + mean)

    def report_shares(self, frequencies: Floats) -> Floats:
        """``Qᵀf``: the report shares that these frequencies lead to, by one correlation."""
        design = self.shifts.design
        excess = 1 / (self.scale * (design.block - design.overlap))  # (high − low)/z
        floor = (1 - design.block * excess) / design.order * float(frequencies.sum())
        return np.asarray(floor + excess * self.shifts.around(frequencies))

    def conditional_variances(self) -> tuple[Floats, Floats]:
        """Variance of one debiased answer under its own truth, and the largest under another: exact for k = v.

        For k < v they are bounds: the centring N_y/k is added with its standard deviation, as if it always went along.
        """
        design = self.shifts.design
        excess = 1 / (self.scale * (design.block - design.overlap))
        other = (design.block - 1 / self.scale) / design.order
        own = other + 1 / self.scale
        centring = np.zeros(self.size)
        if self.size < design.order:
            off = self._held - design.block / design.order
            floor = (1 - design.block * excess) / design.order
            mean, square = (floor * g.sum() + excess * self.shifts.within(g) for g in (off, off**2))
            centring = np.sqrt(np.maximum(square - mean**2, 0.0))
        at_own = (np.sqrt(own * (1 - own)) + centring) ** 2
        at_other = np.full(self.size, (np.sqrt(other * (1 - other)) + centring.max()) ** 2)
        return self.scale**2 * at_own, self.scale**2 * at_other

    def answer_norms(self) -> Floats:
        """``E Σ_x φ_x²`` for one debiased answer φ under each truth.

        ``Σ_x a_xy² = scale²·N_y(1 − N_y/k) + 1/k``. At frequencies f the variances add up to
        ``Σ_z f_z·norm_z − Σ_z f_z²``.
        """
        design = self.shifts.design
        norms = self.scale**2 * self.size * self._held * (1 - self._held)
        if self.size == design.order:
            return np.full(self.size, norms[0] + 1 / self.size)
        excess = 1 / (self.scale * (design.block - design.overlap))
        floor = (1 - design.block * excess) / design.order
        return np.asarray(floor * norms.sum() + excess * self.shifts.within(norms) + 1 / self.size)

    def covariance(self, shares: Floats) -> Floats:
        """``Σ_y p_y (a_y − f̂)(a_y − f̂)ᵀ``, one diagonal after the other.

        ``Σ_y p_y 1{y ∈ x + D}1{y ∈ x + h + D}`` is for every lag h one correlation of p with D ∩ (D + h).
        """
        k, v = self.shape
        inside, transform = self.shifts.indicator(), self.shifts.unrolled(shares)
        out = np.empty((k, k))
        step = max(1, _LAG_NUMBERS // self.shifts.length)
        for first in range(0, k, step):
            lags = range(first, min(first + step, k))
            both = np.stack([inside & np.roll(inside, lag) for lag in lags]).astype(float)
            sums = np.fft.irfft(transform * np.conj(np.fft.rfft(both, self.shifts.length)), self.shifts.length)
            for lag, row in zip(lags, sums, strict=True):
                at = np.arange(k - lag)
                out[at, at + lag] = out[at + lag, at] = row[: k - lag]
        supports = self.shifts.within(shares)
        out -= np.outer(supports, supports)
        if k < v:
            off = self._held - float(self._held @ shares)
            shared = self.shifts.within(shares * off)
            out += float(off**2 @ shares) - shared[:, None] - shared[None, :]
        return np.asarray(self.scale**2 * out)

    def as_matrix(self) -> NDArray[np.float64]:
        """A written out; refused above 4,096 truths or reports."""
        k, v = self.shape
        if v > _MAX_WRITTEN:
            raise MechanismError(
                f"the correction of {k:,} values and {v:,} reports is over the limit of {_MAX_WRITTEN:,} to be written "
                "out; what needs it as a table is for smaller domains"
            )
        inside = self.shifts.indicator()
        rows = np.stack([np.roll(inside, x) for x in range(k)])
        return np.asarray(self.scale * (rows - self._held) + 1 / k)

    @property
    def single(self) -> None:
        """A frequency depends on the shares of many reports."""
        return
