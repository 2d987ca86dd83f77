"""Several numbers of a person, of which one is reported: drawn at random, with the whole of ε."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet import arguments
from discreet.arguments import Floats
from discreet.errors import DomainError, ManifestError, MechanismError
from discreet.mechanisms.base import RecordMechanism, stored_int
from discreet.mechanisms.exact_integers import weight
from discreet.mechanisms.unbiased import UnbiasedResponse
from discreet.privacy import Guarantee
from discreet.privacy.bounds import round_up
from discreet.randomness import Randomness, resolve

#: Chances are whole multiples of 2 to minus this.
CHANCE_BITS = 32


@dataclass(frozen=True, init=False, repr=False)
class OneNumberResponse(RecordMechanism):
    """One number of a record, drawn at random, goes through its unbiased channel; the others are not reported.

    Which number it is depends on chance alone and is published. A record is therefore protected as one number is:
    whoever sees a report has learned ``max_i ε_i`` at most, whatever the other numbers are.

    Parameters
    ----------
    parts : sequence of UnbiasedResponse
        One per number, at least two.
    chances : sequence of int
        How often each is drawn, over 2³²: above 0, and summing to it.

    Examples
    --------
    >>> coin = UnbiasedResponse([[3, 1], [1, 3]], points=[0, 1], values=[-0.5, 1.5])
    >>> both = OneNumberResponse([coin, coin], [1 << 31, 1 << 31])
    >>> both.guarantee.epsilon == coin.guarantee.epsilon, both.guarantee.unit
    (True, 'record')
    >>> int(np.isnan(both.privatize([[0, 1]] * 100)).sum())
    100
    """

    parts: tuple[UnbiasedResponse, ...]
    chances: tuple[int, ...]

    kind: ClassVar[str] = "one-number"

    def __init__(self, parts: Sequence[UnbiasedResponse], chances: Sequence[int]) -> None:
        given = arguments.listed(parts, "parts", MechanismError)
        if len(given) < 2 or not all(isinstance(part, UnbiasedResponse) for part in given):
            raise MechanismError("one number of several needs at least two parts, each an UnbiasedResponse")
        shares = [weight(chance, "a chance") for chance in arguments.listed(chances, "chances", MechanismError)]
        if len(shares) != len(given) or min(shares) < 1 or sum(shares) != 1 << CHANCE_BITS:
            raise MechanismError(f"chances must be {len(given)} whole numbers above 0 that sum to 2^{CHANCE_BITS}")
        object.__setattr__(self, "parts", tuple(given))
        object.__setattr__(self, "chances", tuple(shares))

    def __repr__(self) -> str:
        return f"OneNumberResponse({list(self.parts)!r}, {list(self.chances)!r})"

    @property
    def title(self) -> str:
        """What people call it."""
        return "one unbiased number per person"

    @property
    def dimension(self) -> int:
        """How many numbers there are."""
        return len(self.parts)

    @property
    def shares(self) -> Floats:
        """The chance of each number."""
        return np.array(self.chances) / (1 << CHANCE_BITS)

    @property
    def guarantee(self) -> Guarantee:
        """About a record: ε of the number that is protected least; δ and exposure as often as each number is drawn."""
        each = [part.guarantee for part in self.parts]

        def drawn(figures: Iterable[float]) -> float:
            shares = zip(self.chances, figures, strict=True)
            return round_up(sum((chance * Fraction(x) for chance, x in shares), Fraction(0)) / (1 << CHANCE_BITS))

        return Guarantee(
            max(one.epsilon for one in each),
            drawn(one.delta for one in each),
            "record",
            drawn(one.exposure for one in each),
            tuple(dict.fromkeys(caveat for one in each for caveat in one.caveats)),
        )

    def view(self, *columns: int) -> UnbiasedResponse:
        """What one number goes through where it is drawn; no two are ever reported together."""
        if len(columns) != 1:
            raise MechanismError("everybody reports one number, so that there is no channel of several")
        return self.parts[arguments.whole(columns[0], "column", MechanismError, least=0, most=self.dimension - 1)]

    def drawn(self, count: int, randomness: Randomness) -> NDArray[np.intp]:
        """Which number each of so many people reports."""
        edges = np.array(list(accumulate(self.chances)), np.uint64)
        return np.searchsorted(edges, randomness.words(count) >> np.uint64(64 - CHANCE_BITS), side="right")

    def privatize(self, x: ArrayLike, randomness: Randomness | None = None) -> Floats:
        """Reported numbers of an (n, d) array of true ones; nan where a number was not drawn."""
        source = resolve(randomness)
        rows = arguments.floats(x, "numbers", DomainError, dimensions=2, finite=False)
        if rows.shape[1] != self.dimension:
            raise DomainError(f"a table of {self.dimension} columns of numbers is needed, not of {rows.shape[1]}")
        out = np.empty(rows.shape)
        for j, part in enumerate(self.parts):
            out[:, j] = part.values[part.privatize(part.round(rows[:, j], source), source)]
        out[np.arange(self.dimension) != self.drawn(len(rows), source)[:, None]] = np.nan
        return out

    def to_dict(self) -> dict[str, Any]:
        """The chances, and every part with its integers."""
        return {
            "kind": self.kind,
            "chances": [str(chance) for chance in self.chances],
            "parts": [part.to_dict() for part in self.parts],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild from the integers."""
        chances, parts = data.get("chances"), data.get("parts")
        if not isinstance(chances, list) or not isinstance(parts, list):
            raise ManifestError('the choice of one number in the manifest is damaged: it needs "chances" and "parts"')
        try:
            return cls(
                [UnbiasedResponse.from_dict(part) for part in parts],
                [stored_int({"chance": chance}, "chance") for chance in chances],
            )
        except (MechanismError, AttributeError, TypeError) as error:
            raise ManifestError(f"the choice of one number in the manifest is damaged ({error})") from None
