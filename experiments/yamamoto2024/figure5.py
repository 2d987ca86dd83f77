"""Figure 5: what a fixed record level leaves of χ² statistics, by the published protocol and at other record levels.

As published: levels ε_i uniform on [3, 5] go through the heuristic; the product gets the same record level in the same
ratios; the statistic of the *uncorrected* reports is compared with that of the data. The published code keeps one
list of people for all SNPs and fills it again for each, so that every SNP is perturbed from the data of the last one.
Both are run: as published, and every SNP from its own data.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import design
from discreet.design.several_attributes.request import Request
from discreet.design.several_attributes.yamamoto_heuristic import inductive
from discreet.mechanisms import GeneralizedResponse
from discreet.randomness import Randomness
from experiments.reporting import SIGMAS, Check, Report, Table, new_figure
from experiments.yamamoto2024.problem import (
    ALLELES,
    INDIVIDUALS,
    NO_NOISE,
    PER_SNP,
    PUBLISHED_LEVELS,
    PUBLISHED_SNPS,
    QUICK_PUBLISHED_SNPS,
    QUICK_SNPS,
    SEED,
    SIMULATED,
    SNPS,
    TABLE_SHARES,
    USUAL,
    VALUES,
)

Floats = NDArray[np.float64]

PUBLISHED_COLUMNS = ("k", "method", "record level per SNP", "as published", "±", "own data", "±")


def statistics(tables: Floats) -> Floats:
    """Pearson's χ² of 2 × 2 tables, one per line; 0 where a margin is not positive."""
    a, b, c, d = np.moveaxis(tables, -1, 0)
    margins = np.stack([a + b, c + d, a + c, b + d])
    usable = np.all(margins > 0, axis=0)
    product = np.where(usable, np.prod(margins, axis=0), 1.0)
    return np.where(usable, tables.sum(axis=-1) * (a * d - b * c) ** 2 / product, 0.0)


def published_runs(count: int, runs: int, generator: np.random.Generator) -> dict[str, tuple[float, Floats, Floats]]:
    """For heuristic and product: record level, and mean error of every run as published and from the SNPs' own data."""
    errors: dict[str, list[list[float]]] = {"heuristic": [], "product": []}
    record = []
    for _ in range(runs):
        asked = generator.uniform(*PUBLISHED_LEVELS, count).tolist()
        found = inductive(Request.of([VALUES] * count, asked))
        levels = {"heuristic": found.levels, "product": found.epsilon * found.levels / found.levels.sum()}
        record.append(found.epsilon)
        data = generator.multinomial(ALLELES, TABLE_SHARES, count)
        last = np.repeat(data[-1:], count, axis=0)
        for name, chosen in levels.items():
            both = [_perturbed(source, chosen, generator) for source in (last, data)]
            errors[name].append([float(np.mean(np.abs(statistics(data) - statistics(one)))) for one in both])
    return {name: (float(np.mean(record)), *np.array(values).T) for name, values in errors.items()}


def _perturbed(data: NDArray[np.int64], levels: Floats, generator: np.random.Generator) -> Floats:
    """Counts of the reports by generalised response at the level of each SNP; one line per SNP."""
    e = np.exp(np.minimum(levels, NO_NOISE))
    channel = (np.eye(VALUES) * (e - 1)[:, None, None] + 1) / (e + VALUES - 1)[:, None, None]
    return generator.multinomial(data, channel).sum(axis=1).astype(float)


def published(quick: bool, runs: int) -> tuple[Table, list[Check]]:
    """The published protocol, with and without the overwritten data."""
    rows: list[list[Any]] = []
    generator = np.random.default_rng(SEED)
    for count in QUICK_PUBLISHED_SNPS if quick else PUBLISHED_SNPS:
        for name, (record, shared, own) in published_runs(count, runs, generator).items():
            spread = [[float(values.mean()), float(values.std(ddof=1) / np.sqrt(runs))] for values in (shared, own)]
            rows.append([count, name, record / count, *spread[0], *spread[1]])
    title = f"Figure 5 by the published protocol: mean |difference| of χ², {runs} runs"
    return Table(title, PUBLISHED_COLUMNS, rows), published_claims(rows)


