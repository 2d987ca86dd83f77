"""The three verbs on Apache Spark, by data frames and ``mapInArrow`` only; no type of Spark leaves this file.

A task of Spark may run twice: its machine was lost, or slow. Whatever is handed to this engine must therefore be a pure
function of a partition's number and rows. Noise comes from streams under the number of the partition
(:mod:`discreet.randomness.key`), and what was randomised is written down before it is moved.
"""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import pyarrow as pa

from discreet import errors
from discreet.engines.engine import Engine, Table
from discreet.errors import Argument, DiscreetError, DomainError, InputError

#: A partition's number and its rows in, other rows out.
Task = Callable[[int, Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]

#: Versions before this one report success when rows were lost and others published twice.
LEAST_VERSION = (4, 2)
#: What notices that a task which ran again gave other rows.
_CHECKSUMS = (
    "spark.sql.shuffle.orderIndependentChecksum.enabled",
    "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch",
)
#: What Spark encrypts everything with that it puts on a local disk: spilled tasks and broadcasts, shuffled rows.
ENCRYPTION = "spark.io.encryption.enabled"
#: Results that are added up at once, and that come to the driver.
AT_ONCE = 32
#: What makes a pattern of a path that Spark reads.
_PATTERN = re.compile(r"[*?\[\]{}\\]")
#: How an error of ours is found in what Spark says about a failed task.
_MARK = "discreet-refused"
_REFUSED = re.compile(_MARK + r" (\w+): (.*?) " + _MARK, re.DOTALL)


class Spark(Engine):
    """A session of Spark.

    Parameters
    ----------
    session : pyspark.sql.SparkSession
        Of Spark 4.2 or later, also through Spark Connect. discreet must be installed where its executors run, and
        they must see the folders of source and output under the same path. A release needs a session that was started
        with ``spark.io.encryption.enabled=true``; estimates and audits do not.

    Raises
    ------
    InputError
        The session is none, too old, or its checksums are switched off.
    """

    keeps_order = False

    def __init__(self, session: Any) -> None:
        if not (hasattr(session, "version") and hasattr(session, "read") and hasattr(session, "conf")):
            raise InputError(f"engines.Spark needs a SparkSession, not {type(session).__name__}")
        found = tuple(int(number) for number in re.findall(r"\d+", str(session.version))[:2])
        if found < LEAST_VERSION:
            raise InputError(
                f"Spark {session.version} can lose rows and publish others twice when an executor is lost, and report "
                f"success; use Spark {'.'.join(map(str, LEAST_VERSION))} or later"
            )
        self._session = session
        self._refuse_without_checksums()

    def _refuse_without_checksums(self) -> None:
        for name in _CHECKSUMS:
            if str(self._session.conf.get(name, "true")).lower() == "false":
                raise InputError(f"{name} is switched off; it notices tasks that gave other rows when they ran again")

    def check_encryption(self) -> None:
        """Refuse a session that would put tasks, and the key of the noise in them, on its local disks as they are.

        Under memory pressure Spark moves the binary of a task to disk, on the driver and on every executor.
        """
        # The settings of a session take this name at any time, which changes nothing. A client of Spark Connect has no
        # others: its server refuses to change this one.
        context = getattr(self._session, "sparkContext", None)
        settings = self._session.conf if context is None else context.getConf()
        if str(settings.get(ENCRYPTION, "false")).lower() != "true":
            raise InputError(
                f"{ENCRYPTION} is off, so Spark could write the key of the noise to a local disk; "
                f"start the session (with Spark Connect, its server) with {ENCRYPTION}=true"
            )

    def check_path(self, path: Path) -> None:
        """Refuse a path that Spark takes for a pattern, before anything is read or written."""
        if _PATTERN.search(str(path.resolve())):
            raise InputError(f"{path}: Spark reads * ? [ ] {{ }} and \\ in a path as a pattern; rename the folder")

    def read(self, paths: Sequence[Path], base: Path) -> Any:
        """The rows of Parquet files; folders called ``term=2024`` below the base give columns of text."""
        inference = "spark.sql.sources.partitionColumnTypeInference.enabled"
        before = self._session.conf.get(inference, "true")
        self._session.conf.set(inference, "false")
        try:
            reader = self._session.read.option("basePath", _uri(base)) if base.is_dir() else self._session.read
            with _refusing(
                f"Spark cannot list or read the Parquet files of {base}: its executors need the same paths, and every "
                "column a type that Spark has and a name that differs from the others by more than its case"
            ):
                return reader.parquet(*(_uri(path) for path in paths))
        finally:
            self._session.conf.set(inference, before)

    def is_frame(self, source: Any) -> bool:
        """Whether this is a data frame of Spark."""
        return hasattr(source, "mapInArrow") and hasattr(source, "sparkSession")

    def is_deterministic(self, frame: Any) -> bool:
        """Whether a frame gives the same rows each time, as far as can be known; not through Spark Connect."""
        plan = getattr(frame, "_jdf", None)
        return plan is not None and bool(plan.queryExecution().analyzed().deterministic())

    def schema(self, frame: Any) -> pa.Schema:
        """Names and types, as a task sees them."""
        from pyspark.sql.pandas.types import to_arrow_schema

        zone = self._session.conf.get("spark.sql.session.timeZone")
        return pa.schema([(field.name, field.type) for field in to_arrow_schema(frame.schema, timezone=zone)])

    def select(self, frame: Any, columns: Sequence[str]) -> Any:
        """Some columns; a dot in a name is part of it."""
        return frame.select(*(_quoted(name) for name in columns))

    def by_key(self, frame: Any, column: str) -> Any:
        """Rows with a unique key in an order and partitions that depend on nothing else."""
        return frame.repartition(_quoted(column)).sortWithinPartitions(_quoted(column))

    def map_batches(self, frame: Any, task: Task, schema: pa.Schema) -> Any:
        """What a task gives for each partition."""
        from pyspark.sql.pandas.types import from_arrow_schema

        names = list(frame.columns)
        if not any("." in name or "`" in name for name in names):
            return frame.mapInArrow(_Quiet(task), from_arrow_schema(schema))
        # mapInArrow would look for fields of a column where its name has a dot.
        numbered = frame.toDF(*(f"column {place}" for place in range(len(names))))
        return numbered.mapInArrow(_Quiet(task, names), from_arrow_schema(schema))

    def order_randomly(self, frame: Any, key: str, parts: int) -> Any:
        """All rows in a random order, given a random number in each: its hash names the part, and parts are sorted."""
        return frame.repartition(parts, key).sortWithinPartitions(key)

    def write(self, frame: Any, folder: Path) -> list[Path]:
        """Write the rows, one file per partition; the files in the order of the partitions."""
        self._refuse_without_checksums()
        with _refusing():
            frame.write.parquet(_uri(folder))
        return sorted(path for path in folder.iterdir() if path.name.startswith("part-"))

    def count(self, frame: Any) -> int:
        """Number of rows."""
        with _refusing():
            return int(frame.count())

    def most_rows(self, frame: Any, column: str) -> tuple[int, int]:
        """How many rows have nothing in a column, and how many the most frequent value has."""
        from pyspark.sql import functions as F  # noqa: N812  # as everybody calls it

        counted = frame.groupBy(F.col(_quoted(column)).alias("one")).agg(F.count(F.lit(1)).alias("rows"))
        blank = F.max(F.when(F.col("one").isNull(), F.col("rows")))
        most = F.max(F.when(F.col("one").isNotNull(), F.col("rows")))
        with _refusing():
            row = counted.agg(blank.alias("blank"), most.alias("most")).toArrow().to_pylist()[0]
        return int(row["blank"] or 0), int(row["most"] or 0)

    def summarise(
        self, frame: Any, listed: Sequence[str], bounds: Mapping[str, tuple[float, float]]
    ) -> tuple[dict[str, tuple[int, int]], dict[str, int]]:
        """About how many different values some columns have, and how many cells; how many numbers are out of bounds."""
        from pyspark.sql import functions as F  # noqa: N812  # as everybody calls it

        asked = [count(_quoted(name)) for count in (F.approx_count_distinct, F.count) for name in listed]
        for name, (low, high) in bounds.items():
            number = F.col(_quoted(name)).cast("double")
            asked.append(F.count_if(((number < low) | (number > high)) & ~F.isnan(number)))
        with _refusing():
            row = frame.agg(*(one.alias(str(place)) for place, one in enumerate(asked))).toArrow().to_pylist()[0]
        found, size = [int(row[str(place)]) for place in range(len(asked))], len(listed)
        different = dict(zip(listed, zip(found[:size], found[size : 2 * size], strict=True), strict=True))
        return different, dict(zip(bounds, found[2 * size :], strict=True))

    def counted(self, frame: Any, column: str, most: int) -> list[tuple[Any, int]]:
        """The different values of a column, at most so many of them, and how many rows have each."""
        with _refusing():
            found = self.select(frame, [column]).toDF("value").groupBy("value").count().limit(most).toArrow()
        return [(row["value"], row["count"]) for row in found.to_pylist()]

    def sum(self, items: Sequence[bytes], part: Callable[[bytes], Any], *, add: bool = False) -> list[Any]:
        """What a function gives for each item, worked out on the executors and brought together here.

        With ``add``, results that stand next to each other are added up there while there are more than a few, so that
        the driver holds a few however many items there are.
        """
        from pyspark.sql import functions as F  # noqa: N812  # as everybody calls it
        from pyspark.sql import types as T  # noqa: N812

        schema = T.StructType([T.StructField("place", T.LongType()), T.StructField("item", T.BinaryType())])
        frame, count = self._session.createDataFrame(list(enumerate(items)), schema), len(items)
        done = frame.repartition(count, "place").mapInArrow(_Each(part), schema)
        while add and count > AT_ONCE:
            count = -(-count // AT_ONCE)
            together = F.floor(F.col("place") / AT_ONCE)
            done = done.repartition(count, together).mapInArrow(_Added(AT_ONCE), schema)
        with _refusing():
            rows = done.toArrow().to_pylist()
        found = {row["place"]: pickle.loads(row["item"]) for row in rows}
        return [found[place] for place in range(count)]

    def rows(self, table: Table, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Read by the driver: for what is no sum over parts."""
        return table.batches(columns)

    def over_parts(self, parts: Sequence[str], work: Callable[[str], Any], *, add: bool) -> list[Any] | None:
        """One task for each part of a folder, on the executors; what it returns comes back."""
        return self.sum([part.encode() for part in parts], _Named(work), add=add)


class _Named:
    """A function of a name, for items that are bytes."""

    def __init__(self, work: Callable[[str], Any]) -> None:
        self._work = work

    def __call__(self, item: bytes) -> Any:
        return self._work(item.decode())


class _Quiet:
    """A task as Spark runs it; what it refuses is said in a form that can be found again."""

    def __init__(self, task: Task, names: list[str] | None = None) -> None:
        self._task = task
        self._names = names

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        number = context.partitionId() if context is not None else 0
        if self._names is not None:
            batches = (pa.RecordBatch.from_arrays(batch.columns, names=self._names) for batch in batches)
        try:
            yield from self._task(number, batches)
        except DiscreetError as error:
            raise _from_a_task(error) from None


class _Each:
    """A function of one item, over all items of a partition."""

    def __init__(self, part: Callable[[bytes], Any]) -> None:
        self._part = part

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            try:
                done = [pickle.dumps(self._part(item)) for item in batch.column(1).to_pylist()]
            except DiscreetError as error:
                raise _from_a_task(error) from None
            yield pa.RecordBatch.from_arrays([batch.column(0), pa.array(done, pa.binary())], names=["place", "item"])


class _Added:
    """Results of neighbouring places, added up in their order."""

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        found: dict[int, dict[int, bytes]] = {}
        for batch in batches:
            for place, item in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True):
                found.setdefault(place // self._at_once, {})[place] = item
        for place, items in found.items():
            total = reduce(add, (pickle.loads(items[one]) for one in sorted(items)))
            columns = [pa.array([place], pa.int64()), pa.array([pickle.dumps(total)], pa.binary())]
            yield pa.RecordBatch.from_arrays(columns, names=["place", "item"])


def _from_a_task(error: DiscreetError) -> RuntimeError:
    """An error in a text that passes through Java, piece by piece: which of them are arguments is kept."""
    parts = json.dumps([(part, isinstance(part, Argument)) for part in error.parts])
    return RuntimeError(f"{_MARK} {type(error).__name__}: {parts} {_MARK}")


class _refusing:  # noqa: N801  # reads like a statement where it is used
    """What Spark says about a failed job is many lines and may quote a value; one sentence is passed on."""

    def __init__(self, sentence: str | None = None) -> None:
        self._sentence = sentence

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        if not isinstance(error, Exception) or isinstance(error, (DiscreetError, OSError, MemoryError)):
            return
        ours = _REFUSED.search(str(error))
        if ours is not None:
            raised = getattr(errors, ours[1], errors.ReleaseError)
            parts = [Argument(text) if named else text for text, named in json.loads(ours[2])]
            raise (raised("".join(parts)) if issubclass(raised, DomainError) else raised(*parts)) from None
        unknown = f"Spark could not finish a job ({type(error).__name__}); its log says why"
        raise errors.ReleaseError(self._sentence or unknown) from None


def _uri(path: Path) -> str:
    """The address of a path; Hadoop takes every character for itself, so none is escaped."""
    return f"file://{path.resolve()}"


def _quoted(column: str) -> str:
    """The name of a column where Spark would read dots and backticks in it."""
    return "`" + column.replace("`", "``") + "`"
