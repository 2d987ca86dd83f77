"""Which coefficients the rows do not determine, where a corrected loss has no minimum."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.arguments import Floats
from discreet.estimate.m_estimation.solver import Solution

#: Of a direction, coefficients that have at least this share of its largest part.
_PART = 0.5
#: So many are named.
_NAMED = 4


def undetermined(solution: Solution, hessian: Floats, names: Sequence[str]) -> tuple[str, ...]:
    """The coefficients in the direction in which the loss bends least upwards, or runs away.

    Columns are measured by the diagonal of the second derivatives where that is positive: a rare value of a predictor
    whose estimated share is not has a diagonal of its own below zero, and is found at once.
    """
    if not np.isfinite(hessian).all():
        return ()
    size = np.sqrt(np.maximum(np.abs(np.diag(hessian)), 1e-300))
    if solution.boundary:
        direction = np.abs(solution.theta) * size
    else:
        values, vectors = np.linalg.eigh(hessian / np.outer(size, size))
        direction = np.abs(vectors[:, int(np.argmin(values))])
    if not np.isfinite(direction).all() or direction.max(initial=0.0) == 0:
        return ()
    order = np.argsort(-direction)
    return tuple(names[j] for j in order[:_NAMED] if direction[j] >= _PART * direction[order[0]])


def status(solution: Solution, hessian: Floats, names: Sequence[str]) -> str:
    """What happened to a search, in words."""
    if solution.converged:
        return "converged"
    where = "runs away" if solution.boundary else "has no minimum where the search ended"
    found = undetermined(solution, hessian, names)
    what = ", ".join(f'"{name}"' for name in found) or "the coefficients"
    return (
        f"not converged: the corrected loss {where}: these rows, randomised this much, do not determine {what}; more "
        "rows, a larger ε or fewer randomised columns are needed, or fewer values, with rare ones put together"
    )
