"""A score test that keeps its level where the maximum of the likelihood is infinite.

Under strong randomisation the likelihood is often highest for a step function of the covariates, which fits the noise:
the likelihood ratio then rejects the truth far too often. Neyman's C(α) test avoids the maximum: it needs the other
coefficients only from some consistent estimate. Here they solve ``Σ cᵢ xᵢ(ỹᵢ − G(xᵢ'β)) = 0`` for unbiased labels
``ỹ = (y − 1 + p00)/(p00 + p11 − 1)``, the gradient of a concave function for every link; the statistic is the
efficient score at that point, squared, over its variance.

J. Neyman (1959), Optimal asymptotic tests of composite statistical hypotheses, in *Probability and Statistics: The
Harald Cramér Volume*.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.estimate.regression.links import Link, link_named

Floats = NDArray[np.float64]
#: A weak pull to zero, in rows' worth of information, so that the equations always have a solution.
_PULL = 1e-3


def score_statistic(
    X: Floats, reports: ArrayLike, p00: ArrayLike, p11: ArrayLike, link: str, column: int, value: float
) -> float:
    """Of the hypothesis that one coefficient has this value; chi-square with one degree of freedom when it is true.

    The values that are not rejected at 3.84 form a 95 % score interval.
    """
    function = link_named(link)
    no_kept, lift = np.asarray(p00, float), np.asarray(p00, float) + np.asarray(p11, float) - 1
    labels = (np.asarray(reports, float) - 1 + no_kept) / lift
    others = [j for j in range(X.shape[1]) if j != column]
    offset = value * X[:, column]
    rest = _other_coefficients(X[:, others], labels, np.broadcast_to(lift**2, labels.shape), offset, function)
    no, yes, slope = function.parts(X[:, others] @ rest + offset)
    reported = (1 - no_kept) * no + np.asarray(p11) * yes
    variance = reported * (1 - reported) / lift**2
    weights = slope / variance
    score = X.T @ (weights * (labels - yes))
    information = (X * (weights * slope)[:, None]).T @ X
    # What the other coefficients explain of this one's score is taken out of it.
    shares = np.linalg.lstsq(information[np.ix_(others, others)], information[others, column], rcond=None)[0]
    direction = np.zeros(X.shape[1])
    direction[column], direction[others] = 1.0, -shares
    return float((direction @ score) ** 2 / (direction @ information @ direction))


def _other_coefficients(X: Floats, labels: Floats, weights: Floats, offset: Floats, link: Link) -> Floats:
    """Newton's method on the concave function, with steps of at most one unit of the linear predictors' size."""
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
