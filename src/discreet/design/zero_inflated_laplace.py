"""Noise for numeric vectors: the smallest that keeps (ε, δ), and how often to leave a record as it is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_args

import numpy as np

from discreet import arguments, limits
from discreet.arguments import Floats
from discreet.design.result import Design, Optimality
from discreet.domains.box import Box
from discreet.errors import DesignError, PrivacyError
from discreet.mechanisms.laplace import ZeroInflatedLaplace
from discreet.mechanisms.laplace.curve import ratio_for_bound
from discreet.mechanisms.laplace.exact import delta_exact

Target = Literal["mean", "squared", "logistic", "probit", "poisson", "check", "median", "huber", "hinge", "indicator"]
#: Losses with a kink, whose correction needs exactly published records.
KINKED = ("check", "median", "hinge", "indicator")
#: A part of δ that is kept back for the precision to which the exact curve is known; the finished mechanism is checked.
_PRECISION = 2e-11
#: The smallest δ, unless there is none: below, that part is no longer a small one. One dimension needs no δ.
_LEAST_DELTA = 2e-9
#: Above this many diameters of noise, the user is told what the δ costs.
_MANY_DIAMETERS = 20.0
#: Shares of δ that are tried as zero probabilities for a kinked target.
_SHARES = np.linspace(0.02, 0.98, 49)


@dataclass(frozen=True)
class TradeOff:
    """What each zero probability would cost at the same (ε, δ).

    Attributes
    ----------
    zero_probability, scale, variance : arrays
        Noise in units of the width of a coordinate, and the variance of the target at n = 1.
    """

    zero_probability: tuple[float, ...]
    scale: tuple[float, ...]
    variance: tuple[float, ...]


@dataclass(frozen=True)
class LaplaceDesign(Design[ZeroInflatedLaplace]):
    """A design with the curve along which the zero probability was chosen."""

    trade_off: TradeOff | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        curve = self.trade_off
        shown = (
            None
            if curve is None
            else {
                "zero_probability": list(curve.zero_probability),
                "scale": list(curve.scale),
                "variance": list(curve.variance),
            }
        )
        return super().to_dict() | {"trade_off": shown}


def zero_inflated_laplace(
    box: Box,
    epsilon: float,
    delta: float,
    zero_probability: float | None = None,
    unit: Literal["record", "attribute"] = "record",
    target: Target = "mean",
    *,
    grid: float | None = None,
) -> LaplaceDesign:
    """The least noise that keeps (ε, δ) on a box, each coordinate scaled to its own width.

    Parameters
    ----------
    box : Box
    epsilon, delta : float
        What is promised; δ > 2·10⁻⁹, as the exact curve is known to about 10⁻¹¹ only. In one dimension δ = 0 gives the
        Laplace mechanism, which is ε-private without δ.
    zero_probability : float, optional
        Below δ. By default the best for the target.
    unit : {"record", "attribute"}
        What is protected.
    target : str
        What will be estimated. "mean" and the other smooth losses are served best by 0, plain Laplace noise; for
        losses with a kink ("check", "median", "hinge", "indicator") a value in (0, δ) is searched.
    grid : number, optional
        Passed on to the mechanism.

    Returns
    -------
    Design
        ``.trade_off`` shows noise and variance for every zero probability that was tried.

    Examples
    --------
    >>> design = zero_inflated_laplace(Box([0, 0], [1, 10]), 1.0, 0.1)
    >>> [round(one, 3) for one in design.mechanism.scale], design.mechanism.guarantee.fits(1.0, 0.1)
    ([1.898, 18.981], True)
    """
    box = arguments.instance(box, Box, "box", DesignError)
    epsilon = arguments.number(epsilon, "epsilon", PrivacyError, least=0, most=limits.EPSILON)
    delta = arguments.number(delta, "delta", PrivacyError, least=0, below=1)
    if zero_probability is not None:
        zero_probability = arguments.number(zero_probability, "zero_probability", PrivacyError, least=0, below=1)
    _check(box, epsilon, delta, zero_probability, unit, target)
    if grid is not None:
        arguments.floats(grid, "grid", DesignError)
    curve = None
    if delta == 0:
        chosen = 0.0
    elif zero_probability is None:
        curve = _curve(box.dimension, epsilon, delta, unit, target)
        chosen = curve.zero_probability[int(np.argmin(curve.variance))]
    else:
        chosen = zero_probability
    mechanism, ratio = _calibrated(box, epsilon, delta, chosen, unit, grid)
    width = _width_factor(box.dimension, unit) / ratio
    objective = target_variance(target, width, chosen)
    tightest = ratio_for(epsilon, _inner(delta, chosen), box.dimension)
    bound = target_variance(target, _width_factor(box.dimension, unit) / (tightest * (1 + 1e-9)), chosen)
    statement = (
        "the least noise of this kind and zero probability: δ(ε) falls with the scale, and the exact curve is met"
    )
    if curve is not None and chosen > 0:
        statement += "; the zero probability is the best of 49 shares of δ for the stated target"
    return LaplaceDesign(
        mechanism,
        objective,
        Optimality(objective, min(bound, objective), statement),
        _notes(box, epsilon, delta, chosen, unit, mechanism, width),
        f'Variance at n = 1 of the target "{target}" per coordinate, in units of its width',
        trade_off=curve,
    )


def _check(box: Box, epsilon: float, delta: float, zero_probability: float | None, unit: Any, target: Any) -> None:
    arguments.choice(unit, "unit", ("record", "attribute"), DesignError)
    arguments.choice(target, "target", get_args(Target), DesignError)
    if delta <= _LEAST_DELTA and box.dimension > 1:
        raise PrivacyError(
            f"delta must be above {_LEAST_DELTA:g}, not {delta:g}: in several dimensions Laplace noise has no pure "
            "ε, and its exact curve is known to about 1e-11 only"
        )
    if 0 < delta <= _LEAST_DELTA:
        raise PrivacyError(f"delta must be 0, for Laplace noise without δ, or above {_LEAST_DELTA:g}, not {delta:g}")
    if delta == 0 and not epsilon > 0:
        raise PrivacyError("epsilon must be above 0 where delta is 0")
    if zero_probability and not zero_probability < delta:
        raise PrivacyError(
            f"delta ({delta:g}) must be above zero_probability ({zero_probability:g}): a record that is published "
            "exactly is always a failure of the promise"
        )
    if (zero_probability == 0 or delta == 0) and target in KINKED:
        raise DesignError(
            f'the target "{target}" has a kink and cannot be estimated at zero_probability 0; leave it out to have it '
            "chosen"
        )


def ratio_for(epsilon: float, delta: float, dimension: int) -> float:
    """The largest c with δ_c(ε) ≤ δ in this dimension, by the exact curve; never above it.

    >>> round(ratio_for(1.0, 0.1, 2), 3), round(ratio_for(1.0, 0.1, 6), 3)
    (0.745, 0.581)
    """
    # In one dimension c = (ε − 2 ln(1 − δ))/√2, and no dimension allows more.
    high = (epsilon - 2 * math.log1p(-delta)) / math.sqrt(2)
    if dimension == 1:
        while delta_exact(epsilon, high, 1) > delta:
            high *= 1 - 1e-15
        return high
    low = ratio_for_bound(epsilon, delta) * (1 - 1e-12)
    if high <= low:
        return low
    from scipy.optimize import brentq

    def excess(c: float) -> float:
        return delta_exact(epsilon, c, dimension) - delta

    if excess(high) <= 0:
        return high
    root = float(brentq(excess, low, high, xtol=1e-13 * low, rtol=1e-12)) if excess(low) < 0 else low
    while root > 0 and excess(root) > 0:
        root *= 1 - 1e-11
    return root


def _inner(delta: float, zero_probability: float, precision: float = _PRECISION) -> float:
    """The δ that is left for the noise: ``1 − (1 − δ)/(1 − δ₀)``."""
    return (delta - min(precision, delta) - zero_probability) / (1 - zero_probability) if delta else 0.0


def _width_factor(dimension: int, unit: str) -> float:
    """Diameter of the box whose coordinates are scaled to width one, or its side."""
    return math.sqrt(dimension) if unit == "record" else 1.0


def _calibrated(
    box: Box, epsilon: float, delta: float, zero_probability: float, unit: Any, grid: Any
) -> tuple[ZeroInflatedLaplace, float]:
    precision = _PRECISION
    for attempt in range(8):
        inner = _inner(delta, zero_probability, precision)
        if inner <= 0 < delta:
            break
        # A ratio of floats may come out a last digit too large, which matters where δ is 0.
        ratio = ratio_for(epsilon, inner, box.dimension) * (1 - attempt * 1e-15)
        scale = [width * _width_factor(box.dimension, unit) / ratio for width in box.widths]
        mechanism = ZeroInflatedLaplace(box, scale, zero_probability, epsilon, grid, unit)
        # Never less private than asked: the finished mechanism is checked, and given more noise when it fails.
        if mechanism.guarantee.fits(epsilon, delta):
            return mechanism, ratio
        precision *= 2
    raise PrivacyError(f"delta ({delta:g}) leaves nothing for the noise beside zero_probability ({zero_probability:g})")


def target_variance(target: str, scale: float, zero_probability: float) -> float:
    """Variance of one corrected evaluation of the target; noise and truth in units of the width of a coordinate.

    * Smooth targets: the mean of a coordinate that is uniform on its range, ``1/12 + (1 − δ₀)λ²``.
    * "median", "indicator": the corrected sign ``½ sgn(r)(1 + (1/δ₀ − 1) e^{−|r|/b})`` of ``r = x1 − m``, m the
      middle, ``b = √(δ₀/2) λ``.
    * "check", "hinge": the corrected gradient of a regression with slope one on one coordinate, residuals normal
      with a standard deviation of half its width.
    """
    if target not in KINKED:
        return 1 / 12 + (1 - zero_probability) * scale * scale
    if zero_probability == 0:
        return math.inf
    b, weight = math.sqrt(zero_probability / 2) * scale, 1 / zero_probability - 1
    x, residual, laplace = _points()

    def square(noise: Floats | float) -> float:
        r = x + noise if target in ("median", "indicator") else residual - noise
        kernel = weight * np.exp(-np.abs(r) / b)
        score = np.sign(r) / 2 * (1 + kernel)
        if target in ("check", "hinge"):
            score = -(x + noise) * score - kernel / 2 * (1 + np.abs(r) / b) * b
        return float(np.mean(score * score))

    noisy = square(laplace * scale / math.sqrt(2))
    return zero_probability * square(0.0) + (1 - zero_probability) * noisy


@cache
def _points() -> tuple[Floats, Floats, Floats]:
    """Evenly spread points for truth, residual and noise: a Kronecker sequence with the plastic ratio's powers."""
    from scipy.special import ndtri

    plastic = 1.2207440846057596  # the root of x⁴ = x + 1, which spreads three-dimensional points evenly
    count = np.arange(1, 40_001)
    u = [(0.5 + count * plastic**-k) % 1.0 for k in (1, 2, 3)]
    tail = 2 * np.minimum(u[2], 1 - u[2])
    noise = -np.sign(u[2] - 0.5) * np.log(tail)
    return np.asarray(u[0] - 0.5, float), np.asarray(ndtri(u[1]) / 2, float), np.asarray(noise, float)


