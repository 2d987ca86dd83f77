"""From rows as they were read to rows of a corrected loss: over cells, or by moments.

A model can be sent to where the rows are. It takes along what it was told, and works out the rest again there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from discreet.arguments import Floats
from discreet.errors import NotIdentifiedError
from discreet.estimate.data.map_reduce import Source, summed
from discreet.estimate.formulas import Matrices
from discreet.estimate.regressions.cell_passes import CellRows
from discreet.estimate.regressions.cells import Cells
from discreet.estimate.regressions.collinearity import (
    AtFirstTruths,
    CellProducts,
    Products,
    refuse_collinear,
    refuse_collinear_units,
)
from discreet.estimate.regressions.evaluation import CellColumns, Evaluation
from discreet.estimate.regressions.families import Family, Poisson
from discreet.estimate.regressions.linear_moments import LinearMoments, MomentRows, Pair, Places, Unit
from discreet.estimate.regressions.objective import CorrectedLoss, Size
from discreet.estimate.regressions.outcome import Outcome
from discreet.estimate.regressions.randomised import Needed, Randomisation
from discreet.estimate.regressions.reading import EncodedRows

#: Numbers of the rows that are made at once (2^22 floats, 32 MB).
_AT_ONCE = 1 << 22


@dataclass(frozen=True, eq=False)
class Counted:
    """How many rows there are, how many differ where equal ones were put together, and the sum of the weights."""

    n: int
    distinct: int
    total: float


@dataclass(eq=False)
class Model(ABC):
    """A formula with everything that was found out about its columns.

    Attributes
    ----------
    randomisation : Randomisation
    matrices : Matrices
    outcome : Outcome
    """

    randomisation: Randomisation
    matrices: Matrices
    outcome: Outcome

    @cached_property
    def evaluation(self) -> Evaluation:
        """The columns of the formula, where they vary."""
        return Evaluation(self.matrices, self.randomisation.predictors)

    def __getstate__(self) -> dict[str, Any]:
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @abstractmethod
    def rows(self, read: EncodedRows) -> Iterator[Any]:
        """Rows of the loss."""

    @abstractmethod
    def risk(self, source: Source, every: Source | None, counted: Counted) -> CorrectedLoss | LinearMoments:
        """The corrected loss of these rows; ``every`` has clusters and strata where the others have lost them."""


def model_of(randomisation: Randomisation, matrices: Matrices, outcome: Outcome) -> Model:
    """A squared loss needs no cells, unless terms meet public ones or truths that weigh nothing."""
    made = ByMoments(randomisation, matrices, outcome)
    square = outcome.family.curvature == "square" and not (made.evaluation.mixed_at.size or randomisation.partial)
    return made if square else OverCells(randomisation, matrices, outcome)


def _pieces(read: EncodedRows, width: int) -> Iterator[EncodedRows]:
    """Some of the rows at a time, by the numbers that each takes; copies of records stay together."""
    if read.sample.records is not None:
        yield read
        return
    for some, sample in read.sample.pieces(read.rows, max(_AT_ONCE // max(width, 1), 1)):
        yield read.take(some, sample)


class OverCells(Model):
    """The corrected loss over every combination of true values."""

    @cached_property
    def _weighed(self) -> tuple[Family, Cells]:
        """The loss with its cells: counts have a loss that fits the weights, where all parts of it are known."""
        randomisation, family = self.randomisation, self.outcome.family
        if isinstance(family, Poisson):
            try:
                found = randomisation.cells(self._axes, lambda _: True, outcome=randomisation.outcome)
            except NotIdentifiedError:  # columns that were randomised together: the canonical loss needs less
                pass
            else:
                return family.tamed(found.inflation), found
        needed = needed_parts(self.evaluation.units, family.curvature, randomisation)
        return family, randomisation.cells(self._axes, needed, outcome=randomisation.outcome)

    @property
    def cells(self) -> Cells:
        """Every combination, with what reports weigh it by."""
        return self._weighed[1]

    @property
    def _axes(self) -> range:
        return range(len(self.randomisation.columns))

    @cached_property
    def _columns(self) -> CellColumns:
        return self.evaluation.over(self.cells)

    def rows(self, read: EncodedRows) -> Iterator[CellRows]:
        """With their cells."""
        for piece in _pieces(read, self._columns.width):
            codes = self.randomisation.codes(self._axes, piece.codes)
            matrix = self._columns.matrix(piece.public)
            yield CellRows(
                matrix, self.cells.of_rows(codes, piece.rows), self.outcome.values(piece.outcome), piece.sample
            )

    def risk(self, source: Source, every: Source | None, counted: Counted) -> CorrectedLoss:
        """After a look at the columns."""
        names, (family, cells) = self.matrices.names, self._weighed
        found = summed(source, CellProducts(len(names)))
        refuse_collinear(source, found.products, names)
        metric = found.products / (found.rows * cells.count)
        rows = (counted.n, counted.distinct, counted.total)
        size = Size(*rows, metric, cells.count * cells.outcomes, cells.inflation)
        _, transform = family.parameters(names)
        constant = names.index("Intercept") if "Intercept" in names else None
        return CorrectedLoss(family, source, size, constant, transform, every)


@dataclass(frozen=True, eq=False)
class _UnitCells:
    """Columns of the model that depend on the same randomised columns, before any report was read."""

    at: Places
    axes: tuple[int, ...]
    values: Floats
    cells: Cells


class ByMoments(Model):
    """The corrected squared loss, from the moments of single units and of pairs that were randomised together."""

    @cached_property
    def _units(self) -> list[_UnitCells]:
        evaluation, randomisation = self.evaluation, self.randomisation
        parts = [
            (evaluation.columns_of(unit), evaluation.axes(unit), values)
            for unit, values in evaluation.unit_matrices.items()
        ]
        if randomisation.outcome:
            assert self.outcome.possible is not None
            last = np.array([len(self.matrices.names)])
            parts.append((last, (len(randomisation.columns) - 1,), self.outcome.possible.T))
        return [_UnitCells(at, axes, values, self._cells(axes)) for at, axes, values in parts]

    @cached_property
    def _together(self) -> list[tuple[_UnitCells, _UnitCells, Cells]]:
        """Pairs of units that were randomised together."""
        return [
            (one, other, self._cells((*one.axes, *other.axes)))
            for i, one in enumerate(self._units)
            for other in self._units[:i]
            if self.randomisation.together(one.axes, other.axes)
        ]

    def _cells(self, axes: tuple[int, ...]) -> Cells:
        return self.randomisation.cells(axes, lambda _: True, outcome=False)

    @cached_property
    def _tables(self) -> dict[int, Unit | Pair]:
        """The tables of units and pairs, where those of all reports are kept."""
        return {}

    def _unit(self, one: _UnitCells, read: EncodedRows) -> tuple[Unit, Any]:
        weights = one.cells.of_rows(self.randomisation.codes(one.axes, read.codes), read.rows)
        known = self._tables.get(id(one))
        made = known if isinstance(known, Unit) else Unit.of(one.at, weights.table(), one.values)
        if one.cells.few:
            self._tables[id(one)] = made
        return made, weights.reports

    def _pair(self, one: _UnitCells, other: _UnitCells, cells: Cells, read: EncodedRows) -> tuple[Pair, Any]:
        weights = cells.of_rows(self.randomisation.codes((*one.axes, *other.axes), read.codes), read.rows)
        known = self._tables.get(id(cells))
        if not isinstance(known, Pair):
            known = Pair.of((one.at, other.at), weights.table(), (one.values, other.values))
        if cells.few:
            self._tables[id(cells)] = known
        return known, weights.reports

    def rows(self, read: EncodedRows) -> Iterator[MomentRows]:
        """With the reports of every unit."""
        at, public_outcome = self.evaluation.public_at, not self.randomisation.outcome
        for piece in _pieces(read, at.size + 1):
            public = self.evaluation.public(piece.public)
            if public_outcome:
                public = np.column_stack([public, self.outcome.values(piece.outcome)])
            yield MomentRows(
                public,
                np.append(at, len(self.matrices.names)) if public_outcome else at,
                tuple(self._unit(one, piece) for one in self._units),
                tuple(self._pair(*pair, piece) for pair in self._together),
                piece.sample,
            )

    def risk(self, source: Source, every: Source | None, counted: Counted) -> LinearMoments:
        """After one pass for the moments, and for the columns at the first truths."""
        names, at = self.matrices.names, AtFirstTruths.of(self.evaluation)
        found = summed(source, _MomentSums(len(names), at))
        assert found.row is not None
        metric = refuse_collinear_units(source, at, found.plain.products / found.plain.rows, found.row, names)
        gram, sizes = found.gram / counted.total, (counted.n, counted.distinct, counted.total)
        return LinearMoments(source, gram, metric, *sizes, every)


@dataclass(frozen=True, eq=False)
class _Sums:
    """The debiased products of some rows, the plain ones at the first truths, and the public columns of one row."""

    gram: Floats
    plain: Products
    row: Floats | None = None

    def __add__(self, other: _Sums) -> _Sums:
        return _Sums(self.gram + other.gram, self.plain + other.plain, other.row if self.row is None else self.row)


@dataclass(frozen=True, eq=False)
class _MomentSums:
    columns: int
    at: AtFirstTruths

    def __call__(self, chunks: Iterator[MomentRows]) -> _Sums:
        size = self.columns
        found = _Sums(np.zeros((size + 1, size + 1)), Products(np.zeros((size, size)), 0.0))
        for rows in chunks:
            times, public = rows.sample.counted(rows.rows), rows.public[:, : self.at.public_at.size]
            row = public[0] if len(public) else None
            found = found + _Sums(rows.gram(), self._plain(public, times), row)
        return found

    def _plain(self, public: Floats, times: Floats) -> Products:
        """``Σ x x'`` at the first truths, where all columns but the public ones are the same in every row."""
        at, first, count = self.at.public_at, self.at.first.copy(), float(times.sum())
        first[at] = 0.0
        made = count * np.outer(first, first)
        sums = np.zeros(self.columns)
        sums[at] = times @ public
        made += np.outer(sums, first) + np.outer(first, sums)
        made[np.ix_(at, at)] += public.T @ (times[:, None] * public)
        return Products(made, count)


def needed_parts(units: Sequence[int], curvature: str, randomisation: Randomisation) -> Needed:
    """Which columns the corrected loss has together, by axis.

    A canonical loss ``b(η) − yη`` has the outcome together with one term at a time, a squared loss terms in pairs, any
    other loss everything together. Terms are sums over *units*, columns that meet in a term. Where a blank weighs
    nothing, every part of the loss is multiplied by whether no truth is blank, and has everything together.
    """
    outcome = len(units) if randomisation.outcome else None
    if curvature == "general" or randomisation.blanks:
        return lambda _: True
    most = 2 if curvature == "square" else len(units)

    def needed(members: frozenset[int]) -> bool:
        met = {units[axis] for axis in members if axis != outcome}
        return len(met) <= (1 if outcome in members else most)

    return needed
