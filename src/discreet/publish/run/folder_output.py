"""A release in a folder: parts, and last the manifest that names them. The folder appears whole or not at all.

Everything is written into ``.discreet-<output>.tmp``, which only its owner can read, and that folder gets its name.
A release that is replaced exchanges its name with that folder in one step, so there is always a release at the name.
Where the system cannot do that, the old release waits as ``.discreet-<output>.old`` for the moment in between; if the
process is killed there, the next writer puts it back.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

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
from discreet.publish.run.commit import claim, recover, remove
from discreet.publish.run.writing import Output, holding
from discreet.reading import Release
from discreet.tables.readers import FolderTable, rows_per_batch

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
