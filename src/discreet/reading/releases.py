"""A released table with its manifest, ready to be learned from."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypeVar, runtime_checkable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet import arguments
from discreet import arrow_functions as pc
from discreet.blocks import Block
from discreet.domains import Domain, FiniteDomain
from discreet.domains.buffers import array_of, blanks_of, numbers_of
from discreet.domains.columns import is_text, without_dictionary
from discreet.engines import Engine, Local
from discreet.engines.local import available_cores
from discreet.errors import Argument, DomainError, InputError, ManifestError, ReleaseError, SystemFailureError
from discreet.files import Identity
from discreet.files.whole import replaced_path
from discreet.manifest.digest import ColumnForm, column_forms, form_of
from discreet.manifest.document import Column, Manifest, Survey, parsed
from discreet.manifest.parts import MANIFEST_NAME, check_files, check_rows, described, manifest_of_folder
from discreet.manifest.storage import read_csv_manifest, read_parquet_manifest, sidecar_path
from discreet.mechanisms import FiniteMechanism, Mechanism
from discreet.plain_text import one_line
from discreet.privacy import Guarantee
from discreet.reading.exposure import Combination, choosing_columns, count_designs, expected_rows
from discreet.tables.readers import FolderTable, ParquetTable, TableFile, file_table, rows_per_batch

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

#: Public text that stands for numbers is read as such.
_NUMBERS: dict[str, pa.DataType] = {"integer": pa.int64(), "number": pa.float64(), "boolean": pa.bool_()}


#: Text domains with more labels than this are held as plain text: every row group of a Parquet file, and every
#: batch, would otherwise carry the whole list.
MAX_DICTIONARY = 1 << 16


def report_type(reports: Domain) -> pa.DataType:
    """The type of a released column."""
    kind, long = reports.arrow_type, isinstance(reports, FiniteDomain) and reports.size > MAX_DICTIONARY
    return kind.value_type if pa.types.is_dictionary(kind) and long else kind


class ReleasedColumn:
    """One column of a release: where it comes from, and the type in which it is handed out."""

    def __init__(self, column: Column, reports: Domain | None, stored: pa.DataType, *, blanks: bool = True) -> None:
        self.name = column.name
        self.reports = reports
        self._blanks = blanks  # whether a cell can be blank
        self._stored = stored
        if reports is not None:
            self.type = report_type(reports)
        else:
            self.type = _NUMBERS.get(column.type or "text", stored) if is_text(stored) else stored

    @cached_property
    def _dictionary(self) -> pa.Array | None:
        """The labels in their declared order, when the column is handed out as a dictionary."""
        if self.reports is None or not pa.types.is_dictionary(self.type):
            return None
        return self.reports.decode_arrow(np.zeros(0, np.uint8)).dictionary

    def fits(self, form: str | None) -> bool:
        """Whether the stored type can hold what was released, by the form of its digest where there is one."""
        if self.reports is not None:
            return _family(self._stored) == _family(self.type)
        return form is None or _form_or_none(self._stored) == form

    def read(self, cells: pa.Array, first_row: int) -> pa.Array:
        """Cells in the type of the column."""
        if self.reports is not None:
            return self._read_reports(self.reports, cells, first_row)
        if cells.type == self.type:
            return cells
        try:
            return cells.cast(self.type)
        except pa.ArrowInvalid:
            raise ReleaseError(f'column "{self.name}" holds text where the manifest says {self.type}') from None

    def _read_reports(self, reports: Domain, cells: pa.Array, first_row: int) -> pa.Array:
        if cells.null_count and not self._blanks:
            row = first_row + int(np.flatnonzero(blanks_of(cells))[0])
            raise ReleaseError(
                f'column "{self.name}", row {row} (counted from 0) is blank, but no blank was released; '
                "the table was changed"
            )
        if cells.type == self.type and (self._dictionary is None or cells.dictionary.equals(self._dictionary)):
            return cells
        return decoded(reports, *self._encoded(reports, cells, first_row))

    def _encoded(
        self, reports: Domain, cells: pa.Array, first_row: int
    ) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        try:
            values = reports.parse(cells) if is_text(cells.type) else cells
            return reports.encode_reports(values)
        except DomainError as error:
            raise error.at(column=self.name, first_row=first_row) from None

    def coded(self, cells: pa.Array, first_row: int) -> pa.Array:
        """Reports as codes, null where there is none; public cells as they are stored, without dictionaries."""
        if self.reports is not None:
            codes, missing = self._encoded(self.reports, cells, first_row)
            return array_of(codes, missing)
        return without_dictionary(cells)


def _family(kind: pa.DataType) -> str:
    """Text, booleans and numbers are never taken for each other."""
    if pa.types.is_dictionary(kind):
        return _family(kind.value_type)
    return "text" if is_text(kind) else "boolean" if pa.types.is_boolean(kind) else "number"


def _form_or_none(kind: pa.DataType) -> str | None:
    try:
        return form_of(kind)
    except ReleaseError:
        return None


def decoded(domain: Domain, codes: NDArray[Any], missing: NDArray[np.bool_] | None) -> pa.Array:
    """Labels of codes, with nulls where something is missing."""
    values = domain.decode_arrow(codes)
    if values.type != report_type(domain):
        values = values.dictionary_decode()
    if missing is None:
        return values
    if pa.types.is_dictionary(values.type):
        indices = array_of(numbers_of(values.indices), missing)
        return pa.DictionaryArray.from_arrays(indices, values.dictionary)
    return pc.if_else(pa.array(missing), pa.scalar(None, values.type), values)


Opened = TypeVar("Opened")

#: How often a release may be replaced while it is opened; each time it is opened anew.
_ATTEMPTS = 50
#: How long a name may be without a release while a folder is replaced, where two names cannot be exchanged at once.
_GAP_SECONDS = 2.0


def steadily(path: Path, open_now: Callable[[], Opened]) -> Opened:
    """What opening gives or raises, if the same release lay at the path before and after; else it is opened again."""
    for _ in range(_ATTEMPTS):
        before = _state(path)
        try:
            opened = open_now()
        except (InputError, SystemFailureError):
            if _state(path) == before:
                raise
        else:
            if _state(path) == before:
                return opened
    raise ReleaseError(f"{path} was replaced {_ATTEMPTS} times while it was opened; open it when that has ended")


def _state(path: Path) -> tuple[Identity | None, ...]:
    """Which table and manifest lie at a path; a folder that is being replaced is waited for."""
    if not path.name:  # a folder above, whose name is not written here
        return (_identity(path), _identity(path / MANIFEST_NAME))
    deadline = time.monotonic() + _GAP_SECONDS
    while not os.path.lexists(path) and replaced_path(path).is_dir():
        if time.monotonic() > deadline:
            raise ReleaseError(
                f"there is no {path}: a process was stopped while it replaced this release; the earlier release is "
                f"complete in {replaced_path(path)}, rename it or repeat the release"
            )
        time.sleep(_GAP_SECONDS / 100)
    return tuple(_identity(one) for one in (path, path / MANIFEST_NAME, sidecar_path(path)))


def _identity(path: Path) -> Identity | None:
    try:
        return Identity.of(os.stat(path))
    except (OSError, ValueError):
        return None


@runtime_checkable
class Collects(Protocol):
    """A plan, as far as a release has to know one: it takes in answers that respondents randomised."""

    def collect(self, table: Any) -> Release:
        """A release in memory made of these answers."""


class InMemory(TableFile):
    """Released rows held in memory."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    @property
    def schema(self) -> pa.Schema:
        """Of the table."""
        return self.table.schema

    @property
    def rows(self) -> int:
        """Of the table."""
        return int(self.table.num_rows)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """In the chunks in which it is held."""
        chosen = self.table.select(list(columns))
        yield from chosen.to_batches(max_chunksize=rows_per_batch(chosen.schema))


