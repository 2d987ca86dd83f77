"""A release in memory holds the published cells and nothing else: no value under a null, no neighbour of a slice."""

from __future__ import annotations

import datetime as dt
import decimal

import numpy as np
import pyarrow as pa
import pytest

from discreet import Randomness, release
from tests.publish.conftest import plan_of

N = 600
MARK = 0x5345435245543131
SECRET = MARK.to_bytes(8, "little")
TEXT = "secret of somebody"


def under_nulls(values):
    """The same array with every second cell null; its value stays in the buffers."""
    valid, kind = pa.py_buffer(np.packbits(np.arange(len(values)) % 2 == 0, bitorder="little")), values.type
    if not pa.types.is_nested(kind):
        return pa.Array.from_buffers(kind, len(values), [valid, *values.buffers()[1:]])
    if pa.types.is_struct(kind):
        own, inside = [valid], [values.field(place) for place in range(kind.num_fields)]
    else:
        own, inside = [valid, *values.buffers()[1 : 1 if pa.types.is_fixed_size_list(kind) else 2]], [values.values]
    return pa.Array.from_buffers(kind, len(values), own, children=inside)


def marked(public, kind=None):
    """Cells of which every second one is the secret."""
    return pa.array([public if place % 2 == 0 else None for place in range(N)], kind)


def alternating(public, secret, kind):
    """Public and secret cells in turn, all of them valid."""
    return pa.array([public if place % 2 == 0 else secret for place in range(N)], kind)


INTEGERS = alternating(1, MARK, pa.int64())
TEXTS = {kind: alternating("open", TEXT, kind) for kind in (pa.string(), pa.large_string(), pa.string_view())}
BYTES = {kind: alternating(b"open", TEXT.encode(), kind) for kind in (pa.binary(), pa.large_binary(), pa.binary_view())}
ENTRIES = pa.array(["open", TEXT])
HIDDEN = {
    "integers": under_nulls(INTEGERS),
    "unsigned": under_nulls(INTEGERS.cast(pa.uint64())),
    "floats": under_nulls(pa.Array.from_buffers(pa.float64(), N, INTEGERS.buffers())),
    "times": under_nulls(pa.Array.from_buffers(pa.timestamp("us"), N, INTEGERS.buffers())),
    "decimals": under_nulls(alternating(decimal.Decimal(1), decimal.Decimal(MARK), pa.decimal128(30, 0))),
    "fixed bytes": under_nulls(alternating(b"12345678", SECRET, pa.binary(8))),
    **{str(kind): under_nulls(cells) for kind, cells in (TEXTS | BYTES).items()},
    "dictionary": pa.DictionaryArray.from_arrays(marked(0, pa.int32()), ENTRIES),
    "lists": under_nulls(alternating([1], [MARK], pa.list_(pa.int64()))),
    "large lists": under_nulls(alternating([1], [MARK], pa.large_list(pa.int64()))),
    "lists of one": under_nulls(alternating([1], [MARK], pa.list_(pa.int64(), 1))),
    "records": under_nulls(alternating({"a": 1, "b": "open"}, {"a": MARK, "b": TEXT}, None)),
    "maps": under_nulls(alternating([("open", 1)], [(TEXT, MARK)], pa.map_(pa.string(), pa.int64()))),
    "nulls in records": pa.StructArray.from_arrays([under_nulls(INTEGERS), under_nulls(TEXTS[pa.string()])], [*"ab"]),
    "nulls in lists": pa.ListArray.from_arrays(pa.array(range(N + 1), pa.int32()), under_nulls(INTEGERS)),
}


def memory(array):
    """All bytes that an array holds on to."""
    return b"".join(buffer.to_pybytes() for buffer in array.buffers() if buffer is not None) + (
        memory(array.dictionary) if pa.types.is_dictionary(array.type) else b""
    )


@pytest.mark.parametrize("order", ["keep", "shuffle"])
@pytest.mark.parametrize("kind", HIDDEN)
def test_nothing_lies_under_nulls(kind, order):
    """Of every type, at every depth; and the cells are those of the source."""
    cells = HIDDEN[kind]
    if kind != "dictionary":
        assert SECRET in memory(cells) or TEXT.encode() in memory(cells)
    table = pa.table({"town": cells, "cheated": ["no", "yes"] * (N // 2)})
    plan = plan_of(public=[{"columns": ["town"]}], output={"order": order})
    done = release(table, plan, randomness=Randomness.seeded(1), ledger=None).to_arrow().column("town")
    held = b"".join(map(memory, done.chunks))
    assert SECRET not in held
    assert TEXT.encode() not in held
    if order == "keep":
        assert done.to_pylist() == cells.to_pylist()
    assert done.combine_chunks().validate(full=True) is None


WAYS = {
    "number": lambda number: number,
    "text": str,
    "list": lambda number: [number, number],
    "record": lambda number: {"a": number, "b": [str(number)]},
    "map": lambda number: [(str(number), number)],
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("nulls", [False, True])
def test_neighbours_of_a_slice_are_not_published(way, nulls):
    """The source is a slice of a larger table, whose other rows stay where they are."""
    kind = pa.map_(pa.string(), pa.int64()) if way == "map" else None
    inside = [None if nulls and number % 5 == 0 else WAYS[way](number) for number in range(N)]
    whole = pa.array([WAYS[way](MARK)] * N + inside + [WAYS[way](MARK)] * N, kind)
    secrets = [SECRET, str(MARK).encode()]
    assert any(secret in memory(whole) for secret in secrets)
    table = pa.table({"town": whole, "cheated": ["no", "yes", "no"] * N}).slice(N, N)
    plan = plan_of(public=[{"columns": ["town"]}], output={"order": "keep"})
    done = release(table, plan, randomness=Randomness.seeded(1), ledger=None).to_arrow().column("town")
    held = b"".join(map(memory, done.chunks))
    assert not any(secret in held for secret in secrets)
    assert done.to_pylist() == whole.slice(N, N).to_pylist()
    assert done.combine_chunks().validate(full=True) is None


def test_dates_and_empty_columns_are_copied():
    """As they are, with their nulls."""
    days = pa.array([dt.date(2020, 1, 1), None] * (N // 2))
    table = pa.table({"town": days, "nothing": pa.nulls(N), "cheated": ["no", "yes"] * (N // 2)})
    plan = plan_of(public=[{"columns": ["town", "nothing"]}], output={"order": "keep"})
    done = release(table, plan, randomness=Randomness.seeded(1), ledger=None).to_arrow()
    assert done.column("town").to_pylist() == days.to_pylist()
    assert done.column("nothing").null_count == N
