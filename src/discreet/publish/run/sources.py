"""Where a table comes from: a file, or anything that speaks the Arrow interfaces."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from discreet import arguments
from discreet.errors import DiscreetError, ReleaseError
from discreet.manifest.folder import table_at
from discreet.manifest.tables import TableFile


@dataclass(frozen=True)
class Source:
    """A table to be released: its columns, its rows in batches and, for a file, where it lies."""

    table: TableFile
    path: Path | None = None

    def __post_init__(self) -> None:
        try:
            names = self.schema.names
        except UnicodeDecodeError:
            raise ReleaseError("the table has a column whose name is not UTF-8; rename that column") from None
        for name, times in Counter(names).items():
            if times > 1:
                raise ReleaseError(f'the table has two columns called "{name}"')

    @property
    def schema(self) -> pa.Schema:
        """Names and types of all columns."""
        return self.table.schema

    @property
    def text(self) -> bool:
        """Whether every cell is text, as in a CSV file."""
        return self.table.text

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows, in these columns."""
        return self.table.batches(columns)


class Stream(TableFile):
    """A stream of Arrow batches; it can be read once."""

    def __init__(self, reader: pa.RecordBatchReader) -> None:
        self._reader = reader

    @property
    def schema(self) -> pa.Schema:
        """Of the stream."""
        return self._reader.schema

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """As the stream delivers them."""
        with _quietly(), self._reader as reader:
            for batch in reader:
                chosen = batch.select(list(columns))
                for cells in chosen.columns:
                    if pa.types.is_dictionary(cells.type) or pa.types.is_nested(cells.type):
                        cells.validate(full=True)  # nobody else looks whether every number has an entry
                yield chosen


def open_source(
    source: Any, missing: Sequence[str] = (), *, delimiter: str | None = None, encoding: str | None = None
) -> Source:
    """Open a path, an Arrow table, batch or reader, or a data frame of polars, pandas or DuckDB.

    ``missing`` lists the texts that stand for a missing value, in a CSV file; ``delimiter`` and ``encoding`` say how
    such a file is written where it is not with commas in UTF-8.
    """
    given_open = isinstance(source, Source)
    found: Source = source if given_open else _opened(source, missing, delimiter or ",", encoding or "utf-8")
    for key, given in (("delimiter", delimiter), ("encoding", encoding)):
        if given is not None and not found.text:
            raise ReleaseError(f"{key} is for a CSV file, and this source is none: leave the key out of the plan")
    if missing and not found.text:
        raise ReleaseError(
            "missing_values is for a CSV file, where every cell is text; in this source a missing value is a null, "
            "so leave the key out of the plan"
        )
    return found


def _opened(source: Any, missing: Sequence[str], delimiter: str, encoding: str) -> Source:
    if isinstance(source, (str, os.PathLike)):
        path = arguments.path(source, "source", ReleaseError)
        return Source(table_at(path, missing, delimiter=delimiter, encoding=encoding), path)
    with _quietly():
        if isinstance(source, pa.RecordBatchReader):
            return Source(Stream(source))
        if hasattr(source, "__arrow_c_stream__"):
            return Source(Stream(pa.RecordBatchReader.from_stream(source)))
        if hasattr(source, "__arrow_c_array__"):
            batch = pa.record_batch(source)
            return Source(Stream(pa.RecordBatchReader.from_batches(batch.schema, [batch])))
    raise ReleaseError(
        f"a source must be a path or a table with the Arrow interface (polars, pandas, DuckDB, pyarrow), "
        f"not {type(source).__name__}"
    )


class _quietly:  # noqa: N801  # reads like a statement where it is used
    """What a foreign reader says when it fails may quote a value, so only the fact is passed on."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, Exception) and not isinstance(error, (DiscreetError, OSError, MemoryError)):
            raise ReleaseError(f"the source failed while it was read ({type(error).__name__})") from None
