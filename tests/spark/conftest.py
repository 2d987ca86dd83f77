"""One cluster and one session for all tests of Spark."""

from __future__ import annotations

import os
import sys

import pytest

from tests.spark.cluster import Cluster, missing


@pytest.fixture(scope="session")
def cluster(tmp_path_factory):
    """A master and two workers."""
    lacking = missing()
    if lacking is not None:
        if os.environ.get("DISCREET_PARTS") == "all":
            pytest.fail(f"Spark was not tested: {lacking}")
        pytest.skip(f"Spark was not tested: {lacking}")
    running = Cluster(tmp_path_factory.mktemp("spark"))
    try:
        yield running.start()
    finally:
        running.stop()


@pytest.fixture(scope="session")
def session(cluster):
    """A session with one executor on each worker."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(cluster.url).appName("discreet")
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.executor.cores": "1",
        "spark.executor.memory": "700m",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.files.maxPartitionBytes": "64k",
        "spark.sql.files.openCostInBytes": "0",
        "spark.shuffle.io.maxRetries": "1",
        "spark.shuffle.io.retryWait": "1s",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    started = builder.getOrCreate()
    started.sparkContext.setLogLevel("OFF")
    yield started
    started.stop()
