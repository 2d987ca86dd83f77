"""Run the reproduction, print the tables, write CSV and figures.

The coverage runs are long and are done only when asked for (``--only coverage``); they save as they go, and the same
command takes them up again.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from experiments.reporting import ROOT, Check, Report
from experiments.zhang2025 import coverage, designs, figures, intervals, pilots, prediction, simulation, survey
from experiments.zhang2025.coverage import CELLS
from experiments.zhang2025.problem import LINKS, SCENARIOS, SIZE
from experiments.zhang2025.simulation import Plan

PARTS = ("design", "simulation", "survey", "intervals", "coverage")
QUICK = Plan(n=10_000, runs=8, epsilons=(0.7, 1.0))


def run_design(report: Report, *, quick: bool) -> list[Check]:
    """A against T, dependence on β, what three fits spend, ranges of β and pilots."""
    claims = []
    for name, (table, found) in {
        "design_criteria": designs.disagreement(400 if quick else 4_000),
        "design_coefficients": designs.dependence_on_coefficients(),
        "design_three_fits": designs.repeated_randomisation(),
        "design_ranges": designs.ranges(5 if quick else 200, 2_000 if quick else 10_000),
        "design_pilots": pilots.comparison(1, (500,)) if quick else pilots.comparison(10),
    }.items():
        report.table(name, table)
        claims += found
    return claims


def run_simulation(report: Report, plan: Plan, *, fresh: bool) -> list[Check]:
    """Section 5."""
    simulation.simulate(report.folder, plan, fresh=fresh)
    found = simulation.results(report.folder, plan)
    report.table("simulation", simulation.result_table(found), show=False)
    for scenario in SCENARIOS:
        for link in LINKS:
            print(simulation.short_table(found, scenario, link, 0.0).text())
    figures.draw_simulation(report, found)
    if plan.n == SIZE:  # as the paper's numbers
        report.compare("paper", "What the text states of figure 2", simulation.comparisons(found))
    return simulation.checks(found)


def run_survey(report: Report, splits: int) -> list[Check]:
    """Section 6, and the survey as it should be analysed."""
    data = survey.load()
    if data is None:
        print(f"\nSKIPPED: the plagiarism survey is not there; {survey.WHERE}")
        return []
    for name, table in survey.reference_tables(data).items():
        report.table(name, table)
    report.table("survey_intervals", survey.intervals(data))
    report.table("survey_naive", survey.naive_table(data))
    report.table("survey_profile", survey.profile_table(data))
    found = prediction.outcomes(data, splits)
    report.table("survey_prediction", prediction.table(found))
    figures.draw_prediction(report, found)
    return [*survey.checks(data), *prediction.checks(found)]


def run_intervals(report: Report, runs: int, *, fresh: bool) -> list[Check]:
    """Intervals where theory does not hold, and the penalised fit."""
    intervals.simulate(report.folder, runs, fresh=fresh)
    found, fits = list(intervals.figures(report.folder, runs)), list(intervals.estimates(report.folder, runs))
    report.table("intervals", intervals.interval_table(found))
    report.table("intervals_estimates", intervals.estimate_table(fits))
    return intervals.checks(found, fits)


def run_coverage(report: Report, minutes: float | None, *, quick: bool, fresh: bool) -> list[Check]:
    """The long runs; what is there is reported, whether complete or not."""
    cells = [replace(cell, runs=20) for cell in CELLS[:2]] if quick else list(CELLS)
    coverage.simulate(report.folder, cells, minutes, fresh=fresh)
    found = list(coverage.summaries(report.folder, cells))
    report.table("coverage", coverage.cell_table(found))
    report.table("coverage_by_coefficient", coverage.coefficient_table(found), show=False)
    figures.draw_coverage(report, found)
    return coverage.checks(found)


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m experiments.zhang2025", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small samples, few runs: under a minute")
    parser.add_argument("--only", action="append", choices=PARTS, help="one part (may be repeated)")
    parser.add_argument(
        "--runs", type=int, help="runs of the simulation of section 5 and of the intervals (default 100, quick 8 and 4)"
    )
    parser.add_argument("--minutes", type=float, help="stop the coverage runs after so many minutes")
    parser.add_argument("--fresh", action="store_true", help="discard runs that were saved before")
    parser.add_argument("--output", type=Path, default=ROOT / "results", help="folder for results (default: results/)")
    chosen = parser.parse_args(arguments)
    parts = chosen.only or PARTS[: None if chosen.quick else -1]
    start = time.perf_counter()
    report = Report("zhang2025", chosen.output)
    claims: list[Check] = []
    if "design" in parts:
        claims += run_design(report, quick=chosen.quick)
    if "survey" in parts:
        claims += run_survey(report, 3 if chosen.quick else 100)
    if "simulation" in parts:
        plan = QUICK if chosen.quick else Plan()
        plan = plan if chosen.runs is None else replace(plan, runs=chosen.runs)
        claims += run_simulation(report, plan, fresh=chosen.fresh)
    if "intervals" in parts:
        claims += run_intervals(
            report, chosen.runs or (intervals.QUICK if chosen.quick else intervals.RUNS), fresh=chosen.fresh
        )
    if "coverage" in parts:
        claims += run_coverage(report, chosen.minutes, quick=chosen.quick, fresh=chosen.fresh)
    else:
        print("\nThe long coverage runs were left out: --only coverage")
    report.check("claims" if not chosen.only else f"claims_{'_'.join(parts)}", "Claims", claims)
    print(f"{time.perf_counter() - start:.0f} s")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
