"""Check how many rows a person has, without ever saying who."""

from __future__ import annotations

import pyarrow as pa

from discreet import arrow_functions as pc
from discreet.errors import ReleaseError
from discreet.publish.run.plain import plain_column, plain_type


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
