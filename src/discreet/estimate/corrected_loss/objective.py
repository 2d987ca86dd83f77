"""The corrected loss of a sample: ``ℓ̃(θ) = Σ_i ω_i Σ_t w_i(t) ℓ(θ; t, public values of row i)``, and its derivatives.

Its expectation over the randomisation is the loss of the truths, for every θ: so are those of the gradient and of the
second derivatives (the corrected score of Nakamura 1990 and Stefanski 1989, for discrete errors). Rows that are equal
in everything are one row here, with the sum of their weights.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.estimate.corrected_loss.cells import CellWeights
from discreet.estimate.corrected_loss.families import Family, Statistics
from discreet.estimate.corrected_loss.model_matrix import CellMatrix
from discreet.estimate.likelihood.sampling import SampleSums, Sampling
from discreet.estimate.m_estimation.box.copies import summed_by
from discreet.estimate.m_estimation.objective import Moments

#: Numbers in one working array: what a step touches stays in the second-level cache.
_CHUNK = 1 << 15
#: Numbers about the outcome that are kept from step to step (2^24 floats, 128 MB).
_KEPT = 1 << 24
#: Rows whose scores are written out at once.
_SCORE_ROWS = 1 << 16


@dataclass(frozen=True, eq=False)
class Sample:
    """The rows as they were sampled, each pointing to one of the distinct rows.

    Attributes
    ----------
    distinct : array
        The distinct row of every row.
    weights : array
        Survey weights; ones where there are none.
    clusters, strata : array or None
        Of every record.
    records : array or None
        The record of every row, where rows are copies of records with noise.
    controls : array (records, parameters) or None
        Numbers of mean zero that are taken from the scores of records.
    """

    distinct: NDArray[np.intp]
    weights: Floats
    clusters: NDArray[Any] | None = None
    strata: NDArray[Any] | None = None
    records: NDArray[np.intp] | None = None
    count: int = 0
    controls: Floats | None = None

    @property
    def n(self) -> int:
        """Number of rows, or of records where rows are copies."""
        return self.distinct.size if self.records is None else self.count

    @property
    def tilt(self) -> Floats | None:
        """What is taken from the sum of the scores."""
        return None if self.controls is None else np.asarray(self.controls.sum(axis=0))

    def by_row(self, scores: Floats) -> Floats:
        """The weighed score of every row, from those of distinct rows."""
        return np.asarray(scores[self.distinct] * self.weights[:, None])

    def by_record(self, scores: Floats) -> Floats:
        """The score of every record, from those of distinct rows."""
        assert self.records is not None
        total = summed_by(self.records, self.by_row(scores), self.n)
        return total if self.controls is None else total - self.controls

    def summed(self, count: int, power: int = 1) -> Floats:
        """The sum of the weights (or their squares) over the rows of each distinct row."""
        return np.asarray(np.bincount(self.distinct, self.weights**power, minlength=count), float)

    def meat(self, scores: Floats) -> tuple[Floats, Sampling | None]:
        """``Σ ω² s s'`` from the scores of distinct rows, times n/(n − 1); or summed by cluster and stratum."""
        if self.records is not None:
            single = self.by_record(scores)
            if self.clusters is None and self.strata is None:
                return single.T @ single * (self.n / (self.n - 1)), None
            return _linearised([(self.strata, self.clusters, single)], scores.shape[1])
        if self.clusters is None and self.strata is None:
            squared = self.summed(len(scores), 2)
            return (scores * squared[:, None]).T @ scores * (self.n / (self.n - 1)), None
        return _linearised(
            (
                (
                    None if self.strata is None else self.strata[rows],
                    None if self.clusters is None else self.clusters[rows],
                    scores[self.distinct[rows]] * self.weights[rows, None],
                )
                for rows in (slice(start, start + _SCORE_ROWS) for start in range(0, self.n, _SCORE_ROWS))
            ),
            scores.shape[1],
        )


def _linearised(chunks: Iterable[tuple[Any, Any, Floats]], size: int) -> tuple[Floats, Sampling]:
    """Scores of rows with their strata and clusters, summed."""
    sums = SampleSums(size)
    for strata, clusters, single in chunks:
        sums.add(strata, clusters, single)
    sampling = sums.finished()
    assert sampling is not None
    return sampling.scores, sampling


