"""Error against people published exactly: what every zero probability costs at the same (ε, δ).

The noise of zero inflation leaves a record as it is with probability δ₀, which is paid for out of δ: the more exact
records, the more noise for the others. At δ₀ = δ nothing but the exact records is left: publishing a random share δ as
it is and nothing else is (0, δ)-private, with n times the variance of a mean of Var(x)/δ. This baseline stands beside
the curve. Which point is right is for the steward to say, who answers for the people: both figures are shown.

Noise for numeric vectors: the smallest that keeps (ε, δ), and how often to leave a record as it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from discreet import arguments, limits
from discreet.arguments import Floats
from discreet.design.result import Design, Optimality
from discreet.domains.box import Box
from discreet.errors import DesignError, PrivacyError
from discreet.mechanisms.laplace import ZeroInflatedLaplace
from discreet.mechanisms.laplace.curve import ratio_for_bound
from discreet.mechanisms.laplace.exact import delta_exact

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Losses with a kink, whose correction needs exactly published records.
KINKED = ("check", "median", "hinge", "indicator")
#: Shares of δ that are tried as zero probabilities.
LEAST_SHARE = 0.02
_SHARES = np.linspace(LEAST_SHARE, 0.98, 49)
#: Shares of δ that a table shows.
_SHOWN = (0.0, 0.02, 0.1, 0.26, 0.5, 0.74, 0.9, 0.98)
#: n·Var of what is estimated where a truth is known: of a number spread evenly over its width, and of a sign.
_EVEN, _SIGN = 1 / 12, 1 / 4
#: Cells of the best function on an interval; a variance needs fewer digits than an answer.
_CELLS = 200


@dataclass(frozen=True)
class TradeOff:
    """What each zero probability would cost at the same (ε, δ).

    Attributes
    ----------
    zero_probability, scale, variance : tuple of float
        The chance of being published exactly, noise in units of the width of a coordinate, and the variance of the
        target at n = 1 by the estimator that will be used.
    share : float
        δ: the random share that the baseline publishes exactly, with nothing else.
    share_variance : float
        The variance of the target at n = 1 under the baseline.
    largest : float
        The most exposure that was allowed.
    """

    zero_probability: tuple[float, ...]
    scale: tuple[float, ...]
    variance: tuple[float, ...]
    share: float = 0.0
    share_variance: float = math.inf
    largest: float = 1.0

    def best(self) -> int:
        """The place of the least variance among the exposures that are allowed."""
        allowed = [i for i, one in enumerate(self.zero_probability) if one <= self.largest]
        return min(allowed, key=lambda i: self.variance[i])

    def rows(self, people: int, level: float = 0.95) -> list[dict[str, Any]]:
        """A few points of the curve: noise, margin in widths, and people published exactly; the baseline last."""
        people = arguments.whole(people, "people", DesignError, least=1)
        level = arguments.number(level, "level", DesignError, above=0, below=1)
        z = NormalDist().inv_cdf((1 + level) / 2)
        tried = np.array(self.zero_probability)
        shown = {int(np.abs(tried - share * self.share).argmin()) for share in _SHOWN}
        found = [
            {
                "zero_probability": self.zero_probability[i],
                "noise": self.scale[i],
                "margin": z * math.sqrt(self.variance[i] / people),
                "exposed": people * self.zero_probability[i],
            }
            for i in sorted(shown | {self.best()})
        ]
        margin, exposed = z * math.sqrt(self.share_variance / people), people * self.share
        return [*found, {"zero_probability": self.share, "noise": None, "margin": margin, "exposed": exposed}]

    def summary(self, people: int, level: float = 0.95) -> str:
        """The same as a table for people."""
        lines = [f"{'exact with probability':>22}  {'noise':>8}  {'margin':>8}  {'exact people':>12}   (in widths)"]
        chosen = self.zero_probability[self.best()]
        for row in self.rows(people, level):
            noise = "none" if row["noise"] is None else f"{row['noise']:.3g}"
            mark = "  a random share, nothing else" if row["noise"] is None else ""
            mark = "  chosen" if row["noise"] is not None and row["zero_probability"] == chosen else mark
            lines.append(
                f"{row['zero_probability']:>22.4g}  {noise:>8}  {row['margin']:>8.3g}  {row['exposed']:>12,.0f}{mark}"
            )
        return "\n".join(lines)

    def plot(self, ax: Axes | None = None, *, people: int = 1_000) -> Axes:
        """The margin against the number of people published exactly, with the baseline as a line."""
        from discreet.plots import plot_curves

        people = arguments.whole(people, "people", DesignError, least=1)
        z = NormalDist().inv_cdf(0.975)
        exposed = [people * one for one in self.zero_probability]
        margins = [z * math.sqrt(one / people) for one in self.variance]
        return plot_curves(
            {"noise with exact records": margins},
            exposed,
            ax=ax,
            title=f"95 % margin with {people:,} people, in widths; dashed: a random share published, nothing else",
            across="people published exactly",
            up="margin",
            reference=z * math.sqrt(self.share_variance / people),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "zero_probability": list(self.zero_probability),
            "scale": list(self.scale),
            "variance": list(self.variance),
            "share": self.share,
            "share_variance": self.share_variance,
            "largest": self.largest,
        }


@lru_cache(maxsize=1024)
def target_variance(target: str, scale: float, zero_probability: float) -> float:
    """Variance of one corrected answer by the estimator that uses the box; noise in units of the width of a coordinate.

    * "mean" and the smooth losses: of the mean of a coordinate that is spread evenly over its range, as
      :func:`discreet.estimate.mean` has it. At δ₀ = 0 that is ``1/12 + λ²``.
    * "median", "indicator", "check", "hinge": of the share of numbers below the middle, which decides a median; the
      score of a check or hinge loss is such an indicator times a covariate.
    """
    from discreet.estimate.noisy_numbers.interval import IntervalCorrection, applies
    from discreet.estimate.noisy_numbers.variance import mean_variance

    if target not in KINKED:
        return float(mean_variance(scale, zero_probability))
    if zero_probability == 0:
        return math.inf
    mechanism = ZeroInflatedLaplace(Box(0.0, 1.0), scale, zero_probability)
    if not applies(mechanism):  # noise of less than a hundredth of the width hides nothing from an indicator
        return _SIGN
    return float(IntervalCorrection(mechanism, _CELLS).variance(lambda x: (x <= 0.5).astype(np.float64))[0])


def trade_off(dimension: int, epsilon: float, delta: float, factor: float, target: str, largest: float) -> TradeOff:
    """The curve of a target: zero probabilities, the noise that each leaves, and the variance of the target.

    Parameters
    ----------
    dimension : int
    epsilon, delta : float
    factor : float
        Diameter of the box whose coordinates are scaled to width one, or its side.
    target : str
    largest : float
        The most exposure that is allowed.
    """
    kinked = target in KINKED
    zero = (_SHARES if kinked else np.concatenate([[0.0], _SHARES])) * delta
    inner = (delta - zero) / (1 - zero)
    scale = factor / _ratios(dimension, epsilon, inner)
    variance = [target_variance(target, float(s), float(z)) for s, z in zip(scale, zero, strict=True)]
    share_variance = (_SIGN if kinked else _EVEN) / delta
    return TradeOff(tuple(zero.tolist()), tuple(scale.tolist()), tuple(variance), delta, share_variance, largest)


def _ratios(dimension: int, epsilon: float, inner: Floats) -> Floats:
    """The largest c with δ_c(ε) at most these, to the digits of a picture: the chosen point is calibrated exactly."""
    if dimension == 1:
        return np.asarray((epsilon - 2 * np.log1p(-inner)) / math.sqrt(2))
    top = (epsilon - 2 * math.log1p(-float(inner.max()))) / math.sqrt(2)
    bottom = ratio_for_bound(epsilon, float(inner.min())) * 0.9
    ratios = np.geomspace(bottom, top, 32)
    deltas = np.array([delta_exact(epsilon, float(c), dimension) for c in ratios])
    keep = np.concatenate([[True], np.diff(np.maximum.accumulate(deltas)) > 0])
    return np.asarray(np.interp(inner, deltas[keep], ratios[keep]))


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
