"""Files that a plan refers to: the values of a domain, the matrix of a channel."""

from __future__ import annotations

import csv
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from discreet import limits
from discreet.errors import InputError, PlanError
from discreet.files import ordinary_text, path_inside
from discreet.mechanisms.finite import MAX_MATRIX
from discreet.publish.plan.grammar import at
from discreet.tables.readers import file_table, reading


@dataclass
class PlanFiles:
    """Opens files in the folder of the plan, or below it, and remembers which ones were read."""

    folder: Path
    #: Whether files anywhere else may be read as well: only the steward can say so, not the plan.
    outside: bool = False
    opened: list[Path] = field(default_factory=list)

    def _open(self, name: str, key_path: str) -> Path:
        path = path_inside(self.folder, name, key_path, PlanError, outside=self.outside)
        self.opened.append(path)
        return path

    def values(self, name: str, column: str, key_path: str) -> pa.Array:
        """One column of a CSV or Parquet file, as the values of a domain."""
        path = self._open(name, key_path)
        with at(key_path):
            table = file_table(path)
            if column not in table.schema.names:
                raise PlanError(f'{key_path}: {path.name} has no column "{column}"')
            chunks, rows = [], 0
            for batch in table.batches([column]):
                chunks.append(batch.column(0))
                rows += batch.num_rows
                if rows > limits.DOMAIN_VALUES:
                    raise PlanError(f"{key_path}: {path.name} has over {limits.DOMAIN_VALUES:,} rows")
            kind = table.schema.field(column).type
            return pa.chunked_array(chunks, type=kind).combine_chunks()

    def matrix(self, name: str, key_path: str) -> list[list[Any]]:
        """Rows of a CSV file without header: whole numbers, decimals, or fractions such as 1/6."""
        path = self._open(name, key_path)
        try:
            with reading(path, "CSV"), ordinary_text(path, "utf-8-sig") as lines:
                rows = [[_entry(cell.strip()) for cell in row] for row in islice(csv.reader(lines), MAX_MATRIX + 1)]
        except InputError as error:
            raise PlanError(f"{key_path}: {error}") from None
        except ValueError:
            raise PlanError(f"{key_path}: {path.name} must hold numbers or fractions only, without a header") from None
        return [row for row in rows if row]


def _entry(cell: str) -> Any:
    if "/" in cell:
        return cell
    try:
        return int(cell)
    except ValueError:
        return float(cell)
