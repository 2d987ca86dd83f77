"""Smooth losses: squared, logistic, probit and Poisson."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import ClassVar, Literal

import numpy as np

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.m_estimation.losses.index_loss import IndexLoss, Terms
from discreet.estimate.m_estimation.smoothing import Smoother


@dataclass(frozen=True)
class Squared(IndexLoss):
    """``(y − η)²``: linear regression, in closed form."""

    name: ClassVar[str] = "squared"
    location: ClassVar[bool] = True
    constant_curvature: ClassVar[float | None] = 2.0

    def plain(self, eta: Floats, y: Floats) -> Terms:
        """The square and its derivatives."""
        r = y - eta
        return r * r, -2 * r, np.full_like(r, 2.0)

    def curvature(self, eta: Floats, y: Floats, v: float) -> Terms:  # noqa: ARG002  # constant
        """Two, everywhere."""
        zero = np.zeros_like(eta)
        return zero + 2.0, zero, zero


@dataclass(frozen=True)
class Logistic(IndexLoss):
    """``ln(1 + e^η) − yη``: logistic regression."""

    name: ClassVar[str] = "logistic"
    outcomes: ClassVar[Literal["number", "binary", "count"]] = "binary"

    def plain(self, eta: Floats, y: Floats) -> Terms:
        """Negative log-likelihood and its derivatives."""
        e = np.exp(-np.abs(eta))
        p = np.where(eta >= 0, 1.0, e) / (1 + e)
        return np.maximum(eta, 0) + np.log1p(e) - y * eta, p - y, e / (1 + e) ** 2

    def curvature(self, eta: Floats, y: Floats, v: float) -> Terms:  # noqa: ARG002  # free of y
        """The logistic density, averaged."""
        return _logistic_smoother().average(eta, v)

    def start(self, y: Floats) -> tuple[Floats, float]:
        """Near zero the probability is ½ + η/4."""
        return y - 0.5, 4.0


@dataclass(frozen=True)
class Probit(IndexLoss):
    """``−ln Φ((2y − 1)η)``: probit regression."""

    name: ClassVar[str] = "probit"
    outcomes: ClassVar[Literal["number", "binary", "count"]] = "binary"

    def plain(self, eta: Floats, y: Floats) -> Terms:
        """Negative log-likelihood and its derivatives."""
        from scipy.special import log_ndtr

        sign = 2 * y - 1
        s = sign * eta
        log_tail = log_ndtr(s)
        hazard = np.exp(-s * s / 2 - log_tail) / math.sqrt(2 * math.pi)
        return -log_tail, -sign * hazard, hazard * (s + hazard)

    def curvature(self, eta: Floats, y: Floats, v: float) -> Terms:
        """A function of (2y − 1)η, averaged."""
        sign = 2 * y - 1
        value, slope, bend = _probit_smoother().average(sign * eta, v)
        return value, sign * slope, bend

    def start(self, y: Floats) -> tuple[Floats, float]:
        """Near zero the probability is ½ + η/√(2π)."""
        return y - 0.5, math.sqrt(2 * math.pi)


@dataclass(frozen=True)
class Poisson(IndexLoss):
    """``e^η − yη``: Poisson regression. The average over Laplace noise is finite only for v < 1."""

    name: ClassVar[str] = "poisson"
    outcomes: ClassVar[Literal["number", "binary", "count"]] = "count"

    def plain(self, eta: Floats, y: Floats) -> Terms:
        """Negative log-likelihood and its derivatives."""
        e = np.exp(np.minimum(eta, 600.0))
        return e - y * eta, e - y, e

    def curvature(self, eta: Floats, y: Floats, v: float) -> Terms:  # noqa: ARG002  # free of y
        """``e^η/(1 − v)``: the moment generating function of a Laplace variable."""
        if v >= 1:
            raise EstimationError("the corrected Poisson loss does not exist: the noise times the coefficients is √2")
        e = np.exp(np.minimum(eta, 600.0)) / (1 - v)
        return e, e, e

    def start(self, y: Floats) -> tuple[Floats, float]:
        """Logarithms, kept finite."""
        return np.log(np.maximum(y, 0) + 0.5), 1.0

    def check(self, q: float) -> str | None:
        """λ‖θ‖ < √2 for the loss, < 1/√2 for the second moment of its gradient."""
        if q >= 1:
            return "the corrected Poisson loss does not exist here: λ‖θ‖ must be below √2"
        if q >= 0.25:
            return (
                f"λ‖θ‖ = {math.sqrt(2 * q):.3g} is above 1/√2: the gradient has no variance, and the standard errors "
                "mean nothing"
            )
        return None


@cache
def _logistic_smoother() -> Smoother:
    def density(t: Floats) -> Floats:
        e = np.exp(-np.abs(t))
        f = e / (1 + e) ** 2
        odd = -np.sign(t) * (1 - e) / (1 + e)  # f' = f·odd
        # f = (1 − odd²)/4 and odd' = −2f give the higher derivatives.
        return np.stack(
            [f, f * odd, f * (odd**2 - 2 * f), f * odd * (odd**2 - 8 * f), f * (odd**4 - 22 * f * odd**2 + 16 * f * f)]
        )

    return Smoother(density, -40.0, 40.0)


@cache
def _probit_smoother() -> Smoother:
    from scipy.special import log_ndtr

    def curve(s: Floats) -> Floats:
        h = np.exp(-s * s / 2 - log_ndtr(s)) / math.sqrt(2 * math.pi)  # h' = −h(s + h)
        h1 = -h * (s + h)
        f = -h1
        h2 = -(h1 * (s + h) + h * (1 + h1))
        h3 = -(h2 * (s + h) + 2 * h1 * (1 + h1) + h * h2)
        h4 = -(h3 * (s + h) + 3 * h2 * (1 + h1) + 3 * h1 * h2 + h * h3)
        h5 = -(h4 * (s + h) + 4 * h3 * (1 + h1) + 6 * h2 * h2 + 4 * h1 * h3 + h * h4)
        return np.stack([f, -h2, -h3, -h4, -h5])

    return Smoother(curve, -60.0, 40.0)
