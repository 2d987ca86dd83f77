"""A digest of the released cells: column by column, in blocks of rows, whatever file or engine holds them.

Every column is cut into blocks of 65,536 rows, the last one shorter. A leaf is the SHA-256 of the canonical bytes
of a block; the digest of a column is the SHA-256 of its leaves, one after another. It changes
with every cell and with the order of the rows, so that dropped, repeated and exchanged rows, swapped columns and a
column permuted against the others are found. It does not change with row groups, dictionaries, compression or the
size of batches.

A table of several parts (files, partitions) starts a new block with every part. Parts can then be digested on their
own, in any order or at once, and their leaves put together.

**Canonical bytes of a column**

Reports
    Their codes, the position of each report in the list that the manifest gives, as unsigned integers in the
    narrowest of 1, 2, 4 or 8 bytes that also holds the number of reports, which stands for a blank.
Whole numbers, booleans, dates and times
    Integers, in the narrowest of 1, 2, 4 or 8 bytes that holds all of the block; a blank is 0.
Other numbers
    IEEE 754 as stored, decimals as 16 or 32 bytes; a blank is zeros.
Text and bytes
    The length of every cell in bytes plus one, 0 for a blank, in the narrowest of 1, 2, 4 or 8 bytes that holds all
    of the block; then all cells one after another, in UTF-8.
Lists and structs
    Lists: the lengths as for text, then the canonical bytes of all elements. Structs: one byte per row, 1 where
    it is blank, then the canonical bytes of every field.

Numbers of any kind are preceded by two bytes: how many bytes a cell has, and 1 when there are blanks, else 0; and
followed, when there are blanks, by one byte per cell, 1 where it is blank. Lengths are preceded by how many bytes
each has.

Everything is little-endian. ``docs/manifest.md`` says the same for readers in other languages.
"""

from __future__ import annotations

import hashlib
import re
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet import arrow_functions as pc
from discreet.blocks.checks import mapping, text, whole
from discreet.domains import Domain, FiniteDomain
from discreet.domains.buffers import bits_of, numbers_of
from discreet.domains.columns import is_text
from discreet.errors import ManifestError, ReleaseError

_FLOATS = {16: "float16", 32: "float32", 64: "float64"}
#: Integers by sign, from narrow to wide, with the least and the largest that each holds.
_INTEGERS = {
    sign: [
        (np.dtype(f"{sign}{width}"), int(np.iinfo(f"{sign}{width}").min), int(np.iinfo(f"{sign}{width}").max))
        for width in (1, 2, 4, 8)
    ]
    for sign in "iu"
}
#: Decimals of up to this many digits are held in 16 bytes.
_DECIMAL128 = 38


class ColumnForm(ABC):
    """How the cells of one column become bytes."""

    @property
    @abstractmethod
    def name(self) -> str:
        """As the manifest calls the form."""

    @abstractmethod
    def pieces(self, cells: pa.Array) -> Iterator[Any]:
        """The canonical bytes, as a few buffers that follow each other."""


@dataclass(frozen=True)
class ReportForm(ColumnForm):
    """Codes of reports; ``size`` is how many different ones there are, and stands for a blank."""

    size: int

    @property
    def dtype(self) -> np.dtype[Any]:
        """The narrowest unsigned integers that hold every code and the blank."""
        return np.min_scalar_type(self.size)

    @property
    def name(self) -> str:
        """The width in bits."""
        return f"report{8 * self.dtype.itemsize}"

    def pieces(self, cells: pa.Array) -> Iterator[Any]:
        """One integer per cell."""
        wide = pa.from_numpy_dtype(self.dtype)
        codes = cells if cells.type == wide else cells.cast(wide)
        yield _little(numbers_of(_filled(codes, self.size)))


@dataclass(frozen=True)
class CellForm(ColumnForm):
    """Cells as they are stored."""

    kind: pa.DataType

    @property
    def name(self) -> str:
        """By the type."""
        return form_of(self.kind)

    def pieces(self, cells: pa.Array) -> Iterator[Any]:
        """By the type."""
        return canonical(cells)


@dataclass(frozen=True)
class TextForm(ColumnForm):
    """Cells of a CSV file, which holds text only and cannot tell an empty cell from a blank."""

    @property
    def name(self) -> str:
        """Text."""
        return "text"

    def pieces(self, cells: pa.Array) -> Iterator[Any]:
        """As they are written."""
        text = cells.cast(pa.large_string())
        empty = pc.equal(pc.binary_length(text), 0)
        if pc.any(empty, min_count=0).as_py():
            text = pc.if_else(empty, pa.scalar(None, pa.large_string()), text)
        return canonical(text)


