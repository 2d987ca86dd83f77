"""A release is read alike from memory, Parquet and CSV."""

from __future__ import annotations

import polars as pl
import pyarrow as pa
import pytest

from discreet import Randomness, ReleaseError
from discreet.mechanisms import BinaryResponse
from discreet.publish import Plan, release
from discreet.reading import Release
from tests.manifest.conftest import PLAN, TABLE


def test_a_release_describes_itself(released):
    """Columns, rows, survey, guarantee and mechanisms are at hand."""
    assert released.columns == ["sex", "age", "w", "cheated", "income"]
    assert released.rows == 6
    assert released.survey.weight == "w"
    assert released.guarantee == released.manifest.guarantee
    assert released.guarantee.unit == "record"
    assert isinstance(released.mechanism("cheated"), BinaryResponse)
    assert released.block("income").domain.size == 3
    assert released.to_dict() == released.manifest.to_dict()


def test_all_forms_hold_the_same_rows(tmp_path):
    """With the same seed, memory, Parquet and CSV read back as equal tables."""
    tables = [
        release(TABLE, PLAN, output, randomness=Randomness.seeded(3)).to_arrow()
        for output in (None, tmp_path / "out.parquet", tmp_path / "out.csv")
    ]
    assert tables[0].equals(tables[1])
    assert tables[0].equals(tables[2])
    assert tables[0].schema.equals(tables[2].schema)


@pytest.mark.parametrize("form", ["parquet", "csv"], indirect=True)
def test_an_opened_release_equals_the_one_that_was_written(released, form, tmp_path):
    """What release() returned and what Release.open() finds are the same."""
    again = Release.open(tmp_path / f"out.{form}")
    assert again.manifest == released.manifest
    assert again.to_arrow().equals(released.to_arrow())


def test_columns_have_the_type_of_their_labels(released):
    """Reports carry their labels in declared order; public numbers are numbers again."""
    table = released.to_arrow()
    assert table.schema.field("age").type == pa.int64()
    assert table.schema.field("w").type == pa.float64()
    assert table.schema == released.schema
    for chunk in table.column("cheated").chunks:
        assert chunk.dictionary.to_pylist() == ["no", "yes"]
    for chunk in table.column("income").chunks:
        assert chunk.dictionary.to_pylist() == ["low", "high"]
    assert sorted(v for v in table.column("age").to_pylist() if v is not None) == [4, 17, 31, 55, 90]


def test_batches_can_be_asked_for_in_some_columns(released):
    """Only these columns, in the order asked for."""
    batches = list(released.batches(["income", "sex"]))
    assert batches[0].schema.names == ["income", "sex"]
    assert sum(batch.num_rows for batch in batches) == 6
    assert released.to_arrow(["w"]).column_names == ["w"]


def test_a_release_is_read_by_every_data_frame(released):
    """polars, pandas and pyarrow read it through the Arrow stream interface."""
    assert pl.DataFrame(released).height == 6
    assert pa.table(released).equals(released.to_arrow())
    assert list(pa.table(released).to_pandas()["cheated"].cat.categories) == ["no", "yes"]


def test_a_release_is_read_by_duckdb(released):
    """A query names it like any table."""
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    assert duckdb.sql("select count(*), sum(w) from released").fetchall() == [(6, 9.0)]


@pytest.mark.parametrize("ask", [lambda r: r.block("x"), lambda r: r.batches(["x"]), lambda r: r.to_arrow(["x"])])
def test_an_unknown_column_is_refused_with_those_that_exist(released, ask):
    """The sentence lists what could be meant."""
    with pytest.raises(ReleaseError, match=r'no column "x".*sex, age, w, cheated, income'):
        ask(released)


def test_a_public_column_has_no_mechanism(released):
    """It was copied, and the error says so."""
    with pytest.raises(ReleaseError, match='"sex" is public'):
        released.mechanism("sex")


def test_one_text_is_not_a_list_of_columns(released):
    """A forgotten bracket is not read as a list of letters."""
    with pytest.raises(ReleaseError, match="columns must be a list"):
        released.batches("sex")


def test_summaries_say_what_matters(released):
    """Title, order, both blocks, the promise, and the warning about a seed."""
    text = str(released)
    for part in (
        "Campus honesty survey",
        "6 rows",
        "random order",
        "NOT SECURE",
        "cheated",
        "so there are 3",
        "per row",
    ):
        assert part in text
    assert "6 rows" in repr(released)


def test_designs_by_row_have_no_single_mechanism():
    """The error points to where the designs are."""
    plan = Plan.parse(
        """
        [[public]]
        columns = ["mode"]
        [[private]]
        columns = ["cheated"]
        domain = { binary = ["no", "yes"] }
        collected = true
        by = "mode"
        designs.direct = { direct = true }
        designs.crosswise = { crosswise = "1/4" }
        """
    )
    table = pa.table({"mode": ["direct", "crosswise"], "cheated": ["yes", "no"]})
    answers = Release.from_reports(table, plan)
    with pytest.raises(ReleaseError, match=r'differ by "mode"; use block\("cheated"\)\.designs'):
        answers.mechanism("cheated")
    assert answers.block("cheated").designs["crosswise"] == BinaryResponse.crosswise("1/4")


def test_reports_need_a_plan():
    """A path or a dictionary is not guessed to be a plan."""
    with pytest.raises(ReleaseError, match=r"needs a Plan"):
        Release.from_reports(TABLE, "plan.toml")


def test_large_text_domains_are_plain_text(tmp_path):
    """A list of many labels is not repeated in every row group."""
    labels = [f"place-{i}" for i in range(70_000)]
    plan = {
        "private": [
            {
                "columns": ["place"],
                "domain": {"categorical": labels},
                "mechanism": "randomized-response",
                "epsilon": 40.0,
                "missing": "public",
            }
        ]
    }
    table = pa.table({"place": ["place-5", None, "place-69999"]})
    done = release(table, plan, tmp_path / "out.parquet", randomness=Randomness.seeded(1))
    assert done.schema.field("place").type == pa.string()
    assert set(done.to_arrow().column("place").to_pylist()) == {"place-5", None, "place-69999"}
    assert (tmp_path / "out.parquet").stat().st_size < 2_000_000
