"""The largest variance of one unbiased number, over all distributions of truths.

With truths x_i, ``E[a | x_i] = x_i`` and second moments s_i, the variance under the distribution w is
``Σ w_i s_i − (Σ w_i x_i)²``. At a given mean the first sum is largest on two points (a linear programme with two
constraints), and between two points it is a concave parabola in the weight.
"""

from __future__ import annotations

import numpy as np

from discreet.mechanisms import UnbiasedResponse


def worst_mean_variance(mechanism: UnbiasedResponse) -> float:
    """The largest variance of the number that one person reports."""
    values = np.asarray(mechanism.values, float)
    channel = mechanism.matrix()
    x, second = channel @ values, channel @ values**2
    step, rise = x[None, :] - x[:, None], second[None, :] - second[:, None]
    # s_i + t·rise − (x_i + t·step)² is largest at t = (rise − 2 x_i step)/(2 step²), within [0, 1].
    slope = rise - 2 * x[:, None] * step
    weight = np.clip(np.divide(slope, 2 * step**2, out=np.zeros_like(step), where=step != 0), 0, 1)
    variance = second[:, None] + weight * rise - (x[:, None] + weight * step) ** 2
    return float(variance.max())
