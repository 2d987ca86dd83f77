"""Run everything, print the tables, write CSV and figures."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from experiments.reporting import Report, command_line
from experiments.zil2025 import network, privacy, simulation
from experiments.zil2025.problem import TABLE_2, TABLE_2_AS_PRINTED, TABLE_3, TABLE_3_SMALLER_ERRORS


def run(report: Report, *, quick: bool) -> int:
    """The whole reproduction; the exit code says whether anything is unexplained."""
    report.compare("levels_text", "Levels stated in the text", privacy.comparisons())
    table, claims = privacy.levels()
    report.table("levels", table)
    privacy.draw_figure_1(report)

    compared, table, found = simulation.table_1(50 if quick else 2_000)
    claims += found
    if not quick:  # a quick run is too rough for the printed digits
        report.compare("table1", "Table 1", compared)
    report.table("table1_all", table)
    for name, settings, title in (
        ("table2", TABLE_2[:1] if quick else TABLE_2, "Table 2, covariates in [−.5, .5]"),
        ("table2_as_printed", (TABLE_2_AS_PRINTED,), "Table 2, covariates in [−1, 1] as printed"),
        ("table3", TABLE_3[:1] if quick else TABLE_3, "Table 3, errors of standard deviation 1 as stated"),
        (
            "table3_smaller_errors",
            TABLE_3_SMALLER_ERRORS[:1] if quick else TABLE_3_SMALLER_ERRORS,
            "Table 3, errors of standard deviation .8",
        ),
    ):
        table, found = simulation.regression_table(settings, 3 if quick else 300, title, report.folder / "runs")
        report.table(name, table)
        claims += [] if quick else found
    for name, (table, found) in {
        "proposition": simulation.proposition(60, 5_000) if quick else simulation.proposition(2_000),
        "coverage": simulation.coverage(report.folder / "runs", 2 if quick else 2_000),
    }.items():
        report.table(name, table)
        claims += [] if quick and name == "coverage" else found
    claims += network.experiment(report, quick=quick)
    report.check("claims", "Claims", claims)
    return report.finish()


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line."""
    return command_line("zil2025", run, __doc__, "fewer settings and runs: seconds", arguments)


if __name__ == "__main__":
    sys.exit(main())
