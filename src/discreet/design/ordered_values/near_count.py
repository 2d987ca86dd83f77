"""The local search of bipartite response: how many reports should be near each truth (Zhang, Zhu, Chen and Hu 2026).

Algorithm 1 raises the weight of the nearest reports from 1 to e^ε, one after the other, as long as that lowers the
expected error under this truth; equidistant points have its answer in closed form. Signs that floats cannot decide are
decided in fractions.

Losses in order: the sums of the m smallest losses of every truth, which decide how many reports should be near.

With E = e^ε, S_m the sum of the m smallest losses of a truth and T the sum of all, m near reports cost

    Q(m) = (T + (E − 1) S_m) / (N + (E − 1) m)

on average under this truth. One sort and prefix sums per row give Q for every m; equidistant points need neither.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet import arguments
from discreet.arguments import Floats
from discreet.domains.losses import HasLosses
from discreet.errors import DesignError
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


MEASURE = "Expected error of a report"
#: Losses handled at once: the working arrays of a step stay in the second-level cache.
_BLOCK = 1 << 18


def checked_prior(prior: ArrayLike | None, size: int) -> Floats:
    """How frequent each truth is thought to be; equally frequent when nothing is said."""
    if prior is None:
        return np.full(size, 1 / size)
    given = arguments.floats(prior, "prior", DesignError)
    if given.shape != (size,):
        raise DesignError(f"a prior needs {size} numbers, one per value, not the shape {given.shape}")
    if not np.all(given >= 0) or not np.isfinite(given.sum()) or abs(given.sum() - 1) > 1e-9:
        raise DesignError("a prior must be numbers ≥ 0 that sum to 1")
    return np.asarray(given / given.sum())


def loss_blocks(domain: HasLosses) -> Iterator[tuple[slice, Floats]]:
    """All rows of losses, some at a time."""
    rows = max(1, _BLOCK // domain.size)
    for start in range(0, domain.size, rows):
        stop = min(start + rows, domain.size)
        yield slice(start, stop), domain.loss_rows(np.arange(start, stop))


@dataclass(frozen=True, eq=False)
class Ranking:
    """What one pass over the sorted losses says.

    Attributes
    ----------
    nearest : array (N + 1,)
        Prior-weighted sum of the m smallest losses, for m = 0 … N.
    searched : int
        The m of the paper's local and global search.
    """

    nearest: Floats
    searched: int

    def errors(self, high: float, low: float = 1.0) -> Floats:
        """Expected error for m = 1 … N near reports with weights high and low."""
        size = self.nearest.size - 1
        near = np.arange(1, size + 1)
        return np.asarray(
            (low * self.nearest[-1] + (high - low) * self.nearest[1:]) / (near * high + (size - near) * low)
        )


def rank(domain: HasLosses, epsilon: float, prior: Floats) -> Ranking:
    """Sort every row once: prefix sums for all m, and Algorithms 1 and 2 of the paper."""
    if domain.step is not None:
        nearest = equidistant_nearest(domain.size, prior) * domain.step
        return Ranking(nearest, equidistant_near(domain.size, epsilon))
    nearest = np.zeros(domain.size + 1)
    searched = domain.size
    for rows, losses in loss_blocks(domain):
        ordered = np.sort(losses, axis=1)
        sums = np.cumsum(ordered, axis=1)
        nearest[1:] += prior[rows] @ sums
        # Only the smallest m counts: beyond the one found so far nothing has to be looked at.
        searched = min(searched, int(local_search(ordered, sums, epsilon, searched).min()))
    return Ranking(nearest, searched)


def equidistant_nearest(size: int, prior: Floats) -> Floats:
    """Prior-weighted sums of the m smallest losses for m = 0 … N, points at distance one, in O(N).

    A point with n points on its shorter side has the losses 0, 1, 1, …, n, n, n + 1, …, N − 1 − n: the m smallest sum
    to ⌊m²/4⌋ while m ≤ 2n + 1, and beyond to ``n(n + 1)/2 + (m − 1 − n)(m − n)/2``.
    """
    half = (size + 1) // 2
    folded = prior[:half].copy()
    mirrored = prior[::-1][:half]
    folded += mirrored if size % 2 == 0 else np.append(mirrored[:-1], 0.0)
    n = np.arange(half, dtype=float)
    # Sums of 1, n and n² over the points that are too close to an end for m near reports around them.
    ones, firsts, squares = (np.concatenate([[0.0], np.cumsum(folded * n**power)]) for power in (0, 1, 2))
    m = np.arange(size + 1, dtype=float)
    short = np.minimum(np.arange(size + 1) // 2, half)  # points with 2n + 1 < m, i.e. n < m/2 − 1/2
    w, wn, wnn = ones[short], firsts[short], squares[short]
    # n(n+1)/2 + (m−1−n)(m−n)/2 = n² + n(1 − m) + m(m − 1)/2
    edge = wnn + wn * (1 - m) + w * m * (m - 1) / 2
    return np.asarray((ones[-1] - w) * np.floor(m * m / 4) + edge)


def equidistant_sums(size: int, near: int) -> tuple[Floats, Floats]:
    """The sum of the m smallest losses and of all, for every one of N points at distance one."""
    x = np.arange(size, dtype=float)
    n = np.minimum(x, size - 1 - x)

    def smallest(m: int) -> Floats:
        edge = n * n + n * (1 - m) + m * (m - 1) / 2
        return np.where(2 * n + 1 >= m, float(m * m // 4), edge)

    return smallest(near), smallest(size)
