"""A release on a real cluster: every row once, the same whichever attempt wrote it, and estimates from counts."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet import DomainError, Randomness, Release, ReleaseError, engines, estimate, release
from discreet.audit import audit

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::ResourceWarning")

ROWS, FILES = 60_000, 6
RESPONSE = {"mechanism": "randomized-response"}
PRIVATE = [
    {**RESPONSE, "columns": ["x"], "domain": {"binary": ["no", "yes"]}, "epsilon": 1.0},
    {**RESPONSE, "columns": ["k"], "domain": {"categorical": {"from": 0, "to": 299}}, "epsilon": 3.0},
]


def plan(order="shuffle", **budget):
    """A plan for the data below."""
    return {
        "format": 1,
        "budget": {"epsilon": 20.0, **budget},
        "output": {"order": order},
        "public": [{"columns": ["id", "region"]}],
        "private": PRIVATE,
    }


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A sorted table in several files."""
    folder, rng = tmp_path_factory.mktemp("truth") / "data", np.random.default_rng(1)
    folder.mkdir()
    step = ROWS // FILES
    for number in range(FILES):
        columns = {
            "id": np.arange(number * step, (number + 1) * step),
            "region": np.array(["n", "s"])[rng.integers(0, 2, step)],
            "x": np.array(["no", "yes"])[(rng.random(step) < 0.3).astype(int)],
            "k": rng.integers(0, 300, step),
        }
        pq.write_table(pa.table(columns), folder / f"part-{number}.parquet")
    return folder


@pytest.fixture(scope="module")
def engine(session):
    """The engine of the cluster."""
    return engines.Spark(session)


def by_id(opened):
    """Reports and public cells, keyed by who they belong to."""
    table = opened.to_arrow().sort_by("id")
    assert table.column("id").to_pylist() == list(range(ROWS))
    return table.select(["region", "x", "k"]).to_pydict()


@pytest.fixture(scope="module")
def kept(data, engine, tmp_path_factory):
    """A release in the order of the source, made with a seed."""
    out = tmp_path_factory.mktemp("kept") / "out"
    release(data, plan("keep"), out, Randomness.seeded(5), engine=engine, ledger=None)
    return out


@pytest.fixture(scope="module")
def shuffled(data, engine, tmp_path_factory):
    """A release in random order, made with the same seed."""
    out = tmp_path_factory.mktemp("shuffled") / "out"
    release(data, plan(), out, Randomness.seeded(5), engine=engine, ledger=None)
    return out


def test_two_executors_work(cluster, kept):
    """In processes of their own."""
    assert len(set(cluster.executors())) == 2
    assert os.getpid() not in cluster.executors()


def test_every_row_is_published_once(kept, shuffled, data):
    """Public cells as they were; both jobs drew the same reports; digests are those of the cells."""
    truth = pq.read_table(data).sort_by("id")
    rows = by_id(Release.open(kept))
    assert rows == by_id(Release.open(shuffled))
    assert rows["region"] == truth.column("region").to_pylist()
    same = np.mean(np.array(rows["x"]) == np.array(truth.column("x").to_pylist()))
    keep = 1 / (1 + np.exp(-1.0))
    assert abs(same - keep) < 6.2 * np.sqrt(keep * (1 - keep) / ROWS)
    for folder in (kept, shuffled):
        opened = Release.open(folder)
        assert {finding.subject: finding.verdict for finding in audit(opened).findings}["cells"] == "ok"
        assert sorted(os.listdir(folder)) == ["_manifest.json", *(file.name for file in opened.manifest.files)]
        assert os.listdir(folder.parent) == ["out"]


def test_the_order_says_nothing_about_the_source(shuffled):
    """Place and source row are uncorrelated, and neighbours were no neighbours; part sizes are those of coins."""
    opened = Release.open(shuffled)
    ids = opened.to_arrow(["id"]).column(0).to_numpy()
    assert abs(np.corrcoef(np.arange(ROWS), ids)[0, 1]) < 6.2 / np.sqrt(ROWS)
    # Of n − 1 neighbours two are expected to differ by one; a sorted run would give thousands.
    assert np.count_nonzero(np.abs(np.diff(ids)) == 1) < 25
    first = opened.manifest.files[0].rows
    assert abs(first - ROWS / 2) < 6.2 * np.sqrt(ROWS) / 2


