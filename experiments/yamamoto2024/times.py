"""Table I: run time."""

from __future__ import annotations

import time

import numpy as np

from discreet import design
from discreet.design import AttributesDesign
from experiments.reporting import Table
from experiments.yamamoto2024.problem import (
    EXACT_TIMED,
    PROGRAMME_TIMED,
    QUICK_TIMED,
    SEED,
    TIMED,
    TIMES_HEURISTIC,
    TIMES_PROGRAMME,
)

COLUMNS = (
    "k",
    "programme, paper",
    "programme",
    "exact",
    "its record level",
    "lower bound",
    "product",
    "note",
    "heuristic, paper",
    "heuristic",
)


def run_times(quick: bool) -> Table:
    """Seconds of every method; the paper's machine is not ours, so these are not compared as numbers.

    A design that fell back on a simpler one says so in a note, and its record level stands beside the lower bound.
    """
    rows = []
    generator = np.random.default_rng(SEED)
    design.attributes([2, 3], [1.0, 2.0], "lp", "free")  # loads what the first call would be charged for
    for count in QUICK_TIMED if quick else TIMED:
        sizes, levels = generator.integers(2, 6, count), generator.uniform(1, 10, count)
        row: list[object] = [count, TIMES_PROGRAMME.get(count, "–")]
        row.append(_timed(sizes, levels, "lp")[0] if count <= PROGRAMME_TIMED else "–")
        if count <= EXACT_TIMED:
            seconds, found = _timed(sizes, levels, "exact")
            note = next((text for text in found.notes if not text.startswith("pairs were left free")), "")
            row += [seconds, found.guarantee.epsilon, found.certificate.bound, float(levels.sum()), note]
        else:
            row += ["–", "–", "–", float(levels.sum()), ""]
        row += [TIMES_HEURISTIC.get(count, "–"), _timed(sizes, levels, "inductive")[0]]
        rows.append(row)
    return Table("Table I: seconds", COLUMNS, rows)


def _timed(sizes: object, levels: object, method: str) -> tuple[float, AttributesDesign]:
    start = time.perf_counter()
    found = design.attributes(sizes, levels, method, "free", allow_raised=True)
    return time.perf_counter() - start, found
