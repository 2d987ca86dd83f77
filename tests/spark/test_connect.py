"""Spark Connect, with a server from pyspark's own jars."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from tests.parts import missing
from tests.spark import cluster


def test_a_client_of_spark_connect_releases_and_estimates(tmp_path):
    """Through a server of its own on loopback: the same release, the same figures, the same audit."""
    lacking = cluster.missing() or (None if find_spec("grpc") else "there is no grpcio")
    if lacking is not None:
        missing("Spark Connect", f"{lacking}; pip install 'pyspark[connect]'")
    environment = {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.spark.connect_client", str(tmp_path)],
        cwd=Path(__file__).parents[2],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "all the same" in done.stdout