def column_forms(schema: pa.Schema, reports: Mapping[str, Domain], *, text: bool) -> dict[str, ColumnForm]:
    """The form of every column: reports by their domain, public cells by their type.

    Parameters
    ----------
    schema : pa.Schema
        The released columns.
    reports : mapping of str to Domain
        What a released cell of every private column can be.
    text : bool
        Whether the table holds text only, as a CSV file does.
    """
    return {field.name: _form(field, reports.get(field.name), text) for field in schema}


def _form(field: pa.Field, reports: Domain | None, text: bool) -> ColumnForm:
    if reports is not None:
        return ReportForm(reports.size) if isinstance(reports, FiniteDomain) else CellForm(reports.arrow_type)
    if text:
        return TextForm()
    try:
        form_of(field.type)
    except ReleaseError as error:
        raise ReleaseError(f'column "{field.name}" is public, but {error}') from None
    return CellForm(field.type)


def form_of(kind: pa.DataType) -> str:
    """The name of the canonical form of a type; types that a file gives back as another one share a name."""
    types = pa.types
    if types.is_dictionary(kind):
        return form_of(kind.value_type)
    if types.is_null(kind):
        return "null"
    if types.is_integer(kind):
        return "unsigned" if types.is_unsigned_integer(kind) else "integer"
    if types.is_floating(kind):
        return _FLOATS[kind.bit_width]
    if types.is_boolean(kind):
        return "boolean"
    if is_text(kind):
        return "text"
    if is_bytes(kind):
        return "bytes"
    if types.is_decimal(kind):
        return f"decimal({kind.precision}, {kind.scale})"
    if types.is_date(kind):
        return "date"
    if _is_clock(kind):
        # The same ticks are another hour in another zone, and no instant at all without one.
        zone = f", {kind.tz}" if types.is_timestamp(kind) and kind.tz is not None else ""
        return f"{_clock_name(kind)}[{_unit(kind)}{zone}]"
    if types.is_map(kind):
        return f"list<struct<key: {form_of(kind.key_type)}, value: {form_of(kind.item_type)}>>"
    if _is_list(kind):
        return f"list<{form_of(kind.value_type)}>"
    if types.is_struct(kind):
        return f"struct<{', '.join(f'{field.name}: {form_of(field.type)}' for field in kind)}>"
    raise ReleaseError(f"its type {kind} cannot be copied")


def canonical(cells: pa.Array) -> Iterator[Any]:
    """The canonical bytes of cells, as a few buffers that follow each other."""
    kind = cells.type
    if pa.types.is_dictionary(kind):
        yield from canonical(cells.dictionary_decode())
    elif pa.types.is_null(kind):
        return
    elif is_text(kind) or is_bytes(kind):
        yield from _variable(cells)
    elif pa.types.is_map(kind):
        pairs = pa.struct([("key", kind.key_type), ("value", kind.item_type)])
        yield from canonical(cells.cast(pa.list_(pairs)))
    elif _is_list(kind):
        yield from _lengths(pc.list_value_length(cells))
        yield from canonical(cells.flatten())
    elif pa.types.is_struct(kind):
        yield _blanks(cells)
        for field in cells.flatten():
            yield from canonical(field)
    else:
        yield from _fixed(cells)


def _variable(cells: pa.Array) -> Iterator[Any]:
    wide = pa.large_binary()
    if not pa.types.is_string(cells.type) and not pa.types.is_large_string(cells.type):
        cells = cells.cast(wide)
    lengths = pc.binary_length(cells)
    yield from _lengths(lengths)
    content = _content(cells)
    if cells.null_count and len(content) != (pc.sum(lengths).as_py() or 0):  # a blank hides bytes of its own
        content = _content(pc.fill_null(cells, pa.scalar("" if is_text(cells.type) else b"", cells.type)))
    yield content


def _content(cells: pa.Array) -> Any:
    """The bytes from the first cell to the last, in one buffer."""
    _, ends, content = cells.buffers()
    if len(cells) == 0 or content is None:
        return b""
    kind = np.int32 if pa.types.is_string(cells.type) else np.int64
    offsets = np.frombuffer(ends, kind)[cells.offset : cells.offset + len(cells) + 1]
    return content.slice(int(offsets[0]), int(offsets[-1] - offsets[0]))


def _lengths(lengths: pa.Array) -> Iterator[Any]:
    """One more than the length, so that 0 is left for a blank."""
    counts = numbers_of(_filled(lengths, -1))
    longest = int(counts.max(initial=0)) + 1
    narrow = np.min_scalar_type(longest)
    yield bytes([narrow.itemsize])
    yield _little(counts.astype(narrow) + narrow.type(1))


