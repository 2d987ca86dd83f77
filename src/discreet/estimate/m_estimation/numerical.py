"""Minimising and differentiating a function that is only known by its values, row by row."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.m_estimation.result import sandwich

RowFunction = Callable[[Floats], Floats]

#: Where a loss must be finite.
_EVERYWHERE = "also outside the box, where noise puts some"


def laplacian(loss: Callable[..., Floats], theta: Floats, x: Floats, y: tuple[Floats, ...], weights: Floats) -> Floats:
    """``Σ w_j ∂²ℓ/∂x_j²`` by central differences over a thousandth of the noise."""
    middle = loss(theta, x, *y)
    total = np.zeros(x.shape[0])
    for j in np.flatnonzero(weights):
        step = 1e-3 * math.sqrt(weights[j])
        up, down = x.copy(), x.copy()
        up[:, j] += step
        down[:, j] -= step
        total += weights[j] * (loss(theta, up, *y) - 2 * middle + loss(theta, down, *y)) / step**2
    return total


def difference(value: RowFunction, theta: Floats) -> Floats:
    """The gradient of every row, by central differences."""
    columns = []
    for j in range(theta.size):
        step = 1e-5 * (1 + abs(theta[j]))
        up, down = theta.copy(), theta.copy()
        up[j] += step
        down[j] -= step
        columns.append((value(up) - value(down)) / (2 * step))
    return np.stack(columns, axis=1)


def check_start(value: RowFunction, gradient: RowFunction, theta: Floats, where: str = _EVERYWHERE) -> None:
    """Refuse a start at which the loss of some record is not finite."""
    with np.errstate(all="ignore"):
        finite = np.isfinite(value(theta)).all() and np.isfinite(gradient(theta)).all()
    if not finite:
        raise EstimationError(f"the loss must be finite at the start for every record, {where}")


def minimise(value: RowFunction, gradient: RowFunction, theta: Floats) -> tuple[Floats, bool]:
    """A local minimum of the mean of the rows, and whether it is one."""
    from scipy.optimize import minimize

    def risk(at: Floats) -> tuple[float, Floats]:
        return float(value(at).mean()), gradient(at).mean(axis=0)

    # A loss may overflow far from its minimum: the search then turns back, or ends without one.
    with np.errstate(all="ignore"):
        found = minimize(risk, theta, jac=True, method="BFGS", options={"gtol": 1e-7, "maxiter": 300})
        best = np.asarray(found.x, float)
        slopes = gradient(best) if np.isfinite(best).all() else np.full((1, theta.size), math.nan)
    if not np.isfinite(slopes).all():
        return theta, False
    # A kink leaves a gradient of the size of a few rows; it is small beside the statistical error.
    error = slopes.std(axis=0) / math.sqrt(slopes.shape[0])
    return best, bool(found.success or (np.abs(slopes.mean(axis=0)) < 0.1 * error + 1e-9).all())


def curvature(gradient: RowFunction, theta: Floats, scores: Floats, n: int) -> Floats:
    """Differences of the mean gradient over two standard errors, so that kinks are averaged over.

    The standard errors are those of differences over a first, narrower step.
    """
    first = (np.abs(theta) + 1.0) * n ** (-1 / 3) / 2
    error = np.sqrt(np.diag(sandwich(_differences(gradient, theta, first), scores, n)))
    step = np.clip(2 * np.where(np.isfinite(error), error, first), first, 8 * first)
    return _differences(gradient, theta, step)


def _differences(gradient: RowFunction, theta: Floats, steps: Floats) -> Floats:
    columns = []
    for j, step in enumerate(steps):
        up, down = theta.copy(), theta.copy()
        up[j] += step
        down[j] -= step
        columns.append((gradient(up).mean(axis=0) - gradient(down).mean(axis=0)) / (2 * step))
    matrix = np.stack(columns, axis=1)
    return np.asarray((matrix + matrix.T) / 2)
