"""The picture of coverage: the worst over prevalences, for every method, against n."""

from __future__ import annotations

from typing import Any

from experiments.holohan2017.coverage import METHODS, TARGETS
from experiments.holohan2017.problem import LEVEL
from experiments.reporting import Report, Table, new_figure


def draw_coverage(report: Report, table: Table) -> None:
    """One row of axes per target, one axis per design."""
    for target in TARGETS:
        title = f"Worst coverage over prevalences, target = {target}: exact, level {LEVEL:.0%}"
        names = list(dict.fromkeys(row[2] for row in table.rows))
        figure, axes = new_figure(4, title, rows=-(-len(names) // 4))
        for spare in axes[len(names) :]:
            spare.remove()
        for axis, name in zip(axes[: len(names)], names, strict=True):
            draw_one(axis, [row for row in table.rows if row[1] == target and row[2] == name])
            axis.set(xscale="log", xlabel="n", ylabel="coverage", title=name, ylim=(0.5, 1.01))
        axes[0].legend(fontsize=8, loc="lower right")
        report.figure(f"coverage_{target}", figure)


def draw_one(axis: Any, rows: list[Any]) -> None:
    """Worst coverage against n for every method."""
    sizes = sorted({row[3] for row in rows})
    for method in METHODS:
        worst = [min(row[5] for row in rows if row[0] == method and row[3] == n) for n in sizes]
        axis.plot(sizes, worst, marker=".", label=method, linestyle="--" if method == "simultaneous" else "-")
    axis.axhline(LEVEL, color="grey", linewidth=0.8)
