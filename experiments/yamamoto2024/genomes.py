"""Figure 5 and real genotypes: what a fixed record level leaves of χ² statistics."""

from __future__ import annotations

import csv
import itertools
import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet import design
from discreet.design.attributes.request import Request
from discreet.design.attributes.simple import inductive
from discreet.estimate.evidence import Evidence
from discreet.estimate.joint.independence import departure_test
from discreet.mechanisms import GeneralizedResponse
from discreet.randomness import Randomness
from experiments.reporting import Check, Report, Table, new_figure
from experiments.yamamoto2024.problem import (
    GENOTYPE_LEVEL,
    INDIVIDUALS,
    NO_NOISE,
    PER_SNP,
    QUICK_SNPS,
    SEED,
    SIMULATED,
    SNPS,
    VALUES,
)

Counts = NDArray[np.int64]


def heuristic_levels(count: int, size: int, total: float) -> NDArray[np.float64]:
    """The levels at which the heuristic ends when its record level is a total, by bisection."""
    low, high = 1e-6, 60.0
    for _ in range(80):
        middle = (low + high) / 2
        found = inductive(Request.of([size] * count, [middle] * count))
        low, high = (middle, high) if found.epsilon <= total else (low, middle)
    return inductive(Request.of([size] * count, [low] * count)).levels


def statistic(table: NDArray[np.float64]) -> float:
    """Pearson's χ² of a 2 × 2 table; 0 where a margin is not positive."""
    margins = [*table.sum(axis=0), *table.sum(axis=1)]
    if min(margins) <= 0:
        return 0.0
    return float(table.sum() * (table[0, 0] * table[1, 1] - table[0, 1] * table[1, 0]) ** 2 / np.prod(margins))


def figure5(quick: bool, runs: int) -> tuple[Table, list[Check]]:
    """Average |χ² − χ² from the corrected private table|; one SNP's column is generalised response at its level."""
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
    return Table("Figure 5: error of χ² statistics at a fixed record level", columns, rows), checks


def _error(level: float, generator: np.random.Generator, source: Randomness) -> float:
    alleles = 2 * INDIVIDUALS
    a = generator.binomial(alleles, 1 / 3)
    b = generator.binomial(alleles - a, 1 / 3)
    c = generator.binomial(alleles - a - b, 2 / 5)
    counts = np.array([a, b, c, alleles - a - b - c])
    mechanism = GeneralizedResponse(VALUES, min(level, NO_NOISE))
    reports = mechanism.privatize(np.repeat(np.arange(VALUES), counts), source)
    shares = np.bincount(reports, minlength=VALUES) / alleles
    corrected = mechanism.inverse.apply(shares) * alleles
    return abs(statistic(counts.reshape(2, 2).astype(float)) - statistic(np.maximum(corrected, 0).reshape(2, 2)))


def draw_figure5(report: Report, table: Table) -> None:
    """Error against k."""
    figure, axes = new_figure(len(PER_SNP), "Figure 5: χ² statistics at a fixed record level")
    for axis, per_snp in zip(axes, PER_SNP, strict=True):
        for name, style in (("product", "k-"), ("heuristic", "b--"), ("optimum", "r-.")):
            rows = [row for row in table.rows if row[0] == per_snp and row[2] == name]
            axis.plot([row[1] for row in rows], [row[4] for row in rows], style, marker=".", label=name)
        axis.set(
            xscale="log", yscale="log", xlabel="k", ylabel="mean |difference| of χ²", title=f"ε = {per_snp:g} per SNP"
        )
    axes[0].legend()
    report.figure("figure5", figure)


def genotype_file() -> Path | None:
    """The real data, when DISCREET_DATA says where they are (R package SNPassoc, ``asthma``)."""
    folder = os.environ.get("DISCREET_DATA")
    file = Path(folder) / "asthma_snps.csv" if folder else None
    return file if file is not None and file.exists() else None


def genotypes(file: Path) -> tuple[Table, list[Check]]:
    """Which SNPs are still found: genotype × disease as one attribute per SNP, all SNPs randomised together."""
    with file.open(encoding="utf-8") as stream:
        records = list(csv.DictReader(stream))
    names = [name for name in records[0] if name.startswith(("rs", "hopo"))]
    codes, sizes, kept = [], [], []
    disease = np.array([int(record["casecontrol"]) for record in records])
    for name in names:
        cells = [record[name] if record[name] not in ("", "NA") else "missing" for record in records]
        values = sorted(set(cells))
        if len(values) < 2:
            continue
        genotype = np.array([values.index(cell) for cell in cells])
        codes.append(genotype * 2 + disease)
        sizes.append(2 * len(values))
        kept.append(name)
    total = GENOTYPE_LEVEL * len(kept)
    found = {
        "product": design.attributes(sizes, [GENOTYPE_LEVEL] * len(kept), "kronecker"),
        "optimum": design.attributes_for_total(sizes, [1.0] * len(kept), total, pairs="free"),
    }
    truth = np.column_stack(codes)
    original = [_p_value(column, size, np.eye(size)) for column, size in zip(truth.T, sizes, strict=True)]
    p_values = {}
    for name, designed in found.items():
        reports = designed.joint.privatize(truth, Randomness.seeded(SEED))
        p_values[name] = [
            _p_value(reports[:, i], size, designed.joint.view(i).inverse.as_matrix()) for i, size in enumerate(sizes)
        ]
    rows = [
        [name, size, *(float(p) for p in ps)]
        for name, size, *ps in zip(kept, sizes, original, p_values["product"], p_values["optimum"], strict=True)
    ]
    table = Table("Real genotypes: p-values of genotype × disease", ("SNP", "values", "original", *found), rows)
    hits = [i for i, p in enumerate(original) if p < 0.05]
    again = {name: sum(values[i] < 0.05 for i in hits) for name, values in p_values.items()}
    level = found["optimum"].requested[0]
    evidence = f"{len(hits)} SNPs at p < .05; found again: " + ", ".join(f"{n} {c}" for n, c in again.items())
    return table, [
        Check(
            "at the same record level every SNP gets a larger level",
            level > GENOTYPE_LEVEL,
            f"{level:.3f} for {GENOTYPE_LEVEL:g}",
        ),
        Check("which SNPs are still found", True, evidence),
    ]


def _p_value(codes: Counts, size: int, correction: NDArray[np.float64]) -> float:
    evidence = Evidence(np.bincount(codes, minlength=size))
    rows = size // 2
    try:
        return departure_test(evidence, correction, rows, 2).p_value
    except ValueError:
        return 1.0
