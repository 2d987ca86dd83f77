"""Exactly uniform draws from the answers whose weighted number of truthful attributes passes a threshold."""

from __future__ import annotations

import math
from decimal import MAX_EMAX, Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.decimals import with_digits
from discreet.mechanisms.joint.drawing import bernoulli_columns
from discreet.mechanisms.joint.law import Patterns
from discreet.mechanisms.joint.weighted_sum import WeightedSum
from discreet.randomness import Randomness

#: Proposal probabilities are held over this denominator: rates as near to one as 1 − e^{−60} still are good to 10^-12.
PROPOSALS = 1 << 128
#: Proposals are drawn for this many cells at once.
_CELLS = 1 << 22
#: Fifty digits, off by at most 5·10^-50 of the result of an operation; no exponent overflows.
_fifty = with_digits(50, exponents=MAX_EMAX)
_ULP = Decimal("5e-50")


class Rejection:
    """Tilted proposals, accepted with the probability that makes them uniform on the event S ≥ T.

    Attribute i is proposed truthful with probability n_i/2^128, at or just below its tilted rate, independently. With
    ``ρ_i = n_i (a_i − 1)/(2^128 − n_i)`` the odds ratio of the proposal to the uniform law, a proposal b with S ≥ T is
    accepted with probability

        α(b) = C Π_{b_i = 1} 1/ρ_i,

    which cancels the proposal: what is accepted is uniform on the event. α must not exceed one there. Rates are rounded
    down, so ln ρ_i ≤ t v_i, and Σ_{b_i = 1} ln ρ_i ≥ tS − Σ_i (t v_i − ln ρ_i) ≥ tT − Σ_i (t v_i − ln ρ_i); C is a
    number with fifty digits at or below e to that, taken as exact. Then α is a rational number.

    A uniform number U is compared with α in three steps: by floats, where their difference exceeds all roundings; else
    by fifty digits, with further bits of U; else, once in 2^64 such cases or less, by whole numbers. The comparison
    is always that of U with α itself. Hence no error is left in the law of the draws, and none is part of a stated ε.
    """

    @_fifty
    def __init__(self, law: WeightedSum) -> None:
        kinds, which, counts = law.kinds
        tilt = Decimal(law.tilt)
        numerators, logs = [], []
        short, largest = Decimal(0), Decimal(0)
        for (a, v), count in zip(kinds.tolist(), counts.tolist(), strict=True):
            exponent = tilt * v
            rate = PROPOSALS / (1 + (-exponent).exp() * (a - 1))
            # One less than the whole part: fifty digits of a rate are good to far less than one unit of 2^-128.
            n = int(rate) - 1
            log = (Decimal(n * (a - 1)) / (PROPOSALS - n)).ln()
            numerators.append(n)
            logs.append(log)
            short += count * max(exponent - log, Decimal(0))
            largest += count * (abs(log) + exponent)
        attributes = len(which)
        passed = tilt * law.threshold
        # Every sum below has at most k + 10 terms, which add up to at most this much and carry a few roundings each.
        largest += passed + 2
        self._slack = 20 * (attributes + 10) * (largest * _ULP)
        self._log_scale = passed - short - self._slack
        self._scale = (self._log_scale - self._slack).exp()
        self._numerators = [numerators[kind] for kind in which.tolist()]
        self._sizes = law.sizes.tolist()
        self._chances = tuple(Fraction(n, PROPOSALS) for n in self._numerators)
        self._exact_logs = [logs[kind] for kind in which.tolist()]
        self._logs = np.array([float(one) for one in self._exact_logs])
        # Sums stay below 2^24, so that they are exact in single precision, in whatever order they are added.
        self._weights = law.weights.astype(np.float32)
        self._threshold = law.threshold
        # k + 3 roundings of at most 1.1e-16 of Σ |ln ρ_i| + |ln C|, however the sum is ordered; and the slack.
        self._guard = 1e-12 + 4e-16 * (attributes + 3) * (float(np.abs(self._logs).sum()) + abs(float(self._log_scale)))

    def draw(self, count: int, randomness: Randomness) -> Patterns:
        """As many patterns as asked for."""
        columns = len(self._chances)
        out = np.empty((count, columns), bool)
        filled, batch = 0, max(1, min(_CELLS // columns, 16 * count + 64))
        while filled < count:
            proposals = bernoulli_columns(self._chances, batch, randomness)
            inside = proposals[(proposals.astype(np.float32) @ self._weights) >= self._threshold]
            taken = inside[self._accept(inside, randomness)][: count - filled]
            out[filled : filled + len(taken)] = taken
            filled += len(taken)
        return out

    def acceptance(self, pattern: NDArray[np.bool_]) -> Fraction:
        """α of a pattern of the event, exactly."""
        truthful = np.flatnonzero(pattern).tolist()
        top = _product([PROPOSALS - self._numerators[i] for i in truthful])
        bottom = _product([self._numerators[i] * (self._sizes[i] - 1) for i in truthful])
        return Fraction(self._scale) * Fraction(top, bottom)

    def _accept(self, patterns: Patterns, randomness: Randomness) -> NDArray[np.bool_]:
        """The first step; |e^{x+g} − e^x| ≤ 4g for x + g ≤ 0 and any g, so ``4·guard`` is a distance of chances."""
        log_chance = float(self._log_scale) - patterns @ self._logs
        words = randomness.words(len(patterns))
        chance = np.exp(np.minimum(log_chance, 0.0))
        drawn = words.astype(np.float64) * 2.0**-64
        out: NDArray[np.bool_] = drawn < chance
        close = np.abs(drawn - chance) <= self._guard * 4 + 1e-14
        for row in np.flatnonzero(close):
            out[row] = self._decide(patterns[row], int(words[row]), randomness)
        return out

    @_fifty
    def _decide(self, pattern: NDArray[np.bool_], word: int, randomness: Randomness) -> bool:
        """Whether a uniform number that starts with these 64 bits is below α."""
        exponent = self._log_scale
        for i in np.flatnonzero(pattern):
            exponent -= self._exact_logs[i]
        chance = exponent.exp()
        # C is e^{log_scale} to within two slacks, and the sum of logarithms is good to one.
        error = chance * (4 * self._slack)
        low, high = Fraction(chance - error), Fraction(chance + error)
        bits, digits = 64, word
        while True:
            if digits + 1 <= low * (1 << bits):
                return True
            if digits >= high * (1 << bits):
                return False
            if bits == 128:
                low = high = self.acceptance(pattern)
            digits = (digits << 64) | int(randomness.words(1)[0])
            bits += 64


def _product(factors: list[int]) -> int:
    """A product of many whole numbers, halves first, so that long factors meet long ones."""
    if len(factors) < 8:
        return math.prod(factors)
    middle = len(factors) // 2
    return _product(factors[:middle]) * _product(factors[middle:])
