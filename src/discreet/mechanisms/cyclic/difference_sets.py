"""Cyclic difference sets: s numbers modulo v whose differences give every non-zero number equally often, λ times.

The shifts ``x + D`` of such a set are the blocks of a symmetric design: each has s elements, and any two share λ.

Finite fields, as far as Singer's difference sets need them: primitive polynomials and their linear recurrences.

A polynomial ``x^N − Σ_j c_j x^j`` over GF(p) is held as its feedback ``(c_0, …, c_{N−1})``. It is primitive when the
powers of x run through every non-zero element of GF(p^N), that is, when x has the order p^N − 1 (Lidl and Niederreiter
1997, chapter 3). The sequence ``u_{i+N} = Σ_j c_j u_{i+j}`` is then ``u_i = Tr(c x^i)`` for some c ≠ 0, Tr the trace
to GF(p) (chapter 8).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet import arguments
from discreet.errors import MechanismError

Polynomial = tuple[int, ...]

#: Terms worked out at once: the working arrays (1 MB) stay in the cache.
_CHUNK = 1 << 18
#: Terms by plain recurrence, per coefficient, before blocks are doubled.
_WARM_UP = 8


def prime_factors(number: int) -> tuple[int, ...]:
    """The different primes that divide a number, by trial division.

    >>> prime_factors(2**12 - 1)
    (3, 5, 7, 13)
    """
    found, rest, divisor = [], number, 2
    while divisor * divisor <= rest:
        if rest % divisor == 0:
            found.append(divisor)
            while rest % divisor == 0:
                rest //= divisor
        divisor += 1 if divisor == 2 else 2
    if rest > 1:
        found.append(rest)
    return tuple(found)


def is_prime(number: int) -> bool:
    """Whether a number is prime."""
    return number > 1 and prime_factors(number) == (number,)


def power_of_x(exponent: int, feedback: Polynomial, p: int) -> Polynomial:
    """The coefficients of x^exponent modulo the polynomial, the constant first."""
    result = [1] + [0] * (len(feedback) - 1)
    for bit in bin(exponent)[2:]:
        result = _reduced(_square(result, p), feedback, p)
        if bit == "1":
            result = _reduced([0, *result], feedback, p)
    return tuple(result)


def _square(a: list[int], p: int) -> list[int]:
    product = [0] * (2 * len(a) - 1)
    for i, one in enumerate(a):
        if one:
            for j, other in enumerate(a):
                product[i + j] += one * other
    return [value % p for value in product]


def _reduced(a: list[int], feedback: Polynomial, p: int) -> list[int]:
    """Replace x^N by its feedback until the degree is below N."""
    degree = len(feedback)
    while len(a) > degree:
        top = a.pop() % p
        if top:
            offset = len(a) - degree
            for j, c in enumerate(feedback):
                a[offset + j] += top * c
    return [value % p for value in a]


def is_primitive(feedback: Polynomial, p: int) -> bool:
    """Whether x has the order p^N − 1 modulo the polynomial; then the polynomial is irreducible, too."""
    degree = len(feedback)
    order = p**degree - 1
    one = (1,) + (0,) * (degree - 1)
    # The product of the roots, (−1)^(N+1)·c_0, must generate GF(p)*: a cheap test that rules most out.
    product = (-1) ** (degree + 1) * feedback[0] % p
    if product == 0 or any(pow(product, (p - 1) // r, p) == 1 for r in prime_factors(p - 1)):
        return False
    if power_of_x(order, feedback, p) != one:
        return False
    return all(power_of_x(order // r, feedback, p) != one for r in _order_factors(p, degree))


@lru_cache(maxsize=64)
def _order_factors(p: int, degree: int) -> tuple[int, ...]:
    return prime_factors(p**degree - 1)


@lru_cache(maxsize=256)
def primitive_polynomial(p: int, degree: int) -> Polynomial:
    """The first primitive polynomial of degree N ≥ 2 over GF(p), in the order of ``Σ c_j p^j`` from p + 1 on.

    About one in N·(p^N − 1)/φ(p^N − 1) polynomials is primitive, so that few are tried.

    >>> primitive_polynomial(2, 4)             # x⁴ = x + 1
    (1, 1, 0, 0)
    """
    for number in range(p + 1, p**degree):
        digits, rest = [], number
        for _ in range(degree):
            rest, digit = divmod(rest, p)
            digits.append(digit)
        if is_primitive(tuple(digits), p):
            return tuple(digits)
    raise AssertionError("a primitive polynomial exists for every degree")


def recurrence(feedback: Polynomial, p: int, start: int, count: int) -> NDArray[np.uint16]:
    """Terms start … start + count − 1 of the sequence that begins with N − 1 zeros and a one.

    ``x^m = Σ_j a_j x^j`` modulo the polynomial means ``u_{i+m} = Σ_j a_j u_{i+j}``. So any term follows from the first
    2N, and a block of m terms gives the next m with N multiplications of whole arrays.
    """
    degree = len(feedback)
    terms = [0] * (degree - 1) + [1]
    while len(terms) < 2 * degree:
        terms.append(sum(c * u for c, u in zip(feedback, terms[-degree:], strict=True)) % p)
    jump = power_of_x(start, feedback, p)
    block = [sum(a * terms[i + j] for j, a in enumerate(jump)) % p for i in range(degree)]
    while len(block) < min(count, _WARM_UP * degree):
        block.append(sum(c * u for c, u in zip(feedback, block[-degree:], strict=True)) % p)
    out = np.empty(max(count, len(block)), np.uint16)
    known = len(block)
    out[:known] = block
    while known < count:
        jump = power_of_x(known, feedback, p)
        fresh = min(known - degree + 1, count - known)
        for first in range(0, fresh, _CHUNK):
            last = min(first + _CHUNK, fresh)
            # Products stay below p² ≤ 2^26 and there are at most 36 of small p: 32 bits hold their sum.
            total = np.zeros(last - first, np.uint32)
            for j, a in enumerate(jump):
                if a:
                    total += np.uint32(a) * out[first + j : last + j]
            out[known + first : known + last] = total % np.uint32(p)
        known += fresh
    return out[:count]


#: Largest order v: exact uniform draws end there.
MAX_ORDER = 1 << 26
#: Smallest order of a set with λ ≥ 1: below it there are only single elements, which is generalised response.
MIN_ORDER = 7

Ints = NDArray[np.int32]


class DifferenceSet(ABC):
    """A (v, s, λ) difference set in the integers modulo v; a frozen value, its elements worked out when needed."""

    #: The name under which a manifest knows this family. It never changes.
    kind: ClassVar[str]

    @property
    @abstractmethod
    def order(self) -> int:
        """The modulus v."""

    @property
    @abstractmethod
    def block(self) -> int:
        """Number of elements s."""

    @property
    def overlap(self) -> int:
        """How often every non-zero difference occurs: ``λ = s(s − 1)/(v − 1)``."""
        return self.block * (self.block - 1) // (self.order - 1)

    @property
    def elements(self) -> Ints:
        """The s elements in order; not to be written to."""
        return _elements(self)

    @abstractmethod
    def build(self) -> Ints:
        """Work the elements out."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The parameters that determine the set."""

    @abstractmethod
    def describe(self) -> str:
        """A few words for people."""