class Release:
    """A table in which every private answer was randomised, and the manifest that says how.

    It is made by ``release(...)``, by ``Release.open(path)`` or by ``Release.from_reports(table, plan)``, and can
    be handed to anything that reads the Arrow stream interface: polars, pandas, DuckDB.

    Attributes
    ----------
    manifest : Manifest
        What was done.
    engine : Engine
        Where its rows are counted.
    stored : TableFile
        Where its rows are.
    """

    __slots__ = ("_columns", "_document", "engine", "manifest", "stored")

    #: Writing is the business of ``discreet.publish``, which says here how it is done.
    writer: ClassVar[Callable[..., Release] | None] = None

    def __init__(
        self,
        manifest: Manifest,
        stored: TableFile,
        document: Mapping[str, Any] | None = None,
        engine: Engine | None = None,
    ) -> None:
        self.manifest = manifest
        self.engine = engine or Local()
        self.stored = stored
        self._document = document
        complete = {name for block in manifest.blocks if block.complete for name in block.columns}
        self._columns = {
            column.name: ReleasedColumn(
                column,
                manifest.reports(column.name),
                stored.schema.field(column.name).type,
                blanks=column.name not in complete,
            )
            for column in manifest.columns
        }

    @classmethod
    def open(cls, path: str | os.PathLike[str], engine: Engine | None = None) -> Self:
        """Open a released Parquet or CSV file, or a folder of parts, and check that the manifest is its own.

        Parameters
        ----------
        path : path
            A file, or a folder with ``part-*.parquet`` and ``_manifest.json``.
        engine : Engine, optional
            Where columns are counted for estimates: ``engines.Spark(session)``, or this machine by default.

        Raises
        ------
        ManifestError
            The manifest is damaged, newer than this version, or not the one of this file.
        ReleaseError
            There is no such file, or it is not a release.
        """
        file = arguments.path(path, "path", ReleaseError)
        if engine is not None and not isinstance(engine, Engine):
            raise ReleaseError(
                Argument("engine"), f" must be engines.Local() or engines.Spark(session), not {type(engine).__name__}"
            )
        opened: Self = steadily(file, lambda: cls._open(file, engine))
        return opened

    @classmethod
    def _open(cls, file: Path, engine: Engine | None) -> Self:
        """Open what lies there now; it may be replaced meanwhile."""
        if file.is_dir():
            return cls._open_folder(file, engine)
        table = file_table(file)
        if isinstance(table, ParquetTable):
            manifest, document = read_parquet_manifest(table)
            opened = cls(manifest, table, document)
            opened._check_types(file.name)
            return opened
        manifest, document = read_csv_manifest(file)
        if table.schema.names != [column.name for column in manifest.columns]:
            raise ManifestError(f"{file.name} does not match its manifest: its columns are not the released ones")
        return cls(manifest, table, document)

    @classmethod
    def _open_folder(cls, folder: Path, engine: Engine | None) -> Self:
        document = parsed(manifest_of_folder(folder))
        manifest = Manifest.from_dict(document)
        check_files(folder, manifest.files, engine)
        table = FolderTable(folder, [file.name for file in manifest.files])
        check_rows(folder, manifest.files, {part.name: part.table.rows for part in table.parts})
        if table.schema.names != [column.name for column in manifest.columns]:
            raise ManifestError(f"{folder.name} does not match its manifest: its columns are not the released ones")
        opened = cls(manifest, table, document, engine or Local(available_cores()))
        opened._check_types(folder.name)
        return opened

    def _check_types(self, name: str) -> None:
        """Public columns must have the type that was released, and reports one that fits their labels."""
        content = self.manifest.content
        released = {} if content is None else {column.name: column.form for column in content.columns}
        for column in self._columns.values():
            if not column.fits(released.get(column.name)):
                raise ManifestError(
                    f'{name} does not match its manifest: column "{column.name}" is not of the type that was released'
                )

    @classmethod
    def from_table(cls, manifest: Manifest, table: pa.Table) -> Self:
        """A release held in memory."""
        return cls(manifest, InMemory(table))

    @staticmethod
    def from_reports(table: Any, plan: Collects) -> Release:
        """Take in answers that respondents randomised themselves, with dice, a spinner or a device.

        Parameters
        ----------
        table : path, or anything that speaks the Arrow stream interface
            The answers as they were given.
        plan : Plan
            Its private blocks say ``collected = true`` and by which design, or one design per row group.
        """
        if not isinstance(plan, Collects):
            raise ReleaseError("Release.from_reports needs a Plan; read one with Plan.read(path)")
        return plan.collect(table)

    @property
    def guarantee(self) -> Guarantee:
        """What is promised about a row, or about a person where rows per person were declared."""
        return self.manifest.guarantee

    def explain(self) -> str:
        """The promise in words, with how many rows it is expected to expose, counted by design.

        Rows are called people where it was declared that everybody has one.
        """
        blocks, choosing = self.manifest.blocks, choosing_columns(self.manifest.blocks)
        counts: Mapping[Combination, int] = {(): self.rows}
        if choosing:
            counts = count_designs(self.batches(choosing), choosing)
        expected = expected_rows(blocks, choosing, counts)
        whom = {"people" if self.manifest.rows_per_person == 1 else "rows": self.rows}
        text = self.guarantee.explain(**whom, failing=expected.failing, exposed=expected.exposed)
        return "\n".join([text, *(f"Exposed rows of {line}." for line in expected.by_design)])

    @property
    def columns(self) -> list[str]:
        """Names of all released columns."""
        return [column.name for column in self.manifest.columns]

    @property
    def rows(self) -> int:
        """Number of released rows."""
        return self.manifest.rows

    @property
    def survey(self) -> Survey:
        """Which columns hold weights, strata and clusters."""
        return self.manifest.survey

    @property
    def schema(self) -> pa.Schema:
        """Names and types as ``batches`` gives them."""
        return pa.schema([(name, column.type) for name, column in self._columns.items()])

    @property
    def document(self) -> Mapping[str, Any]:
        """The manifest as plain data exactly as it was published: this is what a signature is of."""
        return self.manifest.to_dict() if self._document is None else self._document

    @property
    def path(self) -> Path | None:
        """Where the table lies, when it lies in a file."""
        return self.stored.path

    def block(self, column: str) -> Block:
        """How a private column was randomised."""
        block = self.manifest.block(self._column(column).name)
        if block is None:
            raise ReleaseError(f'column "{column}" is public: it was copied, not randomised')
        return block

    def mechanism(self, column: str) -> Mechanism:
        """The mechanism of a private column, when all rows share one."""
        block = self.block(column)
        if block.mechanism is None:
            raise ReleaseError(
                f'column "{column}" was asked under designs that differ by "{block.by}"; use block("{column}").designs'
            )
        if block.memoised and isinstance(block.mechanism, FiniteMechanism):
            return block.mechanism.memoised_for(json.dumps([column, block.truths_of(column).to_dict()], sort_keys=True))
        return block.mechanism

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The rows, batch by batch, in these columns (default: all)."""
        names = self.columns if columns is None else _listed(columns)
        engine = Local() if columns is None else self.engine
        return _decoded([self._column(name) for name in names], engine.rows(self.stored, names))

    def coded(self) -> Iterator[pa.RecordBatch]:
        """The rows as digests see them: reports as codes, null where there is none; public cells as stored."""
        first_row = 0
        for batch in self.stored.batches(self.columns):
            yield pa.RecordBatch.from_arrays(
                [self._columns[name].coded(batch.column(name), first_row) for name in self.columns], names=self.columns
            )
            first_row += batch.num_rows

    @property
    def text(self) -> bool:
        """Whether public cells are held as text, as in a CSV file."""
        return self.stored.text

    @property
    def reports(self) -> dict[str, Any]:
        """What each private column can report, by name."""
        return {name: column.reports for name, column in self._columns.items() if column.reports is not None}

    def forms(self) -> dict[str, ColumnForm]:
        """The canonical form of every column, in which its cells are digested."""
        schema = pa.schema([self.stored.schema.field(name) for name in self.columns])
        return column_forms(schema, self.reports, text=self.stored.text)

    def to_arrow(self, columns: Sequence[str] | None = None) -> pa.Table:
        """All rows as one Arrow table."""
        chosen = self.columns if columns is None else _listed(columns)
        schema = pa.schema([(name, self._column(name).type) for name in chosen])
        return pa.Table.from_batches(self.batches(chosen), schema=schema)

    def to_pandas(self, columns: Sequence[str] | None = None) -> pd.DataFrame:
        """All rows as a pandas data frame."""
        frame: pd.DataFrame = self.to_arrow(columns).to_pandas()
        return frame

    def to_polars(self, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """All rows as a polars data frame."""
        try:
            import polars as pl
        except ImportError:
            raise ReleaseError("to_polars needs polars (pip install polars); to_arrow() needs nothing") from None
        return pl.DataFrame(self.to_arrow(columns))

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Release:
        """Keep the release in a Parquet or CSV file with its manifest. Nothing is randomised again.

        Parameters
        ----------
        path : path
            The ending says the kind: .parquet or .csv.
        overwrite : bool
            Whether an existing release may be replaced.

        Returns
        -------
        Release
            The one in the file.
        """
        if Release.writer is None:
            raise ReleaseError("saving needs discreet.publish; import discreet.publish first")
        return Release.writer(self, path, overwrite=overwrite)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return pa.RecordBatchReader.from_batches(self.schema, self.batches()).__arrow_c_stream__(requested_schema)

    def _column(self, name: str) -> ReleasedColumn:
        try:
            return self._columns[name]
        except (KeyError, TypeError):
            raise ReleaseError(
                f'there is no column "{name}" in the release; it has {", ".join(self.columns)}'
            ) from None

    def summary(self) -> str:
        """What was released and what is promised, for people."""
        manifest = self.manifest
        order = "in random order" if manifest.order == "shuffle" else "in the order of the source"
        lines = [f"{one_line(manifest.title or 'Release')}: {manifest.rows:,} rows, {order}"]
        if manifest.insecure:
            lines.append(f"NOT SECURE: made with a {one_line(manifest.source)}; whoever knows the seed can undo it")
        public = [column.name for column in manifest.columns if column.role != "private"]
        lines.append(f"Public, copied as they are: {one_line(', '.join(public)) or 'none'}")
        if manifest.additions:
            lines.append(described(manifest.additions))
        if manifest.spreadsheet_safe:
            lines.append("Public text that a spreadsheet would run as a formula starts with an apostrophe")
        lines.extend(f"Private: {block.summary()}" for block in manifest.blocks)
        lines.append(f"All together: {manifest.guarantee.summary()}")
        lines.extend(f"Not covered: {one_line(caveat)}" for caveat in manifest.guarantee.caveats)
        if manifest.rows_per_person is not None:
            checked = "checked" if manifest.person_checked else "as declared"
            lines.append(f"Rows per person: at most {manifest.rows_per_person} ({checked})")
        return "\n".join(lines)

    __str__ = summary

    def __repr__(self) -> str:
        return f"<Release of {self.rows:,} rows: {one_line(', '.join(self.columns))}; {self.guarantee.summary()}>"

    def to_dict(self) -> dict[str, Any]:
        """The manifest as plain data."""
        return self.manifest.to_dict()


def _decoded(columns: Sequence[ReleasedColumn], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The cells of these columns as their readers see them."""
    schema = pa.schema([(column.name, column.type) for column in columns])
    first_row = 0
    for batch in batches:
        arrays = [column.read(batch.column(column.name), first_row) for column in columns]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)
        first_row += batch.num_rows


def _listed(columns: Sequence[str]) -> list[str]:
    return arguments.listed(columns, "columns", ReleaseError)
