"""What all sums over a sample share: codes of strata, sampling units and groups, and rows without an answer."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.estimate.data.label_codes import GroupIndex, Ints, PairIndex
from discreet.estimate.data.map_reduce import refuse_to_send
from discreet.estimate.data.rows import Batch
from discreet.estimate.data.survey_design import Roles
from discreet.estimate.sampling.calibrated_variance import AuxiliarySums
from discreet.estimate.sampling.unit_totals import UnitIndex


class SampleSums:
    """Sums over batches of rows by block: a sampling unit (the stratum, where every row is a unit) and a group."""

    def __init__(self, roles: Roles, target: str) -> None:
        self._roles, self._target = roles, target
        #: Rows without an answer.
        self.left_out = 0
        # Given the table of truths, rows are randomised independently: only weights matter.
        self._is_sample = target == "population" and roles.is_sample
        self._index, self._groups, self._blocks = UnitIndex(), GroupIndex("by"), PairIndex()
        self._auxiliary = AuxiliarySums() if self._is_sample and roles.rule is not None else None

    def _blocked(self, batch: Batch, *values: NDArray[Any] | None) -> tuple[Ints, Floats | None, Floats | None, Any]:
        """Block, weight, products with auxiliary numbers, and values of the rows with an answer.

        Rows without one stay in the sample, with a total of zero.
        """
        rows = len(batch.codes)
        unit = self._index.encode(batch.strata, batch.clusters, rows, batch.first_row, batch.fpc)
        group = np.zeros(rows, np.int64)
        if batch.groups is not None:
            group = self._groups.encode(batch.groups, batch.first_row)
        more = None
        if self._auxiliary is not None:
            self._auxiliary.add(unit, batch, rows_are_units=not self._roles.clusters)
            more = _auxiliary_products(batch)
        kept: list[Any] = [unit, group, batch.weights, more, *values]
        if batch.answered is not None:
            self.left_out += int(np.count_nonzero(~batch.answered))
            kept = [None if one is None else one[batch.answered] for one in kept]
        return self._blocks.encode(kept[0], kept[1]), kept[2], kept[3], kept[4:]

    def _take_blocks(self, other: SampleSums) -> Ints | None:
        """The codes here of the blocks of other rows; None where these are none."""
        self.left_out += other.left_out
        unit = self._index.take(other._index)
        if not unit.size:
            return None
        group = self._groups.take(other._groups) if self._roles.groups else np.zeros(1, np.int64)
        if self._auxiliary is not None and other._auxiliary is not None:
            self._auxiliary.take(other._auxiliary, unit)
        return self._blocks.take(other._blocks, unit, group)

    def __getstate__(self) -> dict[str, Any]:
        """As it is sent, and not at any size."""
        refuse_to_send(len(self._blocks), "combinations of clusters and groups")
        return vars(self)


def _auxiliary_products(batch: Batch) -> Floats:
    """``w² x`` and ``slope·x`` of every row, side by side."""
    assert batch.auxiliary is not None
    assert batch.weights is not None
    assert batch.slopes is not None
    return np.hstack([batch.auxiliary * (batch.weights**2)[:, None], batch.auxiliary * batch.slopes[:, None]])
