"""The finite-population correction: what a sample without replacement leaves uncertain, and what it does not.

A share f_h of the clusters of stratum h (of its rows, where there are no clusters) is in the sample. Sampling error
falls by the factor 1 − f_h; the error of the randomisation does not, since everybody who was asked was randomised. So

    V = Σ_h (1 − f_h) V_h + f_h R_h,

with V_h the variance under sampling with replacement, which holds both errors, and R_h that of the randomisation
alone, given the truths of those who were asked: the randomisation is the last stage of the sampling (Särndal, Swensson
and Wretman 1992, section 4.3). At f = 0 this is the usual variance, at f = 1, a census, that of ``target="table"``.
Clusters are taken to be in the sample as a whole.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.channels.moments import table_covariance, table_variances
from discreet.estimate.data.checks import row_of
from discreet.estimate.sampling.degrees_of_freedom import with_known_part
from discreet.estimate.sampling.share_covariance import Linearised, Spread
from discreet.mechanisms.inverse import Inverse

Ints = NDArray[np.int64]


class PopulationSizes:
    """The population size of every stratum, or its sampling fraction, gathered over batches of rows."""

    def __init__(self) -> None:
        self._sizes: Floats = np.zeros(0)

    def add(self, stratum: Ints, values: Floats, first_row: int) -> None:
        """One batch; a stratum has one number."""
        known = np.full(max(self._sizes.size, int(stratum.max(initial=-1)) + 1), math.nan)
        known[: self._sizes.size] = self._sizes
        present, first = np.unique(stratum, return_index=True)
        fresh = np.isnan(known[present])
        known[present[fresh]] = values[first[fresh]]
        if (known[stratum] != values).any():
            raise EstimationError(
                f"fpc: {row_of(known[stratum] != values, first_row)} differs from other rows of its stratum; a stratum "
                "has one population size"
            )
        self._sizes = known

    def take(self, other: PopulationSizes, stratum: Ints) -> None:
        """Those of other rows, whose strata have these codes here."""
        sizes = other._sizes
        here = np.full(max(self._sizes.size, int(stratum.max(initial=-1)) + 1), math.nan)
        here[: self._sizes.size] = self._sizes
        there = np.flatnonzero(~np.isnan(sizes))
        known = here[stratum[there]]
        if (~np.isnan(known) & (known != sizes[there])).any():
            raise EstimationError("fpc: rows of one stratum differ in it; a stratum has one population size")
        here[stratum[there]] = sizes[there]
        self._sizes = here

    def fractions(self, units: Ints, what: str) -> Floats:
        """``f_h``: the sampled units of every stratum over those that there are."""
        if (self._sizes <= 1).all():
            return self._sizes
        if (self._sizes <= 1).any():
            raise EstimationError("fpc holds population sizes (above 1) or sampling fractions (at most 1), not both")
        if (units > self._sizes).any():
            raise EstimationError(
                f"fpc: a stratum has more {what} in the sample than in its population; fpc counts {what} of the stratum"
            )
        return np.asarray(units / self._sizes)


@dataclass(frozen=True, eq=False)
class FiniteSample(Spread):
    """The spread of report shares with a finite-population correction.

    Attributes
    ----------
    sampled : Linearised
        The sums of :class:`Linearised`, every stratum times 1 − f_h.
    randomised : array
        ``Σ f_h w_i²`` over the rows with each report.
    """

    sampled: Linearised
    randomised: Floats
    #: The variance over that of the sampled part alone, for the degrees of freedom.
    ratio: float = 1.0

    @property
    def degrees_of_freedom(self) -> float:
        """Those of the sampled part, and more where the randomisation makes much of the variance."""
        return float(with_known_part(self.sampled.degrees_of_freedom, self.ratio))

    def of(self, correction: Inverse) -> FiniteSample:
        """The same, with the degrees of freedom of A·p̂."""
        whole, part = (float(np.sum(one.variances(correction))) for one in (self, self.sampled))
        return replace(self, ratio=whole / part if part > 0 else 1.0)

    def variances(self, correction: Inverse) -> Floats:
        """The diagonal."""
        return self.sampled.variances(correction) + table_variances(correction, self.randomised) / self._square

    def covariance(self, correction: Inverse) -> Floats:
        """The full matrix."""
        return self.sampled.covariance(correction) + table_covariance(correction, self.randomised) / self._square

    def score_variances(self, scores: Floats, squares: Floats) -> Floats:
        """As those of :class:`Linearised` and of :class:`Randomisation`, added."""
        alone = (scores**2 - squares) @ self.randomised / self._square
        return self.sampled.score_variances(scores, squares) + np.asarray(alone)

    def cross_covariance(self, other: Spread, correction: Inverse) -> Floats | None:
        """Between two groups of one sample: no row is in both, so the randomisation adds nothing."""
        if not isinstance(other, FiniteSample):
            return None
        return self.sampled.cross_covariance(other.sampled, correction)

    def total_variances(self, correction: Inverse) -> Floats:
        """Variances of the Horvitz–Thompson totals."""
        return self.sampled.total_variances(correction) + table_variances(correction, self.randomised)

    def total_covariance(self, correction: Inverse) -> Floats:
        """Covariance of the Horvitz–Thompson totals."""
        return self.sampled.total_covariance(correction) + table_covariance(correction, self.randomised)

    @property
    def _square(self) -> float:
        return self.sampled.total**2
