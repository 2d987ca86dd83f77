"""Rows of a corrected loss over cells, and the passes over them: the loss, its derivatives, squares of scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.arguments import Floats
from discreet.estimate.data.map_reduce import FieldSums, nbytes
from discreet.estimate.regressions.cells import CellWeights
from discreet.estimate.regressions.families import Family, Statistics
from discreet.estimate.regressions.model_matrix import CellMatrix
from discreet.estimate.regressions.sample import Sample, ScoreSquares

#: Numbers in one working array: what a step touches stays in the second-level cache.
_CHUNK = 1 << 15
#: Numbers about the outcome that are kept from step to step (2^24 floats, 128 MB).
_KEPT = 1 << 24


@dataclass(frozen=True)
class Moments:
    """The mean of a corrected loss over rows at one θ, with its first two derivatives."""

    value: float
    gradient: Floats
    hessian: Floats


@dataclass(frozen=True, eq=False)
class CellRows:
    """Some distinct rows with their cells.

    Attributes
    ----------
    matrix : CellMatrix
    weights : CellWeights
    outcome : array (rows or 1, values)
        The public outcome of every row, or the values of a randomised one.
    sample : Sample
        The rows that these stand for.
    """

    matrix: CellMatrix
    cells: CellWeights
    outcome: Floats
    sample: Sample

    @property
    def rows(self) -> int:
        """Number of distinct rows."""
        return self.matrix.rows

    @property
    def nbytes(self) -> int:
        """What they take."""
        parts = self.matrix.nbytes + self.cells.nbytes + self.sample.nbytes
        return parts + (nbytes(self.outcome) if len(self.outcome) > 1 else 0)

    def outcomes(self, rows: slice) -> Floats:
        """What some rows can have for an outcome."""
        return self.outcome if len(self.outcome) == 1 else self.outcome[rows]

    def pieces(self, predictors: int = 1) -> Iterator[tuple[slice, CellMatrix]]:
        """Some rows at a time, so many that working arrays stay small."""
        width = max(self.matrix.cells * max(self.cells.cells.outcomes, predictors**2), 1)
        step = max(_CHUNK // width, 16)
        for start in range(0, self.rows, step):
            rows = slice(start, min(start + step, self.rows))
            yield rows, self.matrix.take(rows)


class KnownStatistics:
    """What a family needs of the outcomes, free of θ: kept from pass to pass where there is room, never sent."""

    def __init__(self, room: int = _KEPT) -> None:
        self._room = room
        self._known: dict[tuple[int, int], Statistics] = {}

    def of(self, family: Family, place: int, rows: CellRows, some: slice) -> Statistics:
        """Of some rows of the chunk at this place."""
        known = self._known.get((place, some.start))
        if known is not None:
            return known
        found = family.statistics(rows.outcomes(some), rows.cells.of(some))
        size = sum(one.size for one in found)
        if size <= self._room:
            self._room -= size
            self._known[place, some.start] = found
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {"_room": 0, "_known": {}}


@dataclass(frozen=True, eq=False)
class At:
    """A loss at a point: what every pass over its rows needs to know.

    Attributes
    ----------
    family : Family
    coefficients : array (K, columns)
        One row for each linear predictor.
    transform : array or None
        Makes the coefficients of all linear predictors from the parameters.
    known : KnownStatistics
    """

    family: Family
    coefficients: Floats
    transform: Floats | None = None
    known: KnownStatistics = field(default_factory=lambda: KnownStatistics(0))

    def predictors(self, matrix: CellMatrix) -> Floats:
        """The linear predictors (rows, cells, K)."""
        return np.stack([matrix.predictor(one) for one in self.coefficients], axis=2)

    def terms(self, place: int, rows: CellRows) -> Iterator[tuple[slice, CellMatrix, tuple[Floats, Floats, Floats]]]:
        """Losses and their derivatives, some rows at a time."""
        for some, matrix in rows.pieces(self.family.predictors):
            statistics = self.known.of(self.family, place, rows, some)
            yield some, matrix, self.family.terms(self.predictors(matrix), statistics)

    def row_scores(self, place: int, rows: CellRows) -> Floats:
        """The gradient of every distinct row."""
        K = self.family.predictors
        size = self.coefficients.size if self.transform is None else self.transform.shape[1]
        out = np.empty((rows.rows, size))
        for some, matrix, (_, first, _) in self.terms(place, rows):
            full = np.concatenate([matrix.row_sums(first[:, :, k]) for k in range(K)], axis=1)
            out[some] = full if self.transform is None else full @ self.transform
        return out

    def row_bends(self, place: int, rows: CellRows, direction: Floats) -> Floats:
        """The second derivative of every distinct row along a direction of the parameters (rows, 1)."""
        full = direction if self.transform is None else self.transform @ direction
        moves = full.reshape(self.coefficients.shape)
        out = np.empty((rows.rows, 1))
        for some, matrix, (_, _, second) in self.terms(place, rows):
            along = np.stack([matrix.predictor(one) for one in moves], axis=2)
            out[some, 0] = np.einsum("rck,rckl,rcl->r", along, second, along, optimize=True)
        return out


@dataclass(eq=False)
class LossSums(FieldSums):
    """``Σ ω f``, its gradient and its second derivatives; two of them add up."""

    value: float
    gradient: Floats
    hessian: Floats


@dataclass(frozen=True, eq=False)
class MomentPass:
    """The pass that adds up the loss and its derivatives."""

    at: At

    def __call__(self, chunks: Iterator[CellRows]) -> LossSums:
        """Of some rows."""
        K, p = self.at.coefficients.shape
        value, gradient, hessian = 0.0, np.zeros((K, p)), np.zeros((K, p, K, p))
        for place, rows in enumerate(chunks):
            summed_weights = rows.sample.summed(rows.rows)
            for some, matrix, (f, first, second) in self.at.terms(place, rows):
                weights = summed_weights[some]
                value += float((weights @ f).sum())
                for k in range(K):
                    gradient[k] += matrix.total(first[:, :, k], weights)
                    for j in range(k + 1):
                        hessian[k, :, j] += matrix.products(second[:, :, k, j], weights)
        return LossSums(value, gradient, hessian)


@dataclass(frozen=True, eq=False)
class ScorePass:
    """The pass that adds up squares of scores."""

    at: At

    def __call__(self, chunks: Iterator[CellRows]) -> ScoreSquares:
        """Of some rows."""
        found = ScoreSquares(0)
        for place, rows in enumerate(chunks):
            found = found + rows.sample.scored(self.at.row_scores(place, rows))
        return found


@dataclass(frozen=True, eq=False)
class BendPass:
    """The pass that adds up squares of second derivatives along a direction."""

    at: At
    direction: Floats

    def __call__(self, chunks: Iterator[CellRows]) -> ScoreSquares:
        """Of some rows."""
        found = ScoreSquares(0)
        for place, rows in enumerate(chunks):
            found = found + rows.sample.scored(self.at.row_bends(place, rows, self.direction))
        return found


@dataclass(frozen=True, eq=False)
class LinearScorePass:
    """Squares of the scores at zero, and of how they change with each parameter, side by side."""

    points: tuple[At, ...]

    def __call__(self, chunks: Iterator[CellRows]) -> ScoreSquares:
        """Of some rows."""
        found = ScoreSquares(0)
        for place, rows in enumerate(chunks):
            first, *others = (at.row_scores(place, rows) for at in self.points)
            found = found + rows.sample.scored(side_by_side(first, others))
        return found


def side_by_side(first: Floats, others: Sequence[Floats]) -> Floats:
    """Scores at zero beside their changes (rows, (1 + p) p)."""
    return np.concatenate([first, *(one - first for one in others)], axis=1)


@dataclass(frozen=True, eq=False)
class OutcomePass:
    """The corrected sums of the outcome, or of its classes, and of the weights."""

    classes: int

    def __call__(self, chunks: Iterator[CellRows]) -> Floats:
        """Of some rows."""
        sums, total = np.zeros(max(self.classes, 1)), 0.0
        for rows in chunks:
            summed_weights = rows.sample.summed(rows.rows)
            for some, _ in rows.pieces():
                weights = summed_weights[some, None] * rows.cells.of(some).sum(axis=2)
                y = np.broadcast_to(rows.outcomes(some), weights.shape)
                if self.classes:
                    sums += np.bincount(y.ravel().astype(int), weights.ravel(), sums.size)
                else:
                    sums += (weights * y).sum()
                total += float(weights.sum())
        return np.append(sums, total)
