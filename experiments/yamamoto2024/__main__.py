"""Run everything, print the tables, write CSV and figures."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from experiments.reporting import Check, Report, command_line
from experiments.yamamoto2024 import figure5, genomes, independence, levels, surveys, times
from experiments.yamamoto2024.problem import (
    GENOTYPE_RUNS,
    PUBLISHED_RUNS,
    QUICK_SETS,
    QUICK_SURVEY_RUNS,
    QUICK_TEST_RUNS,
    RUNS,
    SETS,
    TEST_RUNS,
)


def run(report: Report, *, quick: bool) -> int:
    """The whole reproduction; the exit code says whether anything is unexplained."""
    claims = levels.check_figures()
    table = levels.random_sets(QUICK_SETS if quick else SETS)
    report.table("figures1to4", table, show=False)
    claims += levels.claims(table)
    many = levels.large(quick)
    report.table("large", many)
    levels.draw(report, table, many)
    claims += _figure5(report, quick=quick) + _independence(report, quick=quick)
    file = genomes.genotype_file()
    if file is None:
        print("\nReal genotypes skipped: set DISCREET_DATA to a folder with asthma_snps.csv (R package SNPassoc)")
    elif not quick:
        sweep, each, found = genomes.genotypes(file, GENOTYPE_RUNS)
        claims += found
        report.table("genotypes", sweep)
        report.table("genotypes_each", each, show=False)
    report.check("claims", "Claims", claims)
    report.table("table1", times.run_times(quick))
    return report.finish()


def _figure5(report: Report, *, quick: bool) -> list[Check]:
    published, claims = figure5.published(quick, PUBLISHED_RUNS)
    sweep, found = figure5.by_record_level(quick, 2 if quick else RUNS)
    report.table("figure5", published)
    report.table("record_levels", sweep)
    figure5.draw(report, published, sweep)
    return claims + found


def _independence(report: Report, *, quick: bool) -> list[Check]:
    runs = QUICK_TEST_RUNS if quick else TEST_RUNS
    claims = []
    for name, (table, found) in (
        ("independence_joint", independence.joint_tests(runs)),
        ("independence_separate", independence.separate_tests(runs)),
        ("independence_surveys", surveys.survey_tests(QUICK_SURVEY_RUNS if quick else TEST_RUNS)),
    ):
        report.table(name, table)
        claims += found
    return claims


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line."""
    return command_line("yamamoto2024", run, __doc__, "fewer sets and attributes: seconds", arguments)


if __name__ == "__main__":
    sys.exit(main())
