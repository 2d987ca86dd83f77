"""What every engine can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


class Table(Protocol):
    """Rows that can be read batch by batch, as far as an engine has to know."""

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows, in these columns."""


@runtime_checkable
class InParts(Table, Protocol):
    """A table in several parts, which can be read side by side."""

    def part_batches(self, columns: Sequence[str]) -> Sequence[Iterator[pa.RecordBatch]]:
        """The rows of every part, in these columns."""


#: Rows, and how often each occurs.
Counted = tuple[pa.RecordBatch, "NDArray[np.int64] | None"]


class Engine(ABC):
    """Where the work runs."""

    #: Whether rows come in the order of the table.
    keeps_order: bool = True

    @abstractmethod
    def rows(self, table: Table, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows of a table in these columns, for an estimate that adds up over them."""

    def counted(self, table: Table, columns: Sequence[str]) -> Iterator[Counted]:
        """The rows of a table, each with how often it occurs; None when each stands for itself."""
        return ((batch, None) for batch in self.rows(table, columns))

    def over_parts(self, table: Table, work: Callable[[str], Any]) -> list[Any] | None:  # noqa: ARG002
        """What a function gives for the name of every part, worked out where the part is read; None: read it here."""
        return None


def repeated(keys: pa.Table, counts: NDArray[np.int64], batch_rows: int) -> Iterator[pa.RecordBatch]:
    """Rows of which only the combinations that occur, and how often each does, are known."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if ends.size else 0
    for start in range(0, total, batch_rows):
        stop = min(start + batch_rows, total)
        first, last = np.searchsorted(ends, [start, stop - 1], side="right")
        chosen = np.arange(first, last + 1)
        inside = np.minimum(ends[chosen], stop) - np.maximum(ends[chosen] - counts[chosen], start)
        yield from keys.take(pa.array(np.repeat(chosen, inside))).combine_chunks().to_batches()
