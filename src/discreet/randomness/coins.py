"""Coins for many rows at once: one byte for every row, and another toss at rare places.

A probability p lies between two multiples of 1/256. A random byte below t is a "yes" with probability t/256; then, with
a small chance c and independently of the bytes, a row is tossed again with the probability s that puts it right:

    (1 − c)·t/256 + c·s = p.

The least c for which there is such an s is (p − t/256)/(1 − t/256) where t/256 is below p, with s = 1, and
(t/256 − p)/(t/256) where it is above, with s = 0; of the two multiples the one with the rarer second tosses is taken.
They are never more than one in 128 rows. All of it is exact for any fraction, and nearly all of it is one comparison of
bytes: nothing is looked for in them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.randomness.rare_events import RareEvents
from discreet.randomness.sampling import Thresholds, is_below
from discreet.randomness.source import Randomness

#: Below so many rows it is quicker to go digit by digit.
_FEW = 1 << 15
#: Rows whose bytes are drawn at once.
_STEP = 1 << 20
#: The same digit by digit; a seed gives the same reports only as long as this stays what it is.
_DIGITS_STEP = 1 << 19
_WORD = 1 << 32


class FirstByte(NamedTuple):
    """``below`` of 256 bytes are a "yes", and ``again`` is the least chance of a second toss that puts it right."""

    below: int
    again: Fraction

    @classmethod
    def of(cls, p: Fraction) -> FirstByte:
        """The multiple of 1/256 beside p that needs the rarer second tosses."""
        low = math.floor(256 * p)
        if low == 256 * p:
            return cls(low, Fraction(0))
        too_low = cls(low, (256 * p - low) / (256 - low))
        too_high = cls(low + 1, (low + 1 - 256 * p) / (low + 1))
        return min(too_low, too_high, key=lambda one: one.again)

    def second(self, p: Fraction, again: Fraction) -> Fraction:
        """The probability of a second toss that comes with the chance ``again``."""
        return (p - (1 - again) * Fraction(self.below, 256)) / again if again else Fraction(0)


class Coins:
    """Coins that say "yes" with the probabilities t_i/d: one for all rows, or two of which each row tosses one.

    A seeded source is read digit by digit (:class:`~discreet.randomness.sampling.Thresholds`), so that simulations
    repeat themselves from version to version.

    Parameters
    ----------
    numerators : sequence of int
        One or two, 0 ≤ t_i ≤ d.
    denominator : int
        d, any positive integer.
    """

    def __init__(self, numerators: Sequence[int], denominator: int) -> None:
        self.digits = Thresholds(numerators, denominator)

    @cached_property
    def bytes(self) -> tuple[FirstByte, ...]:
        """What the bytes decide."""
        return tuple(FirstByte.of(Fraction(t, self.digits.denominator)) for t in self.digits.numerators)

    @cached_property
    def events(self) -> RareEvents:
        """Second tosses, as frequent as the coin needs that needs most of them."""
        return RareEvents(max(one.again for one in self.bytes))

    @cached_property
    def second(self) -> tuple[Fraction, ...]:
        """The probabilities of second tosses."""
        given = zip(self.bytes, self.digits.numerators, strict=True)
        return tuple(one.second(Fraction(t, self.digits.denominator), self.events.chance) for one, t in given)

    @cached_property
    def _second_limits(self) -> NDArray[np.uint32]:
        """Their first 32 bits; one is written as a number that ends in ones only."""
        return np.array([min(_WORD - 1, math.floor(chance * _WORD)) for chance in self.second], np.uint32)

    def _second_tosses(self, codes: NDArray[np.uint8], randomness: Randomness) -> NDArray[np.bool_]:
        """One second toss for every code, of the first coin or of the second."""
        words, limits = randomness.words(codes.size, np.uint32), self._second_limits.take(codes)
        said: NDArray[np.bool_] = words < limits
        tied = words == limits
        if tied.any():
            for i in np.flatnonzero(tied).tolist():
                said[i] = is_below(int(words[i]), 32, self.second[codes[i]], randomness)
        return said

    def toss(self, count: int, randomness: Randomness) -> NDArray[np.bool_]:
        """``count`` tosses of the only coin."""
        if count < _FEW or randomness.repeats:
            return self.digits.below(count, randomness)
        said = np.empty(count, np.bool_)
        for _ in self._first_tosses(said, randomness):
            pass
        said[self.events.places(count, randomness)] = self._sure
        return said

    def turn(self, codes: NDArray[np.uint8], randomness: Randomness, out: NDArray[np.uint8]) -> None:
        """Codes 0 and 1 into an array, turned into the other one where the only coin says "yes"."""
        if codes.size < _FEW or randomness.repeats:
            for rows in _steps(codes.size, _DIGITS_STEP):
                said = self.digits.below(codes[rows].size, randomness)
                np.bitwise_xor(codes[rows], said.view(np.uint8), out=out[rows])
            return
        for rows in self._first_tosses(out.view(np.bool_), randomness):
            out[rows] ^= codes[rows]
        places = self.events.places(codes.size, randomness)
        out[places] = codes[places] ^ np.uint8(self._sure)

    @cached_property
    def _sure(self) -> bool:
        """What a second toss of the only coin says, always."""
        return self.second[0] == 1

    def _first_tosses(self, said: NDArray[np.bool_], randomness: Randomness) -> Iterator[slice]:
        """What the bytes say, into an array, step by step: the rows of every step that is done."""
        below = self.bytes[0].below
        for rows in _steps(said.size):
            if 0 < below < 256:
                np.greater(np.uint8(below), randomness.draws(said[rows].size), out=said[rows])
            else:
                said[rows] = below == 256
            yield rows

    def toss_each(self, codes: NDArray[np.uint8], randomness: Randomness, out: NDArray[np.bool_]) -> None:
        """One toss for every code 0 or 1, of the first coin or of the second, into an array."""
        low, high = self.bytes[0].below, self.bytes[1].below
        least = 1 if 256 in (low, high) else 0  # a byte holds 0 … 255: then it is compared with below − 1
        if codes.size < _FEW or randomness.repeats or min(low, high) < least:
            for rows in _steps(codes.size, _DIGITS_STEP):
                self.digits.below_binary(codes[rows], randomness, out[rows])
            return
        compare, bounds = np.greater_equal if least else np.greater, out.view(np.uint8)
        for rows in _steps(codes.size):
            bound = np.multiply(codes[rows], np.uint8((high - low) % 256), out=bounds[rows])  # undone by the next line
            bound += np.uint8(low - least)
            compare(bound, randomness.draws(bound.size), out=out[rows])
        places = self.events.places(codes.size, randomness)
        if places.size:
            out[places] = self._second_tosses(codes[places], randomness)


def _steps(count: int, size: int = _STEP) -> Iterator[slice]:
    """So many rows at a time that their bytes stay in the cache until they are used."""
    return (slice(start, min(start + size, count)) for start in range(0, count, size))
