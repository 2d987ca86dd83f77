"""Exact Bernoulli draws for many rows at once: one byte for every row, and another toss at rare places.

A probability p lies between two multiples of 1/256. A random byte below t is a "yes" with probability t/256; then, with
a small chance c and independently of the bytes, a row is tossed again with the probability s that puts it right:

    (1 − c)·t/256 + c·s = p.

The least c for which there is such an s is (p − t/256)/(1 − t/256) where t/256 is below p, with s = 1, and
(t/256 − p)/(t/256) where it is above, with s = 0; of the two multiples the one with the rarer second tosses is taken.
They are never more than one in 128 rows. All of it is exact for any fraction, and nearly all of it is one comparison of
bytes: nothing is looked for in them.

Rare events among many rows, without a draw for each row: every row has one with the same small chance c, exactly.

Rows stand in blocks of B = 2¹⁶. A block gets a number K of events that is Poisson with mean μ = −B·ln(1 − c), and each
of them falls on any of its rows with equal chance, wherever the others fell. Then the numbers of events of single rows
are independent of each other and Poisson with mean μ/B, so that a row has none with probability e^(−μ/B) = 1 − c.

K is the number of the sums ``P(K ≤ k) = (1 − c)^B·Σ_{j ≤ k} μʲ/j!`` that a uniform number reaches. These are enclosed
between two integers over a power of two, so that their first bits are known with certainty. A uniform word that agrees
with the first bits of one of them, once in 2⁵⁵ blocks or so, goes on with further bits until it does not.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import count as count_from
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.randomness.sampling import Thresholds, is_below
from discreet.randomness.source import Randomness

#: Rows of a block: places in it are words of 16 bits.
BLOCK = 1 << 16
_SHIFT = 16
#: Up to this chance μ is small enough for sums of some hundred terms.
MOST = Fraction(1, 128)
_WORD_BITS = 64


class RareEvents:
    """Events that every row has with the probability ``chance``, independently.

    Parameters
    ----------
    chance : Fraction
        From 0 to 1/128.
    """

    def __init__(self, chance: Fraction) -> None:
        if not 0 <= chance <= MOST:
            raise InputError(f"rare events have a chance from 0 to {MOST}, not {chance}")
        self.chance = chance

    def sums(self, bits: int) -> list[int]:
        """The first ``bits`` bits of ``P(K ≤ k)``, k = 0, 1, …, up to the first that is all ones."""
        precision = bits + 96 + 2 * int(BLOCK * self.chance)  # rounding errors grow by e^μ
        while True:
            below, above = _enclosed_sums(self.chance, precision, bits)
            first = [one >> (precision - bits) for one in below]
            if first == [one >> (precision - bits) for one in above]:
                return first
            precision *= 2

    @cached_property
    def _digits(self) -> NDArray[np.uint64]:
        return np.array(self.sums(_WORD_BITS), np.uint64)

    def places(self, count: int, randomness: Randomness) -> NDArray[np.intp]:
        """The rows of 0 … count − 1 that have an event, block after block; one that has several is named as often."""
        if self.chance == 0:
            return np.empty(0, np.intp)
        blocks = -(-count // BLOCK)
        numbers = self._numbers(randomness.words(blocks), randomness)
        places: NDArray[np.intp] = np.repeat(np.arange(blocks) << _SHIFT, numbers)
        places += randomness.words(places.size, np.uint16)
        if count % BLOCK == 0:
            return places
        before = places.size - int(numbers[-1])  # the last block is not full
        last = places[before:]
        return np.concatenate([places[:before], last[last < count]])

    def _numbers(self, words: NDArray[np.uint64], randomness: Randomness) -> NDArray[np.intp]:
        """The number of events that every word stands for."""
        numbers = np.searchsorted(self._digits, words)
        tied = self._digits.take(numbers, mode="clip") == words
        if tied.any():
            for i in np.flatnonzero(tied).tolist():
                numbers[i] = self._number(int(words[i]), randomness)
        return numbers

    def _number(self, word: int, randomness: Randomness) -> int:
        """The same for a uniform number that begins with these bits, by as many further ones as it takes."""
        for bits in count_from(2 * _WORD_BITS, _WORD_BITS):
            word = (word << _WORD_BITS) | int(randomness.words(1)[0])
            sums = self.sums(bits)
            number = bisect_left(sums, word)
            if sums[number] != word:
                return number
        raise AssertionError  # pragma: no cover  # the loop has no end


def _enclosed_sums(chance: Fraction, precision: int, bits: int) -> tuple[list[int], list[int]]:
    """Integers below and above ``2^precision·P(K ≤ k)``, until what is missing to one is below 2^−bits."""
    one = 1 << precision
    low, high = _enclosed_mean(chance, precision)
    term_low, term_high = _enclosed_none(chance, precision)
    below, above = [term_low], [term_high]
    for k in count_from(1):
        if one - below[-1] <= 1 << (precision - bits):
            return below, above
        term_low = (term_low * low >> precision) // k
        term_high = -((-(term_high * high) >> precision) // k)
        below.append(below[-1] + term_low)
        above.append(above[-1] + term_high)
    raise AssertionError  # pragma: no cover  # the loop has no end


def _enclosed_mean(chance: Fraction, precision: int) -> tuple[int, int]:
    """Integers below and above ``2^precision·μ``, by ``−ln(1 − c) = Σ cʲ/j``, whose rest is below its last term."""
    power, total = 1 << precision, 0
    for j in count_from(1):
        power = power * chance.numerator // chance.denominator
        if power == 0:
            # Powers are too low by less than 2, quotients by 1 more, and so is the rest: 4 for each term.
            return BLOCK * total, BLOCK * (total + 4 * j)
        total += power // j
    raise AssertionError  # pragma: no cover  # the loop has no end


def _enclosed_none(chance: Fraction, precision: int) -> tuple[int, int]:
    """Integers below and above ``2^precision·P(K = 0) = 2^precision·(1 − c)^B``, by squaring."""
    low = ((chance.denominator - chance.numerator) << precision) // chance.denominator
    high = low + 1
    for _ in range(_SHIFT):
        low, high = low * low >> precision, -(-(high * high) >> precision)
    return low, high


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
