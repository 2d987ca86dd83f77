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

Newton's method for the multipliers λ of calibrated weights ``w_i = d_i F(x_i'λ)`` with ``Σ w_i x_i = t``.

The left side is the gradient of a convex function of λ, its derivative ``H(λ) = Σ d_i F'(x_i'λ) x_i x_i'``. Totals of
several columns are tied to each other (each adds up to the number of people), so that H is singular; the
pseudo-inverse goes where it can, and whether the totals are met in the end is looked at.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.sampling.calibration.margins import CalibrationSample


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


#: Totals are met to this share of what adds up to them.
_MET = 1e-9
#: Steps, and halvings of one step.
_STEPS, _HALVINGS = 60, 30
#: Directions in which the auxiliary numbers vary less than this, each scaled to one, do not count.
_RANK = 1e-11


@dataclass(frozen=True, eq=False)
class Solution:
    """Multipliers that meet the totals.

    Attributes
    ----------
    multipliers : array
        λ.
    inverse : array
        The pseudo-inverse of H at λ.
    ratios : array (cells,)
        F.
    steps : int
    """

    multipliers: Floats
    inverse: Floats
    ratios: Floats
    steps: int


def solve(sample: CalibrationSample, distance: Distance, start: Floats | None = None) -> Solution:
    """The multipliers; an error where no weights of this kind meet the totals."""
    totals = sample.margins.totals
    scale = _scale(sample, totals)
    at = np.zeros(totals.size) if start is None else start
    found, ratios, H = _evaluated(sample, distance, at)
    for step in range(_STEPS):
        missing = totals - found
        if np.all(np.abs(missing) <= _MET * scale):
            return Solution(at, pseudo_inverse(H), ratios, step)
        direction = pseudo_inverse(H) @ missing
        length, here = 1.0, float(np.max(np.abs(missing) / scale))
        for _ in range(_HALVINGS):
            tried = at + length * direction
            found, ratios, H = _evaluated(sample, distance, tried)
            off = float(np.max(np.abs(totals - found) / scale)) if np.isfinite(H).all() else np.inf
            if off < here:
                break
            length /= 2
        else:
            break  # no step brings the totals nearer
        at = tried
    raise EstimationError(_not_met(sample, distance, totals, scale))


def _evaluated(sample: CalibrationSample, distance: Distance, multipliers: Floats) -> tuple[Floats, Floats, Floats]:
    """``Σ w x``, F of every cell, and H."""
    size = multipliers.size
    found, H, ratios = np.zeros(size), np.zeros((size, size)), np.empty(len(sample.coded))
    with np.errstate(over="ignore", invalid="ignore"):
        for part, x in sample.chunks():
            F, slope = distance.ratios(x @ multipliers)
            ratios[part] = F
            found += (sample.weights[part] * F) @ x
            H += (x.T * (sample.weights[part] * slope)) @ x
    return found, ratios, H


def pseudo_inverse(H: Floats) -> Floats:
    """Of a symmetric matrix, every row and column first scaled to one."""
    size = np.sqrt(np.diag(H))
    size = np.where(size > 0, size, 1.0)
    values, vectors = np.linalg.eigh(H / np.outer(size, size))
    kept = values > _RANK * max(float(values[-1]), 0.0)
    return np.asarray((vectors[:, kept] / values[kept]) @ vectors[:, kept].T / np.outer(size, size))


def _scale(sample: CalibrationSample, totals: Floats) -> Floats:
    """What adds up to each total, whatever its signs."""
    sizes = sum((sample.weights[part] @ np.abs(x) for part, x in sample.chunks()), np.zeros(totals.size))
    return np.maximum(np.maximum(np.abs(totals), sizes), np.finfo(float).tiny)


def _not_met(sample: CalibrationSample, distance: Distance, totals: Floats, scale: Floats) -> str:
    """What to say, with the total that the given weights are farthest from."""
    worst = int(np.argmax(np.abs(totals - sample.totals(sample.weights)) / scale))
    label = sample.margins.labels[worst]
    if isinstance(distance, (Logit, Truncated)):
        return (
            f"no weights between {distance.low:g} and {distance.high:g} times the given ones meet these totals (the "
            f'farthest is "{label}"): widen the bounds, or put categories together'
        )
    return (
        f'no positive weights meet these totals together (the farthest is "{label}"): the combinations of categories, '
        "or the range of the numbers, that they need are not in the sample; put categories together, or leave one out"
    )
