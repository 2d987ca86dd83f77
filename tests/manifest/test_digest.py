"""Digests of cells: the bytes are those that are documented, whatever holds the cells."""

from __future__ import annotations

import datetime
import hashlib
import struct
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import ManifestError, Plan, Randomness, Release, ReleaseError, release
from discreet.manifest.digest import (
    BLOCK_ROWS,
    CellForm,
    Content,
    ContentDigest,
    ReportForm,
    TextForm,
    column_forms,
    form_of,
)
from discreet.manifest.document import Manifest
from tests.manifest.conftest import PLAN, TABLE


def digest_of(form, *chunks):
    digest = ContentDigest({"x": form})
    for cells in chunks:
        digest.update(pa.record_batch([cells], names=["x"]))
    return digest.content().columns[0].sha256


def by_hand(*leaves: bytes) -> str:
    """The documented digest of blocks of canonical bytes."""
    return hashlib.sha256(b"".join(hashlib.sha256(leaf).digest() for leaf in leaves)).hexdigest()


def test_the_bytes_of_reports_are_their_codes():
    """One byte each, the number of reports for a blank; two bytes where one does not hold that number."""
    codes = pa.array([1, None, 0], pa.uint8())
    assert digest_of(ReportForm(2), codes) == by_hand(bytes([1, 2, 0]))
    assert ReportForm(2).name == "report8"
    assert ReportForm(255).name == "report8"
    assert ReportForm(256).name == "report16"
    assert digest_of(ReportForm(256), codes) == by_hand(struct.pack("<3H", 1, 256, 0))
    assert ReportForm(10**7).name == "report32"


CASES = {
    "integers": (pa.array([3, -1, 200], pa.int64()), "integer", b"\2\0" + struct.pack("<3h", 3, -1, 200)),
    "narrow integers": (pa.array([3, -1], pa.int32()), "integer", b"\1\0" + struct.pack("<2b", 3, -1)),
    "integers with blanks": (pa.array([7, None], pa.int16()), "integer", b"\1\1" + bytes([7, 0]) + bytes([0, 1])),
    "unsigned": (pa.array([2**63, 1], pa.uint64()), "unsigned", b"\x08\0" + struct.pack("<2Q", 2**63, 1)),
    "numbers": (pa.array([0.5, None, -0.0]), "float64", b"\x08\1" + struct.pack("<3d", 0.5, 0, -0.0) + b"\0\1\0"),
    "short numbers": (pa.array([0.5], pa.float32()), "float32", b"\4\0" + struct.pack("<f", 0.5)),
    "booleans": (pa.array([True, None, False]), "boolean", b"\1\1" + b"\1\0\0" + b"\0\1\0"),
    "text": (pa.array(["né", "", None, "a"]), "text", b"\1" + bytes([4, 1, 0, 2]) + "néa".encode()),
    "long text": (pa.array(["x" * 300, "y"]), "text", b"\2" + struct.pack("<2H", 301, 2) + b"x" * 300 + b"y"),
    "bytes": (pa.array([b"\0\1", None]), "bytes", b"\1" + bytes([3, 0]) + b"\0\1"),
    "fixed bytes": (pa.array([b"ab"], pa.binary(2)), "bytes", b"\1\3ab"),
    "dates": (pa.array([datetime.date(1970, 1, 3)]), "date", b"\1\0\2"),
    "long dates": (pa.array([datetime.date(1970, 1, 3)], pa.date64()), "date", b"\1\0\2"),
    "instants": (pa.array([5], pa.timestamp("us", "Europe/Berlin")), "timestamp[us, Europe/Berlin]", b"\1\0\5"),
    "seconds": (pa.array([5], pa.timestamp("s")), "timestamp[ms]", b"\2\0" + struct.pack("<h", 5000)),
    "times": (pa.array([5], pa.time32("s")), "time[ms]", b"\2\0" + struct.pack("<h", 5000)),
    "durations": (pa.array([5], pa.duration("ns")), "duration[ns]", b"\1\0\5"),
    "decimals": (pa.array([Decimal("1.50"), None], pa.decimal128(9, 2)), "decimal(9, 2)",
                 b"\x10\1" + (150).to_bytes(16, "little") + bytes(16) + b"\0\1"),
    "nothing": (pa.nulls(3), "null", b""),
    "lists": (pa.array([[1, 2], None, []], pa.list_(pa.int8())), "list<integer>",
              b"\1" + bytes([3, 0, 1]) + b"\1\0\1\2"),
    "structs": (pa.array([{"a": 1}, None], pa.struct([("a", pa.int8())])), "struct<a: integer>",
                b"\0\1" + b"\1\1" + b"\1\0" + b"\0\1"),
    "maps": (pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int8())), "list<struct<key: text, value: integer>>",
             b"\1\2" + b"\0" + b"\1\2k" + b"\1\0\1"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_bytes_of_public_cells_are_those_documented(name):
    """Written out by hand with struct, for every kind of column; a slice has the bytes of its cells only."""
    cells, form, content = CASES[name]
    assert form_of(cells.type) == form
    assert digest_of(CellForm(cells.type), cells) == by_hand(content)
    padded = pa.concat_arrays([cells, cells, cells])
    assert digest_of(CellForm(cells.type), padded.slice(len(cells), len(cells))) == by_hand(content)


