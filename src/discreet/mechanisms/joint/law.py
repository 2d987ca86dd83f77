"""Which attributes of a record are reported truthfully: the law of a random pattern of yes and no.

By symmetry a joint mechanism is a law of the pattern ``B = (B_1, …, B_k)``, B_i = 1 when attribute i is reported
truthfully; an attribute that is not reports any of its other values with equal probability. Under the uniformly
random answer the B_i are independent with P(B_i = 1) = 1/a_i. A mechanism has a *density* with respect to it, and
the record-level ε is the logarithm of the largest over the smallest density (Yamamoto and Shibuya 2024).

Exact draws of many columns at once.
"""

from __future__ import annotations

import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from discreet import arguments, limits
from discreet.arguments import Floats
from discreet.errors import ManifestError, MechanismError
from discreet.randomness import Randomness, Thresholds


@lru_cache(maxsize=64)
def _thresholds(chances: tuple[Fraction, ...]) -> tuple[tuple[Thresholds, ...], NDArray[np.intp]]:
    """One table per denominator, and the column order that groups the columns by table."""
    by_denominator: dict[int, list[int]] = {}
    for column, chance in enumerate(chances):
        by_denominator.setdefault(chance.denominator, []).append(column)
    if len(by_denominator) > 8:  # one common denominator, when it is small, keeps the work in one piece
        common = math.lcm(*by_denominator)
        if common.bit_length() <= 512:
            by_denominator = {common: list(range(len(chances)))}
    tables = tuple(
        Thresholds([int(chances[c] * denominator) for c in columns], denominator)
        for denominator, columns in by_denominator.items()
    )
    order = np.array([c for columns in by_denominator.values() for c in columns], np.intp)
    return tables, order


def bernoulli_columns(chances: tuple[Fraction, ...], count: int, randomness: Randomness) -> NDArray[np.bool_]:
    """A (count, columns) array of "yes", column c with probability ``chances[c]``, exactly."""
    tables, order = _thresholds(chances)
    parts = [table.below_columns(count, randomness) for table in tables]
    together = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
    if np.array_equal(order, np.arange(len(chances))):
        return together
    out = np.empty_like(together)
    out[:, order] = together
    return out


def choose_cells(weights: Sequence[int], count: int, randomness: Randomness) -> NDArray[np.intp]:
    """Indices drawn with probability proportional to integer weights of any size."""
    table, used = _alias(tuple(weights))
    return np.asarray(used[table.draw(np.zeros(count, np.uint8), randomness)])


@lru_cache(maxsize=32)
def _alias(weights: tuple[int, ...]):  # type: ignore[no-untyped-def]  # a private pair of table and indices
    from discreet.randomness import AliasTable

    used = [i for i, weight in enumerate(weights) if weight]
    chosen = [weights[i] for i in used]
    return AliasTable([chosen], sum(chosen)), np.array(used, np.intp)


def random_subsets(size: int, wanted: NDArray[np.intp], randomness: Randomness) -> NDArray[np.bool_]:
    """For every row a uniformly random subset of ``size`` items with ``wanted`` members, by ranking 64-bit keys."""
    rows = wanted.size
    if size == 1:
        return wanted.astype(bool)[:, None]
    keys = randomness.words(rows * size).reshape(rows, size)
    order = np.argsort(keys, axis=1)
    ranked = np.take_along_axis(keys, order, axis=1)
    out = np.zeros((rows, size), bool)
    np.put_along_axis(out, order, np.arange(size)[None, :] < wanted[:, None], axis=1)
    tied = np.flatnonzero(np.any(ranked[:, 1:] == ranked[:, :-1], axis=1))
    if tied.size:
        out[tied] = random_subsets(size, wanted[tied], randomness)
    return out


Patterns = NDArray[np.bool_]

#: Attributes of a record: far above any table, and a limit on what a manifest is believed.
MAX_ATTRIBUTES = 1_000_000
#: Values of one attribute.
MAX_VALUES = 1 << 20
#: Attributes whose patterns are written out in an induced law (2^12 numbers).
MAX_SUBSET = 12


@dataclass(frozen=True)
class TruthRates:
    """P(B_i = 1) for every attribute, each within ``error`` of the truth (0 where the arithmetic is exact)."""

    rates: tuple[Fraction, ...]
    error: tuple[Fraction, ...]


