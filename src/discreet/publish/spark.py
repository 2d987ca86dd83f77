"""A release on Spark: stage, then order, then count, and only then a manifest.

1. Every partition of the source is encoded and randomised under streams of its own, ``noise`` and ``order``, derived
   from one key and the number of the partition. An attempt that runs again gives the same rows.
2. For a random order the reports are first written down, each with a random number from the stream ``order``; a second
   job sends every row to the part that the hash of its number names and sorts a part by these numbers. Parts and
   places are then independent of the source. Two rows share a number with a chance of n²/2⁶⁵.
3. Rows read, staged and published must be equally many. Where rows are added to a release of one machine, whose parts
   have types that Spark does not write (labels with a dictionary, unsigned integers), every new part is written once
   more in these. Every part is read once more, where it lies, for its digests.
4. The manifest is written last and the folder gets its name; the key is forgotten.

What a task needs to know of the plan, which can be large, lies in a file in the folder that is being written and that
only its owner can read. The key is no part of it: it travels with the task, in a few hundred bytes. Spark keeps tasks
in memory, and moves them to local disks if memory is short; these must be encrypted (``Spark.check_encryption``).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from discreet import arguments, limits
from discreet.blocks import Block
from discreet.engines.spark import Spark
from discreet.errors import DomainError, ReleaseError
from discreet.manifest import Manifest
from discreet.manifest.digest import Content, ContentDigest, PartDigest
from discreet.manifest.parts import PartFile
from discreet.manifest.signature import SigningKey
from discreet.publish.commit import remove
from discreet.publish.layout import Layout, ReadAs, encode_answers, meanings
from discreet.publish.observing import can_be_counted, is_nearly_unique
from discreet.publish.outputs import FolderOutput, Output, with_files
from discreet.publish.pipeline import Progress, Work
from discreet.publish.plan import Plan
from discreet.publish.spark_types import cast_batch, spark_schema
from discreet.randomness import Randomness, StreamKey
from discreet.reading import Release
from discreet.tables.readers import PARQUET, FolderTable, ParquetTable, Source, TableFile

#: The column of random numbers by which rows are put in order.
ORDER = "__discreet_order__"
#: Rows of a part of a release in random order, on average.
PART_ROWS = 1 << 22
_TASK = "task"


@dataclass(frozen=True)
class Shared:
    """What every task knows: the layout, the manifest as far as it is known, the types of parts. It lies in a file."""

    layout: Layout
    manifest: Manifest
    types: pa.Schema

    def write(self, path: Path) -> str:
        """Write it down; its SHA-256, by which a task makes sure that it reads the same."""
        content = pickle.dumps(self)
        path.write_bytes(content)
        return hashlib.sha256(content).hexdigest()

    @staticmethod
    def read(path: str, sha256: str) -> Shared:
        """Read what ``write`` wrote, and nothing else."""
        content = Path(path).read_bytes()
        if hashlib.sha256(content).hexdigest() != sha256:
            raise ReleaseError(f"{path} was changed while the release was being made")
        shared: Shared = pickle.loads(content)
        return shared


@dataclass(frozen=True, repr=False)
class Randomise:
    """Truths in, reports out: released cells, or codes with their place in the order."""

    secret: bytes
    secure: bool
    path: str
    sha256: str
    staged: bool

    def __call__(self, partition: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of one partition."""
        layout = Shared.read(self.path, self.sha256).layout
        key = StreamKey(self.secret, secure=self.secure)
        noise, order = (Randomness.keyed(key, purpose, partition) for purpose in ("noise", "order"))
        first_row = 0
        for batch in batches:
            reports = layout.randomize(layout.encode(batch, first_row), noise)
            first_row += batch.num_rows
            if self.staged:
                keys = pa.array(order.words(batch.num_rows, "int64"))
                coded = cast_batch(reports, spark_schema(layout.coded))
                schema = coded.schema.append(pa.field(ORDER, pa.int64()))
                yield pa.RecordBatch.from_arrays([*coded.columns, keys], schema=schema)
            else:
                yield cast_batch(layout.decode(reports), spark_schema(layout.released))


