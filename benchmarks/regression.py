"""Regressions on randomised reports: one fit against statsmodels' plain Logit, and ten million rows from a file."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import RESULTS, Result, at_most, in_turn, run_process
from benchmarks.privatise import EPSILON
from discreet import Randomness, design
from discreet.estimate.regressions.likelihood import binary_regression

FOLDER = RESULTS / "bench-files"
COEFFICIENTS = np.array([-1.0, 0.25, 0.0, 0.5, -0.75])
#: Rows of a batch, and of a row group of the file.
BATCH = 1 << 17
GIGABYTE = 10**9
MAX_PASSES = 15

#: What a user runs: batches from a Parquet file, read anew on every pass. Arguments: file, p, where the result goes.
STREAM = """
import json, sys
import numpy as np
import pyarrow.parquet as pq
from discreet.estimate.regressions.likelihood import Batch, binary_regression_batches

def batches():
    with pq.ParquetFile(sys.argv[1]) as file:
        for batch in file.iter_batches(batch_size=131072):
            *covariates, report = batch.columns
            X = np.column_stack([np.ones(batch.num_rows), *(column.to_numpy() for column in covariates)])
            yield Batch(X, report.to_numpy(), float(sys.argv[2]), float(sys.argv[2]))

fit = binary_regression_batches(batches)
found = {"passes": fit.passes, "n": fit.n, "converged": fit.converged, "estimate": fit.coefficients.tolist(),
         "error": fit.std_error.tolist()}
open(sys.argv[3], "w").write(json.dumps(found))
"""


def sample(n: int, generator: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.uint8], float]:
    """Covariates with an intercept, reports by the optimal design, and its p00 = p11."""
    X = np.column_stack([np.ones(n), generator.standard_normal((n, len(COEFFICIENTS) - 1))])
    truth = (generator.random(n) < 1 / (1 + np.exp(-X @ COEFFICIENTS))).astype(np.uint8)
    mechanism = design.binary(EPSILON).mechanism
    reports = mechanism.privatize(truth, Randomness.seeded(int(generator.integers(2**62))))
    return X, reports, float(mechanism.p00)


def regression_results(rows: int, repetitions: int) -> Iterator[Result]:
    """One fit in memory with all its starts, and ``rows`` rows by streaming."""
    yield fit_result(100_000, repetitions)
    yield from stream_results(rows)


def fit_result(n: int, repetitions: int) -> Result:
    """Corrected logit with standard errors, against statsmodels' Logit of the same reports with standard errors."""
    import statsmodels.api as sm

    X, reports, p = sample(n, np.random.default_rng(11))
    check(binary_regression(X, reports, p, p))
    times = in_turn(
        lambda: binary_regression(X, reports, p, p).std_error,
        lambda: sm.Logit(reports, X).fit(disp=0).bse,
        repetitions,
    )
    work = f"binary_regression of {n:.0e} reports, {len(COEFFICIENTS)} coefficients, all starts"
    return at_most(work, "statsmodels Logit", 3.0, 1 / times.ratio, times.detail(n, "statsmodels"))


def check(fit: object) -> None:
    """What was timed gives the coefficients back."""
    estimate, error = np.asarray(fit.coefficients), np.asarray(fit.std_error)  # type: ignore[attr-defined]
    if np.any(np.abs(estimate - COEFFICIENTS) > 6 * error):
        raise RuntimeError("the regression that was timed does not give the coefficients back")


def write_rows(path: Path, rows: int) -> float:
    """Four covariates and the reports, batch by batch; p00 = p11."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    generator = np.random.default_rng(12)
    names = [f"x{j}" for j in range(1, len(COEFFICIENTS))]
    schema = pa.schema([*((name, pa.float64()) for name in names), ("report", pa.uint8())])
    keep = 0.0
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, rows, BATCH):
            X, reports, keep = sample(min(BATCH, rows - start), generator)
            columns = [*(pa.array(column) for column in X.T[1:]), pa.array(reports)]
            writer.write_batch(pa.record_batch(columns, schema=schema))
    return keep


def stream_results(rows: int) -> Iterator[Result]:
    """Time, peak memory and passes of a process that fits a file."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    file, answer = FOLDER / "regression.parquet", FOLDER / "regression.json"
    keep = write_rows(file, rows)
    size = file.stat().st_size
    run = run_process([sys.executable, "-c", STREAM, file, repr(keep), answer])
    found = json.loads(answer.read_text())
    file.unlink()
    answer.unlink()
    off = np.abs(np.array(found["estimate"]) - COEFFICIENTS) / np.array(found["error"])
    if found["n"] != rows or not found["converged"] or off.max() > 6:
        raise RuntimeError("the streamed regression does not give the coefficients back")
    work = f"binary_regression_batches of {rows:.0e} rows, {len(COEFFICIENTS)} coefficients, from Parquet"
    detail = (
        f"{run.seconds:.1f} s for the whole process, {run.seconds / rows * 1e9:.0f} ns/row; file {size / 1e6:.0f} MB"
    )
    peak = run.peak_bytes
    yield Result(f"{work}: memory", "–", "< 2 GB", f"{peak / 1e6:.0f} MB", float(peak), peak < 2 * GIGABYTE, detail)
    passes = int(found["passes"])
    yield Result(
        f"{work}: passes", "–", f"≤ {MAX_PASSES}", f"{passes} passes", float(passes), passes <= MAX_PASSES, detail
    )
