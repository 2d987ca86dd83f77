"""What is asked for: numbers of values and marginal levels, checked once, with everything that follows from them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from discreet import arguments
from discreet.arguments import Floats
from discreet.errors import DesignError, PrivacyError
from discreet.mechanisms.joint.law import MAX_ATTRIBUTES, MAX_VALUES
from discreet.mechanisms.rounding import keep_and_other

#: Levels this close, relative, are treated as one.
_SAME_LEVEL = 1e-8
#: Levels between these can be told from 0 and from certainty by the integers of a mechanism.
LEAST_LEVEL, LARGEST_LEVEL = 1e-10, 150.0


@dataclass(frozen=True)
class Request:
    """Numbers of values a_i and requested marginal levels ε_i."""

    sizes: tuple[int, ...]
    epsilons: tuple[float, ...]

    @classmethod
    def of(cls, sizes: Any, epsilons: Any) -> Request:
        """Check what was given."""
        counts = arguments.listed(sizes, "sizes", DesignError)
        levels = arguments.listed(epsilons, "epsilons", PrivacyError)
        if len(counts) != len(levels):
            raise DesignError(
                "sizes and epsilons must have the same length: "
                f"there are {len(counts)} sizes and {len(levels)} epsilons"
            )
        checked = checked_levels(levels, "epsilons")
        for i, level in enumerate(checked):
            if not LEAST_LEVEL <= level <= LARGEST_LEVEL:
                raise PrivacyError(
                    f"epsilons[{i}] must lie between {LEAST_LEVEL:g} and {LARGEST_LEVEL:g}, not {level:g}"
                )
        return cls(checked_sizes(counts), checked)

    @property
    def count(self) -> int:
        """Number of attributes k."""
        return len(self.sizes)

    @cached_property
    def a(self) -> Floats:
        """Numbers of values."""
        return np.array(self.sizes, float)

    @cached_property
    def truth(self) -> Floats:
        """p_i = e^{ε_i}/(e^{ε_i} + a_i − 1), without overflow."""
        return np.asarray(1 / (1 + (self.a - 1) * np.exp(-np.array(self.epsilons))))

    @cached_property
    def lie(self) -> Floats:
        """1 − p_i, without cancellation."""
        scaled = (self.a - 1) * np.exp(-np.array(self.epsilons))
        return np.asarray(scaled / (1 + scaled))

    @cached_property
    def excess(self) -> Floats:
        """d_i = p_i − 1/a_i = λ_i (a_i − 1)/a_i."""
        return np.asarray(self.eigenvalues * (self.a - 1) / self.a)

    @cached_property
    def eigenvalues(self) -> Floats:
        """λ_i = (e^{ε_i} − 1)/(e^{ε_i} + a_i − 1)."""
        levels = np.array(self.epsilons)
        return np.asarray(-np.expm1(-levels) / (1 + (self.a - 1) * np.exp(-levels)))

    @property
    def product(self) -> float:
        """Σ ε_i: the record level of independent randomisation."""
        return math.fsum(self.epsilons)

    @cached_property
    def exact_eigenvalues(self) -> tuple[Fraction, ...]:
        """λ_i of integer weights that meet ε_i within 1e-9 and never exceed it."""
        known: dict[tuple[int, float], Fraction] = {}
        for pair in zip(self.sizes, self.epsilons, strict=True):
            if pair not in known:
                keep, other, total = keep_and_other(*pair)
                known[pair] = Fraction(keep - other, total)
        return tuple(known[pair] for pair in zip(self.sizes, self.epsilons, strict=True))

    @cached_property
    def groups(self) -> tuple[int, ...]:
        """Attributes with the same size and level share a group, numbered in order of appearance."""
        numbers: dict[tuple[int, float], int] = {}
        return tuple(numbers.setdefault(pair, len(numbers)) for pair in zip(self.sizes, self.epsilons, strict=True))

    def merged(self) -> Request:
        """Levels that agree to 1e-8 become one, the smallest, so that their attributes are interchangeable."""
        levels = np.array(self.epsilons)
        order = np.lexsort((levels, self.a))
        least, size = 0.0, 0
        for i in order:
            if self.sizes[i] != size or levels[i] > least * (1 + _SAME_LEVEL):
                least, size = float(levels[i]), self.sizes[i]
            levels[i] = least
        return Request(self.sizes, tuple(levels.tolist()))


def checked_sizes(values: Sequence[Any]) -> tuple[int, ...]:
    """Whole numbers of at least two."""
    if not 1 <= len(values) <= MAX_ATTRIBUTES:
        raise DesignError(f"there must be between 1 and {MAX_ATTRIBUTES:,} attributes, not {len(values):,}")
    return tuple(
        arguments.whole(size, f"sizes[{i}]", DesignError, least=2, most=MAX_VALUES) for i, size in enumerate(values)
    )


def checked_levels(values: Sequence[Any], name: str) -> tuple[float, ...]:
    """Finite numbers above zero."""
    return tuple(arguments.number(value, f"{name}[{i}]", PrivacyError, above=0) for i, value in enumerate(values))
