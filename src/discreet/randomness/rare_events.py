"""Rare events among many rows, without a draw for each row: every row has one with the same small chance c, exactly.

Rows stand in blocks of B = 2¹⁶. A block gets a number K of events that is Poisson with mean μ = −B·ln(1 − c), and each
of them falls on any of its rows with equal chance, wherever the others fell. Then the numbers of events of single rows
are independent of each other and Poisson with mean μ/B, so that a row has none with probability e^(−μ/B) = 1 − c.

K is the number of the sums ``P(K ≤ k) = (1 − c)^B·Σ_{j ≤ k} μʲ/j!`` that a uniform number reaches. These are enclosed
between two integers over a power of two, so that their first bits are known with certainty. A uniform word that agrees
with the first bits of one of them, once in 2⁵⁵ blocks or so, goes on with further bits until it does not.
"""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction
from functools import cached_property
from itertools import count as count_from

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
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
