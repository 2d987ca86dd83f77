"""What is lost on a cluster, executors and drivers, and what is wrong with what it is given."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet import (
    InputError,
    ManifestError,
    Randomness,
    Release,
    ReleaseError,
    engines,
    estimate,
    limits,
    release,
)
from discreet.engines.spark import _Quiet
from discreet.publish.spark import Randomise
from tests.spark.truth import PLAN_FILE, by_id, plan, write_truth

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::ResourceWarning")


class Watcher:
    """Does something to an executor once files of a phase are there, in a thread of its own."""

    def __init__(self, cluster, place, *steps):
        self._cluster, self._place, self._steps = cluster, place, steps
        self.process = None
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self):
        while not (self._place.is_dir() and any(self._place.rglob("*.parquet"))):
            time.sleep(0.01)
        self.process = self._cluster.executors()[0]
        for step in self._steps:
            if callable(step):
                while not step():
                    time.sleep(0.01)
            else:
                os.kill(self.process, step)

    def join(self):
        """Wait until everything was done."""
        self._thread.join(timeout=60)
        assert not self._thread.is_alive()
        assert self.process is not None


@pytest.mark.parametrize("phase", ["staged", "parts"])
def test_a_lost_executor_changes_nothing(phase, data, cluster, engine, kept, tmp_path):
    """Killed while reports are staged, or put in order: every row once, and the reports of the run that lost none."""
    watcher = Watcher(cluster, tmp_path / ".discreet-out.tmp" / phase, signal.SIGKILL)
    release(data, plan(), tmp_path / "out", Randomness.seeded(5), engine=engine, ledger=None)
    watcher.join()
    assert by_id(Release.open(tmp_path / "out")) == by_id(Release.open(kept))


def speculative_tasks(session):
    """Second attempts that Spark started because the first was slow."""
    context = session.sparkContext
    jobs = [context.statusTracker().getJobInfo(number) for number in context.statusTracker().getJobIdsForGroup(None)]
    stages = {stage for job in jobs if job is not None for stage in job.stageIds}
    store, found = context._jsc.sc().statusStore(), 0
    for stage in stages:
        tasks = store.taskList(stage, 0, 10_000)
        found += sum(tasks.apply(place).speculative() for place in range(tasks.size()))
    return found


def test_second_attempts_of_slow_tasks_change_nothing(data, cluster, session, engine, kept, tmp_path):
    """An executor stands still until others have done its tasks again, and is then killed.

    Whether it has a task at that moment is chance on a busy machine: it is tried until one was done again.
    """
    before = speculative_tasks(session)
    for attempt in range(5):
        out, working = tmp_path / f"out{attempt}", tmp_path / f".discreet-out{attempt}.tmp"
        watcher = Watcher(cluster, working / "staged", signal.SIGSTOP, (working / "parts").is_dir, signal.SIGKILL)
        release(data, plan(), out, Randomness.seeded(5), engine=engine, ledger=None)
        watcher.join()
        assert by_id(Release.open(out)) == by_id(Release.open(kept))
        if speculative_tasks(session) > before:
            return
    pytest.fail("no task was done a second time")


DRIVER = """
import sys
from pyspark.sql import SparkSession
from discreet import engines, release
from tests.spark.truth import plan
builder = SparkSession.builder.master(sys.argv[1]).appName("killed")
for setting in sys.argv[4:]:
    builder = builder.config(*setting.split("=", 1))
