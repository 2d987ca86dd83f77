"""A uniformly random order of rows, in bounded memory.

Small tables are permuted in memory. A larger one is dealt row by row into buckets chosen independently and
uniformly; each bucket is then put into a uniformly random order, and the buckets follow each other. Every
order of all rows is equally likely (Rao 1961, Sandelius 1962): given the sizes of the buckets, which rows a
bucket holds is a uniform choice, and so is their order inside. A bucket that is still too large is dealt again.

Only rows that are already randomised come here. What does not fit into memory goes to a file without a name that
nobody else can read, which the operating system removes even when the process is killed. Where a file must have a name
before it can lose it, that name is one of those that the next release into the folder sweeps.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import IO, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.domains.buffers import array_of
from discreet.files.whole import writing
from discreet.randomness import Randomness, permutation, uniform

#: Bytes that a table may need while it is put in order in memory.
MEMORY_BYTES = 1 << 28
#: Sorting 64-bit keys holds keys, order and sorted keys at once.
_ORDER_BYTES_PER_ROW = 24
#: Longest order that is drawn by one sort, and the buckets that a longer one is dealt into.
_SORTED_AT_ONCE = 1 << 17
_ORDER_BUCKETS = 256
#: Buckets that a large table is dealt into: 64 buckets of 256 MB hold 16 GB before any is dealt again.
BUCKETS = 64


def random_order(count: int, randomness: Randomness) -> NDArray[np.intp]:
    """A uniformly random order of 0 … count − 1; a long one is dealt into buckets that sort within the cache."""
    if count <= _SORTED_AT_ONCE:
        return permutation(count, randomness)
    bucket = uniform(_ORDER_BUCKETS, count, randomness, np.uint8)
    order = np.argsort(bucket, kind="stable")
    ends = np.cumsum(np.bincount(bucket, minlength=_ORDER_BUCKETS)).tolist()
    for start, stop in pairwise([0, *ends]):
        order[start:stop] = order[start:stop][random_order(stop - start, randomness)]
    return order


class Shuffler:
    """Takes batches and gives their rows back in a uniformly random order.

    Parameters
    ----------
    randomness : Randomness
        Where the order comes from.
    folder : Path or None
        Where the nameless file is put; None keeps everything in memory.
    memory : int, optional
        Bytes that may be used.
    buckets : int, optional
        How many buckets a large table is dealt into.
    """

    def __init__(
        self, randomness: Randomness, folder: Path | None, memory: int | None = None, buckets: int | None = None
    ) -> None:
        self._randomness = randomness
        self._folder = folder
        self._memory = MEMORY_BYTES if memory is None else memory
        self._buckets = BUCKETS if buckets is None else buckets
        self._held: list[pa.RecordBatch] = []
        self._bytes = 0
        self._spill: Spill | None = None

    def add(self, batch: pa.RecordBatch) -> None:
        """Take in a batch."""
        if self._spill is not None:
            self._deal(batch)
            return
        self._held.append(batch)
        self._bytes += 2 * batch.nbytes + _ORDER_BYTES_PER_ROW * batch.num_rows
        rows = sum(held.num_rows for held in self._held)
        if self._folder is not None and self._bytes > self._memory and rows > 1:
            self._spill = Spill(self._folder, batch.schema, self._buckets)
            held, self._held = self._held, []
            for earlier in held:
                self._deal(earlier)

    def _deal(self, batch: pa.RecordBatch) -> None:
        """Send each row to a bucket of its own choice."""
        assert self._spill is not None
        bucket = uniform(self._buckets, batch.num_rows, self._randomness, np.uint8)
        counts = np.bincount(bucket, minlength=self._buckets)
        sorted_batch = batch.take(array_of(np.argsort(bucket, kind="stable")))
        start = 0
        for number, count in enumerate(counts.tolist()):
            if count:
                self._spill.write(number, sorted_batch.slice(start, count))
            start += count

    def rows(self, per_batch: int) -> Iterator[pa.RecordBatch]:
        """All rows in their new order; can be asked for once."""
        if self._spill is None:
            yield from self._permuted(per_batch)
            return
        with self._spill as spill:
            for number in range(self._buckets):
                inner = Shuffler(self._randomness, self._folder, self._memory, self._buckets)
                with inner:
                    for batch in spill.read(number):
                        inner.add(batch)
                    yield from inner.rows(per_batch)

    def _permuted(self, per_batch: int) -> Iterator[pa.RecordBatch]:
        if not self._held:
            return
        whole, self._held = pa.Table.from_batches(self._held).combine_chunks(), []
        order = random_order(whole.num_rows, self._randomness)
        for start in range(0, whole.num_rows, per_batch):
            yield from whole.take(array_of(order[start : start + per_batch])).combine_chunks().to_batches()

    def close(self) -> None:
        """Let go of the nameless file."""
        if self._spill is not None:
            self._spill.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Spill:
    """Batches of several buckets in one file that has no name."""

    def __init__(self, folder: Path, schema: pa.Schema, buckets: int) -> None:
        self._schema = schema
        self._folder = folder
        with writing(folder):
            self._file = _nameless_file(folder)
        self._pieces: list[list[tuple[int, int]]] = [[] for _ in range(buckets)]
        self._end = 0

    def write(self, bucket: int, batch: pa.RecordBatch) -> None:
        """Append a batch to a bucket."""
        content = batch.serialize()
        with writing(self._folder):
            self._file.write(content)
        self._pieces[bucket].append((self._end, content.size))
        self._end += content.size

    def read(self, bucket: int) -> Iterable[pa.RecordBatch]:
        """The batches of a bucket."""
        with writing(self._folder):
            self._file.flush()
        for start, size in self._pieces[bucket]:
            self._file.seek(start)  # not every system reads at a place
            yield pa.ipc.read_record_batch(pa.py_buffer(self._file.read(size)), self._schema)

    def close(self) -> None:
        """Close the file, which removes it."""
        with contextlib.suppress(OSError):  # what is still buffered may not fit on a full disk
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _nameless_file(folder: Path) -> IO[bytes]:
    """A file without a name that nobody else can read; it is gone once it is closed."""
    while True:
        try:
            return tempfile.TemporaryFile(dir=folder, prefix=".discreet-", suffix=".tmp")
        except FileNotFoundError:  # another process swept the name in the moment before it was taken away
            if not folder.is_dir():
                raise
