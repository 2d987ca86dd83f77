"""A log-likelihood as a sum over chunks of rows: the one place that passes over the data.

A model knows one chunk; an :class:`Objective` adds the chunks up. Arrays in memory and batches from a file therefore
run the same code, in bounded memory, and every model (yes/no, k classes, randomised predictor) shares the optimiser
and the inference.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from discreet.arguments import Floats
from discreet.engines import Local
from discreet.estimate.data.map_reduce import FieldSums, Source, summed
from discreet.estimate.regressions.optimise import Surface, Terms
from discreet.estimate.sampling.linearization import Linearization
from discreet.estimate.sampling.unit_totals import UnitTotals


class Model(Protocol):
    """What one chunk contributes."""

    def value(self, theta: Floats, rows: Any) -> float:
        """Log-likelihood."""

    def terms(self, theta: Floats, rows: Any, curvature: str) -> Terms:
        """Log-likelihood, score and information; "expected" must be positive semidefinite."""

    def scores(self, theta: Floats, rows: Any) -> Floats:
        """The score of each row, one row each."""


@dataclass(frozen=True, eq=False)
class Moments:
    """Everything that inference needs, from one pass at the estimate."""

    value: float
    score: Floats
    expected: Floats
    observed: Floats
    scores: Floats  # Σ s_i s_i', rows taken as independent
    sampling: Linearization | None  # clusters and strata

    @property
    def cluster_count(self) -> int:
        """Number of clusters; 0 for a sample without clusters or strata."""
        return 0 if self.sampling is None else self.sampling.clusters


@dataclass(eq=False)
class Objective:
    """The log-likelihood of all rows.

    Attributes
    ----------
    passes : int
        How often all rows have been read.
    unit : float
        The mean survey weight. The optimiser climbs the log-likelihood divided by it, so that a negligible gain means
        the same whatever the weights are measured in; the moments are on the scale of the weights.
    """

    model: Model
    source: Source
    metric: Floats
    rows: int
    passes: int = 0
    unit: float = 1.0

    def value(self, theta: Floats) -> float:
        """Log-likelihood: one pass."""
        self.passes += 1
        return summed(self.source, _Value(self.model, theta)) / self.unit

    def terms(self, theta: Floats, curvature: str) -> Terms:
        """Log-likelihood, score and information: one pass."""
        self.passes += 1
        total = summed(self.source, _Terms(self.model, theta, curvature))
        return Terms(total.value / self.unit, total.score / self.unit, total.information / self.unit)

    def moments(self, theta: Floats) -> Moments:
        """Both informations and the sums of squared scores: one pass."""
        self.passes += 1
        return summed(self.source, _Moments(self.model, theta)).finished()


@dataclass(frozen=True, eq=False)
class _Value:
    """The log-likelihood of some chunks."""

    model: Model
    theta: Floats

    def __call__(self, chunks: Iterator[Any]) -> float:
        return Local().sum(chunks, lambda rows: self.model.value(self.theta, rows), 0.0)


@dataclass(frozen=True, eq=False)
class _Terms:
    """Log-likelihood, score and information of some chunks."""

    model: Model
    theta: Floats
    curvature: str

    def __call__(self, chunks: Iterator[Any]) -> Terms:
        size = self.theta.size
        nothing = Terms(0.0, np.zeros(size), np.zeros((size, size)))
        return Local().sum(chunks, lambda rows: self.model.terms(self.theta, rows, self.curvature), nothing)


@dataclass(frozen=True, eq=False)
class _MomentSums(FieldSums):
    """The same of some rows, with sums by cluster and stratum; two of them add up."""

    value: float
    score: Floats
    expected: Floats
    observed: Floats
    scores: Floats
    units: UnitTotals

    def finished(self) -> Moments:
        """Of all rows."""
        return Moments(self.value, self.score, self.expected, self.observed, self.scores, self.units.finished())


@dataclass(frozen=True, eq=False)
class _Moments:
    """What inference needs, of some chunks."""

    model: Model
    theta: Floats

    def __call__(self, chunks: Iterator[Any]) -> _MomentSums:
        theta, size = self.theta, self.theta.size
        value, score = 0.0, np.zeros(size)
        expected, observed, squares = (np.zeros((size, size)) for _ in range(3))
        sums = UnitTotals(size)
        for rows in chunks:
            one = self.model.terms(theta, rows, "expected")
            value += one.value
            score += one.score
            expected += one.information
            observed += self.model.terms(theta, rows, "observed").information
            single = self.model.scores(theta, rows)
            if getattr(rows, "squares", None) is None:
                squares += single.T @ single
            else:  # equal rows were put together: Σw² s s' of each
                squares += (single * (rows.squares / rows.weights**2)[:, None]).T @ single
            sums.add(rows.strata, rows.clusters, single)
        return _MomentSums(value, score, expected, observed, squares, sums)


class Restricted:
    """A surface with some coefficients held fixed."""

    def __init__(self, surface: Surface, fixed: Mapping[int, float], size: int) -> None:
        self._surface = surface
        self._fixed = fixed
        self.free = np.array([j for j in range(size) if j not in fixed], np.int64)
        self._size = size
        self.metric = surface.metric[np.ix_(self.free, self.free)]
        self.rows = surface.rows

    def full(self, theta: Floats) -> Floats:
        """All coefficients, the fixed ones put back."""
        whole = np.empty(self._size)
        whole[self.free] = theta
        for j, value in self._fixed.items():
            whole[j] = value
        return whole

    def value(self, theta: Floats) -> float:
        """Log-likelihood."""
        return self._surface.value(self.full(theta))

    def terms(self, theta: Floats, curvature: str) -> Terms:
        """Log-likelihood, score and information of the free coefficients."""
        one = self._surface.terms(self.full(theta), curvature)
        return Terms(one.value, one.score[self.free], one.information[np.ix_(self.free, self.free)])


class Anchored:
    """A surface with a weak pull to zero, so that a small sample always has a finite optimum to start from."""

    def __init__(self, surface: Surface, pull: float) -> None:
        self._surface = surface
        self.metric = surface.metric
        self.rows = surface.rows
        self._pull = pull * surface.metric

    def value(self, theta: Floats) -> float:
        """Log-likelihood minus the pull."""
        return float(self._surface.value(theta) - 0.5 * theta @ self._pull @ theta)

    def terms(self, theta: Floats, curvature: str) -> Terms:
        """Log-likelihood, score and information of the anchored surface."""
        one = self._surface.terms(theta, curvature)
        back = self._pull @ theta
        return Terms(float(one.value - 0.5 * theta @ back), one.score - back, one.information + self._pull)
