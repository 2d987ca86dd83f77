"""Numeric columns with noise in a formula: rows are written out as copies inside the box, with weights.

The noise of numbers is undone by a weighted sum over copies of a row (:mod:`.m_estimation.box.copies`),
that of answers by a weighted sum over cells. Both are linear and independent given the truths, so the corrected loss of
a row is the sum over copies and cells with the product of the weights: every copy is a row whose numbers are known,
with a weight that may be negative, and the rest of the corrected loss stays as it is. Scores are summed by record.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet import arrow_functions as pc
from discreet.arguments import Floats
from discreet.blocks import NumericBlock
from discreet.errors import EstimationError
from discreet.estimate.m_estimation.box.copies import Copies, NoisyBlock
from discreet.estimate.m_estimation.box.inside import is_coarse

if TYPE_CHECKING:
    from discreet.blocks import Block


@dataclass(frozen=True, eq=False)
class WrittenOut:
    """Copies as rows: the record of each, its weight, and the table with known numbers.

    Without weights the rows are the records themselves.
    """

    record: NDArray[np.intp]
    weight: Floats | None
    table: pa.Table


@dataclass(frozen=True, eq=False)
class NumericColumns:
    """The numeric columns of a formula.

    Attributes
    ----------
    names : tuple of str
        Block by block, as the values of copies stand side by side.
    copies : Copies
    table : pyarrow.Table
        The complete rows, with the numbers as they were reported.
    """

    names: tuple[str, ...]
    copies: Copies
    table: pa.Table

    @classmethod
    def of(cls, blocks: Mapping[str, Block], table: pa.Table) -> NumericColumns:
        """Those among the columns of a formula, of which there is one; only columns in the formula take part."""
        noisy = {name: block for name, block in blocks.items() if isinstance(block, NumericBlock)}
        names, made = [], []
        for block in dict.fromkeys(noisy.values()):
            chosen = [name for name in noisy if noisy[name] is block]
            mechanism = block.mechanism.coordinates([block.columns.index(name) for name in chosen])
            if mechanism.zero_probability == 0 or is_coarse(mechanism):
                why = "has no exactly published records" if mechanism.zero_probability == 0 else "has too coarse a grid"
                raise EstimationError(
                    f'"{chosen[0]}" holds numbers with noise and {why}: then it can be a predictor of its own, beside '
                    "public columns, and cannot stand in functions, with other randomised columns or as the only one"
                )
            reports = np.column_stack([pc.cast(table[name], pa.float64()).to_numpy() for name in chosen])
            made.append(NoisyBlock(np.asarray(reports, float), mechanism))
            names += chosen
        return cls(tuple(names), Copies(made), table)

    def with_count(self, count: int) -> NumericColumns:
        """The same with another number of copies."""
        return NumericColumns(self.names, self.copies.with_count(count), self.table)

    def taken_literally(self) -> WrittenOut:
        """The records with their numbers as they were reported."""
        return WrittenOut(np.arange(self.table.num_rows), None, self.table)

    def inside(self) -> WrittenOut:
        """All copies inside the box."""
        kept = self.copies.kept
        return self._written(kept.record, kept.weight, kept.values)

    def outside(self) -> Iterator[WrittenOut]:
        """Copies outside the box, at its nearest point, draw by draw."""
        for draw in self.copies.draws():
            record = np.flatnonzero(~draw.inside)
            if record.size:
                weight = np.full(record.size, draw.weight)
                yield self._written(record, weight, self.copies.clip(draw.values[record]))

    def _written(self, record: NDArray[np.intp], weight: Floats, values: Floats) -> WrittenOut:
        return WrittenOut(record, weight, with_numbers(self.table.take(pa.array(record)), self.names, values))

    @property
    def described(self) -> str:
        """For a note."""
        return f"{', '.join(self.names)} (numbers with noise) are used inside their box"


def with_numbers(table: pa.Table, names: Sequence[str], values: Floats) -> pa.Table:
    """A table with these columns (rows, columns) in place of those of the same name."""
    for name, column in zip(names, values.T, strict=True):
        table = table.set_column(table.column_names.index(name), name, pa.array(column))
    return table
