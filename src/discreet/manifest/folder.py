"""A table in a folder of Parquet files, read one part after the other.

Parts are the files that end in ``.parquet`` or ``.pq``, in the folder and below it, in the order of their names. What
starts with a dot or an underscore is no part. A folder called ``region=north`` gives all rows below it one more column
(Hive's way), whose cells are text.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa

from discreet import limits
from discreet.errors import ReleaseError
from discreet.manifest.tables import PARQUET, ParquetTable, TableFile, file_table, reading

#: What Hive calls a value that is missing.
_NULL = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class Part:
    """One file of a folder, its name relative to the folder, and the columns that its place gives."""

    name: str
    table: ParquetTable
    constants: Mapping[str, str | None]

    def batches(self, columns: Sequence[str], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """The rows of the part in these columns."""
        inside = [name for name in columns if name not in self.constants]
        # A part all of whose columns come from its place still has as many rows.
        read = inside or self.table.schema.names[:1]
        for batch in self.table.batches(read):
            arrays = [
                pa.repeat(pa.scalar(self.constants[name], pa.string()), batch.num_rows)
                if name in self.constants
                else batch.column(name)
                for name in columns
            ]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)


class FolderTable(TableFile):
    """The parts of a folder as one table.

    Parameters
    ----------
    path : Path
        The folder.
    names : sequence of str, optional
        The parts, relative to the folder; default: all that are there.
    """

    path: Path

    def __init__(self, path: Path, names: Sequence[str] | None = None) -> None:
        self.path = path
        listed = part_names(path) if names is None else list(names)
        if not listed:
            raise ReleaseError(f"{path} holds no Parquet file")
        self.parts = [Part(name, ParquetTable(path / name), _constants(name)) for name in listed]
        self._schema = self._common_schema()

    def _common_schema(self) -> pa.Schema:
        first = self.parts[0]
        plain = first.table.schema.remove_metadata()
        for part in self.parts:
            if not part.table.schema.remove_metadata().equals(plain) or part.constants.keys() != first.constants.keys():
                raise ReleaseError(
                    f"{part.name} has other columns or types than {first.name}; "
                    "all parts of a folder must have the same"
                )
        for name in first.constants:
            if name in plain.names:
                raise ReleaseError(f'"{name}" is both a column of {first.name} and a folder {name}=…; rename one')
        return pa.schema([*plain, *((name, pa.string()) for name in first.constants)])

    @property
    def schema(self) -> pa.Schema:
        """Of every part, and the columns that its place gives."""
        return self._schema

    @property
    def rows(self) -> int:
        """From the footers."""
        return sum(part.table.rows for part in self.parts)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows of the parts, one part after the other."""
        for batches in self.part_batches(columns):
            yield from batches

    def part_batches(self, columns: Sequence[str]) -> list[Iterator[pa.RecordBatch]]:
        """The rows of every part."""
        schema = pa.schema([self._schema.field(name) for name in columns])
        return [part.batches(columns, schema) for part in self.parts]


def part_names(folder: Path) -> list[str]:
    """The parts in a folder and below, relative to it, in the order of their names."""
    found: list[str] = []
    with reading(folder, "Parquet"):
        for place, below, files in os.walk(folder, onerror=refuse):
            below[:] = sorted(name for name in below if not name.startswith((".", "_")))
            inside = Path(place).relative_to(folder)
            found += [
                (inside / name).as_posix()
                for name in files
                if not name.startswith((".", "_")) and name.lower().endswith(PARQUET)
            ]
            if len(found) > limits.FOLDER_PARTS:
                raise ReleaseError(f"{folder} has more than {limits.FOLDER_PARTS:,} parts")
    return sorted(found)


def refuse(error: OSError) -> None:
    """Let what cannot be listed be an error, not an empty folder."""
    raise error


def _constants(name: str) -> dict[str, str | None]:
    """The columns that the folders of a part give: ``region=north/part.parquet``."""
    pairs = [place.partition("=") for place in name.split("/")[:-1] if "=" in place]
    return {unquote(key): None if value == _NULL else unquote(value) for key, _, value in pairs}


def table_at(path: Path, missing: Sequence[str] = (), *, delimiter: str = ",", encoding: str = "utf-8") -> TableFile:
    """A table in a file, by the ending of its name, or in a folder."""
    if path.is_dir():
        return FolderTable(path)
    return file_table(path, missing, delimiter=delimiter, encoding=encoding)
