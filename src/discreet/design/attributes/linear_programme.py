"""The paper's linear programme over the 2^k patterns, in a form that is well scaled."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arguments import Floats
from discreet.design.attributes.cells import Cells
from discreet.errors import PrivacyError

#: 2^16 variables; the programme takes seconds there and hours soon after.
MAX_PATTERN_ATTRIBUTES = 16
#: Solvers and tolerances, in this order.
_ATTEMPTS = (("highs-ds", 1e-10), ("highs-ds", 1e-9), ("highs", 1e-8), ("highs-ipm", 1e-8))


@dataclass(frozen=True, eq=False)
class Solution:
    """g by cell, ln ρ reached, and a bound on ln ρ that no mechanism passes."""

    g: Floats
    log_rho: float
    log_bound: float


def solve_cells(cells: Cells) -> Solution:
    """The optimal g by HiGHS, with the bound that its dual weights prove.

    ρ may be 1e-9 where the record level is 20. Probabilities are divided by a good guess of it, so that what the
    solver sees is near one.
    """
    log_guess = cells.guess[1]
    chance = np.exp(np.minimum(cells.log_probability - log_guess, 600.0))
    rows, features = len(cells.rows), cells.features
    # ρ is the last variable.
    matrix = np.hstack([features * chance, -np.ones((len(features), 1))])
    x, duals = _solve(matrix[:rows], matrix[rows:])
    duals[rows:] = np.maximum(duals[rows:], 0.0)
    # Whatever the solver's rounding, weights that add up to one prove a bound.
    log_bound = min(cells.log_value(duals / duals.sum()), log_guess) if duals.sum() > 0 else log_guess
    return Solution(np.clip(x[:-1], 0.0, 1.0), math.log(x[-1]) + log_guess, log_bound)


def solved(cost: Floats, **problem: Any) -> Any:
    """HiGHS, as exactly as it can; None when it gives up.

    Where the strictest tolerance is too strict for a problem, looser ones are tried. Whatever comes out is only a
    proposal: the finished integers are certified, and the bound is recomputed from the dual weights.
    """
    from scipy.optimize import linprog

    solver: Any = linprog  # its type knows each method with its options only
    for method, tolerance in _ATTEMPTS:
        options = {"primal_feasibility_tolerance": tolerance, "dual_feasibility_tolerance": tolerance}
        answer = solver(cost, method=method, options=options, **problem)
        if answer.success:
            return answer
    return None


def _solve(equal: Floats, at_least: Floats) -> tuple[Floats, Floats]:
    """Maximise the last variable; returns the variables and the dual weights of the rows."""
    count = equal.shape[1]
    cost = np.zeros(count)
    cost[-1] = -1.0
    answer = solved(
        cost,
        bounds=[(0.0, 1.0)] * (count - 1) + [(0.0, None)],
        A_eq=equal,
        b_eq=np.zeros(len(equal)),
        A_ub=-at_least if len(at_least) else None,
        b_ub=np.zeros(len(at_least)) if len(at_least) else None,
    )
    if answer is None or not answer.x[-1] > 0:
        raise PrivacyError("the linear programme was not solved: the levels are too unequal for floating point")
    duals = np.asarray(answer.eqlin.marginals)
    if len(at_least):
        duals = np.concatenate([duals, -np.asarray(answer.ineqlin.marginals)])
    return np.asarray(answer.x), duals