def _curve(dimension: int, epsilon: float, delta: float, unit: str, target: str) -> TradeOff:
    shares = np.concatenate([[0.0], _SHARES]) if target not in KINKED else _SHARES
    zero = shares * delta
    inner = np.array([_inner(delta, one) for one in zero])
    # δ_c(ε) at a grid of c, inverted by interpolation: the chosen point is calibrated exactly afterwards.
    top = (epsilon - 2 * math.log1p(-delta)) / math.sqrt(2)
    bottom = ratio_for_bound(epsilon, float(inner.min())) * 0.9
    ratios = np.geomspace(bottom, top, 32)
    deltas = np.array([delta_exact(epsilon, float(c), dimension) for c in ratios])
    keep = np.concatenate([[True], np.diff(np.maximum.accumulate(deltas)) > 0])
    found = np.interp(inner, deltas[keep], ratios[keep])
    scale = _width_factor(dimension, unit) / found
    variance = [target_variance(target, float(s), float(z)) for s, z in zip(scale, zero, strict=True)]
    return TradeOff(tuple(zero.tolist()), tuple(scale.tolist()), tuple(variance))


def _notes(
    box: Box, epsilon: float, delta: float, zero_probability: float, unit: str, mechanism: Any, width: float
) -> tuple[str, ...]:
    diameters = width / _width_factor(box.dimension, unit)
    notes = [
        f"the noise of every coordinate has a standard deviation of {width:.4g} times its width "
        f"({diameters:.4g} diameters of the scaled box)"
    ]
    if zero_probability > 0:
        notes.append(
            f"a share of {zero_probability:.4g} of the records is published exactly; estimates of smooth quantities "
            "would be better with zero_probability=0"
        )
    else:
        notes.append(
            "no record is published exactly; losses with a kink (check, hinge) cannot be corrected without "
            "exactly published records"
        )
    bound = ratio_for_bound(epsilon, _inner(delta, zero_probability))
    if box.dimension > 1:
        spared = 1 - bound * diameters
        notes.append(
            f"the exact curve of {box.dimension} dimensions spares {spared:.1%} of the noise that the bound asks for"
        )
    if diameters > _MANY_DIAMETERS:
        people = (diameters / 0.05) ** 2
        notes.append(
            f"a δ this small is expensive: to know a mean to a twentieth of the diameter takes about {people:,.0f} "
            f"people; at δ = 0.1 the noise would be {1 / ratio_for_bound(epsilon, 0.1):.3g} diameters"
        )
    if mechanism.record_guarantee.delta > 0.5:
        notes.append("δ above one half is hardly a promise")
    return tuple(notes)
