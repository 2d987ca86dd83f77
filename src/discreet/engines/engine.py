"""What every engine can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

import pyarrow as pa


class Table(Protocol):
    """Rows that can be read batch by batch, as far as an engine has to know."""

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows, in these columns."""


@runtime_checkable
class InParts(Table, Protocol):
    """A table in several parts, which can be read side by side."""

    def part_batches(self, columns: Sequence[str]) -> Sequence[Iterator[pa.RecordBatch]]:
        """The rows of every part, in these columns."""


class Engine(ABC):
    """Where the work runs."""

    #: Whether rows come in the order of the table.
    keeps_order: bool = True

    @abstractmethod
    def rows(self, table: Table, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows of a table in these columns, for an estimate that adds up over them."""

    def over_parts(self, parts: Sequence[str], work: Callable[[str], Any], *, add: bool) -> list[Any] | None:  # noqa: ARG002
        """What a function gives for every part, worked out where the part is read; None: read it here.

        With ``add``, results that stand next to each other may come added up, so that few come back.
        """
        return None
