"""The binary design of least worst case over several scenarios, with a bound that proves it.

A scenario is a prevalence, or a set of regression coefficients. On an edge of the feasible region its objective is
concave in ``u = 1/(p00 + p11 − 1)``, so on a piece [a, b] of the edge it is at least the smaller of its two ends. For
any set of scenarios ``max_s min(R_s(a), R_s(b))`` is then a lower bound for the worst case of every design on
the piece: branch and bound over both edges gives the optimum and its certificate.
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
