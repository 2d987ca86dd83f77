"""How private multivariate Laplace noise is in d dimensions: two integrals over a radius.

Let g(r) be the density of the noise at radius r (λ = 1), ``g(r) ∝ r^{−ν} K_ν(√2 r)``, ν = d/2 − 1: decreasing, and
convex in logarithms. Two truths are a distance c apart. Then ``δ(ε) = P(A) − e^ε Q(A)`` with the region
``A = {g(|y|) > e^ε g(|y − c|)}``. On the sphere of radius r around the first truth, A is a cap,

    cos θ < t(r) = (r² + c² − R²)/(2rc),    g(R) = e^{−ε} g(r),

and on the sphere of radius s around the second truth, ``cos θ < (ϱ² − s² − c²)/(2sc)`` with ``g(ϱ) = e^ε g(s)``.
The share of a sphere in a cap is an incomplete beta function, so P(A) and Q(A) are integrals over one radius. Both
integrands vanish or saturate at known ends: with ``L(a, b) = ln g(a) − ln g(b)``, the cap is the whole sphere for
r < r₁, ``L(r₁, c − r₁) = ε``, and empty for r > r₂, ``L(r₂, r₂ + c) = ε`` (r₂ = ∞ when ε ≤ √2 c).

Distances below c are covered too: y ↦ a·y + noise with zero probability a² turns the pair at distance c into the
pair at distance ac, so δ rises with c.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.laplace.curve import delta_bound, delta_one_dimension

Floats = NDArray[np.float64]

#: Above this dimension the bound for every dimension is used: it is within a few per cent, and always valid.
MAX_DIMENSION = 100
#: Nodes of the two rules whose difference measures the error.
_NODES = (192, 288)
#: Radii beyond which the noise has probability below 1e-20: e^{−√2 r} with room for its polynomial factor.
_TAIL = 48.0
#: Added to every figure: what quadrature with doubles can be wrong by, whatever two rules say.
_MARGIN = 1e-12


@lru_cache(maxsize=4096)
def delta_exact(epsilon: float, ratio: float, dimension: int) -> float:
    """δ(ε) in d dimensions, ``ratio = c``; a little above the integral, never above the bound for every dimension.

    >>> round(delta_exact(1.0, 0.745, 2), 3), round(delta_exact(1.0, 0.581, 6), 3)
    (0.1, 0.1)
    """
    if ratio == 0:
        return 0.0
    if dimension == 1:
        return delta_one_dimension(epsilon, ratio)
    bound = delta_bound(epsilon, ratio)
    if dimension > MAX_DIMENSION:
        return bound
    coarse, fine = (_integrals(epsilon, ratio, dimension, nodes) for nodes in _NODES)
    value = fine + 2 * abs(fine - coarse) + _MARGIN
    return min(bound, max(value, 0.0))


@dataclass(frozen=True)
class RadialLaw:
    """The radius of multivariate Laplace noise with λ = 1."""

    dimension: int

    def log_density(self, radius: Floats) -> Floats:
        """Ln g(r) of the noise itself, at points of this radius."""
        from scipy.special import gammaln, kve

        order = self.dimension / 2 - 1
        x = math.sqrt(2) * radius
        with np.errstate(divide="ignore", over="ignore"):
            bessel = np.log(kve(order, x)) - x
        if order > 0:  # K overflows at tiny radii, where it is a power
            power = gammaln(order) + (order - 1) * math.log(2) - order * np.log(x)
            bessel = np.where(np.isfinite(bessel), bessel, power)
        # 2 (2π)^{−d/2} (r²/2)^{−ν/2} K_ν(√2 r), Kotz, Kozubowski and Podgórski (2001), 5.2.2
        constant = math.log(2) - self.dimension / 2 * math.log(2 * math.pi)
        return np.asarray(constant - order * np.log(radius / math.sqrt(2)) + bessel)

    def log_radius_density(self, radius: Floats) -> Floats:
        """Ln of the density of the radius: the density times the area of the sphere."""
        d = self.dimension
        area = math.log(2) + d / 2 * math.log(math.pi) - math.lgamma(d / 2)
        return np.asarray(self.log_density(radius) + area + (d - 1) * np.log(radius))

    def cap(self, cosine: Floats) -> Floats:
        """Share of a sphere where the cosine to a fixed direction is below this."""
        from scipy.special import betainc

        half = (self.dimension - 1) / 2
        return np.asarray(betainc(half, half, (1 + np.clip(cosine, -1, 1)) / 2))


def _integrals(epsilon: float, c: float, dimension: int, nodes: int) -> float:
    """P(A) − e^ε Q(A)."""
    law = RadialLaw(dimension)
    first = _first_radius(law, epsilon, c)
    last = _last_radius(law, epsilon, c)
    if last <= first:
        return 0.0
    r, weight = _rule(first, last, nodes)
    outer = _solve(law, law.log_density(r) - epsilon, r, r + c)
    inside = np.exp(law.log_radius_density(r)) * law.cap(_cosine(r, outer, c))
    total = float(weight @ inside) + _mass_below(law, first, nodes)
    s, weight = _rule(c - first, last + c, nodes)
    inner = _solve(law, law.log_density(s) + epsilon, np.maximum(np.abs(s - c), s * 1e-12), s)
    reverse = np.exp(epsilon + law.log_radius_density(s)) * law.cap(-_cosine(s, inner, c))
    return total - float(weight @ reverse)


def _cosine(r: Floats, other: Floats, c: float) -> Floats:
    return (r * r + c * c - other * other) / (2 * r * c)


def _first_radius(law: RadialLaw, epsilon: float, c: float) -> float:
    """r₁ in (0, c/2): all points this near to the first truth are in A."""

    def gap(log_r: float) -> float:
        r = np.array([math.exp(log_r), c - math.exp(log_r)])
        near, far = law.log_density(r)
        return float(near - far) - epsilon

    low, high = math.log(c / 2) - 600.0, math.log(c / 2)
    return 0.0 if gap(low) < 0 else math.exp(_bisect(gap, low, high))


def _last_radius(law: RadialLaw, epsilon: float, c: float) -> float:
    """r₂: no point farther from the first truth is in A; cut off where nothing is left."""

    def gap(log_r: float) -> float:
        r = np.array([math.exp(log_r), math.exp(log_r) + c])
        near, far = law.log_density(r)
        return float(near - far) - epsilon

    high = math.log(_TAIL + 4 * math.sqrt(law.dimension) * 6)
    if gap(high) >= 0:
        return math.exp(high)
    low = math.log(c) - 600.0
    return 0.0 if gap(low) < 0 else math.exp(_bisect(gap, low, high))


def _bisect(gap: Callable[[float], float], low: float, high: float) -> float:
    """The zero of a decreasing function."""
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if gap(middle) > 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _solve(law: RadialLaw, target: Floats, low: Floats, high: Floats) -> Floats:
    """Radii whose log density is the target: a decreasing function, by secants in log r kept inside a bracket."""
    a, b = np.log(low), np.log(high)
    fa, fb = law.log_density(np.exp(a)) - target, law.log_density(np.exp(b)) - target
    for step in range(80):
        with np.errstate(divide="ignore", invalid="ignore"):
            guess = a - fa * (b - a) / (fb - fa)
        middle = (a + b) / 2
        # Every third step halves the bracket, which a secant alone may not.
        usable = np.isfinite(guess) & (guess > a) & (guess < b) & (step % 3 != 2)
        x = np.where(usable, guess, middle)
        fx = law.log_density(np.exp(x)) - target
        left = fx > 0
        a, fa = np.where(left, x, a), np.where(left, fx, fa)
        b, fb = np.where(left, b, x), np.where(left, fb, fx)
        # The region is the best one, so an error here counts only by its square.
        done = (b - a < 1e-11) | (np.abs(fx) < 1e-11)
        if done.all():
            return np.exp(x)
    return np.exp((a + b) / 2)


@lru_cache(maxsize=8)
def _legendre(nodes: int) -> tuple[Floats, Floats]:
    x, w = np.polynomial.legendre.leggauss(nodes)
    return x, w


def _rule(low: float, high: float, nodes: int) -> tuple[Floats, Floats]:
    """Gauss–Legendre in φ, radius = low + (high − low)·sin²(φ/2): roots at either end become smooth.

    A long range is cut in pieces that double in length, since the integrand decays like e^{−√2 r}.
    """
    cuts = [low]
    length = min(high - low, 1.0)
    while cuts[-1] + length < high:
        cuts.append(cuts[-1] + length)
        length *= 2
    cuts.append(high)
    x, w = _legendre(nodes)
    phi = (x + 1) * (math.pi / 2)
    radii, weights = [], []
    for a, b in pairwise(cuts):
        radii.append(a + (b - a) * np.sin(phi / 2) ** 2)
        weights.append((b - a) / 2 * np.sin(phi) * w * (math.pi / 2))
    return np.concatenate(radii), np.concatenate(weights)


def _mass_below(law: RadialLaw, radius: float, nodes: int) -> float:
    """P(|noise| < radius)."""
    if radius <= 1e-150:
        return 0.0
    r, weight = _rule(0.0, radius, nodes)
    return float(weight @ np.exp(law.log_radius_density(r)))
