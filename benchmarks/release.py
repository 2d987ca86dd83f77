"""``discreet release`` of a file, as a user runs it, against a copy with pyarrow."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.measure import RESULTS, Result, Run, at_most, run_process, two_cores
from benchmarks.privatise import PREVALENCE

FOLDER = RESULTS / "bench-files"
#: Rows of a row group of the input, and of a batch of the copy; discreet chooses the same for its output.
BATCH = 1 << 20
GIGABYTE = 10**9
#: Most times of a copy on one core, by order and number of cores.
TARGETS = {("keep", 1): 1.4, ("keep", 2): 1.0, ("shuffle", 1): 3.5, ("shuffle", 2): 2.5}

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


def release_command(source: Path, plan: Path, output: Path, workers: int) -> list[str | Path]:
    """As a user types it."""
    release = [sys.executable, "-m", "discreet", "release", source, plan, "-o", output, "--overwrite"]
    return [*release, "--no-ledger", "--workers", str(workers)]


def release_results(rows: int, repetitions: int) -> Iterator[Result]:
    """Order kept and shuffled, on one core and on two, against the copy on one core."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    source, copied = FOLDER / "input.parquet", FOLDER / "copy.parquet"
    make_input(source, rows)
    copy = [sys.executable, "-c", COPY, source, copied, str(BATCH)]
    outputs = {order: FOLDER / f"{order}.parquet" for order in ("keep", "shuffle")}
    for order in outputs:
        (FOLDER / f"{order}.toml").write_text(PLAN.format(order=order), encoding="utf-8")
    run_process(copy)
    copies: list[Run] = []
    runs: dict[tuple[str, int], list[Run]] = {case: [] for case in TARGETS}
    for _ in range(repetitions):
        copies.append(run_process(copy))
        for (order, cores), done in runs.items():
            command = release_command(source, FOLDER / f"{order}.toml", outputs[order], cores)
            done.append(run_process(command, None if cores == 1 else two_cores()))
    for order, output in outputs.items():
        check_output(output, rows)
        for cores in (1, 2):
            yield from _rows(order, cores, rows, runs[order, cores], copies)
    for file in (source, copied, *outputs.values()):
        file.unlink()


def _rows(order: str, cores: int, rows: int, ours: list[Run], copy: list[Run]) -> Iterator[Result]:
    name = "order kept" if order == "keep" else "shuffled"
    work = f"discreet release of {rows:.0e} rows, one bool column, {name}, {cores} core{'s' * (cores > 1)}"
    took, copied = median(run.seconds for run in ours), median(run.seconds for run in copy)
    detail = f"ours {took:.2f} s, copy {copied:.2f} s (whole processes), medians of {len(ours)} and {len(copy)}"
    yield at_most(work, "batch-wise copy with pyarrow on one core", TARGETS[order, cores], took / copied, detail)
    yield memory_result(work, ours, GIGABYTE, f"copy {max(run.peak_bytes for run in copy) / 1e6:.0f} MB")


def memory_result(work: str, runs: list[Run], limit: int, beside: str) -> Result:
    """The peak memory of several runs, against a limit."""
    peak = max(run.peak_bytes for run in runs)
    allowed, shown = f"< {limit / 1e9:g} GB", f"{peak / 1e6:.0f} MB"
    return Result(f"{work}: memory", "–", allowed, shown, float(peak), peak < limit, f"peak; {beside}")
