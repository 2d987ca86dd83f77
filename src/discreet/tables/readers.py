"""Tables read batch by batch: Parquet, CSV in which every cell is text, folders of parts, and Arrow streams.

An error never quotes a cell: a row of a CSV file may be private.

Parts of a folder are the files that end in ``.parquet`` or ``.pq``, in the folder and below it, in the order of their
names. A name that starts with a dot or an underscore is no part. A folder called ``region=north`` gives all rows below
it one more column (Hive's way), whose cells are text.
"""

from __future__ import annotations

import csv
import os
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from discreet import arguments, files, limits
from discreet.errors import Argument, DiscreetError, ReleaseError, SystemFailureError

#: Bytes of CSV text handled at once.
CSV_BLOCK = 1 << 24
#: Rows of a batch, and of a row group that is written: never more than this …
MAX_BATCH_ROWS = 1 << 20
MIN_BATCH_ROWS = 1 << 12
#: … nor more than should fit into this many bytes.
BATCH_BYTES = 1 << 26
#: What one cell of a type without fixed width is taken to need.
_VARIABLE_WIDTH = 32

PARQUET = (".parquet", ".pq")
CSV = (".csv",)


def rows_per_batch(schema: pa.Schema) -> int:
    """A batch size that depends on the schema alone, so that batch boundaries say nothing about the rows."""
    width = sum(_width(field.type) for field in schema)
    rows = MAX_BATCH_ROWS
    while rows > MIN_BATCH_ROWS and rows * width > BATCH_BYTES:
        rows //= 2
    return rows


def _width(kind: pa.DataType) -> float:
    try:
        return float(kind.bit_width) / 8
    except ValueError:
        return _VARIABLE_WIDTH


class TableFile(ABC):
    """A table that can be read batch by batch."""

    #: Whether every cell is text, as in a CSV file.
    text: bool = False
    #: Where it lies, if it is a file.
    path: Path | None = None

    @property
    @abstractmethod
    def schema(self) -> pa.Schema:
        """Names and types of all columns."""

    @abstractmethod
    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows, in these columns."""

    @property
    def rows(self) -> int | None:
        """Number of rows, where it is known before reading."""
        return None


class ParquetTable(TableFile):
    """A Parquet file."""

    path: Path
    #: Which file it was that was opened.
    identity: files.Identity | None = None

    def __init__(self, path: Path) -> None:
        self.path = path
        with reading(path, "Parquet"), self.opened() as file:
            self._schema = file.schema_arrow
            check_width(self._schema.names, path)
            self._rows = int(file.metadata.num_rows)
            self.metadata: dict[bytes, bytes] = dict(file.metadata.metadata or {})

    @property
    def schema(self) -> pa.Schema:
        """As stored."""
        return self._schema

    @property
    def rows(self) -> int:
        """From the footer."""
        return self._rows

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Batches of a size that depends on the columns alone."""
        names = list(columns)
        wanted = pa.schema([self._schema.field(name) for name in names])
        with reading(self.path, "Parquet"), self.opened() as file:
            for batch in file.iter_batches(batch_size=rows_per_batch(wanted), columns=names):
                # A name with a dot may bring in columns that were not asked for.
                yield batch.select(names)

    @contextmanager
    def opened(self) -> Iterator[pq.ParquetFile]:
        """The file, which must be the one that was opened first."""
        # A file that is open already: pyarrow would first ask which file system a path is in.
        with (
            files.under_a_name(self.path, self.identity) as (name, self.identity),
            pa.OSFile(name) as source,
            pq.ParquetFile(source) as file,
        ):
            yield file


