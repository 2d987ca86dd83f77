"""Tables come in from files and through the Arrow interfaces, and give the same release."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from discreet import Randomness, ReleaseError
from discreet.publish import check, release
from discreet.publish.pipeline import rebatched
from tests.publish.conftest import block_of, plan_of

PLAN = plan_of(public=[{"columns": ["sex"]}])


class OnlyStream:
    """An object with nothing but the stream interface."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


class OnlyArray:
    """An object with nothing but the array interface."""

    def __init__(self, batch):
        self._batch = batch

    def __arrow_c_array__(self, requested_schema=None):
        return self._batch.__arrow_c_array__(requested_schema)


def duck(table):
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    return duckdb.from_arrow(table)


FORMS = {
    "table": lambda table: table,
    "batch": lambda table: table.to_batches()[0],
    "reader": lambda table: table.to_reader(max_chunksize=1),
    "dictionary": lambda table: pa.table({n: table.column(n).dictionary_encode() for n in table.column_names}),
    "large text": lambda table: pa.table({n: table.column(n).cast(pa.large_string()) for n in table.column_names}),
    "text views": lambda table: pa.table({n: table.column(n).cast(pa.string_view()) for n in table.column_names}),
    "stream": OnlyStream,
    "array": lambda table: OnlyArray(table.to_batches()[0]),
    "polars": pl.from_arrow,
    "polars categorical": lambda table: pl.from_arrow(table).with_columns(pl.all().cast(pl.Categorical)),
    "pandas": lambda table: table.to_pandas(),
    "pandas categorical": lambda table: table.to_pandas().astype("category"),
    "pandas with index": lambda table: table.to_pandas().set_index("id", drop=False),
    "duckdb": duck,
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_release(form, table):
    """The seed decides, not the form of the source."""
    expected = release(table, PLAN, randomness=Randomness.seeded(5)).to_arrow()
    done = release(FORMS[form](table), PLAN, randomness=Randomness.seeded(5)).to_arrow()
    assert done.to_pydict() == expected.to_pydict()
    assert done.column_names == ["sex", "cheated"]


def test_files_give_the_same_release_as_memory(source, table):
    """Parquet and CSV files hold the same answers."""
    expected = release(table, PLAN, randomness=Randomness.seeded(5)).to_arrow().to_pydict()
    assert release(source, PLAN, randomness=Randomness.seeded(5), ledger=None).to_arrow().to_pydict() == expected
    assert release(str(source), PLAN, randomness=Randomness.seeded(5), ledger=None).to_arrow().to_pydict() == expected


def test_batches_of_the_source_leave_no_trace():
    """However the source cuts its rows, the released batches and row groups are the same."""
    rng = np.random.default_rng(3)
    table = pa.table({"cheated": rng.random(5000) < 0.3})
    plan = plan_of(block_of(domain={"binary": [False, True]}), output={"order": "keep"})
    whole = release(table, plan, randomness=Randomness.seeded(2)).to_arrow()
    pieces = pa.Table.from_batches([table.slice(i, 7).to_batches()[0] for i in range(0, 5000, 7)])
    cut = release(pieces, plan, randomness=Randomness.seeded(2)).to_arrow()
    assert cut.column("cheated").num_chunks == whole.column("cheated").num_chunks == 1
    assert cut.equals(whole)


@pytest.mark.parametrize("rows", [1, 3, 7, 100])
def test_rebatching_keeps_rows_and_order(rows):
    """All batches have the same size but the last, and nothing is lost, also with empty batches."""
    batches = [pa.record_batch({"x": pa.array(range(a, b), pa.int64())}) for a, b in ((0, 4), (4, 4), (4, 5), (5, 19))]
    out = list(rebatched(batches, rows))
    assert [value for batch in out for value in batch.column(0).to_pylist()] == list(range(19))
    assert all(batch.num_rows == rows for batch in out[:-1])


@pytest.mark.parametrize("thing", [3, None, [1, 2], {"cheated": ["no"]}, np.zeros(3), pd.Series(["no"]).array], ids=str)
def test_what_is_no_table_is_refused(thing):
    """The sentence says what would be one."""
    with pytest.raises(ReleaseError, match=r"Arrow interface|failed while it was read"):
        release(thing, plan_of())


def test_a_source_that_fails_is_not_quoted():
    """A foreign error may contain a value, so only the fact is passed on."""

    def failing():
        yield pa.record_batch({"cheated": ["no"]})
        raise ValueError("the value SECRET-VALUE is bad")

    reader = pa.RecordBatchReader.from_batches(pa.schema([("cheated", pa.string())]), failing())
    with pytest.raises(ReleaseError, match="failed while it was read") as caught:
        release(reader, plan_of())
    assert "SECRET-VALUE" not in str(caught.value)


def test_checking_reads_everything_and_writes_nothing(source, out):
    """The number of rows comes back; neither output nor ledger appears."""
    calls = []
    assert check(source, PLAN, out / "out.parquet", progress=calls.append) == 4
    assert calls == [4]
    assert list(out.iterdir()) == []


def test_a_parquet_column_with_a_dot_is_not_a_path(tmp_path):
    """A name that is the beginning of another one brings in nothing else."""
    pq.write_table(pa.table({"a": [1, 2], "a.b": [3, 4], "cheated": ["no", "yes"]}), tmp_path / "in.parquet")
    done = release(tmp_path / "in.parquet", plan_of(public=[{"columns": ["a"]}]))
    assert done.columns == ["a", "cheated"]


def test_progress_counts_rows(tmp_path, monkeypatch):
    """The callback hears how many rows are done."""
    from discreet.tables import readers as tables

    monkeypatch.setattr(tables, "MAX_BATCH_ROWS", 100)
    monkeypatch.setattr(tables, "MIN_BATCH_ROWS", 100)
    calls = []
    release(pa.table({"cheated": ["no"] * 250}), plan_of(), progress=calls.append)
    assert calls == [100, 200, 250]


def test_a_csv_source_is_read_in_blocks(tmp_path, monkeypatch):
    """Rows that lie across the border of two blocks are whole."""
    from discreet.tables import readers as tables

    monkeypatch.setattr(tables, "CSV_BLOCK", 1 << 12)
    notes = [f'line {i}\nwith "quotes", and {"x" * (i % 50)}' for i in range(500)]
    table = pa.table({"note": notes, "cheated": ["no", "yes"] * 250})
    pa_csv.write_csv(table, tmp_path / "in.csv")
    plan = plan_of(public=[{"columns": ["note"]}], output={"order": "keep"})
    assert release(tmp_path / "in.csv", plan).to_arrow().column("note").to_pylist() == notes