@lru_cache(maxsize=4)  # equal designs share their elements; the largest has 130 MB
def _elements(one: DifferenceSet) -> Ints:
    elements = one.build()
    if elements.size != one.block:
        raise AssertionError(f"{one!r} has {elements.size} elements, not {one.block}")
    elements.flags.writeable = False
    return elements


@dataclass(frozen=True)
class SingerSet(DifferenceSet):
    """Singer's difference set of the hyperplanes of a projective space (Singer 1938).

    With q = prime^power and α a root of the primitive polynomial, D holds the i below ``v = (q^{t+1} − 1)/(q − 1)``
    for which α^i lies in a hyperplane of GF(q^{t+1}) over GF(q): ``s = (q^t − 1)/(q − 1)`` of them, and
    ``λ = (q^{t−1} − 1)/(q − 1)``.

    Parameters
    ----------
    prime, power : int
        q = prime^power.
    dimension : int
        t ≥ 2, the dimension of the space.
    polynomial : tuple of int, optional
        The feedback (c_0, …, c_{N−1}) of a primitive polynomial ``x^N = Σ c_j x^j`` over GF(prime) of degree
        N = power·(t + 1); by default the first one. Other polynomials give other sets.

    Examples
    --------
    >>> SingerSet(3, 1, 2).elements
    array([0, 1, 3, 9], dtype=int32)
    """

    prime: int
    power: int
    dimension: int
    polynomial: Polynomial = ()

    kind: ClassVar[str] = "singer"

    def __post_init__(self) -> None:
        prime = arguments.whole(self.prime, "the prime of a Singer set", MechanismError, least=2, most=8_191)
        power = arguments.whole(self.power, "the power of a Singer set", MechanismError, least=1, most=26)
        dimension = arguments.whole(self.dimension, "the dimension of a Singer set", MechanismError, least=2, most=25)
        if not is_prime(prime):
            raise MechanismError(f"a Singer set needs a prime, not {prime}")
        object.__setattr__(self, "prime", prime)
        object.__setattr__(self, "power", power)
        object.__setattr__(self, "dimension", dimension)
        if self.order > MAX_ORDER:
            raise MechanismError(f"a Singer set goes up to {MAX_ORDER:,} reports, not {self.order:,}")
        object.__setattr__(
            self, "polynomial", self._checked(arguments.listed(self.polynomial, "the polynomial", MechanismError))
        )

    def _checked(self, given: list[Any]) -> Polynomial:
        degree = self.power * (self.dimension + 1)
        if not given:
            return primitive_polynomial(self.prime, degree)
        name = "a coefficient of the polynomial"
        found = tuple(arguments.whole(c, name, MechanismError, least=0, most=self.prime - 1) for c in given)
        if len(found) != degree or not is_primitive(found, self.prime):
            raise MechanismError(f"the polynomial of a Singer set must be primitive, of degree {degree}")
        return found

    @property
    def field(self) -> int:
        """The number q of elements of the field."""
        return int(self.prime**self.power)

    @property
    def order(self) -> int:
        """``(q^{t+1} − 1)/(q − 1)``: the points of the space."""
        return int(self.field ** (self.dimension + 1) - 1) // (self.field - 1)

    @property
    def block(self) -> int:
        """``(q^t − 1)/(q − 1)``: the points of a hyperplane."""
        return int(self.field**self.dimension - 1) // (self.field - 1)

    def build(self) -> Ints:
        """The i with ``u_i = u_{i+v} = … = u_{i+(power−1)v} = 0`` for the recurrence u of the polynomial.

        u_i = Tr(cα^i), the trace to GF(p). As α^v generates GF(q) over GF(p), all of these vanish exactly when the
        trace of cα^i to GF(q) does.
        """
        inside = np.ones(self.order, bool)
        for j in range(self.power):
            inside &= recurrence(self.polynomial, self.prime, j * self.order, self.order) == 0
        return np.flatnonzero(inside).astype(np.int32)

    def to_dict(self) -> dict[str, Any]:
        """Prime, power, dimension and the polynomial."""
        return {
            "kind": self.kind,
            "prime": self.prime,
            "power": self.power,
            "dimension": self.dimension,
            "polynomial": list(self.polynomial),
        }

    def describe(self) -> str:
        """A few words for people."""
        return f"Singer design of {self.order:,} reports, q = {self.field}"


