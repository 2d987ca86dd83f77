"""The columns of a formula, evaluated where they vary: in rows, in cells, or in both."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.estimate.formulas import Matrices
from discreet.estimate.regressions.cells import Cells
from discreet.estimate.regressions.model_matrix import CellMatrix
from discreet.estimate.regressions.randomised import RandomisedColumn


class Evaluation:
    """A formula over public rows and true values of the randomised predictors.

    Parameters
    ----------
    matrices : Matrices
    columns : sequence of RandomisedColumn
        The randomised predictors.
    """

    def __init__(self, matrices: Matrices, columns: Sequence[RandomisedColumn]) -> None:
        self.matrices, self._columns = matrices, tuple(columns)
        hidden = {column.name for column in columns}
        used = matrices.used
        kinds = np.array([2 * bool(u & hidden) + bool(u - hidden) for u in used])  # 2: randomised alone, 3: both
        self.public_at, self.private_at, self.mixed_at = (
            np.flatnonzero(found) for found in (kinds <= 1, kinds == 2, kinds == 3)
        )

    @cached_property
    def units(self) -> tuple[int, ...]:
        """For every randomised predictor the number of its unit: columns that meet in a term are one unit."""
        unit = list(range(len(self._columns)))
        for used in self.matrices.used:
            met = {unit[k] for k, column in enumerate(self._columns) if column.name in used}
            if met:
                unit = [min(met) if one in met else one for one in unit]
        return tuple(unit)

    def axes(self, unit: int) -> tuple[int, ...]:
        """The columns of a unit."""
        return tuple(k for k, one in enumerate(self.units) if one == unit)

    def columns_of(self, unit: int) -> NDArray[np.intp]:
        """The columns of the model that depend on a unit and on nothing public."""
        names = {self._columns[k].name for k in self.axes(unit)}
        return np.array([j for j in self.private_at if self.matrices.used[j] & names], np.intp)

    def _at(self, truths: NDArray[np.intp] | None, rows: pa.Table | None, columns: NDArray[np.intp]) -> Floats:
        """These columns of the model in these rows (None: they use nothing public) at these true values.

        One row of truths stands for all rows; None where the columns use nothing randomised.
        """
        count = rows.num_rows if rows is not None else len(truths) if truths is not None else 1
        if not columns.size:
            return np.zeros((count, 0))
        used = frozenset().union(*(self.matrices.used[j] for j in columns))
        made: dict[str, Any] = {}
        if rows is not None:
            made = {name: rows[name] for name in rows.column_names if name in used}
        if truths is not None:
            for k, column in enumerate(self._columns):
                if column.name in used:
                    made[column.name] = column.at(np.broadcast_to(truths[:, k], count).copy())
        return self.matrices.matrix(pa.table(made) if made else pa.table({"": pa.nulls(count)}), columns)

    def public(self, rows: pa.Table) -> Floats:
        """The public columns of the model in these rows."""
        return self._at(None, rows, self.public_at)

    @cached_property
    def unit_matrices(self) -> dict[int, Floats]:
        """For every unit its columns of the model, at every combination of its true values."""
        listed = []
        for unit in sorted(set(self.units)):
            axes = self.axes(unit)
            sizes = [self._columns[k].size for k in axes]
            truths = np.zeros((math.prod(sizes), len(self._columns)), np.intp)
            truths[:, list(axes)] = np.stack(np.unravel_index(np.arange(len(truths)), sizes), axis=1)
            listed.append((unit, truths))
        values = np.zeros((sum(len(truths) for _, truths in listed), len(self.matrices.names)))
        if listed:  # one call for all units: each costs more than its rows
            values[:, self.private_at] = self._at(np.vstack([truths for _, truths in listed]), None, self.private_at)
        ends = np.cumsum([len(truths) for _, truths in listed])
        parts = np.split(values, ends[:-1]) if listed else []
        return {unit: part[:, self.columns_of(unit)] for (unit, _), part in zip(listed, parts, strict=True)}

    def over(self, cells: Cells) -> CellColumns:
        """The columns of the model that depend on cells."""
        truths, mixed_at, used = cells.truths(), self.mixed_at, self.matrices.used
        met = [k for k, column in enumerate(self._columns) if any(column.name in used[j] for j in mixed_at)]
        _, first, kind = np.unique(truths[:, met], axis=0, return_index=True, return_inverse=True)
        return CellColumns(self, self._at(truths, None, self.private_at), truths[first], kind.reshape(-1))


@dataclass(frozen=True, eq=False)
class CellColumns:
    """The columns of a model over cells, ready for rows.

    Attributes
    ----------
    evaluation : Evaluation
    private : array (cells, p2)
        Columns of randomised terms alone.
    kinds : array (kinds, randomised predictors)
        True values that columns in which public and randomised terms meet tell apart.
    kind : array (cells,)
    """

    evaluation: Evaluation
    private: Floats
    kinds: NDArray[np.intp]
    kind: NDArray[np.intp]

    @property
    def width(self) -> int:
        """Numbers that a row takes."""
        at = self.evaluation
        return int(at.public_at.size + at.mixed_at.size * len(self.kinds))

    def matrix(self, rows: pa.Table) -> CellMatrix:
        """The model matrix of these rows in every cell."""
        at, mixed = self.evaluation, np.zeros((rows.num_rows, 1, 0))
        if at.mixed_at.size:
            made = [at._at(self.kinds[c : c + 1], rows, at.mixed_at) for c in range(len(self.kinds))]
            mixed = np.stack(made, axis=1)
        return CellMatrix(at.public(rows), self.private, mixed, self.kind, at.public_at, at.private_at, at.mixed_at)
