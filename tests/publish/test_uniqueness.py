"""Public columns in which most rows have a value of their own are named in one warning."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from discreet import Plan, Randomness, Release, release
from discreet.cli.app import app
from discreet.publish.checking import check
from discreet.publish.observing import LEAST_ROWS, NearlyUnique, NearlyUniqueWarning
from tests.publish.conftest import plan_of

pytestmark = pytest.mark.filterwarnings("error::discreet.publish.observing.NearlyUniqueWarning")
N = 1_000


def table(rows=N, **public):
    """Answers beside public columns."""
    return pa.table({**public, "cheated": ["no", "yes"] * (rows // 2)})


def plan(*names):
    """A plan that publishes columns as they are."""
    return plan_of(public=[{"columns": list(names)}])


IDS = {
    "number": np.arange(N),
    "text": [f"person {number}" for number in range(N)],
    "float": np.random.default_rng(0).normal(size=N),
    "day of birth": [dt.date(1950, 1, 1) + dt.timedelta(days=37 * number) for number in range(N)],
    "three in five": np.minimum(np.arange(N), 3 * N // 5),
    "dictionary": pa.array([f"person {number}" for number in range(N)]).dictionary_encode(),
    "with nulls": pa.array([None if number % 3 else number for number in range(N)]),
    "bytes": [str(number).encode() for number in range(N)],
}


@pytest.mark.parametrize("kind", IDS)
def test_a_column_of_names_is_warned_of(kind, tmp_path):
    """On a release and on a check, in memory and in files; the column is named and a value is not."""
    source = table(who=IDS[kind], town=["n", "s"] * (N // 2))
    for run in (
        lambda: release(source, plan("who", "town"), randomness=Randomness.seeded(1), ledger=None),
        lambda: release(source, plan("who", "town"), tmp_path / "out.parquet", ledger=None),
        lambda: check(source, plan("who", "town")),
    ):
        with pytest.warns(NearlyUniqueWarning, match='"who"; an attacker who has such a value') as caught:
            run()
        assert len(caught) == 1
        assert "town" not in str(caught[0].message)
        assert "person 1" not in str(caught[0].message)


COARSE = {
    "ages": np.arange(N) % 80 + 18,
    "half": np.arange(N) // 2,
    "places": np.arange(N) % 499,
    "lists": [[number] for number in range(N)],
    "nothing": pa.nulls(N),
    "few cells": pa.array([number if number < LEAST_ROWS - 1 else None for number in range(N)]),
}


@pytest.mark.parametrize("kind", COARSE)
def test_a_coarse_column_is_not_warned_of(kind):
    """Half of the cells or fewer are different, or there are too few cells to say."""
    release(table(who=COARSE[kind]), plan("who"), randomness=Randomness.seeded(1), ledger=None)


def test_small_tables_are_not_warned_of():
    """Of fewer rows than ages and scores could fill; from then on they are."""
    small = LEAST_ROWS - 2
    release(table(small, who=range(small)), plan("who"), randomness=Randomness.seeded(1), ledger=None)
    with pytest.warns(NearlyUniqueWarning):
        release(table(LEAST_ROWS, who=range(LEAST_ROWS)), plan("who"), randomness=Randomness.seeded(1), ledger=None)


def test_a_person_who_is_not_published_is_not_warned_of():
    """The column that names the person is read and dropped."""
    who = plan_of(budget={"person": "who"})
    release(table(who=range(N)), who, randomness=Randomness.seeded(1), ledger=None)


def watched(numbers, size):
    """What is found where numbers pass by in batches."""
    found = NearlyUnique({"x": pa.int64()})
    for start in range(0, len(numbers), size):
        found.observe(pa.record_batch({"x": numbers[start : start + size]}))
    return found.columns() == ["x"]


@pytest.mark.parametrize("size", [1_000, 4_096, 100_000, 400_000])
def test_values_that_come_again_later_count(size):
    """However the rows are cut into batches: values that differ in the first rows and repeat later are not unique."""
    n = 400_000
    rng = np.random.default_rng(0)
    assert watched(np.arange(n), size)
    assert watched(rng.permutation(np.minimum(np.arange(n), 3 * n // 4)), size)  # one value is frequent
    assert not watched(rng.integers(0, 50_000, n), size)
    assert not watched(np.arange(n) % 100_000, size)


@pytest.mark.parametrize(
    "kind",
    [
        pa.int8(),
        pa.uint64(),
        pa.float16(),
        pa.float32(),
        pa.bool_(),
        pa.date64(),
        pa.time32("s"),
        pa.timestamp("ns", "UTC"),
        pa.duration("s"),
        pa.decimal128(9, 2),
        pa.decimal256(60, 2),
        pa.large_string(),
        pa.large_binary(),
        pa.binary(3),
        pa.month_day_nano_interval(),
        pa.list_(pa.int8()),
        pa.struct([("a", pa.int8())]),
        pa.map_(pa.string(), pa.int8()),
        pa.null(),
    ],
    ids=str,
)
def test_every_type_can_be_watched(kind):
    """A column of nulls, in several batches, is not nearly unique."""
    found = NearlyUnique({"x": kind})
    for _ in range(3):
        found.observe(pa.record_batch({"x": pa.nulls(20_000, kind)}))
    assert found.columns() == []


def test_the_commands_say_it_once(tmp_path):
    """On standard error, for a release and for a check; the exit code is 0."""
    pq.write_table(table(who=range(N)), tmp_path / "data.parquet")
    (tmp_path / "plan.toml").write_text(
        'format = 1\n[[public]]\ncolumns = ["who"]\n[[private]]\ncolumns = ["cheated"]\n'
        'domain = { binary = ["no", "yes"] }\nmechanism = "randomized-response"\nepsilon = 1.0\n'
    )
    asked = ["release", str(tmp_path / "data.parquet"), str(tmp_path / "plan.toml"), "--no-ledger"]
    for more in (["--check"], ["-o", str(tmp_path / "out.csv")]):
        ran = CliRunner().invoke(app, [*asked, *more])
        assert ran.exit_code == 0, ran.output
        assert ran.stderr.count('public columns: "who"') == 1


def test_collected_answers_too():
    """Their public columns are published as well."""
    answers = {"columns": ["cheated"], "domain": {"binary": ["no", "yes"]}, "collected": True, "warner": "2/3"}
    chosen = Plan.from_dict({"private": [answers], "public": [{"columns": ["who"]}]})
    with pytest.warns(NearlyUniqueWarning):
        Release.from_reports(table(who=range(N)), chosen)
