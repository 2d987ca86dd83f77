"""Score tests and intervals that keep their level where the maximum of the likelihood is infinite.

Under strong randomisation the likelihood is often highest for a step function of the covariates, which fits the noise:
the likelihood ratio then rejects the truth far too often. Neyman's C(α) test avoids the maximum: it needs the other
coefficients only from some consistent estimate. Here they solve ``Σ cᵢ xᵢ(ỹᵢ − G(xᵢ'β)) = 0`` for unbiased labels
``ỹ = (y − 1 + p00)/(p00 + p11 − 1)``, the gradient of a concave function for every link; the statistic is the
efficient score at that point, squared, over its variance.

J. Neyman (1959), Optimal asymptotic tests of composite statistical hypotheses, in *Probability and Statistics: The
Harald Cramér Volume*.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.estimate.regression.links import Link, link_named

Floats = NDArray[np.float64]
#: A weak pull to zero, in rows' worth of information, so that the equations always have a solution.
_PULL = 1e-3
#: A coefficient that moves the linear predictor by this much, at the typical size of its column, is called infinite.
_FAR = 50.0


def score_statistic(
    X: Floats,
    reports: ArrayLike,
    p00: ArrayLike,
    p11: ArrayLike,
    link: str,
    column: int,
    value: float,
    offset: ArrayLike = 0.0,
) -> float:
    """Of the hypothesis that one coefficient has this value; chi-square with one degree of freedom when it is true."""
    function = link_named(link)
    no_kept, yes_kept = np.asarray(p00, float), np.asarray(p11, float)
    lift: Floats = no_kept + yes_kept - 1
    labels: Floats = (np.asarray(reports, float) - 1 + no_kept) / lift
    others = [j for j in range(X.shape[1]) if j != column]
    fixed: Floats = value * X[:, column] + np.asarray(offset, float)
    rest = _other_coefficients(X[:, others], labels, np.broadcast_to(lift**2, labels.shape), fixed, function)
    no, yes, slope = function.parts(np.asarray(X[:, others] @ rest + fixed))
    reported = (1 - no_kept) * no + yes_kept * yes
    variance = reported * (1 - reported) / lift**2
    # A direct answer that is certain in floats has no slope either, and says nothing about this coefficient.
    weights = np.divide(slope, variance, out=np.zeros_like(slope), where=variance > 0)
    score = X.T @ (weights * (labels - yes))
    information = (X * (weights * slope)[:, None]).T @ X
    # What the other coefficients explain of this one's score is taken out of it.
    direction = np.zeros(X.shape[1])
    direction[column] = 1.0
    if others:
        inner = information[np.ix_(others, others)]
        direction[others] = -np.linalg.lstsq(inner, information[others, column], rcond=None)[0]
    spread = float(direction @ information @ direction)
    return float((direction @ score) ** 2 / spread) if spread > 0 else 0.0


def score_interval(
    X: Floats,
    reports: ArrayLike,
    p00: ArrayLike,
    p11: ArrayLike,
    link: str,
    column: int,
    critical: float,
    step: float,
    offset: ArrayLike = 0.0,
) -> tuple[float, float]:
    """The values around the estimate from unbiased labels that the score test does not reject.

    Parameters
    ----------
    critical : float
        The chi-square quantile.
    step : float
        A first guess of the standard error; only speed depends on it.
    """
    lift: Floats = np.asarray(p00, float) + np.asarray(p11, float) - 1
    labels: Floats = (np.asarray(reports, float) - 1 + np.asarray(p00, float)) / lift
    weights = np.broadcast_to(lift**2, labels.shape)
    fixed = np.broadcast_to(np.asarray(offset, float), labels.shape)
    centre = float(_other_coefficients(X, labels, weights, fixed, link_named(link))[column])
    limit = _FAR / float(np.sqrt((X[:, column] ** 2).mean()))

    def rejected(value: float) -> bool:
        return score_statistic(X, reports, p00, p11, link, column, value, offset) > critical

    if rejected(centre):
        return math.nan, math.nan
    low, high = (_end(rejected, centre, sign * min(step, limit / 8), limit) for sign in (-1.0, 1.0))
    return low, high


def _end(rejected: Callable[[float], bool], centre: float, step: float, limit: float) -> float:
    """Double the step until a value is rejected, then halve the gap; infinite when none within the limit is."""
    inside, outside = centre, centre + step
    while not rejected(outside):
        if abs(outside) > limit:
            return math.copysign(math.inf, step)
        step *= 2
        inside, outside = outside, outside + step
    for _ in range(40):
        middle = (inside + outside) / 2
        if rejected(middle):
            outside = middle
        else:
            inside = middle
        if abs(outside - inside) <= 1e-7 * max(1.0, abs(outside)):
            break
    return (inside + outside) / 2


def _other_coefficients(X: Floats, labels: Floats, weights: Floats, offset: Floats, link: Link) -> Floats:
    """Newton's method on the concave function, with steps of at most one unit of the linear predictors' size."""
    if X.shape[1] == 0:  # a model with one coefficient has no others
        return np.zeros(0)
    scale = np.sqrt((X**2).mean(axis=0))
    X, rest = X / scale, np.zeros(X.shape[1])
    pull = _PULL * float(weights.mean())
    for _ in range(200):
        _, yes, slope = link.parts(X @ rest + offset)
        gradient = X.T @ (weights * (labels - yes)) - pull * rest
        curvature = (X * (weights * slope)[:, None]).T @ X + pull * np.eye(len(rest))
        step = np.linalg.solve(curvature, gradient)
        longest = float(np.abs(step).max())
        rest = rest + step / max(longest, 1.0)
        if longest < 1e-8:
            break
    return np.asarray(rest / scale)
