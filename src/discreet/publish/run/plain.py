"""Public columns in plain form: the values as they are, without anything that hangs on to them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from discreet import arrow_functions as pc
from discreet.domains.buffers import array_of, blanks_of
from discreet.domains.columns import is_text
from discreet.errors import ReleaseError
from discreet.manifest.document import ColumnType


def plain_type(kind: pa.DataType, column: str) -> pa.DataType:
    """The type without dictionaries, extensions and metadata.

    A dictionary lists its values in order of appearance, which tells the original order; extensions and fields
    of structs can carry any text.
    """
    if isinstance(kind, pa.BaseExtensionType):
        return plain_type(kind.storage_type, column)
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return plain_type(kind.value_type, column)
    if pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_binary_view(kind):
        return pa.binary()
    if pa.types.is_nested(kind):
        return _plain_nested(kind, column)
    return kind


def _plain_nested(kind: pa.DataType, column: str) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([(_field_name(one, column), plain_type(one.type, column)) for one in kind])
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(plain_type(kind.value_type, column), kind.list_size)
    if pa.types.is_large_list(kind):
        return pa.large_list(plain_type(kind.value_type, column))
    if pa.types.is_list(kind):
        return pa.list_(plain_type(kind.value_type, column))
    if pa.types.is_map(kind):
        return pa.map_(plain_type(kind.key_type, column), plain_type(kind.item_type, column))
    raise ReleaseError(f'column "{column}" is public, but its type {kind} cannot be copied')


def _field_name(field: pa.Field, column: str) -> str:
    try:
        return str(field.name)
    except UnicodeDecodeError:
        raise ReleaseError(
            f'column "{column}" is public, but the name of a field in it is not UTF-8; rename that field'
        ) from None


def plain_column(cells: pa.Array, kind: pa.DataType, column: str, first_row: int) -> pa.Array:
    """Cells of a public column in their plain type."""
    try:
        if isinstance(cells, pa.ExtensionArray):
            cells = cells.storage
        if pa.types.is_run_end_encoded(cells.type):
            cells = pc.run_end_decode(cells)
        if pa.types.is_dictionary(cells.type):
            cells = plain_column(cells.dictionary, kind, column, first_row).take(cells.indices)
        return cells if cells.type.equals(kind, check_metadata=True) else cells.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        raise ReleaseError(
            f'column "{column}" is public, but the rows from {first_row} on cannot be copied as {kind}'
        ) from None


def fresh_copy(cells: pa.Array) -> pa.Array:
    """The same cells in memory of their own: nothing lies under a null, or beside the cells of a slice."""
    if cells.null_count:
        lacking = blanks_of(cells)
        copied = cells.drop_null().take(array_of(np.cumsum(~lacking) - 1, lacking))
    else:
        copied = pa.concat_arrays([cells, cells.slice(0, 0)])  # of one array it would be no copy
    kind = copied.type
    if not pa.types.is_nested(kind):
        return copied
    if pa.types.is_struct(kind):
        inside = [copied.field(place) for place in range(kind.num_fields)]
    else:
        inside = [copied.values]
    own = 1 if pa.types.is_struct(kind) or pa.types.is_fixed_size_list(kind) else 2
    return pa.Array.from_buffers(kind, len(copied), copied.buffers()[:own], children=[*map(fresh_copy, inside)])


#: Text that stands for a number and would be written the same way again: 7 and -1, but neither 007 nor +7.
_INTEGER = r"^-?(0|[1-9][0-9]{0,17})$"
_NUMBER = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$"


class PublicTypes:
    """What the cells of public text columns mean, found while they pass by.

    A CSV holds text only. A column whose every cell is a whole number, or a number, is marked as such in the
    manifest, so that it reads back as numbers; the cells themselves are not touched.
    """

    def __init__(self, schema: pa.Schema, public: tuple[str, ...], text: bool) -> None:
        self._found: dict[str, ColumnType] = {name: _meaning(schema.field(name).type) for name in public}
        self._open: dict[str, ColumnType | None] = dict.fromkeys(public) if text else {}
        self._unsigned = [name for name in public if pa.types.is_uint64(schema.field(name).type)]

    def observe(self, batch: pa.RecordBatch) -> None:
        """Take a batch into account."""
        for name in self._unsigned:
            largest = pc.max(batch.column(name)).as_py()
            if largest is not None and largest >= 1 << 63:  # an "integer" is read back in 64 bits with a sign
                self._found[name] = "other"
        for name in [name for name, kind in self._open.items() if kind != "text"]:
            cells = batch.column(name).drop_null()
            if len(cells) == 0:
                continue
            if self._open[name] != "number" and _all_match(cells, _INTEGER):
                self._open[name] = "integer"
            else:
                self._open[name] = "number" if _all_match(cells, _NUMBER) else "text"

    def of(self, name: str) -> ColumnType:
        """The meaning of a column's cells."""
        return self._open.get(name) or self._found[name]


def _all_match(cells: pa.Array, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(cells, pattern), min_count=0).as_py())


def _meaning(kind: pa.DataType) -> ColumnType:
    if is_text(kind):
        return "text"
    if pa.types.is_integer(kind):
        return "integer"
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "number"
    return "boolean" if pa.types.is_boolean(kind) else "other"
