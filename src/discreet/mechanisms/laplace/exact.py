"""How private multivariate Laplace noise is in d dimensions: an integral, enclosed between sums.

Let g(r) be the density of the noise at radius r (λ = 1), and two truths a distance c apart. Slicing
``δ(ε) = ∫ (g(|y|) − e^ε g(|y − c|))₊ dy`` by levels of the density, a level that g reaches at radius ρ contributes the
volume of the ball of radius ρ around the first truth less the ball of radius R around the second,
``g(R) = e^{−ε} g(ρ)``. Since ``−g'(ρ) V_d ρ^d`` is the density of the radius of the noise in d + 2 dimensions,

    δ(ε) = E[v(ρ)],   ρ the radius in d + 2 dimensions,   v(ρ) the share of the first ball outside the second.

No difference, no e^ε. With ``t₁ = (ρ² + c² − R²)/(2ρc)``, ``t₂ = (R² + c² − ρ²)/(2Rc)`` and I the incomplete beta
function, ``v = I_{(1+t₁)/2}(b, b) − (R/ρ)^d I_{(1−t₂)/2}(b, b)``, b = (d + 1)/2.

**Why the figure is a bound.** Two facts of :mod:`~discreet.mechanisms.laplace.density` (ln g is convex in r and concave
in ln r) make v, R/ρ and the share a of the first sphere outside the second ball fall with ρ, and R, R² − ρ² and
``m = −r g'/g`` rise. With F the distribution function of ρ, F' its density, and K the share of the second sphere inside
the first ball,

    −dv/dF = d (v − a + J)/(ρF'),   J = (m(ρ)/m(R)) (R/ρ)^d K,

so that between two nodes all parts of the slope lie between values at the nodes (ρF' is concave in logarithms). A
function whose slope stays within a range of width w over a cell of probability p has an integral that differs from the
trapezoid's by at most ``w p²/6``; and, falling, by at most half its drop times p. Cells are halved until these errors
add up to less than a millionth of δ, and they are added to it. Below the first node v counts as 1, beyond the last as
at the last. R is rounded toward more privacy loss. What is left to trust are scipy's K_0, K_1 and I in doubles, for
which ``_ROUNDING`` is added: that allowance is an estimate, not a proof.

Distances below c are covered too: y ↦ a·y + noise with zero probability a² turns the pair at distance c into the
pair at distance ac, so δ rises with c.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Self

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.mechanisms.laplace.curve import delta_bound, delta_one_dimension
from discreet.mechanisms.laplace.density import RadialLaw

__all__ = ["MAX_DIMENSION", "RELATIVE", "RadialLaw", "delta_exact", "enclosure"]


#: Above this dimension the bound for every dimension is used: it is within a few per cent, and always valid.
MAX_DIMENSION = 100
#: Width of the enclosure, relative to δ, at which halving stops; and the smallest that matters beside rounding.
RELATIVE, _ABSOLUTE = 1e-6, 1e-11
#: Added for the rounding errors of F and v in doubles.
_ROUNDING = 1e-12
#: A safety net against a loop without end; what is left of the error is added all the same.
_MAX_NODES = 400_000
#: Radii from which the nodes start; the noise is nearer with probability 1e-500.
_SMALLEST = -600.0


@lru_cache(maxsize=4096)
def delta_exact(epsilon: float, ratio: float, dimension: int) -> float:
    """δ(ε) in d dimensions, ``ratio = c``: the upper end of an enclosure, never above the bound for every dimension.

    >>> round(delta_exact(1.0, 0.745, 2), 3), round(delta_exact(1.0, 0.581, 6), 3)
    (0.1, 0.1)
    """
    return enclosure(epsilon, ratio, dimension)[1]


def enclosure(epsilon: float, ratio: float, dimension: int, *, relative: float = RELATIVE) -> tuple[float, float]:
    """Numbers between which δ(ε) lies.

    Parameters
    ----------
    epsilon, ratio : float
        ε and c.
    dimension : int
    relative : float
        How far apart they may be, relative to δ.

    Examples
    --------
    >>> low, high = enclosure(4.0, 4.0, 6)
    >>> round(low, 5), high - low < 1e-6
    (0.67784, True)
    """
    if ratio == 0:
        return 0.0, 0.0
    if dimension == 1:
        value = delta_one_dimension(epsilon, ratio)
        return math.nextafter(value, 0.0), value
    bound = delta_bound(epsilon, ratio)
    if dimension > MAX_DIMENSION:
        return 0.0, bound
    low, high = _sums(epsilon, ratio, dimension, relative)
    return max(low - _ROUNDING, 0.0), min(bound, high + _ROUNDING)


@dataclass(frozen=True)
class _Nodes:
    """Everything at the nodes, with the letters of the formulas above; ``m_beyond`` is m(R), ``beyond`` 1 − F."""

    rho: Floats
    R: Floats
    v: Floats
    a: Floats
    m: Floats
    m_beyond: Floats
    beyond: Floats
    log_density: Floats
    log_slope: Floats

    @classmethod
    def at(cls, rho: Floats, epsilon: float, c: float, d: int, guess: Floats | None = None) -> Self:
        from scipy.special import betainc

        law = RadialLaw(d)
        R = law.partner(rho, epsilon, guess)
        higher = RadialLaw(d + 2).state(rho)
        half, b = (d - 1) / 2, (d + 1) / 2
        # (1 + t₁)/2 and (1 − t₂)/2 as products, which keep their digits where they are small.
        first = np.clip((rho + c - R) * (rho + c + R) / (4 * rho * c), 0.0, 1.0)
        second = np.clip((rho + c - R) * (rho - c + R) / (4 * R * c), 0.0, 1.0)
        v = betainc(b, b, first) - _times_power(betainc(b, b, second), R / rho, d)
        return cls(
            rho,
            R,
            np.clip(v, 0.0, 1.0),
            betainc(half, half, first),
            law.state(rho).steepness,
            law.state(R).steepness,
            higher.beyond,
            higher.log_edge + math.log(d + 2),  # of ln ρ: ρF'
            d + 2 - higher.steepness,
        )

    def with_new(self, places: NDArray[np.intp], new: Self) -> Self:
        parts = ((getattr(self, one.name), getattr(new, one.name)) for one in fields(self))
        return type(self)(*(np.insert(old, places, fresh) for old, fresh in parts))

    def side(self, cut: slice) -> Self:
        return type(self)(*(getattr(self, one.name)[cut] for one in fields(self)))


def _times_power(share: Floats, ratio: Floats, power: int) -> Floats:
    """``share · ratio^power``, a share again, where the power alone would overflow."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.exp(np.minimum(np.log(share) + power * np.log(ratio), 0.0)))


