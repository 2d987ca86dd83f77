"""Which cyclic design is best for so many values at a privacy level."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import count
from typing import NamedTuple

from discreet.mechanisms.cyclic.difference_sets import (
    MAX_ORDER,
    MIN_ORDER,
    DifferenceSet,
    PaleySet,
    SingerSet,
    is_prime,
    prime_factors,
)

#: Largest q with a projective plane that is small enough: q² + q + 1 ≤ 2^26.
_MAX_FIELD = 8_191


def summed_variance(size: int, ratio: float, order: int, block: int) -> float:
    """The variances of all k frequencies together, times n, when all values are equally frequent.

    Centred estimates have ``E[N_Y(k − N_Y)]/(k(P − Q)²)``, N_y the number of the k shifts that hold the report y. Its
    first two moments over all y follow from the design (every shift has s elements, any two share λ); the third,
    which only shifts of more than two truths know, is taken as that of a symmetric law. For k = v the figure is exact.

    Parameters
    ----------
    size : int
        k.
    ratio : float
        high/low, about e^ε.
    order, block : int
        v and s.
    """
    overlap = block * (block - 1) / (order - 1)
    total = block * ratio + order - block
    gap = (block - overlap) * (ratio - 1) / total
    mean = size * block / order
    spread = max((size * block + size * (size - 1) * overlap) / order - mean**2, 0.0)
    # E over reports, of which y has the chance (1 + (ratio − 1)N_y/k)/total.
    flat = mean * size - mean**2 - spread
    third = mean**3 + 3 * mean * spread
    tilted = (mean**2 + spread) * size - third
    return order * (flat + (ratio - 1) * tilted / size) / (total * size * gap**2)


def rare_variance(ratio: float, order: int, block: int) -> float:
    """The variance of the frequency of a value that hardly occurs, times n: ``Q(1 − Q)/(P − Q)²``."""
    overlap = block * (block - 1) / (order - 1)
    total = block * ratio + order - block
    other = (overlap * ratio + block - overlap) / total
    gap = (block - overlap) * (ratio - 1) / total
    return other * (1 - other) / gap**2


def prime_powers(limit: int) -> Iterator[tuple[int, int]]:
    """(prime, power) of every prime power up to a limit, in order."""
    for q in range(2, limit + 1):
        factors = prime_factors(q)
        if len(factors) == 1:
            power = next(m for m in count(1) if factors[0] ** m == q)
            yield factors[0], power


@lru_cache(maxsize=1)
def _fields() -> tuple[tuple[int, int], ...]:
    return tuple(prime_powers(_MAX_FIELD))


class Candidate(NamedTuple):
    """A design that is not built yet: v, s, and for Singer's sets (prime, power, dimension)."""

    order: int
    block: int
    space: tuple[int, int, int] | None = None

    def design(self) -> DifferenceSet:
        """The difference set itself."""
        return PaleySet(self.order) if self.space is None else SingerSet(*self.space)


def candidates(size: int) -> Iterator[Candidate]:
    """The smallest design with v ≥ size of every family: one of Paley, one of Singer for each q."""
    paley = next(n for n in count(max(size, MIN_ORDER)) if n % 4 == 3 and is_prime(n))
    yield Candidate(paley, (paley - 1) // 2)
    for prime, power in _fields():
        q = prime**power
        dimension = next(t for t in count(2) if (q ** (t + 1) - 1) // (q - 1) >= size)
        order = (q ** (dimension + 1) - 1) // (q - 1)
        if order <= MAX_ORDER:
            yield Candidate(order, (q**dimension - 1) // (q - 1), (prime, power, dimension))


@lru_cache(maxsize=256)
def best_design(size: int, ratio: float, *, rare: bool = False) -> DifferenceSet:
    """The design of least summed variance at equally frequent values, or for rare ones; of equal ones the smallest."""

    def variance(one: Candidate) -> tuple[float, int]:
        if rare:
            return rare_variance(ratio, one.order, one.block), one.order
        return summed_variance(size, ratio, one.order, one.block), one.order

    return min(candidates(size), key=variance).design()
