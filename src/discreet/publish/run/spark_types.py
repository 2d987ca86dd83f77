"""The columns of a release in types that Spark has: no dictionaries, no unsigned integers."""

from __future__ import annotations

import pyarrow as pa

from discreet.domains.columns import without_dictionary
from discreet.errors import ReleaseError

_SIGNED = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64()}


def spark_schema(schema: pa.Schema) -> pa.Schema:
    """The same columns in types that Spark has."""
    return pa.schema([(field.name, _spark_type(field.type)) for field in schema])


def _spark_type(kind: pa.DataType) -> pa.DataType:
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_uint64(plain):
        raise ReleaseError("a column holds unsigned integers of 64 bits, which Spark does not have")
    return _SIGNED.get(plain, plain)


def cast_batch(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The same cells in the types of a schema, which has no dictionaries."""
    cast = [without_dictionary(cells).cast(field.type) for cells, field in zip(batch.columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(cast, schema=schema)
