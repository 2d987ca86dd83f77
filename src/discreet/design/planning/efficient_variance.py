"""The variance of the maximum-likelihood estimate of a frequency: the inverse information of the reports.

One answer through a channel Q has a share ``p = Qᵀf`` for each report. The inverse Fisher information about f on the
simplex has the diagonal

    V_t(f) = min { Σ_y p_y C_y² − f_t² : C unbiased for f_t },

the smallest variance of any linear correction, reached by ``C = (Q D⁻¹ Qᵀ)⁻¹ Q D⁻¹`` with D = diag(p). As a smallest of
concave functions of f it is concave, so its worst case over the simplex is a concave programme, and the slope at any f
bounds what is missed: ``max V_t ≤ V_t(f) + max_x g_x − g·f`` with ``g_x = Σ_y Q[x, y] C_y² − 2 f_t 1{x = t}``.
"""

from __future__ import annotations

import numpy as np

from discreet.arguments import Floats
from discreet.errors import DesignError
from discreet.mechanisms import FiniteMechanism

#: Values up to which the worst case is searched: one programme for each of them.
MAX_WORST_CASE = 30
#: The worst case is known this exactly, or refused.
_WORST_CASE_GAP = 1e-3


def efficient_variance(mechanism: FiniteMechanism, frequencies: Floats) -> float:
    """The largest V_t(f) over the values t, for one answer."""
    return float(_variances(mechanism, frequencies)[1].max())


def _variances(mechanism: FiniteMechanism, f: Floats) -> tuple[Floats, Floats]:
    """The efficient corrections, one row per value, and V_t(f)."""
    from discreet.estimate.channels.channel import Channels

    shares = f @ mechanism.matrix()
    correction = Channels.of(mechanism).efficient(f, shares)
    return correction.as_matrix(), correction.variances(shares)


def worst_efficient_variance(mechanism: FiniteMechanism) -> float:
    """The largest V_t(f) over values and distributions, from above."""
    size = mechanism.shape[0]
    if size > MAX_WORST_CASE:
        raise DesignError(
            f"the worst case of maximum likelihood is limited to {MAX_WORST_CASE} values, not {size:,}; state the "
            'prevalence, or use method="unbiased"'
        )
    return max(_worst_of_value(mechanism, t) for t in range(size))


def _worst_of_value(mechanism: FiniteMechanism, t: int) -> float:
    from scipy.optimize import LinearConstraint, minimize

    channel = mechanism.matrix()
    size = channel.shape[0]

    def value_and_slope(f: Floats) -> tuple[float, Floats]:
        inside = np.maximum(f, 1e-9)  # the search may step out by a rounding error
        inside = inside / inside.sum()
        corrections, variances = _variances(mechanism, inside)
        slope = channel @ corrections[t] ** 2
        slope[t] -= 2 * inside[t]
        return -float(variances[t]), -slope

    found = minimize(
        value_and_slope,
        np.full(size, 1 / size),
        jac=True,
        bounds=[(0, 1)] * size,
        constraints=LinearConstraint(np.ones((1, size)), 1.0, 1.0),
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 300},
    )
    f = np.maximum(found.x, 0) / np.maximum(found.x, 0).sum()
    negative, slope = value_and_slope(f)
    gap = float((-slope).max() + slope @ f)
    if gap > _WORST_CASE_GAP * -negative:
        raise DesignError('the worst case could not be found; state the prevalence, or use method="unbiased"')
    return -negative + max(gap, 0.0)


def likelihood_ratio_margin(mechanism: FiniteMechanism, frequencies: Floats, n: float, quantile: float) -> float | None:
    """Half the width of the widest likelihood-ratio interval when the reports are exactly as expected.

    None where such intervals are not given.
    """
    from discreet.estimate.channels.channel import Channels
    from discreet.estimate.channels.likelihood_intervals import MAX_RESTRICTED, likelihood_ratio

    channels = Channels.of(mechanism)
    if channels.truths > MAX_RESTRICTED:
        return None
    shares = frequencies @ mechanism.matrix()
    profile = channels.profile(n * shares)
    errors = np.sqrt(_variances(mechanism, frequencies)[1] / n)
    ends = [
        likelihood_ratio(profile, t, float(frequencies[t]), float(errors[t]), quantile) for t in range(channels.truths)
    ]
    return max(high - low for low, high in ends) / 2
