"""Losses, their gradients, and the grid of whole numbers on which gradients are summed.

Everything here is worked out for one record from that record and from trees that are already released. It may be
computed in floats: what a record contributes is a whole number between −``GRID`` and ``GRID``, whatever the rounding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats

#: The largest gradient is written as this whole number: finer than any noise that is added.
GRID = 1 << 16


def on_grid(gradients: Floats) -> NDArray[np.int64]:
    """Gradients within [−1, 1] as whole numbers within [−GRID, GRID]."""
    return np.asarray(np.rint(np.clip(gradients, -1.0, 1.0) * GRID), np.int64)


@dataclass(frozen=True)
class SquaredLoss:
    """``(y − f)²/2`` for outcomes scaled to [−1, 1]; gradient f − y, and records beyond 1 are left out."""

    outputs: int = 1
    curvature: float = 1.0

    def gradients(self, scores: Floats, outcomes: Floats) -> Floats:
        """One column."""
        return np.asarray(scores - outcomes[:, None])


@dataclass(frozen=True)
class LogisticLoss:
    """Log loss of two classes, ``P(1) = 1/(1 + e^−f)``; gradient P(1) − y, curvature at most ¼."""

    outputs: int = 1
    curvature: float = 0.25

    def gradients(self, scores: Floats, outcomes: Floats) -> Floats:
        """One column."""
        return np.asarray(self.probabilities(scores)[:, 1:] - outcomes[:, None])

    def probabilities(self, scores: Floats) -> Floats:
        """Of both classes."""
        one = 0.5 * (1 + np.tanh(0.5 * scores[:, 0]))
        return np.column_stack([1 - one, one])


@dataclass(frozen=True)
class SoftmaxLoss:
    """Log loss of several classes, one score each; gradient P(k) − 1(y = k), curvature at most ½."""

    outputs: int
    curvature: float = 0.5

    def gradients(self, scores: Floats, outcomes: Floats) -> Floats:
        """One column per class."""
        return np.asarray(self.probabilities(scores) - (outcomes[:, None] == np.arange(self.outputs)))

    def probabilities(self, scores: Floats) -> Floats:
        """Of all classes."""
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))


Loss = SquaredLoss | LogisticLoss | SoftmaxLoss
