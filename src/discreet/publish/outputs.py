"""Where a release goes: a Parquet file, a CSV file, a folder of parts or memory. It appears complete or not at all.

A folder is written into ``.discreet-<output>.tmp``, which only its owner can read, and that folder gets its name, the
manifest being written last. A release that is replaced exchanges its name with that folder in one step, so there is
always a release at the name. Where the system cannot do that, the old release waits as ``.discreet-<output>.old`` for
the moment in between; if the process is killed there, the next writer puts it back.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import IO, Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.errors import ReleaseError
from discreet.files.lock import Lock
from discreet.files.whole import (
    already_there,
    create_private,
    exchange,
    flush,
    ordinary_mode,
    replaced_path,
    sync_folder,
    temporary_path,
    writing,
)
from discreet.manifest import Manifest
from discreet.manifest.parts import MANIFEST_NAME, PartFile
from discreet.manifest.storage import KEY, arrow_schema_entry, footer_entry, sidecar_of_csv
from discreet.publish.commit import claim, finish, put_in_place, recover, refuse_existing, remove
from discreet.publish.layout import fresh_copy
from discreet.reading import Release
from discreet.tables.csv_text import csv_header, csv_rows
from discreet.tables.readers import PARQUET, CsvTable, FolderTable, ParquetTable, rows_per_batch


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


#: Batches in a part. As batches have a power of two of rows, at least 4,096, parts begin where blocks of digests do.
PART_BATCHES = 16


class FolderOutput(Output):
    """Writes parts under a temporary name and renames their folder at the end.

    Parameters
    ----------
    path : Path
        The folder to be.
    schema : pa.Schema
        What is written.
    coded : pa.Schema
        What the size of a part is worked out from.
    overwrite : bool
        Whether a release in a folder may be replaced.
    """

    def __init__(self, path: Path, schema: pa.Schema, coded: pa.Schema, *, overwrite: bool) -> None:
        self._path = path
        self._schema = schema
        self._overwrite = overwrite
        self._part_rows = PART_BATCHES * rows_per_batch(coded)
        self._writer: pq.ParquetWriter | None = None
        self._rows = 0
        #: The number of the first part.
        self.first = 0
        self.files: list[PartFile] = []
        self._identity: os.stat_result | None = None
        with writing(path):
            self._lock: Lock | None = claim(path)
        try:
            self._open()
            with writing(path):
                self.folder = temporary_path(path)
                self.folder.mkdir(mode=0o700)
                self._identity = self.folder.stat()
        except BaseException:
            self.discard()
            raise

    def _open(self) -> None:
        """Look at what is there, as the one writer of this name."""
        refuse_folder(self._path, overwrite=self._overwrite)

    def write(self, batch: pa.RecordBatch) -> None:
        """Rows of the part that is being written, and of the next ones."""
        start = 0
        while start < batch.num_rows:
            piece = batch.slice(start, self._part_rows - self._rows)
            with writing(self._path), holding():
                if self._writer is None:
                    self._writer = pq.ParquetWriter(self.folder / self._name(), self._schema)
                self._writer.write_batch(piece, row_group_size=max(piece.num_rows, 1))
            self._rows += piece.num_rows
            start += piece.num_rows
            if self._rows == self._part_rows:
                self._end_part()

    def _name(self) -> str:
        return part_name(self.first + len(self.files))

    def _end_part(self) -> None:
        if self._writer is not None:
            with writing(self._path):
                self._writer.close()
            self.files.append(PartFile.of(self.folder / self._name(), self._rows))
            self._writer, self._rows = None, 0

    def finish(self) -> tuple[PartFile, ...]:
        """Close the last part; all parts, in their order."""
        self._end_part()
        return tuple(self.files)

    def take(self, files: Iterable[Path]) -> list[str]:
        """Parts that somebody else wrote: they get names in their order, which are returned."""
        names = []
        for number, file in enumerate(files, self.first):
            names.append(part_name(number))
            file.rename(self.folder / names[-1])
        return names

    def kept(self) -> dict[Path, PartFile]:
        """Parts that are there already and stay."""
        return {}

    def commit(self, manifest: Manifest) -> Release:
        """Write the manifest and give the folder its name."""
        with writing(self._path):
            new = [self.folder / file.name for file in manifest.files[len(self.kept()) :]]
            with create_private(self.folder / MANIFEST_NAME) as sink:
                sink.write((manifest.to_json(indent=1) + "\n").encode())
                flush(sink)
            for file in (*new, self.folder / MANIFEST_NAME):
                file.chmod(ordinary_mode())
            sync_folder(self.folder)
            self.folder.chmod(self._mode())
            self._take_name()
        return Release(manifest, FolderTable(self._path, [file.name for file in manifest.files]))

    def _mode(self) -> int:
        """The permissions of the folder."""
        return ordinary_mode() | 0o111 & (ordinary_mode() >> 2)

    def _take_name(self) -> None:
        old = replaced_path(self._path)
        if not os.path.lexists(self._path):
            self.folder.rename(self._path)
        elif not (self._overwrite and self._path.is_dir()):
            raise already_there(self._path)
        elif exchange(self.folder, self._path):
            old = self.folder  # the replaced release has the temporary name now
        else:
            self._path.rename(old)
            self.folder.rename(self._path)
        self.committed = True
        sync_folder(self._path.parent)
        with contextlib.suppress(OSError):  # the release is there; the next writer removes what is left
            remove(old)

    def discard(self) -> None:
        """Close what is open, remove what did not get its name, and let others write."""
        if self._writer is not None:
            with contextlib.suppress(OSError, pa.ArrowException):
                self._writer.close()
            self._writer = None
        if self._lock is None:
            return
        with contextlib.suppress(OSError):
            self.committed = self._identity is not None and os.path.samestat(self._identity, self._path.stat())
        with contextlib.suppress(OSError):
            recover(self._path)
        self.removed = not self.committed and not os.path.lexists(temporary_path(self._path))
        self._lock.release()
        self._lock = None


def part_name(number: int) -> str:
    """What a part is called."""
    return f"part-{number:05d}.parquet"


def refuse_folder(path: Path, *, overwrite: bool) -> None:
    """Refuse a name that is taken: only a release in a folder is ever replaced, and only when asked."""
    if not os.path.lexists(path):
        return
    if not overwrite:
        raise already_there(path)
    if not (path / MANIFEST_NAME).is_file():
        raise ReleaseError(f"{path} exists and is not a release of discreet; move it away, or choose another name")


def with_files(manifest: Manifest, files: tuple[PartFile, ...]) -> Manifest:
    """The manifest of a table that lies in these files; in none when it lies in one that the manifest does not name."""
    content = manifest.content
    if not files:
        return manifest
    parts = tuple(file.rows for file in files)
    return replace(manifest, files=files, content=None if content is None else replace(content, parts=parts))