class CsvTable(TableFile):
    """A CSV file with a header, by default in UTF-8 and separated by commas.

    An empty cell is null, and so is one of the texts in ``missing``; every other one is text.
    """

    text = True
    path: Path

    def __init__(
        self, path: Path, missing: Sequence[str] = (), *, delimiter: str = ",", encoding: str = "utf-8"
    ) -> None:
        self.path = path
        self._missing, self._delimiter, self._encoding = missing, delimiter, encoding
        marked = "utf-8-sig" if encoding == "utf-8" else encoding
        with reading(path, "CSV"), files.ordinary_text(path, marked) as text:
            self.identity = files.Identity.of(os.fstat(text.fileno()))
            self.header = _csv_header(text, path, delimiter)

    @cached_property
    def schema(self) -> pa.Schema:
        """Every column is text."""
        return pa.schema([(name, pa.string()) for name in self.header])

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Blocks of the file; embedded quotes, commas and line ends are part of their cells."""
        wrong: list[Any] = []

        def remember(row: Any) -> str:
            wrong.append((row.actual_columns, row.expected_columns))
            return "error"

        try:
            with (
                reading(self.path, "CSV"),
                files.under_a_name(self.path, self.identity) as (name, _),
                pa.OSFile(name) as source,
            ):
                yield from self._read(source, list(columns), remember)
        except ReleaseError:
            if wrong:
                actual, expected = wrong[0]
                raise ReleaseError(
                    f"{self.path.name}: a row has {actual} cells where the header has {expected}"
                ) from None
            raise

    def _read(self, source: pa.NativeFile, columns: list[str], on_wrong_row: Any) -> Iterator[pa.RecordBatch]:
        reader = pa_csv.open_csv(
            source,
            read_options=pa_csv.ReadOptions(block_size=CSV_BLOCK, use_threads=False, encoding=self._encoding),
            parse_options=pa_csv.ParseOptions(
                delimiter=self._delimiter,
                newlines_in_values=True,
                # In a table of one column an empty line is an empty cell; in a wider one it is no row.
                ignore_empty_lines=len(self.header) > 1,
                invalid_row_handler=on_wrong_row,
            ),
            convert_options=pa_csv.ConvertOptions(
                column_types={name: pa.string() for name in self.header},
                include_columns=columns,
                null_values=["", *self._missing],
                strings_can_be_null=True,
                quoted_strings_can_be_null=True,
            ),
        )
        with reader:
            yield from reader


def _csv_header(text: TextIO, path: Path, delimiter: str) -> list[str]:
    header = next(csv.reader(_first_lines(text, path), strict=True, delimiter=delimiter), None)
    if not header:
        raise ReleaseError(f"{path.name}: a CSV file needs a header with the names of its columns")
    return check_width(header, path)


def likely_delimiter(header: Sequence[str]) -> str | None:
    """What a header of a single name seems to be separated by, if not by a comma."""
    if len(header) != 1:
        return None
    counts = {mark: header[0].count(mark) for mark in (";", "\t", "|")}
    best = max(counts, key=lambda mark: counts[mark])
    return best if counts[best] else None


def _first_lines(text: TextIO, path: Path) -> Iterator[str]:
    """Lines until the header must have ended: a file need not have any line end."""
    left = limits.HEADER_CHARACTERS
    while line := text.readline(left + 1):
        left -= len(line)
        if left < 0:
            raise ReleaseError(f"{path.name}: the header is longer than {limits.HEADER_CHARACTERS:,} characters")
        yield line


def check_width(names: list[str], path: Path) -> list[str]:
    """The names of the columns, refused when there are too many of them."""
    if len(names) > limits.TABLE_COLUMNS:
        raise ReleaseError(f"{path.name} has {len(names):,} columns, over the limit of {limits.TABLE_COLUMNS:,}")
    return names


@contextmanager
def reading(path: Path, kind: str) -> Iterator[None]:
    """Turn what can go wrong with a file into one sentence that quotes nothing from inside it."""
    try:
        with files.reading(path):
            try:
                yield
            except OSError as error:
                if error.errno is None and not isinstance(error, SystemFailureError):
                    raise pa.ArrowInvalid from None  # Arrow's word for a file whose inside makes no sense
                raise
    except UnicodeEncodeError:
        raise ReleaseError(f"the path of a {kind} file is not UTF-8, so it cannot be opened; rename it") from None
    except UnicodeError:  # also where an encoding needs a mark at the start that is not there
        raise _not_this_encoding(path, kind) from None
    except pa.ArrowMemoryError:
        raise ReleaseError(f"{path.name} is damaged, or needs more memory than this machine has") from None
    except (pa.ArrowException, csv.Error):
        raise ReleaseError(f"{path.name} cannot be read as a {kind} file") from None


def _not_this_encoding(path: Path, kind: str) -> ReleaseError:
    if kind != "CSV":
        return ReleaseError(f"{path.name} has a column whose name is not UTF-8; rename that column")
    return ReleaseError(
        f"{path.name} is not a {kind} file in UTF-8, or not in the encoding that is named; say in the plan which it "
        'is, as in encoding = "latin-1"; a skeleton takes it as ',
        Argument('encoding="latin-1"'),
    )


def file_table(path: Path, missing: Sequence[str] = (), *, delimiter: str = ",", encoding: str = "utf-8") -> TableFile:
    """A table by the ending of its name; ``missing`` is text that stands for a missing value in a CSV file."""
    suffix = path.suffix.lower()
    if suffix not in PARQUET + CSV:
        raise ReleaseError(f'{path.name}: "{suffix}" is not a kind of table that can be read; use .parquet or .csv')
    if suffix in PARQUET:
        return ParquetTable(path)
    return CsvTable(path, missing, delimiter=delimiter, encoding=encoding)


#: What Hive calls a value that is missing.
_NULL = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class Part:
    """One file of a folder, its name relative to the folder, and the columns that its place gives."""

    name: str
    table: ParquetTable
    constants: Mapping[str, str | None]

    def batches(self, columns: Sequence[str], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """The rows of the part in these columns."""
        inside = [name for name in columns if name not in self.constants]
        # A part all of whose columns come from its place still has as many rows.
        read = inside or self.table.schema.names[:1]
        for batch in self.table.batches(read):
            arrays = [
                pa.repeat(pa.scalar(self.constants[name], pa.string()), batch.num_rows)
                if name in self.constants
                else batch.column(name)
                for name in columns
            ]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)


class FolderTable(TableFile):
    """The parts of a folder as one table.

    Parameters
    ----------
    path : Path
        The folder.
    names : sequence of str, optional
        The parts, relative to the folder; default: all that are there.
    """

    path: Path

    def __init__(self, path: Path, names: Sequence[str] | None = None) -> None:
        self.path = path
        listed = part_names(path) if names is None else list(names)
        if not listed:
            raise ReleaseError(f"{path} holds no Parquet file")
        self.parts = [Part(name, ParquetTable(path / name), _constants(name)) for name in listed]
        self._schema = self._common_schema()

    def _common_schema(self) -> pa.Schema:
        first = self.parts[0]
        plain = first.table.schema.remove_metadata()
        for part in self.parts:
            if not part.table.schema.remove_metadata().equals(plain) or part.constants.keys() != first.constants.keys():
                raise ReleaseError(
                    f"{part.name} has other columns or types than {first.name}; "
                    "all parts of a folder must have the same"
                )
        for name in first.constants:
            if name in plain.names:
                raise ReleaseError(f'"{name}" is both a column of {first.name} and a folder {name}=…; rename one')
        return pa.schema([*plain, *((name, pa.string()) for name in first.constants)])

    @property
    def schema(self) -> pa.Schema:
        """Of every part, and the columns that its place gives."""
        return self._schema

    @property
    def rows(self) -> int:
        """From the footers."""
        return sum(part.table.rows for part in self.parts)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows of the parts, one part after the other."""
        for batches in self.part_batches(columns):
            yield from batches

    def part_batches(self, columns: Sequence[str]) -> list[Iterator[pa.RecordBatch]]:
        """The rows of every part."""
        schema = pa.schema([self._schema.field(name) for name in columns])
        return [part.batches(columns, schema) for part in self.parts]