def test_estimates_are_those_of_one_machine(shuffled, engine):
    """Counts are identical; coefficients and errors agree to 1e-10."""
    here, there = Release.open(shuffled), Release.open(shuffled, engine=engine)
    np.testing.assert_array_equal(estimate.frequencies(there, "k").estimate, estimate.frequencies(here, "k").estimate)
    pairs = [(estimate.crosstab(one, "x", "region"), estimate.mean(one, "k", by="region")) for one in (here, there)]
    for own, far in zip(*pairs, strict=True):
        for name in own if hasattr(own, "keys") else [None]:
            mine, theirs = (own, far) if name is None else (own[name], far[name])
            np.testing.assert_allclose(theirs.estimate, mine.estimate, atol=1e-10)
            np.testing.assert_allclose(theirs.std_error, mine.std_error, atol=1e-10)
    fits = [estimate.regression("x ~ C(region)", one) for one in (here, there)]
    np.testing.assert_allclose(fits[1].estimate, fits[0].estimate, atol=1e-10)
    np.testing.assert_allclose(fits[1].std_error, fits[0].std_error, atol=1e-10)


@pytest.mark.parametrize("phase", ["staged", "parts"])
def test_a_lost_executor_changes_nothing(phase, data, cluster, engine, kept, tmp_path):
    """Killed while reports are staged, or put in order: every row once, and the reports of the run that lost none."""
    killed = []

    def kill():
        place = tmp_path / ".discreet-out.tmp" / phase
        while not killed:
            if place.is_dir() and any(place.rglob("*.parquet")):
                for process in cluster.executors()[:1]:
                    os.kill(process, signal.SIGKILL)
                    killed.append(process)
            time.sleep(0.01)

    thread = threading.Thread(target=kill, daemon=True)
    thread.start()
    release(data, plan(), tmp_path / "out", Randomness.seeded(5), engine=engine, ledger=None)
    assert killed
    assert by_id(Release.open(tmp_path / "out")) == by_id(Release.open(kept))


def test_a_refused_value_is_one_sentence(engine, tmp_path):
    """Column and row of the partition, never the value; nothing is left behind."""
    (tmp_path / "data").mkdir()
    wrong = pa.table({"id": [1, 2], "region": ["n", "s"], "x": ["yes", "secret"], "k": [1, 2]})
    pq.write_table(wrong, tmp_path / "data" / "part-0.parquet")
    with pytest.raises(DomainError, match='column "x"') as caught:
        release(tmp_path / "data", plan(), tmp_path / "out", engine=engine, ledger=None)
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert os.listdir(tmp_path) == ["data"]


def test_persons_are_counted_before_anything_is_written(data, engine, tmp_path):
    """A person with more rows than were declared is refused."""
    limited = {**plan(person="region", rows_per_person=3), "public": [{"columns": ["id"]}]}
    with pytest.raises(ReleaseError, match="more than 3 rows"):
        release(data, limited, tmp_path / "out", engine=engine, ledger=None)
    assert os.listdir(tmp_path) == []


def test_frames_need_a_person_and_fixed_values(data, session, engine, tmp_path):
    """Their rows have no fixed place; what is drawn at random would meet the same noise with another truth."""
    frame = session.read.parquet(str(data)).selectExpr("*", "id as who")
    with pytest.raises(ReleaseError, match="person of its own"):
        release(frame, plan(), tmp_path / "out", engine=engine)
    drawn = frame.selectExpr("id", "region", "k", "id as who", "case when rand() < 0.5 then 'no' else 'yes' end as x")
    with pytest.raises(ReleaseError, match="other rows when a task runs again"):
        release(drawn, plan(), tmp_path / "out", engine=engine)
    done = release(frame, plan(person="who", rows_per_person=1), tmp_path / "out", engine=engine)
    by_id(done)
