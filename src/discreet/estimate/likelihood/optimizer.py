"""Fisher scoring inside a trust region, for log-likelihoods that are not concave.

One iteration:

1. Terms at θ: value l, score s, information I: expected while far away, and observed once close, when convergence is
   quadratic, or after expected information has promised much more than there was. Under strong randomisation it can be
   so far from the curvature that steps by it creep; the observed one need not be positive, and is followed as it is.
2. Step: maximise ``s'd − d'Id/2`` over ``d'Md ≤ radius²``, M the metric of the linear predictors
   (:mod:`discreet.estimate.trust_region`).
3. Accept when a fair part of the promised gain is real; otherwise shrink the radius and try again.
4. Stop when the promised gain is negligible. If the step is then short, it is a maximum; if it is long, the
   surface is flat and the maximum may lie at infinity.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.arguments import Floats
from discreet.estimate.likelihood.objective import Surface, Terms
from discreet.estimate.trust_region import QuadraticModel, inverse_root

#: Promised gain in log-likelihood at which to stop. One more Newton step then makes θ exact to rounding.
_GAIN = 1e-9
#: Promised gain below which nothing can be told from rounding.
_ROUNDING_GAIN = 1e-15
#: Expected gain below which observed information is safe to try.
_NEAR_MAXIMUM = 2.0
#: Largest change of a linear predictor at the end that still counts as standing still.
_STANDSTILL = 1e-2
#: A long step that promises no more than this is the way to infinity: each further step would gain a third of it.
_VANISHING_GAIN, _LONG_STEP = 1e-7, 0.3


@dataclass(frozen=True, eq=False)
class Optimum:
    """Where a search ended.

    Attributes
    ----------
    theta, value : array, float
    step : array
        The Newton step that was left, before it was taken; long where the surface is flat.
    information : array
        The last information used.
    outcome : {"maximum", "flat", "iterations", "joined"}
        "joined": the search ran into an optimum that was already known.
    """

    theta: Floats
    value: float
    step: Floats
    information: Floats
    outcome: str
    iterations: int


def maximise(
    surface: Surface,
    start: Floats,
    *,
    scale: Floats,
    known: Sequence[Optimum] = (),
    iterations: int = 100,
    radius: float = 1.0,
) -> Optimum:
    """Climb from one start.

    Parameters
    ----------
    surface : Surface
    start : array
    scale : array
        Size of each coefficient's column: ``scale * step`` is the largest change of a linear predictor.
    known : sequence of Optimum
        Optima found before; a search that comes near one ends there.
    iterations : int
    radius : float
        First bound on the root mean squared change of the linear predictors.
    """
    theta = np.array(start, float)
    whiten = inverse_root(surface.metric)
    curvature = "expected"
    here = surface.terms(theta, curvature)
    if theta.size == 0:
        return Optimum(theta, here.value, theta, here.information, "maximum", 0)
    outcome, full = "iterations", np.zeros(theta.size)
    count, misled = 0, False
    while count < iterations:
        count += 1
        spectrum = _model(here, whiten, bent=misled)
        if curvature == "observed" and not (misled or spectrum.positive):
            curvature = "expected"
            here = surface.terms(theta, curvature)
            spectrum = _model(here, whiten)
        full = spectrum.step(0.0)
        damping, promised = spectrum.within(radius)
        reach = _reach(surface, spectrum, scale)
        still = damping == 0 and reach <= _STANDSTILL
        if _ended(promised, reach, still=still):
            if still and curvature == "expected":
                here, full, still = _sharpened(surface, theta, here, full, whiten, scale)
            if still:
                theta = theta + full
            outcome = "maximum" if still else "flat"
            break
        step = spectrum.step(damping)
        near = damping == 0 and promised < _NEAR_MAXIMUM
        wanted = "observed" if near or misled else "expected"
        trial = surface.terms(theta + step, wanted)
        gain = trial.value - here.value
        rounding = 1e-13 * (abs(here.value) + 1)
        ratio = (gain + rounding) / promised if np.isfinite(gain) else -1.0
        if ratio < 0.25:
            radius = 0.25 * min(radius, spectrum.length(damping))
            misled = misled or curvature == "expected"
        elif ratio > 0.7 and damping > 0:
            radius *= 2.0
        if ratio > 1e-4:
            theta, here, curvature = theta + step, trial, wanted
            if any(_near(theta, here.value, other) for other in known):
                outcome = "joined"
                break
        elif radius < 1e-10:
            outcome = "flat"
            break
        better = "observed" if misled else "expected" if ratio <= 1e-4 else curvature
        if better != curvature:
            curvature, here = better, surface.terms(theta, better)
    return Optimum(theta, here.value, full, here.information, outcome, count)


def _model(terms: Terms, whiten: Floats, *, bent: bool = False) -> QuadraticModel:
    """What the terms promise; bent where the information may be negative, and directions of that kind are followed."""
    return QuadraticModel(terms.score, terms.information, whiten, convex=not bent)


def _sharpened(
    surface: Surface, theta: Floats, here: Terms, full: Floats, whiten: Floats, scale: Floats
) -> tuple[Terms, Floats, bool]:
    """The last step is a Newton step, unless this is no maximum: terms, step, and whether it is a short one."""
    sharper = surface.terms(theta, "observed")
    better = _model(sharper, whiten)
    if not better.positive:
        return here, full, True
    return sharper, better.step(0.0), _reach(surface, better, scale) <= _STANDSTILL


def _ended(promised: float, reach: float, *, still: bool) -> bool:
    """Whether no step is worth taking: at the maximum, on the way to infinity, or below rounding."""
    at_maximum = promised <= _GAIN and still
    to_infinity = promised <= _VANISHING_GAIN and reach > _LONG_STEP
    return at_maximum or to_infinity or promised <= _ROUNDING_GAIN


def _reach(surface: Surface, spectrum: QuadraticModel, scale: Floats) -> float:
    """The smaller of two upper bounds on the largest change of a linear predictor.

    The first is poor for collinear columns, whose changes cancel, the second for many rows.
    """
    return min(float(np.max(scale * np.abs(spectrum.step(0.0)))), math.sqrt(surface.rows) * spectrum.length(0.0))


def _near(theta: Floats, value: float, other: Optimum) -> bool:
    if other.outcome != "maximum":
        return False
    apart = theta - other.theta
    return value <= other.value + 1e-6 and float(apart @ other.information @ apart) < 0.05
