"""The pictures: mean squared error and coverage against ε (figures 2 to 5), prediction (figure 6), the long runs."""

from __future__ import annotations

import math
from collections.abc import Sequence

from experiments.reporting import Report, new_figure
from experiments.zhang2025.coverage import HIGH, INTERVALS, LOW, Summary
from experiments.zhang2025.prediction import LEVELS, READINGS, Outcome
from experiments.zhang2025.problem import DELTAS, LEVEL, LINKS, METHODS, PAPER_LOG_MSE, SCENARIOS
from experiments.zhang2025.simulation import Result

COLOURS = {"corrected": "tab:blue", "naive": "tab:orange", "non-private": "tab:green"}


def draw_simulation(report: Report, found: Sequence[Result]) -> None:
    """Figures 2 and 4 (log MSE), 3 and 5 (coverage); one row of panels per δ, one column per link."""
    for scenario, (first, second) in zip(SCENARIOS, ((2, 3), (4, 5)), strict=True):
        for number, quantity in ((first, "log MSE"), (second, "coverage")):
            figure, axes = new_figure(2, f"Figure {number}: {quantity}, scenario {scenario}", rows=2)
            panels = [(delta, link) for delta in DELTAS for link in LINKS]
            for axis, (delta, link) in zip(axes, panels, strict=True):
                mine = [r for r in found if (r.scenario, r.link) == (scenario, link)]
                for method in METHODS:
                    _line(axis, [r for r in mine if r.method == method], method, quantity, delta)
                if quantity == "log MSE":
                    bound = [r for r in mine if r.method == "corrected" and r.delta == delta]
                    logs = [math.log(r.bound) for r in bound]
                    axis.plot([r.epsilon for r in bound], logs, "k:", label="information bound")
                    if (scenario, link, delta) == ("I", "logit", 0.0):
                        stated = [float(value) for value in PAPER_LOG_MSE.values()]
                        axis.plot(list(PAPER_LOG_MSE), stated, "rx", label="stated in the text")
                else:
                    axis.axhline(LEVEL, color="grey", linewidth=0.8)
                    axis.set_ylim(0, 1.02)
                axis.set(xscale="log", xlabel="ε", ylabel=quantity, title=f"{link}, δ = {delta:g}")
            axes[0].legend(fontsize=8)
            report.figure(f"figure{number}", figure)


def _line(axis: object, rows: list[Result], method: str, quantity: str, delta: float) -> None:
    if method == "non-private":
        value = rows[0].log_mse if quantity == "log MSE" else rows[0].coverage
        axis.axhline(value, color=COLOURS[method], label=method)  # type: ignore[attr-defined]
        return
    rows = [r for r in rows if r.delta == delta]
    values = [r.log_mse if quantity == "log MSE" else r.coverage for r in rows]
    errors = [2 * (r.log_error if quantity == "log MSE" else r.coverage_error) for r in rows]
    axis.errorbar(  # type: ignore[attr-defined]
        [r.epsilon for r in rows], values, errors, marker=".", capsize=2, color=COLOURS[method], label=method
    )


def draw_prediction(report: Report, found: Sequence[Outcome]) -> None:
    """Figure 6, in both readings; bars are two Monte Carlo errors."""
    figure, axes = new_figure(len(READINGS), "Figure 6: mean squared error of predicted responses")
    for axis, reading in zip(axes, READINGS, strict=True):
        for method in METHODS:
            mine = [o for o in found if o.reading == reading and o.method == method]
            values, errors = [o.mse for o in mine], [2 * o.error for o in mine]
            axis.errorbar(LEVELS, values, errors, marker=".", capsize=2, color=COLOURS[method], label=method)
        axis.axhline(0.25, color="grey", linestyle=":", label="guessing ½")
        axis.set(xscale="log", xlabel="ε", ylabel="mean squared error", title=f"reading: {reading}")
    axes[0].legend(fontsize=8)
    report.figure("figure6", figure)


def draw_coverage(report: Report, found: Sequence[Summary]) -> None:
    """Worst and best covered coefficient by each kind of interval, for every cell of the long runs."""
    sizes = sorted({s.cell.setting.n for s in found})
    figure, axes = new_figure(len(sizes), "Coverage of 95 % intervals, from the worst to the best coefficient")
    for axis, n in zip(axes, sizes, strict=True):
        mine = [s for s in found if s.cell.setting.n == n]
        mine.sort(key=lambda s: (s.cell.setting.scenario, s.cell.setting.link, s.cell.setting.epsilon))
        for shift, method in enumerate(INTERVALS):
            known = [(i, s.coverage[method]) for i, s in enumerate(mine) if method in s.coverage]
            places = [i + 0.2 * (shift - 1) for i, _ in known]
            lows, highs = [float(c.min()) for _, c in known], [float(c.max()) for _, c in known]
            axis.vlines(places, lows, highs, color=f"C{shift}", linewidth=5, label=method)
        axis.axhspan(LOW, HIGH, color="grey", alpha=0.2)
        names = [f"{s.cell.setting.scenario} {s.cell.setting.link} ε={s.cell.setting.epsilon:g}" for s in mine]
        axis.set(title=f"n = {n:,}", ylabel="coverage")
        axis.set_xticks(range(len(mine)), names, rotation=90, fontsize=7)
    axes[0].legend(fontsize=8, loc="lower right")
    report.figure("coverage", figure)
