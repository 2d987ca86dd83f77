"""What was signed is what everybody reads: where another program sees other rows or another manifest, the audit fails.

Every test is an attack by somebody who can write into the published file or folder and has no key.
"""

from __future__ import annotations

import base64
import json
import os
import shutil

import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from discreet import DiscreetError, Plan, Release, release
from discreet.audit import audit
from discreet.manifest.signature import new_keys
from tests.parts import missing

try:
    import duckdb
except ImportError:
    duckdb = None

KEY = b"discreet"
ROWS = 60
PLAN = Plan.from_dict(
    {
        "public": [{"columns": ["age"]}],
        "private": [
            {
                "columns": ["cheated"],
                "domain": {"binary": ["no", "yes"]},
                "mechanism": "randomized-response",
                "epsilon": 1.0,
            }
        ],
    }
)
TABLE = pa.table({"age": list(range(20, 20 + ROWS)), "cheated": ["no", "yes"] * (ROWS // 2)})


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    return new_keys(tmp_path_factory.mktemp("keys") / "steward.pem")


@pytest.fixture
def file(tmp_path, keys):
    release(TABLE, PLAN, tmp_path / "out.parquet", signing_key=keys[0], ledger=None)
    return tmp_path / "out.parquet"


@pytest.fixture
def folder(tmp_path, keys):
    release(TABLE, PLAN, tmp_path / "out", signing_key=keys[0], ledger=None)
    return tmp_path / "out"


def passes(path, keys):
    """Whether the audit with the key of the steward passes."""
    try:
        return audit(Release.open(path), public_key=keys[1]).passed
    except DiscreetError:
        return False


def rows_seen(path):
    """The rows that other programs read from a path, or that they read none."""
    glob = str(path / "*.parquet") if path.is_dir() else str(path)
    below = str(path / "**" / "*.parquet") if path.is_dir() else str(path)
    readers = {
        "pyarrow": lambda: pq.read_table(path),
        "pyarrow, late ages": lambda: pq.read_table(path, filters=[("age", ">=", 50)]),
        "dataset": lambda: ds.dataset(path, format="parquet").to_table(),
        "polars": lambda: pl.read_parquet(glob).to_arrow(),
        "polars below": lambda: pl.read_parquet(below).to_arrow(),
        "polars, late ages": lambda: pl.scan_parquet(glob).filter(pl.col("age") >= 50).collect().to_arrow(),
        "duckdb": lambda: duckdb.sql(f"SELECT age, cheated FROM read_parquet('{glob}')").to_arrow_table(),
        "duckdb, late ages": lambda: duckdb.sql(
            f"SELECT age, cheated FROM read_parquet('{glob}') WHERE age >= 50"
        ).to_arrow_table(),
        "pandas": lambda: pa.Table.from_pandas(pq.read_table(path).to_pandas(), preserve_index=False),
    }
    found = {}
    for name, read in readers.items():
        if duckdb is None and name.startswith("duckdb"):
            continue
        try:
            table = read()
            rows = table.select(["age", "cheated"]).cast(pa.schema({"age": pa.int64(), "cheated": pa.string()}))
            found[name] = sorted(map(tuple, (row.values() for row in rows.to_pylist())))
        except Exception as error:  # whatever another program says when it reads nothing
            found[name] = type(error).__name__
    return found


def manifests_seen(path):
    """The manifests that other programs show for a file, by program."""
    inside = [field.metadata or {} for field in pq.read_schema(path)]
    listed = f"SELECT key, value FROM parquet_kv_metadata('{path}')"
    shown = [] if duckdb is None else duckdb.sql(listed).fetchall()
    return {
        "footer": pq.read_metadata(path).metadata.get(KEY),
        "schema": (pq.read_schema(path).metadata or {}).get(KEY),
        "table": (pq.read_table(path).schema.metadata or {}).get(KEY),
        "fields": [metadata.get(KEY) for metadata in inside],
        "dataset": (ds.dataset(path).schema.metadata or {}).get(KEY),
        "polars": pl.read_parquet_metadata(path).get("discreet"),
        "duckdb": [bytes(value) for key, value in shown if bytes(key) == KEY],
    }


def varint(number):
    out = b""
    while number >= 0x80:
        out, number = out + bytes([number & 0x7F | 0x80]), number >> 7
    return out + bytes([number])


def pair(key, value):
    """A key and its value in the compact form of Thrift."""
    return b"\x18" + varint(len(key)) + key + b"\x18" + varint(len(value)) + value + b"\x00"


def edit_footer(path, edit):
    """Replace the footer of a Parquet file."""
    content = path.read_bytes()
    size = int.from_bytes(content[-8:-4], "little")
    footer = edit(content[-8 - size : -8])
    path.write_bytes(content[: -8 - size] + footer + len(footer).to_bytes(4, "little") + b"PAR1")


def pairs_of(path):
    return pq.read_metadata(path).metadata


def forged(path):
    """The manifest of a file that states another title."""
    return json.dumps(json.loads(pairs_of(path)[KEY]) | {"title": "forged"}).encode()


def with_pairs(path, pairs):
    """Write the keys and values of a footer anew, in this order."""
    now = pairs_of(path)

    def edit(footer):
        starts = [footer.index(pair(key, value)) for key, value in now.items()]
        ends = [start + len(pair(key, value)) for start, (key, value) in zip(starts, now.items(), strict=True)]
        head = footer[: min(starts) - 1]
        return head + bytes([len(pairs) << 4 | 0x0C]) + b"".join(pair(*one) for one in pairs) + footer[max(ends) :]

    edit_footer(path, edit)


def schema_with(path, change):
    """The description of the columns that Arrow keeps, changed."""
    schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(pairs_of(path)[b"ARROW:schema"])))
    return base64.b64encode(change(schema).serialize().to_pybytes())


def twice(path, order):
    pairs = [(KEY, forged(path)), *pairs_of(path).items()]
    with_pairs(path, pairs if order == "first" else [*pairs[1:], pairs[0]])


def in_schema(path, change):
    with_pairs(path, list((pairs_of(path) | {b"ARROW:schema": schema_with(path, change)}).items()))


def on_field(schema, text):
    return schema.set(0, schema.field(0).with_metadata({KEY: text}))


def schema_twice(path, order):
    said = schema_with(path, lambda schema: schema.with_metadata({KEY: forged(path)}))
    pairs = [(b"ARROW:schema", said), *pairs_of(path).items()]
    with_pairs(path, pairs if order == "first" else [*pairs[1:], pairs[0]])


def key_twice_in_schema(path, order):
    both = [(KEY, forged(path)), (KEY, pairs_of(path)[KEY])]
    doubled = pa.KeyValueMetadata(both if order == "first" else both[::-1])
    in_schema(path, lambda schema: schema.with_metadata(doubled))


def field_twice(path):
    """A second list of keys and values after the first, in a field of the same number."""
    other = bytes([0x09, 0x0A, 1 << 4 | 0x0C]) + pair(KEY, forged(path))
    edit_footer(path, lambda footer: footer[:-1] + other + b"\x00")


def false_statistics(path):
    """The largest age of a row group is stated too low, so a filter leaves the group out."""
    table, pairs = pq.read_table(path), pairs_of(path)
    largest = table["age"].to_pylist()
    low = max(largest).to_bytes(8, "little"), (30).to_bytes(8, "little")
    edit_footer(path, lambda footer: footer.replace(*low))
    assert pairs_of(path) == pairs


FILES = {
    "key twice, forged first": lambda path: twice(path, "first"),
    "key twice, forged last": lambda path: twice(path, "last"),
    "field of keys twice": field_twice,
    "forged copy in the schema": lambda path: in_schema(path, lambda s: s.with_metadata({KEY: forged(path)})),
    "schema twice, forged first": lambda path: schema_twice(path, "first"),
    "schema twice, forged last": lambda path: schema_twice(path, "last"),
    "key twice in the schema, forged first": lambda path: key_twice_in_schema(path, "first"),
    "key twice in the schema, forged last": lambda path: key_twice_in_schema(path, "last"),
    "forged copy on a column": lambda path: in_schema(path, lambda s: on_field(s, forged(path))),
    "false statistics": false_statistics,
}


def test_duckdb_is_among_the_readers():
    """One visible line says if it was not tried."""
    if duckdb is None:
        missing("DuckDB as a reader of attacked releases", "pip install duckdb")


#: What the versions that are installed do not go by; others may.
UNSEEN = {"schema twice, forged last", "key twice in the schema, forged last"}


@pytest.mark.parametrize("attack", FILES)
def test_a_file_that_shows_something_else_fails_the_audit(file, keys, attack):
    """The audit fails, also where none of the programs that are tried here goes by what was changed."""
    rows, manifests = rows_seen(file), manifests_seen(file)
    assert passes(file, keys)
    FILES[attack](file)
    assert attack in UNSEEN or (rows_seen(file), manifests_seen(file)) != (rows, manifests)
    assert not passes(file, keys)


def stranger(path, rows=5):
    """A part with rows that nobody released, in the columns of the others."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"age": [99] * rows, "cheated": ["yes"] * rows}), path)


def appending(folder):
    stranger(folder / "part-00001.parquet")
    (folder / ".discreet-appending").write_text("part-00001.parquet\n")


def linked_folder(folder):
    stranger(folder.parent / "elsewhere" / "part-00001.parquet")
    (folder / "more").symlink_to(folder.parent / "elsewhere")


def pandas_names(folder):
    part = folder / "part-00000.parquet"
    pq.write_table(pq.read_table(part).replace_schema_metadata({KEY: b"{}"}), part)


FOLDERS = {
    "another part": lambda folder: stranger(folder / "part-00001.parquet"),
    "another part that is said to be appended": appending,
    "another ending": lambda folder: stranger(folder / "part-00001.pq"),
    "large letters": lambda folder: stranger(folder / "PART.PARQUET"),
    "no ending": lambda folder: stranger(folder / "part-00001"),
    "the ending of a text": lambda folder: stranger(folder / "readme.txt"),
    "hidden by a dot": lambda folder: stranger(folder / ".part.parquet"),
    "hidden by an underscore": lambda folder: stranger(folder / "_part.parquet"),
    "below": lambda folder: stranger(folder / "more" / "part-00001.parquet"),
    "below a hidden folder": lambda folder: stranger(folder / "_more" / "part-00001.parquet"),
    "in a partition": lambda folder: stranger(folder / "year=2020" / "part-00001.parquet"),
    "in a linked folder": linked_folder,
    "metadata of all parts": lambda folder: stranger(folder / "_metadata"),
    "a part that was changed": pandas_names,
    "a part that was exchanged": lambda folder: stranger(folder / "part-00000.parquet", ROWS),
}


@pytest.mark.parametrize("attack", FOLDERS)
def test_a_folder_in_which_others_see_other_rows_fails_the_audit(folder, keys, attack):
    """Whatever a stranger's part is called and wherever it lies."""
    assert passes(folder, keys)
    FOLDERS[attack](folder)
    assert not passes(folder, keys)


def test_files_that_no_program_reads_as_parts_do_no_harm(folder, keys):
    """Notes and marks beside the parts, as people and Spark leave them."""
    before = rows_seen(folder)
    (folder / "_SUCCESS").touch()
    (folder / ".part-00000.parquet.crc").write_bytes(b"crc\x00")
    assert passes(folder, keys)
    assert rows_seen(folder) == before


def test_a_lock_that_is_held_makes_no_part_believed(folder, keys):
    """While another program writes, a part that the manifest does not list is a stranger's all the same."""
    from discreet.files import Lock

    appending(folder)
    with Lock.take(folder.with_name(".discreet-out.lock")):
        assert not passes(folder, keys)


@pytest.mark.parametrize("change", [{"name": "Ministry"}, {"comment": ""}, {"Algorithm": "ed25519"}])
def test_a_signature_holds_three_keys(folder, keys, change):
    """The signature is the one field that is not signed, so nothing else may stand in it."""
    path = folder / "_manifest.json"
    document = json.loads(path.read_text())
    path.write_text(json.dumps(document | {"signature": document["signature"] | change}))
    assert not passes(folder, keys)


PANDAS = {"columns": [{"name": "cheated", "field_name": "age"}], "index_columns": [], "column_indexes": []}
OTHERS = {
    "of the file": lambda path: with_pairs(path, [*pairs_of(path).items(), (b"pandas", json.dumps(PANDAS).encode())]),
    "of the schema": lambda path: in_schema(path, lambda s: s.with_metadata({b"pandas": json.dumps(PANDAS)})),
    "of a column": lambda path: in_schema(
        path, lambda s: s.set(0, s.field(0).with_metadata({b"ARROW:extension:name": b"other"}))
    ),
}


@pytest.mark.parametrize("place", OTHERS)
def test_other_metadata_in_a_signed_file_fails_the_audit(file, keys, place):
    """Some programs take the names of columns from metadata that nobody signed."""
    OTHERS[place](file)
    assert not passes(file, keys)


def test_metadata_of_other_programs_do_not_hinder_an_analyst(tmp_path):
    """A release that nobody signed, written again with a note, opens; its audit warns."""
    path = tmp_path / "out.parquet"
    release(TABLE, PLAN, path, ledger=None)
    table = pq.read_table(path)
    pq.write_table(table.replace_schema_metadata({**table.schema.metadata, b"note": b"mine"}), path)
    found = {one.subject: one.verdict for one in audit(Release.open(path)).findings}
    assert (found["file"], found["cells"]) == ("warning", "ok")


@pytest.mark.parametrize("option", [{"write_page_index": True}, {"bloom_filter_options": {"age": True}}])
def test_indexes_in_a_signed_file_fail_the_audit(file, keys, option):
    """A program that goes by an index of cells would see what the index says."""
    table = pq.read_table(file)
    try:
        pq.write_table(table, file, **option)
    except TypeError:
        pytest.skip(f"this version of Arrow does not write {next(iter(option))}")
    assert not passes(file, keys)


def test_a_copy_of_a_release_is_the_release(file, folder, keys, tmp_path):
    """Files that are copied pass, as does a folder whose files got other times and places."""
    copied = shutil.copytree(folder, tmp_path / "copied")
    os.utime(copied / "part-00000.parquet", (0, 0))
    assert passes(copied, keys)
    assert passes(shutil.copy(file, tmp_path / "copied.parquet"), keys)
