"""What an adversary can do against multivariate Laplace noise in d dimensions: the whole trade-off curve.

f(α) is the least probability of a miss of any test with probability α of a false alarm. It is the upper envelope of the
lines that δ(ε) draws, for ε of both signs (Dong, Roth and Su 2022, Proposition 6): as the two truths can be exchanged,

    f(α) = sup over ε ≥ 0 of max(0, 1 − δ(ε) − e^ε α, e^{−ε}(1 − δ(ε) − α)).

Every single ε gives a lower bound, also with a δ that is rounded up: what is returned is never above the truth. Put
``δ(−ε) = 1 − e^{−ε}(1 − δ(ε))``; then the line at α is ``1 − δ(ε) − e^ε α`` for both signs, concave in e^ε, and the
best multiple of 1/64 is found by bisection. The best ε of all would add 10⁻⁵ at most. In one dimension the curve is
that of the Laplace mechanism, with μ = √2 c

    f(α) = 1 − e^μ α  below α = e^{−μ}/2,   e^{−μ}/(4α)  up to α = ½,   e^{−μ}(1 − α)  beyond.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from discreet.arguments import Floats
from discreet.mechanisms.laplace.curve import trade_off_bound
from discreet.mechanisms.laplace.exact import MAX_DIMENSION, enclosure

#: Levels are multiples of this: half of it, squared and halved, times at most .3 is what is lost.
_LEVEL = 1 / 64
#: Levels are tried this far above the ε = √2 c of one dimension; beyond, δ is far below a millionth.
_BEYOND = 15.0
#: Precision of δ, relative: a tenth of what the levels cost.
_RELATIVE = 1e-6
#: More than the rounding errors of a few operations on numbers up to one, subtracted; an exponential multiplies that of
#: its argument, at most √2 c + 15, which it is multiplied by.
_ROUNDING = 1e-14


def trade_off_exact(alpha: ArrayLike, ratio: float, dimension: int) -> Floats:
    """f(α) for noise without zero inflation, rounded down; ``ratio`` is c.

    >>> trade_off_exact([0.02, 0.3, 0.9], 1.0, 2).round(4)
    array([0.8508, 0.2004, 0.0121])
    """
    level = np.asarray(alpha, np.float64)
    if ratio == 0:
        return trade_off_bound(level, ratio)
    if dimension == 1:
        found = _one_dimension(level, math.sqrt(2) * ratio)
    elif dimension > MAX_DIMENSION:
        return trade_off_bound(level, ratio)
    else:
        found = np.reshape([_highest_line(float(one), ratio, dimension) for one in level.ravel()], level.shape)
    inside = np.maximum(found - _ROUNDING * (1 + ratio), 0.0)
    if dimension > 1:
        inside = np.maximum(inside, trade_off_bound(level, ratio))
    return np.where(level <= 0, 1.0, np.where(level >= 1, 0.0, inside))


def _highest_line(alpha: float, ratio: float, dimension: int) -> float:
    """The largest 1 − δ(ε) − e^ε α over signed multiples of the step, which rises to it and falls after it."""
    if not 0 < alpha < 1:
        return 0.0
    top = math.ceil((math.sqrt(2) * ratio + _BEYOND) / _LEVEL)
    low, high = -top, min(top, math.ceil(-math.log(alpha) / _LEVEL))  # a steeper line is below 0
    while low < high:
        middle = (low + high) // 2
        rises = _line(middle + 1, alpha, ratio, dimension) > _line(middle, alpha, ratio, dimension)
        low, high = (middle + 1, high) if rises else (low, middle)
    return _line(low, alpha, ratio, dimension)


def _line(step: int, alpha: float, ratio: float, dimension: int) -> float:
    rest, factor = 1 - _delta(abs(step), ratio, dimension), math.exp(abs(step) * _LEVEL)
    return rest - factor * alpha if step >= 0 else (rest - alpha) / factor


@lru_cache(maxsize=8192)
def _delta(step: int, ratio: float, dimension: int) -> float:
    return enclosure(step * _LEVEL, ratio, dimension, relative=_RELATIVE)[1]


def _one_dimension(level: Floats, mu: float) -> Floats:
    alpha = np.clip(level, 1e-300, 1.0)
    start, middle, end = 1 - math.exp(min(mu, 700.0)) * alpha, math.exp(-mu) / (4 * alpha), math.exp(-mu) * (1 - alpha)
    return np.asarray(np.where(2 * alpha < math.exp(-mu), start, np.where(alpha <= 0.5, middle, end)))
