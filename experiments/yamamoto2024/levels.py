"""Figures 1 to 4 by the published protocol: record levels of product, heuristic and optimum at the same levels.

The heuristic may end at other levels than it was asked for. As in the published code all methods are compared at the
levels that it *achieves*. How often it changes or raises a level is counted beside it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet import design
from discreet.design.several_attributes.request import Request
from discreet.design.several_attributes.yamamoto_heuristic import inductive
from experiments.reporting import Check, Report, Table, new_figure
from experiments.yamamoto2024.problem import (
    CHECKS,
    COUNTS,
    ENOUGH_SETS,
    LARGE,
    LEVEL,
    LEVELS,
    LOSS,
    QUICK_LARGE,
    SEED,
    SIZE,
    SIZES,
)

COLUMNS = ("setting", "k", "x", "product", "optimum", "kept", "heuristic", "changed", "raised")
BY_LEVELS, BY_SIZES = "levels vary", "sizes vary"


def random_sets(sets: int) -> Table:
    """One row per random set of both settings; x is Σ ε_i as achieved, or Σ a_i."""
    rows = []
    for setting in (BY_LEVELS, BY_SIZES):
        for count in COUNTS:
            generator = np.random.default_rng(SEED + count)
            for _ in range(sets):
                if setting == BY_LEVELS:
                    sizes, levels = [SIZE] * count, generator.uniform(*LEVELS, count).tolist()
                else:
                    sizes, levels = generator.integers(*SIZES[count], count, endpoint=True).tolist(), [LEVEL] * count
                found = methods(sizes, levels)
                rows.append([setting, count, found[0] if setting == BY_LEVELS else float(sum(sizes)), *found])
    return Table("Record levels of random sets, at the levels that the heuristic achieves", COLUMNS, rows)


def methods(sizes: list[int], levels: list[float]) -> list[Any]:
    """Product, free optimum, optimum that keeps pairs and heuristic at its levels; how many it changed and raised."""
    found = inductive(Request.of(sizes, levels))
    reached = found.levels.tolist()
    free, kept = (design.attributes(sizes, reached, pairs=pairs).guarantee.epsilon for pairs in ("free", "keep"))
    return [sum(reached), free, kept, found.epsilon, len(found.changed), len(found.raised)]


def claims(table: Table) -> list[Check]:
    """What the random sets say about the paper's statements."""
    rows = table.rows
    changed, raised = ([row for row in rows if row[at]] for at in (7, 8))
    ratios = [row[6] / row[4] for row in rows]
    worst = max(rows, key=lambda row: row[6] / row[4])
    return [
        Check(
            "the optimum is never above the product", all(r[4] <= r[3] * (1 + 1e-9) for r in rows), f"{len(rows)} sets"
        ),
        Check("keeping pairs never costs more than the product", all(r[5] <= r[3] * (1 + 1e-9) for r in rows), ""),
        Check(
            "at the levels that it achieves the heuristic is never below the optimum",
            min(ratios) >= 1 - 1e-9,
            f"{len(rows)} sets, smallest ratio {min(ratios):.9f}",
        ),
        Check(
            "and mostly at it (figures 2 and 4)",
            float(np.median(ratios)) < 1 + LOSS,
            f"median ratio {np.median(ratios):.3f}, largest {max(ratios):.3f} ({worst[0]}, k = {worst[1]})",
        ),
        *threshold_claims(rows),
        Check("the heuristic changes levels in some sets", bool(changed), f"{len(changed)} of {len(rows)} sets"),
        Check("and raises some of them, less privacy than asked for", bool(raised), f"{len(raised)} of {len(rows)}"),
    ]


def threshold_claims(rows: Sequence[Sequence[Any]]) -> list[Check]:
    """Figure 2: above some Σ ε_i nothing is lost; the paper finds the threshold roughly proportional to k ln k."""
    largest = {}
    for count in COUNTS:
        of_count = [row for row in rows if row[0] == BY_LEVELS and row[1] == count]
        lossy = [row[2] for row in of_count if row[6] > row[4] * (1 + LOSS)]
        if len(of_count) >= ENOUGH_SETS and lossy:
            largest[count] = max(lossy) / (count * math.log(count))
    if not largest:
        return []
    return [
        Check(
            f"the largest Σ ε_i with more than {LOSS:.0%} loss is about the same multiple of k ln k for every k",
            max(largest.values()) <= 1.15 * min(largest.values()),
            ", ".join(f"k = {count}: {value:.2f}" for count, value in largest.items()),
        )
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
        (1, BY_LEVELS, 3, "record ε / Σ ε_i"),
        (2, BY_LEVELS, 4, "record ε / optimum"),
        (3, BY_SIZES, 3, "record ε / Σ ε_i"),
        (4, BY_SIZES, 4, "record ε / optimum"),
    ):
        figure, axes = new_figure(len(COUNTS), f"Figure {number}: {setting}, at the levels that the heuristic achieves")
        for axis, count in zip(axes, COUNTS, strict=True):
            rows = sorted((r for r in table.rows if r[0] == setting and r[1] == count), key=lambda r: r[2])
            x = [r[2] for r in rows]
            for name, at, style in (("product", 3, "k-"), ("optimum", 4, "r-."), ("heuristic", 6, "b--")):
                if at == 3 and column == 4:
                    continue
                axis.plot(x, [r[at] / r[column] for r in rows], style, label=name, linewidth=0.9)
            bad = [r for r in rows if r[8]]
            axis.plot([r[2] for r in bad], [r[6] / r[column] for r in bad], "bx", markersize=4, label="raised a level")
            axis.set(title=f"k = {count}", xlabel="Σ ε_i" if setting == BY_LEVELS else "Σ a_i", ylabel=label)
        axes[0].legend(fontsize=8)
        report.figure(f"figure{number}", figure)
    figure, (axis,) = new_figure(1, "Record level against k")
    for name, at in (("product", 1), ("optimum", 2), ("pairs kept", 4), ("heuristic (other levels)", 5)):
        axis.plot([r[0] for r in many.rows], [r[at] for r in many.rows], marker=".", label=name)
    axis.set(xscale="log", yscale="log", xlabel="k", ylabel="record-level ε")
    axis.legend(fontsize=8)
    report.figure("large", figure)