def part_names(folder: Path) -> list[str]:
    """The parts in a folder and below, relative to it, in the order of their names."""
    found: list[str] = []
    with reading(folder, "Parquet"):
        for place, below, files in os.walk(folder, onerror=refuse):
            below[:] = sorted(name for name in below if not name.startswith((".", "_")))
            inside = Path(place).relative_to(folder)
            found += [
                (inside / name).as_posix()
                for name in files
                if not name.startswith((".", "_")) and name.lower().endswith(PARQUET)
            ]
            if len(found) > limits.FOLDER_PARTS:
                raise ReleaseError(f"{folder} has more than {limits.FOLDER_PARTS:,} parts")
    return sorted(found)


def refuse(error: OSError) -> None:
    """Let what cannot be listed be an error, not an empty folder."""
    raise error


def _constants(name: str) -> dict[str, str | None]:
    """The columns that the folders of a part give: ``region=north/part.parquet``."""
    pairs = [place.partition("=") for place in name.split("/")[:-1] if "=" in place]
    return {unquote(key): None if value == _NULL else unquote(value) for key, _, value in pairs}


def table_at(path: Path, missing: Sequence[str] = (), *, delimiter: str = ",", encoding: str = "utf-8") -> TableFile:
    """A table in a file, by the ending of its name, or in a folder."""
    if path.is_dir():
        return FolderTable(path)
    return file_table(path, missing, delimiter=delimiter, encoding=encoding)


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
