"""The columns of a release in types that Spark has: no dictionaries, no unsigned integers, one kind of text."""

from __future__ import annotations

import pyarrow as pa

from discreet.domains.columns import without_dictionary
from discreet.errors import ReleaseError

#: What Spark makes of types that it does not have, when it reads them.
_INSTEAD = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.large_string(): pa.string(),
    pa.large_binary(): pa.binary(),
}


def spark_schema(schema: pa.Schema) -> pa.Schema:
    """The same columns in types that Spark has."""
    return pa.schema([(field.name, _spark_type(field.type)) for field in schema])


def _spark_type(kind: pa.DataType) -> pa.DataType:
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    return _INSTEAD.get(plain, plain)


def cast_batch(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The same cells in the types of a schema."""
    cast = [_cast(cells, field) for cells, field in zip(batch.columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(cast, schema=schema)


def _cast(cells: pa.Array, field: pa.Field) -> pa.Array:
    if cells.type == field.type:
        return cells
    try:
        return without_dictionary(cells).cast(field.type)
    except pa.ArrowInvalid:  # which may quote the value
        raise ReleaseError(f'column "{field.name}" has a cell that {field.type}, its type there, cannot hold') from None
