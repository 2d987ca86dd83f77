"""Exact draws: every probability is a ratio of integers and is met exactly, not to floating-point accuracy.

A probability p = t/d is written in base 256 (and then base 2^64). A random byte below the first digit means
"yes", one above means "no"; only on a tie, once in 256, further digits are drawn and compared. This is exact
for any fraction, and reads little more than one byte per draw.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from discreet.errors import InputError
from discreet.randomness.source import Randomness

_WORD = 1 << 64
#: Marks that are looked through one by one.
_FEW = 1 << 12


class Thresholds:
    """Probabilities t_i/d to compare uniform numbers with, digit by digit.

    Parameters
    ----------
    numerators : sequence of int
        0 ≤ t_i ≤ d.
    denominator : int
        d, any positive integer.
    """

    __slots__ = ("denominator", "first", "numerators", "second")

    def __init__(self, numerators: Sequence[int], denominator: int) -> None:
        self.numerators = tuple(numerators)
        self.denominator = denominator
        # A probability of one is written 0.(255)(2^64−1)…, whose ties are all "yes" (see _settle).
        first = [min(255, (t << 8) // denominator) for t in self.numerators]
        second = [self._digit(t, 1) for t in self.numerators]
        self.first: NDArray[np.uint8] = np.array(first, np.uint8)
        self.second: NDArray[np.uint64] = np.array(second, np.uint64)
        self.first.flags.writeable = False
        self.second.flags.writeable = False

    def _digit(self, numerator: int, place: int) -> int:
        """The digit in base 2^64 at a place from 1 on, after the first byte."""
        if numerator == self.denominator:
            return _WORD - 1
        return ((numerator << (8 + 64 * place)) // self.denominator) % _WORD

    def below(self, count: int, randomness: Randomness, out: NDArray[np.bool_] | None = None) -> NDArray[np.bool_]:
        """Draws of "yes" with the probability of the only threshold."""
        draws = randomness.draws(count)
        first = self.first[0]
        out = np.less(draws, first, out=out)
        ties = sparse_places(draws == first)
        if ties.size:
            out[ties] = self._settle(np.zeros(ties.size, np.uint8), randomness)
        return out

    def below_each(self, index: NDArray[Any], randomness: Randomness) -> NDArray[np.bool_]:
        """Draws of "yes", the i-th with the probability of threshold ``index[i]``."""
        draws = randomness.draws(index.size)
        first = self.first.take(index)
        out: NDArray[np.bool_] = draws < first
        ties = sparse_places(draws == first)
        if ties.size:
            out[ties] = self._settle(index[ties], randomness)
        return out

    def below_columns(self, rows: int, randomness: Randomness) -> NDArray[np.bool_]:
        """A (rows, thresholds) array of "yes": column j with the probability of threshold j."""
        draws = randomness.bytes(rows * self.first.size).reshape(rows, self.first.size)
        out: NDArray[np.bool_] = draws < self.first
        at_row, at_column = np.nonzero(draws == self.first)
        if at_row.size:
            out[at_row, at_column] = self._settle(at_column, randomness)
        return out

    def below_binary(
        self, codes: NDArray[np.uint8], randomness: Randomness, out: NDArray[np.bool_] | None = None
    ) -> NDArray[np.bool_]:
        """``below_each`` for two thresholds and codes 0 and 1, by arithmetic instead of a table."""
        draws = randomness.draws(codes.size)
        low, high = self.first.tolist()
        first = codes * np.uint8((high - low) % 256)  # modulo 256, which the next line undoes
        first += np.uint8(low)
        out = np.less(draws, first, out=out)
        ties = sparse_places(draws == first)
        if ties.size:
            out[ties] = self._settle(codes[ties], randomness)
        return out

    def _settle(self, index: NDArray[Any], randomness: Randomness) -> NDArray[np.bool_]:
        """Decide draws whose first byte tied, by 64 further bits, and by more while these tie too."""
        draws = randomness.words(index.size)
        second = self.second[index]
        out: NDArray[np.bool_] = draws < second
        for i in np.flatnonzero(draws == second):
            out[i] = self._settle_one(self.numerators[index[i]], randomness)
        return out

    def _settle_one(self, numerator: int, randomness: Randomness) -> bool:
        if numerator == self.denominator:
            return True
        place = 2
        while (numerator << (8 + 64 * (place - 1))) % self.denominator:
            draw, digit = int(randomness.words(1)[0]), self._digit(numerator, place)
            if draw != digit:
                return draw < digit
            place += 1
        return False


def is_below(word: int, bits: int, chance: Fraction, randomness: Randomness) -> bool:
    """Whether a uniform number that begins with these bits is below the chance; more bits are drawn as needed."""
    scale = 1 << bits
    while not chance >= Fraction(word + 1, scale):
        if chance <= Fraction(word, scale):
            return False
        word, scale = (word << 64) | int(randomness.words(1)[0]), scale << 64
    return True


def sparse_places(marks: NDArray[np.bool_]) -> NDArray[np.intp]:
    """``np.flatnonzero`` for few marks: eight are looked at together, and one by one only where there is any."""
    if marks.size % 8 or marks.size < _FEW:
        return np.flatnonzero(marks)
    eights = marks.view(np.uint64)
    some = np.flatnonzero(eights.astype(np.bool_))
    places = np.flatnonzero(eights[some].view(np.bool_))
    found: NDArray[np.intp] = (some[places >> 3] << 3) + (places & 7)
    return found


def uniform(size: int, count: int, randomness: Randomness, dtype: DTypeLike = np.int64) -> NDArray[Any]:
    """``count`` integers, exactly uniform on 0 … size − 1 (multiply, shift and reject: Lemire 2019)."""
    if size < 1:
        raise InputError(f"a uniform draw needs at least one value, not {size}")
    if size & (size - 1) == 0 and size <= 1 << 8:
        masked: NDArray[Any] = (randomness.draws(count) & np.uint8(size - 1)).astype(dtype, copy=False)
        return masked
    word: type[np.unsignedinteger[Any]]
    wide: type[np.unsignedinteger[Any]]
    if size <= 1 << 10:  # rejects at most once in 64 draws
        word, wide, bits = np.uint16, np.uint32, 16
    elif size <= 1 << 26:
        word, wide, bits = np.uint32, np.uint64, 32
    else:
        raise InputError(f"a uniform draw is limited to {1 << 26} values, not {size}")
    limit = (1 << bits) % size
    product = np.multiply(randomness.words(count, word), wide(size), dtype=wide)
    out: NDArray[Any] = (product >> wide(bits)).astype(dtype)
    if limit:
        rejected = np.flatnonzero(product.astype(word) < word(limit))
        if rejected.size:
            out[rejected] = uniform(size, rejected.size, randomness, dtype)
    return out


def permutation(count: int, randomness: Randomness) -> NDArray[np.intp]:
    """A uniformly random order of 0 … count − 1, by sorting 64-bit keys; keys that repeat are drawn again."""
    while True:
        keys = randomness.words(count)
        order = np.argsort(keys)
        in_order = keys[order]
        if not np.any(in_order[1:] == in_order[:-1]):
            return order


def chosen(where: NDArray[np.bool_], yes: NDArray[Any], no: NDArray[Any]) -> NDArray[Any]:
    """``yes`` where asked for and else ``no``, in the unsigned type of ``no``.

    By bits and without a branch: a processor that guesses the answer of a coin is wrong half of the time, which makes
    ``np.copyto`` and ``np.where`` several times slower than everything else here.
    """
    mask = np.negative(where.view(np.uint8).astype(no.dtype, copy=False))  # all bits, or none
    out: NDArray[Any] = np.bitwise_xor(no, yes.astype(no.dtype, copy=False))
    out &= mask
    out ^= no
    return out


class AliasTable:
    """Exact draws from the rows of an integer matrix in constant time per draw (Walker 1977, Vose 1991).

    Each row with sum d is cut into R equal cells, R a power of two. A cell holds its own report with
    probability t/d and one other report, the alias, otherwise. Integer arithmetic makes the cells reproduce
    the row exactly.
    """

    __slots__ = ("_alias", "_bits", "_thresholds")

    def __init__(self, rows: Sequence[Sequence[int]], denominator: int) -> None:
        cells = 1
        while cells < len(rows[0]):
            cells *= 2
        self._bits = cells.bit_length() - 1
        alias: list[int] = []
        numerators: list[int] = []
        for row in rows:
            row_numerators, row_alias = _alias_row(row, cells, denominator)
            numerators.extend(row_numerators)
            alias.extend(row_alias)
        self._alias: NDArray[Any] = np.array(alias, np.min_scalar_type(cells - 1))
        self._alias.flags.writeable = False
        self._thresholds = Thresholds(numerators, denominator)

    def draw(self, codes: NDArray[Any], randomness: Randomness) -> NDArray[Any]:
        """One report per code."""
        count = codes.size
        word = np.uint8 if self._bits <= 8 else np.uint32
        cell = randomness.words(count, word) & word((1 << self._bits) - 1)
        index = (codes.astype(np.intp) << self._bits) + cell
        stays = self._thresholds.below_each(index, randomness)
        return chosen(stays, cell, self._alias.take(index))


def _alias_row(row: Sequence[int], cells: int, denominator: int) -> tuple[list[int], list[int]]:
    """Thresholds and aliases of one row; weights are scaled so that an average cell holds the denominator."""
    left = [weight * cells for weight in row] + [0] * (cells - len(row))
    alias = list(range(cells))
    thresholds = [denominator] * cells
    small = [i for i, weight in enumerate(left) if weight < denominator]
    large = [i for i, weight in enumerate(left) if weight >= denominator]
    while small:
        poor, rich = small.pop(), large[-1]
        thresholds[poor], alias[poor] = left[poor], rich
        left[rich] -= denominator - left[poor]
        if left[rich] < denominator:
            small.append(large.pop())
    return thresholds, alias
