"""CSV in and out: every cell is text, and public cells come back as they were."""

from __future__ import annotations

import csv
import io

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import DomainError, Randomness, ReleaseError
from discreet.publish import release
from discreet.reading import Release
from discreet.tables import readers as tables_module
from discreet.tables.csv_text import csv_header, csv_rows
from tests.publish.conftest import block_of, plan_of

KEEP = {"order": "keep"}


def cells(path):
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.reader(lines))


def test_public_cells_come_back_unchanged(tmp_path):
    """Leading zeros, spaces, quotes, commas, line ends, NA and very long numbers survive."""
    odd = ["007", " x ", 'say "hi"', "a,b", "two\nlines", "NA", "1e400", "", "é", "=1+1", "0x1F", "1,5", "\r\n", "'"]
    source = tmp_path / "in.csv"
    with source.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.writer(lines)
        writer.writerows([["odd", "cheated"], *([cell, "no"] for cell in odd)])
    plan = plan_of(output=KEEP, public=[{"columns": ["odd"]}])
    release(source, plan, tmp_path / "out.csv")
    assert [row[0] for row in cells(tmp_path / "out.csv")] == ["odd", *odd]
    release(source, plan, tmp_path / "out.parquet", ledger=None)
    read = Release.open(tmp_path / "out.parquet").to_arrow().column("odd").to_pylist()
    assert read == [cell or None for cell in odd]


def test_an_empty_private_cell_is_missing(tmp_path):
    """Quoted or not; with public blanks it stays empty."""
    (tmp_path / "in.csv").write_text('a,cheated\n1,no\n2,\n3,""\n')
    with pytest.raises(DomainError, match=r'column "cheated", row 1 .*missing'):
        release(tmp_path / "in.csv", plan_of())
    plan = plan_of(block_of(missing="public"), output=KEEP)
    done = release(tmp_path / "in.csv", plan, tmp_path / "out.csv")
    assert done.to_arrow().column("cheated").null_count == 2
    assert cells(tmp_path / "out.csv")[2:] == [[""], [""]]


def test_na_is_text_like_any_other(tmp_path):
    """What looks missing to other programs is not: it is a value outside the domain."""
    (tmp_path / "in.csv").write_text("cheated\nno\nNA\n")
    with pytest.raises(DomainError, match="row 1"):
        release(tmp_path / "in.csv", plan_of())


@pytest.mark.parametrize(
    ("domain", "written", "values"),
    [
        ({"binary": [False, True]}, ["false", "true"], [False, True]),
        ({"binary": [0, 1]}, ["0", "1"], [0, 1]),
        ({"categorical": {"from": 5, "to": 7}}, ["5", "7"], [5, 7]),
        ({"grid": {"low": 0.0, "high": 1.0, "points": 11}}, ["0.1", "1"], [0.1, 1.0]),
        ({"ordinal": ["<10k", "10k, or more"]}, ["<10k", "10k, or more"], ["<10k", "10k, or more"]),
    ],
    ids=str,
)
def test_private_cells_are_read_in_the_type_of_their_domain(tmp_path, domain, written, values):
    """Booleans, whole numbers, decimals and text; with a very large ε the truth comes back."""
    with (tmp_path / "in.csv").open("w", newline="") as lines:
        csv.writer(lines).writerows([["cheated"], *([cell] for cell in written)])
    plan = plan_of(block_of(domain=domain, epsilon=40.0), output=KEEP)
    release(tmp_path / "in.csv", plan, tmp_path / "out.csv", randomness=Randomness.seeded(1))
    read = Release.open(tmp_path / "out.csv").to_arrow().column("cheated").to_pylist()
    assert read == pytest.approx(values) if isinstance(values[0], float) else read == values


def test_numbers_read_back_as_numbers_only_when_nothing_is_lost(tmp_path):
    """A column of plain numbers is numeric for the analyst; codes with leading zeros stay text."""
    (tmp_path / "in.csv").write_text(
        "code,age,height,mixed,empty,plus,cheated\n007,31,1.80,1,,+1,no\n008,,2,x,,+2,yes\n010,-4,1e-3,3,,+3,no\n"
    )
    public = ["code", "age", "height", "mixed", "empty", "plus"]
    for output in ("out.csv", "out.parquet", None):
        plan = plan_of(output=KEEP, public=[{"columns": public}])
        done = release(tmp_path / "in.csv", plan, None if output is None else tmp_path / output, ledger=None)
        types = {name: str(done.schema.field(name).type) for name in public}
        assert types == {
            "code": "string",
            "age": "int64",
            "height": "double",
            "mixed": "string",
            "empty": "string",
            "plus": "string",
        }
        assert done.to_arrow().column("age").to_pylist() == [31, None, -4]
        assert done.to_arrow().column("code").to_pylist() == ["007", "008", "010"]


def test_the_type_of_a_column_is_settled_by_all_its_cells(tmp_path, monkeypatch):
    """A letter in the last block makes the whole column text."""
    monkeypatch.setattr(tables_module, "CSV_BLOCK", 1 << 10)
    lines = [f"{i},{i}.5,{i},no" for i in range(1000)] + ["x,1,2.5,no"]
    (tmp_path / "in.csv").write_text("a,b,c,cheated\n" + "\n".join(lines) + "\n")
    done = release(tmp_path / "in.csv", plan_of(public=[{"columns": ["a", "b", "c"]}]))
    assert [str(done.schema.field(name).type) for name in "abc"] == ["string", "double", "double"]


