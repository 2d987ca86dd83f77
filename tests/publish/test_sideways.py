"""The truth never leaks sideways: each channel of the design, searched for a planted secret."""

from __future__ import annotations

import json
import os
import traceback
import warnings
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet import DiscreetError, Randomness
from discreet.publish import Ledger, LedgerWarning, Plan, check, release, shuffle
from discreet.reading import Release
from tests.publish.conftest import block_of, plan_of

SECRET = "Planted-Secret-4711"
MARK = SECRET.encode()


class Note(pa.ExtensionType):
    """An extension type whose metadata hold the secret."""

    def __init__(self):
        super().__init__(pa.string(), "discreet.test.note")

    def __arrow_ext_serialize__(self):
        return MARK

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type, serialized):
        return cls()


def hiding_places(rows=200):
    """A table with the secret everywhere that is not a public value."""
    sex = pa.DictionaryArray.from_arrays(pa.array([1, 2] * (rows // 2), pa.int8()), pa.array([SECRET, "f", "m"]))
    cheated = pa.DictionaryArray.from_arrays(pa.array([1, 2] * (rows // 2), pa.int8()), pa.array([SECRET, "no", "yes"]))
    inner = pa.struct([pa.field("a", pa.int64(), metadata={"x": SECRET})])
    pair = pa.array([{"a": i} for i in range(rows)], inner)
    note = pa.ExtensionArray.from_storage(Note(), pa.array(["n"] * rows))
    person = [f"{SECRET}-{i}" for i in range(rows)]
    fields = [
        pa.field("sex", sex.type, metadata={"comment": SECRET}),
        pa.field("pair", inner),
        pa.field("note", Note()),
        pa.field("cheated", cheated.type, metadata={"comment": SECRET}),
        pa.field("person", pa.string()),
        pa.field(f"column {SECRET}", pa.string()),
    ]
    schema = pa.schema(fields, metadata={"pandas": json.dumps({"x": SECRET}), SECRET: SECRET})
    return pa.Table.from_arrays([sex, pair, note, cheated, pa.array(person), pa.array(person)], schema=schema)


PLAN = plan_of(
    block_of(), public=[{"columns": ["sex", "pair", "note"]}], budget={"person": "person", "rows_per_person": 1}
)


def searched(*folders):
    """Every file below these folders."""
    return [path for folder in folders for path in Path(folder).rglob("*") if path.is_file()]


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """The folder for temporary files, to be searched as well."""
    import tempfile

    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return folder


@pytest.mark.parametrize("memory", [1 << 28, 500], ids=["in memory", "spilled"])
@pytest.mark.parametrize("order", ["shuffle", "keep"])
@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_no_file_holds_a_planted_secret(ending, order, memory, out, temporary, own_ledger, monkeypatch, tmp_path):
    """Outputs, manifest, ledger, temporary files on the way and open files without a name are all clean."""
    monkeypatch.setattr(shuffle, "MEMORY_BYTES", memory)
    table = hiding_places() if ending == "parquet" else hiding_places().drop_columns(["pair"])
    public = PLAN["public"] if ending == "parquet" else [{"columns": ["sex", "note"]}]
    truth = tmp_path / "truth.parquet"
    pq.write_table(table, truth)
    assert MARK in truth.read_bytes()
    seen = []

    def look(_):
        for path in searched(out, temporary, own_ledger.parent):
            seen.append(path.name)
            assert MARK not in path.read_bytes()
        for descriptor in os.listdir("/proc/self/fd"):
            try:
                target = os.readlink(f"/proc/self/fd/{descriptor}")
            except OSError:
                continue
            if target.endswith("(deleted)"):
                seen.append("nameless")
                with open(f"/proc/self/fd/{descriptor}", "rb") as file:
                    assert MARK not in file.read()

    done = release(truth, PLAN | {"public": public, "output": {"order": order}}, out / f"out.{ending}", progress=look)
    look(0)
    assert any(name.startswith(".discreet-") for name in seen)
    assert own_ledger.name in seen
    assert done.rows == 200
    assert SECRET not in done.manifest.to_json() + str(done) + repr(done) + done.guarantee.explain()


def test_the_planted_secret_is_also_absent_from_memory():
    """The schema and dictionaries of a release in memory are made from the plan."""
    done = release(hiding_places(), PLAN)
    for table in (done.to_arrow(), pa.table(done)):
        assert MARK not in table.schema.serialize().to_pybytes()
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
        assert MARK not in sink.getvalue().to_pybytes()


def secret_tables(tmp_path):
    """Inputs that fail, each with the secret at the spot that fails."""
    good = ["no"] * 5
    (tmp_path / "cells.csv").write_text(f"a,cheated\n1,no\n{SECRET},{SECRET},{SECRET}\n")
    (tmp_path / "value.csv").write_text(f"a,cheated\n1,no\n2,{SECRET}\n")
    (tmp_path / "bytes.csv").write_bytes(b"a,cheated\n1,no\n" + MARK + b"\xff,no\n")
    (tmp_path / "quote.csv").write_text(f'a,cheated\n1,"no{SECRET}\n')
    text = {
        "value": pa.table({"cheated": [*good, SECRET]}),
        "dictionary": pa.table({"cheated": pa.array([*good, SECRET]).dictionary_encode()}),
        "type": pa.table({"cheated": pa.array([[SECRET]])}),
        "person": pa.table({"cheated": good, "person": [SECRET] * 5}),
        "weight": pa.table({"cheated": good, "w": [SECRET] * 5}),
    }
    return text | {path.name: path for path in sorted(tmp_path.glob("*.csv"))}


@pytest.mark.parametrize(
    "name",
    [
        "value",
        "dictionary",
        "type",
        "person",
        "weight",
        "cells.csv",
        "value.csv",
        "bytes.csv",
        "quote.csv",
        "number.csv",
    ],
)
def test_no_message_holds_a_planted_secret(name, out, tmp_path, capfd):
    """Errors say where and what was expected, never what was found; nothing is printed and nothing is written."""
    (tmp_path / "number.csv").write_text(f"a,cheated\n1,0\n2,{SECRET}\n")
    source = secret_tables(tmp_path)[name]
    plan = plan_of()
    if name == "person":
        plan = plan_of(budget={"person": "person"})
    if name == "weight":
        plan = plan_of(survey={"weight": "w"})
    if name == "number.csv":
        plan = plan_of(block_of(domain={"binary": [0, 1]}))
    for action in (lambda: release(source, plan, out / "out.parquet"), lambda: check(source, plan)):
        with pytest.raises(DiscreetError) as caught:
            action()
        shown = "".join(traceback.format_exception(caught.value, chain=True))
        assert SECRET not in str(caught.value)
        assert SECRET not in shown
    assert SECRET not in "".join(capfd.readouterr())
    assert list(out.iterdir()) == []


def test_warnings_hold_no_secret(tmp_path, out):
    """The warning about a second release names figures, not values."""
    truth = tmp_path / "truth.parquet"
    pq.write_table(hiding_places(), truth)
    release(truth, PLAN, out / "a.parquet")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        release(truth, PLAN, out / "b.parquet")
    assert [warning.category for warning in caught] == [LedgerWarning]
    assert SECRET not in str(caught[0].message)


def test_the_released_schema_comes_from_the_plan(out):
    """No metadata of schema or field is copied; public dictionaries are decoded."""
    release(hiding_places(), PLAN, out / "out.parquet")
    schema = pq.read_schema(out / "out.parquet")
    assert set(schema.metadata) == {b"discreet"}
    assert set(pq.read_metadata(out / "out.parquet").metadata) == {b"discreet", b"ARROW:schema"}
    assert schema.field("sex").type == pa.string()
    assert schema.field("note").type == pa.string()
    assert all(field.metadata is None or set(field.metadata) <= {b"PARQUET:field_id"} for field in schema)
    assert schema.names == ["sex", "pair", "note", "cheated"]


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_dictionaries_are_in_declared_order(ending, out):
    """Not in order of appearance, which would tell which value came first, and not only the values that occur."""
    domain = ["zeta", "alpha", "mu", "never"]
    plan = plan_of(block_of(domain={"categorical": domain}, epsilon=30.0), output={"order": "keep"})
    done = release(pa.table({"cheated": ["mu", "alpha"]}), plan, out / f"out.{ending}")
    for chunk in Release.open(out / f"out.{ending}").to_arrow().column("cheated").chunks:
        assert chunk.dictionary.to_pylist() == domain
    assert done.to_arrow().column("cheated").chunk(0).dictionary.to_pylist() == domain


def test_the_parquet_dictionary_page_is_in_declared_order(out):
    """Also in the file itself, as Arrow reads it without us."""
    domain = ["zeta", "alpha", "mu", "never"]
    plan = plan_of(block_of(domain={"categorical": domain}, epsilon=30.0), output={"order": "keep"})
    release(pa.table({"cheated": ["mu", "alpha"]}), plan, out / "out.parquet")
    assert pq.read_table(out / "out.parquet").column("cheated").chunk(0).dictionary.to_pylist() == domain


def test_null_bitmaps_of_private_columns_are_not_copied():
    """The only nulls of a protected column are randomised ones: about as many among those who answered as ε allows."""
    truth = pa.array(["no", None] * 500)
    plan = plan_of(block_of(missing="category"), output={"order": "keep"})
    done = release(pa.table({"cheated": truth}), plan, randomness=Randomness.seeded(6)).to_arrow()
    blank = done.column("cheated").is_null().to_numpy()
    assert 0.1 < blank[0::2].mean() < 0.35
    assert 0.4 < blank[1::2].mean() < 0.75


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_a_column_without_blanks_is_released_without_nulls(ending, out):
    """There is no bitmap to copy, and none is made."""
    done = release(pa.table({"cheated": ["no", "yes"] * 10}), plan_of(), out / f"out.{ending}").to_arrow()
    assert done.column("cheated").null_count == 0


def test_nothing_hides_under_a_public_blank():
    """The memory below a null of a released column does not depend on what the source kept there."""
    valid = pa.py_buffer(bytes([0b11110000]))
    plan = plan_of(block_of(domain={"binary": [False, True]}, missing="public"), output={"order": "keep"})
    below = []
    for hidden in (0b10101111, 0b10100000):
        truth = pa.Array.from_buffers(pa.bool_(), 8, [valid, pa.py_buffer(bytes([hidden]))])
        done = release(pa.table({"cheated": truth}), plan, randomness=Randomness.seeded(1)).to_arrow()
        column = done.column("cheated").chunk(0)
        assert column.is_null().to_pylist() == [True] * 4 + [False] * 4
        below.append(column.buffers()[1].to_pybytes()[:1])
    assert below[0] == below[1]


def test_a_failed_release_does_not_spend(tmp_path, own_ledger):
    """The ledger knows that it was begun and undone."""
    path = tmp_path / "truth.csv"
    path.write_text(f"cheated\n{SECRET}\n")
    with pytest.raises(DiscreetError):
        release(path, plan_of())
    assert [entry.state for entry in Ledger(own_ledger).entries()] == ["abandoned"]
    assert Ledger(own_ledger).previous(path) == ()


def test_a_plan_holds_what_people_declared_only(tmp_path):
    """Reading a plan opens no table but the ones it names."""
    plan = Plan.from_dict(plan_of(), folder=tmp_path)
    assert plan.files == ()
