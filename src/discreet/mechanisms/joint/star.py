"""The whole truth, the truth but for one attribute, or a uniformly random answer.

The form of the inductive heuristic (Yamamoto and Shibuya 2024, Algorithm 3): every answer that differs in two or
more attributes is equally likely.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from discreet.arguments import Floats
from discreet.errors import ManifestError, MechanismError
from discreet.mechanisms.base import stored_int
from discreet.mechanisms.joint.law import (
    Law,
    Patterns,
    TruthRates,
    bits_of,
    checked_subset,
    choose_cells,
    draw_uniform_patterns,
    stored_integers,
    uniform_pattern,
)
from discreet.privacy.bounds import log_bounds, round_up
from discreet.randomness import Randomness


@dataclass(frozen=True)
class StarLaw(Law):
    """Integer weights of the uniform answer, of the whole truth, and of the truth but for attribute i."""

    sizes: tuple[int, ...]
    uniform: int
    truth: int
    single: tuple[int, ...]

    kind: ClassVar[str] = "star"

    def __post_init__(self) -> None:
        if len(self.single) != len(self.sizes):
            raise MechanismError("a weight is needed for every attribute that can differ alone")
        if self.uniform <= 0 or self.truth < 0 or min(self.single) < 0:
            raise MechanismError("the uniform answer needs a positive weight, the others one ≥ 0")

    @cached_property
    def _total(self) -> int:
        return self.uniform + self.truth + sum(self.single)

    def record_epsilon(self) -> float:
        """``ln(1 + Π a_i · max(truth, single_i/(a_i − 1))/uniform)``, rounded up, in logarithms."""
        pairs = zip(self.sizes, self.single, strict=True)
        peak = max([Fraction(self.truth), *(Fraction(weight, size - 1) for size, weight in pairs)])
        if not peak:
            return 0.0
        answers = sum((log_bounds(Fraction(a))[1] * n for a, n in Counter(self.sizes).items()), Fraction(0))
        if answers < 500:
            exact = Fraction(1)
            for size in self.sizes:
                exact *= size
            return round_up(log_bounds(1 + exact * peak / self.uniform)[1])
        # ln(1 + z) ≤ ln z + 1/z, and z is above e^400 here unless the weight is absurdly small; ≤ max(ln z, 0) + ln 2.
        log_z = answers + log_bounds(peak / self.uniform)[1]
        return round_up(log_z + Fraction(1, 10**80) if log_z > 200 else max(log_z, Fraction(0)) + 1)

    def truth_rates(self) -> TruthRates:
        """``(uniform/a_i + everything else − single_i)/total``."""
        rest = self._total - self.uniform
        rates = tuple(
            (Fraction(self.uniform, size) + rest - weight) / self._total
            for size, weight in zip(self.sizes, self.single, strict=True)
        )
        return TruthRates(rates, (Fraction(0),) * len(self.sizes))

    def subset(self, attributes: Sequence[int]) -> tuple[Fraction, ...]:
        """The uniform part is independent; in the rest at most one attribute is not truthful."""
        chosen = checked_subset(attributes, len(self.sizes))
        sizes = [self.sizes[i] for i in chosen]
        own = sum(self.single[i] for i in chosen)
        out = []
        for pattern in range(1 << len(chosen)):
            bits = bits_of(pattern, len(chosen))
            weight = self.uniform * uniform_pattern(sizes, bits)
            if all(bits):
                weight += self._total - self.uniform - own
            elif sum(bits) == len(bits) - 1:
                weight += self.single[chosen[bits.index(0)]]
            out.append(weight / self._total)
        return tuple(out)

    def pair_rates(self, attributes: Sequence[int]) -> Floats:
        """``uniform/(a_i a_j) + rest − single_i − single_j``."""
        inverse = np.array([1 / self.sizes[i] for i in attributes])
        single = np.array([float(Fraction(self.single[i], self._total)) for i in attributes])
        mixed = float(Fraction(self.uniform, self._total))
        pairs = mixed * np.outer(inverse, inverse) + (1 - mixed) - single[:, None] - single[None, :]
        np.fill_diagonal(pairs, mixed * inverse + (1 - mixed) - single)
        return np.asarray(pairs)

    def draw(self, count: int, randomness: Randomness) -> Patterns:
        """Which of the three first."""
        which = choose_cells((self.uniform, self.truth, *self.single), count, randomness)
        out = np.ones((count, len(self.sizes)), bool)
        uniform = np.flatnonzero(which == 0)
        out[uniform] = draw_uniform_patterns(self.sizes, uniform.size, randomness)
        single = np.flatnonzero(which >= 2)
        out[single, which[single] - 2] = False
        return out

    def to_dict(self) -> dict[str, Any]:
        """The weights."""
        return {
            "kind": self.kind,
            "uniform": str(self.uniform),
            "truth": str(self.truth),
            "single": [str(weight) for weight in self.single],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], sizes: tuple[int, ...]) -> Self:
        """Rebuild from the integers."""
        try:
            single = stored_integers(data, "single", len(sizes))
            return cls(sizes, stored_int(data, "uniform"), stored_int(data, "truth"), single)
        except MechanismError as error:
            raise ManifestError(f"a joint response in the manifest is damaged ({error})") from None
