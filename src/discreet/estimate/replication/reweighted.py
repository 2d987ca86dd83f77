"""A release seen under the weights of one replicate."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from discreet import arrow_functions as pc
from discreet.estimate.replication.weights import Replicates
from discreet.estimate.weighted_release import WeightedRelease
from discreet.manifest import Survey
from discreet.reading import Release


class Reweighted(WeightedRelease):
    """A release whose survey weights are those of one replicate; rows that count nothing are left out.

    Strata and clusters are not named any more: the replicates themselves say how much estimates vary.
    """

    __slots__ = ("_replicate", "_replicates")

    def __init__(self, release: Release, replicates: Replicates, replicate: int) -> None:
        super().__init__(release, "replicate weight")
        self._replicates, self._replicate = replicates, replicate

    @property
    def survey(self) -> Survey:
        """The weights alone."""
        return Survey(weight=self.weight)

    def _needs(self) -> Sequence[str]:
        return self._replicates.needs

    def _weights(self, batch: pa.RecordBatch, first_row: int) -> pa.Array:
        return pa.array(self._replicates.weights(self._replicate, batch, first_row), pa.float64())

    def _counting(self, batch: pa.RecordBatch, weights: pa.Array) -> pa.RecordBatch:
        return batch.filter(pc.greater(weights, 0.0))
