"""A digest of the released cells: column by column, in blocks of rows, whatever file or engine holds them.

Every column is cut into blocks of 65,536 rows, the last one shorter. A leaf is the SHA-256 of the canonical bytes
of a block (``canonical_form``); the digest of a column is the SHA-256 of its leaves, one after another. It changes
with every cell and with the order of the rows, so that dropped, repeated and exchanged rows, swapped columns and a
column permuted against the others are found. It does not change with row groups, dictionaries, compression or the
size of batches.

A table of several parts (files, partitions) starts a new block with every part. Parts can then be digested on their
own, in any order or at once, and their leaves put together.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, Self

import pyarrow as pa

from discreet.errors import ManifestError
from discreet.manifest.canonical_form import ColumnForm
from discreet.manifest.checks import mapping, text, whole

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
