"""How the cells of a released column are read back: reports by their labels, public cells by their type."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet import arrow_functions as pc
from discreet.domains import Domain, FiniteDomain
from discreet.domains.buffers import array_of, blanks_of, numbers_of
from discreet.domains.columns import is_text, without_dictionary
from discreet.errors import DomainError, ReleaseError
from discreet.manifest.canonical_form import form_of
from discreet.manifest.document import Column

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
