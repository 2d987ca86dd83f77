"""Where a release goes: a Parquet file, a CSV file or memory. A file appears complete or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Container, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import IO, Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.errors import ReleaseError
from discreet.files.lock import Lock
from discreet.files.whole import create_private, flush, temporary_path, writing
from discreet.manifest import Manifest
from discreet.manifest.parts import PartFile
from discreet.manifest.storage import KEY, arrow_schema_entry, footer_entry, sidecar_of_csv
from discreet.publish.run.commit import claim, finish, put_in_place, recover
from discreet.publish.run.plain import fresh_copy
from discreet.publish.run.targets import refuse_existing
from discreet.reading import Release
from discreet.tables.csv_text import csv_header, csv_rows
from discreet.tables.readers import PARQUET, CsvTable, ParquetTable


def open_output(
    output: Path | None, schema: pa.Schema, blanks: Mapping[str, bool] = MappingProxyType({}), *, overwrite: bool
) -> Output:
    """The writer for a file, or for memory; ``blanks`` says of every private column whether a cell can be blank."""
    if output is None:
        return MemoryOutput(schema, blanks)
    kind = ParquetOutput if output.suffix.lower() in PARQUET else CsvOutput
    return kind(output, schema, blanks, overwrite=overwrite)


class Output(ABC):
    """Takes released batches; ``commit`` makes them a release, leaving without it leaves nothing behind.

    Attributes
    ----------
    committed : bool
        After ``discard``: whether a file had got its name already, though what followed was interrupted.
    removed : bool
        After ``discard``: whether nothing is left of what was not committed.
    """

    committed = False
    removed = True

    @abstractmethod
    def write(self, batch: pa.RecordBatch) -> None:
        """Write one batch."""

    @abstractmethod
    def commit(self, manifest: Manifest) -> Release:
        """Finish: only now does anything appear under its name."""

    @property
    def digest(self) -> str | None:
        """SHA-256 of the file that was written, when the manifest lies beside it."""
        return None

    def finish(self) -> tuple[PartFile, ...]:
        """End the last part, where the table is in parts; what they are."""
        return ()

    @abstractmethod
    def discard(self) -> None:
        """Remove everything that was not committed."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.discard()


class MemoryOutput(Output):
    """Keeps the batches; public cells share no memory with the source, where more may lie than what is published."""

    def __init__(self, schema: pa.Schema, private: Container[str]) -> None:
        self._schema = schema
        self._public = [place for place, name in enumerate(schema.names) if name not in private]
        self._batches: list[pa.RecordBatch] = []

    def write(self, batch: pa.RecordBatch) -> None:
        """Keep one batch."""
        arrays = batch.columns
        for place in self._public:
            arrays[place] = fresh_copy(arrays[place])
        self._batches.append(pa.RecordBatch.from_arrays(arrays, schema=batch.schema))

    def commit(self, manifest: Manifest) -> Release:
        """A release in memory."""
        return Release.from_table(manifest, pa.Table.from_batches(self._batches, self._schema))

    def discard(self) -> None:
        """Let go of the batches."""
        self._batches = []