class CorrectedLoss:
    """The corrected loss over cells, as a mean over rows.

    Parameters
    ----------
    family : Family
    matrix : CellMatrix
        Of the distinct rows.
    cells : CellWeights
        Of the distinct rows.
    outcome : array (rows or 1, values)
        The public outcome of every row, or the values of a randomised one.
    sample : Sample
    constant : int or None
        The column of the model that is the intercept, where there is one.
    transform : array or None
        Makes the coefficients of all linear predictors from the parameters.
    """

    def __init__(
        self,
        family: Family,
        matrix: CellMatrix,
        cells: CellWeights,
        outcome: Floats,
        sample: Sample,
        constant: int | None = None,
        transform: Floats | None = None,
    ) -> None:
        self.family, self.matrix, self.cells, self.outcome, self.sample = family, matrix, cells, outcome, sample
        self.constant, self.transform = constant, transform
        self.rows = matrix.rows
        self._weights = sample.summed(self.rows)
        self.total = float(sample.weights.sum())
        width = max(matrix.cells * max(cells.outcomes, family.predictors**2), 1)
        self._step = max(_CHUNK // width, 16)
        self._known: dict[int, Statistics] = {}
        self._room = _KEPT

    def with_family(self, family: Family, outcome: Floats | None = None) -> CorrectedLoss:
        """The same rows and cells under another loss of one linear predictor."""
        values = self.outcome if outcome is None else outcome
        return CorrectedLoss(family, self.matrix, self.cells, values, self.sample, self.constant)

    @property
    def size(self) -> int:
        """Number of parameters."""
        return self.family.predictors * self.matrix.columns if self.transform is None else self.transform.shape[1]

    @property
    def cells_used(self) -> int:
        """Number of cells, values of a randomised outcome included."""
        return self.cells.cells * self.cells.outcomes

    @property
    def inflation(self) -> float:
        """By what the correction inflates variances; one without randomised predictors."""
        return self.cells.inflation

    @cached_property
    def metric(self) -> Floats:
        """The mean of x x' over rows and cells."""
        return self.matrix.gram() / (self.rows * self.matrix.cells)

    @property
    def scale(self) -> Floats:
        """The root mean square of every column of the model over rows and cells."""
        return np.sqrt(np.diag(self.metric))

    def start(self) -> Floats:
        """Constants that fit the outcome alone, every other coefficient zero."""
        full = np.zeros((self.family.predictors, self.matrix.columns))
        if self.constant is not None:
            full[:, self.constant] = self.family.start(self._outcome_mean())
        flat = full.reshape(-1)
        return flat if self.transform is None else np.asarray(np.linalg.lstsq(self.transform, flat, rcond=None)[0])

    def _outcome_mean(self) -> Floats:
        """The corrected mean of the outcome, or the corrected shares of its classes."""
        classes = self.family.outcome == "classes"
        sums, total = np.zeros(self.family.predictors + 1 if classes else 1), 0.0
        for rows, _ in self.chunks():
            weights = self._weights[rows, None] * self.cells.of(rows).sum(axis=2)
            y = np.broadcast_to(self._outcome(rows), weights.shape)
            sums += np.bincount(y.ravel().astype(int), weights.ravel(), sums.size) if classes else (weights * y).sum()
            total += float(weights.sum())
        return sums / total

    def coefficients(self, theta: Floats) -> Floats:
        """One row of coefficients per linear predictor."""
        full = theta if self.transform is None else self.transform @ theta
        return np.asarray(full).reshape(self.family.predictors, self.matrix.columns)

    def chunks(self) -> Iterator[tuple[slice, CellMatrix]]:
        """Distinct rows, some at a time."""
        for start in range(0, self.rows, self._step):
            rows = slice(start, min(start + self._step, self.rows))
            yield rows, self.matrix.take(rows)

    def _outcome(self, rows: slice) -> Floats:
        return self.outcome if len(self.outcome) == 1 else self.outcome[rows]

    def _statistics(self, rows: slice) -> Statistics:
        """What the family needs of the outcome in these rows; kept from step to step where there is room."""
        if rows.start not in self._known:
            found = self.family.statistics(self._outcome(rows), self.cells.of(rows))
            self._room -= sum(one.size for one in found)
            if self._room < 0:
                return found
            self._known[rows.start] = found
        return self._known[rows.start]

    def predictors(self, coefficients: Floats, matrix: CellMatrix) -> Floats:
        """The linear predictors (rows, cells, K)."""
        return np.stack([matrix.predictor(one) for one in coefficients], axis=2)

    def moments(self, theta: Floats) -> Moments:
        """Value, gradient and second derivatives, per unit of weight."""
        coefficients, (K, p) = self.coefficients(theta), (self.family.predictors, self.matrix.columns)
        value, gradient, hessian = 0.0, np.zeros((K, p)), np.zeros((K, p, K, p))
        for rows, matrix in self.chunks():
            weights = self._weights[rows]
            f, first, second = self.family.terms(self.predictors(coefficients, matrix), self._statistics(rows))
            value += float((weights @ f).sum())
            for k in range(K):
                gradient[k] += matrix.total(first[:, :, k], weights)
                for j in range(k + 1):
                    hessian[k, :, j] += matrix.products(second[:, :, k, j], weights)
        for k in range(K):
            for j in range(k):
                hessian[j, :, k] = hessian[k, :, j].T
        flat, square = gradient.reshape(-1), hessian.reshape(K * p, K * p)
        if self.transform is not None:
            flat, square = self.transform.T @ flat, self.transform.T @ square @ self.transform
        tilt = self.sample.tilt
        if tilt is not None:
            value, flat = value - float(tilt @ theta), flat - tilt
        return Moments(value / self.total, flat / self.total, square / self.total, np.zeros((0, 0)))

    def row_scores(self, theta: Floats) -> Floats:
        """The gradient of every distinct row."""
        coefficients, K = self.coefficients(theta), self.family.predictors
        out = np.empty((self.rows, self.size))
        for rows, matrix in self.chunks():
            _, first, _ = self.family.terms(self.predictors(coefficients, matrix), self._statistics(rows))
            full = np.concatenate([matrix.row_sums(first[:, :, k]) for k in range(K)], axis=1)
            out[rows] = full if self.transform is None else full @ self.transform
        return out
