"""The binary design of least worst case over an interval of prevalences, with a bound that proves it.

On an edge of the feasible region the variance at each prevalence is concave in ``u = 1/(p00 + p11 − 1)``, so on
a piece [a, b] of the edge it is at least the smaller of its two ends. For any set of prevalences
``max_π min(R(a, π), R(b, π))`` is then a lower bound for the worst case of every design on the piece: branch
and bound over both edges gives the optimum and its certificate.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

#: Relative gap between the design found and the proven bound at which the search stops.
TOLERANCE = 1e-7
#: Prevalences that the bound looks at; any set gives a valid bound, a finer one a sharper bound.
_GRID = 401
_MAX_PIECES = 20_000

Criterion = Callable[[NDArray[np.float64]], NDArray[np.float64]]


@dataclass(frozen=True)
class Minimax:
    """A point on the edge, its worst case, and the proven bound."""

    u: float
    mirrored: bool
    value: float
    bound: float
    at_warner: bool = False
    at_corner: bool = False


@dataclass(frozen=True)
class EdgeProblem:
    """Minimise over u the largest ``variance(u, π)/scale(π)`` for π in [low, high].

    Attributes
    ----------
    exp_epsilon, delta : float
        e^ε and δ.
    low, high : float
        The interval of prevalences.
    scale : function
        What the variance is compared with: the best variance at π (relative regret), or one (the variance itself).
    """

    exp_epsilon: float
    delta: float
    low: float
    high: float
    scale: Criterion

    def ratio(self, u: float, prevalences: NDArray[np.float64], *, mirrored: bool) -> NDArray[np.float64]:
        """variance/scale at each prevalence, on the edge through (1, δ) or on its mirror image."""
        return edge_variance(u, prevalences, self.exp_epsilon, self.delta, mirrored=mirrored) / self.scale(prevalences)

    def worst(self, u: float, prevalences: NDArray[np.float64], *, mirrored: bool) -> tuple[float, float]:
        """The largest ratio over the interval and where it lies: a grid, then golden refinement around its top."""
        values = self.ratio(u, prevalences, mirrored=mirrored)
        top = int(np.argmax(values))
        left, right = prevalences[max(top - 1, 0)], prevalences[min(top + 1, prevalences.size - 1)]
        for _ in range(6):
            local = np.linspace(left, right, 41)
            at = self.ratio(u, local, mirrored=mirrored)
            i = int(np.argmax(at))
            left, right = local[max(i - 1, 0)], local[min(i + 1, 40)]
        return (float(at[i]), float(local[i])) if at[i] > values[top] else (float(values[top]), float(prevalences[top]))

    def solve(self) -> Minimax:
        """Branch and bound over both edges."""
        warner = (self.exp_epsilon + 1) / (self.exp_epsilon + 2 * self.delta - 1)
        corner = 1 / self.delta
        grid = np.linspace(self.low, self.high, _GRID)
        best = Minimax(warner, mirrored=False, value=np.inf, bound=0.0, at_warner=True)
        pieces: list[tuple[float, float, float, bool]] = []

        def consider(u: float, mirrored: bool) -> None:
            nonlocal best
            value, _ = self.worst(u, grid, mirrored=mirrored)
            if value < best.value:
                best = Minimax(u, mirrored, value, 0.0, at_warner=u == warner, at_corner=u == corner)

        def push(a: float, b: float, mirrored: bool) -> None:
            ends = np.minimum(self.ratio(a, grid, mirrored=mirrored), self.ratio(b, grid, mirrored=mirrored))
            heapq.heappush(pieces, (float(ends.max()), a, b, mirrored))

        for mirrored in (False, True):
            consider(warner, mirrored)
            consider(corner, mirrored)
            push(warner, corner, mirrored)
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


def edge_variance(
    u: float, prevalences: NDArray[np.float64], exp_epsilon: float, delta: float, *, mirrored: bool
) -> NDArray[np.float64]:
    """Variance of the estimate from one answer, for the design at u on an edge."""
    lie = (1 / u - delta) / (exp_epsilon - 1)
    q = lie + (1 - prevalences if mirrored else prevalences) / u
    return q * (1 - q) * u * u
