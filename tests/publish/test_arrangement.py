"""Rows of few kinds are put in order by their counts alone, and every arrangement is equally likely."""

from __future__ import annotations

import math
from collections import Counter
from itertools import permutations

import numpy as np
import pyarrow as pa
import pytest

from discreet import Randomness
from discreet.engines import Local
from discreet.publish import arrangement, release
from discreet.publish.arrangement import MAX_KINDS, Arrangement, Changes, CountedRows, RowKinds, distinct, places_of
from discreet.publish.layout import Layout
from discreet.publish.plan import as_plan
from discreet.randomness import StreamKey
from tests.publish.conftest import plan_of
from tests.publish.test_shuffle import chi_square, limit

DRAWS = 3_000


def arranged(counts, chunk, key, workers=1):
    """One arrangement as a list of kinds."""
    order = Arrangement(np.array(counts), chunk, key, np.min_scalar_type(len(counts) - 1))
    return np.concatenate(list(order.mapped(Local(workers), np.array)))


def counts_of_arrangements(counts, chunk, seed):
    """How often each arrangement of these counts came."""
    kinds = np.repeat(np.arange(len(counts)), counts).tolist()
    found = dict.fromkeys(permutations(kinds), 0)
    source = Randomness.seeded(seed)
    for _ in range(DRAWS):
        found[tuple(arranged(counts, chunk, StreamKey(source.bytes(32).tobytes(), secure=False)).tolist())] += 1
    return list(found.values())


@pytest.mark.parametrize(
    ("counts", "chunk", "seed"),
    [([2, 2], 3, 1), ([2, 2], 4, 2), ([2, 1, 1], 1, 3), ([2, 1, 1], 3, 4), ([3, 0, 1], 2, 5)],
)
def test_every_arrangement_is_equally_likely(counts, chunk, seed):
    """Two kinds and more, kinds that do not occur, in one chunk and in several."""
    found = counts_of_arrangements(counts, chunk, seed)
    assert chi_square(found, DRAWS / len(found)) < limit(len(found) - 1)


def test_the_test_has_power_given_away_places_must_be_chosen_at_random(monkeypatch):
    """Giving away the first places of a kind that was drawn too often fails the same test by far."""
    monkeypatch.setattr(arrangement, "distinct", lambda total, count, chance: np.arange(count))
    found = counts_of_arrangements([2, 2], 3, 6)
    assert chi_square(found, DRAWS / len(found)) > 2 * limit(len(found) - 1)


