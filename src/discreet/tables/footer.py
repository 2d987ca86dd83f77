"""The footer of a Parquet file as it stands there, so that no two programs can read two manifests from one file.

Libraries show the metadata of a footer as a mapping. If a key is there twice, each library shows another of the two
values. The footer is therefore read here byte by byte: a Thrift structure in its compact form (``FileMetaData`` of
``parquet.thrift``), in which every field may be there once.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any

import pyarrow as pa

from discreet import limits
from discreet.errors import ManifestError

#: Where Arrow keeps its own description of the columns.
ARROW_SCHEMA = b"ARROW:schema"
#: Types of the compact form: two for a bool in a structure, a byte, numbers of variable length, and the others.
_TRUE, _FALSE, _BYTE, _I16, _I64, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 4, 6, 7, 8, 9, 10, 12
_MAGIC = b"PAR1"
#: Fields of parquet.thrift: the row groups and pairs of a footer, the chunks of a group, the metadata of a chunk.
_GROUPS, _PAIRS, _CHUNKS, _METADATA = 4, 5, 1, 3
#: Of a chunk: another file, and indexes of pages. Of its metadata: an index page, a Bloom filter.
_CHUNK_ELSEWHERE, _METADATA_ELSEWHERE = {1, 4, 5, 6, 7}, {10, 14, 15}


@dataclass(frozen=True)
class Footer:
    """What a footer holds.

    Attributes
    ----------
    pairs : dict
        Its keys and values; each key is there once.
    indexed : bool
        Whether a program would look into another file or go by an index or a filter of the cells.
    """

    pairs: dict[bytes, bytes]
    indexed: bool

    @classmethod
    def read(cls, file: IO[bytes]) -> Footer:
        """The footer of an open Parquet file; one in which a field or a key is there twice is refused."""
        try:
            end = file.seek(-8, 2)
            size = int.from_bytes(file.read(4), "little")
            if file.read(4) != _MAGIC or size > end:
                raise ValueError
            file.seek(end - size)
            root = _Compact(file.read(size)).whole()
            listed = [(pair.get(1, b""), pair.get(2, b"")) for pair in root.get(_PAIRS, [])]
            chunks = [chunk for group in root.get(_GROUPS, []) for chunk in group.get(_CHUNKS, [])]
            indexed = any(
                _CHUNK_ELSEWHERE & chunk.keys() or _METADATA_ELSEWHERE & chunk.get(_METADATA, {}).keys()
                for chunk in chunks
            )
        except (ValueError, IndexError, OSError, AttributeError, TypeError):  # also where a field has another type
            raise ManifestError("the file is damaged: its footer cannot be read, or holds a field twice") from None
        if len(dict(listed)) < len(listed):
            raise ManifestError("the file is damaged: its footer holds a key twice, and programs read one or the other")
        return cls(dict(listed), indexed)


def check_copies(pairs: Mapping[bytes, bytes], key: bytes) -> None:
    """Refuse a second manifest in the description of the columns that Arrow keeps, which Arrow shows instead."""
    schema = described(pairs)
    held = dict(schema.metadata or {})
    if key in held:
        held[key] = pairs[key]
    # Compared inside Arrow: in a mapping a key that is there twice would show once.
    same = not held or schema.equals(schema.with_metadata(held), check_metadata=True)
    if not same or any(key in metadata for metadata in field_metadata(schema)):
        raise ManifestError(
            "the file was changed: the description of its columns holds another manifest, which some programs show"
        )


def described(pairs: Mapping[bytes, bytes]) -> pa.Schema:
    """The description of the columns that Arrow keeps in a footer; empty where there is none."""
    try:
        return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(pairs[ARROW_SCHEMA], validate=True)))
    except KeyError:
        return pa.schema([])
    except (binascii.Error, ValueError, OSError, pa.ArrowException):
        raise ManifestError("the file is damaged: its description of the columns cannot be read") from None


def field_metadata(schema: Iterable[pa.Field]) -> Iterator[Mapping[bytes, bytes]]:
    """The metadata of every field, and of those inside them."""
    for field in schema:
        kind = getattr(field.type, "storage_type", field.type)
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        yield field.metadata or {}
        yield from field_metadata(kind.field(place) for place in range(kind.num_fields))


class _Compact:
    """Reads a Thrift structure in its compact form: a dict by the numbers of fields."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    def whole(self) -> dict[int, Any]:
        """The structure; nothing may follow it."""
        found = self._structure(0)
        if self._at != len(self._content):
            raise ValueError
        return found

    def _structure(self, depth: int) -> dict[int, Any]:
        found: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._zigzag()
            if number in found or depth > limits.NESTING:
                raise ValueError
            found[number] = self._value(head & 0x0F, depth)
        return found

    def _value(self, kind: int, depth: int) -> Any:
        if kind == _BINARY:
            return self._take(self._varint())
        if _I16 <= kind <= _I64:
            return self._zigzag()
        if kind == _STRUCT:
            return self._structure(depth + 1)
        if kind in (_LIST, _SET):
            head = self._byte()
            count, inner = (head >> 4 if head >> 4 != 0x0F else self._varint()), head & 0x0F
            if count > len(self._content):
                raise ValueError
            inner = _BYTE if inner in (_TRUE, _FALSE) else inner  # in a list a bool has a byte
            return [self._value(inner, depth + 1) for _ in range(count)]
        if kind in (_TRUE, _FALSE):  # in a structure the type is the value
            return kind == _TRUE
        if kind in (_BYTE, _DOUBLE):
            return self._take(1 if kind == _BYTE else 8)
        raise ValueError  # no footer has a map

    def _byte(self) -> int:
        self._at += 1
        return self._content[self._at - 1]

    def _take(self, size: int) -> bytes:
        if size > len(self._content) - self._at:
            raise ValueError
        self._at += size
        return self._content[self._at - size : self._at]

    def _varint(self) -> int:
        number = shift = 0
        while True:
            byte = self._byte()
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                return number
            shift += 7
            if shift > 63:
                raise ValueError

    def _zigzag(self) -> int:
        number = self._varint()
        return (number >> 1) ^ -(number & 1)