release(sys.argv[2], plan(), sys.argv[3], engine=engines.Spark(builder.getOrCreate()), ledger=None)
"""


def test_what_a_late_attempt_leaves_beside_the_parts_is_removed(data, engine, kept, tmp_path, monkeypatch):
    """A straggler that goes on after its job is done makes its folder anew; only the release stays."""
    write = engines.Spark.write

    def written(self, frame, folder):
        files = write(self, frame, folder)
        late = folder / "_temporary" / "0" / "attempt_1"
        late.mkdir(parents=True)
        (late / "part-00000.parquet").write_bytes(b"half")
        return files

    monkeypatch.setattr(engines.Spark, "write", written)
    done = release(data, plan(), tmp_path / "out", Randomness.seeded(5), engine=engine, ledger=None)
    assert by_id(done) == by_id(Release.open(kept))
    assert os.listdir(tmp_path) == ["out"]
    assert sorted(os.listdir(tmp_path / "out")) == ["_manifest.json", *(file.name for file in done.manifest.files)]


def test_a_killed_driver_leaves_no_release(data, cluster, engine, tmp_path):
    """Killed while reports are put in order: no manifest, nothing can be opened, and a second run works."""
    settings = [f"{name}={value}" for name, value in cluster.settings().items()]
    out, working = tmp_path / "out", tmp_path / ".discreet-out.tmp"
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER, cluster.url, str(data), str(out), *settings],
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
    )
    deadline = time.monotonic() + 180
    while not any((working / "parts").rglob("*.parquet")):
        assert time.monotonic() < deadline
        assert driver.poll() is None
        time.sleep(0.01)
    os.killpg(driver.pid, signal.SIGKILL)
    driver.wait(timeout=30)
    assert os.listdir(tmp_path) != ["out"]
    assert not out.exists()
    assert not any(tmp_path.rglob("_manifest.json"))
    for place in (out, working):
        with pytest.raises((ReleaseError, ManifestError)):
            Release.open(place)
    release(data, plan(), out, engine=engine, ledger=None)
    by_id(Release.open(out))
    assert os.listdir(tmp_path) == ["out"]


def verdict_on_cells(folder):
    """What an audit says about digests."""
    from discreet.audit import audit

    return {finding.subject: finding.verdict for finding in audit(Release.open(folder)).findings}["cells"]


def test_a_month_is_added_on_spark(kept, data, engine, tmp_path):
    """New parts beside the old ones, which stay; digests of all; one machine adds to it too."""
    write_truth(tmp_path / "more", 6_000, 2)
    out, months = tmp_path / "out", [data, tmp_path / "more"]
    for number, month in enumerate(months):
        chosen = plan("keep", rows_per_person=1)
        release(month, chosen, out, engine=engine, ledger=None, append=number > 0)
    opened = Release.open(out)
    assert [one.rows for one in opened.manifest.additions] == [60_000, 6_000]
    assert opened.manifest.rows_per_person == 2
    assert opened.to_arrow(["id"]).column(0).to_numpy()[60_000:].max() == 5_999
    done = release(tmp_path / "more", plan("keep", rows_per_person=1), out, append=True, ledger=None)
    assert done.rows == 72_000
    assert verdict_on_cells(out) == "ok"


@pytest.mark.parametrize("order", ["keep", "shuffle"])
def test_spark_adds_to_a_release_of_one_machine(order, engine, cluster, tmp_path):
    """In the types of the parts that are there, which stay as they are; then one machine goes on, and so does Spark."""
    from typer.testing import CliRunner

    from discreet.cli.app import app

    write_truth(tmp_path / "more", 6_000, 2)
    out, chosen = tmp_path / "out", plan(order)
    release(tmp_path / "more", chosen, out, ledger=None)
    first = Release.open(out)
    before, schema = first.manifest.files, pq.read_schema(out / "part-00000.parquet")
    if order == "keep":
        release(tmp_path / "more", chosen, out, engine=engine, append=True, ledger=None)
    else:
        (tmp_path / "plan.toml").write_text(PLAN_FILE)
        asked = [str(tmp_path / "more"), str(tmp_path / "plan.toml"), "-o", str(out), "--append", "--no-ledger"]
        done = CliRunner().invoke(app, ["release", *asked, "--engine", "spark", "--master", cluster.url])
        assert done.exit_code == 0, done.output
    opened = Release.open(out)
    assert opened.rows == 12_000
    assert opened.manifest.files[: len(before)] == before
    assert len(opened.manifest.files) > len(before) + 1
    for file in opened.manifest.files:
        assert pq.read_schema(out / file.name).equals(schema)
    assert sorted(opened.to_arrow(["id"]).column(0).to_pylist()) == sorted([*range(6_000)] * 2)
    assert verdict_on_cells(out) == "ok"
    assert release(tmp_path / "more", chosen, out, append=True, ledger=None).rows == 18_000
    if order == "shuffle":
        done = release(tmp_path / "more", chosen, out, engine=engine, append=True, ledger=None)
        assert done.rows == 24_000
    assert verdict_on_cells(out) == "ok"
    assert sorted(os.listdir(tmp_path)) == sorted({"more", "out"} | ({"plan.toml"} if order == "shuffle" else set()))


def test_a_task_stays_in_memory(session, data, tmp_path):
    """Spark writes functions above a threshold to a file; ours, with the key, is a thousandth of it."""
    from pyspark.serializers import CloudPickleSerializer

    context = session.sparkContext
    threshold = context._jvm.org.apache.spark.api.python.PythonUtils.getBroadcastThreshold(context._jsc)
    task = _Quiet(Randomise(b"k" * 32, True, str(tmp_path / ("long" * 50)), "0" * 64, True))
    assert len(CloudPickleSerializer().dumps((task, None))) < threshold / 500


def test_what_spark_is_given_can_be_wrong(data, session, engine, tmp_path):
    """One sentence for each, and nothing is left behind."""
    out = tmp_path / "out"
    with pytest.raises(ReleaseError, match="Spark cannot list"):
        engine.read([tmp_path / "absent.parquet"], tmp_path)
    pq.write_table(pa.table({"id": [1]}), tmp_path / "one.parquet")
    with pytest.raises(ReleaseError, match='no column "region"'):
        release(tmp_path / "one.parquet", plan(), out, engine=engine, ledger=None)
    (tmp_path / "mixed").mkdir()
    for number, kind in enumerate((pa.int64(), pa.string())):
        pq.write_table(pa.table({"id": pa.array([1], pa.int64()).cast(kind)}), tmp_path / "mixed" / f"{number}.parquet")
    with pytest.raises(ReleaseError, match="other columns or types"):
        release(tmp_path / "mixed", plan(), out, engine=engine, ledger=None)
    assert sorted(os.listdir(tmp_path)) == ["mixed", "one.parquet"]
    out.mkdir()
    with pytest.raises(ReleaseError, match="exists already"):
        release(data, plan(), out, engine=engine, ledger=None)
    name = "spark.sql.shuffle.orderIndependentChecksum.enabled"
    before = session.conf.get(name)
    session.conf.set(name, "false")
    try:
        with pytest.raises(InputError, match="switched off"):
            engines.Spark(session)
    finally:
        session.conf.set(name, before)


def test_more_parts_than_a_folder_may_have_are_not_published(engine, tmp_path, monkeypatch):
    """Whoever kept the order of very many partitions would have a release that cannot be opened."""
    write_truth(tmp_path / "data", 12_000, 1)
    monkeypatch.setattr(limits, "FOLDER_PARTS", 1)
    with pytest.raises(ReleaseError, match=r"parts are more than the 1 that a folder may have.*larger partitions"):
        release(tmp_path / "data", plan("keep"), tmp_path / "out", engine=engine, ledger=None)
    assert os.listdir(tmp_path) == ["data"]


def test_a_source_that_changes_is_not_released(data, engine, tmp_path, monkeypatch):
    """A file grows between counting and reading: rows read and staged differ, and there is no manifest."""
    write_truth(tmp_path / "data", 6_000, 2)
    grown = pa.concat_tables([pq.read_table(tmp_path / "data" / "part-1.parquet")] * 2)
    read = engines.Spark.read

    def changing(self, paths, base):
        if base == tmp_path / "data":
            pq.write_table(grown, tmp_path / "data" / "part-1.parquet")
        return read(self, paths, base)

    monkeypatch.setattr(engines.Spark, "read", changing)
    with pytest.raises(ReleaseError, match="9,000 rows were staged where 6,000 were read"):
        release(tmp_path / "data", plan(), tmp_path / "out", engine=engine, ledger=None)
    assert os.listdir(tmp_path) == ["data"]


def test_parts_of_the_release_that_are_missing_or_changed_are_refused(shuffled, engine, tmp_path):
    """By name, before Spark is asked for anything."""
    import shutil

    shutil.copytree(shuffled, tmp_path / "out")
    part = tmp_path / "out" / "part-00001.parquet"
    pq.write_table(pq.read_table(part).slice(1), part)
    with pytest.raises(ManifestError, match=r"part-00001\.parquet was changed"):
        Release.open(tmp_path / "out", engine=engine)
    part.unlink()
    with pytest.raises(ManifestError, match=r"part-00001\.parquet is missing"):
        Release.open(tmp_path / "out", engine=engine)
    shutil.copy(shuffled / part.name, part)
    opened = Release.open(tmp_path / "out", engine=engine)
    part.unlink()
    with pytest.raises(ReleaseError, match=r"part-00001\.parquet") as caught:
        estimate.frequencies(opened, "x")
    assert "\n" not in str(caught.value)


def dependence(ids, cells=20):
    """Pearson's statistic of source decile against place, in standard deviations above its mean."""
    place = np.arange(ids.size) * cells // ids.size
    counts = np.zeros((cells, cells))
    np.add.at(counts, (place, ids * cells // ids.size), 1)
    expected = ids.size / cells**2
    df = (cells - 1) ** 2
    return (np.sum((counts - expected) ** 2 / expected) - df) / np.sqrt(2 * df)


def test_the_place_of_a_row_does_not_depend_on_its_source(shuffled):
    """On a sorted input; a table in which one row in ten stayed near its place would be noticed."""
    ids = Release.open(shuffled).to_arrow(["id"]).column(0).to_numpy()
    assert abs(dependence(ids)) < 8
    stayed = ids.copy()
    stayed[::10] = np.sort(ids[::10])
    assert dependence(stayed) > 8
