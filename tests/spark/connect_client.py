"""A client of Spark Connect: what it is given works through a server, as it does on a cluster.

Run by a test in a process of its own, since one process has either kind of session.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import SparkSession

from discreet import Randomness, Release, ReleaseError, engines, estimate, release
from discreet.audit import audit
from tests.spark.truth import by_id, plan, write_truth


def main(folder: Path) -> None:
    """Release, estimate, audit; a data frame is refused."""
    builder = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.io.encryption.enabled", "true")
    session = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    assert "connect" in type(session).__module__
    with pytest.raises(Exception, match="CANNOT_MODIFY_CONFIG"):  # so that what the session says of it is true
        session.conf.set("spark.io.encryption.enabled", "false")
    engine = engines.Spark(session)
    write_truth(folder / "data", 6_000, 2)
    release(folder / "data", plan(), folder / "out", Randomness.seeded(5), engine=engine, ledger=None)
    here, there = Release.open(folder / "out"), Release.open(folder / "out", engine=engine)
    by_id(here)
    for ask in (lambda one: estimate.frequencies(one, "k"), lambda one: estimate.regression("x ~ age", one)):
        mine, theirs = ask(here), ask(there)
        np.testing.assert_allclose(theirs.estimate, mine.estimate, atol=1e-10, rtol=0)
        np.testing.assert_allclose(theirs.std_error, mine.std_error, atol=1e-10, rtol=0)
    assert audit(there).to_dict() == audit(here).to_dict()
    with pytest.raises(ReleaseError, match="Spark Connect"):
        release(session.read.parquet(str(folder / "data")), plan(), folder / "no", engine=engine, ledger=None)
    session.stop()
    print("all the same through Spark Connect")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