def _sums(epsilon: float, c: float, d: int, relative: float) -> tuple[float, float]:
    """The trapezoids, less and plus their errors."""
    first, last = _range(RadialLaw(d), epsilon, c)
    if last <= first:
        return 0.0, 0.0
    angle = np.linspace(0, math.pi, 65)
    nodes = _Nodes.at(np.exp(first + (last - first) * np.sin(angle / 2) ** 2), epsilon, c, d)
    while True:
        trapezoids, errors = _cells(nodes, c, d)
        inside, error = float(trapezoids.sum()), float(errors.sum())
        # 1 − P(beyond) loses digits that δ does not have to spare only below _ROUNDING.
        below, above = float(1 - nodes.beyond[0]), float(nodes.v[-1] * nodes.beyond[-1])
        low, high = inside - error + below * float(nodes.v[0]), inside + error + below + above
        allowed = max(relative * high, _ABSOLUTE)
        split = np.flatnonzero(errors > 0.4 * allowed / errors.size)
        if 2 * error <= allowed or split.size == 0 or nodes.rho.size > _MAX_NODES:
            return low, high
        middle = np.sqrt(nodes.rho[split] * nodes.rho[split + 1])
        nodes = nodes.with_new(split + 1, _Nodes.at(middle, epsilon, c, d, nodes.R[split + 1]))


def _cells(nodes: _Nodes, c: float, d: int) -> tuple[Floats, Floats]:
    """Trapezoid and bound on its error for every cell."""
    from scipy.special import betainc

    left, right = nodes.side(slice(None, -1)), nodes.side(slice(1, None))
    probability = left.beyond - right.beyond
    half = (d - 1) / 2

    def inside(big: Floats, far: _Nodes, ratio: _Nodes) -> Floats:
        """(R/ρ)^{d−1} K: a piece of a convex surface within the first sphere, so at most 1."""
        cosine = ((far.R - far.rho) * (far.R + far.rho) + c * c) / (2 * big * c)
        share = betainc(half, half, np.clip((1 - cosine) / 2, 0.0, 1.0))
        return _times_power(share, ratio.R / ratio.rho, d - 1)

    least = inside(left.R, right, right) * right.R / right.rho * left.m / right.m_beyond
    stretch = left.R / left.rho * right.m / left.m_beyond
    most = inside(right.R, left, left) * stretch
    # Where the share underflows, the bound by the area still holds.
    tiny = (1e4 * left.rho < left.R) | (most < 1e-250)
    most = np.where(tiny, stretch, most)
    flat = np.maximum(right.v - left.a + least, 0.0)
    steep = np.maximum(left.v - right.a + most, 0.0) + _ROUNDING
    width = np.log(right.rho / left.rho)
    smallest = np.minimum(left.log_density, right.log_density)
    largest = np.minimum(
        left.log_density + np.maximum(left.log_slope, 0.0) * width,
        right.log_density + np.maximum(-right.log_slope, 0.0) * width,
    )
    drop = np.maximum(left.v - right.v, 0.0)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        slopes = d * (steep * np.exp(-smallest) - flat * np.exp(-largest)) * (1 + 1e-9)
        curved = slopes * probability**2 / 6
    errors = np.fmin(np.where(curved >= 0, curved, np.inf), np.maximum(drop * probability, 0.0) / 2)
    return (left.v + right.v) / 2 * probability, errors


def _range(law: RadialLaw, epsilon: float, c: float) -> tuple[float, float]:
    """Ln of radii between which v falls from 1 to 0; the sums hold for any others too."""

    def apart(log_r: float) -> float:  # positive while the balls do not meet
        return _loss(law, math.exp(log_r), c - math.exp(log_r)) - epsilon

    def outside(log_r: float) -> float:  # positive while the second ball does not contain the first
        return _loss(law, math.exp(log_r), c + math.exp(log_r)) - epsilon

    middle = math.log(c / 2)
    first = _falls_to_zero(apart, min(_SMALLEST, middle - 1), middle)
    farthest = math.log(max(30 + 4 * math.sqrt(law.dimension), 2 * math.exp(first)))
    # A little beyond, where v is 0 also with R rounded down.
    return first, min(_falls_to_zero(outside, first, farthest) + 0.1, farthest)


def _loss(law: RadialLaw, near: float, far: float) -> float:
    one, other = law.log_density(np.array([near, far]))
    return float(one - other)


def _falls_to_zero(gap: Callable[[float], float], low: float, high: float) -> float:
    """Where a falling function crosses zero, or the end of the range that is nearer."""
    if gap(low) <= 0:
        return low
    if gap(high) >= 0:
        return high
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if gap(middle) > 0 else (low, middle)
    return (low + high) / 2
