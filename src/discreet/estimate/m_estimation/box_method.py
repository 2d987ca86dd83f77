"""An experiment: corrected functions that also use that the truth lies in the box, in one dimension.

The exact correction is unbiased for *every* real x. When x is known to lie in [low, high] there are many unbiased
functions; among those ``g`` with ``E[g(x + Z)] = f(x)`` on the box, the one that is best for x spread evenly over it
has the form ``g(t) = E[a(X) p(t|X)]/p(t)``, p the law of the report under the even spread (Gauss–Markov: g is in the
span of the conditional laws, weighted by their variance). With a share δ₀ of exact reports the report law has an
atom at the truth, and a solves a Fredholm equation of the second kind, which the atom keeps well posed.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.mechanisms.laplace import ZeroInflatedLaplace

#: Points of the box at which the equation is solved.
_POINTS = 800


def box_corrected(f: Callable[[Floats], Floats], mechanism: ZeroInflatedLaplace, reports: Floats) -> Floats:
    """Corrected values of reports; outside the box the function falls off like the noise.

    On the box, ``g(x) = a(x)·δ₀/w(x) + h(x)`` and outside it ``g = h``, where ``w = δ₀ u + (1 − δ₀) (k∗u)``
    is the density of the reports under the even spread u, k the Laplace density, and ``h = (1 − δ₀)(k∗(a u))/w``.
    Unbiasedness at every point of the box is the equation that a solves.
    """
    if mechanism.dimension != 1:
        raise EstimationError('the method "box" is for one coordinate')
    zero = mechanism.zero_probability
    if zero == 0:
        raise EstimationError('the method "box" needs a zero probability above 0')
    low, high = mechanism.box.low[0], mechanism.box.high[0]
    scale = float(mechanism.noise_scale[0]) / math.sqrt(2)
    step = (high - low) / _POINTS
    x = np.asarray(low + (np.arange(_POINTS) + 0.5) * step, float)
    cell = -math.expm1(-step / (2 * scale)) * 2 / (2 * scale) * scale  # the kernel's mass over its own cell
    kernel = np.exp(-np.abs(x[:, None] - x) / scale) * (math.sinh(step / (2 * scale)) * 2 * scale / step)
    kernel *= step / (2 * scale)
    np.fill_diagonal(kernel, cell)
    # Reports: a cell of the box, or beyond either end, where only the distance to the end counts.
    beyond = np.stack([np.exp(-(x - low) / scale), np.exp(-(high - x) / scale)]) / 2
    law = np.concatenate([zero * np.eye(_POINTS) + (1 - zero) * kernel, (1 - zero) * beyond])  # report × truth
    weight = law.mean(axis=1)
    matrix = law.T @ (law / weight[:, None])
    values = f(np.asarray(x.reshape(-1, 1), float))
    answer = (law / weight[:, None]) @ np.linalg.solve(matrix, values)
    t = reports[:, 0]
    inside = np.clip(((t - low) / step).astype(np.intp), 0, _POINTS - 1)
    place = np.where(t < low, _POINTS, np.where(t > high, _POINTS + 1, inside))
    return np.asarray(answer[place])
