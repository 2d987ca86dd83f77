"""What a tree says about the records in its leaves, made private in five ways.

With n records in a leaf and whole-number gradients that sum to S (``gradients.GRID`` stands for 1), a leaf is the mean
gradient ``S/(n + λ)``, to be subtracted. One record is in one leaf.

* ``sums``: release ``u = Σ(1 + h)/2`` and ``v = Σ(1 − h)/2``, h ∈ [−1, 1], with discrete Laplace noise. One record
  moves the two by (1 + h)/2 and (1 − h)/2: exactly 1 together. Then Σh = u − v and n = u + v; what follows is
  arithmetic on released numbers.
* ``laplace``, ``clamped``: the mean gradient, clipped to ±c *before* the noise, moves by at most
  ``min(1/(1 + λ), 2c)``: with n records before,
  ``|h(n + λ) − S|/((n + λ)(n + 1 + λ)) ≤ (2n + λ)/((n + λ)(n + 1 + λ))``,
  which is 1/(1 + λ) at n = 0 and 1 and falls from there. Clamping the noisy value to ±c again costs nothing.
* ``bipartite``, ``optimum``: the mean gradient, clipped to half of that on either side of 0 and rounded to points, is
  randomised as one value: any two points are ε-private, so no sensitivity is needed.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.design import bipartite, expected_error
from discreet.domains import Ordinal
from discreet.learning.boosting.gradients import GRID
from discreet.mechanisms import FiniteMechanism
from discreet.privacy.bounds import round_down
from discreet.randomness import Randomness
from discreet.randomness.discrete_laplace import discrete_laplace

Ints = NDArray[np.int64]


class Leaves(ABC):
    """A way of releasing the mean gradients of leaves."""

    @property
    @abstractmethod
    def spent(self) -> Fraction:
        """What the leaves of one tree spend of a record's privacy level."""

    @abstractmethod
    def means(self, sums: Ints, counts: Ints, clip: float, randomness: Randomness) -> Floats:
        """Private mean gradients of leaves, within ±clip unless the noise has no bounds.

        Parameters
        ----------
        sums, counts : array of int
            Whole-number gradients and records of every leaf.
        clip : float
            No leaf says more: ``(1 − η)^(j − 1)`` in round j.
        """


@dataclass(frozen=True)
class SummedLeaves(Leaves):
    """Sums of positive and negative parts with noise; the mean is shrunk by what the noise makes of it."""

    epsilon: Fraction
    regularisation: float

    @property
    def spent(self) -> Fraction:
        """All of it."""
        return self.epsilon

    def means(self, sums: Ints, counts: Ints, clip: float, randomness: Randomness) -> Floats:
        """``S/(n + λ + κ)`` of the noisy sums, κ from :func:`shrinkage`."""
        # Both in units of 1/(2·GRID), in which one record moves them by 2·GRID together.
        rate = self.epsilon / (2 * GRID)
        upper = counts * GRID + sums + discrete_laplace(rate, sums.size, randomness)
        lower = counts * GRID - sums + discrete_laplace(rate, sums.size, randomness)
        total = (upper - lower) / (2 * GRID)
        count = np.maximum((upper + lower) / (2 * GRID), 0.0)
        shrunk = total / (count + self.regularisation + shrinkage(count, float(self.epsilon)))
        return np.asarray(np.clip(shrunk, -clip, clip))


#: The spread of mean gradients over leaves that shrinking supposes, and that of gradients within a leaf.
LEAF_SPREAD = 0.3
RECORD_SPREAD = 0.3


def shrinkage(count: Floats, epsilon: float) -> Floats:
    """What to add to the count so that noise is not taken for a gradient.

    If means of leaves vary by τ, records around them by s, and the noisy sum has variance ``σ² = 4/ε²``, the best
    linear guess of the mean is ``S/(n + s²/τ² + σ²/(n τ²))``.
    """
    noise = 4 / epsilon**2
    return np.asarray((RECORD_SPREAD**2 + noise / np.maximum(count, 1.0)) / LEAF_SPREAD**2)


@dataclass(frozen=True)
class NoisyLeaves(Leaves):
    """Laplace noise on the clipped mean; clamped to ±clip or left as it is."""

    epsilon: Fraction
    regularisation: float
    clamped: bool

    @property
    def spent(self) -> Fraction:
        """All of it."""
        return self.epsilon

    def means(self, sums: Ints, counts: Ints, clip: float, randomness: Randomness) -> Floats:
        """On the grid of gradients, where one record moves it by the sensitivity, rounded up, and one more."""
        means = np.clip(plain_means(sums, counts, self.regularisation), -clip, clip)
        sensitivity = math.ceil(leaf_sensitivity(clip, self.regularisation) * GRID) + 1
        noise = discrete_laplace(self.epsilon / sensitivity, sums.size, randomness)
        noisy = (np.rint(means * GRID) + noise) / GRID
        return np.asarray(np.clip(noisy, -clip, clip) if self.clamped else noisy)


@dataclass(frozen=True)
class RandomisedLeaves(Leaves):
    """The mean as one value of an ordered domain, randomised by a channel."""

    mechanism: FiniteMechanism
    regularisation: float

    @property
    def spent(self) -> Fraction:
        """What the channel really spends."""
        return Fraction(self.mechanism.guarantee.epsilon)

    def means(self, sums: Ints, counts: Ints, clip: float, randomness: Randomness) -> Floats:
        """Points from −c to c, ``c = ΔV/2`` (brr2026, appendix B.1)."""
        half = leaf_sensitivity(clip, self.regularisation) / 2
        points = np.linspace(-half, half, self.mechanism.shape[0])
        means = np.clip(plain_means(sums, counts, self.regularisation), -half, half)
        codes = np.rint((means + half) / (2 * half) * (points.size - 1)).astype(np.int64)
        return np.asarray(points[self.mechanism.privatize(codes, randomness)])


def plain_means(sums: Ints, counts: Ints, regularisation: float) -> Floats:
    """``S/(n + λ)``, zero where nobody is."""
    return np.asarray(sums / GRID / np.maximum(counts + regularisation, np.finfo(float).tiny))


def leaf_sensitivity(clip: float, regularisation: float) -> float:
    """``min(1/(1 + λ), 2c)``: how far one record moves a mean that was clipped to ±c."""
    return min(1 / (1 + regularisation), 2 * clip)


KINDS = ("sums", "laplace", "clamped", "bipartite", "optimum")


def leaves_of(kind: str, epsilon: Fraction, regularisation: float, points: int) -> Leaves:
    """The way of releasing leaves that has this name, at this privacy level."""
    if kind == "sums":
        return SummedLeaves(epsilon, regularisation)
    if kind in ("laplace", "clamped"):
        return NoisyLeaves(epsilon, regularisation, kind == "clamped")
    design = bipartite if kind == "bipartite" else expected_error
    return RandomisedLeaves(design(Ordinal(range(points)), round_down(epsilon)).mechanism, regularisation)
