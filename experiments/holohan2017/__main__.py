"""Run everything, print the tables, write CSV and figures."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from experiments.holohan2017 import coverage, example, figures, region
from experiments.holohan2017.problem import FIVE_SIZES, PREVALENCES, QUICK_PREVALENCES, QUICK_SIZES, SIZES
from experiments.reporting import Report, command_line


def run(report: Report, *, quick: bool) -> int:
    """The whole reproduction; the exit code says whether anything is unexplained."""
    points, runs = (101, 100) if quick else (401, 1_000)
    report.compare("example1", "Example 1 (n = 1)", example.comparisons())
    claims = [*example.checks(), *region.region_checks(points)]
    region.draw_region(report, points)
    levels, found = region.level_sets(200 if quick else 1_000)
    claims += found
    region.draw_level_sets(report, levels)
    for name, (table, more) in {
        "four_reports": example.four_reports(runs),
        "interval_regret": example.interval_regret(),
        "plugged_in": coverage.plugged_in(),
    }.items():
        report.table(name, table)
        claims += more

    exact, found = coverage.binary_coverage(*(QUICK_SIZES, QUICK_PREVALENCES) if quick else (SIZES, PREVALENCES))
    claims += found
    report.table("coverage", exact, show=False)
    figures.draw_coverage(report, exact)
    verdict, found = coverage.verdicts(exact)
    claims += found
    report.table("coverage_verdict", verdict)
    five, found = coverage.five_values(FIVE_SIZES[:2] if quick else FIVE_SIZES, 2_000 if quick else 20_000)
    claims += found
    report.table("coverage_five_values", five, show=False)
    report.check("claims", "Claims", claims)
    return report.finish()


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line."""
    return command_line("holohan2017", run, __doc__, "coarser grids, fewer sizes and runs: seconds", arguments)


if __name__ == "__main__":
    sys.exit(main())
