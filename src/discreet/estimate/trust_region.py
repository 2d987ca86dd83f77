"""The step of a trust region: where a quadratic model is best within reach (Moré and Sorensen 1983).

Maximise ``s'd − d'Id/2`` over ``|W⁻¹d| ≤ radius``: s the slope of what is climbed, I its curvature with the sign
changed, and W the coordinates in which a step has length one. There the model is diagonalised, and the best step is
``(I + damping)⁻¹ s`` with the smallest damping that keeps it within reach: a problem in one number.

Likelihoods climb by it (:mod:`.likelihood.optimizer`), corrected risks descend by it (:mod:`.m_estimation.solver`).
"""

from __future__ import annotations

import numpy as np

from discreet.arguments import Floats


class QuadraticModel:
    """A quadratic model in the coordinates in which it is diagonal.

    Parameters
    ----------
    slope, curvature : array
        s and I.
    whiten : array
        W: its columns are steps of length one.
    convex : bool
        Take directions in which the model is not concave for flat ones. Fisher information is never negative but by
        rounding; an observed curvature may be, and its directions are then followed as far as the reach allows.
    """

    def __init__(self, slope: Floats, curvature: Floats, whiten: Floats, *, convex: bool) -> None:
        inner = whiten.T @ curvature @ whiten
        values, vectors = np.linalg.eigh((inner + inner.T) / 2)
        largest = float(np.max(np.abs(values)))
        floor = 1e-13 * max(largest, 1e-300) if convex else 1e-12 * max(largest, 1.0)
        self.positive = bool(values[0] > floor)
        self._values = np.maximum(values, floor) if convex else values
        #: The least damping with which the model has a maximum.
        self._least = 0.0 if convex or self.positive else max(0.0, -float(values[0])) + floor
        self._basis = whiten @ vectors
        self._slope = self._basis.T @ slope

    def _moved(self, damping: float) -> Floats:
        """How far to go in every direction; nowhere in one that the model is flat in."""
        curvature = self._values + damping
        return np.asarray(np.divide(self._slope, curvature, out=np.zeros_like(self._slope), where=curvature != 0))

    def step(self, damping: float) -> Floats:
        """The best step with this damping."""
        return np.asarray(self._basis @ self._moved(damping))

    def length(self, damping: float) -> float:
        """Its length."""
        return float(np.linalg.norm(self._moved(damping)))

    def _promised(self, damping: float) -> float:
        move = self._moved(damping)
        return float(self._slope @ move - 0.5 * np.sum(self._values * move * move))

    def within(self, radius: float, tolerance: float = 1e-3) -> tuple[float, float]:
        """The smallest damping that keeps the step within the radius (to this share), and the gain that is promised."""
        least = self._least
        if self.length(least) <= radius:
            return least, self._promised(least)
        low, high = 0.0, float(np.linalg.norm(self._slope)) / radius
        while high - low > tolerance * high:
            middle = (low + high) / 2 if low > 0 or high < 1e-290 else high / 16
            if self.length(least + middle) > radius:
                low = middle
            else:
                high = middle
        return least + high, self._promised(least + high)


def inverse_root(metric: Floats) -> Floats:
    """T with ``T' M T = 1``; directions that M does not see are left out of it by a floor."""
    scale = 1.0 / np.sqrt(np.maximum(np.diag(metric), 1e-300))
    values, vectors = np.linalg.eigh(metric * np.outer(scale, scale))
    floor = 1e-12 * max(float(values[-1]), 1e-300) if values.size else 0.0
    return np.asarray(scale[:, None] * (vectors / np.sqrt(np.maximum(values, floor))))
