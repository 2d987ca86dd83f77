"""One cluster and one session for all tests of Spark."""

from __future__ import annotations

import os
import sys

import pytest

from discreet import Randomness, engines, release
from tests.spark.cluster import Cluster, missing
from tests.spark.truth import plan, write_truth

#: Programs that tests run; without pyspark there are none, and the other tests go on.
collect_ignore = ["connect_client.py", "secret_driver.py"]


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
    for name, value in cluster.settings().items():
        builder = builder.config(name, value)
    started = builder.getOrCreate()
    started.sparkContext.setLogLevel("OFF")
    yield started
    started.stop()


@pytest.fixture(scope="session")
def engine(session):
    """The engine of the cluster."""
    return engines.Spark(session)


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    """A sorted table in several files."""
    folder = tmp_path_factory.mktemp("truth") / "data"
    write_truth(folder)
    return folder


@pytest.fixture(scope="session")
def kept(data, engine, tmp_path_factory):
    """A release in the order of the source, made with a seed."""
    out = tmp_path_factory.mktemp("kept") / "out"
    release(data, plan("keep"), out, Randomness.seeded(5), engine=engine, ledger=None)
    return out


@pytest.fixture(scope="session")
def shuffled(data, engine, tmp_path_factory):
    """A release in random order, made with the same seed."""
    out = tmp_path_factory.mktemp("shuffled") / "out"
    release(data, plan(), out, Randomness.seeded(5), engine=engine, ledger=None)
    return out
