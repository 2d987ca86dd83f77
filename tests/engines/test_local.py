"""The three verbs of an engine, against plain Python."""

from __future__ import annotations

import threading
import time
from collections import Counter, deque

import numpy as np
import pyarrow as pa
import pytest

from discreet import InputError, Randomness
from discreet.engines import Local
from discreet.engines.ahead import Ahead, Beside, side_by_side
from discreet.engines.at_once import at_once

TOWNS = ["n", "s", None, "n", "e", "s", "n"]
CODES = [0, 1, 1, 0, 2, 0, 0]


def batches(step):
    """The rows in pieces; the town is a dictionary of its own in each."""
    for start in range(0, len(TOWNS), step):
        towns = pa.array(TOWNS[start : start + step]).dictionary_encode()
        yield pa.record_batch({"town": towns, "count": CODES[start : start + step]})


def test_no_batches_give_the_start_of_a_sum():
    """An empty table is an answer, not an error."""
    assert Local().sum([], lambda batch: batch.num_rows, 0) == 0
    assert list(Local().order_randomly([])) == []


def test_a_sum_is_that_of_the_parts_in_order():
    """Anything with a plus: here arrays and lists."""
    total = Local().sum(batches(2), lambda batch: np.bincount(batch["count"].to_numpy(), minlength=3), np.zeros(3, int))
    np.testing.assert_array_equal(total, [4, 2, 1])
    assert Local().sum(batches(3), lambda batch: batch["count"].to_pylist(), []) == CODES


def test_batches_are_mapped_one_at_a_time():
    """Nothing is read before it is asked for: tables larger than memory pass through."""
    read = []

    def watched():
        for batch in batches(2):
            read.append(batch)
            yield batch

    mapped = Local().map_batches(watched(), lambda batch: batch.num_rows)
    assert read == []
    assert next(mapped) == 2
    assert len(read) == 1


def test_every_order_is_equally_likely():
    """All 24 orders of four rows: χ² far below what a swap of neighbours alone would give."""
    rows, draws = 4, 6_000
    randomness = Randomness.seeded(3)
    parts = [pa.record_batch({"row": [0, 1]}), pa.record_batch({"row": [2, 3]})]
    seen: Counter[tuple[int, ...]] = Counter()
    for _ in range(draws):
        done = list(Local().order_randomly(parts, randomness))
        assert [batch.num_rows for batch in done] == [2, 2]
        seen[tuple(value for batch in done for value in batch["row"].to_pylist())] += 1
    expected = draws / 24
    statistic = sum((seen[order] - expected) ** 2 / expected for order in seen) + expected * (24 - len(seen))
    assert statistic < 97  # p < 1e-10 for 23 degrees of freedom; a fixed order gives 138,000
    assert all(sorted(order) == list(range(rows)) for order in seen)


def test_the_order_is_secure_unless_told_otherwise():
    """Without a source of its own the order comes from the secure generator, and differs from call to call."""
    parts = [pa.record_batch({"row": np.arange(50)})]
    orders = {tuple(next(Local().order_randomly(parts))["row"].to_pylist()) for _ in range(3)}
    assert len(orders) == 3


def test_workers_keep_the_order_and_the_first_error():
    """Whatever each batch takes, results come in the order of the batches, and so does an error."""
    assert list(Local(4).map_batches(range(50), lambda x: x * x)) == [x * x for x in range(50)]

    def refuse(x):
        if x >= 20:
            raise ValueError(x)
        return x

    taken = []
    with pytest.raises(ValueError, match="20"):
        taken.extend(Local(4).map_batches(iter(range(50)), refuse))
    with pytest.raises(InputError, match="workers"):
        Local(0)


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_an_error_of_the_source_comes_after_what_was_read(workers):
    """Everything before it is given; nothing is read after it."""

    def source():
        yield from range(7)
        raise OSError("disk")

    taken = []
    with pytest.raises(OSError, match="disk"):
        taken.extend(Local(workers).map_batches(source(), lambda x: -x))
    assert taken == [-x for x in range(7)]
    assert list(Local(workers).map_batches([], lambda x: x)) == []


