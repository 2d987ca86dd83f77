"""Zero-inflated Laplace: a numeric vector is published as it is with a small probability, else with noise."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.domains.box import Box
from discreet.errors import ManifestError, MechanismError
from discreet.mechanisms.base import Mechanism, stated_epsilon
from discreet.mechanisms.laplace.curve import delta_bound, trade_off_bound, with_zero_inflation
from discreet.mechanisms.laplace.exact import delta_exact
from discreet.privacy import Guarantee
from discreet.privacy.bounds import round_up
from discreet.randomness import Randomness, Thresholds, resolve
from discreet.randomness.continuous import exponential, grid_slack, normal

Floats = NDArray[np.float64]
Level = Literal["record", "attribute"]

#: The default grid is this much finer than the noise, and than the box.
_FINER_BITS = 12
_FINER_BITS_OF_BOX = 8
#: The finest grid: below it the atoms of the noise would show.
_FINEST_BITS = 20
#: Bits between the largest number of a box and its grid: whole steps must be exact in floating point, also with noise.
_MAX_MAGNITUDE_BITS = 48
#: Numbers handled at once: the working arrays of a step stay in the second-level cache.
_CHUNK = 1 << 16


@dataclass(frozen=True, init=False)
class ZeroInflatedLaplace(Mechanism):
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
        Powers of two. By default 2^-12 of the noise and at most 2^-8 of the box. The resolution of the data itself
        (1 for whole numbers) makes exactly published records look like all others.
    unit : {"record", "attribute"}
        Whether the guarantee is about a whole record or about one coordinate, the others being known.

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

    kind: ClassVar[str] = "zero-inflated-laplace"

    def __init__(
        self,
        box: Box,
        scale: float | Sequence[float],
        zero_probability: float,
        epsilon: float = 1.0,
        grid: float | Sequence[float] | None = None,
        unit: Level = "record",
    ) -> None:
        if not isinstance(box, Box):
            raise MechanismError(f"box must be a Box with one bound per coordinate, not {type(box).__name__}")
        scales = _per_coordinate(scale, box.dimension, "scale")
        if not all(math.isfinite(one) and one > 0 for one in scales):
            raise MechanismError("every scale must be finite and above 0")
        chance = _number(zero_probability, "zero_probability")
        if not 0 <= chance < 1:
            raise MechanismError(f"zero_probability must lie between 0 (included) and 1, not {chance}")
        level = stated_epsilon(_number(epsilon, "epsilon"))
        if unit not in get_args(Level):
            raise MechanismError(f"unit must be one of {', '.join(get_args(Level))}, not {unit!r}")
        object.__setattr__(self, "box", box)
        object.__setattr__(self, "scale", scales)
        object.__setattr__(self, "zero_probability", chance)
        object.__setattr__(self, "epsilon", level)
        object.__setattr__(self, "grid", _grid(grid, box, scales))
        object.__setattr__(self, "unit", unit)

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return self.box.dimension

    def ratio(self, unit: Level | None = None) -> float:
        """C: how far apart two truths can be, in units of the noise, rounded up."""
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
        level = stated_epsilon(_number(epsilon, "epsilon"))
        assert level is not None
        ratio = self.ratio(unit)
        noise = delta_bound(level, ratio) if bound else delta_exact(level, ratio, self.dimension)
        return _either(self.zero_probability, noise)

    def trade_off(self, alpha: ArrayLike, *, unit: Level | None = None) -> Floats:
        """The bound for every dimension on the probability of a miss, at probability α of a false alarm."""
        level = np.asarray(alpha, np.float64)
        if not ((level >= 0) & (level <= 1)).all():
            raise MechanismError("alpha must lie between 0 and 1")
        inner = np.minimum(level / (1 - self.zero_probability), 1.0)
        return with_zero_inflation(level, trade_off_bound(inner, self.ratio(unit)), self.zero_probability)

    @property
    def sampling_slack(self) -> float:
        """What finite precision of the noise can add to δ; it is part of the guarantee."""
        return math.fsum(grid_slack(one, step) for one, step in zip(self.scale, self.grid, strict=True))

    @cached_property
    def guarantee(self) -> Guarantee:
        """(ε, δ) at the stated ε, for the stated unit: the exact curve, rounded up, plus the sampling slack."""
        return self._guarantee(self.unit)

    @cached_property
    def record_guarantee(self) -> Guarantee:
        """The same about a whole record, also when the mechanism is stated for single attributes."""
        return self._guarantee("record")

    def _guarantee(self, unit: Level) -> Guarantee:
        exact = self.delta(self.epsilon, unit=unit)
        delta = min(1.0, round_up(Fraction(exact) + Fraction(self.sampling_slack)))
        return Guarantee(self.epsilon, delta, unit, exposure=self.zero_probability, caveats=self._caveats())

    def _caveats(self) -> tuple[str, ...]:
        if self.zero_probability == 0:
            return ()
        return (
            f"the share of {self.zero_probability:.4g} of the records that is published exactly as it is; the other "
            "records carry Laplace noise with a standard deviation of "
            f"{', '.join(f'{one:.4g}' for one in self.scale[:6])}{', …' if self.dimension > 6 else ''}, "
            "and are what ε protects",
            "on whole-number data with a fine grid every exactly published record can be recognised by its whole "
            "numbers; a grid of the data's own resolution hides which ones they are",
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
        step = max(1, _CHUNK // self.dimension)
        for start in range(0, rows.shape[0], step):
            part = rows[start : start + step]
            self.box.check(part, first_row=start)
            self._add_noise(part, out[start : start + step], source)
        return out.reshape(np.shape(x))

    def privatize_batches(self, batches: Iterator[ArrayLike], randomness: Randomness | None = None) -> Iterator[Floats]:
        """Randomise one batch of rows after the other, for tables that do not fit in memory."""
        source = resolve(randomness)
        for batch in batches:
            yield self.privatize(batch, source)

    def _add_noise(self, rows: Floats, out: Floats, randomness: Randomness) -> None:
        count = rows.shape[0]
        noise = normal(rows.size, randomness).reshape(rows.shape)
        size = np.sqrt(exponential(count, randomness))
        if self.zero_probability > 0:
            size[self._exact_share.below(count, randomness)] = 0.0
        grid = np.asarray(self.grid)
        noise *= size[:, None]
        noise *= np.asarray(self.scale) / grid
        np.divide(rows, grid, out=out)  # exact: a power of two
        # Whole steps are set aside while the noise is added, so that large numbers cost no precision.
        whole = np.rint(out)
        out -= whole
        out += noise
        np.rint(out, out=out)
        out += whole
        out *= grid
        out += 0.0  # a negative zero would tell on which side of zero the number was

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
        return ZeroInflatedLaplace(
            Box([self.box.low[j] for j in chosen], [self.box.high[j] for j in chosen]),
            [self.scale[j] for j in chosen],
            self.zero_probability,
            self.epsilon,
            [self.grid[j] for j in chosen],
            self.unit,
        )

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
        }

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
            )
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise ManifestError(f"a zero-inflated Laplace mechanism in the manifest is damaged ({error})") from None


def _either(a: float, b: float) -> float:
    return min(1.0, round_up(1 - (1 - Fraction(a)) * (1 - Fraction(b))))


def _number(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise MechanismError(f"{name} must be a number, not {value!r}")
    return float(value)


def _per_coordinate(value: Any, dimension: int, name: str) -> tuple[float, ...]:
    if np.ndim(value) == 0:
        return (_number(value, name),) * dimension
    listed = tuple(_number(one, name) for one in value)
    if len(listed) != dimension:
        raise MechanismError(f"{name} needs one number per coordinate: {dimension}, not {len(listed)}")
    return listed


def _grid(given: Any, box: Box, scales: tuple[float, ...]) -> tuple[float, ...]:
    """Powers of two, checked against the noise and the size of the numbers."""
    if given is None:
        steps = tuple(
            _default_step(one, high - low, max(abs(low), abs(high)))
            for one, low, high in zip(scales, box.low, box.high, strict=True)
        )
    else:
        steps = _per_coordinate(given, box.dimension, "grid")
    for j, (step, one) in enumerate(zip(steps, scales, strict=True)):
        if not (math.isfinite(step) and step > 0 and math.frexp(step)[0] == 0.5):
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
