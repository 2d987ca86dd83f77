"""Unbiased numbers under pure ε: every report stands for a number whose mean, under each truth, is the truth."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet import arguments
from discreet.arguments import Floats
from discreet.domains import Categorical, FiniteDomain
from discreet.errors import DomainError, ManifestError, MechanismError, PrivacyError
from discreet.mechanisms.base import stored_int, stored_rows
from discreet.mechanisms.exact_integers import RELATIVE_TOLERANCE, checked_epsilon
from discreet.mechanisms.finite import MAX_MATRIX, WrittenOut
from discreet.privacy import certify
from discreet.privacy.exact import Rows, exact_rows
from discreet.randomness import Randomness, resolve
from discreet.randomness.sampling import is_below

#: Weights are held over 2^this before the means are made exact.
_BITS = 80
#: Values have this many bits at most, so that floats hold them and sums of products stay short.
_VALUE_BITS = 40
#: A probability in floats errs by less; draws that are closer to it are decided in fractions.
_CLOSE = 2.0**-48


@dataclass(frozen=True, init=False, repr=False)
class UnbiasedResponse(WrittenOut):
    """A mechanism for numbers: truths are points, reports have values, and ``Σ_y Q[x, y]·value_y = x`` exactly.

    The mean of the reported values is the mean of the truths, without any correction. It is for one number in a
    bounded interval; :func:`discreet.design.mean` finds the one of least variance.

    Parameters
    ----------
    matrix : rows of int, Fraction, str or float
        ``matrix[x][y]`` is the probability of report y under truth x, as for ``ChannelResponse``.
    points : sequence of float
        The truths, increasing.
    values : sequence of float
        The number that each report stands for.

    Examples
    --------
    >>> mechanism = UnbiasedResponse([[3, 1], [2, 2], [1, 3]], points=[-1, 0, 1], values=[-2, 2])
    >>> mechanism.values
    array([-2.,  2.])
    >>> mechanism.variances()
    array([3., 4., 3.])
    """

    rows: Rows
    points: tuple[float, ...]
    report_values: tuple[float, ...]
    epsilon: float | None = field(default=None, init=False, compare=False)

    kind: ClassVar[str] = "unbiased"

    def __init__(self, matrix: Any, points: ArrayLike, values: ArrayLike) -> None:
        rows, total = exact_rows(matrix)
        if len(rows) < 2 or max(len(rows), len(rows[0])) > MAX_MATRIX:
            raise MechanismError(f"unbiased numbers need from 2 to {MAX_MATRIX:,} points and as many reports at most")
        truths = tuple(arguments.floats(points, "points", MechanismError, dimensions=1).tolist())
        numbers = tuple(arguments.floats(values, "values", MechanismError, dimensions=1).tolist())
        if len(truths) != len(rows) or any(a >= b for a, b in pairwise(truths)):
            raise MechanismError(f"there must be {len(rows)} points, one per row, and they must increase")
        if len(numbers) != len(rows[0]):
            raise MechanismError(f"there must be {len(rows[0])} values, one per report")
        exact = [Fraction(value) for value in numbers]
        for x, (row, truth) in enumerate(zip(rows, truths, strict=True)):
            if sum((w * a for w, a in zip(row, exact, strict=True)), Fraction(0)) != Fraction(truth) * total:
                raise MechanismError(f"the mean of the reported values under point {x} is not the point")
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "points", truths)
        object.__setattr__(self, "report_values", numbers)
        object.__setattr__(self, "epsilon", None)

    @classmethod
    def private(cls, matrix: ArrayLike, points: ArrayLike, values: ArrayLike, epsilon: float) -> Self:
        """From a channel in floats that is ε-private and unbiased up to rounding: exactly both, on integers.

        Weights are rounded to a power of two. What a row then misses of its mean, a whole number of the unit in which
        points and values are written, is moved between two reports; all weights are first multiplied by the distance
        of these two in that unit, so that whole numbers do it. The result is certified again, and refused when it
        is not within [ε(1 − 1e-9), ε].
        """
        epsilon = checked_epsilon(epsilon)
        channel = arguments.floats(matrix, "matrix", MechanismError, dimensions=2)
        truths = arguments.floats(points, "points", MechanismError, dimensions=1)
        given = arguments.floats(values, "values", MechanismError, dimensions=1)
        if not channel.size or channel.shape != (truths.size, given.size):
            raise MechanismError("matrix must have one row per point and one column per value")
        numbers = shortened(given)
        mechanism = cls(_exactly_unbiased(channel, truths, numbers), truths, numbers)
        realised = certify(mechanism.rows).epsilon
        if not epsilon * (1 - float(RELATIVE_TOLERANCE)) <= realised <= epsilon:
            raise PrivacyError(
                f"epsilon = {epsilon:g} cannot be met to nine digits by a channel that was computed in floating point: "
                f"it realises {realised:.12g}"
            )
        return mechanism

    def __repr__(self) -> str:
        rows = [list(row) for row in self.rows]
        return f"UnbiasedResponse({rows!r}, {list(self.points)!r}, {list(self.report_values)!r})"

    @property
    def truths(self) -> tuple[float, ...]:
        """The points, which are the true values."""
        return self.points

    @property
    def values(self) -> Floats:
        """The number that each report stands for."""
        return np.array(self.report_values)

    def report_domain(self, truths: FiniteDomain) -> FiniteDomain:  # noqa: ARG002  # whatever the truths are
        """Reports are called by the numbers that they stand for."""
        return Categorical(list(self.report_values))

    def variances(self) -> Floats:
        """The variance of the reported number under every point: ``Σ_y Q[x, y]·value_y² − x²``."""
        squares = [Fraction(value) ** 2 for value in self.report_values]
        second = [sum((w * s for w, s in zip(row, squares, strict=True)), Fraction(0)) for row in self.rows]
        return np.array(
            [float(m / self.denominator - Fraction(x) ** 2) for m, x in zip(second, self.points, strict=True)]
        )

    def round(self, numbers: ArrayLike, randomness: Randomness | None = None) -> NDArray[Any]:
        """Codes of numbers between the points: the point below or above, at random, so that the mean is the number.

        The chance of the point above is ``(number − below)/(above − below)``, met exactly. It adds at most a quarter
        of the squared distance of the two points to the variance.

        Parameters
        ----------
        numbers : array of float
            From the first point to the last; anything else is an error that names the row.
        randomness : Randomness, optional
            The secure source by default.
        """
        source = resolve(randomness)
        given = arguments.floats(numbers, "numbers", DomainError, finite=False)
        flat, points = given.reshape(-1), np.array(self.points)
        with np.errstate(invalid="ignore"):
            outside = np.flatnonzero(~((flat >= points[0]) & (flat <= points[-1])))
        if outside.size:
            expected = f"a number from {points[0]:g} to {points[-1]:g}"
            raise DomainError(
                "a number is out of range", row=int(outside[0]), expected=expected, value=flat[outside[0]]
            )
        below = np.clip(np.searchsorted(points, flat, side="right") - 1, 0, points.size - 2)
        # Both differences and their quotient are right to 2⁻⁵³ of themselves, and the quotient is at most one.
        chance = (flat - points[below]) / (points[below + 1] - points[below])
        words = source.words(flat.size)
        draws = words * 2.0**-64
        up = draws < chance
        for i in np.flatnonzero(np.abs(draws - chance) < _CLOSE).tolist():
            low, high = Fraction(self.points[below[i]]), Fraction(self.points[below[i] + 1])
            up[i] = is_below(int(words[i]), 64, (Fraction(float(flat[i])) - low) / (high - low), source)
        codes = (below + up).astype(np.min_scalar_type(points.size - 1))
        return np.asarray(codes.reshape(given.shape))

    def to_dict(self) -> dict[str, Any]:
        """Full integer rows, the points and the values."""
        return {
            "kind": self.kind,
            "denominator": str(self.denominator),
            "rows": [[str(weight) for weight in row] for row in self.rows],
            "points": list(self.points),
            "values": list(self.report_values),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild from the integers."""
        denominator = stored_int(data, "denominator")
        try:
            mechanism = cls(stored_rows(data), data["points"], data["values"])
        except (KeyError, MechanismError) as error:
            raise ManifestError(f"an unbiased response in the manifest is damaged ({error})") from None
        if mechanism.denominator != denominator:
            raise ManifestError(
                "an unbiased response in the manifest is damaged: its weights do not sum to the denominator"
            )
        return mechanism


