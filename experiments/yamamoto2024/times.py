"""Table I: run time."""

from __future__ import annotations

import time

import numpy as np

from discreet import design
from experiments.reporting import Table
from experiments.yamamoto2024.problem import SEED, TIMES_HEURISTIC, TIMES_PROGRAMME


def run_times(quick: bool) -> Table:
    """Seconds of every method; the paper's machine is not ours, so these are not compared as numbers."""
    rows = []
    generator = np.random.default_rng(SEED)
    for count in (3, 5, 10, 12, *(() if quick else (14, 100, 500, 1000, 100_000))):
        sizes, levels = generator.integers(2, 6, count), generator.uniform(1, 10, count)
        row: list[object] = [count, TIMES_PROGRAMME.get(count, "–")]
        row.append(_seconds(sizes, levels, "lp") if count <= 14 else "–")
        row.append(_seconds(sizes, levels, "exact") if count <= 100 else "–")
        row += [TIMES_HEURISTIC.get(count, "–"), _seconds(sizes, levels, "inductive")]
        rows.append(row)
    columns = ("k", "programme, paper", "programme", "exact", "heuristic, paper", "heuristic")
    return Table("Table I: seconds", columns, rows)


def _seconds(sizes: object, levels: object, method: str) -> float:
    start = time.perf_counter()
    design.attributes(sizes, levels, method, "free", allow_raised=True)
    return time.perf_counter() - start
