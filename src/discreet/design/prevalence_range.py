"""Worst cases over an interval of prevalences: the variance, or its regret against the best possible."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from discreet.arguments import Floats
from discreet.design.minimax import EdgeProblem

#: Prevalences that the bound looks at; any set gives a valid bound, a finer one a sharper bound.
_GRID = 401


@dataclass(frozen=True)
class PrevalenceRange:
    """The largest ``variance(u, π)/scale(π)`` for π in [low, high].

    Attributes
    ----------
    exp_epsilon, delta : float
        e^ε and δ.
    low, high : float
        The interval of prevalences.
    relative : bool
        Compare the variance with the best possible at the same π (relative regret plus one), or take it as it is.
    """

    exp_epsilon: float
    delta: float
    low: float
    high: float
    relative: bool

    @property
    def warner(self) -> float:
        """Where the Warner point lies on an edge, as u."""
        return (self.exp_epsilon + 1) / (self.exp_epsilon + 2 * self.delta - 1)

    def ratio(self, u: float, mirrored: bool, prevalences: Floats) -> Floats:
        """variance/scale at each prevalence."""
        variance = self.variance(u, mirrored, prevalences)
        return variance / self.best(prevalences) if self.relative else variance

    def variance(self, u: float, mirrored: bool, prevalences: Floats) -> Floats:
        """Variance of the estimate from one answer, for the design at u on an edge."""
        lie = (1 / u - self.delta) / (self.exp_epsilon - 1)
        q = lie + (1 - prevalences if mirrored else prevalences) / u
        return np.asarray(q * (1 - q) * u * u)

    def best(self, prevalences: Floats) -> Floats:
        """The smallest variance of the three corners at each prevalence."""
        ends = ((self.warner, False), (1 / self.delta, False), (1 / self.delta, True))
        return np.asarray(np.minimum.reduce([self.variance(u, mirrored, prevalences) for u, mirrored in ends]))

    def worst(self, u: float, mirrored: bool) -> float:
        """The largest ratio over the whole interval: a grid, then refinement around its top."""
        left, right = self.low, self.high
        top = -np.inf
        for points in (_GRID, *(41,) * 6):
            local = np.linspace(left, right, points)
            values = self.ratio(u, mirrored, local)
            i = int(np.argmax(values))
            top = max(top, float(values[i]))
            left, right = local[max(i - 1, 0)], local[min(i + 1, points - 1)]
        return top

    @property
    def worst_at_corners(self) -> tuple[float, float, float]:
        """The largest ratio of each corner, in the order of `binary_region.corners`."""
        return (
            self.worst(self.warner, mirrored=False),
            self.worst(1 / self.delta, mirrored=False),
            self.worst(1 / self.delta, mirrored=True),
        )

    def problem(self) -> EdgeProblem:
        """The minimax problem over both edges."""
        grid = np.linspace(self.low, self.high, _GRID)
        objectives: Callable[[float, bool], Floats] = lambda u, mirrored: self.ratio(u, mirrored, grid)  # noqa: E731
        return EdgeProblem(self.warner, 1 / self.delta, objectives, self.worst)
