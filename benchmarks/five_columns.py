"""``discreet release`` of a table of five kinds of columns, as a user runs it on all cores: rows per second, memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.measure import RESULTS, Result, Run, run_process, two_cores
from benchmarks.release import BATCH, memory_result, release_command

FOLDER = RESULTS / "bench-files"
MEMORY = 1_500_000_000

PLAN = """
format = 1
title = "Benchmark: five kinds of columns"
[output]
order = "{order}"
[[public]]
columns = ["region"]
[[private]]
columns = ["answer"]
domain = {{ binary = [false, true] }}
mechanism = "randomized-response"
epsilon = 1.0
[[private]]
columns = ["occupation"]
domain = {{ categorical = {{ from = 0, to = 999 }} }}
mechanism = "randomized-response"
epsilon = 2.0
[[private]]
columns = ["hours"]
domain = {{ box = {{ low = 0.0, high = 80.0 }} }}
mechanism = "zero-inflated-laplace"
epsilon = 1.0
delta = 1e-6
[[private]]
columns = ["smokes", "band"]
domains = [{{ binary = [false, true] }}, {{ categorical = ["a", "b", "c", "d"] }}]
mechanism = "joint"
epsilons = [1.0, 1.0]
"""


def make_input(path: Path, rows: int) -> None:
    """Text that is public, and truths of every kind, written batch by batch."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng, writer = np.random.default_rng(3), None
    regions, bands = pa.array([f"region {i}" for i in range(16)]), pa.array(["a", "b", "c", "d"])
    for start in range(0, rows, BATCH):
        n = min(BATCH, rows - start)
        table = pa.table(
            {
                "region": regions.take(pa.array(rng.integers(0, 16, n))),
                "answer": rng.random(n) < 0.3,
                "occupation": rng.integers(0, 1000, n).astype(np.int16),
                "hours": np.round(rng.random(n) * 80, 1),
                "smokes": rng.random(n) < 0.2,
                "band": bands.take(pa.array(rng.integers(0, 4, n))),
            }
        )
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table, row_group_size=BATCH)
    assert writer is not None
    writer.close()


def five_column_results(rows: int, repetitions: int) -> Iterator[Result]:
    """Order kept and shuffled, on two cores."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    source = FOLDER / "five.parquet"
    make_input(source, rows)
    for order in ("keep", "shuffle"):
        plan, output = FOLDER / f"five-{order}.toml", FOLDER / f"five-{order}.parquet"
        plan.write_text(PLAN.format(order=order), encoding="utf-8")
        command = release_command(source, plan, output, 2)
        runs = [run_process(command, two_cores()) for _ in range(repetitions)]
        output.unlink()
        yield from _rows(order, rows, runs)
    source.unlink()


def _rows(order: str, rows: int, runs: list[Run]) -> Iterator[Result]:
    name = "order kept" if order == "keep" else "shuffled"
    work = f"discreet release of {rows:.0e} rows, five kinds of columns, {name}, 2 cores"
    took = median(run.seconds for run in runs)
    rate = rows / took / 2
    yield Result(work, "–", "", f"{rate:,.0f} rows/s per core", rate, None, f"{took:.1f} s (whole process)")
    yield memory_result(work, runs, MEMORY, f"{len(runs)} runs")
