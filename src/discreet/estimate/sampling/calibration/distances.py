"""How calibrated weights depend on the auxiliary numbers: the distance that they keep to the weights they come from.

The weights w that meet the totals ``Σ w_i x_i = t`` and are nearest to the weights d are ``w_i = d_i F(x_i'λ)``, with F
the inverse of the derivative of the distance, F(0) = F'(0) = 1 (Deville and Särndal 1992, cases 1, 2, 6 and 7):

=========  =====================================================================  =========================
method     F(u)                                                                   weights
=========  =====================================================================  =========================
linear     1 + u                                                                  those of the regression
                                                                                  estimator; may be negative
raking     e^u                                                                    positive
logit      (L(U − 1) + U(1 − L)e^{Au})/(U − 1 + (1 − L)e^{Au})                    between L and U times d
           with A = (U − L)/((1 − L)(U − 1))
truncated  1 + u, held to [L, U]                                                  between L and U times d
=========  =====================================================================  =========================
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from discreet.arguments import Floats


class Distance(ABC):
    """One way to stay near the given weights."""

    @abstractmethod
    def ratios(self, u: Floats) -> tuple[Floats, Floats]:
        """F(u), by which a weight is multiplied, and its derivative."""


class Linear(Distance):
    """Squared differences: the generalised regression estimator."""

    def ratios(self, u: Floats) -> tuple[Floats, Floats]:
        """``1 + u``."""
        return 1 + u, np.ones_like(u)


class Raking(Distance):
    """Kullback and Leibler's: iterative proportional fitting where all totals are of categories."""

    def ratios(self, u: Floats) -> tuple[Floats, Floats]:
        """``e^u``."""
        with np.errstate(over="ignore"):
            found = np.exp(u)
        return found, found


@dataclass(frozen=True)
class Logit(Distance):
    """Bounded, and smooth at the bounds."""

    low: float
    high: float

    def ratios(self, u: Floats) -> tuple[Floats, Floats]:
        """A logistic curve from L to U, written so that the exponential does not overflow."""
        low, high = self.low, self.high
        steepness = (high - low) / ((1 - low) * (high - 1))
        # (F − L)/(U − L) is the logistic function of Au + log((1 − L)/(U − 1)).
        at = steepness * u + np.log((1 - low) / (high - 1))
        tail = np.exp(-np.abs(at))
        share = np.where(at < 0, tail, 1.0) / (1 + tail)
        return low + (high - low) * share, steepness * (high - low) * share * (1 - share)


@dataclass(frozen=True)
class Truncated(Distance):
    """Linear, held to the bounds."""

    low: float
    high: float

    def ratios(self, u: Floats) -> tuple[Floats, Floats]:
        """``1 + u`` between the bounds, where it moves."""
        return np.clip(1 + u, self.low, self.high), ((1 + u >= self.low) & (1 + u <= self.high)).astype(float)
