"""Finite fields, as far as Singer's difference sets need them: primitive polynomials and their linear recurrences.

A polynomial ``x^N − Σ_j c_j x^j`` over GF(p) is held as its feedback ``(c_0, …, c_{N−1})``. It is primitive when the
powers of x run through every non-zero element of GF(p^N), that is, when x has the order p^N − 1 (Lidl and Niederreiter
1997, chapter 3). The sequence ``u_{i+N} = Σ_j c_j u_{i+j}`` is then ``u_i = Tr(c x^i)`` for some c ≠ 0, Tr the trace
to GF(p) (chapter 8).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

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