def test_few_items_are_read_ahead_and_one_at_a_time():
    """Whoever is slow to take results is not buried under them; the source is never asked by two threads at once."""
    workers, read, inside = 3, [], threading.Lock()

    def source():
        for number in range(1_000):
            assert inside.acquire(blocking=False)
            time.sleep(1e-4)
            read.append(number)
            inside.release()
            yield number

    made = at_once(source(), lambda x: x, workers)
    for number in range(10):
        assert next(made) == number
        time.sleep(0.01)
        assert len(read) <= number + 1 + 2 * workers
    made.close()
    assert len(read) < 20


def test_as_many_threads_as_workers_and_the_caller_is_one_of_them():
    """Two workers are the caller and one thread; both work, and no thread is left after the last result."""
    seen, both = set(), threading.Barrier(2, timeout=60)

    def helpers():
        return [thread for thread in threading.enumerate() if thread.name == "discreet"]

    def work(item):
        seen.add(threading.get_ident())
        if item < 2:  # neither thread can do both
            both.wait()

    for _ in at_once(range(200), work, 2):
        assert len(helpers()) <= 1
    assert threading.get_ident() in seen
    assert len(seen) == 2
    assert helpers() == []


def test_a_step_that_runs_ahead_gives_the_same_and_can_be_left():
    """In order, with its error where it would have come; who stops early closes the source."""
    closed = []

    def source(count, error=None):
        try:
            yield from range(count)
            if error is not None:
                raise error
        finally:
            closed.append(count)

    assert list(Ahead(source(100))) == list(range(100))
    with pytest.raises(OSError, match="disk"):
        list(Ahead(source(3, OSError("disk"))))
    begun = Ahead(source(10**9))
    assert next(begun) == 0
    begun.close()
    assert closed == [100, 3, 10**9]


@pytest.mark.parametrize("threads", [False, True])
def test_calls_beside_run_in_their_order(threads):
    """One after the other, all of them before the end."""
    done = []
    with Beside(threads=threads) as beside:
        for number in range(100):
            beside.call(done.append, number)
    assert done == list(range(100))


@pytest.mark.parametrize("threads", [False, True])
@pytest.mark.parametrize("further", [0, 1])
def test_an_error_beside_is_not_lost(threads, further):
    """It comes with the next call, or at the end."""

    def work():
        with Beside(threads=threads) as beside:
            for number in range(1 + further):
                beside.call(lambda number=number: 1 // number)

    with pytest.raises(ZeroDivisionError):
        work()


def test_an_error_of_the_caller_goes_before_one_beside():
    """What the caller was doing is what failed first for whoever reads the message."""

    def work():
        with Beside(threads=True) as beside:
            beside.call(lambda: 1 // 0)
            raise KeyError

    with pytest.raises(KeyError):
        work()


@pytest.mark.parametrize("at_once", [1, 2, 5])
def test_streams_side_by_side_keep_their_order(at_once):
    """One after the other, whichever is ready first, also where some are empty."""
    streams = [range(start, start + length) for start, length in ((0, 3), (3, 0), (3, 100), (103, 1))]
    assert list(side_by_side(streams, at_once)) == list(range(104))
    assert list(side_by_side([], at_once)) == []


def test_an_error_of_a_stream_comes_in_its_place_and_all_are_closed():
    """What comes before it is still given; what was begun after it is closed."""
    closed = []

    def stream(number):
        try:
            for item in range(10):
                yield number, item
                if number == 1 and item == 4:
                    raise KeyError(number)
        finally:
            closed.append(number)

    taken = []
    with pytest.raises(KeyError):
        deque(map(taken.append, side_by_side((stream(number) for number in range(100)), 3)))
    assert taken == [(0, item) for item in range(10)] + [(1, item) for item in range(5)]
    assert sorted(closed) == [0, 1, 2, 3]


def test_items_are_made_before_they_are_asked_for():
    """A stream that waits its turn is begun, and nothing is made once it is closed."""
    made = []
    waiting = Ahead(made.append(number) or number for number in range(100))
    deadline = time.monotonic() + 60
    while not made and time.monotonic() < deadline:
        time.sleep(0.001)
    assert made
    waiting.close()
    count = len(made)
    assert count < 100
    assert list(waiting) == []
    assert len(made) == count
