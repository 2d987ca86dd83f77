"""A release on a real cluster: every row once, the same whichever attempt wrote it, and nothing half-written."""

from __future__ import annotations

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet import DomainError, Release, ReleaseError, release
from discreet.audit import audit
from discreet.publish import check
from discreet.publish.layout import AnswersReadWarning
from discreet.publish.observing import NearlyUniqueWarning
from discreet.publish.plan.numeric import ClippedWarning
from tests.spark.truth import ROWS, by_id, plan

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::ResourceWarning")


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


def test_a_refused_value_is_one_sentence(engine, tmp_path):
    """Column and row of the partition, never the value; nothing is left behind."""
    (tmp_path / "data").mkdir()
    wrong = pa.table(
        {"id": [1, 2], "region": ["n", "s"], "age": [1.0, 2.0], "w": [1.0, 2.0], "x": ["yes", "secret"], "k": [1, 2]}
    )
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


def test_what_is_moved_or_points_at_people_is_said(data, session, engine, tmp_path, monkeypatch):
    """As on one machine: how many numbers were clipped, and public columns that are nearly unique; no key is made."""
    monkeypatch.setenv("DISCREET_LEDGER_KEY", str(tmp_path / "ledger.key"))
    noise = {"mechanism": "zero-inflated-laplace", "epsilon": 1.0, "delta": 0.2, "clip": True}
    chosen = {
        "format": 1,
        "public": [{"columns": ["id", "region", "w"]}],
        "private": [{"columns": ["age"], "domain": {"box": {"low": -1, "high": 2}}, **noise}],
    }
    numbers = pq.read_table(data).column("age").to_numpy()
    moved = f'"age": {np.sum((numbers < -1) | (numbers > 2)):,} numbers outside the box'
    for where in (engine, None):
        out, book = tmp_path / f"out-{where is None}", tmp_path / f"ledger-{where is None}.sqlite"
        with pytest.warns(ClippedWarning, match=moved), pytest.warns(NearlyUniqueWarning, match='columns: "id";'):
            release(data, chosen, out, engine=where, ledger=book)
        assert (tmp_path / "ledger.key").exists() == (where is None)


def test_answers_that_are_read_as_declared_are_said(engine, tmp_path):
    """As on one machine, with their counts: 1.0 stands for "1"."""
    pq.write_table(pa.table({"x": [0.0, 1.0, None, 1.0] * 50}), tmp_path / "answers.parquet")
    answers = {"columns": ["x"], "domain": {"binary": ["0", "1"]}, "collected": True, "warner": "2/3"}
    chosen = {"format": 1, "private": [answers | {"missing": "public"}]}
    said = []
    for where in (engine, None):
        with pytest.warns(AnswersReadWarning, match=r'100 of 1\.0 as "1"') as caught:
            done = release(
                tmp_path / "answers.parquet", chosen, tmp_path / f"{where is None}", engine=where, ledger=None
            )
        said.append([str(one.message) for one in caught if one.category is AnswersReadWarning])
        assert done.to_arrow().column("x").null_count == 50
    assert said[0] == said[1]


def test_a_check_refuses_what_a_release_on_spark_refuses(data, engine, session, tmp_path):
    """A file as output, a folder that is there or whose place is not: one sentence from both, nothing written."""
    (tmp_path / "there").mkdir()
    for output in (tmp_path / "out.csv", tmp_path / "out.parquet", tmp_path / "there", tmp_path / "no" / "out"):
        said = []
        for run in (release, check):
            with pytest.raises(ReleaseError) as caught:
                run(data, plan(), output, engine=engine, ledger=None)
            said.append(str(caught.value))
        assert said[0] == said[1]
    assert check(data, plan(), tmp_path / "out", engine=engine, ledger=None) == ROWS
    assert os.listdir(tmp_path) == ["there"]
    with pytest.raises(ReleaseError, match="a data frame of Spark"):
        check(session.read.parquet(str(data)), plan(), tmp_path / "out", engine=engine, ledger=None)
