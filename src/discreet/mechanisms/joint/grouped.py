"""A density that depends on how many attributes of each group are truthful.

Attributes of a group are interchangeable. With groups of one attribute each this is any density over the 2^k
patterns; with one group of k it is a function of a count, and k = 1,000 needs 1,001 numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from discreet.arguments import Floats
from discreet.errors import ManifestError, MechanismError
from discreet.mechanisms.joint.law import (
    Law,
    Patterns,
    TruthRates,
    bits_of,
    checked_subset,
    choose_cells,
    random_subsets,
    stored_integers,
)
from discreet.privacy.bounds import log_up
from discreet.randomness import Randomness

#: Cells (combinations of counts) that are written out: the 2^16 patterns of sixteen different attributes.
MAX_CELLS = 1 << 16


@dataclass(frozen=True)
class GroupedLaw(Law):
    """Integer densities by cell.

    Parameters
    ----------
    sizes : tuple of int
        Number of values of every attribute.
    groups : tuple of int
        The group of every attribute: 0, 1, … in order of first appearance; members have the same size.
    levels : tuple of int
        The different densities, all positive.
    cells : tuple of int
        For every cell the index of its density. Cells are counts (c_1, c_2, …), the last group running fastest,
        each from 0 to the number of members.
    """

    sizes: tuple[int, ...]
    groups: tuple[int, ...]
    levels: tuple[int, ...]
    cells: tuple[int, ...]

    kind: ClassVar[str] = "grouped"

    def __post_init__(self) -> None:
        seen = list(dict.fromkeys(self.groups))
        if len(self.groups) != len(self.sizes) or seen != list(range(len(seen))):
            raise MechanismError("groups must number the attributes 0, 1, … in order of first appearance")
        for group in seen:
            if len({self.sizes[i] for i in self.members[group]}) > 1:
                raise MechanismError("attributes of one group must have the same number of values")
        if math.prod(self.shape) != len(self.cells) or len(self.cells) > MAX_CELLS:
            raise MechanismError(f"{math.prod(self.shape)} cells are needed, at most {MAX_CELLS:,}")
        if not self.levels or min(self.levels) <= 0 or not all(0 <= c < len(self.levels) for c in self.cells):
            raise MechanismError("every cell needs a density, and densities must be positive")

    @cached_property
    def members(self) -> tuple[tuple[int, ...], ...]:
        """The attributes of every group."""
        count = max(self.groups) + 1
        found: list[list[int]] = [[] for _ in range(count)]
        for i, group in enumerate(self.groups):
            found[group].append(i)
        return tuple(tuple(group) for group in found)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Number of counts of every group."""
        return tuple(len(group) + 1 for group in self.members)

    @cached_property
    def _masses(self) -> tuple[int, ...]:
        """Number of answers in every cell, times its density."""
        per_group = []
        for group in self.members:
            n, a = len(group), self.sizes[group[0]]
            per_group.append([math.comb(n, c) * (a - 1) ** (n - c) for c in range(n + 1)])
        answers = [1]
        for counts in per_group:
            answers = [one * other for one in answers for other in counts]
        return tuple(answer * self.levels[cell] for answer, cell in zip(answers, self.cells, strict=True))

    @cached_property
    def _total(self) -> int:
        return sum(self._masses)

    @cached_property
    def _floats(self) -> Floats:
        """Probabilities of the cells, as an array over counts; sums of counts are exact to rounding."""
        total = self._total
        return np.array([_quotient(mass, total) for mass in self._masses]).reshape(self.shape)

    def record_epsilon(self) -> float:
        """ln(largest/smallest density), rounded up."""
        used = {self.levels[cell] for cell in set(self.cells)}
        return log_up(Fraction(max(used), min(used)))

    def truth_rates(self) -> TruthRates:
        """Mean counts over members, exactly."""
        rates = []
        masses = np.array(self._masses, dtype=object).reshape(self.shape)
        for axis, group in enumerate(self.members):
            others = tuple(i for i in range(len(self.shape)) if i != axis)
            by_count = masses.sum(axis=others) if others else masses
            truthful = sum(count * mass for count, mass in enumerate(by_count))
            rates.append(Fraction(truthful, len(group) * self._total))
        return TruthRates(tuple(rates[g] for g in self.groups), (Fraction(0),) * len(self.sizes))

    def subset(self, attributes: Sequence[int]) -> tuple[Fraction, ...]:
        """Hypergeometric within each group: which members are truthful is exchangeable."""
        chosen = checked_subset(attributes, len(self.sizes))
        involved = sorted({self.groups[i] for i in chosen})
        masses = np.array(self._masses, dtype=object).reshape(self.shape)
        others = tuple(axis for axis in range(len(self.shape)) if axis not in involved)
        collapsed = masses.sum(axis=others) if others else masses
        taken = [sum(self.groups[i] == group for i in chosen) for group in involved]
        out = []
        for pattern in range(1 << len(chosen)):
            bits = bits_of(pattern, len(chosen))
            table = collapsed
            scale = 1
            for group, m in zip(involved, taken, strict=True):
                n = len(self.members[group])
                t = sum(bit for i, bit in zip(chosen, bits, strict=True) if self.groups[i] == group)
                # C(n−m, c−t)/C(n, c) = falling factorials over n(n−1)…(n−m+1)
                factors = [_falling(c, t) * _falling(n - c, m - t) for c in range(n + 1)]
                scale *= _falling(n, m)
                table = np.tensordot(np.array(factors, dtype=object), table, axes=(0, 0))
            out.append(Fraction(int(table), scale * self._total))
        return tuple(out)

    def pair_rates(self, attributes: Sequence[int]) -> Floats:
        """By pair of groups."""
        count = len(self.members)
        between = np.zeros((count, count))
        within, rates = np.zeros(count), np.zeros(count)
        for g in range(count):
            counts_g = self._along(g)
            n = len(self.members[g])
            rates[g] = float(np.sum(self._floats * counts_g)) / n
            if n > 1:
                within[g] = float(np.sum(self._floats * counts_g * (counts_g - 1))) / (n * (n - 1))
            for h in range(g + 1, count):
                both = float(np.sum(self._floats * counts_g * self._along(h)))
                between[g, h] = between[h, g] = both / (n * len(self.members[h]))
        np.fill_diagonal(between, within)
        groups = np.array([self.groups[i] for i in attributes])
        pairs = between[np.ix_(groups, groups)]
        np.fill_diagonal(pairs, rates[groups])
        return np.asarray(pairs)

    def _along(self, axis: int) -> Floats:
        counts = np.arange(self.shape[axis], dtype=float)
        return counts.reshape([-1 if i == axis else 1 for i in range(len(self.shape))])

    def draw(self, count: int, randomness: Randomness) -> Patterns:
        """A cell first, then which members of each group are the truthful ones."""
        cells = choose_cells(self._masses, count, randomness)
        out = np.empty((count, len(self.sizes)), bool)
        for wanted, group in zip(np.unravel_index(cells, self.shape), self.members, strict=True):
            out[:, list(group)] = random_subsets(len(group), wanted, randomness)
        return out

    def to_dict(self) -> dict[str, Any]:
        """Densities, and which cell has which, as runs (index, length)."""
        runs: list[list[int]] = []
        for cell in self.cells:
            if runs and runs[-1][0] == cell:
                runs[-1][1] += 1
            else:
                runs.append([cell, 1])
        return {
            "kind": self.kind,
            "groups": list(self.groups),
            "levels": [str(level) for level in self.levels],
            "runs": runs,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], sizes: tuple[int, ...]) -> Self:
        """Rebuild from the integers."""
        try:
            runs = [(int(index), int(length)) for index, length in data["runs"]]
            if sum(length for _, length in runs) > MAX_CELLS or any(length < 1 for _, length in runs):
                raise MechanismError(f"more than {MAX_CELLS:,} cells")
            cells = tuple(index for index, length in runs for _ in range(length))
            return cls(sizes, tuple(int(g) for g in data["groups"]), stored_integers(data, "levels"), cells)
        except (KeyError, TypeError, ValueError) as error:
            raise ManifestError(f"a joint response in the manifest is damaged ({error})") from None


def _falling(n: int, m: int) -> int:
    return math.perm(n, m) if n >= 0 else 0


def _quotient(top: int, bottom: int) -> float:
    """top/bottom for integers of any length, 0 ≤ top ≤ bottom."""
    return float(Fraction(top, bottom)) if top else 0.0


def cells_of(densities: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Different densities and the index of each cell's."""
    levels = tuple(sorted(set(densities)))
    position = {level: i for i, level in enumerate(levels)}
    return levels, tuple(position[density] for density in densities)