@dataclass(frozen=True)
class Decode:
    """Staged codes in, released cells out."""

    path: str
    sha256: str

    def __call__(self, _: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of one part."""
        layout = Shared.read(self.path, self.sha256).layout
        for batch in batches:
            codes = cast_batch(batch.select(layout.coded.names), layout.coded)
            yield cast_batch(layout.decode(codes), spark_schema(layout.released))


@dataclass(frozen=True)
class Retype:
    """The place of a part that Spark wrote in; that of the same part in the types of one machine out.

    Every attempt writes a file of its own, and only those that come back count.
    """

    path: str
    sha256: str

    def __call__(self, place: bytes) -> bytes:
        """Of one part."""
        shared, file = Shared.read(self.path, self.sha256), Path(os.fsdecode(place))
        layout, part = shared.layout, Release(shared.manifest, FolderTable(file.parent, [file.name]))
        made = file.with_name(f"{file.stem}.{uuid.uuid4().hex}.parquet")
        with pq.ParquetWriter(made, shared.types) as writer:
            for batch in part.coded():
                writer.write_batch(cast_batch(layout.decode(cast_batch(batch, layout.coded)), shared.types))
        return os.fsencode(made)


@dataclass(frozen=True)
class Digest:
    """The place of a part in; its rows, SHA-256 and leaves out."""

    path: str
    sha256: str

    def __call__(self, place: bytes) -> tuple[PartFile, PartDigest]:
        """Of one part."""
        file = Path(os.fsdecode(place))
        part = Release(Shared.read(self.path, self.sha256).manifest, FolderTable(file.parent, [file.name]))
        digest = ContentDigest(part.forms())
        for batch in part.coded():
            digest.update(batch)
        found = digest.finish()
        return PartFile.of(file, found.rows), found


@dataclass
class SparkRun:
    """One release on Spark, from its frame to its folder."""

    engine: Spark
    frame: Any
    layout: Layout
    target: FolderOutput
    key: StreamKey
    #: The types of the parts, which are Spark's unless parts of one machine are there already.
    types: pa.Schema

    def check_persons(self) -> None:
        """Refuse, before anything is written, a person with more rows than were declared."""
        budget = self.layout.plan.budget
        if budget.person is None:
            return
        limit = budget.rows_per_person or 1
        blank, most = self.engine.most_rows(self.frame, budget.person)
        if blank:
            raise ReleaseError(
                f'column "{budget.person}": {blank:,} rows do not name the person, so rows per person cannot be checked'
            )
        if most > limit:
            raise ReleaseError(
                f"a person has more than {limit} row{'' if limit == 1 else 's'}, which is what rows_per_person declares"
            )

    def publish(self, manifest: Manifest, rows: int, signing_key: SigningKey | None = None) -> Release:
        """Carry it out: so many rows were read, and the manifest is completed here."""
        task = self.target.folder / _TASK
        sha256 = Shared(self.layout, manifest, self.types).write(task)
        files = self._ordered(task, sha256, rows) if manifest.order == "shuffle" else self._kept(task, sha256)
        self._check_rows("published", files, rows)
        before = self.target.kept()
        if len(before) + len(files) > limits.FOLDER_PARTS:
            raise ReleaseError(
                f"{len(before) + len(files):,} parts are more than the {limits.FOLDER_PARTS:,} that a folder may have; "
                "read the source in larger partitions (spark.sql.files.maxPartitionBytes)"
            )
        if not self.types.equals(spark_schema(self.layout.released)):
            files = self._retyped(task, sha256, files)
            self._check_rows("published", files, rows)
        places = [*before, *(self.target.folder / name for name in self.target.take(files))]
        done = self._digested(task, sha256, places)
        _check_kept(before, done)
        task.unlink()
        remove(self.target.folder / "parts")
        content = Content.of(_forms(manifest, places[-1]), [part for _, part in done])
        complete = with_files(replace(manifest, content=content), tuple(file for file, _ in done))
        return self.target.commit(complete if signing_key is None else complete.signed(signing_key))

    def _randomised(self, task: Path, sha256: str, schema: pa.Schema, *, staged: bool) -> Any:
        work = Randomise(self.key.reveal(), self.key.secure, str(task), sha256, staged)
        return self.engine.map_batches(self.frame, work, schema)

    def _kept(self, task: Path, sha256: str) -> list[Path]:
        frame = self._randomised(task, sha256, spark_schema(self.layout.released), staged=False)
        return self.engine.write(frame, self.target.folder / "parts")

    def _ordered(self, task: Path, sha256: str, rows: int) -> list[Path]:
        schema = spark_schema(self.layout.coded).append(pa.field(ORDER, pa.int64()))
        staging = self.target.folder / "staged"
        files = self.engine.write(self._randomised(task, sha256, schema, staged=True), staging)
        self._check_rows("staged", files, rows)
        parts = max(2, min(-(-rows // PART_ROWS), limits.FOLDER_PARTS - len(self.target.kept())))
        ordered = self.engine.order_randomly(self.engine.read(files, staging), ORDER, parts)
        released = self.engine.map_batches(ordered, Decode(str(task), sha256), spark_schema(self.layout.released))
        found = self.engine.write(released, self.target.folder / "parts")
        remove(staging)
        return found

    def _retyped(self, task: Path, sha256: str, files: list[Path]) -> list[Path]:
        """The same parts in the types of those that are there."""
        made = self.engine.sum([os.fsencode(file) for file in files], Retype(str(task), sha256))
        return [Path(os.fsdecode(place)) for place in made]

    def _check_rows(self, what: str, files: list[Path], expected: int) -> None:
        """The rows that lie in files must be as many as were read."""
        rows = FolderTable(files[0].parent, [file.name for file in files]).rows if files else 0
        if rows != expected:
            raise ReleaseError(
                f"{rows:,} rows were {what} where {expected:,} were read; the source changed or a task was lost, "
                "and nothing is published"
            )

    def _digested(self, task: Path, sha256: str, places: list[Path]) -> list[tuple[PartFile, PartDigest]]:
        return self.engine.sum([os.fsencode(place) for place in places], Digest(str(task), sha256))


def _check_kept(before: Mapping[Path, PartFile], done: list[tuple[PartFile, PartDigest]]) -> None:
    """Parts that are added to must still be those of their manifest."""
    for stated, (found, _) in zip(before.values(), done, strict=False):
        if found != stated:
            raise ReleaseError(f"{stated.name} was changed after the release, its SHA-256 differs; nothing is added")


def _forms(manifest: Manifest, place: Path) -> Any:
    return Release(manifest, FolderTable(place.parent, [place.name])).forms()


#: Different answers of a column that are looked at for what is said about them.
_SPELLINGS = 10_000


class SparkTable(TableFile):
    """A table that stays where it is: this process knows its columns and how many rows it has."""

    def __init__(self, engine: Spark, frame: Any, rows: int | None, path: Path | None) -> None:
        self.engine = engine
        self.frame = frame
        self.path = path
        self._schema = engine.schema(frame)
        self._rows = rows

    @property
    def schema(self) -> pa.Schema:
        """As tasks see it."""
        return self._schema

    @property
    def rows(self) -> int | None:
        """From the footers; None for a data frame."""
        return self._rows

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Nothing reads rows here."""
        raise ReleaseError(f"this plan reads {', '.join(columns)} before anything else, which cannot be done on Spark")


def spark_source(engine: Spark, source: Any) -> Source:
    """A folder or file of Parquet, or a data frame of Spark."""
    if engine.is_frame(source):
        if not engine.is_deterministic(source):
            raise ReleaseError(
                "this data frame may give other rows when a task runs again (it uses rand(), uuid() or the like, or "
                "comes through Spark Connect), and one noise would meet two truths; write it to a folder and give that"
            )
        return Source(SparkTable(engine, source, None, None))
    if not isinstance(source, (str, os.PathLike)):
        raise ReleaseError(f"on Spark a source is a folder or a data frame of Spark, not {type(source).__name__}")
    path = arguments.path(source, "source", ReleaseError)
    if not path.exists():
        raise ReleaseError(f"there is no file or folder {path} that this machine and Spark's executors can read")
    engine.check_path(path)
    if path.is_dir():
        table = FolderTable(path)
        frame = engine.read([path / part.name for part in table.parts], path)
        return Source(SparkTable(engine, frame, table.rows, path), path)
    if path.suffix.lower() not in PARQUET:
        raise ReleaseError(f"{path.name}: on Spark a source is Parquet, in a file or a folder")
    return Source(SparkTable(engine, engine.read([path], path), ParquetTable(path).rows, path), path)


class SparkWork(Work):
    """One run over a table on Spark."""

    recognises = False

    def __init__(self, source: Source, plan: Plan, output: Path | None) -> None:
        # Executors work in folders of their own.
        super().__init__(source, plan, None if output is None else output.absolute())
        self._table.engine.check_encryption()
        self._unique_there: list[str] = []
        if self.output is not None:
            self._table.engine.check_path(self.output)
        if ORDER in self.layout.source_columns:
            raise ReleaseError(
                f'a column cannot be called "{ORDER}" on Spark, where rows are put in order by that name'
            )

    def open_output(self, *, overwrite: bool, key: SigningKey | None = None) -> Output:
        """A folder; nothing else can be written by many machines."""
        if self.output is None:
            raise _not_a_folder()
        self._refuse_file()
        return super().open_output(overwrite=overwrite, key=key)

    def refuse_output(self, *, overwrite: bool, key: SigningKey | None = None) -> None:
        """What opening the output would refuse."""
        self._refuse_file()
        super().refuse_output(overwrite=overwrite, key=key)

    def _refuse_file(self) -> None:
        if self.output is not None and self.output.suffix != "":
            raise _not_a_folder()

    def remember(self, chance: Randomness) -> Randomness:
        """Memoised reports are made on one machine."""
        if super().remember(chance) is not chance:
            raise ReleaseError('repeat = "memoise" is not available on Spark; release on one machine')
        return chance

    def publish(
        self, target: Output, chance: Randomness, progress: Progress | None, key: SigningKey | None = None
    ) -> Release:
        """Stage, order, count and publish; the key of the noise is forgotten whatever happens."""
        assert isinstance(target, FolderOutput)
        types = spark_schema(self.layout.released) if self.earlier is None else self.earlier.schema
        run = SparkRun(self._table.engine, self._frame(), self.layout, target, chance.key(), types)
        try:
            run.check_persons()
            self.rows = self._table.rows or run.engine.count(run.frame)
            self._look()
            if not self.rows:
                raise ReleaseError("the table has no rows")
            done = run.publish(self.manifest(chance, shuffled=self.plan.order == "shuffle"), self.rows, key)
        finally:
            run.key.forget()
        self.tell()
        if progress is not None:
            progress(self.rows)
        return done

    def nearly_unique(self) -> list[str]:
        """As counted on the executors."""
        return self._unique_there

    def _look(self) -> None:
        """What there is to say of public columns and of numbers outside their bounds, by one job over the source."""
        public = [name for name in self.plan.public if can_be_counted(self.layout.released.field(name).type)]
        named = [(name, block.clipped_to(name)) for block in self.plan.blocks for name in block.columns]
        bounds = {name: ends for name, ends in named if ends is not None}
        if public or bounds:
            frame = self._table.engine.select(self._table.frame, [*public, *bounds])
            different, outside = self._table.engine.summarise(frame, public, bounds)
            self._unique_there = [name for name in public if is_nearly_unique(*different[name])]
            self.layout.clipped.update({name: count for name, count in outside.items() if count})
        collected = [(block, name) for block in self.plan.blocks if block.collected for name in block.columns]
        for block, name in collected:
            if meanings(block.reports_of(name)) is not None and (read := self._read_as(block, name)):
                self.layout.read_as[name] = read

    def _read_as(self, block: Block, name: str) -> ReadAs:
        """Answers that are written in another way than declared; tasks read them alike, and refuse what is wrong."""
        read = ReadAs()
        with contextlib.suppress(DomainError):
            for value, rows in self._table.engine.counted(self._table.frame, name, _SPELLINGS):
                if value is not None:
                    found = encode_answers(block, name, pa.array([value]), text=False)[1]
                    read.update(dict.fromkeys(found, rows))
        return read

    @property
    def _table(self) -> SparkTable:
        table = self.source.table
        assert isinstance(table, SparkTable)
        return table

    def _frame(self) -> Any:
        """The columns that are read, in partitions that are the same in every attempt."""
        columns, person = self.layout.source_columns, self.plan.budget.person
        frame = self._table.engine.select(self._table.frame, columns)
        if self._table.path is not None:
            return frame
        if person is None or (self.plan.budget.rows_per_person or 1) != 1:
            raise ReleaseError(
                "the rows of a data frame have no fixed place, so each needs a person of its own: name the column with "
                "person = … and rows_per_person = 1 in [budget], or write the frame to a folder and give that"
            )
        return self._table.engine.by_key(frame, person)


def _not_a_folder() -> ReleaseError:
    return ReleaseError("on Spark the output is a folder: give a path without a file ending")
