"""The order is exactly uniform, in memory and through the nameless file, and memory stays bounded."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pyarrow as pa
import pytest

from discreet import Randomness, SystemFailureError
from discreet.publish import shuffle
from discreet.publish.shuffle import Shuffler, random_order

DRAWS = 6_000
#: Four rows need more than this, three do not: a table of four is dealt into buckets, most buckets are not.
MEMORY = 130


def shuffled(rows, randomness, folder=None, memory=None, buckets=None, per_batch=3):
    """Positions after a shuffle of 0 … rows − 1, added in batches of two."""
    with Shuffler(randomness, folder, memory, buckets) as shuffler:
        for start in range(0, rows, 2):
            shuffler.add(pa.record_batch({"x": pa.array(range(start, min(start + 2, rows)), pa.int64())}))
        return [value for batch in shuffler.rows(per_batch) for value in batch.column(0).to_pylist()]


def chi_square(counts, expected):
    return float(np.sum((np.asarray(counts) - expected) ** 2) / expected)


def limit(freedom):
    """A χ² value that a uniform shuffle exceeds with probability below 1e-9 (Laurent and Massart 2000)."""
    x = 9 * math.log(10)
    return freedom + 2 * math.sqrt(freedom * x) + 2 * x


def counts_of_orders(draw):
    orders = dict.fromkeys(permutations(range(4)), 0)
    for _ in range(DRAWS):
        orders[tuple(draw())] += 1
    return list(orders.values())


def test_a_small_table_is_shuffled_uniformly():
    """All 24 orders of four rows come equally often."""
    randomness = Randomness.seeded(1)
    counts = counts_of_orders(lambda: random_order(4, randomness))
    assert chi_square(counts, DRAWS / 24) < limit(23)


def test_long_orders_are_dealt_uniformly(monkeypatch):
    """The same when an order is dealt into buckets first."""
    monkeypatch.setattr(shuffle, "_SORTED_AT_ONCE", 1)
    monkeypatch.setattr(shuffle, "_ORDER_BUCKETS", 2)
    randomness = Randomness.seeded(2)
    counts = counts_of_orders(lambda: random_order(4, randomness))
    assert chi_square(counts, DRAWS / 24) < limit(23)


class Buckets(shuffle.Spill):
    """The nameless file without the file: thousands of shuffles would spend their time opening one."""

    def __init__(self, folder, schema, buckets):
        self._batches = [[] for _ in range(buckets)]

    def write(self, bucket, batch):
        self._batches[bucket].append(batch)

    def read(self, bucket):
        return self._batches[bucket]

    def close(self):
        pass


def spilled_counts(monkeypatch, tmp_path):
    monkeypatch.setattr(shuffle, "Spill", Buckets)
    randomness = Randomness.seeded(3)
    orders = dict.fromkeys(permutations(range(4)), 0)
    for _ in range(DRAWS):
        orders[tuple(shuffled(4, randomness, tmp_path, MEMORY, 2))] += 1
    return chi_square(list(orders.values()), DRAWS / 24)


def test_a_spilled_table_is_shuffled_uniformly(monkeypatch, tmp_path):
    """All 24 orders come equally often when rows are dealt into buckets, some of them twice."""
    assert spilled_counts(monkeypatch, tmp_path) < limit(23)


def test_the_test_has_power_buckets_without_order_are_rejected(monkeypatch, tmp_path):
    """A shuffle that forgets to permute inside the buckets fails the same test by far."""

    def unordered(self, per_batch):
        held, self._held = self._held, []
        yield from held

    monkeypatch.setattr(Shuffler, "_permuted", unordered)
    assert spilled_counts(monkeypatch, tmp_path) > 2 * limit(23)


def test_the_test_has_power_a_biased_deal_is_rejected(monkeypatch, tmp_path):
    """So does one whose buckets are chosen by the row."""
    monkeypatch.setattr(shuffle, "uniform", lambda size, count, *_: (np.arange(count) % size).astype(np.uint8))
    assert spilled_counts(monkeypatch, tmp_path) > 2 * limit(23)


@pytest.mark.parametrize("rows", [0, 1, 2, 7, 500])
@pytest.mark.parametrize("memory", [1, 2000, 1 << 28])
def test_no_row_is_lost_or_doubled(rows, memory, tmp_path):
    """Whatever fits into memory, all rows come back once."""
    assert sorted(shuffled(rows, Randomness(), tmp_path, memory, 4)) == list(range(rows))


def test_a_spilled_table_keeps_its_rows_together(tmp_path):
    """Text, nulls and numbers of a row travel together through the file."""
    batch = pa.record_batch({"a": pa.array(range(1000)), "b": [None if i % 3 == 0 else f"t{i}" for i in range(1000)]})
    with Shuffler(Randomness(), tmp_path, 5000) as shuffler:
        for _ in range(3):
            shuffler.add(batch)
        out = pa.Table.from_batches(list(shuffler.rows(100))).to_pylist()
    assert len(out) == 3000
    assert all(row["b"] == (None if row["a"] % 3 == 0 else f"t{row['a']}") for row in out)


def test_the_spill_has_no_name(tmp_path):
    """Nothing appears in the folder, so nothing can be left there, even by a killed process."""
    with Shuffler(Randomness(), tmp_path, 100) as shuffler:
        for _ in range(10):
            shuffler.add(pa.record_batch({"x": range(100)}))
            assert list(tmp_path.iterdir()) == []
        for _ in shuffler.rows(10):
            assert list(tmp_path.iterdir()) == []


def test_memory_stays_bounded(tmp_path):
    """A table ten times the limit never has more than a few times the limit in memory."""
    limit_bytes, batch = 1 << 22, pa.record_batch({"x": np.zeros(1 << 15, np.int64)})
    before, peak = pa.total_allocated_bytes(), 0
    with Shuffler(Randomness(), tmp_path, limit_bytes) as shuffler:
        for _ in range(160):
            shuffler.add(pa.record_batch({"x": pa.array(batch.column(0).to_numpy(), mask=np.zeros(1 << 15, bool))}))
            peak = max(peak, pa.total_allocated_bytes() - before)
        assert shuffler._spill is not None
        count = 0
        for out in shuffler.rows(1 << 15):
            count += out.num_rows
            peak = max(peak, pa.total_allocated_bytes() - before)
    assert count == 160 << 15
    assert peak < 2 * limit_bytes


def test_a_full_disk_is_a_failure_of_the_machine(tmp_path, monkeypatch):
    """What cannot be spilled is said plainly."""

    def full(*_args, **_kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shuffle.tempfile, "TemporaryFile", full)
    with pytest.raises(SystemFailureError, match="No space left on device"), Shuffler(Randomness(), tmp_path, 1) as s:
        s.add(pa.record_batch({"x": range(100)}))
