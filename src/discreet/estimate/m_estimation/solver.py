"""Minimise a corrected risk: Newton steps inside a trust region, several starts, a compact set.

The correction has negative weights, so the risk of a finite sample need not be convex, and can be unbounded below.
Only a local minimum inside the compact set counts as a solution.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.m_estimation.box.objective import Risk
from discreet.estimate.m_estimation.objective import Moments
from discreet.estimate.trust_region import QuadraticModel

_STEPS = 100
#: The damping of a step is worked out to this share: a pass over the rows costs far more than that.
_EXACT = 1e-10


@dataclass(frozen=True)
class Solution:
    """Where a search ended."""

    theta: Floats
    value: float
    converged: bool
    boundary: bool
    steps: int


def minimise(objective: Risk, start: Floats, scale: Floats, radius: float) -> Solution:
    """A local minimum of the risk; coefficients are measured in units of ``1/scale``."""
    theta = np.array(start, float)
    size = float(np.linalg.norm(theta * scale))
    if size > 0.9 * radius:
        theta *= 0.9 * radius / size
    moments = _finite(objective, theta)
    if moments is None:
        return Solution(theta, math.inf, False, False, 0)
    reach, boundary, step_count = 0.5 * (1.0 + float(np.linalg.norm(theta * scale))), False, 0
    for step_count in range(1, _STEPS + 1):
        if not (np.isfinite(moments.gradient).all() and np.isfinite(moments.hessian).all()):
            return Solution(theta, moments.value, False, boundary, step_count)
        model = QuadraticModel(-moments.gradient, moments.hessian, np.diag(1 / scale), convex=False)
        damping, promised = model.within(reach, _EXACT)
        step, length, predicted = model.step(damping), model.length(damping), -promised
        if length < 1e-9 * (1 + float(np.linalg.norm(theta * scale))) or -predicted < 1e-15 * (1 + abs(moments.value)):
            positive = _positive(moments, scale)
            return Solution(theta, moments.value, positive and not boundary, boundary, step_count)
        trial = theta + step
        size = float(np.linalg.norm(trial * scale))
        if size > radius:
            trial *= radius / size
        found = _finite(objective, trial)
        gained = math.inf if found is None else found.value - moments.value
        if found is not None and gained <= 0.1 * predicted:
            boundary = size > radius * (1 - 1e-9)
            theta, moments = trial, found
            if boundary:
                return Solution(theta, moments.value, False, True, step_count)
            if gained < 0.5 * predicted and length > 0.8 * reach:
                reach *= 2.0
        else:
            reach = 0.25 * min(length, reach)
            if reach < 1e-11:
                break
    small = float(np.linalg.norm(moments.gradient / scale)) < 1e-6 * (1 + abs(moments.value))
    return Solution(theta, moments.value, small and _positive(moments, scale), False, step_count)


def _positive(moments: Moments, scale: Floats) -> bool:
    return float(np.linalg.eigvalsh(moments.hessian / np.outer(scale, scale))[0]) > 0


def _finite(objective: Risk, theta: Floats) -> Moments | None:
    """Moments, or None where the correction does not exist."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            found = objective.moments(theta)
    except EstimationError:
        return None
    # Beyond 1e100 squares overflow: an exponential loss far from its minimum.
    sane = math.isfinite(found.value) and float(np.abs(found.hessian).max(initial=0.0)) < 1e100
    return found if sane else None


def best_of(objective: Risk, starts: Sequence[Floats], scale: Floats, radius: float) -> Solution:
    """The lowest of the local minima found from several starts; one on the boundary only when there is no other."""
    found = [minimise(objective, start, scale, radius) for start in starts]
    inside = [one for one in found if one.converged]
    return min(inside or found, key=lambda one: one.value)
