"""Generalised randomised response: the truth with probability p, any other value with equal probability."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

from numpy.typing import NDArray

from discreet import arguments
from discreet.errors import ManifestError, MechanismError
from discreet.mechanisms.base import stored_int
from discreet.mechanisms.exact_integers import checked_epsilon, keep_and_other, weight
from discreet.mechanisms.finite import FiniteMechanism
from discreet.mechanisms.inverse import Inverse, UniformInverse
from discreet.privacy.exact import Rows
from discreet.privacy.trade_off import Pair
from discreet.randomness import Coins, Randomness, chosen, uniform

#: Values a domain may have.
MAX_SIZE = 10_000_000


@dataclass(frozen=True, init=False, repr=False)
class GeneralizedResponse(FiniteMechanism):
    """k-ary randomised response on N values, in closed form: no N×N matrix is ever built.

    The truth is reported with weight ``keep``, every other value with weight ``other``;
    ``keep/other ≤ e^ε`` (Kairouz, Oh and Viswanath 2016).

    Parameters
    ----------
    size : int
        Number of values N, from 2 to 10⁷.
    epsilon : float
        The privacy level; the realised one is within 1e-9 of it and never above.

    Examples
    --------
    >>> mechanism = GeneralizedResponse(4, 1.0)
    >>> mechanism.matrix().round(4)[0]
    array([0.4754, 0.1749, 0.1749, 0.1749])
    >>> mechanism.guarantee.epsilon <= 1.0
    True
    """

    size: int
    keep: int
    other: int
    epsilon: float | None = field(default=None, init=False, compare=False)

    kind: ClassVar[str] = "generalized"

    def __init__(self, size: int, epsilon: float) -> None:
        size = _checked_size(size)
        keep, other, _ = keep_and_other(size, checked_epsilon(epsilon))
        self._set(size, keep, other)

    def _set(self, size: int, keep: int, other: int) -> None:
        object.__setattr__(self, "size", size)
        object.__setattr__(self, "keep", keep)
        object.__setattr__(self, "other", other)
        object.__setattr__(self, "epsilon", None)

    @classmethod
    def from_weights(cls, size: int, keep: int, other: int) -> Self:
        """From the two integers themselves."""
        size, keep, other = _checked_size(size), weight(keep, "keep"), weight(other, "other")
        if not keep > other >= 0:
            raise MechanismError("generalised response needs weights keep > other ≥ 0")
        mechanism = object.__new__(cls)
        mechanism._set(size, keep, other)
        return mechanism

    def __repr__(self) -> str:
        return f"GeneralizedResponse.from_weights({self.size}, {self.keep}, {self.other})"

    @property
    def shape(self) -> tuple[int, int]:
        """(N, N)."""
        return self.size, self.size

    @property
    def denominator(self) -> int:
        """Keep + (N − 1)·other."""
        return self.keep + (self.size - 1) * self.other

    def _rows(self) -> Rows:
        return tuple((self.other,) * x + (self.keep,) + (self.other,) * (self.size - x - 1) for x in range(self.size))

    def report_at(self, code: int, place: int) -> int:
        """``code`` others, the truth, and the others again."""
        if place < code * self.other:
            return place // self.other
        beyond = place - code * self.other - self.keep
        return code if beyond < 0 else code + 1 + beyond // self.other

    def row_pairs(self) -> tuple[Pair, ...]:
        """Any two truths look alike: one pair stands for all, the other N − 2 reports merged."""
        return (Pair.of_two_weights(self.keep, self.other, 1, 0, self.size),)

    def exposure(self) -> Fraction:
        """Certain only when nothing else is ever reported."""
        return Fraction(1 if self.other == 0 else 0)

    @cached_property
    def inverse(self) -> Inverse:
        """``f = (p − other/d) / ((keep − other)/d)`` for every value."""
        gap = self.keep - self.other
        return UniformInverse(self.size, self.denominator / gap, -self.other / gap)

    @cached_property
    def _keep_excess(self) -> Coins:
        """The truth is certain with probability (keep − other)/d; else the answer is uniform on all N."""
        return Coins([self.keep - self.other], self.denominator)

    def _sample(self, codes: NDArray[Any], randomness: Randomness) -> NDArray[Any]:
        other = uniform(self.size, codes.size, randomness, self.report_dtype)
        return chosen(self._keep_excess.toss(codes.size, randomness), codes, other)

    def to_dict(self) -> dict[str, Any]:
        """Closed form: size, keep, other."""
        return {"kind": self.kind, "size": self.size, "keep": str(self.keep), "other": str(self.other)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild from the integers."""
        try:
            return cls.from_weights(data["size"], stored_int(data, "keep"), stored_int(data, "other"))
        except (KeyError, MechanismError) as error:
            raise ManifestError(f"a generalised response in the manifest is damaged ({error})") from None


def _checked_size(size: int) -> int:
    return arguments.whole(size, "size", MechanismError, least=2, most=MAX_SIZE)