def counts_after_changes(chunk, seed):
    """How often each arrangement of 0, 0, 1, 2 came out of draws that were all 0."""
    found = dict.fromkeys(permutations([0, 0, 1, 2]), 0)
    source, counts = Randomness.seeded(seed), np.array([2, 1, 1])
    tallies = np.array([[chunk, 0, 0]] * (4 // chunk))
    for _ in range(DRAWS):
        changes, rows = Changes.drawn(tallies, counts, source), np.zeros((4 // chunk, chunk), np.uint8)
        for number, part in enumerate(rows):
            changes.apply(number, part, tallies[number])
        found[tuple(rows.ravel().tolist())] += 1
    return list(found.values())


@pytest.mark.parametrize("chunk", [1, 2, 4])
def test_changes_do_not_know_places(chunk):
    """Out of draws that are all alike every arrangement comes equally often."""
    found = counts_after_changes(chunk, 9)
    assert chi_square(found, DRAWS / len(found)) < limit(len(found) - 1)


def test_the_test_has_power_places_must_be_filled_in_random_order(monkeypatch):
    """Filling them in the order of the kinds fails it by far."""
    monkeypatch.setattr(arrangement, "permutation", lambda count, chance: np.arange(count))
    found = counts_after_changes(2, 10)
    assert chi_square(found, DRAWS / len(found)) > 2 * limit(len(found) - 1)


def chunk_statistic(chunks, share):
    """Squared deviations of the "yes" in every chunk from their mean, in units of their variance."""
    size = len(chunks[0])
    yes = np.array([np.count_nonzero(chunk) for chunk in chunks])
    return float(np.sum((yes - size * share) ** 2) / (size * share * (1 - share)))


def test_chunks_share_the_kinds_as_chance_would_have_it():
    """How many of a kind a chunk holds varies as it should: neither more nor less; and neighbours do not know of each
    other. A shuffle inside of chunks, which passes for one by its means, fails.
    """
    size, chunks, share = 4096, 256, 0.25
    counts = [int(size * chunks * (1 - share)), int(size * chunks * share)]
    rows = arranged(counts, size, StreamKey.of_seed(8))
    low, high = 135, limit(255)  # a χ² of 255 degrees lies below 135 with probability below 1e-9
    assert low < chunk_statistic(rows.reshape(chunks, size), share) < high
    pairs = np.count_nonzero(rows[1:] & rows[:-1]) / (rows.size - 1)
    assert abs(pairs - share**2) < 6.2 * math.sqrt(share**2 * (1 - share**2) * 3 / rows.size)
    wrong = np.random.default_rng(1).permuted(np.tile([0, 0, 0, 1], (chunks, size // 4)), axis=1)
    assert chunk_statistic(wrong, share) < low


@pytest.mark.parametrize("chunk", [1, 7, 1000])
@pytest.mark.parametrize(
    "counts", [[1], [5, 0], [0, 5], [400, 600], [0, 3, 0, 997, 0], [7] * 20, list(range(300)), [10**5, 1]]
)
def test_every_row_comes_once(counts, chunk):
    """Whatever the counts are, few kinds or many, they are met exactly."""
    if sum(counts) > 10**4 and chunk < 1000:
        counts = [count // 100 + 1 for count in counts]
    rows = arranged(counts, chunk, StreamKey.fresh())
    assert np.bincount(rows, minlength=len(counts)).tolist() == counts


def test_workers_do_not_change_the_order():
    """Every chunk has a stream of its own, so that it does not matter who draws it."""
    counts = [3000, 1000, 500]
    one, many = (arranged(counts, 256, StreamKey.of_seed(3), workers) for workers in (1, 4))
    assert (one == many).all()
    assert (one != arranged(counts, 256, StreamKey.of_seed(4))).any()


@pytest.mark.parametrize(("total", "count"), [(1, 1), (5, 5), (6, 2), (10**9, 1000), (3, 0)])
def test_sets_are_of_different_numbers(total, count):
    """In order, each once, none too large."""
    found = distinct(total, count, Randomness())
    assert found.size == count
    assert (np.diff(found) > 0).all()
    assert count == 0 or (found[0] >= 0 and found[-1] < total)


def test_sets_are_uniform():
    """All 20 sets of three of six numbers come equally often."""
    source = Randomness.seeded(12)
    found = Counter(tuple(distinct(6, 3, source).tolist()) for _ in range(10 * DRAWS))
    assert len(found) == 20
    assert chi_square(list(found.values()), 10 * DRAWS / 20) < limit(19)


@pytest.mark.parametrize("size", [1, 511, 512, 513, 5000])
def test_marks_are_found_by_their_number(size):
    """As by writing out where all of them are."""
    marks = np.random.default_rng(size).random(size) < 0.4
    marks[-1] = True
    ranks = np.arange(marks.sum())
    assert (places_of(marks, ranks) == np.flatnonzero(marks)).all()
    assert (places_of(marks, ranks[-1:]) == size - 1).all()


def test_no_change_is_made_where_none_is_needed():
    """Draws that have the right counts by chance stay."""
    tallies = np.array([[1, 2], [2, 1]])
    changes = Changes.drawn(tallies, np.array([3, 3]), Randomness())
    kinds = np.array([0, 1, 1], np.uint8)
    changes.apply(0, kinds, tallies[0])
    assert kinds.tolist() == [0, 1, 1]


def test_kinds_are_the_rows():
    """Codes, blanks and numbers that were rounded come back as they were."""
    schema = pa.schema([("a", pa.uint8()), ("b", pa.float64()), ("c", pa.uint16())])
    kinds = RowKinds(schema, (3, 4, 301), (True, False, True))
    batch = pa.record_batch(
        [pa.array([0, None, 1], pa.uint8()), pa.array([3.0, 0.0, 2.0]), pa.array([299, 0, None], pa.uint16())], schema
    )
    assert kinds.count == 3 * 4 * 301
    assert kinds.batch(kinds.numbers(batch)).equals(batch)


def test_counted_rows_are_those_that_were_added():
    """Combinations of columns stay together."""
    schema = pa.schema([("a", pa.uint8()), ("b", pa.uint8())])
    rows = CountedRows(RowKinds(schema, (2, 3), (False, False)), Randomness(), Local())
    batch = pa.record_batch([pa.array([0, 1, 1, 0], pa.uint8()), pa.array([2, 0, 0, 1], pa.uint8())], schema)
    for _ in range(5):
        rows.add(batch)
    out = pa.Table.from_batches(rows.rows(7)).to_pylist()
    assert Counter(tuple(row.values()) for row in out) == {(0, 2): 5, (1, 0): 10, (0, 1): 5}
    assert list(CountedRows(RowKinds(schema, (2, 3), (False, False)), Randomness(), Local()).rows(7)) == []


def table_of(rows):
    return pa.table({"cheated": np.repeat(["no", "yes"], [rows // 4, rows - rows // 4]), "who": np.arange(rows)})


def test_a_release_is_put_in_order_by_counts():
    """The same seed gives the same reports, kept or shuffled; shuffled, a sorted truth does not show."""
    table = table_of(40_000)
    kept, shuffled = (
        release(table, plan_of(output={"order": order}), randomness=Randomness.seeded(5)).to_arrow()["cheated"]
        for order in ("keep", "shuffle")
    )
    yes = [np.array(column.to_pylist()) == "yes" for column in (kept, shuffled)]
    assert yes[0].sum() == yes[1].sum()
    halves = [abs(found[: found.size // 2].mean() - found.mean()) for found in yes]
    bound = 6.2 * math.sqrt(0.25 / (yes[1].size / 2) / 2)
    assert halves[1] < bound < halves[0] / 5


def test_only_few_kinds_without_public_columns_are_counted():
    """A public column tells rows apart; so do numbers with noise, and too many combinations."""
    schema = table_of(8).schema
    assert Layout(as_plan(plan_of()), schema).kinds is not None
    assert Layout(as_plan(plan_of(public=[{"columns": ["who"]}])), schema).kinds is None
    block = {"columns": ["who"], "mechanism": "randomized-response", "epsilon": 1.0}
    for top, counted in ((MAX_KINDS - 1, True), (MAX_KINDS, False)):
        plan = as_plan(plan_of(block | {"domain": {"categorical": {"from": 0, "to": top}}}))
        assert (Layout(plan, schema).kinds is not None) == counted
