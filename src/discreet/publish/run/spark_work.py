"""What differs when a table is released on Spark: where the rows are, and who writes them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from discreet import arguments
from discreet.engines.spark import Spark
from discreet.errors import ReleaseError
from discreet.manifest import Release
from discreet.manifest.folder import FolderTable
from discreet.manifest.signature import SigningKey
from discreet.manifest.tables import PARQUET, ParquetTable, TableFile
from discreet.publish.plan import Plan
from discreet.publish.run.distributed import ORDER, SparkRun
from discreet.publish.run.folder_output import FolderOutput
from discreet.publish.run.sources import Source
from discreet.publish.run.spark_types import spark_schema
from discreet.publish.run.work import Progress, Work
from discreet.publish.run.writing import Output
from discreet.randomness import Randomness


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

    def __init__(self, source: Source, plan: Plan, output: Path | None) -> None:
        # Executors work in folders of their own.
        super().__init__(source, plan, None if output is None else output.absolute())
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
            if not self.rows:
                raise ReleaseError("the table has no rows")
            done = run.publish(self.manifest(chance, shuffled=self.plan.order == "shuffle"), self.rows, key)
        finally:
            run.key.forget()
        if progress is not None:
            progress(self.rows)
        return done

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
