"""What the reports of one group of people say, reduced to sums."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.arguments import Floats
from discreet.engines import Local
from discreet.estimate.intervals import two_sided_quantile
from discreet.estimate.passes import FieldSums
from discreet.estimate.rows import Batch
from discreet.estimate.sampling.finite_population import FiniteSample
from discreet.estimate.sampling.share_covariance import Linearised
from discreet.estimate.tally import Ints, count_reports


@dataclass(frozen=True, eq=False)
class Evidence:
    """The reports of one group of people, reduced to sums.

    Attributes
    ----------
    counts : array of int
        How often each report was given.
    weights : array or None
        Σw by report.
    weight_squares : array or None
        Σw² by report.
    survey : Linearised or None
        The spread of the shares under the survey's design; None for a simple random sample.
    notes : tuple of str
        What a reader should know.
    finite : FiniteSample or None
        The same spread with a finite-population correction. Tests, which are about how the population came about, do
        without it.
    """

    counts: Ints
    weights: Floats | None = None
    weight_squares: Floats | None = None
    survey: Linearised | None = None
    notes: tuple[str, ...] = ()
    finite: FiniteSample | None = None

    @property
    def n(self) -> int:
        """Number of reports."""
        return int(self.counts.sum())

    @cached_property
    def total(self) -> float:
        """Σw, or n."""
        return float(self.n if self.weights is None else self.weights.sum())

    @cached_property
    def shares(self) -> Floats:
        """Weighted shares of the reports."""
        return np.asarray((self.counts if self.weights is None else self.weights) / self.total)

    @property
    def squares(self) -> Floats:
        """Σw² by report; the counts when there are no weights."""
        return np.asarray(self.counts, float) if self.weight_squares is None else self.weight_squares

    @property
    def kish(self) -> float:
        """``(Σw)²/Σw²``: how many equally weighted people would say as much (Kish 1965)."""
        return self.total**2 / float(self.squares.sum())


@dataclass(frozen=True, eq=False)
class Counts(FieldSums):
    """How often each report was given, and rows without one; those of different rows add up."""

    counts: Ints
    left_out: int = 0


@dataclass(frozen=True)
class Counting:
    """The pass that counts reports only: no groups, weights, strata or clusters."""

    reports: int

    def __call__(self, batches: Iterable[Batch]) -> Counts:
        """Of some rows."""
        return Local().sum(batches, self._of, Counts(np.zeros(self.reports, np.int64)))

    def _of(self, batch: Batch) -> Counts:
        codes, left_out = batch.codes, 0
        if batch.answered is not None:
            codes, left_out = codes[batch.answered], int(np.count_nonzero(~batch.answered))
        return Counts(count_reports(codes, self.reports, batch.first_row), left_out)


def effective_size(evidence: Evidence, level: float) -> float | Floats:
    """The sample size that a binomial interval for each report share may use.

    n for a simple random sample. For a survey that of :func:`people_of_a_share` times ``(t_{n−1}/t_{df})²`` for the
    degrees of freedom (Korn and Graubard 1998).
    """
    size = people_of_a_share(evidence)
    if evidence.survey is None:
        return size
    return np.asarray(size * few_degrees(level, evidence.n, evidence.survey.degrees_of_freedom))


def people_of_a_share(evidence: Evidence) -> float | Floats:
    """``q(1 − q)/Var(q̂)`` of every report share, at most n.

    Where the share is 0 or 1, so that its variance says nothing, every cluster counts as one person. Known totals of
    the population make it more, in the ratio of the variances without and with them.
    """
    survey = evidence.survey
    if survey is None:
        return float(evidence.n)
    q, variance, smaller = evidence.shares, survey.plain_share_variances(), survey.share_variances()
    informative = (q > 0) & (q < 1) & (variance > 0)
    size = np.full(q.shape, survey.kish)
    np.divide(q * (1 - q), variance, out=size, where=informative)
    gain = np.divide(variance, smaller, out=np.ones_like(q), where=informative & (smaller > 0))
    return np.asarray(np.minimum(size, evidence.n) * gain)


def few_degrees(level: float, n: int, degrees_of_freedom: float) -> float:
    """``(t_{n−1}/t_{df})²``: what few degrees of freedom leave of a number of people."""
    return (two_sided_quantile(level, max(n - 1, 1)) / two_sided_quantile(level, degrees_of_freedom)) ** 2
