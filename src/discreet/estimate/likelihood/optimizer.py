"""Fisher scoring inside a trust region, for log-likelihoods that are not concave.

One iteration:

1. Terms at θ: value l, score s, information I (expected while far away, observed once close: then convergence is
   quadratic).
2. Step: maximise ``s'd − d'Id/2`` over ``d'Md ≤ radius²``, M the metric of the linear predictors. In the
   coordinates in which M is the identity and I diagonal this is one-dimensional.
3. Accept when a fair part of the promised gain is real; otherwise shrink the radius and try again.
4. Stop when the promised gain is negligible. If the step is then short, it is a maximum; if it is long, the
   surface is flat and the maximum may lie at infinity.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.estimate.likelihood.objective import Surface, Terms

Floats = NDArray[np.float64]
#: Promised gain in log-likelihood at which to stop. One more Newton step then makes θ exact to rounding.
_GAIN = 1e-9
#: Promised gain below which nothing can be told from rounding.
_NOTHING = 1e-15
#: Expected gain below which observed information is safe to try.
_CLOSE = 2.0
#: Largest change of a linear predictor at the end that still counts as standing still.
_STILL = 1e-2
#: A long step that promises no more than this is the way to infinity: each further step would gain a third of it.
_HARDLY, _LONG = 1e-7, 0.3


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
    count = 0
    while count < iterations:
        count += 1
        spectrum = _Spectrum(here, whiten)
        if curvature == "observed" and not spectrum.positive:
            curvature = "expected"
            here = surface.terms(theta, curvature)
            spectrum = _Spectrum(here, whiten)
        full = spectrum.step(0.0)
        damping, promised = spectrum.within(radius)
        reach = _reach(surface, spectrum, scale)
        still = damping == 0 and reach <= _STILL
        if (promised <= _GAIN and still) or (promised <= _HARDLY and reach > _LONG) or promised <= _NOTHING:
            if still and curvature == "expected":  # the last step is a Newton step, unless this is no maximum
                sharper = surface.terms(theta, "observed")
                better = _Spectrum(sharper, whiten)
                if better.positive:
                    here, full = sharper, better.step(0.0)
                    still = _reach(surface, better, scale) <= _STILL
            if still:
                theta = theta + full
            outcome = "maximum" if still else "flat"
            break
        step = spectrum.step(damping)
        near = damping == 0 and promised < _CLOSE
        wanted = "observed" if near else "expected"
        trial = surface.terms(theta + step, wanted)
        gain = trial.value - here.value
        rounding = 1e-13 * (abs(here.value) + 1)
        ratio = (gain + rounding) / promised if np.isfinite(gain) else -1.0
        if ratio < 0.25:
            radius = 0.25 * min(radius, spectrum.length(damping))
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
        elif curvature == "observed":
            curvature = "expected"
            here = surface.terms(theta, curvature)
    return Optimum(theta, here.value, full, here.information, outcome, count)


def _reach(surface: Surface, spectrum: _Spectrum, scale: Floats) -> float:
    """The smaller of two upper bounds on the largest change of a linear predictor.

    The first is poor for collinear columns, whose changes cancel, the second for many rows.
    """
    return min(float(np.max(scale * np.abs(spectrum.step(0.0)))), math.sqrt(surface.rows) * spectrum.length(0.0))


def _near(theta: Floats, value: float, other: Optimum) -> bool:
    if other.outcome != "maximum":
        return False
    apart = theta - other.theta
    return value <= other.value + 1e-6 and float(apart @ other.information @ apart) < 0.05


def inverse_root(metric: Floats) -> Floats:
    """T with ``T' M T = 1``; directions that M does not see are left out of it by a floor."""
    scale = 1.0 / np.sqrt(np.maximum(np.diag(metric), 1e-300))
    values, vectors = np.linalg.eigh(metric * np.outer(scale, scale))
    floor = 1e-12 * max(float(values[-1]), 1e-300) if values.size else 0.0
    return np.asarray(scale[:, None] * (vectors / np.sqrt(np.maximum(values, floor))))


class _Spectrum:
    """The quadratic model in the coordinates in which the metric is the identity and the information diagonal."""

    def __init__(self, terms: Terms, whiten: Floats) -> None:
        inner = whiten.T @ terms.information @ whiten
        values, vectors = np.linalg.eigh((inner + inner.T) / 2)
        floor = 1e-13 * max(float(np.max(np.abs(values))), 1e-300)
        self.positive = bool(values[0] > floor)
        self._values = np.maximum(values, floor)
        self._basis = whiten @ vectors
        self._slope = self._basis.T @ terms.score

    def step(self, damping: float) -> Floats:
        return np.asarray(self._basis @ (self._slope / (self._values + damping)))

    def length(self, damping: float) -> float:
        return float(np.linalg.norm(self._slope / (self._values + damping)))

    def _promised(self, damping: float) -> float:
        move = self._slope / (self._values + damping)
        return float(self._slope @ move - 0.5 * np.sum(self._values * move * move))

    def within(self, radius: float) -> tuple[float, float]:
        """The smallest damping that keeps the step within the radius, and the gain that is promised."""
        if self.length(0.0) <= radius:
            return 0.0, self._promised(0.0)
        low, high = 0.0, float(np.linalg.norm(self._slope)) / radius
        while high - low > 1e-3 * high:
            middle = (low + high) / 2 if low > 0 or high < 1e-290 else high / 16
            if self.length(middle) > radius:
                low = middle
            else:
                high = middle
        return high, self._promised(high)
