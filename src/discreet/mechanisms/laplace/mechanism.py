"""Zero-inflated Laplace: a numeric vector is published as it is with a small probability, else with noise.

Numbers given to a mechanism for vectors: one per coordinate, and the public grid of powers of two.

What a report inside the box says: how likely it is the truth itself.

Noise throws most reports out of the box, so those inside are suspicious, whatever the grid. Let truths be spread evenly
over the box, a coordinate of width w and grid g. Given ``σ = λ√W`` the report of a noisy record stays in the box (with
half a step on either side, B = w + g) with probability ``Π p(B/σ)``, ``p(b) = E(1 − |N|/b)₊``, and is rounded back to
the truth with probability ``Π P(|N| < g/2σ)``. Averaged over W these are I and R, and by Bayes' rule

    P(report = truth | report in the box) = (δ₀ + (1 − δ₀)R)/(δ₀ + (1 − δ₀)I).

Nothing private enters: it is a fact about the mechanism and an even spread of truths.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike

from discreet import arguments, limits
from discreet.arguments import Floats
from discreet.domains.box import Box
from discreet.errors import ManifestError, MechanismError
from discreet.mechanisms.base import RecordMechanism
from discreet.mechanisms.laplace.curve import delta_bound, trade_off_bound, with_zero_inflation
from discreet.mechanisms.laplace.exact import delta_exact
from discreet.mechanisms.laplace.sampler import Sampling, earlier_slack, noisy_steps
from discreet.mechanisms.laplace.trade_off import trade_off_exact
from discreet.privacy import Guarantee
from discreet.privacy.bounds import exp_bounds, round_down, round_up
from discreet.randomness import Randomness, Thresholds, resolve
from discreet.randomness.continuous import exponential, normal
from discreet.randomness.scratch import Scratch

#: The default grid is this much finer than the noise, and than the box.
_FINER_BITS = 12
_FINER_BITS_OF_BOX = 8
#: The finest grid: beyond it many numbers would have to be rounded from their bits.
_FINEST_BITS = 20
#: Bits between the largest number of a box and its grid: whole steps must be exact in floating point, also with noise.
_MAX_MAGNITUDE_BITS = 48


def per_coordinate(value: Any, dimension: int, name: str) -> tuple[float, ...]:
    """One number for all coordinates, or one for each."""
    given = arguments.floats(value, name, MechanismError)
    if given.ndim == 0:
        return (arguments.number(value, name, MechanismError, above=0),) * dimension
    if given.shape != (dimension,) or not np.all(given > 0):
        raise MechanismError(f"{name} must be above 0: one number for all, or one number per coordinate ({dimension})")
    return tuple(given.tolist())


def public_grid(given: Any, box: Box, scales: tuple[float, ...]) -> tuple[float, ...]:
    """Powers of two, checked against the noise and the size of the numbers."""
    if given is None:
        steps = tuple(
            _default_step(one, high - low, max(abs(low), abs(high)))
            for one, low, high in zip(scales, box.low, box.high, strict=True)
        )
    else:
        steps = per_coordinate(given, box.dimension, "grid")
    for j, (step, one) in enumerate(zip(steps, scales, strict=True)):
        if math.frexp(step)[0] != 0.5:
            raise MechanismError(f"the grid of coordinate {j} must be a power of two, such as 0.25 or 8, not {step}")
        if step > one:
            raise MechanismError(f"the grid of coordinate {j} must not be coarser than its noise ({one:g}), not {step}")
        if step < one * 2.0**-_FINEST_BITS:
            raise MechanismError(f"the grid of coordinate {j} must be at least 2^-{_FINEST_BITS} of its noise")
        if max(abs(box.low[j]), abs(box.high[j]), one) / step > 2.0**_MAX_MAGNITUDE_BITS:
            raise MechanismError(
                f"the grid of coordinate {j} is too fine for numbers as large as its bounds; move the origin nearer"
            )
    return steps


def _default_step(scale: float, width: float, largest: float) -> float:
    """As fine as wished for, but not finer than the noise and the size of the numbers allow."""
    wished = math.floor(min(math.log2(scale) - _FINER_BITS, math.log2(width) - _FINER_BITS_OF_BOX))
    allowed = max(
        math.ceil(math.log2(scale)) - _FINEST_BITS + 1, math.ceil(math.log2(max(largest, scale))) - _MAX_MAGNITUDE_BITS
    )
    return math.ldexp(1.0, max(wished, allowed))


#: Nodes of the trapezoid rule in ln √W, from e^−60 (where the rest is 1e-52) to e^2 (1e-23).
_LOG_ROOTS = np.linspace(-60.0, 2.0, 6_201)


def share_of_truths(
    widths: Iterable[float], scale: Sequence[float], grid: Sequence[float], zero_probability: float
) -> float:
    """The share of truths among the reports in the box, for truths spread evenly over it.

    Whole numbers from 0 to 10 on a grid of 1, at (1, 0.1):

    >>> round(share_of_truths([10], [13.84], [1], 0.09), 2)
    0.3
    """
    from scipy.special import erf

    root = np.exp(_LOG_ROOTS)
    weight = 2 * root * root * np.exp(-root * root) * (_LOG_ROOTS[1] - _LOG_ROOTS[0])
    inside, back = np.ones(root.size), np.ones(root.size)
    for width, one, step in zip(widths, scale, grid, strict=True):
        inside *= _stays((width + step) / (one * root))
        back *= erf(step / (2 * math.sqrt(2) * one * root))
    noisy = 1 - zero_probability
    return float((zero_probability + noisy * (weight @ back)) / (zero_probability + noisy * (weight @ inside)))


def _stays(b: Floats) -> Floats:
    """``E(1 − |N|/b)₊ = 2Φ(b) − 1 − (2/b)(φ(0) − φ(b))``; the first terms of its series where these cancel."""
    from scipy.special import erf

    top = 1 / math.sqrt(2 * math.pi)
    whole = erf(b / math.sqrt(2)) + 2 * top * np.expm1(-b * b / 2) / b
    return np.asarray(np.where(b < 1e-3, top * b * (1 - b * b / 12), whole))


Level = Literal["record", "attribute"]

#: Numbers handled at once: the working arrays of a step stay in the second-level cache.
_CHUNK = 1 << 15


@dataclass(frozen=True, init=False)
class ZeroInflatedLaplace(RecordMechanism):
    """Adds ``Z = 0`` with probability δ₀, else ``Z = √W·(λ₁N₁, …, λ_dN_d)``, W exponential, N normal.

    The report is never clamped to the box (that would bias every estimate), only rounded to a public grid of
    powers of two (zil2025, Algorithm 1).

    Parameters
    ----------
    box : Box
        What a true vector can be.
    scale : number or sequence of numbers
        λ, one standard deviation per coordinate, or one for all.
    zero_probability : float
        δ₀: the chance that a record is published exactly. It is *not* the δ of (ε, δ), which is larger.
    epsilon : float
        Where the guarantee (ε, δ) is stated; the whole curve is in ``delta(epsilon)``.
    grid : number or sequence of numbers, optional
        Powers of two. By default 2^-12 of the noise and at most 2^-8 of the box. On a grid finer than the data (1 for
        whole numbers) every exactly published record is recognised; on any grid those inside the box stand out, see
        ``truths_inside``.
    unit : {"record", "attribute"}
        Whether the guarantee is about a whole record or about one coordinate, the others being known.
    sampling : {"exact", "52-bit"}
        How the noise was drawn. Reports are drawn exactly; releases made before that was so say nothing, and are read
        as "52-bit", which adds to δ.

    Examples
    --------
    >>> mechanism = ZeroInflatedLaplace(Box([0, 0], [1, 1]), 2.0, 0.05)
    >>> round(mechanism.delta(0.8), 4), round(mechanism.delta(0.8, bound=True), 4)
    (0.1833, 0.2529)
    >>> mechanism.guarantee.exposure
    0.05
    """

    box: Box
    scale: tuple[float, ...]
    zero_probability: float
    epsilon: float = 1.0
    grid: tuple[float, ...] = field(default=())
    unit: Level = "record"
    sampling: Sampling = "exact"

    kind: ClassVar[str] = "zero-inflated-laplace"

    def __init__(
        self,
        box: Box,
        scale: float | Sequence[float],
        zero_probability: float,
        epsilon: float = 1.0,
        grid: float | Sequence[float] | None = None,
        unit: Level = "record",
        *,
        sampling: Sampling = "exact",
    ) -> None:
        box = arguments.instance(box, Box, "box", MechanismError)
        if box.dimension > limits.TABLE_COLUMNS:
            raise MechanismError(
                f"a box of {box.dimension:,} numbers is over the limit of {limits.TABLE_COLUMNS:,} columns: make "
                "several of them, or release fewer"
            )
        scales = per_coordinate(scale, box.dimension, "scale")
        chance = arguments.number(zero_probability, "zero_probability", MechanismError, least=0, below=1)
        level = arguments.number(epsilon, "epsilon", MechanismError, least=0)
        arguments.choice(unit, "unit", get_args(Level), MechanismError)
        object.__setattr__(self, "box", box)
        object.__setattr__(self, "scale", scales)
        object.__setattr__(self, "zero_probability", chance)
        object.__setattr__(self, "epsilon", level)
        object.__setattr__(self, "grid", public_grid(grid, box, scales))
        object.__setattr__(self, "unit", unit)
        arguments.choice(sampling, "sampling", get_args(Sampling), MechanismError)
        object.__setattr__(self, "sampling", sampling)

    @property
    def title(self) -> str:
        """What people call it."""
        return "zero-inflated Laplace noise"

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return self.box.dimension

    def ratio(self, unit: Level | None = None) -> float:
        """C: how far apart two truths can be, in units of the noise, rounded up."""
        if unit is not None:
            arguments.choice(unit, "unit", get_args(Level), MechanismError)
        sides = [Fraction(high) - Fraction(low) for low, high in zip(self.box.low, self.box.high, strict=True)]
        shares = [side / Fraction(one) for side, one in zip(sides, self.scale, strict=True)]
        if (unit or self.unit) == "attribute":
            return round_up(max(shares))
        square = sum((share * share for share in shares), Fraction(0))
        root = math.sqrt(round_up(square))
        while Fraction(root) ** 2 < square:
            root = math.nextafter(root, math.inf)
        return root

    def delta(self, epsilon: float, *, bound: bool = False, unit: Level | None = None) -> float:
        """δ(ε) = ``1 − (1 − δ₀)(1 − δ_c(ε))``, rounded up.

        Parameters
        ----------
        epsilon : float
        bound : bool
            The closed-form bound for every dimension instead of the exact curve of this one.
        unit : {"record", "attribute"}, optional
            That of the mechanism by default.
        """
        # δ falls with ε: at a smaller ε it can only be overstated.
        level = min(arguments.number(epsilon, "epsilon", MechanismError, least=0), limits.EPSILON)
        ratio = self.ratio(unit)
        noise = delta_bound(level, ratio) if bound else delta_exact(level, ratio, self.dimension)
        return _either(self.zero_probability, noise)

    def trade_off(self, alpha: ArrayLike, *, bound: bool = False, unit: Level | None = None) -> Floats:
        """The least probability of a miss of any test with probability α of a false alarm, rounded down.

        ``(1 − δ₀) f(α/(1 − δ₀))``, f the curve of the noise: whoever sees an exactly published record makes no error.

        Parameters
        ----------
        alpha : number or array
            Between 0 and 1.
        bound : bool
            The closed-form bound for every dimension instead of the exact curve of this one.
        unit : {"record", "attribute"}, optional
            That of the mechanism by default.

        Examples
        --------
        >>> mechanism = ZeroInflatedLaplace(Box(0, 0.91), 1.0, 0.1)
        >>> round(float(mechanism.trade_off(0.02)), 3), round(float(mechanism.trade_off(0.02, bound=True)), 3)
        (0.828, 0.62)
        """
        level = arguments.floats(alpha, "alpha", MechanismError)
        bound = arguments.flag(bound, "bound", MechanismError)
        if not ((level >= 0) & (level <= 1)).all():
            raise MechanismError("alpha must lie between 0 and 1")
        slack, ratio = self.sampling_slack, self.ratio(unit)
        # Both laws may be off by the slack: so are both errors of every test.
        shifted = np.nextafter(level + slack, 2.0) if slack else level
        inner = shifted
        if self.zero_probability:  # rounded up, and f falls
            keep = round_down(1 - Fraction(self.zero_probability))
            inner = np.where(shifted > 0, np.minimum(np.nextafter(shifted / keep, 2.0), 1.0), 0.0)
        noise = trade_off_bound(inner, ratio) if bound else trade_off_exact(inner, ratio, self.dimension)
        left = with_zero_inflation(shifted, noise, self.zero_probability)
        return np.maximum(np.nextafter(left - slack, -1.0), 0.0) if slack else left

    @property
    def sampling_slack(self) -> float:
        """How far reports can be from rounded ideal noise, in total variation: not at all when drawn exactly."""
        return 0.0 if self.sampling == "exact" else earlier_slack(self.scale, self.grid)

    @cached_property
    def guarantee(self) -> Guarantee:
        """(ε, δ) at the stated ε, for the stated unit: the exact curve, rounded up.

        Reports within η of ideal ones in total variation are (ε, δ + η(1 + e^ε))-private: both laws move by η, and
        the second counts e^ε times.
        """
        return self._guarantee(self.unit)

    @cached_property
    def record_guarantee(self) -> Guarantee:
        """The same about a whole record, also when the mechanism is stated for single attributes."""
        return self._guarantee("record")

    def _guarantee(self, unit: Level) -> Guarantee:
        delta = Fraction(self.delta(self.epsilon, unit=unit))
        if self.sampling_slack:
            delta += Fraction(self.sampling_slack) * (1 + exp_bounds(self.epsilon)[1])
        stated = 1.0 if delta >= 1 else round_up(delta)
        return Guarantee(self.epsilon, stated, unit, exposure=self.zero_probability, caveats=self._caveats())

    @cached_property
    def truths_inside(self) -> float:
        """Of the reports inside the box, the share that is the truth itself, for truths spread evenly over the box."""
        return share_of_truths(self.box.widths, self.scale, self.grid, self.zero_probability)

    def _caveats(self) -> tuple[str, ...]:
        if self.zero_probability == 0:
            return ()
        exact = (
            f"the share of {self.zero_probability:.4g} of the records that is published exactly as it is; the other "
            "records carry Laplace noise with a standard deviation of "
            f"{', '.join(f'{one:.4g}' for one in self.scale[:6])}{', …' if self.dimension > 6 else ''}, "
            "and are what ε protects"
        )
        if self.sampling != "exact":  # what manifests of that time say, as far as it is true
            return (exact,)
        return (
            exact,
            f"what a report inside the box gives away: about {100 * self.truths_inside:.0f} % of those are the truth "
            "itself, if truths are spread evenly over the box, because noise throws the others out of it; on a grid "
            "finer than the data, such as whole numbers, every exactly published record is recognised",
        )

    @cached_property
    def _exact_share(self) -> Thresholds:
        share = Fraction(self.zero_probability)
        return Thresholds([share.numerator], share.denominator)

    def privatize(self, x: ArrayLike, randomness: Randomness | None = None) -> Floats:
        """Randomise rows; returns an n × d array of multiples of the grid.

        Parameters
        ----------
        x : array (n, d), or (n,) when d = 1
            True vectors; one outside the box is an error.
        randomness : Randomness, optional
            The secure source by default.
        """
        source = resolve(randomness)
        rows = self.box._shaped(x)
        out = np.empty(rows.shape)
        step = min(max(1, _CHUNK // self.dimension), rows.shape[0])
        # Written out for every row: numpy multiplies whole arrays several times faster than rows of a few numbers.
        grid, scale = (np.tile(one, (step, 1)) for one in (self.grid, np.divide(self.scale, self.grid)))
        zero = self._exact_share if self.zero_probability > 0 else None
        scratch = Scratch()
        for start in range(0, rows.shape[0], max(step, 1)):
            part, to = rows[start : start + step], out[start : start + step]
            self.box.check(part, first_row=start)
            count = part.shape[0]
            scratch.restart()
            steps = np.divide(
                part, grid[:count], out=scratch.floats(part.size).reshape(part.shape)
            )  # exact: powers of 2
            noisy_steps(steps, to, scale[:count], zero, source, scratch)
            to *= grid[:count]
            to += 0.0  # a negative zero would tell on which side of zero the number was
        return out.reshape(np.shape(x))

    @cached_property
    def noise_scale(self) -> Floats:
        """Standard deviations of the noise of a record that is not published exactly, rounding included.

        A Laplace variable of scale b rounded to a grid g has variance ``g² √q (1 + q)/(1 − q)²``, ``q = e^{−g/b}``:
        nearly λ² + g²/12.
        """
        step, rate = np.asarray(self.grid), np.asarray(self.grid) * math.sqrt(2) / np.asarray(self.scale)
        q = np.exp(-rate)
        deviation = step * np.sqrt(np.sqrt(q) * (1 + q)) / -np.expm1(-rate)
        deviation.flags.writeable = False
        return np.asarray(deviation)

    def doubly_randomized(self, reports: ArrayLike, randomness: Randomness | None = None) -> Floats:
        """``x2 = x1 + S``, S multivariate Laplace with variance δ₀λ²: drawn on demand from published reports."""
        source = resolve(randomness)
        rows = np.asarray(reports, np.float64).reshape(-1, self.dimension)
        size = np.sqrt(self.zero_probability * exponential(rows.shape[0], source))
        noise = normal(rows.size, source).reshape(rows.shape)
        return np.asarray(rows + noise * size[:, None] * self.noise_scale)

    def coordinates(self, chosen: Sequence[int]) -> ZeroInflatedLaplace:
        """The mechanism of some coordinates alone: again zero-inflated Laplace, with the same δ₀.

        >>> ZeroInflatedLaplace(Box([0, 0], [1, 2]), [1.0, 3.0], 0.1).coordinates([1]).scale
        (3.0,)
        """
        listed = arguments.listed(chosen, "coordinates", MechanismError)
        last = self.dimension - 1
        chosen = [arguments.whole(one, "a coordinate", MechanismError, most=last) for one in listed]
        return ZeroInflatedLaplace(
            Box([self.box.low[j] for j in chosen], [self.box.high[j] for j in chosen]),
            [self.scale[j] for j in chosen],
            self.zero_probability,
            self.epsilon,
            [self.grid[j] for j in chosen],
            self.unit,
            sampling=self.sampling,
        )

    def view(self, *columns: int) -> ZeroInflatedLaplace:
        """The mechanism of some coordinates alone."""
        return self.coordinates(columns)

    def to_dict(self) -> dict[str, Any]:
        """Box, scales, zero probability and the exponents of the grid."""
        return {
            "kind": self.kind,
            "box": {"low": list(self.box.low), "high": list(self.box.high)},
            "scale": list(self.scale),
            "zero_probability": self.zero_probability,
            "epsilon": self.epsilon,
            "grid_exponents": [str(math.frexp(step)[1] - 1) for step in self.grid],
            "unit": self.unit,
        } | ({"sampling": self.sampling} if self.sampling == "exact" else {})

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild; the guarantee is computed again from the scales."""
        try:
            return cls(
                Box(data["box"]["low"], data["box"]["high"]),
                data["scale"],
                data["zero_probability"],
                data["epsilon"],
                [math.ldexp(1.0, int(exponent)) for exponent in data["grid_exponents"]],
                data["unit"],
                sampling=data.get("sampling", "52-bit"),
            )
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise ManifestError(f"a zero-inflated Laplace mechanism in the manifest is damaged ({error})") from None


def _either(a: float, b: float) -> float:
    return min(1.0, round_up(1 - (1 - Fraction(a)) * (1 - Fraction(b))))
