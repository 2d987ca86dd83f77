"""``discreet release`` of a file, as a user runs it, against a copy with pyarrow."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.measure import RESULTS, Result, Run, at_most, run_process
from benchmarks.privatise import PREVALENCE

FOLDER = RESULTS / "bench-files"
#: Rows of a row group of the input, and of a batch of the copy; discreet chooses the same for its output.
BATCH = 1 << 20
GIGABYTE = 10**9

PLAN = """
format = 1
title = "Benchmark: one yes/no column"
[output]
order = "{order}"
[[private]]
columns = ["answer"]
domain = {{ binary = [false, true] }}
mechanism = "randomized-response"
epsilon = 1.0
"""

COPY = """
import sys
import pyarrow.parquet as pq
with pq.ParquetFile(sys.argv[1]) as source, pq.ParquetWriter(sys.argv[2], source.schema_arrow) as target:
    for batch in source.iter_batches(batch_size=int(sys.argv[3])):
        target.write_batch(batch, row_group_size=batch.num_rows)
"""


def make_input(path: Path, rows: int) -> None:
    """An unsorted boolean column, written batch by batch with pyarrow's default compression."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng, schema = np.random.default_rng(3), pa.schema([("answer", pa.bool_())])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, rows, BATCH):
            answers = rng.random(min(BATCH, rows - start)) < PREVALENCE
            writer.write_batch(pa.record_batch([pa.array(answers)], schema=schema), row_group_size=BATCH)


def check_output(path: Path, rows: int) -> None:
    """The file that was timed is a release of all rows that gives the prevalence back."""
    from discreet import Release, estimate

    release = Release.open(path)
    result = estimate.frequencies(release, "answer")
    if release.manifest.rows != rows or abs(result.estimate[1] - PREVALENCE) > 6 * result.std_error[1] + 1e-3:
        raise RuntimeError("the released file does not hold what was timed")


def release_results(rows: int, repetitions: int) -> Iterator[Result]:
    """Order kept, and shuffled."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    source, copied = FOLDER / "input.parquet", FOLDER / "copy.parquet"
    make_input(source, rows)
    copy = [sys.executable, "-c", COPY, source, copied, BATCH]
    commands = {}
    for order in ("keep", "shuffle"):
        plan, output = FOLDER / f"{order}.toml", FOLDER / f"{order}.parquet"
        plan.write_text(PLAN.format(order=order), encoding="utf-8")
        release = [sys.executable, "-m", "discreet", "release", source, plan, "-o", output, "--overwrite"]
        commands[order] = [*release, "--no-ledger"]
    run_process(copy)
    runs: dict[str, list[Run]] = {"copy": [], "keep": [], "shuffle": []}
    for repetition in range(repetitions):
        runs["copy"].append(run_process(copy))
        runs["keep"].append(run_process(commands["keep"]))
        if repetition == 0:  # its ratio is only reported
            runs["shuffle"].append(run_process(commands["shuffle"]))
    for order in commands:
        check_output(FOLDER / f"{order}.parquet", rows)
        yield from _rows(order, rows, runs[order], runs["copy"])
    for file in (source, copied, *(FOLDER / f"{order}.parquet" for order in commands)):
        file.unlink()


def _rows(order: str, rows: int, ours: list[Run], copy: list[Run]) -> Iterator[Result]:
    name = "order kept" if order == "keep" else "shuffled"
    work = f"discreet release of {rows:.0e} rows, one bool column, {name}"
    took, copied = median(run.seconds for run in ours), median(run.seconds for run in copy)
    detail = f"ours {took:.2f} s, copy {copied:.2f} s (whole processes), medians of {len(ours)} and {len(copy)}"
    yield at_most(work, "batch-wise copy with pyarrow", 2.0 if order == "keep" else None, took / copied, detail)
    peak = max(run.peak_bytes for run in ours)
    beside = f"copy {max(run.peak_bytes for run in copy) / 1e6:.0f} MB"
    yield Result(
        f"{work}: memory", "–", "< 1 GB", f"{peak / 1e6:.0f} MB", float(peak), peak < GIGABYTE, f"peak; {beside}"
    )
