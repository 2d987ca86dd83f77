"""What is found out about public columns and persons while the batches of a source pass by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet import arrow_functions as pc
from discreet.domains.buffers import numbers_of
from discreet.errors import ReleaseError
from discreet.plain_text import one_line
from discreet.publish.layout import plain_column, plain_type

#: Rows below which nothing is said: ages, years and scores up to 100 cannot fill half of so many rows.
LEAST_ROWS = 200
#: Cells whose values are followed: enough to know the number of different values per row to .02.
_FIRST = 1 << 12


class NearlyUniqueWarning(UserWarning):
    """A public column has a value of its own in most rows."""


def is_nearly_unique(different: float, rows: float) -> bool:
    """Whether more than half of so many cells are different."""
    return rows >= LEAST_ROWS and 2 * different > rows


def sentence(columns: Iterable[str]) -> str:
    """What this means, for people."""
    listed = ", ".join(f'"{one_line(name)}"' for name in columns)
    return (
        f"most rows have a value of their own in these public columns: {listed}; an attacker who has such a value of a "
        "person finds the row of that person, in any row order. Drop them, or make them coarser, if you can"
    )


def can_be_counted(kind: pa.DataType) -> bool:
    """Whether different values of a type can be counted: lists and records cannot."""
    return not (pa.types.is_nested(kind) or pa.types.is_null(kind) or pa.types.is_interval(kind))


class NearlyUnique:
    """Finds such columns while batches pass by, in bounded memory.

    If a row is drawn at random, the mean of 1/(rows that share its value) is the number of different values per row.
    The first cells stand for such rows, and how often their values occur is counted to the end.
    """

    def __init__(self, types: Mapping[str, pa.DataType]) -> None:
        self._columns = {name: _FirstValues() for name, kind in types.items() if can_be_counted(kind)}

    def observe(self, batch: pa.RecordBatch) -> None:
        """Take a batch into account."""
        for name, values in list(self._columns.items()):
            values.add(batch.column(name).drop_null())
            if values.complete and not values.nearly_unique:  # its values can only become more frequent
                del self._columns[name]

    def columns(self) -> list[str]:
        """The columns that are nearly unique."""
        return [name for name, values in self._columns.items() if values.nearly_unique]


class _FirstValues:
    """The values of the first cells of a column, and how often they occur in all cells."""

    def __init__(self) -> None:
        self._first: list[pa.Array] = []
        self._values: pa.Array | None = None  # once there are more cells than are kept

    @property
    def complete(self) -> bool:
        """Whether there were more cells than are kept."""
        return self._values is not None

    @property
    def nearly_unique(self) -> bool:
        """Whether more than half of the cells are different, as far as is known."""
        at_first = self._at_first if self._values is not None else self._counted()[1]
        times = self._times if self._values is not None else at_first
        return is_nearly_unique(float(np.sum(at_first / times)), float(np.sum(at_first)))

    def _counted(self) -> tuple[pa.Array, NDArray[np.int64]]:
        """The different values of the first cells, and how often they occur there."""
        counted = pc.value_counts(pa.chunked_array(self._first)) if self._first else pc.value_counts(pa.array([]))
        return counted.field("values"), numbers_of(counted.field("counts"))

    def add(self, cells: pa.Array) -> None:
        """Take cells into account, of which none is null."""
        if self._values is None:
            first = cells.slice(0, _FIRST - sum(map(len, self._first)))
            self._first.append(first)
            cells = cells.slice(len(first))
            if len(cells) == 0:
                return
            self._values, self._at_first = self._counted()
            self._times = self._at_first.copy()
        places = pc.index_in(cells, value_set=self._values).drop_null()
        self._times += np.bincount(numbers_of(places), minlength=len(self._times))


class PersonCounter:
    """Counts rows per person across batches; memory grows with the number of people.

    Parameters
    ----------
    column : str
        The column that names the person.
    limit : int
        Rows that a person may have.
    """

    def __init__(self, column: str, limit: int) -> None:
        self._column = column
        self._limit = limit
        self._counted: pa.Table | None = None
        self._pending: list[pa.Table] = []
        self._pending_rows = 0

    def add(self, cells: pa.Array, first_row: int) -> None:
        """Count the rows of a batch."""
        if cells.null_count:
            row = first_row + pc.index(cells.is_null(), True).as_py()
            raise ReleaseError(
                f'column "{self._column}", row {row} (counted from 0): the person is not named, '
                "so rows per person cannot be checked"
            )
        plain = plain_column(cells, plain_type(cells.type, self._column), self._column, first_row)
        counts = pc.value_counts(plain)
        table = pa.table({"person": counts.field("values"), "rows": counts.field("counts")})
        self._pending.append(table)
        self._pending_rows += table.num_rows
        # Merging when the new part has outgrown the old one keeps the total work near n log n.
        if self._counted is None or self._pending_rows >= self._counted.num_rows:
            self._merge()

    def _merge(self) -> None:
        parts = self._pending if self._counted is None else [self._counted, *self._pending]
        if not parts:
            return
        merged = pa.concat_tables(parts).group_by("person").aggregate([("rows", "sum")])
        self._counted = merged.rename_columns(["person", "rows"])
        self._pending, self._pending_rows = [], 0
        if pc.max(self._counted.column("rows")).as_py() > self._limit:
            raise ReleaseError(
                f"a person has more than {self._limit} row{'' if self._limit == 1 else 's'}, "
                "which is what rows_per_person declares"
            )

    def finish(self) -> None:
        """Settle what is still to be counted."""
        self._merge()
