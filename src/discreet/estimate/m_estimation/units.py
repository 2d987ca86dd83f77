"""Outcomes in units of their own spread: a fit must not depend on whether incomes are in euros or in millions.

The losses of y − η that are solved step by step use step sizes and tolerances that suit numbers of about one. The
outcome is therefore divided by a power of two near its spread, which costs no precision and keeps the grid of a noisy
outcome, and the coefficients are multiplied by it again.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from discreet.domains.box import Box
from discreet.estimate.m_estimation.losses import Huber, IndexLoss, Squared
from discreet.estimate.m_estimation.result import MEstimate
from discreet.estimate.m_estimation.sample import Sample
from discreet.mechanisms.laplace import ZeroInflatedLaplace


def unit_of(loss: IndexLoss, sample: Sample) -> float:
    """A power of two near the spread of the outcome (half the range of its middle 68 %); one where that is needless."""
    y = sample.outcome
    if y is None or not loss.location or isinstance(loss, Squared):
        return 1.0
    low, high = np.quantile(y, [0.16, 0.84])
    for spread in (float(high - low) / 2, float(np.std(y)), float(np.max(np.abs(y)))):
        if math.isfinite(spread) and 1e-150 < spread < 1e150:
            return math.ldexp(1.0, round(math.log2(spread)))
    return 1.0


def sample_in(sample: Sample, unit: float) -> Sample:
    """The same sample, its outcome and the noise of the outcome divided by the unit."""
    if unit == 1.0 or sample.outcome is None:
        return sample
    return replace(sample, outcome=sample.outcome / unit, outcome_noise=_noise_in(sample.outcome_noise, unit))


def _noise_in(noise: ZeroInflatedLaplace | None, unit: float) -> ZeroInflatedLaplace | None:
    if noise is None:
        return None
    return ZeroInflatedLaplace(
        Box(noise.box.low[0] / unit, noise.box.high[0] / unit),
        noise.scale[0] / unit,
        noise.zero_probability,
        grid=noise.grid[0] / unit,
    )


def loss_in(loss: IndexLoss, unit: float) -> IndexLoss:
    """The loss of an outcome that was divided by the unit."""
    if isinstance(loss, Huber) and loss.threshold is not None:
        return replace(loss, threshold=loss.threshold / unit)
    return loss


def result_in(result: MEstimate, loss: IndexLoss, unit: float) -> MEstimate:
    """A fit to an outcome, as the fit to the outcome divided by the unit.

    The check loss is homogeneous of degree one, the Huber loss (with its threshold) of degree two.
    """
    if unit == 1.0:
        return result
    degree = 2 if isinstance(loss, Huber) else 1
    return replace(
        result,
        coefficients=result.coefficients / unit,
        covariance=result.covariance / unit**2,
        hessian=result.hessian * unit ** (2 - degree),
        scores=result.scores * unit ** (2 - 2 * degree),
    )
