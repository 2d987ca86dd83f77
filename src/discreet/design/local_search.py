"""The local search of bipartite response: how many reports should be near each truth (Zhang, Zhu, Chen and Hu 2026).

Algorithm 1 raises the weight of the nearest reports from 1 to e^ε, one after the other, as long as that lowers the
expected error under this truth; equidistant points have its answer in closed form. Signs that floats cannot decide are
decided in fractions.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.privacy.bounds import exp_bounds

#: A derivative that is this small against its terms is decided in fractions.
_UNDECIDED = 1e-11


def local_search(ordered: Floats, sums: Floats, epsilon: float, most: int | None = None) -> NDArray[np.int64]:
    """Algorithm 1 for every row: raise the i-th nearest report as long as that lowers the expected error.

    The sign of ∂Q/∂s_i is that of ``Σ_j (λ_i − λ_j) s_j``, s_j = e^ε for j < i and 1 from i on (equation 9). Rows that
    would go beyond ``most`` stop there.
    """
    size = ordered.shape[1]
    last = size if most is None else min(max(most, 2), size)
    ratio = np.exp(min(epsilon, 700.0))
    raised = np.arange(1, last)
    gains = ordered[:, 1:last] * (ratio * raised + (size - raised))
    costs = (ratio - 1) * sums[:, : last - 1] + sums[:, -1:]
    slopes = gains - costs
    doubt = _UNDECIDED * (gains + costs)
    stops = slopes >= -doubt
    stopped = stops.any(axis=1)
    first = stops.argmax(axis=1)
    taken = np.arange(len(ordered))
    unsure = np.flatnonzero(stopped & (np.abs(slopes[taken, first]) <= doubt[taken, first]))
    found = np.where(stopped, first + 1, last)
    for row in unsure:
        found[row] = _exact_stop(ordered[row], int(first[row]) + 1, epsilon)
    return np.asarray(found)


def _exact_stop(ordered: Floats, start: int, epsilon: float) -> int:
    """The first m ≥ start at which raising one more report does not pay, decided in fractions."""
    losses = [Fraction(value) for value in ordered.tolist()]
    total, below, size = sum(losses, Fraction(0)), sum(losses[:start], Fraction(0)), len(losses)
    low, high = exp_bounds(epsilon)
    for raised in range(start, size):
        loss = losses[raised]
        slope = loss * raised - below  # of the derivative in e^ε
        constant = loss * (size - raised) - total + below
        if min(slope * low, slope * high) + constant >= 0:
            return raised
        below += loss
    return size


def equidistant_near(size: int, epsilon: float) -> int:
    """The m of the search for N equidistant points, in closed form.

    With E = e^ε the end points stop at the largest i below r₁, the points in the middle at the largest odd i below r₂:

        r₁ = N(N + 1)/(√(N²E + (E − 1)²/4) + N − (E − 1)/2)
        r₂ = N/(e^{ε/2} + 1) + 1                      for even N
        r₂ = (N² − 1)/(√(E(N² − 1) + 1) + N) + 1      for odd N

    and m is the smaller of the two. (Algorithm 3 of the paper takes floors, and rounds i up to an odd number.) The
    formula is evaluated in floats and the sign of the quadratic behind it checked in fractions.

    >>> equidistant_near(10, 1.0), equidistant_near(4, 0.1)
    (3, 1)
    """
    low, high = exp_bounds(epsilon)

    def falls(slope: int, constant: int) -> bool:
        """Whether ``slope·e^ε + constant < 0``."""
        return max(slope * low, slope * high) + constant < 0

    def end_falls(i: int) -> bool:  # twice equation (12)
        return falls(i * i - i, -i * i + (2 * size + 1) * i - size * size - size)

    def middle_falls(i: int) -> bool:  # four times equations (13) and (14)
        odd = size % 2
        return falls((i - 1) ** 2, -((i - 1) ** 2) + 2 * size * i - 2 * size - size * size + odd)

    root = np.exp(min(epsilon, 600.0) / 2)
    half = (root * root - 1) / 2
    end = size * (size + 1) / (size + (size * root) ** 2 / (np.hypot(size * root, half) + half))
    if size % 2:
        middle = (size**2 - 1) / (np.sqrt(root * root * (size**2 - 1) + 1) + size) + 1
    else:
        middle = size / (root + 1) + 1
    first = _settled(int(np.ceil(end)) - 1, 1, size, end_falls)
    guess = int(np.ceil(middle)) - 1
    second = _settled(guess - 1 + guess % 2, 2, size, middle_falls)
    return max(1, min(first, second))


def _settled(guess: int, step: int, size: int, falls: Any) -> int:
    """The largest i = 1, 1 + step, … at which the derivative is negative, from a guess that is nearly right."""
    i = min(max(guess, 1), size)
    while i > 1 and not falls(i):
        i -= step
    while i + step <= size and falls(i + step):
        i += step
    return i