def published_claims(rows: list[list[Any]]) -> list[Check]:
    """The overwritten data, and what they do to the figure."""
    heuristic, product = ([row for row in rows if row[1] == name] for name in ("heuristic", "product"))
    inflated = all(row[3] - row[5] > SIGMAS * math.hypot(row[4], row[6]) for row in heuristic)
    halves = all(ours[5] < other[5] / 2 for ours, other in zip(heuristic, product, strict=True))

    def span(chosen: list[list[Any]], at: int) -> str:
        return f"{min(row[at] for row in chosen):.1f}–{max(row[at] for row in chosen):.1f}"

    return [
        Check(
            "perturbing every SNP from the last one's data inflates the heuristic's error",
            inflated,
            f"heuristic {span(heuristic, 3)} as published, {span(heuristic, 5)} from the SNPs' own data; "
            f"product {span(product, 3)} and {span(product, 5)}",
        ),
        Check("from the SNPs' own data it is still less than half of the product's", halves, f"{len(product)} k"),
        Check(
            f"every record level that is fixed lies above {USUAL:g}, below which section III.A puts the usual ones",
            min(row[2] * row[0] for row in heuristic) > USUAL,
            f"{min(row[2] * row[0] for row in heuristic):.1f} to {max(row[2] * row[0] for row in heuristic):.1f}, "
            f"{min(row[2] for row in heuristic):.2f} to {max(row[2] for row in heuristic):.2f} per SNP",
        ),
    ]


def heuristic_levels(count: int, size: int, total: float) -> Floats:
    """The levels at which the heuristic ends when its record level is a total, by bisection."""
    low, high = 1e-6, 60.0
    for _ in range(80):
        middle = (low + high) / 2
        found = inductive(Request.of([size] * count, [middle] * count))
        low, high = (middle, high) if found.epsilon <= total else (low, middle)
    return inductive(Request.of([size] * count, [low] * count)).levels


def by_record_level(quick: bool, runs: int) -> tuple[Table, list[Check]]:
    """Average |χ² − χ² from the corrected private table|, at record levels that protect something and others."""
    rows = []
    generator, source = np.random.default_rng(SEED), Randomness.seeded(SEED)
    for per_snp, count in itertools.product(PER_SNP, QUICK_SNPS if quick else SNPS):
        total = per_snp * count
        levels = {
            "product": np.full(count, total / count),
            "heuristic": heuristic_levels(count, VALUES, total),
            "optimum": np.full(
                count, design.attributes_for_total([VALUES] * count, [1.0] * count, total, pairs="free").requested[0]
            ),
        }
        for name, chosen in levels.items():
            errors = []
            for _ in range(runs):
                picked = generator.choice(chosen, min(SIMULATED, count))
                errors.append(np.mean([_error(float(level), generator, source) for level in picked]))
            rows.append(
                [per_snp, count, name, float(np.mean(chosen)), float(np.mean(errors)), min(errors), max(errors)]
            )
    by = {tuple(row[:3]): row[4] for row in rows}
    checks = [
        Check(
            f"record level {per_snp:g} per SNP, k = {k}: the optimum's error is below the product's",
            by[per_snp, k, "optimum"] < by[per_snp, k, "product"],
            f"{by[per_snp, k, 'optimum']:.3g} against {by[per_snp, k, 'product']:.3g} "
            f"(heuristic {by[per_snp, k, 'heuristic']:.3g})",
        )
        for per_snp, k in sorted({(row[0], row[1]) for row in rows})
    ]
    columns = ("per SNP", "k", "method", "mean level", "mean error", "smallest", "largest")
    return Table("Error of corrected χ² statistics at a fixed record level, equal levels", columns, rows), checks


def _error(level: float, generator: np.random.Generator, source: Randomness) -> float:
    counts = generator.multinomial(ALLELES, TABLE_SHARES)
    mechanism = GeneralizedResponse(VALUES, min(level, NO_NOISE))
    reports = mechanism.privatize(np.repeat(np.arange(VALUES), counts), source)
    corrected = mechanism.inverse.apply(np.bincount(reports, minlength=VALUES) / ALLELES) * ALLELES
    true, private = statistics(np.array([counts, np.maximum(corrected, 0)], float))
    return float(abs(true - private))


def draw(report: Report, table: Table, sweep: Table) -> None:
    """Error against k: as published and from the SNPs' own data, then at fixed record levels."""
    figure, axes = new_figure(2 + len(PER_SNP), f"Figure 5: χ² statistics of {INDIVIDUALS:,} people")
    for axis, at, title in ((axes[0], 3, "as published"), (axes[1], 5, "every SNP from its own data")):
        for name, style in (("product", "k-"), ("heuristic", "b--")):
            rows = [row for row in table.rows if row[1] == name]
            axis.plot([row[0] for row in rows], [row[at] for row in rows], style, marker=".", label=name)
        axis.set(xlabel="k", ylabel="mean |difference| of χ²", title=title, ylim=(0, None))
    for axis, per_snp in zip(axes[2:], PER_SNP, strict=True):
        for name, style in (("product", "k-"), ("heuristic", "b--"), ("optimum", "r-.")):
            rows = [row for row in sweep.rows if row[0] == per_snp and row[2] == name]
            axis.plot([row[1] for row in rows], [row[4] for row in rows], style, marker=".", label=name)
        axis.set(xscale="log", yscale="log", xlabel="k", title=f"corrected, ε = {per_snp:g} per SNP")
    axes[0].legend()
    axes[2].legend()
    report.figure("figure5", figure)
