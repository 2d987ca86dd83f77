"""Figure 5 and real genotypes: what a fixed record level leaves of χ² statistics."""

from __future__ import annotations

import csv
import itertools
import math
import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet import design
from discreet.design import AttributesDesign
from discreet.design.attributes.request import Request
from discreet.design.attributes.simple import inductive
from discreet.estimate.evidence import Evidence
from discreet.estimate.joint.independence import departure_test
from discreet.mechanisms import GeneralizedResponse, JointResponse
from discreet.randomness import Randomness
from experiments.reporting import SIGMAS, Check, Report, Table, new_figure
from experiments.yamamoto2024.problem import (
    GENOTYPE_LEVELS,
    INDIVIDUALS,
    NO_NOISE,
    PER_SNP,
    QUICK_SNPS,
    SEED,
    SIGNIFICANT,
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


def genotypes(file: Path, runs: int) -> tuple[Table, Table, list[Check]]:
    """Which SNPs are still found: genotype × disease as one attribute per SNP, all SNPs randomised together.

    At every record level the SNPs with p < .05 in the original data are looked for again in ``runs`` randomised copies.
    """
    kept, sizes, truth = _read(file)
    original = [_p_value(column, size, np.eye(size)) for column, size in zip(truth.T, sizes, strict=True)]
    hits = np.array(original) < SIGNIFICANT
    rows, checks = [], []
    by_snp: dict[str, NDArray[np.float64]] = {}
    for per_snp in GENOTYPE_LEVELS:
        again = {}
        for name, designed in _designs(sizes, per_snp).items():
            found = np.array([_significant(designed.joint, truth, sizes, SEED + run) for run in range(runs)])
            by_snp[f"{name}, {per_snp:g}"] = found.mean(axis=0)
            right, wrong = found[:, hits].sum(axis=1), found[:, ~hits].sum(axis=1)
            again[name] = (float(right.mean()), float(right.std(ddof=1)) / math.sqrt(runs))
            level = float(np.max(designed.marginal_epsilons))
            rows.append([per_snp, name, designed.guarantee.epsilon, level, *again[name], float(wrong.mean())])
        (ours, error), (product, other) = again["optimum"], again["product"]
        checks.append(
            Check(
                f"{per_snp:g} per SNP: the optimum finds at least as many SNPs again as the product",
                ours >= product - SIGMAS * math.hypot(error, other),
                f"{ours:.1f} ± {error:.1f} against {product:.1f} ± {other:.1f} of {int(hits.sum())}",
            )
        )
    columns = ("per SNP", "method", "record level", "level", f"found of {int(hits.sum())}", "±", "others found")
    whole = float(np.mean(np.log(sizes)))
    title = (
        f"Real genotypes: SNPs with p < {SIGNIFICANT} of {len(kept)} found again, mean of {runs} runs.\nAbove "
        f"{whole:.2f} per SNP, ln Π a_i of the record, the optimum reports nearly always the whole truth: such record "
        "levels promise nothing"
    )
    sweep = Table(title, columns, rows)
    each = Table(
        "Real genotypes: how often every SNP is found",
        ("SNP", "values", "original p", *by_snp),
        [
            [name, size, float(p), *(float(share[i]) for share in by_snp.values())]
            for i, (name, size, p) in enumerate(zip(kept, sizes, original, strict=True))
        ],
    )
    return sweep, each, checks


def _designs(sizes: list[int], per_snp: float) -> dict[str, AttributesDesign]:
    """Product and optimum with the same record level."""
    count = len(sizes)
    return {
        "product": design.attributes(sizes, [per_snp] * count, "kronecker"),
        "optimum": design.attributes_for_total(sizes, [1.0] * count, per_snp * count, pairs="free"),
    }


def _read(file: Path) -> tuple[list[str], list[int], Counts]:
    """Names of the SNPs that vary, numbers of values, and codes 2·genotype + disease; missing is a value."""
    with file.open(encoding="utf-8") as stream:
        records = list(csv.DictReader(stream))
    codes, sizes, kept = [], [], []
    disease = np.array([int(record["casecontrol"]) for record in records])
    for name in (name for name in records[0] if name.startswith(("rs", "hopo"))):
        cells = [record[name] if record[name] not in ("", "NA") else "missing" for record in records]
        values = sorted(set(cells))
        if len(values) < 2:
            continue
        codes.append(np.array([values.index(cell) for cell in cells]) * 2 + disease)
        sizes.append(2 * len(values))
        kept.append(name)
    return kept, sizes, np.column_stack(codes)


def _significant(joint: JointResponse, truth: Counts, sizes: list[int], seed: int) -> NDArray[np.bool_]:
    """Which SNPs a randomised copy of the data finds."""
    reports = joint.privatize(truth, Randomness.seeded(seed))
    return np.array(
        [_p_value(reports[:, i], size, joint.view(i).inverse.as_matrix()) < SIGNIFICANT for i, size in enumerate(sizes)]
    )


def _p_value(codes: Counts, size: int, correction: NDArray[np.float64]) -> float:
    evidence = Evidence(np.bincount(codes, minlength=size))
    rows = size // 2
    try:
        return departure_test(evidence, correction, rows, 2).p_value
    except ValueError:
        return 1.0