def shortened(values: Floats) -> Floats:
    """The same values to 40 bits of the largest, as which floats hold them exactly."""
    unit = 2.0 ** (math.frexp(float(np.abs(values).max()))[1] - _VALUE_BITS)
    return np.asarray(np.rint(values / unit) * unit)


def _exactly_unbiased(channel: Floats, points: Floats, values: Floats) -> Rows:
    """Integer rows near a channel, each with the mean that its point asks for."""
    numbers = [*map(Fraction, points.tolist()), *map(Fraction, values.tolist())]
    unit = max(number.denominator for number in numbers)  # powers of two: the largest holds all
    truths, reports = [int(x * unit) for x in numbers[: points.size]], [int(a * unit) for a in numbers[points.size :]]
    first, second = _pivots(channel, values)
    distance = reports[first] - reports[second]
    total = 1 << _BITS
    rows = []
    for given, truth in zip(channel.tolist(), truths, strict=True):
        row = [int(math.ldexp(q, _BITS)) for q in given]
        row[first] += total - sum(row)
        missing = total * truth - sum(w * a for w, a in zip(row, reports, strict=True))
        row = [distance * weight for weight in row]
        row[first] += missing
        row[second] -= missing
        if min(row) < 0:
            raise MechanismError("the channel is not unbiased for these points and values")
        rows.append(row)
    common = math.gcd(*(weight for row in rows for weight in row))
    return tuple(tuple(weight // common for weight in row) for row in rows)


def _pivots(channel: Floats, values: Floats) -> tuple[int, int]:
    """Two reports that are far apart and never improbable: moving a little between them hardly changes a ratio."""
    least = channel.min(axis=0)
    worth = (values[:, None] - values[None, :]) * np.minimum(least[:, None], least[None, :])
    first, second = np.unravel_index(int(worth.argmax()), worth.shape)
    return int(first), int(second)
