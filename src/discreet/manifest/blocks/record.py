"""Columns that are randomised together: a row of them is one record."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import MechanismError
from discreet.manifest.blocks.base import Block, Cells
from discreet.mechanisms import RecordMechanism
from discreet.privacy import Guarantee
from discreet.randomness import Randomness


@dataclass(frozen=True, kw_only=True)
class RecordBlock(Block):
    """Columns that one mechanism takes all at once, and that have one promise between them."""

    mechanism: RecordMechanism

    together: ClassVar[bool] = True

    def _check(self) -> None:
        if self.mechanism.dimension != len(self.columns):
            raise MechanismError(f"the mechanism is for {self.mechanism.dimension} columns, not {len(self.columns)}")

    def _row_guarantee(self) -> Guarantee:
        return self.mechanism.record_guarantee  # also where single attributes are promised more

    def _stand_in(self, place: int) -> float:  # noqa: ARG002  # the first code does everywhere but in a box
        """A true value that a blank is randomised as, before the blank is put back."""
        return 0

    def randomize(self, cells: Sequence[Cells], randomness: Randomness) -> Iterable[NDArray[Any]]:
        """All columns of a row at once."""
        rows = np.column_stack(
            [
                column.codes if column.missing is None else np.where(column.missing, self._stand_in(j), column.codes)
                for j, column in enumerate(cells)
            ]
        )
        return iter(self.mechanism.privatize(rows, randomness).T)
