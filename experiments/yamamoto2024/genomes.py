"""Real genotypes: which associations with a disease a fixed record level leaves to be found."""

from __future__ import annotations

import csv
import math
import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet import design
from discreet.design import AttributesDesign
from discreet.estimate.sampling.weighted_counts import Evidence
from discreet.estimate.tables.independence import score_test
from discreet.mechanisms import JointResponse
from discreet.randomness import Randomness
from experiments.reporting import SIGMAS, Check, Table
from experiments.yamamoto2024.problem import GENOTYPE_LEVELS, SEED, SIGNIFICANT

Counts = NDArray[np.int64]


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
            found = np.array([_significant(designed.mechanism, truth, sizes, SEED + run) for run in range(runs)])
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
        [_p_value(reports[:, i], size, joint.view(i).matrix()) < SIGNIFICANT for i, size in enumerate(sizes)]
    )


def _p_value(codes: Counts, size: int, channel: NDArray[np.float64]) -> float:
    evidence = Evidence(np.bincount(codes, minlength=size))
    rows = size // 2
    try:
        return score_test(evidence, channel, rows, 2).p_value
    except ValueError:
        return 1.0
