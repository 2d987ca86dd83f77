"""What Spark writes to its local disks, and what it would write there without encryption."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from discreet import InputError, engines, release
from discreet.engines.spark import ENCRYPTION
from tests.spark.truth import plan, write_truth

#: Hardly any memory for blocks, which are kept until the end and not compressed, and a log of everything.
TIGHT = {
    "spark.memory.fraction": "0.001",
    "spark.memory.storageFraction": "0",
    "spark.executor.memory": "500m",
    "spark.cleaner.referenceTracking": "false",
    "spark.broadcast.compress": "false",
    "spark.shuffle.compress": "false",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "false",
}


@pytest.mark.parametrize("encrypted", ["true", "false"])
def test_the_key_is_on_no_disk(encrypted, cluster, tmp_path):
    """Neither in spilled tasks nor in the log of events, in any form; without encryption it is found on the disks."""
    write_truth(tmp_path / "data", 4_000, 2)
    for name in ("local", "events"):
        (tmp_path / name).mkdir()
    (tmp_path / "cluster").symlink_to(cluster.folder)
    settings = cluster.settings() | TIGHT | {"spark.eventLog.dir": (tmp_path / "events").as_uri()}
    ran = subprocess.run(
        [sys.executable, "-m", "tests.spark.secret_driver", cluster.url, str(tmp_path), encrypted]
        + [f"{name}={value}" for name, value in settings.items()],
        cwd=Path(__file__).parents[2],
        env=os.environ | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_DIRS": str(tmp_path / "local")},
        input=hashlib.sha256(encrypted.encode()).digest(),
        capture_output=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    seen = json.loads(ran.stdout.splitlines()[-1])
    assert "file: base64, 1" in seen["planted"]
    assert seen["blocks"] > 2
    assert seen["events"] > 0
    assert bool(seen["found"]) == (encrypted == "false")


def test_a_session_without_encryption_is_refused(session, data, engine, tmp_path, monkeypatch):
    """By the setting's name, before anything is written; a setting of the session alone does not count."""
    context = session.sparkContext
    monkeypatch.setattr(context, "getConf", lambda: {ENCRYPTION: "false"})
    assert session.conf.get(ENCRYPTION) == "true"
    with pytest.raises(InputError, match=rf"{ENCRYPTION} is off.*start the session.*with {ENCRYPTION}=true"):
        release(data, plan(), tmp_path / "out", engine=engines.Spark(session), ledger=None)
    assert os.listdir(tmp_path) == []
