"""Numeric columns with noise in a formula: which they are, and how the model's columns depend on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from discreet import arrow_functions as pc
from discreet.arguments import Floats
from discreet.blocks import NumericBlock
from discreet.errors import EstimationError
from discreet.estimate.formulas import Matrices
from discreet.estimate.noisy_numbers.copies import Copies, NoisyBlock
from discreet.estimate.noisy_numbers.inside import is_coarse
from discreet.mechanisms.laplace import ZeroInflatedLaplace

if TYPE_CHECKING:
    from discreet.blocks import Block

#: Points of the box at which a column of the model is compared with a plane, and their seed.
_POINTS, _SEED = 6, 141421


@dataclass(frozen=True, eq=False)
class NumericColumns:
    """The numeric columns of a formula.

    Attributes
    ----------
    names : tuple of str
        Block by block, as the values of copies stand side by side.
    blocks : tuple of NoisyBlock
        The reports of each block and their mechanism.
    groups : tuple of tuple of str
        The names of every block.
    table : pyarrow.Table
        The complete rows, with the numbers as they were reported.
    """

    names: tuple[str, ...]
    blocks: tuple[NoisyBlock, ...]
    groups: tuple[tuple[str, ...], ...]
    table: pa.Table

    @classmethod
    def of(cls, blocks: Mapping[str, Block], table: pa.Table) -> NumericColumns:
        """Those among the columns of a formula, of which there is one; only columns in the formula take part."""
        noisy = {name: block for name, block in blocks.items() if isinstance(block, NumericBlock)}
        groups, made = [], []
        for block in dict.fromkeys(noisy.values()):
            chosen = [name for name in noisy if noisy[name] is block]
            mechanism = block.mechanism.coordinates([block.columns.index(name) for name in chosen])
            reports = np.column_stack([pc.cast(table[name], pa.float64()).to_numpy() for name in chosen])
            made.append(NoisyBlock(np.asarray(reports, float), mechanism))
            groups.append(tuple(chosen))
        names = tuple(name for group in groups for name in group)
        return cls(names, tuple(made), tuple(groups), table)

    @property
    def has_box(self) -> bool:
        """Whether every block can be undone inside its box."""
        return not any(one.mechanism.zero_probability == 0 or is_coarse(one.mechanism) for one in self.blocks)

    def copies(self) -> Copies:
        """Reports and copies of them; refused where a block has no exact records or too coarse a grid."""
        for names, block in zip(self.groups, self.blocks, strict=True):
            mechanism = block.mechanism
            if mechanism.zero_probability == 0 or is_coarse(mechanism):
                why = "has no exactly published records" if mechanism.zero_probability == 0 else "has too coarse a grid"
                raise EstimationError(
                    f'"{names[0]}" holds numbers with noise and {why}: it can be a predictor beside public columns, '
                    "and not in functions that bend, with other randomised columns, or as the only one"
                )
        return Copies(self.blocks)

    def block_of(self, name: str) -> int:
        """The place of the block of a column."""
        return next(k for k, group in enumerate(self.groups) if name in group)

    @property
    def described(self) -> str:
        """For a note."""
        return f"{', '.join(self.names)} (numbers with noise) are used inside their box"


def with_numbers(table: pa.Table, names: Sequence[str], values: Floats) -> pa.Table:
    """A table with these columns (rows, columns) in place of those of the same name."""
    for name, column in zip(names, values.T, strict=True):
        table = table.set_column(table.column_names.index(name), name, pa.array(column))
    return table


def affine_columns(
    matrices: Matrices, names: Sequence[str], mechanism: ZeroInflatedLaplace
) -> tuple[Floats, Floats] | None:
    """How the model's columns depend on numbers: ``column = offset + B x``, B (columns, numbers) and the offsets.

    None where a column bends, or meets a public one: then noise does not pass through as Laplace noise.
    """
    used = matrices.used
    places = np.array([j for j, one in enumerate(used) if one & set(names)], np.intp)
    if any(not used[j] <= set(names) for j in places):
        return None
    low, width, d = np.array(mechanism.box.low), np.array(mechanism.box.widths), len(names)
    steps = np.vstack([np.zeros(d), np.eye(d), np.random.default_rng(_SEED).random((_POINTS, d))])
    made = matrices.matrix(pa.table(dict(zip(names, (low + steps * width).T, strict=True))), places)
    slopes = (made[1 : 1 + d] - made[0]).T
    left = made - made[0] - steps @ slopes.T
    if np.abs(left).max(initial=0.0) > 1e-9 * max(float(np.abs(made).max(initial=0.0)), 1e-300):
        return None
    B, offset = np.zeros((len(used), d)), np.zeros(len(used))
    B[places] = slopes / width
    offset[places] = made[0] - B[places] @ low
    return B, offset
