"""Batches as CSV text: a cell is quoted only where it has to be."""

from __future__ import annotations

import pyarrow as pa

from discreet import arrow_functions as pc
from discreet.domains.columns import without_dictionary
from discreet.errors import ReleaseError

#: Cells with one of these are quoted.
_SPECIAL = '[",\r\n]'
#: Spreadsheets take text that starts like this for a formula …
SPREADSHEET_FORMULA = r"^[=+\-@\t\r\n＝＋－＠]"  # the wide ones count in East Asian versions
#: … unless it is a number.
_SPREADSHEET_NUMBER = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$"


def csv_header(names: list[str]) -> bytes:
    """The first line."""
    cells = [pa.array([name], pa.large_string()) for name in names]
    return _lines(cells)


def csv_rows(batch: pa.RecordBatch) -> bytes:
    """One line per row; a null is an empty cell."""
    cells = [_text(batch.column(i), batch.schema.names[i]) for i in range(batch.num_columns)]
    return _lines(cells)


def spreadsheet_safe(cells: pa.Array) -> pa.Array:
    """Text cells that a spreadsheet would run as a formula, each after an apostrophe; a number such as -5 stays."""
    kind = cells.type
    runs = pc.and_not(
        pc.match_substring_regex(cells, SPREADSHEET_FORMULA), pc.match_substring_regex(cells, _SPREADSHEET_NUMBER)
    )
    if not pc.any(runs).as_py():
        return cells
    marked = pc.binary_join_element_wise(pa.scalar("'", kind), cells, pa.scalar("", kind))
    return pc.if_else(pc.fill_null(runs, False), marked, cells)


def _text(column: pa.Array, name: str) -> pa.Array:
    plain = without_dictionary(column)
    try:
        return plain.cast(pa.large_string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise ReleaseError(
            f'column "{name}" holds {plain.type}, which a CSV file cannot hold; write .parquet'
        ) from None


def _lines(cells: list[pa.Array]) -> bytes:
    quoted = [_quoted(column) for column in cells]
    if len(quoted) == 1:
        # A line without any text is no row, so the only cell of a row is never left bare.
        quoted = [pc.if_else(pc.equal(quoted[0], _large("")), _large('""'), quoted[0])]
    joined = quoted[0] if len(quoted) == 1 else pc.binary_join_element_wise(*quoted, _large(","))
    lines = pc.binary_join_element_wise(joined, _large(""), _large("\n"))
    # The text of all rows lies in one piece of memory.
    offsets = pa.Array.from_buffers(pa.int64(), len(lines) + 1, [None, lines.buffers()[1]], offset=lines.offset)
    start, stop = offsets[0].as_py(), offsets[-1].as_py()
    return bytes(lines.buffers()[2].slice(start, stop - start).to_pybytes())


def _large(text: str) -> pa.Scalar:
    """Text in the type of the cells, which Arrow does not mix with others."""
    return pa.scalar(text, pa.large_string())


def _quoted(column: pa.Array) -> pa.Array:
    column = pc.fill_null(column, "")
    special = pc.match_substring_regex(column, _SPECIAL)
    if not pc.any(special, min_count=0).as_py():
        return column
    doubled = pc.replace_substring(column, '"', '""')
    enclosed = pc.binary_join_element_wise(_large('"'), doubled, _large('"'), _large(""))
    return pc.if_else(special, enclosed, column)
