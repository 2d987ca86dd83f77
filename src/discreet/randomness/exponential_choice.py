"""The exponential mechanism on whole-number scores: ``P(i) ∝ e^(rate·score_i)``, met exactly.

The choice is the first i at which the cumulative weight exceeds ``u·total``, u uniform. Floats know the cumulative
weights to a proven error; when u falls within that error of a boundary, once in millions of choices, weights are
enclosed by fractions and more bits of u are drawn.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from discreet import limits
from discreet.privacy.bounds import exp_bounds
from discreet.randomness.source import Randomness

#: A weight in floats, at most one, errs by less than 2⁻⁵⁰, a sum of K of them and its rounding by less than 2⁻⁴⁹·K
#: times the total, and the product with u by less still: K times this, relative to the total, is safe.
_ERROR_PER_CANDIDATE = 2.0**-48
#: Bits of u after which a choice that is still in doubt is left to its present position: the enclosures of weights have
#: 98 digits, so this happens with a probability below 1e-90.
_MOST_BITS = 320


def exponential_choice(scores: NDArray[np.int64], rate: Fraction, randomness: Randomness) -> NDArray[np.intp]:
    """One choice in every row of scores.

    Where one person changes the scores by amounts that lie within an interval of length R, whatever its place, the
    choice is ``rate·R``-private (McSherry and Talwar 2007; the range instead of twice the sensitivity: Dong, Durfee
    and Rogers 2020): weights change by factors within an interval of ratio ``e^(rate·R)``, and so does their sum.

    Parameters
    ----------
    scores : array (rows, candidates) of int
        Differences within a row must be below 2⁵³.
    rate : Fraction
        0 or above; 0 chooses uniformly.
    """
    behind = scores.max(axis=1, keepdims=True) - scores
    weights = np.exp(behind * -float(rate))
    cumulative = np.cumsum(weights, axis=1)
    total = cumulative[:, -1]
    words = randomness.words(scores.shape[0])
    places = words * 2.0**-64 * total
    chosen = np.minimum((cumulative <= places[:, None]).sum(axis=1), scores.shape[1] - 1)
    error = _ERROR_PER_CANDIDATE * scores.shape[1] * total
    rows = np.arange(scores.shape[0])
    above = cumulative[rows, chosen] - places
    below = places - np.where(chosen > 0, cumulative[rows, chosen - 1], -np.inf)
    last = chosen == scores.shape[1] - 1  # beyond the last boundary there is nothing to be mistaken for
    doubtful = (below < error) | ((above < error) & ~last)
    for row in np.flatnonzero(doubtful).tolist():
        chosen[row] = _exact_choice(behind[row].tolist(), rate, int(words[row]), randomness)
    return np.asarray(chosen, np.intp)


def _exact_choice(behind: list[int], rate: Fraction, word: int, randomness: Randomness) -> int:
    """The choice of a uniform number that begins with these 64 bits, by enclosures of all weights."""
    bounds = [_weight_bounds(rate * gap) for gap in behind]
    low, high = list(accumulate(b[0] for b in bounds)), list(accumulate(b[1] for b in bounds))
    bits = 64
    while True:
        least, most = Fraction(word, 1 << bits), Fraction(word + 1, 1 << bits)
        first = next((i for i, c in enumerate(high) if c > least * low[-1]), len(high) - 1)
        last = next((i for i, c in enumerate(low) if c >= most * high[-1]), len(low) - 1)
        if first == last or bits >= _MOST_BITS:
            return first
        word, bits = (word << 64) | int(randomness.words(1)[0]), bits + 64


def _weight_bounds(exponent: Fraction) -> tuple[Fraction, Fraction]:
    if exponent > limits.EPSILON:
        return Fraction(0), exp_bounds(-limits.EPSILON)[1]
    return exp_bounds(-exponent)
