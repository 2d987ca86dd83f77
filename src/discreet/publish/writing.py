"""Where a release goes: a Parquet file, a CSV file or memory. A file appears complete or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.errors import ReleaseError, SystemFailureError
from discreet.manifest import Manifest, Release
from discreet.manifest.storage import KEY, arrow_schema_entry, footer_entry, sidecar_of_csv, sidecar_path
from discreet.manifest.tables import CSV, PARQUET, CsvTable, ParquetTable
from discreet.publish.csv_text import csv_header, csv_rows


def check_output(output: str | os.PathLike[str], source: Path | None, *, overwrite: bool) -> Path:
    """A path that can be written to, refused before anything is read."""
    path = Path(output)
    suffix = path.suffix.lower()
    if suffix not in PARQUET + CSV:
        raise ReleaseError(f'{path.name}: "{suffix}" is not a kind of table that can be written; use .parquet or .csv')
    if not path.parent.is_dir():
        raise ReleaseError(f"there is no folder {path.parent}")
    if path.is_dir():
        raise ReleaseError(f"{path} is a folder, not a file")
    if source is not None and path.exists() and path.samefile(source):
        raise ReleaseError("the output is the input; choose another name, so that the truth is kept apart")
    if not overwrite:
        for file in (path, sidecar_path(path)) if suffix in CSV else (path,):
            if file.exists():
                raise ReleaseError(f"{file} exists already; overwrite=True (--overwrite) replaces it")
    return path


def open_output(output: Path | None, schema: pa.Schema, *, overwrite: bool) -> Output:
    """The writer for a path, or for memory."""
    if output is None:
        return MemoryOutput(schema)
    kind = ParquetOutput if output.suffix.lower() in PARQUET else CsvOutput
    return kind(output, schema, overwrite=overwrite)


class Output(ABC):
    """Takes released batches; ``commit`` makes them a release, leaving without it leaves nothing behind."""

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
    """Keeps the batches."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._batches: list[pa.RecordBatch] = []

    def write(self, batch: pa.RecordBatch) -> None:
        """Keep one batch."""
        self._batches.append(batch)

    def commit(self, manifest: Manifest) -> Release:
        """A release in memory."""
        return Release.from_table(manifest, pa.Table.from_batches(self._batches, self._schema))

    def discard(self) -> None:
        """Let go of the batches."""
        self._batches = []


class FileOutput(Output):
    """Writes under a temporary name in the folder of the output, and renames when everything is there."""

    def __init__(self, path: Path, schema: pa.Schema, *, overwrite: bool) -> None:
        self._path = path
        self._schema = schema
        self._overwrite = overwrite
        self._temporary: list[Path] = []
        self._sink: IO[bytes] | None = None
        self._file = self._new_temporary()
        try:
            with writing(path):
                self._sink = self._file.open("xb")
                self._start(self._sink)
        except BaseException:
            self.discard()
            raise

    @abstractmethod
    def _start(self, sink: IO[bytes]) -> None:
        """Write what comes before the first row."""

    def _new_temporary(self) -> Path:
        path = self._path.with_name(f".discreet-{secrets.token_hex(8)}.tmp")
        self._temporary.append(path)
        return path

    def discard(self) -> None:
        """Close what is open and remove the temporary files."""
        if self._sink is not None:
            with contextlib.suppress(OSError):  # what is still buffered may not fit on a full disk
                self._sink.close()
        for path in self._temporary:
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)

    def _publish(self, files: dict[Path, Path], stale: list[Path]) -> None:
        """Rename complete files to their names; if one step fails, the earlier ones are undone."""
        undo: list[Callable[[], object]] = []
        try:
            for final, temporary in files.items():
                if self._overwrite and final.exists():
                    self._put_aside(final, undo, keep=True)
                    temporary.replace(final)
                else:
                    undo.append(partial(_retract, temporary, final))
                    _appear(temporary, final)
            for final in stale:
                if self._overwrite and final.exists():
                    self._put_aside(final, undo, keep=False)
            _sync_folder(self._path.parent)
        except BaseException:
            for step in reversed(undo):
                with contextlib.suppress(OSError):
                    step()
            raise

    def _put_aside(self, final: Path, undo: list[Callable[[], object]], *, keep: bool) -> None:
        """Hold on to a file that is about to be replaced, until everything is in place."""
        backup = self._new_temporary()
        undo.append(partial(_restore, backup, final))
        try:
            if keep:
                os.link(final, backup)
                return
        except OSError:  # a file system without hard links: there is a moment without the old file
            pass
        final.replace(backup)