def test_a_table_of_one_column_keeps_its_empty_rows(tmp_path):
    """An empty line is a row there; it is written quoted so that no reader skips it."""
    (tmp_path / "in.csv").write_text("cheated\nno\n\nyes\n")
    done = release(tmp_path / "in.csv", plan_of(block_of(missing="public"), output=KEEP), tmp_path / "out.csv")
    assert done.rows == 3
    assert (tmp_path / "out.csv").read_text().splitlines()[2] == '""'
    assert Release.open(tmp_path / "out.csv").to_arrow().column("cheated").is_null().to_pylist() == [False, True, False]


def test_headers_may_contain_anything(tmp_path):
    """Commas, quotes, line ends and a byte-order mark in the header are no obstacle."""
    names = ["a,b", 'c"d', "e\nf", "cheated"]
    with (tmp_path / "in.csv").open("w", encoding="utf-8-sig", newline="") as lines:
        csv.writer(lines).writerows([names, ["1", "2", "3", "no"]])
    release(tmp_path / "in.csv", plan_of(public=[{"columns": names[:3]}]), tmp_path / "out.csv")
    assert cells(tmp_path / "out.csv")[0] == names
    assert Release.open(tmp_path / "out.csv").columns == names


def test_windows_line_ends(tmp_path):
    """They are not part of the last cell."""
    (tmp_path / "in.csv").write_bytes(b"a,cheated\r\n1,no\r\n2,yes\r\n")
    assert release(tmp_path / "in.csv", plan_of()).rows == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "needs a header"),
        (b"\n", "needs a header"),
        (b"cheated\n", "no rows"),
        (b"a,cheated\n1,no\n2,yes,3\n", "a row has 3 cells where the header has 2"),
        (b"a,cheated\n1\n", "a row has 1 cells where the header has 2"),
        (b"a,a,cheated\n1,2,no\n", 'two columns called "a"'),
        (b"a,cheated\n\xff\xfe,no\n", "UTF-8"),
        (b"a,cheated\n" + b"1,no\n" * 9000 + b"\xff\xfe,no\n", "cannot be read as a CSV file"),
        (b"\xff\xfe,cheated\n1,no\n", "UTF-8"),
        (b"a;cheated\n1;no\n", 'separated by ";": say delimiter = ";" in the plan'),
        (b"a\tcheated\n1\tno\n", r'separated by a tab: say delimiter = "\\t" in the plan'),
    ],
)
def test_a_malformed_csv_file_is_refused(tmp_path, content, message):
    """One sentence, which quotes no cell."""
    (tmp_path / "in.csv").write_bytes(content)
    with pytest.raises(ReleaseError, match=message):
        release(tmp_path / "in.csv", plan_of(public=[{"columns": ["a"]}] if b"a" in content[:1] else []))


def test_the_empty_text_is_no_value_in_a_csv_file(tmp_path, table):
    """It could not be told from a blank, so such a domain needs Parquet."""
    plan = plan_of(block_of(domain={"binary": ["no", ""]}))
    (tmp_path / "in.csv").write_text("a,cheated\n1,no\n")
    with pytest.raises(ReleaseError, match="cannot tell from a blank"):
        release(tmp_path / "in.csv", plan)
    with pytest.raises(ReleaseError, match="cannot tell from a blank"):
        release(table, plan, tmp_path / "out.csv")


def test_every_plain_type_can_be_written(tmp_path):
    """Numbers, dates and booleans as text; what CSV cannot hold is refused."""
    import datetime as dt

    day, moment = dt.date(2024, 2, 29), dt.datetime(2024, 2, 29, 12, 30)
    table = pa.table(
        {"i": [1], "f": [0.1], "b": [True], "d": [day], "t": [moment], "n": pa.nulls(1), "cheated": ["no"]}
    )
    release(table, plan_of(public=[{"columns": ["i", "f", "b", "d", "t", "n"]}]), tmp_path / "out.csv")
    assert cells(tmp_path / "out.csv")[1][:6] == ["1", "0.1", "true", "2024-02-29", "2024-02-29 12:30:00.000000", ""]
    done = Release.open(tmp_path / "out.csv")
    assert done.to_arrow(["i", "f", "b"]).to_pylist() == [{"i": 1, "f": 0.1, "b": True}]
    nested = pa.table({"x": [[1, 2]], "cheated": ["no"]})
    with pytest.raises(ReleaseError, match=r'column "x" holds list.*a CSV file cannot hold'):
        release(nested, plan_of(public=[{"columns": ["x"]}]), tmp_path / "other.csv")
    assert not (tmp_path / "other.csv").exists()


@given(st.lists(st.tuples(st.text(), st.one_of(st.none(), st.text())), min_size=1, max_size=20), st.booleans())
def test_csv_text_is_what_the_standard_library_reads(rows, single):
    """Whatever the cells are, the csv module reads them back, and an empty cell stands for null."""
    rows = [tuple(None if cell is None else cell.replace("\x00", "") for cell in row) for row in rows]
    columns = list(zip(*rows, strict=True))[: 1 if single else 2]
    names = ["a", "b"][: len(columns)]
    batch = pa.RecordBatch.from_arrays([pa.array(column, pa.string()) for column in columns], names=names)
    text = (csv_header(names) + csv_rows(batch)).decode()
    read = list(csv.reader(io.StringIO(text, newline="")))
    assert read == [names, *([cell or "" for cell in row] for row in zip(*columns, strict=True))]
