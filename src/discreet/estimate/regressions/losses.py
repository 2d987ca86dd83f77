"""Losses of a linear index and an outcome: squares, likelihoods, Huber, quantiles, the hinge.

A loss on a linear index ``η = θ'x`` has its value and its curvature, plain and averaged over a Laplace variable
(:mod:`~discreet.estimate.regressions.laplace_smoothing`); its exact correction needs nothing else, since

    ℓ(x1)/δ₀ + (1 − 1/δ₀) E[ℓ(x1 + S)] = ℓ(η₁) − (1 − δ₀) q (K_v ℓ'')(η₁),   q = ‖Λθ‖²/2,  v = δ₀ q,

Λ the scales of the noise (of privatised coordinates only). The right-hand side also has the right limit at δ₀ = 0.
"""

from __future__ import annotations

import math
import numbers
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cache
from typing import ClassVar, Literal, Self

import numpy as np

from discreet.arguments import Floats
from discreet.errors import Argument, EstimationError
from discreet.estimate.regressions.laplace_smoothing import Smoother, laplace_mixture

Terms = tuple[Floats, Floats, Floats]


class IndexLoss(ABC):
    """A loss of a linear index and an outcome."""

    #: How summaries and ``m_estimate`` call it.
    name: ClassVar[str]
    #: Which outcomes it takes.
    outcomes: ClassVar[Literal["number", "binary", "count"]] = "number"
    #: Whether it depends on y − η alone, so that the outcome may be noisy too.
    location: ClassVar[bool] = False
    #: Whether it has a kink: then its correction needs exactly published records.
    kinked: ClassVar[bool] = False
    #: ℓ'' where it is a constant: the correction is then the same for every row.
    constant_curvature: ClassVar[float | None] = None

    @abstractmethod
    def plain(self, eta: Floats, y: Floats) -> Terms:
        """ℓ and its first two derivatives in η."""

    @abstractmethod
    def curvature(self, eta: Floats, y: Floats, v: float) -> Terms:
        """``K_v ℓ''`` and its first two derivatives in η; at v = 0 the curvature itself."""

    def smoothed(self, bandwidth: float) -> Self:  # noqa: ARG002  # smooth losses need no bandwidth
        """The loss with its kink, if any, averaged over a Laplace variable of this scale."""
        return self

    def start(self, y: Floats) -> tuple[Floats, float]:
        """An outcome and a factor such that least squares gives a first guess."""
        return y, 1.0

    def check(self, q: float) -> str | None:  # noqa: ARG002  # most corrections exist everywhere
        """Why the correction does not exist at this amount of noise, or None."""
        return None


@dataclass(frozen=True)
class Squared(IndexLoss):
    """``(y − η)²/2``: linear regression, in closed form."""

    name: ClassVar[str] = "squared"
    location: ClassVar[bool] = True
    constant_curvature: ClassVar[float | None] = 1.0

    def plain(self, eta: Floats, y: Floats) -> Terms:
        """The square and its derivatives."""
        r = y - eta
        return r * r / 2, -r, np.ones_like(r)

    def curvature(self, eta: Floats, y: Floats, v: float) -> Terms:  # noqa: ARG002  # constant
        """One, everywhere."""
        zero = np.zeros_like(eta)
        return zero + 1.0, zero, zero


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


@dataclass(frozen=True)
class Huber(IndexLoss):
    """``r²/2`` for ``|r| ≤ k``, ``k|r| − k²/2`` beyond.

    Parameters
    ----------
    threshold : float, optional
        k, in the units of the outcome. By default 1.345 times the spread (root mean square) of the residuals of
        corrected least squares, which is 95 % efficient for normal errors; the result says which it was.
    """

    threshold: float | None = None
    name: ClassVar[str] = "huber"
    location: ClassVar[bool] = True
    #: The default threshold in residual spreads.
    efficient: ClassVar[float] = 1.345

    def __post_init__(self) -> None:
        k = self.threshold
        if k is None:
            return
        if isinstance(k, bool) or not isinstance(k, numbers.Real) or not (math.isfinite(k) and k > 0):
            raise EstimationError(f"the threshold must be a finite number above 0, not {k!r}")

    @property
    def k(self) -> float:
        """The threshold; one until it has been chosen."""
        return 1.0 if self.threshold is None else float(self.threshold)

    def plain(self, eta: Floats, y: Floats) -> Terms:
        """The loss and its derivatives."""
        r, k = y - eta, self.k
        size = np.abs(r)
        value = np.where(size <= k, r * r / 2, k * size - k * k / 2)
        return value, -np.clip(r, -k, k), (size <= k).astype(float)

    def curvature(self, eta: Floats, y: Floats, v: float) -> Terms:
        """``P(|r + √v L| ≤ k)``."""
        if v <= 0:
            raise EstimationError(
                "the curvature of the Huber loss jumps: it cannot be corrected when no record is published exactly"
            )
        r, k = y - eta, self.k
        _, first, density, _ = laplace_mixture(r + k, (v,))
        _, other, density2, _ = laplace_mixture(r - k, (v,))
        step = (r + k > 0).astype(float) + 0.5 * (r == -k) - (r - k > 0) - 0.5 * (r == k)
        inside = (np.abs(r) <= k).astype(float)
        value = step + first - other
        return value, -(density - density2), (value - inside) / v


