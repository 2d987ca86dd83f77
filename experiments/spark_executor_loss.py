"""What Spark does to noise when an executor is lost, without what discreet does against it.

A table is randomised in a map, put in order by a random key and written; an executor is killed when two parts of the
order are done. ``fresh``: noise and keys are drawn anew by every attempt of a task, and nothing is staged. ``keyed``:
both are derived from a key and the number of the partition. ``staged``: fresh, but written down before it is ordered.

Run it in an environment of its own, with the version of Spark in question and nothing of discreet::

    python -m venv old && old/bin/pip install "pyspark==4.1.*" numpy pyarrow pandas
    old/bin/python -m experiments.spark_executor_loss fresh keyed staged

It is no part of the tests: versions that lose rows are refused by ``engines.Spark``. With ``fresh`` Spark 4.1.4
reported success with 599,820 rows of 600,000: 41,534 lost, 41,354 published more than once, 41,306 of these with
different reports.
"""

from __future__ import annotations

import hashlib
import os
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from tests.spark.cluster import Cluster

ROWS, PARTITIONS, SECONDS = 600_000, 6, 6.0
SCHEMA = "id long, report long, place long"
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.cores.max": "2",
    "spark.executor.cores": "1",
    "spark.executor.memory": "700m",
    "spark.sql.shuffle.partitions": str(PARTITIONS),
    "spark.sql.adaptive.enabled": "false",
    "spark.shuffle.io.maxRetries": "1",
    "spark.shuffle.io.retryWait": "1s",
}


def run(mode: str, url: str, folder: Path, cluster: Cluster) -> str:
    """One release of 600,000 rows with one executor killed, and what came of it."""
    import pyspark
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as F  # noqa: N812  # as everybody calls it

    builder = SparkSession.builder.master(url).appName(mode)
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    log = folder / "parts"
    released = session.range(0, ROWS, numPartitions=PARTITIONS).mapInArrow(randomiser(mode), SCHEMA)
    if mode == "staged":
        released.write.parquet(f"{folder}/staged")
        released = session.read.schema(SCHEMA).parquet(f"{folder}/staged")
    ordered = released.repartition(PARTITIONS, "place").sortWithinPartitions("place").mapInArrow(slow(log), SCHEMA)
    killed = threading.Thread(target=kill, args=(cluster, log), daemon=True)
    killed.start()
    try:
        ordered.write.parquet(f"{folder}/final")
    except Exception as error:
        told = f"the job was aborted ({type(error).__name__})"
    else:
        final = session.read.parquet(f"{folder}/final")
        rows, people = final.count(), final.select("id").distinct().count()
        again = final.groupBy("id").agg(F.count("*").alias("times"), F.countDistinct("report").alias("reports"))
        twice = again.where("times > 1")
        told = (
            f"success was reported with {rows:,} rows of {ROWS:,}: {ROWS - people:,} lost, {twice.count():,} published "
            f"more than once, {twice.where('reports > 1').count():,} of these with different reports"
        )
    killed.join(timeout=60)
    session.stop()
    return f"Spark {pyspark.__version__}, {mode}: {told}"


def randomiser(mode: str) -> Any:
    """Rows in, reports and places out."""
    key = ssl.RAND_bytes(32)

    def drawn(partition: int, count: int, purpose: bytes) -> Any:
        if mode == "keyed":
            name = key + purpose + partition.to_bytes(8, "big")
            return np.frombuffer(hashlib.shake_256(name).digest(count * 8), np.uint64)
        return np.frombuffer(ssl.RAND_bytes(count * 8), np.uint64)

    def randomise(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        partition, rows = TaskContext.get().partitionId(), pa.Table.from_batches(list(batches))
        report = (drawn(partition, rows.num_rows, b"noise") % 1000).astype(np.int64)
        place = (drawn(partition, rows.num_rows, b"order") >> 1).astype(np.int64)
        arrays = [rows.column(0).combine_chunks(), pa.array(report), pa.array(place)]
        yield pa.RecordBatch.from_arrays(arrays, names=["id", "report", "place"])

    return randomise


def slow(log: Path) -> Any:
    """Rows in, the same rows out a little later; every part that is done is noted."""
    path, seconds = str(log), SECONDS

    def wait(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = pa.Table.from_batches(list(batches))
        time.sleep(seconds)
        with open(path, "a") as file:
            file.write("done\n")
        yield from rows.combine_chunks().to_batches()

    return wait


def kill(cluster: Cluster, log: Path) -> None:
    """Kill an executor as soon as two parts are done."""
    while not log.exists() or log.read_text().count("done") < 2:
        time.sleep(0.2)
    os.kill(cluster.executors()[0], 9)


def main(modes: list[str]) -> None:
    """One cluster and one process for each mode."""
    if len(modes) == 1 and "/" in modes[0]:
        mode, url, folder, *processes = modes[0].split("|")
        cluster = Cluster(Path(folder), url, [_Known(int(pid)) for pid in processes])  # type: ignore[list-item]
        print(run(mode, url, Path(folder), cluster), flush=True)
        return
    for mode in modes:
        with tempfile.TemporaryDirectory() as folder:
            cluster = Cluster(Path(folder)).start()
            try:
                known = "|".join(str(process.pid) for process in cluster.processes)
                command = [sys.executable, "-m", "experiments.spark_executor_loss"]
                environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
                subprocess.run(
                    [*command, f"{mode}|{cluster.url}|{folder}|{known}"],
                    env=environment,
                    stderr=subprocess.DEVNULL,
                    check=True,
                )
            finally:
                cluster.stop()


class _Known:
    """A process that somebody else started."""

    def __init__(self, pid: int) -> None:
        self.pid = pid


if __name__ == "__main__":
    main(sys.argv[1:] or ["fresh", "keyed", "staged"])
