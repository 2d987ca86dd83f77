"""From a fitted likelihood to covariances, intervals and tests."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from discreet import arguments
from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.regressions.likelihood.objective import Moments, Restricted
from discreet.estimate.regressions.likelihood.search import affected
from discreet.estimate.regressions.optimise import Surface, maximise

COVARIANCES = ("model", "observed", "robust", "cluster", "survey")
_NEEDS = {"cluster": "clusters= and no strata", "survey": "strata="}


def covariance(kind: str, moments: Moments, n: int, direction: Floats | None, scale: Floats) -> Floats:
    """The covariance matrix of the coefficients.

    * "model": inverse expected information;
    * "observed": inverse observed information;
    * "robust": the sandwich ``H⁻¹ (Σ s s') H⁻¹ n/(n − 1)``, H the observed information (Huber 1967, White 1982);
    * "cluster": the same with scores added up within clusters and the factor C/(C − 1), so that clusters of one
      row give the robust matrix;
    * "survey": with strata, the scores of clusters (or rows) are centred within strata and each stratum has its own
      factor, see :class:`~discreet.estimate.sampling.unit_totals.Linearization`.

    Coefficients that run to infinity have variance inf and covariance nan.
    """
    kind = arguments.choice(kind, "the covariance", COVARIANCES, EstimationError)
    sampling = moments.sampling
    if kind in ("cluster", "survey") and (sampling is None or sampling.has_strata != (kind == "survey")):
        raise EstimationError(f"a {kind} covariance needs {_NEEDS[kind]} when the regression is fitted")
    bread = inverse(moments.expected if kind == "model" else moments.observed, direction, scale)
    with np.errstate(over="ignore", invalid="ignore"):
        if kind == "robust":
            bread = bread @ moments.scores @ bread * (n / (n - 1) if n > 1 else math.nan)
        elif kind in ("cluster", "survey"):
            assert sampling is not None
            bread = bread @ sampling.scores @ bread
    matrix = (bread + bread.T) / 2
    if direction is not None:
        for j in affected(direction, scale):
            matrix[j, :] = matrix[:, j] = math.nan
            matrix[j, j] = math.inf
    return matrix


def inverse(information: Floats, direction: Floats | None, scale: Floats) -> Floats:
    """The inverse; nan when the information is not positive definite.

    A direction that runs to infinity carries no information in the limit and is taken out first: what is left
    is right for the coefficients that it does not touch.
    """
    size = information.shape[0]
    if direction is None:
        keep = np.diag(1.0 / np.sqrt(np.maximum(np.diag(information), 1e-300)))
    else:
        unit = 1.0 / np.maximum(scale, 1e-300)
        away = np.linalg.svd((direction / unit)[None, :])[2][1:].T  # orthogonal to the direction
        keep = unit[:, None] * away
        lengths = np.sqrt(np.einsum("ij,ik,kj->j", keep, information, keep).clip(0.0))
        keep = keep / np.where(lengths > 0, lengths, 1.0)
    with np.errstate(over="ignore", invalid="ignore"):
        inner = keep.T @ information @ keep
    if not np.isfinite(inner).all():
        return np.full((size, size), math.nan)
    values, vectors = np.linalg.eigh(inner)
    if not (values > 0).all():
        return np.full((size, size), math.nan)
    with np.errstate(over="ignore", invalid="ignore"):  # several directions may have vanished
        root = keep @ (vectors / np.sqrt(values))
        return np.asarray(root @ root.T)


def restricted_maximum(
    surface: Surface, theta: Floats, fixed: dict[int, float], scale: Floats, extra: Sequence[Floats] = ()
) -> tuple[float, Floats]:
    """The highest log-likelihood with some coefficients held fixed, and where it is."""
    inner = Restricted(surface, fixed, theta.size)
    best: tuple[float, Floats] | None = None
    for start in (theta, *extra):
        one = maximise(inner, start[inner.free], scale=scale[inner.free])
        if best is None or one.value > best[0]:
            best = one.value, inner.full(one.theta)
    assert best is not None
    return best


def profile_interval(
    surface: Surface, theta: Floats, value: float, j: int, quantile: float, scale: Floats, std_error: float
) -> tuple[float, float]:
    """All values of one coefficient that a likelihood-ratio test does not reject.

    The ends solve ``2 (l̂ − l_p(b)) = quantile²``, l_p the log-likelihood maximised over the other coefficients
    (Venzon and Moolgavkar 1988). An end is infinite when l_p never falls so far.
    """
    unit = 1.0 / max(float(scale[j]), 1e-300)
    reach = std_error if np.isfinite(std_error) and 0 < std_error < 20 * unit else unit
    return (
        _profile_end(surface, theta, value, j, -quantile, scale, reach),
        _profile_end(surface, theta, value, j, quantile, scale, reach),
    )


def _profile_end(
    surface: Surface, theta: Floats, value: float, j: int, quantile: float, scale: Floats, reach: float
) -> float:
    """Newton's method on the signed root ``t(b)``, nearly a straight line, kept inside a bracket.

    At the restricted maximum the derivative of the profile is the score of the coefficient itself.
    """
    side = math.copysign(1.0, quantile)
    target = abs(quantile)
    inside, outside = 0.0, math.inf  # distances from the estimate
    distance, last_root = target * reach, 0.0
    here = theta
    for _ in range(60):
        fixed = theta[j] + side * distance
        level, point = restricted_maximum(surface, here, {j: fixed}, scale)
        root = math.sqrt(max(2.0 * (value - level), 0.0))
        if abs(root - target) < 1e-7 * target:
            return float(fixed)
        if root < target:
            stuck = math.isinf(outside) and root - last_root < 1e-4 and distance * scale[j] > 30.0
            if stuck or distance * scale[j] > 1e9:
                return side * math.inf
            inside, last_root = distance, root
        else:
            outside = distance
        here = point
        slope = -side * float(surface.terms(point, "expected").score[j]) / root if root > 0 else 0.0
        guess = distance + (target - root) / slope if slope > 0 else math.inf
        if math.isinf(outside):
            distance = min(max(guess, 1.02 * distance), 3.0 * distance)
        elif inside < guess < outside:
            distance = guess
        else:
            distance = (inside + outside) / 2
        if math.isfinite(outside) and outside - inside < 1e-10 * outside:
            break
    return float(theta[j] + side * distance)
