"""A release seen under other weights: every estimator reads it as it reads any release."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from discreet.errors import ReleaseError
from discreet.estimate.replication.weights import Replicates
from discreet.manifest import Block, Release, Survey


class Reweighted(Release):
    """A release whose survey weights are those of one replicate; rows that count nothing are left out.

    Strata and clusters are not named any more: the replicates themselves say how much estimates vary.
    """

    __slots__ = ("_name", "_release", "_replicate", "_replicates")

    def __init__(self, release: Release, replicates: Replicates, replicate: int) -> None:
        self._release, self._replicates, self._replicate = release, replicates, replicate
        self.manifest = release.manifest
        self._name = "replicate weight"
        while self._name in release.columns:
            self._name += "'"

    @property
    def columns(self) -> list[str]:
        """All columns and the weights."""
        return [*self._release.columns, self._name]

    @property
    def rows(self) -> int:
        """Of the release itself."""
        return self._release.rows

    @property
    def survey(self) -> Survey:
        """The weights alone."""
        return Survey(weight=self._name)

    @property
    def schema(self) -> pa.Schema:
        """That of the release, and the weights."""
        return self._release.schema.append(pa.field(self._name, pa.float64()))

    def block(self, column: str) -> Block:
        """How a private column was randomised."""
        if column == self._name:
            raise ReleaseError("the weights are public")
        return self._release.block(column)

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The rows that count, batch by batch."""
        chosen = self.columns if columns is None else list(columns)
        kept = [name for name in chosen if name != self._name]
        read = list(dict.fromkeys([*kept, *self._replicates.needs])) or self._release.columns[:1]
        first_row = 0
        for batch in self._release.batches(read):
            weights = pa.array(self._replicates.weights(self._replicate, batch, first_row), pa.float64())
            arrays = [weights if name == self._name else batch.column(name) for name in chosen]
            fields = [pa.field(name, one.type) for name, one in zip(chosen, arrays, strict=True)]
            whole = pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))
            yield whole.filter(pc.greater(weights, 0.0))
            first_row += batch.num_rows

    def to_arrow(self, columns: Sequence[str] | None = None) -> pa.Table:
        """All rows that count, as one Arrow table."""
        chosen = self.columns if columns is None else list(columns)
        schema = pa.schema([self.schema.field(name) for name in chosen])
        return pa.Table.from_batches(self.batches(chosen), schema=schema)
