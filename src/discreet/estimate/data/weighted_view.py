"""A release seen under other survey weights: every estimator reads it as it reads any release."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterator, Sequence

import pyarrow as pa

from discreet.blocks import Block
from discreet.engines import Engine
from discreet.errors import ReleaseError
from discreet.manifest import Survey
from discreet.reading import Release


class WeightedRelease(Release):
    """A release with one more public column, the weights.

    Parameters
    ----------
    base : Release
        Whose rows they are.
    weight : str
        What the column is called; with a prime where the release has such a column already.
    """

    __slots__ = ("base", "weight")

    def __init__(self, base: Release, weight: str) -> None:
        self.base = base
        self.manifest = base.manifest
        while weight in base.columns:
            weight += "'"
        self.weight = weight

    @abstractmethod
    def _needs(self) -> Sequence[str]:
        """Columns of the release that the weights are made of."""

    @abstractmethod
    def _weights(self, batch: pa.RecordBatch, first_row: int) -> pa.Array:
        """The weights of some rows."""

    @property
    @abstractmethod
    def survey(self) -> Survey:
        """How people were sampled, with the new weights."""

    def _counting(self, batch: pa.RecordBatch, weights: pa.Array) -> pa.RecordBatch:
        """The rows that count: all of them, unless a view leaves some out."""
        del weights
        return batch

    @property
    def engine(self) -> Engine:  # type: ignore[override]
        """That of the release."""
        return self.base.engine

    @property
    def path(self) -> None:
        """The weights are in no file."""
        return

    @property
    def columns(self) -> list[str]:
        """All columns and the weights."""
        return [*self.base.columns, self.weight]

    @property
    def rows(self) -> int:
        """Of the release itself."""
        return self.base.rows

    @property
    def schema(self) -> pa.Schema:
        """That of the release, and the weights."""
        return self.base.schema.append(pa.field(self.weight, pa.float64()))

    def block(self, column: str) -> Block:
        """How a private column was randomised."""
        if column == self.weight:
            raise ReleaseError("the weights are public")
        return self.base.block(column)

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The rows that count, batch by batch."""
        chosen = self.columns if columns is None else list(columns)
        kept = [name for name in chosen if name != self.weight]
        read = list(dict.fromkeys([*kept, *self._needs()])) or self.base.columns[:1]
        first_row = 0
        for batch in self.base.batches(read):
            weights = self._weights(batch, first_row)
            arrays = [weights if name == self.weight else batch.column(name) for name in chosen]
            fields = [pa.field(name, one.type) for name, one in zip(chosen, arrays, strict=True)]
            yield self._counting(pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields)), weights)
            first_row += batch.num_rows

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Release:
        """A view is not saved: a manifest is of the rows as they were released."""
        del path, overwrite
        raise ReleaseError(
            "a release under other weights is a view and is not saved: save the release itself, or its rows with these "
            "weights as a table (to_arrow, to_pandas)"
        )

    def to_arrow(self, columns: Sequence[str] | None = None) -> pa.Table:
        """All rows that count, as one Arrow table."""
        chosen = self.columns if columns is None else list(columns)
        schema = pa.schema([self.schema.field(name) for name in chosen])
        return pa.Table.from_batches(self.batches(chosen), schema=schema)