@dataclass(frozen=True)
class PaleySet(DifferenceSet):
    """The squares modulo a prime v that leaves 3 when divided by 4: ``s = (v − 1)/2``, ``λ = (v − 3)/4`` (Paley 1933).

    Examples
    --------
    >>> PaleySet(11).elements
    array([1, 3, 4, 5, 9], dtype=int32)
    """

    prime: int

    kind: ClassVar[str] = "paley"

    def __post_init__(self) -> None:
        prime = arguments.whole(self.prime, "the prime of a Paley set", MechanismError, least=MIN_ORDER, most=MAX_ORDER)
        if prime % 4 != 3 or not is_prime(prime):
            raise MechanismError(f"a Paley set needs a prime that leaves 3 when divided by 4, not {prime}")
        object.__setattr__(self, "prime", prime)

    @property
    def order(self) -> int:
        """The prime."""
        return self.prime

    @property
    def block(self) -> int:
        """Half of the non-zero numbers."""
        return (self.prime - 1) // 2

    def build(self) -> Ints:
        """The squares, each from one of its two roots."""
        roots = np.arange(1, self.block + 1, dtype=np.int64)
        return np.sort(roots * roots % self.prime).astype(np.int32)

    def to_dict(self) -> dict[str, Any]:
        """The prime."""
        return {"kind": self.kind, "prime": self.prime}

    def describe(self) -> str:
        """A few words for people."""
        return f"Paley design of {self.order:,} reports"


def difference_set(data: Any) -> DifferenceSet:
    """Rebuild a set from its parameters."""
    if isinstance(data, Mapping) and data.get("kind") == SingerSet.kind:
        polynomial = data.get("polynomial")
        if not polynomial:
            raise MechanismError("the polynomial of a Singer set is missing")
        return SingerSet(data.get("prime"), data.get("power"), data.get("dimension"), polynomial)  # type: ignore[arg-type]
    if isinstance(data, Mapping) and data.get("kind") == PaleySet.kind:
        return PaleySet(data.get("prime"))  # type: ignore[arg-type]
    raise MechanismError("it names a family of designs that this version does not know")
