"""Names that are not UTF-8, and tables that are damaged inside: one sentence, and nothing is published."""

from __future__ import annotations

import io
import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet import Categorical, DomainError, Plan, PlanError, Release, ReleaseError, release
from discreet.cli.terminal import ENVIRONMENT, command
from discreet.tables.readers import reading
from tests.publish.conftest import CHEATED, plan_of

ANSWERS = pa.table({"town": ["n", "s"] * 50, "cheated": ["no", "yes"] * 50})
PUBLIC = plan_of(public=[{"columns": ["town"]}])


def stream(table, old=b"", new=b""):
    """A table as a stream in which some bytes were changed."""
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return pa.ipc.open_stream(io.BytesIO(sink.getvalue().replace(old, new)))


@pytest.mark.parametrize("name", ["o\udcff.parquet", "o\udcff.csv", "o\udcff", "d\udcff/out.parquet"])
def test_an_output_that_could_not_be_opened_is_refused(name, tmp_path):
    """Before anything is published under that name."""
    os.makedirs(os.path.join(os.fsencode(tmp_path), b"d\xff"))
    with pytest.raises(ReleaseError, match="path of the output is not UTF-8"):
        release(ANSWERS, PUBLIC, f"{tmp_path}/{name}", ledger=None)
    assert os.listdir(os.fsencode(tmp_path)) == [b"d\xff"]


def test_names_of_columns_are_text(tmp_path):
    """In a file, in a stream and inside of a record; also where the plan does not name the column."""
    pq.write_table(ANSWERS.rename_columns(["townXX", "cheated"]), tmp_path / "data.parquet")
    content = (tmp_path / "data.parquet").read_bytes()
    (tmp_path / "data.parquet").write_bytes(content.replace(b"townXX", b"town\xff\xfe"))
    with pytest.raises(ReleaseError, match=r"data\.parquet has a column whose name is not UTF-8"):
        release(tmp_path / "data.parquet", plan_of(), tmp_path / "out.parquet", ledger=None)
    changed = stream(ANSWERS.rename_columns(["townXX", "cheated"]), b"townXX", b"town\xff\xfe")
    with pytest.raises(ReleaseError, match="a column whose name is not UTF-8"):
        release(changed, plan_of(), tmp_path / "out.parquet", ledger=None)
    record = pa.table({"town": [{"fieldXX": 1}] * 100, "cheated": ["no", "yes"] * 50})
    with pytest.raises(ReleaseError, match='"town" is public, but the name of a field in it is not UTF-8'):
        release(stream(record, b"fieldXX", b"field\xff\xfe"), PUBLIC, tmp_path / "out.parquet", ledger=None)
    assert os.listdir(tmp_path) == ["data.parquet"]


@pytest.mark.parametrize(
    "changed",
    [
        {"title": "x\ud800"},
        {"private": [CHEATED | {"columns": ["x\ud800"]}]},
        {"private": [CHEATED | {"domain": {"binary": ["no", "x\ud800"]}}]},
        {"public": [{"columns": ["x\ud800"]}]},
    ],
)
def test_a_plan_is_text(changed):
    """Whatever is in a plan is written into a manifest."""
    with pytest.raises(PlanError, match="not UTF-8"):
        Plan.from_dict(plan_of() | changed)


ERRORS = [
    kind
    for kind in vars(pa.lib).values()
    if isinstance(kind, type) and issubclass(kind, pa.ArrowException) and kind is not pa.ArrowException
]


@pytest.mark.parametrize("kind", ERRORS)
def test_every_error_of_arrow_while_a_file_is_read_is_a_sentence(kind, tmp_path):
    """It names the file and quotes nothing."""
    said = r"^data\.parquet (is damaged|cannot be read)"
    with pytest.raises(ReleaseError, match=said) as caught, reading(tmp_path / "data.parquet", "Parquet"):
        raise kind("a private value")
    assert "private" not in str(caught.value)


@pytest.mark.parametrize("number", [2, -1, 2**30])
@pytest.mark.parametrize("column", ["town", "cheated"])
@pytest.mark.parametrize("inside", [False, True])
def test_a_dictionary_without_an_entry_is_refused(number, column, inside, tmp_path):
    """A cell whose number has no entry, in a column or inside of a record, public or private."""
    numbers = pa.array([0, 1] * 49 + [0, number], pa.int32())
    broken = pa.DictionaryArray.from_arrays(numbers, pa.array(["no", "yes"]), safe=False)
    cells = pa.StructArray.from_arrays([broken], ["field"]) if inside and column == "town" else broken
    table = ANSWERS.set_column(ANSWERS.schema.get_field_index(column), column, cells)
    with pytest.raises(ReleaseError, match="the source failed while it was read"):
        release(table, PUBLIC, tmp_path / "out.parquet", ledger=None)
    assert os.listdir(tmp_path) == []
    with pytest.raises(DomainError, match="dictionary has no entry"):
        Categorical(["no", "yes"]).encode(broken)


@pytest.mark.parametrize("kind", [MemoryError, pa.ArrowMemoryError])
def test_a_command_without_memory_says_so(kind, capsys):
    """In one sentence, as a failure of the machine."""

    @command
    def wanting():
        raise kind("malloc of size 9 failed")

    with pytest.raises(BaseException) as caught:  # noqa: PT011  # of typer, which differs between versions
        wanting()
    assert caught.value.exit_code == ENVIRONMENT
    assert capsys.readouterr().err == (
        "error: this machine has not enough memory for this; nothing unfinished was left behind\n"
    )


def test_a_file_that_asks_for_too_much_memory_is_refused(tmp_path, monkeypatch):
    """What Arrow says when it cannot have the memory that a file names."""
    release(ANSWERS, PUBLIC, tmp_path / "out.parquet", ledger=None)
    opened = Release.open(tmp_path / "out.parquet")

    def asks(*_, **__):
        raise pa.ArrowMemoryError("malloc of size 4611686018427387904 failed")

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", asks)
    with pytest.raises(ReleaseError, match=r"out\.parquet is damaged, or needs more memory"):
        opened.to_arrow()
