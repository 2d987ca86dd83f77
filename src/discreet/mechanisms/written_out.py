"""Mechanisms whose rows are written out in full: one alias table draws for all of them."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from numpy.typing import NDArray

from discreet.mechanisms.finite import FiniteMechanism
from discreet.privacy.exact import Rows
from discreet.randomness import AliasTable, Randomness


class WrittenOut(FiniteMechanism):
    """A channel held as rows of integers with a common sum."""

    rows: Rows

    @property
    def shape(self) -> tuple[int, int]:
        """Number of truths and number of reports."""
        return len(self.rows), len(self.rows[0])

    @cached_property
    def denominator(self) -> int:
        """The sum of every row."""
        return sum(self.rows[0])

    def _rows(self) -> Rows:
        return self.rows

    @cached_property
    def _table(self) -> AliasTable:
        return AliasTable(self.rows, self.denominator)

    def _sample(self, codes: NDArray[Any], randomness: Randomness) -> NDArray[Any]:
        return self._table.draw(codes, randomness)
