"""Figures 1 and 2: the feasible region with its optimum, the variance along its lines, the level sets of g."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet import design
from discreet.design.binary_response.feasible_region import switch_prevalence
from experiments.holohan2017.problem import (
    EXAMPLE_1,
    FIGURE_1,
    FIGURE_1_PREVALENCES,
    FIGURE_2_LEVELS,
)
from experiments.reporting import Check, Report, Table, new_figure

Floats = NDArray[np.float64]


def variances(p00: ArrayLike, p11: ArrayLike, prevalence: float) -> Floats:
    """Equation (6) at n = 1, for arrays of designs; written out here so that the designer is checked by another."""
    first, second = np.asarray(p00, float), np.asarray(p11, float)
    s = first + second - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray((0.25 - (first - 0.5 - prevalence * s) ** 2) / s**2)


def feasible(p00: Floats, p11: Floats, epsilon: float, delta: float) -> NDArray[np.bool_]:
    """R′ of Definition 2."""
    slack = 1e-12
    ratio = math.exp(epsilon)
    inside = (p00 + p11 > 1) & (p00 <= 1) & (p11 <= 1)
    return inside & (p00 <= ratio * (1 - p11) + delta + slack) & (p11 <= ratio * (1 - p00) + delta + slack)


def edge(t: Floats, epsilon: float, delta: float) -> tuple[Floats, Floats]:
    """(r_δ(t), s_δ(t)) of equation (22): the edge on which ``p11 = e^ε(1 − p00) + δ``."""
    ratio = math.exp(epsilon)
    p11 = (ratio + delta) / (ratio + 1) * t
    return 1 - (p11 - delta) / ratio, p11


def first_t(epsilon: float, delta: float) -> float:
    """t₀ of Lemma 5: where the edge enters the unit square, at (1, δ)."""
    ratio = math.exp(epsilon)
    return delta * (ratio + 1) / (ratio + delta)


def region_checks(points: int) -> list[Check]:
    """What figure 1 shows, as statements about numbers."""
    epsilon, delta = FIGURE_1.epsilon, FIGURE_1.delta
    rows = []
    warner = (math.exp(epsilon) + delta) / (math.exp(epsilon) + 1)
    line = np.linspace(0.5, warner, points)[1:]
    steps = max(float(np.diff(variances(line, line, p)).max()) for p in FIGURE_1_PREVALENCES)
    rows.append(Check("1b: the variance falls along the centre line", steps < 0, f"largest step {steps:.3g}"))
    t = np.linspace(first_t(epsilon, delta), 1, points)
    inner = [int(np.argmin(variances(*edge(t, epsilon, delta), p))) for p in FIGURE_1_PREVALENCES]
    ends = {0: "corner", points - 1: "Warner"}
    named = ", ".join(f"π = {p:g}: {ends.get(i, 'inside')}" for p, i in zip(FIGURE_1_PREVALENCES, inner, strict=True))
    rows.append(Check("1c: on the edge the minimum lies at an end", set(inner) <= set(ends), named))
    rows.append(Check("1c: which end depends on the prevalence", len(set(inner)) == 2, named))
    grid = np.linspace(0, 1, points)
    p00, p11 = np.meshgrid(grid, grid)
    for case in EXAMPLE_1:
        allowed = feasible(p00, p11, case.epsilon, case.delta)
        searched = float(np.where(allowed, variances(p00, p11, case.prevalence), np.inf).min())
        found = design.binary(case.epsilon, case.delta, case.prevalence).objective
        rows.append(
            Check(
                f"1a: no design on a {points} × {points} grid of R′ beats the optimum, {case.label}",
                searched >= found * (1 - 1e-8) and searched <= found * (1 + 20 / points),
                f"best on the grid {searched:.4f}, optimum {found:.4f}",
            )
        )
    return rows


def draw_region(report: Report, points: int) -> None:
    """Figure 1, and its curves as CSV."""
    epsilon, delta = FIGURE_1.epsilon, FIGURE_1.delta
    g = switch_prevalence(epsilon, delta)
    prevalences = sorted({*FIGURE_1_PREVALENCES, round(g, 4)})
    warner = (math.exp(epsilon) + delta) / (math.exp(epsilon) + 1)
    figure, (region, centre, along) = new_figure(3, f"Figure 1 at ε = {epsilon:g}, δ = {delta:g} (n = 1)")

    grid = np.linspace(0, 1, points)
    p00, p11 = np.meshgrid(grid, grid)
    allowed = feasible(p00, p11, epsilon, delta)
    shade = np.where(allowed, np.log10(variances(p00, p11, FIGURE_1.prevalence)), np.nan)
    drawn = region.pcolormesh(p00, p11, shade, vmin=0.3, vmax=2.5, cmap="viridis_r", rasterized=True)
    figure.colorbar(drawn, ax=region, label=f"log₁₀ variance at π = {FIGURE_1.prevalence:g}")
    corner_x, corner_y = [1, delta], [delta, 1]
    region.plot(corner_x, corner_y, "s", color="tab:orange", label="corners (1, δ) and (δ, 1)")
    region.plot([warner], [warner], "*", color="tab:red", markersize=13, label="Warner point: the optimum here")
    region.plot([0, 1], [1, 0], ":", color="grey")
    region.set(xlabel="p00", ylabel="p11", title="(a) feasible designs R′", xlim=(0, 1.02), ylim=(0, 1.02))
    region.legend(loc="lower left", fontsize=8)

    line, t = np.linspace(0.55, warner, points), np.linspace(first_t(epsilon, delta), 1, points)
    rows: list[list[object]] = []
    for prevalence in prevalences:
        name = f"π = {prevalence:g}" + (" = g" if prevalence == round(g, 4) else "")
        on_line, on_edge = variances(line, line, prevalence), variances(*edge(t, epsilon, delta), prevalence)
        centre.plot(line, on_line, label=name)
        along.plot(t, on_edge, label=name)
        rows += [["centre", prevalence, x, y] for x, y in zip(line.tolist(), on_line.tolist(), strict=True)]
        rows += [["edge", prevalence, x, y] for x, y in zip(t.tolist(), on_edge.tolist(), strict=True)]
    centre.set(xlabel="p00 = p11", ylabel="variance", yscale="log", title="(b) along the centre line")
    along.set(xlabel="t, from (1, δ) to the Warner point", ylabel="variance", title="(c) along the tight edge")
    centre.legend(fontsize=8)
    along.legend(fontsize=8)
    report.figure("figure1", figure)
    report.table("figure1", Table("Figure 1", ["line", "prevalence", "position", "variance"], rows), show=False)


def level_set(level: float, epsilon: float) -> tuple[float, float]:
    """The one or two δ in (0, 1] at which g(ε, δ) = level; nan for one that does not exist.

    They are the roots of ``(1 − 4L)δ² + (e^ε − 4L(e^ε − 1))δ − L(e^ε − 1)² = 0``. g rises in δ from 0 and, for
    small ε, falls again towards 1/(e^ε + 1) at δ = 1: between two roots the corner is the better design.
    """
    gap = math.expm1(epsilon)
    a, b, c = 1 - 4 * level, 1 + gap - 4 * level * gap, -level * gap**2
    inside = b * b - 4 * a * c
    if inside < 0:
        return math.nan, math.nan
    half = -(b + math.copysign(math.sqrt(inside), b)) / 2
    roots = [c / half if half else math.nan, half / a if abs(a) > 1e-14 else math.nan]
    low, *rest = [*sorted(root for root in roots if 0 < root <= 1), math.nan, math.nan]
    return low, rest[0]


def level_sets(points: int) -> tuple[Table, list[Check]]:
    """Figure 2 as numbers: the line g = level as a function of ε, with its formula checked by g itself."""
    rows, worst = [], 0.0
    for level in FIGURE_2_LEVELS:
        for epsilon in np.linspace(0.0, 2.0, points + 1)[1:].tolist():
            ends = level_set(level, epsilon)
            rows.append([level, epsilon, *ends])
            worst = max([worst, *(abs(switch_prevalence(epsilon, d) - level) for d in ends if not math.isnan(d))])
    through = switch_prevalence(math.log(2), 0.25)
    return Table("Figure 2", ["g", "epsilon", "delta", "delta, upper branch"], rows), [
        Check("2: every point of a drawn line has its value of g", worst < 1e-9, f"largest error {worst:.1e}"),
        Check("2: the line g = 1/4 passes through (ln 2, 1/4)", abs(through - 0.25) < 1e-12, f"g = {through:.12f}"),
    ]


def draw_level_sets(report: Report, table: Table) -> None:
    """Figure 2: linear axes, and a logarithmic axis for small δ."""
    figure, (linear, log) = new_figure(
        2, "Figure 2: level sets of g(ε, δ); where g > π the corner is the better design"
    )
    data = np.array(table.rows, float)
    for number, level in enumerate(FIGURE_2_LEVELS):
        epsilon, low, high = data[data[:, 0] == level, 1:].T
        up, down = ~np.isnan(low), ~np.isnan(high)  # up the lower branch, and back along the upper one
        line = np.r_[epsilon[up], epsilon[down][::-1]], np.r_[low[up], high[down][::-1]]
        for axes in (linear, log):
            axes.plot(*line, color=f"C{number}", label=f"g = {level:g}")
    for case in EXAMPLE_1:
        linear.plot(case.epsilon, case.delta, "k.")
        linear.annotate(f" {case.number}", (case.epsilon, case.delta))
    linear.set(xlabel="ε", ylabel="δ", xlim=(0, 2), ylim=(0, 1), title="(a) with the cases of Example 1")
    log.set(xlabel="ε", ylabel="δ", xlim=(0, 0.5), ylim=(1e-6, 1e-1), yscale="log", title="(b) small δ")
    log.legend(fontsize=8, loc="lower right")
    report.figure("figure2", figure)
    report.table("figure2", table, show=False)