@pytest.mark.parametrize("name", [name for name in CASES if name not in ("maps",)])
def test_a_parquet_file_gives_the_same_bytes_back(name, tmp_path):
    """Also where it stores another type, such as milliseconds for seconds."""
    cells, form, content = CASES[name]
    pq.write_table(pa.table({"x": cells}), tmp_path / "x.parquet")
    stored = pq.read_table(tmp_path / "x.parquet")["x"].combine_chunks()
    assert form_of(stored.type) == form
    assert digest_of(CellForm(stored.type), stored) == by_hand(content)


def test_how_text_and_dictionaries_are_held_does_not_matter():
    """Large, dictionary-encoded or plain text: the same cells."""
    cells = pa.array(["a", None, "bc"])
    expected = digest_of(CellForm(cells.type), cells)
    for other in (cells.cast(pa.large_string()), cells.dictionary_encode(), cells.cast(pa.string_view())):
        assert digest_of(CellForm(other.type), other) == expected


def test_bytes_hidden_under_a_blank_do_not_count():
    """Arrow allows any bytes where a cell is null."""
    hidden = pa.Array.from_buffers(
        pa.string(), 2, [pa.py_buffer(b"\1"), pa.py_buffer(struct.pack("<3i", 0, 1, 4)), pa.py_buffer(b"axyz")]
    )
    assert hidden.to_pylist() == ["a", None]
    assert digest_of(CellForm(pa.string()), hidden) == digest_of(CellForm(pa.string()), pa.array(["a", None]))


def test_csv_cells_are_text_and_an_empty_one_is_blank():
    """A CSV file holds nothing else."""
    expected = by_hand(b"\1" + bytes([2, 0, 0]) + b"7")
    assert digest_of(TextForm(), pa.array(["7", "", None])) == expected
    assert digest_of(TextForm(), pa.array([7, None, None])) == expected


@given(st.lists(st.integers(1, 3 * BLOCK_ROWS), max_size=4), st.integers(1, 5))
def test_batches_of_any_size_give_the_same_digest(cuts, seed):
    """Blocks are counted from the first row, not from the start of a batch."""
    n = 2 * BLOCK_ROWS + 17
    codes = pa.array(np.random.default_rng(seed).integers(0, 3, n).astype(np.uint8))
    ends = sorted({0, n, *(cut for cut in cuts if cut < n)})
    chunks = [codes.slice(a, b - a) for a, b in pairwise(ends)]
    raw = codes.to_numpy().tobytes()
    leaves = [raw[i : i + BLOCK_ROWS] for i in range(0, n, BLOCK_ROWS)]
    assert digest_of(ReportForm(3), *chunks) == by_hand(*leaves)


