"""Every attribute on its own: the Kronecker product of generalised randomised responses."""

from __future__ import annotations

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
    bernoulli_columns,
    bits_of,
    checked_subset,
    stored_integers,
)
from discreet.privacy.bounds import log_bounds, round_up
from discreet.randomness import Randomness


@dataclass(frozen=True)
class ProductLaw(Law):
    """Independent attributes: ``keep[i]/other[i]`` is the odds ratio of attribute i, and ε adds up."""

    sizes: tuple[int, ...]
    keep: tuple[int, ...]
    other: tuple[int, ...]

    kind: ClassVar[str] = "product"

    def __post_init__(self) -> None:
        if not len(self.sizes) == len(self.keep) == len(self.other):
            raise MechanismError("a product needs the weights keep and other for every attribute")
        if any(not keep > other > 0 for keep, other in zip(self.keep, self.other, strict=True)):
            raise MechanismError("a product needs weights keep > other > 0")

    @cached_property
    def _rates(self) -> tuple[Fraction, ...]:
        triples = zip(self.sizes, self.keep, self.other, strict=True)
        return tuple(Fraction(keep, keep + (size - 1) * other) for size, keep, other in triples)

    def record_epsilon(self) -> float:
        """Σ ln(keep/other), rounded up."""
        known: dict[Fraction, Fraction] = {}
        total = Fraction(0)
        for keep, other in zip(self.keep, self.other, strict=True):
            ratio = Fraction(keep, other)
            if ratio not in known:
                known[ratio] = log_bounds(ratio)[1]
            total += known[ratio]
        return round_up(total)

    def truth_rates(self) -> TruthRates:
        """Keep/(keep + (a − 1)·other)."""
        return TruthRates(self._rates, (Fraction(0),) * len(self.sizes))

    def subset(self, attributes: Sequence[int]) -> tuple[Fraction, ...]:
        """Products of the rates."""
        chosen = checked_subset(attributes, len(self.sizes))
        out = []
        for pattern in range(1 << len(chosen)):
            chance = Fraction(1)
            for i, bit in zip(chosen, bits_of(pattern, len(chosen)), strict=True):
                chance *= self._rates[i] if bit else 1 - self._rates[i]
            out.append(chance)
        return tuple(out)

    def pair_rates(self, attributes: Sequence[int]) -> Floats:
        """Products of the rates."""
        rates = np.array([float(self._rates[i]) for i in attributes])
        pairs = np.outer(rates, rates)
        np.fill_diagonal(pairs, rates)
        return pairs

    def draw(self, count: int, randomness: Randomness) -> Patterns:
        """Independent columns."""
        return bernoulli_columns(self._rates, count, randomness)

    def to_dict(self) -> dict[str, Any]:
        """Keep and other of every attribute."""
        return {
            "kind": self.kind,
            "keep": [str(weight) for weight in self.keep],
            "other": [str(weight) for weight in self.other],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], sizes: tuple[int, ...]) -> Self:
        """Rebuild from the integers."""
        try:
            return cls(sizes, stored_integers(data, "keep", len(sizes)), stored_integers(data, "other", len(sizes)))
        except MechanismError as error:
            raise ManifestError(f"a joint response in the manifest is damaged ({error})") from None
