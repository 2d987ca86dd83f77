"""The problem as declared: what the paper prints, and the settings of everything that we add."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """One case of Example 1, with n = 1, and its numbers as printed.

    ``warner`` is the variance at p00 = p11 = (e^ε + δ)/(e^ε + 1), ``corner`` that at the better of the corners
    (1, δ) and (δ, 1), ``other_corner`` that at the worse one where the paper prints it.
    """

    number: int
    label: str
    epsilon: float
    delta: float
    prevalence: float
    g: str
    warner: str
    corner: str
    best: tuple[str, ...]
    other_corner: str | None = None
    corner_erratum: str = ""
    other_erratum: str = ""


EXAMPLE_1 = (
    Case(1, "ε = 1/2, δ = 1/10, π = 1/4", 0.5, 0.1, 0.25, "0.243", "2.372", "2.438", ("warner",)),
    Case(2, "ε = 1, δ = 2/5, π = 1/10", 1.0, 0.4, 0.1, "0.197", "0.385", "0.24", ("corner",)),
    Case(
        3,
        "ε = 1/2, δ = 1/3, π = 9/10",
        0.5,
        1 / 3,
        0.9,
        "0.382",
        "0.854",
        "0.143",
        ("corner",),
        other_corner="1.911",
        corner_erratum="equation (6) gives .290",
        other_erratum="equation (6) gives 1.890, at t₀ and not at 0",
    ),
    Case(4, "ε = ln 2, δ = 1/4, π = 1/4", math.log(2), 0.25, 0.25, "1/4", "15/16", "15/16", ("warner", "corner")),
)

#: The paper does not say at which level figure 1 is drawn; ours is that of the first case of Example 1.
FIGURE_1 = EXAMPLE_1[0]
#: Prevalences of the curves of figure 1, beside g itself.
FIGURE_1_PREVALENCES = (0.05, 0.15, 0.35, 0.5)
#: Level sets of figure 2.
FIGURE_2_LEVELS = (0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)

#: Where only an interval for the prevalence is known (ε, δ, low, high): the open question of section VI-C.
INTERVALS = (
    (0.5, 0.1, 0.1, 0.5),
    (0.5, 0.1, 0.2, 0.3),
    (1.0, 0.4, 0.05, 0.35),
    (0.5, 0.3, 0.2, 0.8),
    (1.0, 0.05, 0.01, 0.1),
)

#: Coverage of 95 % intervals.
LEVEL = 0.95
SIZES = (50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 100_000)
QUICK_SIZES = (50, 200, 1_000)
EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0)
QUICK_PREVALENCES = (0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99)
#: Coverage jumps up and down with the prevalence, so the worst is looked for on a grid.
PREVALENCES = tuple(sorted({0.001, 0.003, 0.01, 0.99, *(round(0.02 * i, 2) for i in range(1, 50)), 0.05, 0.25, 0.75}))
#: Five categories, for joint coverage.
FIVE = (0.5, 0.25, 0.15, 0.08, 0.02)
FIVE_SIZES = (50, 1_000, 100_000)

#: Where 4.5 standard errors, estimated from the same reports, fail: ε, n, prevalence.
PLUGGED_IN = (4.0, 10, 0.01)
