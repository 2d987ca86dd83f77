"""What is asked for: numbers of values and marginal levels, checked once, with everything that follows from them.

Which tables of several attributes a joint design keeps at least as informative as independent randomisation.

With χ_i = (a_i B_i − 1)/(a_i − 1) and λ_S = E[Π_{i∈S} χ_i] under the mechanism, what is known of how the attributes of
S go together shrinks by λ_S; under independent randomisation by Π λ_i. A table of S needs every part of S, so that
keeping it means λ_T ≥ Π_{i∈T} λ_i for all T ⊆ S with at least two attributes: linear constraints.
"""

from __future__ import annotations

import itertools
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
from discreet.mechanisms.exact_integers import keep_and_other
from discreet.mechanisms.joint.law import MAX_ATTRIBUTES, MAX_VALUES

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


Tables = tuple[tuple[int, ...], ...]
#: What can be kept by one word: every table of so many attributes.
WORDS = {"free": 1, "keep": 2, "triples": 3}
#: Rows of the programme times cells: beyond, it takes minutes and gigabytes.
_MAX_ENTRIES = 4_000_000


def checked_pairs(given: Any, count: int) -> str | Tables:
    """One of the words, or tables by the positions of their attributes."""
    if isinstance(given, str):
        return arguments.choice(given, "pairs", tuple(WORDS), DesignError)
    tables = arguments.listed(given, "pairs", DesignError)
    if not tables:
        raise DesignError('pairs must be "keep", "free", "triples" or a list of tables, each a list of attributes')
    return tuple(_checked_table(table, f"pairs[{i}]", count) for i, table in enumerate(tables))


def _checked_table(given: Any, name: str, count: int) -> tuple[int, ...]:
    listed = arguments.listed(given, name, DesignError)
    table = [arguments.whole(i, f"an attribute of {name}", DesignError, least=0, most=count - 1) for i in listed]
    if len(table) < 2 or len(set(table)) < len(table):
        raise DesignError(f"{name} must name at least two different attributes, from 0 to {count - 1}")
    return tuple(sorted(table))


def kept_groups(request: Request, pairs: str | Tables) -> tuple[tuple[int, ...], Tables]:
    """The group of every attribute, and the kinds of tables to keep by groups.

    Attributes that are asked for alike share a group, unless tables are named: then each stands for itself.
    """
    if isinstance(pairs, str):
        groups = request.groups
        members = [groups.count(g) for g in range(max(groups) + 1)]
        kinds = [
            kind
            for size in range(2, WORDS[pairs] + 1)
            for kind in itertools.combinations_with_replacement(range(len(members)), size)
            if all(kind.count(g) <= members[g] for g in set(kind))
        ]
        return groups, tuple(kinds)
    parts = {
        part for table in pairs for size in range(2, len(table) + 1) for part in itertools.combinations(table, size)
    }
    return tuple(range(request.count)), tuple(sorted(parts, key=lambda part: (len(part), part)))


def refuse_too_large(kept: Sequence[Any], cells: int) -> None:
    """Say before any work is done that there are too many tables."""
    if len(kept) * cells > _MAX_ENTRIES:
        raise DesignError(
            f"keeping {len(kept):,} kinds of tables on {cells:,} patterns is over the limit of {_MAX_ENTRIES:,} "
            "entries: name the tables that matter, such as pairs = [(0, 1, 2)], or take fewer attributes"
        )
