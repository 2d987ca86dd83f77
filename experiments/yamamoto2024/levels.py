"""Figures 1 to 4: the record level of product, heuristic and optimum, and how often the heuristic changes levels."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet import design
from discreet.design.attributes.request import Request
from discreet.design.attributes.simple import inductive
from experiments.reporting import Check, Report, Table, new_figure
from experiments.yamamoto2024.problem import CHECKS, COUNTS, LARGE, LEVEL, LEVELS, QUICK_LARGE, SEED, SIZE, SIZES

COLUMNS = (
    "setting",
    "k",
    "sum",
    "product",
    "optimum",
    "kept",
    "heuristic",
    "changed",
    "raised",
    "product at its levels",
)


def random_sets(sets: int) -> Table:
    """One row per random set of both settings."""
    rows = []
    for setting in ("levels vary", "sizes vary"):
        for count in COUNTS:
            generator = np.random.default_rng(SEED + count)
            for _ in range(sets):
                if setting == "levels vary":
                    sizes, levels = [SIZE] * count, generator.uniform(*LEVELS, count).tolist()
                else:
                    sizes, levels = generator.integers(*SIZES, count, endpoint=True).tolist(), [LEVEL] * count
                total = sum(levels) if setting == "levels vary" else sum(sizes)
                rows.append([setting, count, float(total), *methods(sizes, levels)])
    return Table("Record levels of random sets", COLUMNS, rows)


def methods(sizes: list[int], levels: list[float]) -> list[Any]:
    """Product, free optimum, optimum that keeps pairs, heuristic, and what the heuristic did to the levels."""
    found = inductive(Request.of(sizes, levels))
    free, kept = (design.attributes(sizes, levels, pairs=pairs).guarantee.epsilon for pairs in ("free", "keep"))
    return [sum(levels), free, kept, found.epsilon, len(found.changed), len(found.raised), float(found.levels.sum())]


def claims(table: Table) -> list[Check]:
    """What the random sets say about the paper's statements."""
    rows = table.rows
    changed = [row for row in rows if row[7]]
    raised = [row for row in rows if row[8]]
    unchanged = [row for row in rows if not row[7]]
    above = [row for row in raised if row[6] > row[3]]
    worst = max((row[6] / row[4] for row in unchanged), default=1.0)
    return [
        Check(
            "the optimum is never above the product", all(r[4] <= r[3] * (1 + 1e-9) for r in rows), f"{len(rows)} sets"
        ),
        Check("keeping pairs never costs more than the product", all(r[5] <= r[3] * (1 + 1e-9) for r in rows), ""),
        Check(
            "the heuristic is never below the optimum where it keeps the levels",
            all(r[6] >= r[4] - 1e-6 for r in unchanged),
            f"{len(unchanged)} sets, up to {worst:.3f} times the optimum",
        ),
        Check("the heuristic changes levels in some sets", bool(changed), f"{len(changed)} of {len(rows)} sets"),
        Check(
            "and raises some of them, less privacy than asked for",
            bool(raised),
            f"{len(raised)} of {len(rows)} sets; above the product in {len(above)}",
        ),
    ]


def check_figures() -> list[Check]:
    """The check figures of small sets."""
    out = []
    for sizes, levels, optimum, heuristic in CHECKS:
        ours = design.attributes(sizes, levels, pairs="free").guarantee.epsilon
        found = inductive(Request.of(sizes, levels)).epsilon
        good = abs(ours - optimum) < 1e-6 and abs(found - heuristic) < 1e-5
        out.append(Check(f"{list(sizes)} at {list(levels)}", good, f"optimum {ours:.6f}, heuristic {found:.6f}"))
    return out


def large(quick: bool) -> Table:
    """The exact curve where the paper has none: sizes 2 to 5, levels 0.2 to 2."""
    rows = []
    for count in QUICK_LARGE if quick else LARGE:
        generator = np.random.default_rng(SEED + count)
        sizes, levels = generator.integers(2, 6, count).tolist(), generator.uniform(0.2, 2, count).tolist()
        free = design.attributes(sizes, levels, pairs="free")
        kept = design.attributes(sizes, levels).guarantee.epsilon
        found = inductive(Request.of(sizes, levels))
        rows.append(
            [count, sum(levels), free.guarantee.epsilon, free.certificate.bound, kept, found.epsilon, len(found.raised)]
        )
    columns = ("k", "product", "optimum (free)", "lower bound", "kept", "heuristic", "levels it raises")
    return Table("Many different attributes (sizes 2 to 5, levels 0.2 to 2)", columns, rows)


def draw(report: Report, table: Table, many: Table) -> None:
    """Figures 1 to 4 and ours."""
    for number, setting, column, label in (
        (1, "levels vary", 3, "record ε / Σ ε_i"),
        (2, "levels vary", 4, "record ε / optimum"),
        (3, "sizes vary", 3, "record ε / Σ ε_i"),
        (4, "sizes vary", 4, "record ε / optimum"),
    ):
        figure, axes = new_figure(len(COUNTS), f"Figure {number}: {setting}")
        for axis, count in zip(axes, COUNTS, strict=True):
            rows = sorted((r for r in table.rows if r[0] == setting and r[1] == count), key=lambda r: r[2])
            x = [r[2] for r in rows]
            for name, at, style in (("product", 3, "k-"), ("optimum", 4, "r-."), ("heuristic", 6, "b--")):
                axis.plot(x, [r[at] / r[column] for r in rows], style, label=name, linewidth=0.9)
            bad = [r for r in rows if r[8]]
            axis.plot([r[2] for r in bad], [r[6] / r[column] for r in bad], "bx", markersize=4, label="raised a level")
            axis.set(title=f"k = {count}", xlabel="Σ ε_i" if setting == "levels vary" else "Σ a_i", ylabel=label)
        axes[0].legend(fontsize=8)
        report.figure(f"figure{number}", figure)
    figure, (axis,) = new_figure(1, "Record level against k")
    for name, at in (("product", 1), ("optimum", 2), ("pairs kept", 4), ("heuristic (other levels)", 5)):
        axis.plot([r[0] for r in many.rows], [r[at] for r in many.rows], marker=".", label=name)
    axis.set(xscale="log", yscale="log", xlabel="k", ylabel="record-level ε")
    axis.legend(fontsize=8)
    report.figure("large", figure)
