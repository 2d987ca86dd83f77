"""The binary design of least worst case over several scenarios, with a bound that proves it.

A scenario is a prevalence, or a set of regression coefficients. On an edge of the feasible region its objective is
concave in ``u = 1/(p00 + p11 − 1)``, so on a piece [a, b] of the edge it is at least the smaller of its two ends. For
any set of scenarios ``max_s min(R_s(a), R_s(b))`` is then a lower bound for the worst case of every design on
the piece: branch and bound over both edges gives the optimum and its certificate.

Worst cases over an interval of prevalences: the variance, or its regret against the best possible.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from discreet.arguments import Floats

#: Relative gap between the design found and the proven bound at which the search stops.
TOLERANCE = 1e-7
_MAX_PIECES = 20_000


@dataclass(frozen=True)
class Minimax:
    """A point on the edge, its worst case, and the proven bound."""

    u: float
    mirrored: bool
    value: float
    bound: float = 0.0
    at_warner: bool = False
    at_corner: bool = False


@dataclass(frozen=True)
class EdgeProblem:
    """Minimise over both edges the largest objective of all scenarios.

    Attributes
    ----------
    warner, corner : float
        u at the two ends of an edge: the Warner point and (1, δ).
    objectives : function of u and mirrored
        One value per scenario, each concave in u; ``mirrored`` is the edge that ends in (δ, 1).
    worst : function of u and mirrored, optional
        The exact worst case where scenarios form a continuum and ``objectives`` only looks at some.
    """

    warner: float
    corner: float
    objectives: Callable[[float, bool], Floats]
    worst: Callable[[float, bool], float] | None = None

    def solve(self) -> Minimax:
        """Branch and bound over both edges."""
        best = Minimax(self.warner, mirrored=False, value=np.inf, at_warner=True)
        pieces: list[tuple[float, float, float, bool]] = []

        def consider(u: float, mirrored: bool) -> None:
            nonlocal best
            value = self.worst(u, mirrored) if self.worst else float(self.objectives(u, mirrored).max())
            if value < best.value:
                best = Minimax(u, mirrored, value, at_warner=u == self.warner, at_corner=u == self.corner)

        def push(a: float, b: float, mirrored: bool) -> None:
            ends = np.minimum(self.objectives(a, mirrored), self.objectives(b, mirrored))
            heapq.heappush(pieces, (float(ends.max()), a, b, mirrored))

        for mirrored in (False, True):
            consider(self.warner, mirrored)
            consider(self.corner, mirrored)
            push(self.warner, self.corner, mirrored)
        for _ in range(_MAX_PIECES):
            bound, a, b, mirrored = pieces[0]
            if bound >= best.value * (1 - TOLERANCE):
                break
            heapq.heappop(pieces)
            middle = (a + b) / 2
            consider(middle, mirrored)
            push(a, middle, mirrored)
            push(middle, b, mirrored)
        return replace(best, bound=min(pieces[0][0], best.value))


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