@dataclass(frozen=True)
class _Kinked(IndexLoss):
    """τu₊ + (1 − τ)u₋ of ``u = offset − slope·η``, the kink averaged over a Laplace variable."""

    bandwidth: float = 0.0
    kinked: ClassVar[bool] = True

    def _kink(self, eta: Floats, y: Floats) -> tuple[Floats, Floats | float, float]:
        """U, du/dη and τ."""
        raise NotImplementedError

    def smoothed(self, bandwidth: float) -> Self:
        """The same with this scale of smoothing."""
        return replace(self, bandwidth=bandwidth)

    def plain(self, eta: Floats, y: Floats) -> Terms:
        """``ρ(u) + (h/2)e^{−|u|/h}`` and its derivatives."""
        u, du, tau = self._kink(eta, y)
        value = np.where(u >= 0, tau * u, (tau - 1) * u)
        slope = np.where(u > 0, tau, np.where(u < 0, tau - 1, tau - 0.5))
        if self.bandwidth == 0:
            return value, slope * du, np.zeros_like(u)
        extra = laplace_mixture(u, (self.bandwidth**2,))
        return value + extra[0], (slope + extra[1]) * du, extra[2] * du * du

    def curvature(self, eta: Floats, y: Floats, v: float) -> Terms:
        """The density of the Laplace variables at u."""
        u, du, _ = self._kink(eta, y)
        scale = du * du
        variances = tuple(one for one in (v, self.bandwidth**2) if one > 0)
        if not variances:
            raise EstimationError(
                f"the {self.name} loss has a kink: it cannot be corrected when no record is published exactly "
                "(zero probability 0)"
            )
        _, _, density, slope = laplace_mixture(u, variances)
        if len(variances) == 1:
            bend = density / variances[0]
        else:  # K_v f = f + v (K_v f)'', f the density of the bandwidth alone
            bend = (density - laplace_mixture(u, (self.bandwidth**2,))[2]) / v
        return density * scale, slope * scale * du, bend * scale * scale


@dataclass(frozen=True)
class Check(_Kinked):
    """``ρ_τ(y − η)``: quantile regression, the median by default.

    Intervals of slopes at 95 %, six covariates in [−1, 1], n = 10⁴, λ = 1, δ₀ = .2, cover 95.6 % for the median (2,000
    runs), 95.7 % at τ = .25 and .9 (150 runs), and 98 % when the errors grow with a covariate: a little wide, since the
    density at the kink is averaged over a width that suits the average error. In the tails of smaller samples this
    costs more: two covariates, n = 6,000, λ = .8, τ = .9 gave standard errors 11 to 19 % too wide, and 98 % coverage.
    Where the tail is too short for the noise the status says so.

    Parameters
    ----------
    tau : float
        The quantile, strictly between 0 and 1.
    """

    tau: float = 0.5
    name: ClassVar[str] = "check"
    location: ClassVar[bool] = True

    def __init__(self, tau: float = 0.5, bandwidth: float = 0.0) -> None:
        if isinstance(tau, bool) or not isinstance(tau, numbers.Real) or not 0 < float(tau) < 1:
            raise EstimationError(Argument("tau"), f" must be a number strictly between 0 and 1, not {tau!r}")
        object.__setattr__(self, "tau", float(tau))
        object.__setattr__(self, "bandwidth", float(bandwidth))

    def _kink(self, eta: Floats, y: Floats) -> tuple[Floats, Floats | float, float]:
        return y - eta, -1.0, self.tau


@dataclass(frozen=True)
class Hinge(_Kinked):
    """``(1 − mη)₊`` with m = ±1: the linear support vector machine; outcomes 0/1 or −1/1.

    Its 95 % intervals are wide: they cover 98 % (two covariates, n = 10⁴, λ = .8, δ₀ = .2, 150 runs).
    """

    name: ClassVar[str] = "hinge"
    outcomes: ClassVar[Literal["number", "binary", "count"]] = "binary"

    def _kink(self, eta: Floats, y: Floats) -> tuple[Floats, Floats | float, float]:
        sign = 2 * y - 1
        return 1 - sign * eta, -sign, 1.0

    def start(self, y: Floats) -> tuple[Floats, float]:
        """Least squares on −1 and 1."""
        return 2 * y - 1, 1.0
