"""Files that a plan refers to: the values of a domain, the matrix of a channel."""

from __future__ import annotations

import csv
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from discreet.errors import InputError, PlanError
from discreet.manifest.tables import file_table, reading
from discreet.publish.grammar import at


@dataclass
class PlanFiles:
    """Opens files relative to the folder of the plan, and remembers which ones were read."""

    folder: Path
    opened: list[Path] = field(default_factory=list)

    def _open(self, name: str, key_path: str) -> Path:
        path = self.folder / name
        if not path.is_file():
            raise PlanError(f"{key_path}: there is no file {path}")
        self.opened.append(path)
        return path

    def values(self, name: str, column: str, key_path: str) -> pa.Array:
        """One column of a CSV or Parquet file, as the values of a domain."""
        path = self._open(name, key_path)
        with at(key_path):
            table = file_table(path)
            if column not in table.schema.names:
                raise PlanError(f'{key_path}: {path.name} has no column "{column}"')
            chunks = [batch.column(0) for batch in table.batches([column])]
            kind = table.schema.field(column).type
            return pa.chunked_array(chunks, type=kind).combine_chunks()

    def matrix(self, name: str, key_path: str) -> list[list[Any]]:
        """Rows of a CSV file without header: whole numbers, decimals, or fractions such as 1/6."""
        path = self._open(name, key_path)
        try:
            with reading(path, "CSV"), path.open(encoding="utf-8-sig", newline="") as lines:
                rows = [[_entry(cell.strip()) for cell in row] for row in csv.reader(lines) if row]
        except InputError as error:
            raise PlanError(f"{key_path}: {error}") from None
        except ValueError:
            raise PlanError(f"{key_path}: {path.name} must hold numbers or fractions only, without a header") from None
        return rows


def _entry(cell: str) -> Any:
    if "/" in cell:
        return cell
    try:
        return int(cell)
    except ValueError:
        return float(cell)
