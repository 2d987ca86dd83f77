"""The odds ratio of a corrected two-by-two table."""

from __future__ import annotations

import math

import numpy as np

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.intervals.levels import checked_level, two_sided_quantile

#: Beyond it the end of an interval would not be a number.
_LARGEST_LOG = math.log(np.finfo(float).max)
_SIGNS = np.array([1.0, -1.0, -1.0, 1.0])


def odds_ratio(
    table: Floats, covariance: Floats, level: float, degrees_of_freedom: float = math.inf
) -> tuple[float, float, float]:
    """``f00 f11/(f01 f10)`` with its interval: normal, or of a survey Student's t, on the logarithm.

    The standard error is ``√(g' Cov g)`` with g = (1/f00, −1/f01, −1/f10, 1/f11) and the full covariance of the
    corrected cells, whatever randomised them.
    """
    level = checked_level(level)
    if table.shape != (2, 2):
        raise EstimationError("an odds ratio needs two attributes with two values each")
    cells = table.reshape(-1)
    if cells.min() <= 0:
        raise EstimationError("a corrected cell is not positive: there are too few reports for an odds ratio")
    gradient = _SIGNS / cells
    log_ratio = float(_SIGNS @ np.log(cells))
    half = two_sided_quantile(level, degrees_of_freedom) * math.sqrt(float(gradient @ covariance @ gradient))
    if log_ratio + half > _LARGEST_LOG:
        raise EstimationError("a corrected cell is next to zero: there are too few reports for an odds ratio")
    return math.exp(log_ratio), math.exp(log_ratio - half), math.exp(log_ratio + half)
