"""Noise for numeric vectors: the smallest that keeps (ε, δ), and how often to leave a record as it is."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

from discreet import arguments, limits
from discreet.design.laplace_trade_off import KINKED, LEAST_SHARE, TradeOff, target_variance, trade_off
from discreet.design.result import Design, Optimality
from discreet.domains.box import Box
from discreet.errors import DesignError, PrivacyError
from discreet.mechanisms.laplace import ZeroInflatedLaplace
from discreet.mechanisms.laplace.curve import ratio_for_bound
from discreet.mechanisms.laplace.exact import delta_exact

Target = Literal["mean", "squared", "logistic", "probit", "poisson", "check", "median", "huber", "hinge", "indicator"]
#: A part of δ that is kept back for the precision to which the exact curve is known; the finished mechanism is checked.
_PRECISION = 2e-11
#: The smallest δ, unless there is none: below, that part is no longer a small one. One dimension needs no δ.
_LEAST_DELTA = 2e-9
#: Above this many diameters of noise, the user is told what the δ costs.
_MANY_DIAMETERS = 20.0


@dataclass(frozen=True)
class LaplaceDesign(Design[ZeroInflatedLaplace]):
    """A design with the curve along which the zero probability was chosen."""

    trade_off: TradeOff | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return super().to_dict() | {"trade_off": None if self.trade_off is None else self.trade_off.to_dict()}


def zero_inflated_laplace(
    box: Box,
    epsilon: float,
    delta: float,
    zero_probability: float | None = None,
    unit: Literal["record", "attribute"] = "record",
    target: Target = "mean",
    *,
    grid: float | None = None,
    exposure: float | None = None,
) -> LaplaceDesign:
    """The least noise that keeps (ε, δ) on a box, each coordinate scaled to its own width.

    Parameters
    ----------
    box : Box
    epsilon, delta : float
        What is promised; δ > 2·10⁻⁹, as the exact curve is known to about 10⁻¹¹ only. In one dimension δ = 0 gives the
        Laplace mechanism, which is ε-private without δ.
    zero_probability : float, optional
        The chance of being published exactly, below δ. By default the best for the target among those that ``exposure``
        allows, by the variance of the estimator that uses the box.
    unit : {"record", "attribute"}
        What is protected.
    target : str
        What will be estimated: "mean" and the other smooth losses, or a loss with a kink ("check", "median", "hinge",
        "indicator"), which cannot be corrected without exactly published records.
    grid : number, optional
        Passed on to the mechanism.
    exposure : float, optional
        The largest zero probability that may be chosen, at most δ; half of δ by default. 0 publishes nobody exactly.

    Returns
    -------
    Design
        ``.trade_off`` shows noise, error and people published exactly for every zero probability that was tried, as a
        table (``.trade_off.summary(people)``) and as a picture (``.trade_off.plot(people=…)``), beside the baseline of
        publishing a random share δ and nothing else.

    Examples
    --------
    >>> design = zero_inflated_laplace(Box([0, 0], [1, 10]), 1.0, 0.1)
    >>> design.mechanism.zero_probability, [round(one, 2) for one in design.mechanism.scale]
    (0.05, [2.21, 22.1])
    >>> round(design.objective, 2), round(zero_inflated_laplace(Box([0, 0], [1, 10]), 1.0, 0.1, 0.0).objective, 2)
    (1.83, 3.69)
    """
    box = arguments.instance(box, Box, "box", DesignError)
    epsilon = arguments.number(epsilon, "epsilon", PrivacyError, least=0, most=limits.EPSILON)
    delta = arguments.number(delta, "delta", PrivacyError, least=0, below=1)
    if zero_probability is not None:
        zero_probability = arguments.number(zero_probability, "zero_probability", PrivacyError, least=0, below=1)
    _check(box, epsilon, delta, zero_probability, unit, target)
    largest = _largest_exposure(exposure, delta, zero_probability, target)
    if grid is not None:
        arguments.floats(grid, "grid", DesignError)
    curve = None
    if delta == 0:
        chosen = 0.0
    elif zero_probability is None:
        curve = trade_off(box.dimension, epsilon, delta, _width_factor(box.dimension, unit), target, largest)
        chosen = curve.zero_probability[curve.best()]
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
        statement += (
            f"; the zero probability is the best up to {largest:.4g} for the stated target, of 49 shares of δ tried"
        )
    return LaplaceDesign(
        mechanism,
        objective,
        Optimality.checked(objective, bound, statement),
        (*_exposure_notes(curve, objective), *_notes(box, epsilon, delta, chosen, unit, mechanism, width)),
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


def _largest_exposure(exposure: Any, delta: float, zero_probability: float | None, target: str) -> float:
    if exposure is None:
        return delta / 2
    largest = arguments.number(exposure, "exposure", DesignError, least=0, most=1)
    if zero_probability is not None:
        raise DesignError(
            "exposure limits the zero probability that is chosen, which is given here: leave out one of them"
        )
    if largest > delta:
        raise PrivacyError(f"exposure ({largest:g}) must be at most delta ({delta:g}), out of which it is paid")
    if target in KINKED and largest < LEAST_SHARE * delta:
        raise DesignError(
            f'the target "{target}" has a kink and needs exactly published records: exposure must be at least '
            f"{LEAST_SHARE * delta:.3g}"
        )
    return largest


def _exposure_notes(curve: TradeOff | None, objective: float) -> list[str]:
    """What the choice means for people, and what the simplest release of all would give."""
    if curve is None:
        return []
    ratio = math.sqrt(curve.share_variance / objective)
    return [
        f"publishing a random share of {curve.share:g} exactly and nothing else would be (0, {curve.share:g})-private, "
        f"with {ratio:.2g} times the error of this release: see trade_off for error and exact people side by side"
    ]


def ratio_for(epsilon: float, delta: float, dimension: int) -> float:
    """The largest c with δ_c(ε) ≤ δ in this dimension, by the exact curve; never above it.

    >>> round(ratio_for(1.0, 0.1, 2), 3), round(ratio_for(1.0, 0.1, 6), 3)
    (0.745, 0.581)
    """
    # In one dimension c = (ε − 2 ln(1 − δ))/√2, and no dimension allows more.
    high = (epsilon - 2 * math.log1p(-delta)) / math.sqrt(2)

    def excess(c: float) -> float:
        return delta_exact(epsilon, c, dimension) - delta

    if dimension == 1:
        return _lowered(high, excess, 1e-15)
    low = ratio_for_bound(epsilon, delta) * (1 - 1e-12)
    if high <= low:
        return _lowered(low, excess, 1e-11)
    from scipy.optimize import brentq

    if excess(high) <= 0:
        return high
    root = float(brentq(excess, low, high, xtol=1e-13 * low, rtol=1e-12)) if excess(low) < 0 else low
    return _lowered(root, excess, 1e-11)


def _lowered(ratio: float, excess: Callable[[float], float], step: float) -> float:
    """A ratio that does not exceed the δ, at or just below this one; each step is twice the last."""
    while step < 1:
        if excess(ratio) <= 0:
            return ratio
        ratio *= 1 - step
        step *= 2
    raise PrivacyError("no scale of the noise was found that meets this ε and δ: raise epsilon or delta")


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
            f"a share of {zero_probability:.4g} of the records is published exactly; exposure = 0 publishes none, with "
            "more error, and then no loss with a kink can be corrected"
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
