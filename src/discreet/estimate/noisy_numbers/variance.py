"""What the box can be expected to reach: variances of single answers, for those who design a release."""

from __future__ import annotations

from functools import lru_cache

from discreet.domains.box import Box
from discreet.estimate.noisy_numbers.interval import IntervalCorrection, applies
from discreet.mechanisms.laplace import ZeroInflatedLaplace

#: Cells: a variance needs fewer digits than an answer.
_CELLS = 200


@lru_cache(maxsize=256)
def mean_variance(scale: float, zero_probability: float) -> float:
    """N times the large-sample variance of ``estimate.mean`` of one coordinate, spread evenly over its range.

    Parameters
    ----------
    scale : float
        λ of the coordinate over the width of its range.
    zero_probability : float
        δ₀; at 0 the reports are averaged as they are, ``1/12 + λ²``.

    Returns
    -------
    float
        In units of the squared width. Never above ``1/12 + (1 − δ₀)λ²``, the variance of the reports.

    Examples
    --------
    >>> round(mean_variance(1.0, 0.0), 4), round(mean_variance(1.0, 0.1), 4)
    (1.0833, 0.524)
    """
    plain = 1 / 12 + (1 - zero_probability) * scale**2
    if zero_probability == 0:
        return plain
    mechanism = ZeroInflatedLaplace(Box(0.0, 1.0), scale, zero_probability)
    if not applies(mechanism):
        return plain
    return float(IntervalCorrection(mechanism, _CELLS).variance(lambda x: x)[0])
