"""Mechanisms for large domains side by side: ``python -m experiments.large_domains``.

All figures are n times the variance of the frequency of a value that hardly occurs. Optimised unary encoding (OUE),
optimised local hashing (OLH): Wang, Blocki, Li and Jha (2017). Hadamard response with one bit: Acharya, Sun and Zhang
(2019). Subset selection: Ye and Barg (2018). Generalised response and cyclic designs are those of the package.
"""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.design.large_domains import frequencies, total_variance_bound
from discreet.mechanisms import CyclicResponse, GeneralizedResponse
from discreet.mechanisms.cyclic.choice import best_design

#: Privacy levels and domain sizes of the table.
SETTINGS = ((0.5, 1_000), (1.0, 100), (1.0, 1_000), (1.0, 10**6), (2.0, 1_000), (4.0, 100), (4.0, 10**5))
COLUMNS = ("ε", "values", "generalised", "OUE", "OLH", "Hadamard", "subset selection", "cyclic", "its reports", "M/k")


def from_supports(own: float, other: float) -> float:
    """``Q(1 − Q)/(P − Q)²``, for any mechanism whose reports support each value with probability P or Q."""
    return other * (1 - other) / (own - other) ** 2


def unary(epsilon: float) -> float:
    """OUE: a bit per value, a one kept with probability ½, a zero turned with 1/(e^ε + 1)."""
    return from_supports(0.5, 1 / (math.exp(epsilon) + 1))


def hashing(epsilon: float) -> float:
    """OLH: the hashed value among g = e^ε + 1, rounded, by generalised response."""
    e = math.exp(epsilon)
    g = max(2, round(e + 1))
    return from_supports(e / (e + g - 1), 1 / g)


def hadamard(epsilon: float) -> float:
    """One row of a Hadamard matrix, half of whose entries support a value."""
    e = math.exp(epsilon)
    return from_supports(e / (e + 1), 0.5)


def subset(size: int, epsilon: float) -> float:
    """Subset selection: w = k/(e^ε + 1) values at once, rounded."""
    e = math.exp(epsilon)
    w = max(1, round(size / (e + 1)))
    own = w * e / (w * e + size - w)
    other = (own * (w - 1) + (1 - own) * w) / (size - 1)
    return from_supports(own, other)


def generalized(size: int, epsilon: float) -> float:
    """Generalised response, from its integers."""
    plain = GeneralizedResponse(size, epsilon)
    return from_supports(plain.keep / plain.denominator, plain.other / plain.denominator)


def cyclic(size: int, epsilon: float) -> tuple[Fraction, int]:
    """The cyclic design that is best for rare values, from its integers, and the number of its reports."""
    design = best_design(size, math.exp(epsilon), rare=True)
    mechanism = CyclicResponse(size, epsilon, design=design)
    return mechanism.answer_variance(), mechanism.shape[1]


def row(epsilon: float, size: int) -> tuple[str, ...]:
    """One line of the table."""
    variance, reports = cyclic(size, epsilon)
    figures = (generalized(size, epsilon), unary(epsilon), hashing(epsilon), hadamard(epsilon), subset(size, epsilon))
    bound = total_variance_bound(size, epsilon) / size
    shown = [f"{figure:,.4g}" if figure < 1_000 else f"{figure:,.0f}" for figure in figures]
    return (f"{epsilon:g}", f"{size:,}", *shown, f"{float(variance):.4g}", f"{reports:,}", f"{bound:.4g}")


def table() -> list[str]:
    """The table in Markdown."""
    lines = [COLUMNS, ("---",) * len(COLUMNS), *(row(*setting) for setting in SETTINGS)]
    return [f"| {' | '.join(line)} |" for line in lines]


def main() -> None:
    """Print the table, and what the designer takes in every setting."""
    print("\n".join(table()))
    for epsilon, size in SETTINGS:
        found = frequencies(size, epsilon)
        excess = found.objective / found.certificate.bound - 1
        print(f"ε = {epsilon:g}, {size:,} values: {type(found.mechanism).__name__}, {excess:.2%} above the bound")


if __name__ == "__main__":
    main()
