"""What differs when a table is released on Spark: where the rows are, and who writes them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from discreet import arguments
from discreet.blocks import Block
from discreet.engines.spark import Spark
from discreet.errors import DomainError, ReleaseError
from discreet.manifest.signature import SigningKey
from discreet.publish.plan import Plan
from discreet.publish.run.answers import ReadAs, encode_answers, meanings
from discreet.publish.run.distributed import ORDER, SparkRun
from discreet.publish.run.folder_output import FolderOutput
from discreet.publish.run.spark_types import spark_schema
from discreet.publish.run.uniqueness import can_be_counted, is_nearly_unique
from discreet.publish.run.work import Progress, Work
from discreet.publish.run.writing import Output
from discreet.randomness import Randomness
from discreet.reading import Release
from discreet.tables.readers import PARQUET, FolderTable, ParquetTable, Source, TableFile

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
