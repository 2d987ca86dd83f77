"""The corrected loss of a sample: ``ℓ̃(θ) = Σ_i ω_i Σ_t w_i(t) ℓ(θ; t, public values of row i)``, and its derivatives.

Its expectation over the randomisation is the loss of the truths, for every θ: so are those of the gradient and of the
second derivatives (the corrected score of Nakamura 1990 and Stefanski 1989, for discrete errors). Rows that are equal
in everything are one row here, with the sum of their weights. Everything is a sum over rows, made in passes
(:mod:`discreet.estimate.data.map_reduce`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from discreet.arguments import Floats
from discreet.estimate.corrected_loss.cells import CellWeights
from discreet.estimate.corrected_loss.families import Family, Statistics
from discreet.estimate.corrected_loss.model_matrix import CellMatrix
from discreet.estimate.corrected_loss.sample import Sample, ScoreSquares
from discreet.estimate.data.map_reduce import FieldSums, Held, Source, nbytes, summed
from discreet.estimate.m_estimation.objective import Moments

#: Numbers in one working array: what a step touches stays in the second-level cache.
_CHUNK = 1 << 15
#: Numbers about the outcome that are kept from step to step (2^24 floats, 128 MB).
_KEPT = 1 << 24


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


@dataclass(eq=False)
class LossSums(FieldSums):
    """``Σ ω f``, its gradient and its second derivatives; two of them add up."""

    value: float
    gradient: Floats
    hessian: Floats


@dataclass(frozen=True, eq=False)
class _Moments:
    at: At

    def __call__(self, chunks: Iterator[CellRows]) -> LossSums:
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
class _Scores:
    at: At

    def __call__(self, chunks: Iterator[CellRows]) -> ScoreSquares:
        found = ScoreSquares(0)
        for place, rows in enumerate(chunks):
            found = found + rows.sample.scored(self.at.row_scores(place, rows))
        return found


@dataclass(frozen=True, eq=False)
class _OutcomeSums:
    """The corrected sums of the outcome, or of its classes, and of the weights."""

    classes: int

    def __call__(self, chunks: Iterator[CellRows]) -> Floats:
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


@dataclass(frozen=True, eq=False)
class Size:
    """How much there is.

    Attributes
    ----------
    n, distinct : int
        Rows, and those that differ where equal ones were put together.
    total : float
        The sum of the weights.
    metric : array
        The mean of x x' over rows and cells.
    cells : int
        Values of a randomised outcome included; 0 where none are needed.
    inflation : float
        By what the correction inflates variances; one without randomised predictors.
    """

    n: int
    distinct: int
    total: float
    metric: Floats
    cells: int
    inflation: float = 1.0


class CorrectedLoss:
    """The corrected loss over cells, as a mean over rows.

    Parameters
    ----------
    family : Family
    source : Source of CellRows
    size : Size
    constant : int or None
        The column of the model that is the intercept, where there is one.
    transform : array or None
        Makes the coefficients of all linear predictors from the parameters.
    every : Source of CellRows, optional
        The rows with their clusters and strata, where equal ones were put together without regard to these.
    tilt : array or None
        What is taken from the sum of the scores.
    """

    def __init__(
        self,
        family: Family,
        source: Source,
        size: Size,
        constant: int | None = None,
        transform: Floats | None = None,
        every: Source | None = None,
        tilt: Floats | None = None,
    ) -> None:
        self.family, self.source, self._size = family, source, size
        self.constant, self.transform, self.tilt = constant, transform, tilt
        self.every = source if every is None else every
        self._known = KnownStatistics()

    def with_family(self, family: Family) -> CorrectedLoss:
        """The same rows and cells under another loss of one linear predictor."""
        return CorrectedLoss(family, self.source, self._size, self.constant, every=self.every, tilt=self.tilt)

    def with_controls(self, controls: Floats) -> CorrectedLoss:
        """The same with numbers of mean zero that are taken from the scores of records."""
        only = self.only
        sample = replace(only.sample, controls=controls)
        source = Held((replace(only, sample=sample),))
        return CorrectedLoss(self.family, source, self._size, self.constant, self.transform, tilt=sample.tilt)

    @property
    def only(self) -> CellRows:
        """The rows, where they are here in one piece."""
        (rows,) = self.source.chunks()
        return rows  # type: ignore[no-any-return]

    @property
    def n(self) -> int:
        """Number of rows, or of records."""
        return self._size.n

    @property
    def rows(self) -> int:
        """Number of rows that differ, where equal ones were put together."""
        return self._size.distinct

    @property
    def total(self) -> float:
        """The sum of the weights."""
        return self._size.total

    @property
    def columns(self) -> int:
        """Number of columns of the model."""
        return len(self._size.metric)

    @property
    def size(self) -> int:
        """Number of parameters."""
        return self.family.predictors * self.columns if self.transform is None else self.transform.shape[1]

    @property
    def cells_used(self) -> int:
        """Number of cells, values of a randomised outcome included."""
        return self._size.cells

    @property
    def scale(self) -> Floats:
        """The root mean square of every column of the model over rows and cells."""
        return np.sqrt(np.diag(self.metric))

    @property
    def metric(self) -> Floats:
        """The mean of x x' over rows and cells."""
        return self._size.metric

    @property
    def inflation(self) -> float:
        """By what the correction inflates variances; one without randomised predictors."""
        return self._size.inflation

    def start(self) -> Floats:
        """Constants that fit the outcome alone, every other coefficient zero."""
        full = np.zeros((self.family.predictors, self.columns))
        if self.constant is not None:
            full[:, self.constant] = self.family.start(self._outcome_mean())
        flat = full.reshape(-1)
        return flat if self.transform is None else np.asarray(np.linalg.lstsq(self.transform, flat, rcond=None)[0])

    def _outcome_mean(self) -> Floats:
        """The corrected mean of the outcome, or the corrected shares of its classes."""
        classes = self.family.predictors + 1 if self.family.outcome == "classes" else 0
        *sums, total = summed(self.source, _OutcomeSums(classes))
        return np.asarray(np.array(sums) / total, float)

    def coefficients(self, theta: Floats) -> Floats:
        """One row of coefficients per linear predictor."""
        full = theta if self.transform is None else self.transform @ theta
        return np.asarray(full).reshape(self.family.predictors, self.columns)

    def at(self, theta: Floats, *, every: bool = False) -> At:
        """The loss at a point; with ``every``, for the rows with their clusters and strata."""
        known = KnownStatistics(0) if every and self.every is not self.source else self._known
        return At(self.family, self.coefficients(theta), self.transform, known)

    def moments(self, theta: Floats) -> Moments:
        """Value, gradient and second derivatives, per unit of weight."""
        K, p = self.family.predictors, self.columns
        found = summed(self.source, _Moments(self.at(theta)))
        value, hessian = found.value, found.hessian
        for k in range(K):
            for j in range(k):
                hessian[j, :, k] = hessian[k, :, j].T
        flat, square = found.gradient.reshape(-1), hessian.reshape(K * p, K * p)
        if self.transform is not None:
            flat, square = self.transform.T @ flat, self.transform.T @ square @ self.transform
        if self.tilt is not None:
            value, flat = value - float(self.tilt @ theta), flat - self.tilt
        return Moments(value / self.total, flat / self.total, square / self.total, np.zeros((0, 0)))

    def row_scores(self, theta: Floats) -> Floats:
        """The gradient of every distinct row, where they are here in one piece."""
        return self.at(theta).row_scores(0, self.only)

    def meat(self, theta: Floats) -> ScoreSquares:
        """The middle of the sandwich at a point."""
        return summed(self.every, _Scores(self.at(theta, every=True)))
