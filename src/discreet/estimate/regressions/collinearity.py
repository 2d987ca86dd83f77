"""Columns of a model that are combinations of others, in every row and for every truth, are refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arguments import Floats
from discreet.estimate.data.map_reduce import FieldSums, Source, summed
from discreet.estimate.regressions.cell_passes import CellRows
from discreet.estimate.regressions.evaluation import Evaluation
from discreet.estimate.regressions.likelihood.scan import Triangle, collinear, dependent_columns
from discreet.estimate.regressions.linear_moments import MomentRows

#: Share of a squared column below which it may be a combination of others; then orthogonal factors decide.
_SUSPECT, _COLLINEAR = 1e-9, 1e-10
_ROWS = 1 << 12


@dataclass(frozen=True, eq=False)
class Products(FieldSums):
    """``Σ x x'`` over rows and cells, with the number of rows; two of them add up."""

    products: Floats
    rows: float


@dataclass(frozen=True, eq=False)
class CellProducts:
    """The pass that adds them up."""

    columns: int

    def __call__(self, chunks: Iterator[CellRows]) -> Products:
        """Of some rows."""
        found = Products(np.zeros((self.columns, self.columns)), 0.0)
        for rows in chunks:
            times = rows.sample.counted(rows.rows)
            found = found + Products(rows.matrix.gram(times), float(times.sum()))
        return found


@dataclass(frozen=True, eq=False)
class _CellTriangles:
    columns: int

    def __call__(self, chunks: Iterator[CellRows]) -> Triangle:
        found = Triangle.nothing(self.columns)
        for rows in chunks:
            step = max(_ROWS // rows.matrix.cells, 1)
            for start in range(0, rows.rows, step):
                part = rows.matrix.take(slice(start, start + step))
                found = found + Triangle.of(part.written_out().reshape(-1, self.columns))
        return found


def refuse_collinear(source: Source, products: Floats, names: Sequence[str]) -> None:
    """Refuse a model matrix over rows and cells, given its products."""
    if dependent_columns(products, _SUSPECT):
        _refuse(summed(source, _CellTriangles(len(names))), names)


@dataclass(frozen=True, eq=False)
class AtFirstTruths:
    """A model that is a sum over units, without its cells: columns of rows at the first truths of all units.

    A sum ``f_0(row) + f_1(t_1) + f_2(t_2) + …`` is zero everywhere exactly when it is zero in every row at the first
    truths, and for every truth of one unit at a time in one row.
    """

    public_at: Any
    first: Floats
    units: Mapping[int, tuple[Any, Floats]]

    @classmethod
    def of(cls, evaluation: Evaluation) -> AtFirstTruths:
        """From the columns of the units, which are known without any row."""
        first = np.zeros(len(evaluation.matrices.names))
        units = {unit: (evaluation.columns_of(unit), values) for unit, values in evaluation.unit_matrices.items()}
        for at, values in units.values():
            first[at] = values[0]
        return cls(evaluation.public_at, first, units)

    def rows(self, public: Floats) -> Floats:
        """The model matrix of rows with these public columns."""
        made = np.tile(self.first, (len(public), 1))
        made[:, self.public_at] = public
        return made

    def truths(self, row: Floats) -> list[Floats]:
        """In one row of public columns, all truths of one unit at a time."""
        found = []
        for at, values in self.units.values():
            made = self.rows(np.tile(row, (len(values), 1)))
            made[:, at] = values
            found.append(made)
        return found


@dataclass(frozen=True, eq=False)
class _UnitTriangles:
    at: AtFirstTruths

    def __call__(self, chunks: Iterator[MomentRows]) -> Triangle:
        found = Triangle.nothing(self.at.first.size)
        for rows in chunks:
            for start in range(0, rows.rows, _ROWS):
                public = rows.public[start : start + _ROWS, : self.at.public_at.size]
                found = found + Triangle.of(self.at.rows(public))
        return found


def refuse_collinear_units(
    source: Source, at: AtFirstTruths, products: Floats, row: Floats, names: Sequence[str]
) -> Floats:
    """The same for a model that is a sum over units; returns the mean of x x' over rows and truths.

    Parameters
    ----------
    products : array
        The mean of x x' over rows at the first truths.
    row : array
        The public columns of one row.
    """
    truths = at.truths(row)
    gram = products + sum((one.T @ one / len(one) for one in truths), np.zeros_like(products))
    if dependent_columns(gram, _SUSPECT):
        found = summed(source, _UnitTriangles(at))
        _refuse(sum((Triangle.of(one) for one in truths), found), names)
    return np.asarray(gram)


def _refuse(triangle: Triangle, names: Sequence[str]) -> None:
    """Decide by orthogonal factors."""
    found = dependent_columns(triangle.factor, _COLLINEAR, triangular=True)
    if found:
        raise collinear(names, *found)