class Law(ABC):
    """The law of the truthful pattern. Frozen, comparable, made of integers."""

    #: The name under which a manifest knows this kind. It never changes.
    kind: ClassVar[str]
    sizes: tuple[int, ...]

    @abstractmethod
    def record_epsilon(self) -> float:
        """ln(largest density / smallest density), rounded up."""

    @abstractmethod
    def truth_rates(self) -> TruthRates:
        """How often each attribute is reported truthfully."""

    @abstractmethod
    def subset(self, attributes: Sequence[int]) -> tuple[Fraction, ...]:
        """The 2^m probabilities of the patterns of m attributes; the first attribute is the highest bit."""

    def subset_error(self, attributes: Sequence[int]) -> Fraction:
        """A bound on the relative error of each of these probabilities; 0 where the arithmetic is exact."""
        checked_subset(attributes, len(self.sizes))
        return Fraction(0)

    @abstractmethod
    def pair_rates(self, attributes: Sequence[int]) -> Floats:
        """P(B_i = B_j = 1) for all pairs of the attributes named, in floats; the diagonal is P(B_i = 1)."""

    @abstractmethod
    def draw(self, count: int, randomness: Randomness) -> Patterns:
        """``count`` patterns, one per row."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Plain data: integers as text."""

    @classmethod
    @abstractmethod
    def from_dict(cls, data: Mapping[str, Any], sizes: tuple[int, ...]) -> Self:
        """Rebuild from the integers."""


def checked_sizes(sizes: Sequence[Any]) -> tuple[int, ...]:
    """Numbers of values, each at least two."""
    given = tuple(sizes)
    if not 1 <= len(given) <= MAX_ATTRIBUTES:
        raise MechanismError(f"a joint response needs between 1 and {MAX_ATTRIBUTES:,} attributes, not {len(given):,}")
    return tuple(
        arguments.whole(size, f"sizes[{i}]", MechanismError, least=2, most=MAX_VALUES) for i, size in enumerate(given)
    )


def checked_subset(attributes: Sequence[int], total: int) -> tuple[int, ...]:
    """Different attributes, few enough to write their patterns out."""
    try:
        chosen = tuple(operator.index(i) for i in arguments.listed(attributes, "attributes", MechanismError))
    except TypeError:
        raise MechanismError("attributes are named by whole numbers") from None
    if not 1 <= len(chosen) <= MAX_SUBSET or len(set(chosen)) != len(chosen):
        raise MechanismError(f"name between 1 and {MAX_SUBSET} different attributes, not {len(chosen)}")
    if not all(0 <= i < total for i in chosen):
        raise MechanismError(f"attributes are numbered from 0 to {total - 1}")
    return chosen


def bits_of(pattern: int, width: int) -> tuple[int, ...]:
    """The bits of a pattern, the first attribute being the highest."""
    return tuple((pattern >> (width - 1 - position)) & 1 for position in range(width))


def stored_integers(data: Mapping[str, Any], key: str, length: int | None = None) -> tuple[int, ...]:
    """A list of integers that a manifest holds as text, all ≥ 0."""
    values = data.get(key)
    try:
        if isinstance(values, (list, tuple)) and all(
            isinstance(value, str) and len(value) <= limits.NUMBER_CHARACTERS for value in values
        ):
            numbers = tuple(int(value) for value in values)
            if (length is None or len(numbers) == length) and all(number >= 0 for number in numbers):
                return numbers
    except ValueError:
        pass
    raise ManifestError(f'a joint response in the manifest is damaged: "{key}" must be a list of integers as text')


def uniform_pattern(sizes: Sequence[int], bits: Sequence[int]) -> Fraction:
    """The probability of a pattern under the uniformly random answer."""
    chance = Fraction(1)
    for size, bit in zip(sizes, bits, strict=True):
        chance *= Fraction(1 if bit else size - 1, size)
    return chance


def draw_uniform_patterns(sizes: Sequence[int], count: int, randomness: Randomness) -> Patterns:
    """Patterns under the uniformly random answer."""
    return bernoulli_columns(tuple(Fraction(1, size) for size in sizes), count, randomness)
