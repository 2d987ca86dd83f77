"""The radius of multivariate Laplace noise: its law in every dimension from two Bessel functions, without overflow.

The noise ``√W·N(0, I_d)`` has the density ``g(r) ∝ r^{−ν} K_ν(z)``, ν = d/2 − 1, z = √2 r, at radius r. Let
``T_d = V_d r^d g(r)`` be the volume of the ball times the density at its edge, and
``m_d = −r g'(r)/g(r) = z K_{ν+1}/K_ν``. As ``g_d'(r) = −2πr g_{d+2}(r)`` and ``K_{ν+1} = K_{ν−1} + (2ν/z) K_ν``,

    T_{d+2} = T_d m_d/(d + 2),    m_{d+2} = d + z²/m_d,    P(radius_{d+2} > r) = P(radius_d > r) + T_d,

from d = 1 (``T = z e^{−z}``, ``m = z``, ``P = e^{−z}``) or d = 2 (``T = (z²/2) K_0``, ``m = z K_1/K_0``,
``P = z K_1``).
Every step adds or multiplies positive numbers, so that rounding errors stay relative ones of d units or so.

Two facts that bounds rely on:

* ln g is *convex* in r, since ``z^{−ν} K_ν(z) ∝ ∫_1^∞ e^{−zt} (t² − 1)^{ν−½} dt`` mixes exponentials;
* ln g is *concave* in ln r, and so m rises with r: ``K_ν(e^x) = ½ ∫ exp(−e^x cosh s + νs) ds`` has an integrand whose
  logarithm is concave in (x, s), and integrating over s keeps that (Prékopa).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from discreet.arguments import Floats

#: Relative error of one step in doubles, with the errors of K_0, K_1 and the logarithms, and much more.
_ULPS = 16 * 2.0**-53


class RadialState(NamedTuple):
    """What the recurrence yields at some radii."""

    log_edge: Floats
    """ln T_d."""
    steepness: Floats
    """m_d."""
    beyond: Floats
    """P(radius_d > r)."""


@dataclass(frozen=True)
class RadialLaw:
    """The radius of multivariate Laplace noise with λ = 1."""

    dimension: int

    def state(self, radius: Floats) -> RadialState:
        """The recurrence from one or two dimensions up."""
        from scipy.special import k0e, k1e

        z = math.sqrt(2) * radius
        if self.dimension % 2:
            k, log_edge, m, beyond = 1, np.log(z) - z, z, np.exp(-z)
        else:
            k0, k1 = k0e(z), k1e(z)
            k, log_edge, m, beyond = 2, 2 * np.log(z) - math.log(2) + np.log(k0) - z, z * k1 / k0, z * k1 * np.exp(-z)
        square = z * z
        # A product of 16 steps neither overflows nor underflows, and one logarithm is cheaper than 16.
        while k < self.dimension:
            edge, product, tail = np.exp(log_edge), np.ones_like(z), np.zeros_like(z)
            stop = min(k + 32, self.dimension)
            while k < stop:
                tail = tail + product
                product = product * (m / (k + 2))
                m = k + square / m
                k += 2
            beyond = beyond + edge * tail
            log_edge = log_edge + np.log(product)
        return RadialState(log_edge, m, beyond)

    @property
    def _log_ball(self) -> float:
        return self.dimension / 2 * math.log(math.pi) - math.lgamma(self.dimension / 2 + 1)

    def log_density(self, radius: Floats) -> Floats:
        """Ln g(r) of the noise itself, at points of this radius."""
        return np.asarray(self.state(radius).log_edge - self.dimension * np.log(radius) - self._log_ball)

    def log_radius_density(self, radius: Floats) -> Floats:
        """Ln of the density of the radius: the density times the area of the sphere."""
        return np.asarray(self.state(radius).log_edge + math.log(self.dimension) - np.log(radius))

    def partner(self, radius: Floats, epsilon: float, guess: Floats | None = None) -> Floats:
        """R at or just below the radius with ``g(R) = e^{−ε} g(radius)``, whatever the rounding.

        Newton's steps in ln R come from the right (concave); no R is above ``r + ε/√2``, as ln g falls by √2 at least.
        One step in R then ends on the left (convex). The level is raised by the rounding error first.
        """
        d = self.dimension
        log_r = np.log(radius)
        edge = self.state(radius).log_edge
        level = edge - d * log_r - epsilon
        top = np.log(radius + epsilon / math.sqrt(2))
        x = top if guess is None else np.minimum(np.log(guess), top)
        gap, m = self._gap(x, level)
        for _ in range(400):
            moved = np.clip(x + gap / m, log_r, top)
            near = bool(np.all(np.abs(x - moved) < 1e-8))
            x = moved
            gap, m = self._gap(x, level)
            if near:
                break
        slack = _ULPS * (d + np.abs(edge) + np.abs(level) + 2 * d * (np.abs(log_r) + np.abs(x)) + epsilon)
        root = np.exp(x) * (1 + (gap - slack) / m - _ULPS)
        return np.asarray(np.maximum(root, radius))

    def _gap(self, log_radius: Floats, level: Floats) -> tuple[Floats, Floats]:
        log_edge, m, _ = self.state(np.exp(log_radius))
        return log_edge - self.dimension * log_radius - level, m
