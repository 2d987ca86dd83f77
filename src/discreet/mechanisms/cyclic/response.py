"""Cyclic block designs: one integer in, one integer out, and nearly the least variance of all for any domain."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet import arguments
from discreet.domains import Categorical, FiniteDomain
from discreet.errors import ManifestError, MechanismError
from discreet.mechanisms.base import stored_int
from discreet.mechanisms.cyclic.choice import best_design
from discreet.mechanisms.cyclic.difference_sets import DifferenceSet, difference_set
from discreet.mechanisms.cyclic.inverse import CyclicInverse, Shifts
from discreet.mechanisms.exact_integers import checked_epsilon, high_and_low, weight
from discreet.mechanisms.finite import FiniteMechanism
from discreet.mechanisms.generalized import MAX_SIZE
from discreet.mechanisms.inverse import Inverse
from discreet.privacy.exact import Rows, probability
from discreet.privacy.trade_off import Pair
from discreet.randomness import Coins, Randomness, uniform


@dataclass(frozen=True, init=False, repr=False)
class CyclicResponse(FiniteMechanism):
    """Randomised response on a cyclic block design: reports modulo v, likely ones a shifted difference set.

    Under truth x each of the s reports ``x + d mod v``, d in the difference set D, has weight ``high``, and each of the
    other v − s weight ``low``; ``high/low ≤ e^ε``. A report lies in x + D with probability P under truth x and Q under
    any other truth,

        P = s·high/z,   Q = (λ·high + (s − λ)·low)/z,   z = s·high + (v − s)·low,

    because any two shifts share λ reports. So ``f̂_x = (share of reports in x + D − Q)/(P − Q)`` is unbiased, with the
    variance ``π(1 − π)/(P − Q)²/n`` at ``π = Q + f_x(P − Q)``. It hardly grows with the domain: about 4e^ε/(e^ε − 1)²
    for rare values, where that of generalised response grows with their number. Block designs reach the bound of Ye
    and Barg (2018) where v = k and s is the best size; see :func:`discreet.design.frequencies`.

    Parameters
    ----------
    size : int
        Number of values k, from 2 to 10⁷. With k < v the numbers from k on are reports but never truths, and the
        estimates are centred so that they sum to one.
    epsilon : float
        The privacy level; the realised one is within 1e-9 of it and never above.
    design : DifferenceSet, optional
        ``SingerSet`` or ``PaleySet`` with at least k elements modulo v; by default the one of least summed variance
        when all values are equally frequent.

    Examples
    --------
    >>> mechanism = CyclicResponse(1_000_000, 1.0)
    >>> mechanism.shape
    (1000000, 1398101)
    >>> round(float(mechanism.answer_variance(0)), 3)        # generalised response: 338,700
    3.692
    """

    size: int
    high: int
    low: int
    design: DifferenceSet
    epsilon: float | None = field(default=None, init=False, compare=False)

    kind: ClassVar[str] = "cyclic"

    def __init__(self, size: int, epsilon: float, *, design: DifferenceSet | None = None) -> None:
        size = _checked_size(size)
        epsilon = checked_epsilon(epsilon)
        high, low = high_and_low(epsilon)
        self._set(size, high, low, best_design(size, high / low) if design is None else design)

    def _set(self, size: int, high: int, low: int, design: DifferenceSet) -> None:
        design = arguments.instance(design, DifferenceSet, "design", MechanismError)  # type: ignore[type-abstract]
        if design.order < size:
            raise MechanismError(f"a design of {design.order:,} reports is too small for {size:,} values")
        object.__setattr__(self, "size", size)
        object.__setattr__(self, "high", high)
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "design", design)
        object.__setattr__(self, "epsilon", None)

    @classmethod
    def from_weights(cls, size: int, high: int, low: int, design: DifferenceSet) -> Self:
        """From the two integers themselves."""
        size, high, low = _checked_size(size), weight(high, "high"), weight(low, "low")
        if not high > low > 0:
            raise MechanismError("a cyclic response needs weights high > low > 0")
        mechanism = object.__new__(cls)
        mechanism._set(size, high, low, design)
        return mechanism

    def __repr__(self) -> str:
        return f"CyclicResponse.from_weights({self.size}, {self.high}, {self.low}, {self.design!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_weights, (self.size, self.high, self.low, self.design)

    @property
    def shape(self) -> tuple[int, int]:
        """(k, v)."""
        return self.size, self.design.order

    def report_domain(self, truths: FiniteDomain) -> FiniteDomain:  # noqa: ARG002  # whatever the truths are
        """Reports are numbers modulo v: even where v = k the report x is not the answer x."""
        return Categorical(range(self.design.order))

    @property
    def denominator(self) -> int:
        """``s·high + (v − s)·low``."""
        return self.design.block * self.high + (self.design.order - self.design.block) * self.low

    @property
    def own_support(self) -> Fraction:
        """P: the chance that a report lies in x + D under truth x."""
        return Fraction(self.design.block * self.high, self.denominator)

    @property
    def other_support(self) -> Fraction:
        """Q: the chance that a report lies in x + D under any other truth."""
        block, overlap = self.design.block, self.design.overlap
        return Fraction(overlap * self.high + (block - overlap) * self.low, self.denominator)

    def answer_variance(self, frequency: float | Fraction = 0) -> Fraction:
        """n·Var of the frequency of a value, from the reports in its own shift: ``π(1 − π)/(P − Q)²``.

        Exact, and exact for k = v; for k < v the centred estimate has about 1 − (1 − k/v)/k of it.

        >>> from discreet.mechanisms import SingerSet
        >>> CyclicResponse.from_weights(13, 9, 4, SingerSet(3, 1, 2)).answer_variance()
        Fraction(119, 25)
        """
        gap = self.own_support - self.other_support
        share = self.other_support + probability(frequency, "frequency") * gap
        return share * (1 - share) / gap**2

    def _rows(self) -> Rows:
        first = [self.low] * self.design.order
        for d in self.design.elements.tolist():
            first[d] = self.high
        return tuple(tuple(first[-x:] + first[:-x]) for x in range(self.size))

    def report_at(self, code: int, place: int) -> int:
        """The last report of x + D that begins at or before the place, or one of the others behind it."""
        elements, order, count = self.design.elements, self.design.order, self.design.block
        around = count - int(np.searchsorted(elements, order - code))  # those that x carries around the circle

        def report(j: int) -> int:
            """The j-th of x + D in order."""
            return int(elements[j - around]) + code - (order if j < around else 0)

        def start(j: int) -> int:
            """The weights of all reports before it."""
            return self.low * report(j) + (self.high - self.low) * j

        j = bisect_right(range(count), place, key=start) - 1
        if j < 0:
            return place // self.low
        beyond = place - start(j) - self.high
        return report(j) if beyond < 0 else report(j) + 1 + beyond // self.low

    def row_pairs(self) -> tuple[Pair, ...]:
        """Any two truths look alike: their shifts share λ reports, each has s − λ of its own."""
        shape = self.design.block, self.design.overlap, self.design.order
        return (Pair.of_two_weights(self.high, self.low, *shape),)

    def exposure(self) -> Fraction:
        """Every report is possible under every truth."""
        return Fraction(0)

    @cached_property
    def shifts(self) -> Shifts:
        """The shifts of the difference set, ready for correlations."""
        return Shifts(self.design, self.size)

    def supports(self, counts: ArrayLike) -> NDArray[np.int64]:
        """How many of the reports lie in x + D, for every value x: exact whole numbers, by one correlation.

        Parameters
        ----------
        counts : array of int, one per report
        """
        given = arguments.array(counts, "counts", MechanismError)
        if given.shape != (self.design.order,) or given.dtype.kind not in "iu" or (given.size and given.min() < 0):
            raise MechanismError(f"counts must be {self.design.order:,} whole numbers ≥ 0, one per report")
        return self.shifts.count_within(given.astype(np.int64))

    @cached_property
    def inverse(self) -> Inverse:
        """``f̂_x = (S_x − S̄)/(P − Q) + 1/k``."""
        return CyclicInverse(self.shifts, float(1 / (self.own_support - self.other_support)))

    @cached_property
    def _set_excess(self) -> Coins:
        """A report in x + D for certain with probability s(high − low)/z; else the answer is uniform on all v."""
        return Coins([self.design.block * (self.high - self.low)], self.denominator)

    def _sample(self, codes: NDArray[Any], randomness: Randomness) -> NDArray[Any]:
        out = uniform(self.design.order, codes.size, randomness, np.uint32)
        if not out.flags.writeable:
            out = out.copy()
        chosen = np.flatnonzero(self._set_excess.toss(codes.size, randomness))
        # Where the set was chosen the uniform number is free: as v = r·s + 1, all but one of its outcomes, r for each
        # element, pick one.
        block, last = self.design.block, self.design.order - 1
        picked = out.take(chosen)
        again = np.flatnonzero(picked == last)
        picked //= np.uint32(last // block)
        if again.size:
            picked[again] = uniform(block, again.size, randomness, np.uint32)
        reports = self.design.elements.take(picked, mode="clip").view(np.uint32)  # every pick is in range
        reports += codes.take(chosen).astype(np.uint32, copy=False)
        # Modulo v: in unsigned numbers subtracting v from less than v gives something huge.
        out[chosen] = np.minimum(reports, reports - np.uint32(last + 1))
        return out.astype(self.report_dtype, copy=False)

    def to_dict(self) -> dict[str, Any]:
        """Closed form: size, the two weights, and the parameters of the difference set."""
        return {
            "kind": self.kind,
            "size": self.size,
            "high": str(self.high),
            "low": str(self.low),
            "design": self.design.to_dict(),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild from the integers."""
        try:
            high, low = stored_int(data, "high"), stored_int(data, "low")
            return cls.from_weights(data["size"], high, low, difference_set(data["design"]))
        except (KeyError, MechanismError) as error:
            raise ManifestError(f"a cyclic response in the manifest is damaged ({error})") from None


def _checked_size(size: int) -> int:
    return arguments.whole(size, "size", MechanismError, least=2, most=MAX_SIZE)