def _fixed(cells: pa.Array) -> Iterator[Any]:
    blanks = cells.null_count > 0
    width, values = _values(cells)
    yield bytes([width, blanks])
    yield values
    if blanks:
        yield _blanks(cells)


def _values(cells: pa.Array) -> tuple[int, Any]:
    """The bytes of a cell, and all of them."""
    kind = cells.type
    if pa.types.is_decimal(kind):
        return _decimals(cells)
    if pa.types.is_boolean(kind):
        return 1, bits_of(_filled(cells, False))
    if pa.types.is_date(kind):
        cells = cells.cast(pa.date32()).cast(pa.int32())
    elif _is_clock(kind):
        cells = _ticks(cells)
    values = numbers_of(_filled(cells, 0))
    if values.dtype.kind in "iu":
        values = values.astype(_narrowest(values), copy=False)
    return values.dtype.itemsize, _little(values)


def _narrowest(values: NDArray[Any]) -> np.dtype[Any]:
    """The narrowest integers, signed or unsigned as they are, that hold all values."""
    if values.size == 0:
        return np.dtype(values.dtype.kind + "1")
    if values.dtype.itemsize == 1:
        return values.dtype
    low, high = int(values.min()), int(values.max())
    return next(kind for kind, least, most in _INTEGERS[values.dtype.kind] if least <= low and high <= most)


def _ticks(cells: pa.Array) -> pa.Array:
    """Times as 64-bit integers. Parquet has no seconds, so they count as milliseconds."""
    kind = cells.type
    if kind.unit == "s":
        finer = {"time": pa.time32("ms"), "duration": pa.duration("ms")}
        cells = cells.cast(finer.get(_clock_name(kind)) or pa.timestamp("ms", kind.tz))
    if pa.types.is_time32(cells.type):
        cells = cells.cast(pa.int32())
    return cells.cast(pa.int64())


def _decimals(cells: pa.Array) -> tuple[int, Any]:
    kind = cells.type
    wide = pa.decimal128 if kind.precision <= _DECIMAL128 else pa.decimal256
    kind = wide(kind.precision, kind.scale)
    cells = pc.fill_null(cells.cast(kind), pa.scalar(0, pa.int8()).cast(kind))
    width = kind.byte_width
    return width, cells.buffers()[1].slice(cells.offset * width, len(cells) * width)


def _filled(cells: pa.Array, value: Any) -> pa.Array:
    """Blanks replaced; cells without blanks are not copied."""
    return pc.fill_null(cells, value) if cells.null_count else cells


def _blanks(cells: pa.Array) -> NDArray[np.uint8]:
    return bits_of(cells.is_null())


def _little(values: NDArray[Any]) -> NDArray[Any]:
    return values.astype(values.dtype.newbyteorder("<"), copy=False)


def is_bytes(kind: pa.DataType) -> bool:
    """Whether a type holds bytes."""
    types = pa.types
    return bool(types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind))


