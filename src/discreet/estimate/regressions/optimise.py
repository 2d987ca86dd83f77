"""The one optimiser: Newton or Fisher scoring steps inside a trust region, for surfaces that are not concave.

One iteration:

1. Terms at θ: value l, score s, information I: expected while far away, and observed once close, when convergence is
   quadratic, or after expected information has promised much more than there was. Under strong randomisation it can be
   so far from the curvature that steps by it creep; the observed one need not be positive, and is followed as it is.
   Corrected losses have the observed information only.
2. Step: maximise ``s'd − d'Id/2`` over ``d'Md ≤ radius²``, M the metric of the linear predictors
   (:mod:`discreet.estimate.regressions.optimise`).
3. Accept when a fair part of the promised gain is real; otherwise shrink the radius and try again.
4. Stop when the promised gain is negligible. If the step is then undamped and short, it is a maximum; if it is long,
   the surface is flat and the maximum may lie at infinity. A step that the trust region shortens never ends a search
   at a maximum.

The promised gain is ``s'I⁻¹s/2``, half the square of the score in units of its standard error: the rule for convergence
is the same for every model.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from discreet.arguments import Floats
from discreet.estimate.data.map_reduce import FieldSums

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
#: The longest step that is written down; its square must not overflow.
_ENDLESS = 1e100


@dataclass(frozen=True, eq=False)
class Terms(FieldSums):
    """Value, score and information at a point; the information is "expected" or "observed"."""

    value: float
    score: Floats
    information: Floats


class Surface(Protocol):
    """What the optimiser climbs.

    A surface with the attribute ``observed_only`` has no expected information.
    """

    @property
    def metric(self) -> Floats:
        """``step' metric step`` is the mean squared change of the linear predictors."""

    @property
    def rows(self) -> int:
        """Number of rows."""

    def value(self, theta: Floats) -> float:
        """Log-likelihood, or minus a risk in its units."""

    def terms(self, theta: Floats, curvature: str) -> Terms:
        """Value, score and information."""


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
    outcome : {"maximum", "flat", "iterations", "joined", "boundary"}
        "joined": the search ran into an optimum that was already known. "boundary": it left the compact set.
    """

    theta: Floats
    value: float
    step: Floats
    information: Floats
    outcome: str
    iterations: int

    @property
    def converged(self) -> bool:
        """Whether this is a maximum."""
        return self.outcome == "maximum"


def maximise(
    surface: Surface,
    start: Floats,
    *,
    scale: Floats,
    known: Sequence[Optimum] = (),
    iterations: int = 100,
    radius: float = 1.0,
    farthest: float = math.inf,
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
    farthest : float
        The compact set: a search ends where the root mean square of the linear predictors passes it.
    """
    theta, whiten = np.array(start, float), inverse_root(surface.metric)
    bent = bool(getattr(surface, "observed_only", False))
    curvature = "observed" if bent else "expected"
    here = surface.terms(theta, curvature)
    if theta.size == 0 or not _finite(here):
        return Optimum(theta, here.value, theta * 0, here.information, "flat" if theta.size else "maximum", 0)
    outcome, full, count, misled = "iterations", np.zeros(theta.size), 0, bent
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
            theta, outcome = (theta + full, "maximum") if still else (theta, "flat")
            break
        step = spectrum.step(damping)
        near = damping == 0 and promised < _NEAR_MAXIMUM
        wanted = "observed" if near or misled else "expected"
        trial = surface.terms(theta + step, wanted)
        gain = trial.value - here.value
        ratio = (gain + 1e-13 * (abs(here.value) + 1)) / promised if _finite(trial) else -1.0  # but for rounding
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
            if float(theta @ surface.metric @ theta) > farthest**2:
                outcome = "boundary"
                break
        elif radius < 1e-10:
            outcome = "flat"
            break
        better = "observed" if misled else "expected" if ratio <= 1e-4 else curvature
        if better != curvature:
            curvature, here = better, surface.terms(theta, better)
    return Optimum(theta, here.value, full, here.information, outcome, count)


def _finite(terms: Terms) -> bool:
    """Whether a quadratic model can be made; beyond 1e100 squares overflow."""
    largest = float(np.abs(terms.information).max(initial=0.0))
    return bool(np.isfinite(terms.value) and np.isfinite(terms.score).all() and largest < 1e100)


def _model(terms: Terms, whiten: Floats, *, bent: bool = False) -> QuadraticModel:
    """The quadratic model; bent where the information may be negative, and such directions are followed."""
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


class QuadraticModel:
    """A quadratic model in the coordinates in which it is diagonal, and its best step within reach.

    Maximise ``s'd − d'Id/2`` over ``|W⁻¹d| ≤ radius``: the best step is ``(I + damping)⁻¹ s`` with the smallest damping
    that keeps it within reach, a problem in one number (Moré and Sorensen 1983).

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
        with np.errstate(over="ignore"):
            move = np.divide(self._slope, curvature, out=np.zeros_like(self._slope), where=curvature != 0)
        return np.asarray(np.clip(move, -_ENDLESS, _ENDLESS))

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
