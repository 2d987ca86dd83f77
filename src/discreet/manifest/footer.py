"""The footer of a Parquet file as it stands there, so that no two programs can read two manifests from one file.

Libraries show the metadata of a footer as a mapping. If a key is there twice, each library shows another of the two
values. The footer is therefore read here byte by byte: a Thrift structure in its compact form (``parquet.thrift``,
``FileMetaData``), of which only the list of keys and values is kept and every field may be there once.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from typing import IO

import pyarrow as pa

from discreet import limits
from discreet.errors import ManifestError

#: Where Arrow keeps its own description of the columns.
ARROW_SCHEMA = b"ARROW:schema"
#: The field of a footer with its keys and values, and the fields of a key and a value.
_PAIRS, _KEY, _VALUE = 5, 1, 2
#: Types of the compact form: two for a bool in a structure, numbers of variable length, and the others.
_TRUE, _FALSE, _BYTE, _I16, _I64, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 4, 6, 7, 8, 9, 10, 12
_MAGIC = b"PAR1"


def footer_pairs(file: IO[bytes]) -> dict[bytes, bytes]:
    """The keys and values in the footer of a Parquet file; a key that is there twice is refused."""
    try:
        end = file.seek(-8, 2)
        size = int.from_bytes(file.read(4), "little")
        if file.read(4) != _MAGIC or size > end:
            raise ValueError
        file.seek(end - size)
        found = _Footer(file.read(size)).pairs()
    except (ValueError, IndexError, OSError):
        raise ManifestError("the file is damaged: its footer cannot be read, or holds a field twice") from None
    if len(dict(found)) < len(found):
        raise ManifestError("the file is damaged: its footer holds a key twice, and programs differ in which they read")
    return dict(found)


def check_copies(pairs: dict[bytes, bytes], key: bytes) -> None:
    """Refuse a second manifest in the description of the columns that Arrow keeps, which Arrow shows instead."""
    described = pairs.get(ARROW_SCHEMA)
    if described is None:
        return
    try:
        schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(described, validate=True)))
    except (binascii.Error, ValueError, OSError, pa.ArrowException):
        raise ManifestError("the file is damaged: its description of the columns cannot be read") from None
    # Compared inside Arrow: as a mapping a key that is there twice would show once.
    alone = schema.metadata is None or schema.equals(schema.with_metadata({key: pairs[key]}), check_metadata=True)
    if not alone or any(_has_metadata(field) for field in schema):
        raise ManifestError(
            "the file was changed: the description of its columns holds other metadata than the manifest, which some "
            "programs show instead"
        )


def _has_metadata(field: pa.Field) -> bool:
    """Whether a field, or one inside it, has metadata."""
    kind = field.type
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(field.metadata) or any(_has_metadata(kind.field(place)) for place in range(kind.num_fields))


class _Footer:
    """Reads a Thrift structure in its compact form."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    def pairs(self) -> list[tuple[bytes, bytes]]:
        """The keys and values; nothing may follow the structure."""
        found: list[tuple[bytes, bytes]] = []
        for number, kind in self._fields():
            if number == _PAIRS and kind == _LIST:
                count, inner = self._sized()
                if inner != _STRUCT:
                    raise ValueError
                found = [self._pair() for _ in range(count)]
            else:
                self._skip(kind, 0)
        if self._at != len(self._content):
            raise ValueError
        return found

    def _pair(self) -> tuple[bytes, bytes]:
        held = {_KEY: b"", _VALUE: b""}
        for number, kind in self._fields():
            if number in held and kind == _BINARY:
                held[number] = self._take(self._varint())
            else:
                self._skip(kind, 0)
        return held[_KEY], held[_VALUE]

    def _fields(self) -> Iterator[tuple[int, int]]:
        """Number and type of every field of a structure, each number once."""
        seen: set[int] = set()
        number = 0
        while head := self._byte():
            step, kind = head >> 4, head & 0x0F
            number = number + step if step else self._zigzag()
            if number in seen:
                raise ValueError
            seen.add(number)
            yield number, kind

    def _skip(self, kind: int, depth: int) -> None:
        """Pass over a value that is not looked at."""
        if depth > limits.NESTING:
            raise ValueError
        if kind in (_TRUE, _FALSE):  # in a structure the type is the value
            return
        if kind == _BYTE:
            self._take(1)
        elif _I16 <= kind <= _I64:
            self._varint()
        elif kind == _DOUBLE:
            self._take(8)
        elif kind == _BINARY:
            self._take(self._varint())
        elif kind in (_LIST, _SET):
            count, inner = self._sized()
            for _ in range(count):
                self._skip(_BYTE if inner in (_TRUE, _FALSE) else inner, depth + 1)
        elif kind == _STRUCT:
            for _, inner in self._fields():
                self._skip(inner, depth + 1)
        else:  # no footer has a map
            raise ValueError

    def _sized(self) -> tuple[int, int]:
        """Length and type of a list."""
        head = self._byte()
        return (head >> 4 if head >> 4 != 0x0F else self._varint()), head & 0x0F

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
