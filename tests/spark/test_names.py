"""What folders, columns and types may be called on a cluster: whatever one machine takes."""

from __future__ import annotations

import datetime as dt
import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet import InputError, Randomness, Release, ReleaseError, estimate, release
from discreet.audit import audit
from tests.spark.truth import RESPONSE

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::ResourceWarning")

ROWS = 300


def plan(*public, order="keep", private="x", **budget):
    """One yes/no column, and public ones."""
    asked = {**RESPONSE, "columns": [private], "domain": {"binary": ["no", "yes"]}, "epsilon": 1.0}
    return {
        "format": 1,
        "budget": {"epsilon": 20.0, **budget},
        "output": {"order": order},
        "public": [{"columns": list(public)}],
        "private": [asked],
    }


def write(folder, rows=ROWS, **columns):
    """A table in two parts."""
    folder.mkdir(parents=True)
    answers = np.array(["no", "yes"])[np.random.default_rng(2).integers(0, 2, rows)]
    table = pa.table({"id": np.arange(rows), **columns, **({} if "x" in columns else {"x": answers})})
    for number, part in enumerate((table.slice(0, rows // 2), table.slice(rows // 2))):
        pq.write_table(part, folder / f"part-{number}.parquet")
    return table


def test_a_relative_path_is_that_of_the_caller(engine, tmp_path, monkeypatch):
    """Executors work in folders of their own: source, output and a release that is opened lie where the caller is."""
    write(tmp_path / "data")
    monkeypatch.chdir(tmp_path)
    for order in ("keep", "shuffle"):
        done = release("data", plan("id", order=order), order, engine=engine, ledger=None)
        assert done.rows == ROWS
        there, here = Release.open(order, engine=engine), Release.open(order)
        assert estimate.frequencies(there, "x").estimate.tolist() == estimate.frequencies(here, "x").estimate.tolist()
    assert sorted(os.listdir()) == ["data", "keep", "shuffle"]


@pytest.mark.parametrize("name", ["my data", "größe = 2 %20 #1", "a:b"])
def test_folders_may_be_called_anything(name, engine, tmp_path):
    """Nothing is written to a place that differs from the one that was named."""
    write(tmp_path / name / "data")
    for order in ("keep", "shuffle"):
        out = tmp_path / name / f"out {order}"
        release(tmp_path / name / "data", plan("id", order=order), out, engine=engine, ledger=None)
        assert sorted(Release.open(out, engine=engine).to_arrow()["id"].to_pylist()) == list(range(ROWS))
    assert os.listdir(tmp_path) == [name]
    assert sorted(os.listdir(tmp_path / name)) == ["data", "out keep", "out shuffle"]


@pytest.mark.parametrize("name", ["a[1]", "{a}", "a*", "a?", "a\\b"])
def test_a_path_that_spark_takes_for_a_pattern_is_refused(name, engine, tmp_path):
    """Before anything is read or written."""
    write(tmp_path / name)
    write(tmp_path / "data")
    with pytest.raises(InputError, match="as a pattern"):
        release(tmp_path / name, plan("id"), tmp_path / "out", engine=engine, ledger=None)
    with pytest.raises(InputError, match="as a pattern"):
        release(tmp_path / "data", plan("id"), tmp_path / name / "out", engine=engine, ledger=None)
    assert sorted(os.listdir(tmp_path)) == sorted([name, "data"])
    assert sorted(os.listdir(tmp_path / name)) == ["part-0.parquet", "part-1.parquet"]


def test_folders_called_by_a_value_give_a_column(engine, tmp_path):
    """As on one machine, cell by cell."""
    for term in ("2023", "001"):
        for site in ("nörd", "a b"):
            write(tmp_path / "data" / f"term={term}" / f"site={site}", rows=20)
    here = release(tmp_path / "data", plan("id", "term", "site"), tmp_path / "here", ledger=None)
    there = release(tmp_path / "data", plan("id", "term", "site"), tmp_path / "there", engine=engine, ledger=None)
    shown = [(one.name, one.role, one.type) for one in here.manifest.columns]
    assert shown == [(one.name, one.role, one.type) for one in there.manifest.columns]
    order = [("term", "ascending"), ("site", "ascending"), ("id", "ascending")]
    tables = [one.to_arrow(["id", "term", "site"]).sort_by(order).to_pydict() for one in (here, there)]
    assert tables[0] == tables[1]


def test_columns_may_be_called_anything(engine, tmp_path):
    """Dots and backticks are letters like others; the one name that is taken is refused."""
    write(tmp_path / "data", **{"a.b": np.arange(ROWS) % 7, "c`d": ["no", "yes"] * (ROWS // 2)})
    asked = plan("a.b", order="shuffle", private="c`d", person="id", rows_per_person=1)
    done = release(tmp_path / "data", asked, tmp_path / "out", engine=engine, ledger=None)
    assert done.columns == ["a.b", "c`d"]
    assert sorted(done.to_arrow()["a.b"].to_pylist()) == sorted(i % 7 for i in range(ROWS))
    by_name = plan("id", person="a.b", rows_per_person=3)
    with pytest.raises(ReleaseError, match="more than 3 rows"):
        release(tmp_path / "data", by_name, tmp_path / "again", engine=engine, ledger=None)
    write(tmp_path / "taken", __discreet_order__=np.arange(ROWS))
    with pytest.raises(ReleaseError, match="a column cannot be called"):
        release(tmp_path / "taken", plan("__discreet_order__"), tmp_path / "again", engine=engine, ledger=None)


def test_times_with_a_zone_are_released(engine, tmp_path):
    """The instants stay the same, and a column of them that the plan does not name is in nobody's way."""
    began = dt.datetime(2024, 3, 31, 1, 30, tzinfo=dt.UTC)
    times = pa.array([began + dt.timedelta(minutes=7 * i) for i in range(ROWS)], pa.timestamp("us", "UTC"))
    write(tmp_path / "data", when=times)
    release(tmp_path / "data", plan("id"), tmp_path / "without", engine=engine, ledger=None)
    done = release(tmp_path / "data", plan("id", "when"), tmp_path / "with", engine=engine, ledger=None)
    assert done.to_arrow().sort_by("id")["when"].cast(pa.timestamp("us", "UTC")).to_pylist() == times.to_pylist()
    assert audit(Release.open(tmp_path / "with", engine=engine)).passed


@pytest.mark.parametrize("kind", ["large_string", "uint8", "uint32", "uint64", "int32", "dictionary"])
def test_spark_and_one_machine_add_to_each_other(kind, engine, tmp_path):
    """Each in the types of the parts that are there; what was added to is still what its digests say."""
    cells = pa.array([f"{i % 5}" for i in range(ROWS)])
    cells = cells.dictionary_encode() if kind == "dictionary" else cells.cast(kind)
    write(tmp_path / "data", c=cells)
    for first, second in ((None, engine), (engine, None)):
        out = tmp_path / f"{first is None}"
        release(tmp_path / "data", plan("id", "c"), out, engine=first, ledger=None)
        schema = pq.read_schema(out / Release.open(out).manifest.files[0].name)
        done = release(tmp_path / "data", plan("id", "c"), out, engine=second, append=True, ledger=None)
        assert done.rows == 2 * ROWS
        assert all(pq.read_schema(out / file.name).equals(schema) for file in done.manifest.files)
        assert audit(Release.open(out)).passed
        assert [int(c) for c in done.to_arrow(["c"])["c"].to_pylist()] == [i % 5 for i in range(ROWS)] * 2


def test_a_seed_that_is_used_twice_gives_other_noise(engine, tmp_path):
    """As on one machine; the same seed from its beginning gives the same reports."""
    write(tmp_path / "data")
    reports = []
    for randomness in (chance := Randomness.seeded(1), chance, Randomness.seeded(1)):
        out = tmp_path / f"{len(reports)}"
        done = release(tmp_path / "data", plan("id"), out, randomness, engine=engine, ledger=None)
        reports.append(done.to_arrow().sort_by("id")["x"].to_pylist())
    assert reports[0] != reports[1]
    assert reports[0] == reports[2]


def test_checksums_switched_off_later_are_noticed(session, engine, tmp_path):
    """At every release, not only when the engine is made."""
    write(tmp_path / "data")
    name = "spark.sql.shuffle.orderIndependentChecksum.enabled"
    session.conf.set(name, "false")
    try:
        with pytest.raises(InputError, match="switched off"):
            release(tmp_path / "data", plan("id"), tmp_path / "out", engine=engine, ledger=None)
    finally:
        session.conf.unset(name)
    assert os.listdir(tmp_path) == ["data"]


def test_a_part_that_cannot_be_read_is_one_sentence_also_where_persons_are_counted(engine, tmp_path):
    """Spark says it in many lines."""
    write(tmp_path / "data", region=["n", "s"] * (ROWS // 2))
    part = tmp_path / "data" / "part-1.parquet"
    content = bytearray(part.read_bytes())
    content[10:200] = bytes(190)
    part.write_bytes(content)
    asked = plan("region", person="id", rows_per_person=1)
    with pytest.raises(ReleaseError) as caught:
        release(tmp_path / "data", asked, tmp_path / "out", engine=engine, ledger=None)
    assert "\n" not in str(caught.value)
    assert os.listdir(tmp_path) == ["data"]


@pytest.mark.usefixtures("cluster")
def test_a_master_that_is_none_is_one_sentence(tmp_path):
    """On the command line; nothing is written."""
    write(tmp_path / "data")
    (tmp_path / "plan.toml").write_text(
        'format = 1\n[[private]]\ncolumns = ["x"]\ndomain = { binary = ["no", "yes"] }\n'
        'mechanism = "randomized-response"\nepsilon = 1.0\n'
    )
    command = [sys.executable, "-m", "discreet", "release", "data", "plan.toml", "-o", "out", "--engine", "spark"]
    done = subprocess.run([*command, "--master", "nonsense"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "error: no session of Spark could be had" in done.stderr
    assert "answer at nonsense" in done.stderr
    assert not (tmp_path / "out").exists()
