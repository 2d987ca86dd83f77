"""A release on two workers of Spark, against the same jobs with functions that do nothing.

Everything runs in one session on a standalone cluster on loopback, in turns. ``discreet`` does more than the jobs it is
compared with: it counts rows, reads every part once more for its digests, and writes a manifest. Estimates that come
back as sums are set beside those of one machine, which are the same.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.measure import Result, at_most, every_core, on_cores

FILES, PARTS = 8, 4
#: What an identity may cost more than it, with noise.
MOST = 1.8


def identity(batches: Iterator[Any]) -> Iterator[Any]:
    """The rows as they are."""
    yield from batches


def without_key(batches: Iterator[Any]) -> Iterator[Any]:
    """The rows without the number by which they were put in order."""
    for batch in batches:
        yield batch.select(["id", "answer"])


def make_input(folder: Path, rows: int) -> None:
    """A public number and a truth, in several files."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir()
    rng, each = np.random.default_rng(3), rows // FILES
    for number in range(FILES):
        table = pa.table({"id": np.arange(number * each, (number + 1) * each), "answer": rng.random(each) < 0.1})
        pq.write_table(table, folder / f"part-{number}.parquet")


def plan(order: str) -> dict[str, Any]:
    """The answer is randomised, the number copied."""
    private = {"columns": ["answer"], "domain": {"binary": [False, True]}, "mechanism": "randomized-response"}
    return {
        "format": 1,
        "output": {"order": order},
        "public": [{"columns": ["id"]}],
        "private": [{**private, "epsilon": 1.0}],
    }


def works(session: Any, folder: Path) -> dict[str, Callable[[], None]]:
    """What is timed, by name."""
    from pyspark.sql import functions as F  # noqa: N812  # as everybody calls it

    from discreet import Release, engines, estimate, release

    engine, data = engines.Spark(session), (folder / "data").as_uri()

    def fresh(name: str) -> str:
        shutil.rmtree(folder / name, ignore_errors=True)
        return (folder / name).as_uri()

    def read() -> Any:
        return session.read.parquet(data)

    def copy() -> None:
        read().write.parquet(fresh("copy"))

    def one_job() -> None:
        read().mapInArrow(identity, "id long, answer boolean").write.parquet(fresh("identity"))

    def two_jobs() -> None:
        keyed = read().select("*", (F.rand() * (1 << 62)).cast("long").alias("place"))
        keyed.mapInArrow(identity, "id long, answer boolean, place long").write.parquet(fresh("staged"))
        staged = session.read.parquet((folder / "staged").as_uri())
        ordered = staged.repartition(PARTS, "place").sortWithinPartitions("place")
        ordered.mapInArrow(without_key, "id long, answer boolean").write.parquet(fresh("ordered"))

    def released(order: str) -> Callable[[], None]:
        def run() -> None:
            shutil.rmtree(folder / order, ignore_errors=True)
            release(folder / "data", plan(order), folder / order, engine=engine, ledger=None)

        return run

    def asked(there: bool) -> Callable[[], None]:
        def run() -> None:
            opened = Release.open(folder / "keep", engine=engine if there else None)
            estimate.frequencies(opened, "answer")
            estimate.mean(opened, "id")
            estimate.regression("answer ~ I(id / 1e6)", opened)

        return run

    return {
        "copy": copy,
        "identity": one_job,
        "two identities": two_jobs,
        "keep": released("keep"),
        "shuffle": released("shuffle"),
        "asked there": asked(True),
        "asked here": asked(False),
    }


def spark_results(rows: int, repetitions: int) -> Iterator[Result]:
    """Order kept and shuffled, each against its jobs; the plain copy is reported."""
    from pyspark import cloudpickle
    from pyspark.sql import SparkSession
    from tests.spark.cluster import Cluster

    os.environ["PYSPARK_PYTHON"] = sys.executable
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # executors do not have this file
    with tempfile.TemporaryDirectory() as place, on_cores(every_core()):  # two workers, each with a core
        folder = Path(place)
        make_input(folder / "data", rows)
        cluster = Cluster(folder).start()
        try:
            builder = SparkSession.builder.master(cluster.url).appName("benchmark")
            chosen = cluster.settings() | {"spark.speculation": "false", "spark.sql.files.maxPartitionBytes": "128m"}
            for name, value in chosen.items():
                builder = builder.config(name, value)
            session = builder.getOrCreate()
            session.sparkContext.setLogLevel("OFF")
            took = timed(works(session, folder), repetitions)
            session.stop()
        finally:
            cluster.stop()
    yield from compared(rows, took)


def timed(todo: dict[str, Callable[[], None]], repetitions: int) -> dict[str, float]:
    """Median seconds of each, after one round that warms everything up."""
    seconds: dict[str, list[float]] = {name: [] for name in todo}
    for repetition in range(repetitions + 1):
        for name, work in todo.items():
            began = time.perf_counter()
            work()
            if repetition:
                seconds[name].append(time.perf_counter() - began)
    return {name: median(each) for name, each in seconds.items()}


def compared(rows: int, took: dict[str, float]) -> Iterator[Result]:
    """The ratios."""
    for order, name, against in (("keep", "order kept", "identity"), ("shuffle", "shuffled", "two identities")):
        work = f"release of {rows:.0e} rows on Spark, 2 workers, {name}"
        detail = f"ours {took[order]:.2f} s, theirs {took[against]:.2f} s, plain copy {took['copy']:.2f} s"
        jobs = "an identity mapInArrow job" if order == "keep" else "the same two jobs with identity functions"
        yield at_most(work, jobs, MOST, took[order] / took[against], detail)
        yield at_most(work, "a plain copy with Spark", None, took[order] / took["copy"], detail)
    there, here = took["asked there"], took["asked here"]
    detail = f"there {there:.2f} s, here {here:.2f} s"
    work = f"shares, a mean and a logit of {rows:.0e} rows on Spark, 2 workers"
    yield at_most(work, "one machine", None, there / here, detail)
