"""The three verbs on this machine, one batch after the other or several at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import pyarrow as pa

from discreet import arguments
from discreet.engines.ahead import side_by_side
from discreet.engines.at_once import at_once
from discreet.engines.engine import Engine, InParts, Table
from discreet.errors import InputError
from discreet.randomness import Randomness, permutation, resolve

Item = TypeVar("Item")
Part = TypeVar("Part")


class Local(Engine):
    """Batches are read one at a time, so memory holds a few and the result; only a random order needs all rows.

    Parameters
    ----------
    workers : int, optional
        Threads that work on batches at once; numpy and Arrow let each other run. Default: one.

    Examples
    --------
    >>> engine = Local()
    >>> batches = [pa.record_batch({"town": ["n", "s"]}), pa.record_batch({"town": ["n"]})]
    >>> list(engine.map_batches(batches, lambda batch: batch.num_rows))
    [2, 1]
    >>> engine.sum(batches, lambda batch: batch.num_rows, 0)
    3
    >>> sum(batch.num_rows for batch in engine.order_randomly(batches))
    3
    """

    def __init__(self, workers: int = 1) -> None:
        self.workers = arguments.whole(workers, "workers", InputError, least=1, most=1024)

    def rows(self, table: Table, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """As the table gives them; with several workers the next parts of a table in parts are read meanwhile."""
        if self.workers == 1 or not isinstance(table, InParts):
            return table.batches(columns)
        return side_by_side(table.part_batches(columns), self.workers)

    def map_batches(self, batches: Iterable[Item], function: Callable[[Item], Part]) -> Generator[Part, None, None]:
        """What the function gives for each batch, in the order of the batches."""
        yield from map(function, batches) if self.workers == 1 else at_once(batches, function, self.workers)

    def order_randomly(
        self, batches: Iterable[pa.RecordBatch], randomness: Randomness | None = None
    ) -> Iterator[pa.RecordBatch]:
        """All rows in a uniformly random order, which the secure generator draws unless told otherwise."""
        held = list(batches)
        if not held:
            return
        table = pa.Table.from_batches(held)
        order = permutation(table.num_rows, resolve(randomness))
        yield from table.take(pa.array(order)).to_batches(max_chunksize=max(batch.num_rows for batch in held) or 1)

    def sum(self, batches: Iterable[Item], part: Callable[[Item], Part], start: Part) -> Part:
        """``start + part(first) + part(second) + …``: anything that can be added."""
        total: Any = sum(self.map_batches(batches, part), start)  # type: ignore[call-overload]  # whatever has a +
        return total  # type: ignore[no-any-return]


def available_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
