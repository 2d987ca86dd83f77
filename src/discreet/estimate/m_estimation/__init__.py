"""M-estimation from numeric records that were published with zero-inflated Laplace noise."""

from discreet.estimate.m_estimation import losses
from discreet.estimate.m_estimation.fit import m_estimate
from discreet.estimate.regressions.result import MEstimate

__all__ = ["MEstimate", "losses", "m_estimate"]
