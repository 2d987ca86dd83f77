"""What an adversary can do between two truths: δ(ε) and the trade-off curve of a pair of distributions.

A pair is given by integer weights ``a`` and ``b`` of the reports under the two truths, over a common
denominator. Everything here is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cmp_to_key
from itertools import pairwise
from typing import NamedTuple


class Pair(NamedTuple):
    """Weights of the same reports under two truths; reports with equal ratios may be merged.

    ``blanket`` holds the smallest weights under any truth, where they are stated.
    """

    first: tuple[int, ...]
    second: tuple[int, ...]
    blanket: tuple[int, ...] = ()

    @property
    def reversed(self) -> Pair:
        """The same two truths with their roles exchanged."""
        return Pair(self.second, self.first, self.blanket)

    @staticmethod
    def of_two_weights(high: int, low: int, block: int, overlap: int, reports: int) -> Pair:
        """Two truths with ``block`` likely reports each, ``overlap`` of them in common; the others are unlikely.

        Every report is taken to be unlikely under some truth, so that its blanket is ``low``.
        """
        own, rest = block - overlap, reports - 2 * block + overlap
        counts = (own, own, overlap, rest)
        first, second = (high, low, high, low), (low, high, high, low)
        weights = (tuple(n * w for n, w in zip(counts, kind, strict=True)) for kind in (first, second, (low,) * 4))
        return Pair(*weights)


def hockey_stick(pair: Pair, denominator: int, exp_epsilon: Fraction) -> Fraction:
    """Σ_y max(P(y) − e^ε P'(y), 0): the smallest δ for this pair in this direction."""
    n, d = exp_epsilon.numerator, exp_epsilon.denominator
    excess = sum(max(a * d - n * b, 0) for a, b in zip(pair.first, pair.second, strict=True))
    return Fraction(excess, d * denominator)


def error_curve(pair: Pair, denominator: int) -> tuple[tuple[Fraction, Fraction], ...]:
    """Corners of the trade-off curve: (false alarm α, missed detection β) of the most powerful tests.

    The adversary tests "first" against "second" and rejects on the reports that are relatively most likely
    under "second" (Neyman and Pearson); between corners the curve is linear.
    """
    reports = [(a, b) for a, b in zip(pair.first, pair.second, strict=True) if a or b]
    reports.sort(key=cmp_to_key(_by_ratio))
    corners = [(Fraction(0), Fraction(1))]
    alpha = beta = 0
    for a, b in reports:
        alpha += a
        beta += b
        corners.append((Fraction(alpha, denominator), 1 - Fraction(beta, denominator)))
    return tuple(corners)


def _by_ratio(p: tuple[int, int], q: tuple[int, int]) -> int:
    """Order reports by first/second without dividing, zero denominators last."""
    return p[0] * q[1] - q[0] * p[1]


def interpolate(corners: Sequence[tuple[Fraction, Fraction]], alpha: Fraction) -> Fraction:
    """β at α on a curve given by its corners; on a vertical step, the lowest point."""
    best = Fraction(1)
    for (a0, b0), (a1, b1) in pairwise(corners):
        if a0 <= alpha <= a1:
            value = b1 if a0 == a1 else b0 + (b1 - b0) * (alpha - a0) / (a1 - a0)
            best = min(best, value)
    return best