def test_parts_are_digested_on_their_own_and_put_together():
    """As partitions of a table are; the same as one pass that is told where the parts end."""
    forms = {"x": ReportForm(2), "y": CellForm(pa.int64())}
    sizes = (70_000, 1, 0, 65_536)
    rng = np.random.default_rng(2)
    parts, batches = [], []
    for rows in sizes:
        batch = pa.record_batch(
            [pa.array(rng.integers(0, 2, rows).astype(np.uint8)), pa.array(rng.integers(0, 99, rows))], names=["x", "y"]
        )
        batches.append(batch)
        digest = ContentDigest(forms)
        digest.update(batch)
        parts.append(digest.finish())
    together = Content.of(forms, parts)
    assert together.parts == sizes
    whole = ContentDigest(forms, sizes)
    joined = pa.Table.from_batches(batches).combine_chunks()
    for batch in joined.to_batches(max_chunksize=9_999):
        whole.update(batch)
    assert whole.content() == together
    assert Content.from_dict(together.to_dict()) == together


def test_a_csv_and_a_parquet_release_of_the_same_reports_have_the_same_digests(tmp_path):
    """Reports and text: the form of a number differs, because a CSV file holds its text."""
    done = {}
    for ending in ("csv", "parquet"):
        path = tmp_path / f"out.{ending}"
        release(TABLE, PLAN, path, randomness=Randomness.seeded(4), ledger=None)
        done[ending] = {c.name: (c.form, c.sha256) for c in Release.open(path).manifest.content.columns}
    same = [name for name in done["csv"] if done["csv"][name] == done["parquet"][name]]
    assert same == ["sex", "cheated", "income"]
    assert done["csv"]["age"][0] == "text"
    assert done["parquet"]["age"][0] == "integer"


def test_every_form_of_release_has_the_digest_of_its_cells(released):
    """In memory, Parquet and CSV: recomputed from what is stored, by batches of another size."""
    digest = ContentDigest(released.forms())
    for batch in released.coded():
        for start in range(0, batch.num_rows, 4):
            digest.update(batch.slice(start, 4))
    assert digest.content() == released.manifest.content


def test_collected_answers_have_digests_too():
    """Answers that respondents randomised are released as they are."""
    plan = Plan.parse(
        """
        [[private]]
        columns = ["cheated"]
        domain = { binary = ["no", "yes"] }
        collected = true
        warner = "2/3"
        """
    )
    done = Release.from_reports(pa.table({"cheated": ["no", "yes", "yes"]}), plan)
    (column,) = done.manifest.content.columns
    assert column.sha256 == by_hand(bytes([0, 1, 1]))


def test_numbers_with_noise_are_digested_as_numbers():
    """Reports of a box have no codes."""
    plan = {"private": [{"columns": ["x"], "domain": {"box": {"low": 0.0, "high": 1.0}}, "epsilon": 1.0,
                         "mechanism": "zero-inflated-laplace", "delta": 0.1}]}  # fmt: skip
    done = release(pa.table({"x": [0.25, 0.5]}), plan)
    (column,) = done.manifest.content.columns
    values = done.to_arrow()["x"].to_pylist()
    assert (column.form, column.sha256) == ("float64", by_hand(b"\x08\0" + struct.pack("<2d", *values)))


def test_a_type_without_canonical_form_is_refused_by_name():
    """Nothing is left out of the digests in silence."""
    schema = pa.schema([("months", pa.month_day_nano_interval())])
    with pytest.raises(ReleaseError, match='"months" is public, but its type'):
        column_forms(schema, {}, text=False)


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c.update(block_rows=1024),
        lambda c: c.update(parts=[5]),
        lambda c: c.update(parts="six"),
        lambda c: c["columns"].pop(),
        lambda c: c["columns"].reverse(),
        lambda c: c["columns"][0].update(sha256="0" * 63),
        lambda c: c["columns"][0].update(form=3),
        lambda c: c.update(columns=None),
    ],
)
def test_digests_that_do_not_fit_the_manifest_are_damage(released, change):
    """Of other columns, another number of rows, or no digests at all."""
    document = released.manifest.to_dict()
    change(document["content"])
    with pytest.raises(ManifestError, match="damaged"):
        Manifest.from_dict(document)
