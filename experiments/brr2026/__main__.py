"""Run everything, print the tables, write CSV and figures."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np

from experiments.brr2026 import curves, gradients, places, theorems, trees, vectors
from experiments.brr2026.problem import (
    DATA_SETS,
    FIGURE_5_LEVEL,
    FIGURE_5_LEVELS,
    FIGURE_5_N,
    FIGURE_5_SIZES,
    FIGURE_6_LEVELS,
    FIGURE_6_N,
    FIGURE_6_SIZES,
    FIGURE_8_DRAWINGS,
    FIGURE_8_LEVELS,
    SEED,
)
from experiments.reporting import Check, Comparison, Report, Table, command_line

#: Expected errors (N, ε: GRR, BRR, best, optimum) that have to come out, uniform prior, |x − y|.
CHECKED = {
    (12, 1.0): ("3.474682", "2.885099", "2.885099", "2.550510"),
    (25, 1.0): ("7.784932", "6.091495", "6.079621", "5.327286"),
    (32, 2.0): ("8.882740", "5.371537", "5.371537", "4.987941"),
}
NAMES = ("generalised", "bipartite, search", "bipartite, best", "optimum")


def run_checked(report: Report) -> None:
    """The reference numbers."""
    found = []
    for (size, epsilon), values in CHECKED.items():
        rows = {row[0]: row[3] for row in curves.measured([(size, curves.line(size))], [epsilon])}
        found += [
            Comparison(f"N = {size}, ε = {epsilon:g}, {name}", value, rows[name])
            for name, value in zip(NAMES, values, strict=True)
        ]
    report.compare("reference", "Expected errors against an independent prototype", found)


def run_curves(report: Report, *, quick: bool) -> list[Check]:
    """Figures 5 and 6."""
    claims = []
    for name, title, make, sizes, at, levels in (
        ("figure5", "Figure 5", curves.line, FIGURE_5_SIZES, FIGURE_5_N, FIGURE_5_LEVELS),
        ("figure6", "Figure 6 (Jaccard)", curves.jaccard, FIGURE_6_SIZES, FIGURE_6_N, FIGURE_6_LEVELS),
    ):
        if quick:
            sizes, at, levels = (10, 20), 20, (0.5, 1.0, 2.0)
        by_size = curves.measured([(n, make(n)) for n in sizes], [FIGURE_5_LEVEL])
        by_level = curves.measured([(at, make(at))], levels)
        table, found = curves.result(title, [*by_size, *by_level])
        claims += found
        report.table(name, table, show=not quick)
        curves.draw(report, name, title, by_size, by_level)
    return claims


def run_places(report: Report, *, quick: bool) -> list[Check]:
    """Figures 7, 8 and 12."""
    claims: list[Check] = []
    rows, times = [], []
    for name, (_, drawn, largest, (smallest, _)) in DATA_SETS.items():
        everything = places.load(name)
        if everything is None:
            print(f"\nSKIPPED: {name}; {places.WHERE}")
            continue
        rng = np.random.default_rng(SEED)
        count = min(150 if quick else drawn, len(everything))
        levels = (0.25, 2.0) if quick else FIGURE_8_LEVELS
        drawings = []
        for number in range(2 if quick else FIGURE_8_DRAWINGS):
            chosen = everything[rng.choice(len(everything), count, replace=False)]
            parts = places.regions(chosen, 7 if quick else smallest, 60 if quick else largest)
            drawings.append(places.figure_8(name, parts, levels))
            if number == 0:
                times += list(places.run_time(name, parts).rows)
                report.table(f"regions_{name.lower()}", places.across_regions(name, chosen, parts, (0.25, 1.0, 2.0)))
        claims += places.claims(drawings[0])
        report.table(f"figure8_{name.lower()}", places.beside(drawings))
        rows += drawings[0].rows
    if rows:
        print(f"\n{places.UNKNOWN}")
        columns = ["data", "mechanism", "ε", "error", "realised ε"]
        report.table("figure8", Table("Figure 8: global expected error in km", columns, rows), show=not quick)
        places.draw_figure_8(report, rows)
        report.table("figure12", Table("Figure 12", ["data", "mechanism", "share", "users", "seconds"], times))
        slowest = max(row[4] for row in times if row[1] == "BRR, search")
        print(f"\nBRR, design and reports: {slowest:.2f} s at most; the paper needs about 4 s for 3,000 users.")
    return claims


def run(report: Report, *, quick: bool) -> int:
    """The whole reproduction; the exit code says whether anything is unexplained."""
    run_checked(report)
    table, claims = theorems.formula(quick)
    report.table("formula", table)
    table, found = theorems.limits()
    report.table("limits", table)
    claims += found
    claims += run_curves(report, quick=quick)
    claims += run_places(report, quick=quick)
    for figure in (trees, gradients, vectors):  # 9, 10 and 11
        claims += figure.run(report, quick=quick)
    report.check("claims", "Claims", claims)
    return report.finish()


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line."""
    return command_line("brr2026", run, __doc__, "smaller domains and fewer levels: seconds", arguments)


if __name__ == "__main__":
    sys.exit(main())