class ParquetOutput(FileOutput):
    """A Parquet file with the manifest in its metadata."""

    _writer: Any = None

    def _start(self, sink: IO[bytes]) -> None:
        with _holding():
            # The Arrow schema is added at the end, when the manifest that belongs to it is known.
            self._writer = pq.ParquetWriter(sink, self._schema, store_schema=False)

    def write(self, batch: pa.RecordBatch) -> None:
        """One row group."""
        with writing(self._path), _holding():
            self._writer.write_batch(batch, row_group_size=max(batch.num_rows, 1))

    def commit(self, manifest: Manifest) -> Release:
        """Close the file with its manifest and rename it."""
        entry, beside = footer_entry(manifest)
        sidecar = sidecar_path(self._path)
        with writing(self._path):
            self._writer.add_key_value_metadata({KEY: entry, **arrow_schema_entry(self._schema, entry)})
            self._writer.close()
            assert self._sink is not None
            _flush(self._sink)
            files = {self._path: self._file}
            if beside is not None:
                files[sidecar] = self._new_temporary()
                _write(files[sidecar], beside)
            self._publish(files, [] if beside is not None else [sidecar])
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
            assert self._sink is not None
            _flush(self._sink)
            files = {sidecar_path(self._path): self._new_temporary(), self._path: self._file}
            _write(files[sidecar_path(self._path)], sidecar_of_csv(manifest, digest))
            self._publish(files, [])
        return Release(manifest.with_digest(digest), CsvTable(self._path))


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Say what the machine could not do, and where."""
    try:
        yield
    except OSError as error:
        if isinstance(error, SystemFailureError):
            raise
        reason = error.strerror or "the file system refused"
        raise SystemFailureError(f"{path.resolve()} cannot be written: {reason}; nothing was left behind") from None


@contextlib.contextmanager
def _holding() -> Iterator[None]:
    """Say that a type does not fit into the file; what Arrow says about it may quote a value."""
    try:
        yield
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        raise ReleaseError("a public column has a type that a Parquet file cannot hold") from None


def _write(path: Path, content: bytes) -> None:
    with path.open("xb") as sink:
        sink.write(content)
        _flush(sink)


def _flush(sink: IO[bytes]) -> None:
    """Have the bytes on the disk before the name points to them."""
    sink.flush()
    os.fsync(sink.fileno())
    sink.close()


def _appear(temporary: Path, final: Path) -> None:
    """Give a complete file its name; a file of that name that turned up meanwhile is not replaced."""
    try:
        os.link(temporary, final)
    except FileExistsError:
        raise ReleaseError(f"{final} exists already; overwrite=True (--overwrite) replaces it") from None
    except OSError:  # a file system without hard links
        if final.exists():
            raise ReleaseError(f"{final} exists already; overwrite=True (--overwrite) replaces it") from None
        temporary.replace(final)
    else:
        temporary.unlink()


def _retract(temporary: Path, final: Path) -> None:
    """Take back a name, if it was given: the temporary file is then gone or the same file."""
    if not temporary.exists() or (final.exists() and final.samefile(temporary)):
        final.unlink(missing_ok=True)


def _restore(backup: Path, final: Path) -> None:
    if backup.exists():
        backup.replace(final)


def _sync_folder(folder: Path) -> None:
    with contextlib.suppress(OSError):  # not every system lets a folder be opened
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
