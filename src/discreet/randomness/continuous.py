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
(:mod:`~discreet.randomness.lazy`). So the law of the decision is the ideal one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.randomness.lazy import LazyExponential, LazyNormalPair
from discreet.randomness.scratch import Scratch
from discreet.randomness.source import Randomness

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
