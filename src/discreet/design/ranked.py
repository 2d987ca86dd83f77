"""Losses in order: the sums of the m smallest losses of every truth, which decide how many reports should be near.

With E = e^ε, S_m the sum of the m smallest losses of a truth and T the sum of all, m near reports cost

    Q(m) = (T + (E − 1) S_m) / (N + (E − 1) m)

on average under this truth. One sort and prefix sums per row give Q for every m; equidistant points need neither.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from discreet import arguments
from discreet.arguments import Floats
from discreet.design.local_search import equidistant_near, local_search
from discreet.domains.losses import HasLosses
from discreet.errors import DesignError

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
