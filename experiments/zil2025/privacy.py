"""Figure 1 and the privacy levels that the paper states."""

from __future__ import annotations

import math

import numpy as np

from discreet.design.numbers.zero_inflated_noise import ratio_for
from discreet.mechanisms.laplace.curve import delta_bound, delta_one_dimension, ratio_for_bound, trade_off_bound
from discreet.mechanisms.laplace.exact import RadialLaw, delta_exact
from experiments.reporting import Check, Comparison, Report, Table, new_figure
from experiments.zil2025.problem import (
    FIGURE_1_DIMENSIONS,
    FIGURE_1_EPSILONS,
    FIGURE_1_RATIO,
    FIGURE_1_ZERO,
    FIGURE_1B,
    FIGURE_1B_RATIOS,
)


def comparisons() -> list[Comparison]:
    """Levels that can be read off the text."""
    epsilon, delta = FIGURE_1B
    inner = 1 - (1 - delta) / (1 - FIGURE_1_ZERO)
    return [
        Comparison("c′ for (.8, .17) with zero probability .05", "0.5", ratio_for_bound(epsilon, inner)),
        Comparison("ε of λ = .94 in one dimension", "1.5", math.sqrt(2) / 0.94),
        Comparison("ε of λ = 1.4 in one dimension", "1", math.sqrt(2) / 1.4, "it is 1.0102, a little above"),
    ]


def printed_delta(epsilon: float, ratio: float) -> float:
    """Theorem 3.3 as printed, with e^−ε."""
    return 1 - math.exp(-epsilon) * _b(-epsilon / ratio, ratio) - _b(epsilon / ratio, ratio)


def _b(h: float, ratio: float) -> float:
    s = h + math.sqrt(2 + h * h)
    return math.exp(-ratio / s) / (1 + 2 / (s * s))


def levels() -> tuple[Table, list[Check]]:
    """δ(ε) by the bound, exactly, by the formula as printed, and by simulation."""
    rows, checks = [], []
    for epsilon, ratio in ((0.8, 0.5), (0.5, 0.5), (1.2, 1.0), (4.0, 4.0)):
        exact = [delta_exact(epsilon, ratio, d) for d in (2, 4, 6)]
        bound = delta_bound(epsilon, ratio)
        rows.append([epsilon, ratio, printed_delta(epsilon, ratio), bound, *exact, delta_one_dimension(epsilon, ratio)])
    title = "δ(ε): printed formula, corrected, and the exact curves"
    columns = ["ε", "c", "as printed (e^−ε)", "corrected (e^+ε)", "d = 2", "d = 4", "d = 6", "d = 1"]
    for dimension in (2, 4):
        simulated, error = simulate(1.0, ratio_for(1.0, 0.1, dimension), dimension)
        checks.append(
            Check(
                f"λ from the exact curve keeps (1, .1) in {dimension} dimensions, with less noise than the bound",
                abs(simulated - 0.1) < 5 * error and ratio_for(1.0, 0.1, dimension) > ratio_for_bound(1.0, 0.1),
                f"simulated δ = {simulated:.5f} ± {error:.5f}; c = {ratio_for(1.0, 0.1, dimension):.4f} against "
                f"{ratio_for_bound(1.0, 0.1):.4f}",
            )
        )
    total = 1 - 0.8 * (1 - delta_exact(4.0, 4.0, 6))
    checks.append(
        Check(
            "Table 2's first setting is hardly private: δ is .74 at ε = 4",
            abs(total - 0.742) < 0.001,
            f"δ = {total:.4f} exactly, {1 - 0.8 * (1 - delta_bound(4.0, 4.0)):.4f} by the bound",
        )
    )
    return Table(title, columns, rows), checks


def simulate(epsilon: float, c: float, dimension: int, n: int = 1_000_000, seed: int = 5) -> tuple[float, float]:
    """P(A) − e^ε Q(A) over simulated noise, and its standard error."""
    rng, law = np.random.default_rng(seed), RadialLaw(dimension)
    knots = np.geomspace(1e-9, 300, 20_000)
    table = law.log_density(knots)
    y = np.sqrt(rng.standard_exponential((n, 1))) * rng.standard_normal((n, dimension))

    def ratio(shift: float) -> np.ndarray:
        moved = y.copy()
        moved[:, 0] += shift
        near, far = (np.interp(np.log(np.linalg.norm(z, axis=1)), np.log(knots), table) for z in (y, moved))
        return near - far

    p, q = float((ratio(-c) > epsilon).mean()), float((ratio(c) < -epsilon).mean())
    return p - math.exp(epsilon) * q, math.sqrt((p * (1 - p) + math.exp(2 * epsilon) * q * (1 - q)) / n)


def draw_figure_1(report: Report) -> None:
    """Both panels."""
    figure, (left, right) = new_figure(2, "Trade-off functions of zero-inflated Laplace (zil2025, figure 1)")
    alpha = np.linspace(0, 1, 401)
    keep = 1 - FIGURE_1_ZERO

    def inflated(beta: np.ndarray) -> np.ndarray:
        return keep * beta

    inner = np.minimum(alpha / keep, 1)
    left.plot(alpha, inflated(trade_off_bound(inner, FIGURE_1_RATIO)), label="bound for every d")
    for epsilon in FIGURE_1_EPSILONS:
        delta = 1 - keep * (1 - delta_bound(epsilon, FIGURE_1_RATIO))
        left.plot(alpha, _polyline(alpha, epsilon, delta), color="black", linewidth=0.4)
    for dimension in FIGURE_1_DIMENSIONS:
        levels_ = np.linspace(0, 6, 41)
        deltas = [1 - keep * (1 - delta_exact(float(e), FIGURE_1_RATIO, dimension)) for e in levels_]
        curve = np.max([_polyline(alpha, float(e), d) for e, d in zip(levels_, deltas, strict=True)], axis=0)
        left.plot(alpha, curve, label=f"exact, d = {dimension}")
    for ratio in FIGURE_1B_RATIOS:
        right.plot(alpha, inflated(trade_off_bound(inner, ratio)), label=f"c = {ratio:g}")
    right.plot(alpha, _polyline(alpha, *FIGURE_1B), color="black", label="(.8, .17)")
    for axes in (left, right):
        axes.plot(alpha, 1 - alpha, color="grey", linestyle=":")
        axes.set_xlabel("false alarms α")
        axes.set_ylabel("misses β")
        axes.legend()
    report.figure("figure1", figure)


def _polyline(alpha: np.ndarray, epsilon: float, delta: float) -> np.ndarray:
    lines = [np.zeros_like(alpha), 1 - delta - math.exp(epsilon) * alpha, math.exp(-epsilon) * (1 - delta - alpha)]
    return np.max(lines, axis=0)