def _is_list(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _is_clock(kind: pa.DataType) -> bool:
    return bool(pa.types.is_time(kind) or pa.types.is_timestamp(kind) or pa.types.is_duration(kind))


def _clock_name(kind: pa.DataType) -> str:
    return "time" if pa.types.is_time(kind) else "timestamp" if pa.types.is_timestamp(kind) else "duration"


def _unit(kind: pa.DataType) -> str:
    return "ms" if kind.unit == "s" else str(kind.unit)


#: Rows under one leaf. It never changes: 64 KB of codes hash at full speed, and 10⁹ rows need 0.5 MB of leaves.
BLOCK_ROWS = 1 << 16

_SHA256 = re.compile(r"[0-9a-f]{64}")


def checked_sha256(value: Any, what: str) -> str:
    """A SHA-256 in hexadecimal."""
    if not isinstance(value, str) or not _SHA256.fullmatch(value):
        raise ManifestError(f"the manifest is damaged: {what} must be a SHA-256 in hexadecimal")
    return value


@dataclass(frozen=True)
class ColumnDigest:
    """The digest of one column and the form of the bytes under it."""

    name: str
    form: str
    sha256: str

    def to_dict(self) -> dict[str, str]:
        """Plain data."""
        return {"name": self.name, "form": self.form, "sha256": self.sha256}

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Rebuild from plain data."""
        data = mapping(data, "the digest of a column")
        return cls(
            text(data.get("name"), "content.columns.name"),
            text(data.get("form"), "content.columns.form"),
            checked_sha256(data.get("sha256"), "content.columns.sha256"),
        )


@dataclass(frozen=True)
class PartDigest:
    """One part of a table: its rows and, for every column, its leaves one after another."""

    rows: int
    leaves: tuple[bytes, ...]


@dataclass(frozen=True)
class Content:
    """What the cells of a release are, as far as a digest can say.

    Parameters
    ----------
    parts : tuple of int
        Rows of every part, in order; a release in one file has one part.
    columns : tuple of ColumnDigest
        In the order of the table.
    """

    parts: tuple[int, ...]
    columns: tuple[ColumnDigest, ...]

    @classmethod
    def of(cls, forms: Mapping[str, ColumnForm], parts: Sequence[PartDigest]) -> Self:
        """Put the parts of a table together, in their order."""
        joined = [b"".join(leaves) for leaves in zip(*(part.leaves for part in parts), strict=True)]
        columns = tuple(
            ColumnDigest(name, form.name, hashlib.sha256(leaves).hexdigest())
            for (name, form), leaves in zip(forms.items(), joined, strict=True)
        )
        return cls(tuple(part.rows for part in parts), columns)

    @property
    def rows(self) -> int:
        """Of all parts."""
        return sum(self.parts)

    def changed(self, now: Content) -> list[str]:
        """Columns whose digest is another one now."""
        current = {column.name: column for column in now.columns}
        return [column.name for column in self.columns if current.get(column.name) != column]

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "block_rows": BLOCK_ROWS,
            "parts": list(self.parts),
            "columns": [column.to_dict() for column in self.columns],
        }

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Rebuild from plain data."""
        data = mapping(data, "content")
        parts, columns = data.get("parts"), data.get("columns")
        if data.get("block_rows") != BLOCK_ROWS or not isinstance(parts, list) or not isinstance(columns, list):
            raise ManifestError(
                f'the manifest is damaged: content needs "block_rows" of {BLOCK_ROWS}, "parts" and "columns"'
            )
        return cls(
            tuple(whole(rows, "content.parts", 0) for rows in parts),
            tuple(ColumnDigest.from_dict(column) for column in columns),
        )


class ContentDigest:
    """Takes the batches of one part in order, of any size, and gives its leaves.

    Parameters
    ----------
    forms : mapping of str to ColumnForm
        The columns in their order. Reports come as codes, null where there is none; public cells as they are stored.
    parts : sequence of int, optional
        Rows of every part, when the batches of several parts follow each other.
    """

    def __init__(self, forms: Mapping[str, ColumnForm], parts: Sequence[int] | None = None) -> None:
        self.forms = dict(forms)
        self._parts = None if parts is None else tuple(parts)
        self._ends = [] if parts is None else list(accumulate(parts))
        self._leaves = [bytearray() for _ in self.forms]
        self._held: list[pa.RecordBatch] = []
        self._count = 0
        self._rows = 0

    def update(self, batch: pa.RecordBatch) -> None:
        """Take in the next rows."""
        start = 0
        while start < batch.num_rows:
            piece = batch.slice(start, self._room() - self._count)
            self._held.append(piece)
            self._count += piece.num_rows
            start += piece.num_rows
            if self._count == self._room():
                self._leaf()

    def _room(self) -> int:
        """Rows of the block that is being filled: it is full, or its part ends."""
        part = bisect_right(self._ends, self._rows)  # parts may be many, and the manifest is somebody else's
        return BLOCK_ROWS if part == len(self._ends) else min(BLOCK_ROWS, self._ends[part] - self._rows)

    def _leaf(self) -> None:
        for name, form, leaves in zip(self.forms, self.forms.values(), self._leaves, strict=True):
            held = [batch.column(name) for batch in self._held]
            cells = held[0] if len(held) == 1 else pa.concat_arrays(held)
            leaf = hashlib.sha256()
            for piece in form.pieces(cells):
                leaf.update(piece)
            leaves += leaf.digest()
        self._rows += self._count
        self._held, self._count = [], 0

    def finish(self) -> PartDigest:
        """The digest of everything that was taken in."""
        if self._count:
            self._leaf()
        return PartDigest(self._rows, tuple(bytes(leaves) for leaves in self._leaves))

    def content(self) -> Content:
        """The digest of the table: of one part, or of those that were announced."""
        whole_table = Content.of(self.forms, [self.finish()])
        announced = self._parts is not None and sum(self._parts) == self._rows
        return replace(whole_table, parts=self._parts) if announced and self._parts else whole_table
