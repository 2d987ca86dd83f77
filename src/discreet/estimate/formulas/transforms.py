"""Transforms that depend on all rows: ``center``, ``scale``, ``poly``, ``bs``, ``cs``.

Each is worked out once, from the distribution of its argument over all rows in which that is not missing, and is then
a fixed function of one row. So every batch of a stream, and every later table, is coded alike.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.formulas.distribution import Distribution
from discreet.estimate.formulas.expression import Call

#: From numbers to one column, or to several.
Fixed = Callable[[Floats], Floats]


def fixed(call: Call, found: Distribution) -> Fixed:
    """The transform of a call, with everything that depends on the rows worked out."""
    if found.values.size < 2 and call.function != "center":
        raise EstimationError(f"{call.text}: the column is constant")
    return _MAKERS[call.function](call, found)


def _center(_call: Call, found: Distribution) -> Fixed:
    """``x − mean``."""
    mean = found.mean
    return lambda x: x - mean


def _scale(_call: Call, found: Distribution) -> Fixed:
    """``(x − mean)/s`` with the standard deviation s (n − 1)."""
    mean, deviation = found.mean, found.deviation
    return lambda x: (x - mean) / deviation


def _poly(call: Call, found: Distribution) -> Fixed:
    """Polynomials that are orthonormal over the rows, by their three-term recurrence, as in R's ``poly``.

    ``P₀ = 1``, ``P_{k+1} = (x − α_k) P_k − β_k P_{k−1}`` with ``α_k = Σ x P_k²/Σ P_k²`` and
    ``β_k = Σ P_k²/Σ P_{k−1}²`` (Forsythe 1957). With ``raw=True`` plain powers.
    """
    degree = int(call.option("degree", 1.0))
    if call.option("raw", False) is True:
        return lambda x: np.stack([x**k for k in range(1, degree + 1)], axis=1)
    if found.values.size <= degree:
        raise EstimationError(f"{call.text}: the degree must be below the number of different values")
    alpha, norms = [], [found.size]
    previous, current = np.zeros(found.values.size), np.ones(found.values.size)
    for k in range(degree):
        alpha.append(float(found.counts @ (found.values * current**2) / norms[k]))
        beta = norms[k] / norms[k - 1] if k else 0.0
        previous, current = current, (found.values - alpha[k]) * current - beta * previous
        norms.append(float(found.counts @ current**2))

    def apply(x: Floats) -> Floats:
        columns: list[Floats] = [np.ones_like(x)]
        for k in range(degree):
            lower = norms[k] / norms[k - 1] * columns[k - 1] if k else 0.0
            columns.append((x - alpha[k]) * columns[k] - lower)
        return np.stack([column / np.sqrt(norm) for column, norm in zip(columns[1:], norms[1:], strict=True)], axis=1)

    return apply


def _bs(call: Call, found: Distribution) -> Fixed:
    """B-splines (de Boor 1978) of a degree (3), with inner knots at quantiles, without the first column."""
    degree = int(call.option("degree", 3.0))
    low, high = float(found.values[0]), float(found.values[-1])
    inner = _inner_knots(call, found, degree)
    knots = np.concatenate([[low] * (degree + 1), inner, [high] * (degree + 1)])

    def apply(x: Floats) -> Floats:
        from scipy.interpolate import BSpline

        out = np.full((x.size, knots.size - degree - 2), np.nan)
        there = ~np.isnan(x)
        if np.any((x[there] < low) | (x[there] > high)):
            raise EstimationError(f"{call.text}: a number lies outside the range for which the spline was made")
        if there.any():
            out[there] = BSpline.design_matrix(x[there], knots, degree).toarray()[:, 1:]
        return out

    return apply


def _cs(call: Call, found: Distribution) -> Fixed:
    """Natural cubic splines: cubic between the knots, linear beyond, each column with mean zero over the rows.

    The truncated-power basis of Hastie, Tibshirani and Friedman (2009, equation 5.4), on x scaled to [0, 1]. Its
    df columns and a constant span all natural splines with df + 1 knots.
    """
    low, high = float(found.values[0]), float(found.values[-1])
    inner = _inner_knots(call, found, 1)
    knots = (np.concatenate([[low], inner, [high]]) - low) / (high - low)

    def basis(x: Floats) -> Floats:
        t = (x - low) / (high - low)
        cubes = np.maximum(t[:, None] - knots, 0.0) ** 3
        slopes = (cubes[:, :-1] - cubes[:, -1:]) / (knots[-1] - knots[:-1])
        return np.column_stack([t, slopes[:, :-1] - slopes[:, -1:]])

    means = found.counts @ basis(found.values) / found.size
    return lambda x: basis(x) - means


def _inner_knots(call: Call, found: Distribution, degree: int) -> Floats:
    """The given knots, or df − degree of them at equally spaced quantiles."""
    given = call.option("knots")
    if given is not None:
        knots = np.array(given, float)
    else:
        count = int(call.option("df")) - degree
        if count < 0:
            raise EstimationError(f"{call.text}: df must be at least {degree}")
        knots = found.quantiles(np.linspace(0, 1, count + 2)[1:-1])
    ends = np.concatenate([[found.values[0]], knots, [found.values[-1]]])
    if np.any(np.diff(ends) <= 0):
        raise EstimationError(
            f"{call.text}: the knots must increase between the smallest and the largest value; with so few "
            "different values use a smaller df"
        )
    return knots


_MAKERS: dict[str, Callable[[Call, Distribution], Fixed]] = {
    "center": _center,
    "scale": _scale,
    "poly": _poly,
    "bs": _bs,
    "cs": _cs,
}
