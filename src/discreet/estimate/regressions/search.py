"""The minimum of a corrected loss near a start, in units that do not depend on those of the columns or the outcome.

A corrected loss is climbed upside down, times the number of rows: on the scale of a log-likelihood, with linear
predictors measured by the mean of x x' over rows and cells. A year beside a constant (mean 2000, spread 7) is then no
further away than the same number about its mean, and the loss of an outcome in other units is divided by the unit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.regressions.families import Linear
from discreet.estimate.regressions.optimise import Optimum, Terms, inverse_root, maximise

#: How far a linear predictor of average size may go, in sizes of itself at the start: a sign that there is no minimum.
_FARTHEST = 50.0
#: Of a direction, coefficients that have at least this share of its largest part; and how many are named.
_PART, _NAMED = 0.5, 4
#: A curvature this many standard errors above zero is known well enough for standard errors.
CLEAR = 3.0
#: Below this it is noise.
_NOISE = 1.0


class _Upside:
    """Minus a corrected loss, times the rows, per unit of the loss; linear predictors are measured by their size."""

    observed_only = True

    def __init__(self, risk: Any, size: float, unit: float) -> None:
        self._risk, self._factor = risk, risk.n / unit
        self.metric, self.rows = parameter_metric(risk) / size**2, risk.n

    def value(self, theta: Floats) -> float:
        """Minus the loss."""
        return self.terms(theta, "observed").value

    def terms(self, theta: Floats, curvature: str) -> Terms:  # noqa: ARG002  # there is one
        """Value, score and information; minus infinity where the correction does not exist."""
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                here, factor = self._risk.moments(theta), self._factor
        except EstimationError:
            return Terms(-math.inf, np.zeros(theta.size), np.zeros((theta.size, theta.size)))
        return Terms(-factor * here.value, -factor * here.gradient, factor * here.hessian)


def local_minimum(risk: Any, start: Floats, size: float = 1.0, unit: float = 1.0) -> Optimum:
    """The minimum near a start.

    Parameters
    ----------
    size : float
        What a linear predictor is measured in.
    unit : float
        What the loss is measured in.
    """
    surface = _Upside(risk, size, unit)
    length = math.sqrt(max(float(start @ surface.metric @ start), 0.0))
    scale = 10 * np.sqrt(np.diag(surface.metric))
    return maximise(surface, start, scale=scale, radius=0.5 * (1 + length), farthest=_FARTHEST * (1 + length))


def parameter_metric(risk: Any) -> Floats:
    """``θ' metric θ`` is the mean square of the linear predictors, added up over them."""
    full = np.asarray(np.kron(np.eye(risk.family.predictors), risk.metric), float)
    transform = risk.transform
    return full if transform is None else np.asarray(transform.T @ full @ transform)


def solved(risk: Any) -> Optimum:
    """The minimum of a squared loss: one linear system."""
    here, root = risk.moments(np.zeros(risk.size)), inverse_root(parameter_metric(risk))
    inner, slope = root.T @ here.hessian @ root, root.T @ here.gradient
    values, vectors = np.linalg.eigh((inner + inner.T) / 2)
    positive = bool(values[0] > 1e-12 * max(abs(float(values[-1])), 1e-300))
    kept = np.where(np.abs(values) > 1e-300, values, np.inf)
    theta = np.asarray(-root @ (vectors @ ((vectors.T @ slope) / kept)), float)
    outcome = "maximum" if positive else "flat"
    return Optimum(theta, here.value, theta * 0, here.hessian, outcome, 1)


def least_squares(risk: Any, family: Linear) -> tuple[Floats, float]:
    """Corrected least squares on the rows of another loss, and the spread of the residuals: a consistent start.

    An eigenvalue that noise has made small, or negative, says nothing about its direction, and has a floor.
    """
    linear = risk.with_family(family)
    first, root = np.zeros(risk.size), inverse_root(parameter_metric(risk))
    here = linear.moments(first)
    if risk.constant is not None:  # about its mean, so that an outcome may be shifted
        place = risk.constant
        first[place] = -here.gradient[place] / max(float(here.hessian[place, place]), 1e-300)
        here = linear.moments(first)
    inner = root.T @ here.hessian @ root
    values, vectors = np.linalg.eigh((inner + inner.T) / 2)
    floor = np.maximum(values, 0.02 * max(float(values[-1]), 1e-300))
    theta = first - np.asarray(root @ (vectors @ ((vectors.T @ (root.T @ here.gradient)) / floor)), float)
    return theta, math.sqrt(max(2 * linear.moments(theta).value, 0.02 * here.value, 1e-300))


def clearance(risk: Any, theta: Floats, hessian: Floats) -> float:
    """The smallest eigenvalue of the second derivatives, in standard errors: below one it is noise."""
    root = inverse_root(parameter_metric(risk))
    if not np.isfinite(hessian).all():
        return -math.inf
    values, vectors = np.linalg.eigh(root.T @ hessian @ root)
    direction = root @ vectors[:, 0]
    squares, _ = risk.bends(theta, direction).finished()
    error = math.sqrt(max(float(squares[0, 0]), 0.0)) / risk.total
    return float(values[0]) / error if error > 0 else math.copysign(math.inf, float(values[0]))


def undetermined(solution: Optimum, hessian: Floats, metric: Floats, names: Sequence[str]) -> tuple[str, ...]:
    """The coefficients in the direction in which the loss bends least upwards, or runs away; columns by their size."""
    if not np.isfinite(hessian).all():
        return ()
    size, root = np.sqrt(np.maximum(np.diag(metric), 1e-300)), inverse_root(metric)
    if solution.outcome == "boundary":
        direction = np.abs(solution.theta) * size
    else:
        direction = np.abs(root @ np.linalg.eigh(root.T @ hessian @ root)[1][:, 0]) * size
    if not np.isfinite(direction).all() or direction.max(initial=0.0) == 0:
        return ()
    order = np.argsort(-direction)
    return tuple(names[j] for j in order[:_NAMED] if direction[j] >= _PART * direction[order[0]])


def status(solution: Optimum, hessian: Floats, metric: Floats, names: Sequence[str], clear: float, n: int) -> str:
    """What happened to a search, in words; how many rows would do only where that was estimated."""
    if solution.converged and clear >= CLEAR:
        return "converged"
    rows = f"about {_round_up(n * (CLEAR / clear) ** 2):,} rows would do" if clear > 0.1 else "more rows are needed"
    found = undetermined(solution, hessian, metric, names)
    what = ", ".join(f'"{name}"' for name in found) or "the coefficients"
    if solution.converged:
        return f"converged, but too noisy to trust the standard errors of {what}: {rows}"
    where = "runs away" if solution.outcome == "boundary" else "has no minimum where the search ended"
    return (
        f"not converged: the corrected loss {where}: these rows, randomised this much, do not determine {what}; more "
        "rows, a larger ε or fewer randomised columns are needed, or fewer values, with rare ones put together"
    )


def is_noise(clear: float) -> bool:
    """Whether a curvature cannot be told from zero."""
    return clear < _NOISE


def _round_up(rows: float) -> int:
    """Two digits: more would be a promise."""
    if not rows < 1e15:
        return 10**15
    step = int(10.0 ** max(0, len(str(math.ceil(rows))) - 2))
    return math.ceil(rows / step) * step