class FileOutput(Output):
    """Writes under a temporary name that nobody else can read, in the folder of the output, and renames at the end."""

    def __init__(self, path: Path, schema: pa.Schema, blanks: Mapping[str, bool], *, overwrite: bool) -> None:
        self._path = path
        self._schema = schema
        self._blanks = blanks
        self._overwrite = overwrite
        self._sink: IO[bytes] | None = None
        self._identity: os.stat_result | None = None
        with writing(path):
            self._lock: Lock | None = claim(path)
        try:
            refuse_existing(path, overwrite=overwrite)
            with writing(path):
                self._sink = create_private(temporary_path(path))
                self._identity = os.fstat(self._sink.fileno())
                self._start(self._sink)
        except BaseException:
            self.discard()
            raise

    @abstractmethod
    def _start(self, sink: IO[bytes]) -> None:
        """Write what comes before the first row."""

    def discard(self) -> None:
        """Close what is open, finish what got its name, remove what did not, and let others write."""
        if self._sink is not None:
            with contextlib.suppress(OSError):  # what is still buffered may not fit on a full disk
                self._sink.close()
        if self._lock is None:
            return
        if self._identity is not None:  # else whatever lies there is not from here
            with contextlib.suppress(OSError):
                self.committed = os.path.samestat(self._identity, self._path.stat())
            with contextlib.suppress(OSError):
                if self.committed:
                    finish(self._path)
                recover(self._path)
            self.removed = not self.committed and not os.path.lexists(temporary_path(self._path))
        self._lock.release()
        self._lock = None

    def _publish(self, manifest: bytes | None) -> None:
        """Close the file and give it its name, with a manifest beside it or none."""
        assert self._sink is not None
        flush(self._sink)
        put_in_place(self._path, manifest, overwrite=self._overwrite)


class ParquetOutput(FileOutput):
    """A Parquet file with the manifest in its metadata.

    Reports are spread over all they can be in every row group, so that the least and the largest of a group would help
    no reader; and where none can be blank, the file says so instead of marking every cell as there.
    """

    _writer: Any = None

    def _start(self, sink: IO[bytes]) -> None:
        self._schema = pa.schema([field.with_nullable(self._blanks.get(field.name, True)) for field in self._schema])
        public = [name for name in self._schema.names if name not in self._blanks]
        with holding():
            # The Arrow schema is added at the end, when the manifest that belongs to it is known.
            self._writer = pq.ParquetWriter(sink, self._schema, store_schema=False, write_statistics=public or False)

    def write(self, batch: pa.RecordBatch) -> None:
        """One row group."""
        rows = pa.RecordBatch.from_arrays(batch.columns, schema=self._schema)
        with writing(self._path), holding():
            self._writer.write_batch(rows, row_group_size=max(batch.num_rows, 1))

    def commit(self, manifest: Manifest) -> Release:
        """Close the file with its manifest and rename it."""
        entry, beside = footer_entry(manifest)
        with writing(self._path):
            self._writer.add_key_value_metadata({KEY: entry, **arrow_schema_entry(self._schema, entry)})
            self._writer.close()
            self._publish(beside)
        return Release(manifest, ParquetTable(self._path))

    def discard(self) -> None:
        """Close what is open and remove it."""
        if self._writer is not None:
            with contextlib.suppress(OSError, pa.ArrowException):
                self._writer.close()
            self._writer.is_open = False  # or its destructor would try, and fail, again
        super().discard()


class CsvOutput(FileOutput):
    """A CSV file with the manifest, which holds its digest, beside it."""

    def _start(self, sink: IO[bytes]) -> None:
        self._digest = hashlib.sha256()
        self._append(sink, csv_header(self._schema.names))

    def _append(self, sink: IO[bytes], content: bytes) -> None:
        with writing(self._path):
            sink.write(content)
        self._digest.update(content)

    def write(self, batch: pa.RecordBatch) -> None:
        """As many lines as there are rows."""
        assert self._sink is not None
        self._append(self._sink, csv_rows(batch))

    @property
    def digest(self) -> str:
        """Of everything written so far."""
        return self._digest.hexdigest()

    def commit(self, manifest: Manifest) -> Release:
        """Write the manifest and rename both."""
        digest = self._digest.hexdigest()
        with writing(self._path):
            self._publish(sidecar_of_csv(manifest, digest))
        return Release(replace(manifest, digest=digest), CsvTable(self._path))


@contextlib.contextmanager
def holding() -> Iterator[None]:
    """Say that a type does not fit into the file; what Arrow says about it may quote a value."""
    try:
        yield
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        raise ReleaseError("a public column has a type that a Parquet file cannot hold") from None
