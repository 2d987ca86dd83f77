"""What the reports of one group of people say, reduced to sums."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.arguments import Floats
from discreet.engines import Local
from discreet.estimate.channels.report_codes import Ints, count_reports
from discreet.estimate.data.map_reduce import FieldSums
from discreet.estimate.data.rows import Batch
from discreet.estimate.intervals.levels import two_sided_quantile
from discreet.estimate.sampling.finite_population import FiniteSample
from discreet.estimate.sampling.share_covariance import Linearised


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
        The same spread with a finite-population correction, or for several rows of one person. Tests, which are about
        how the population came about, do without it.
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


@dataclass(frozen=True, eq=False)
class People:
    """What bounds the effective sample size of an estimate, in every group.

    Attributes
    ----------
    n : array
        Number of answers.
    kish : array
        ``(Σw)²/Σw²``: equally weighted people who were randomised as often.
    units : array
        The same for primary sampling units: what a sample counts for where its variance shows nothing.
    may_exceed_n : bool
        Whether the sample may say more than a simple random one of its size: with strata, without replacement, with
        known totals, or given the table.
    """

    n: Floats
    kish: Floats
    units: Floats
    may_exceed_n: bool

    @classmethod
    def of(cls, evidence: Evidence, target: str = "population") -> People:
        """Of one group; given the table, weights alone say what the people who were randomised are worth."""
        survey = evidence.survey
        return cls(
            np.array([float(evidence.n)]),
            np.array([evidence.kish]),
            np.array([evidence.kish if survey is None else survey.kish]),
            target == "table" or evidence.finite is not None or (survey is not None and survey.may_exceed_n),
        )

    def at(self, places: Ints) -> People:
        """Of some groups, in this order."""
        return People(self.n[places], self.kish[places], self.units[places], self.may_exceed_n)

    def effective_size(self, variance: Floats, one_answer: Floats, least: float | Floats) -> Floats:
        """``V/Var(estimate)``: how large a simple random sample has this variance.

        At most n, unless strata, a finite population or known totals make the sample worth more; and never more than
        the variance of the randomisation alone allows, which no sampling design makes smaller.

        Parameters
        ----------
        variance : array
            Of the estimate.
        one_answer : array
            The variance V of one debiased answer.
        least : array
            The least variance that the randomisation gives the debiased answer of anybody.
        """
        floor = np.maximum(variance, least / self.kish)
        known = np.isfinite(variance) & (variance > 0) & (one_answer > 0)
        size = np.broadcast_to(self.units, np.shape(variance)).copy()
        np.divide(one_answer, floor, out=size, where=known)
        return size if self.may_exceed_n else np.minimum(size, self.n)


def effective_size(evidence: Evidence, level: float) -> float | Floats:
    """The sample size that a binomial interval for each report share may use.

    n for a simple random sample. For a survey ``q(1 − q)/Var(q̂)`` times ``(t_{n−1}/t_{df})²`` for the degrees of
    freedom (Korn and Graubard 1998).
    """
    survey, q = evidence.survey, evidence.shares
    if survey is None:
        return float(evidence.n)
    size = People.of(evidence).effective_size(survey.share_variances(), q * (1 - q), 0.0)
    return size * few_degrees(level, evidence.n, survey.degrees_of_freedom)


def few_degrees(level: float, n: int, degrees_of_freedom: float) -> float:
    """``(t_{n−1}/t_{df})²``: what few degrees of freedom leave of a number of people."""
    return (two_sided_quantile(level, max(n - 1, 1)) / two_sided_quantile(level, degrees_of_freedom)) ** 2
