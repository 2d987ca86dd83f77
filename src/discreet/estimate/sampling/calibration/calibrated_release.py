"""A release seen under calibrated weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from discreet.estimate.data.weighted_view import WeightedRelease
from discreet.manifest import Survey

if TYPE_CHECKING:
    from discreet.estimate.sampling.calibration.result import Calibration


class CalibratedRelease(WeightedRelease):
    """A release whose survey weights are calibrated; strata, clusters and population sizes stay what they are.

    Replicate weights, given or made, are calibrated anew one by one in :func:`discreet.estimate.replicate`.
    """

    __slots__ = ("calibration",)

    def __init__(self, calibration: Calibration) -> None:
        super().__init__(calibration.source, "calibrated weight")
        self.calibration = calibration

    @property
    def survey(self) -> Survey:
        """That of the release, with the calibrated weights."""
        return replace(self.base.survey, weight=self.weight)

    def _needs(self) -> Sequence[str]:
        return self.calibration.needs

    def _weights(self, batch: pa.RecordBatch, first_row: int) -> pa.Array:
        rows = slice(first_row, first_row + batch.num_rows)
        return pa.array(self.calibration.of(batch.column, rows).weights, pa.float64())
