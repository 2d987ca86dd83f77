"""Huber's loss: squares near zero, absolute values beyond."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.m_estimation.losses.index_loss import IndexLoss, Terms
from discreet.estimate.m_estimation.smoothing import laplace_mixture


@dataclass(frozen=True)
class Huber(IndexLoss):
    """``r²/2`` for ``|r| ≤ k``, ``k|r| − k²/2`` beyond.

    Parameters
    ----------
    threshold : float, optional
        k, in the units of the outcome. By default 1.345 times the spread (root mean square) of the residuals of
        corrected least squares, which is 95 % efficient for normal errors; the result says which it was.
    """

    threshold: float | None = None
    name: ClassVar[str] = "huber"
    location: ClassVar[bool] = True
    #: The default threshold in residual spreads.
    efficient: ClassVar[float] = 1.345

    def __post_init__(self) -> None:
        k = self.threshold
        if k is None:
            return
        if isinstance(k, bool) or not isinstance(k, numbers.Real) or not (math.isfinite(k) and k > 0):
            raise EstimationError(f"the threshold must be a finite number above 0, not {k!r}")

    @property
    def k(self) -> float:
        """The threshold; one until it has been chosen."""
        return 1.0 if self.threshold is None else float(self.threshold)

    def plain(self, eta: Floats, y: Floats) -> Terms:
        """The loss and its derivatives."""
        r, k = y - eta, self.k
        size = np.abs(r)
        value = np.where(size <= k, r * r / 2, k * size - k * k / 2)
        return value, -np.clip(r, -k, k), (size <= k).astype(float)

    def curvature(self, eta: Floats, y: Floats, v: float) -> Terms:
        """``P(|r + √v L| ≤ k)``."""
        if v <= 0:
            raise EstimationError(
                "the curvature of the Huber loss jumps: it cannot be corrected when no record is published exactly"
            )
        r, k = y - eta, self.k
        _, first, density, _ = laplace_mixture(r + k, (v,))
        _, other, density2, _ = laplace_mixture(r - k, (v,))
        step = (r + k > 0).astype(float) + 0.5 * (r == -k) - (r - k > 0) - 0.5 * (r == k)
        inside = (np.abs(r) <= k).astype(float)
        value = step + first - other
        return value, -(density - density2), (value - inside) / v
