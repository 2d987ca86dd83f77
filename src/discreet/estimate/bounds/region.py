"""Which report shares go with the counts: a region that contains the true shares with a stated confidence."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.arguments import Floats
from discreet.estimate.intervals.clopper_pearson import clopper_pearson
from discreet.estimate.sampling.weighted_counts import Evidence, effective_size


@dataclass(frozen=True, eq=False)
class ShareRegion:
    """All p with ``low ≤ p ≤ high`` and, where it is known, ``|cumulated p − cumulated shares| ≤ band``.

    Attributes
    ----------
    low, high : array
        Limits of each share, valid for all of them at once.
    cumulated : array or None
        Observed cumulated shares, without the last, which is one.
    band : float
        How far the true ones may be from them.
    """

    low: Floats
    high: Floats
    cumulated: Floats | None = None
    band: float = math.inf

    def contains(self, shares: Floats) -> bool:
        """Whether shares lie in the region."""
        inside = bool(np.all((shares >= self.low) & (shares <= self.high)))
        if self.cumulated is None or not inside:
            return inside
        return bool(np.abs(np.cumsum(shares)[:-1] - self.cumulated).max(initial=0.0) <= self.band)


def share_region(evidence: Evidence, target: str, level: float) -> ShareRegion:
    """The region at a confidence level, from counts of reports.

    Each share has its Clopper–Pearson limits, all together by Bonferroni's inequality. For a simple random sample half
    of the error goes to a band around the cumulated shares, ``√(log(2/α)/(2n))`` wide on each side (Dvoretzky, Kiefer
    and Wolfowitz 1956, with Massart's constant 1990): it holds whatever the distribution is, and is narrower for sums
    of many small shares, which is what means and quantiles depend on.

    With survey weights the limits use the effective sample size of each share. When only the randomisation is
    random the counts are sums of independent answers with different probabilities, for which Clopper–Pearson
    limits are valid too (Hoeffding 1956) and the band is left out.
    """
    alpha = 1 - level
    simple = target == "population" and evidence.survey is None and evidence.weights is None
    per_share = (alpha / 2 if simple else alpha) / evidence.counts.size
    size = effective_size(evidence, 1 - per_share) if target == "population" else evidence.kish
    exact = evidence.weights is None and evidence.survey is None
    counts = evidence.counts.astype(float) if exact else evidence.shares * size
    low, high = clopper_pearson(counts, size, 1 - per_share)
    if not simple:
        return ShareRegion(low, high)
    band = math.sqrt(math.log(2 / (alpha / 2)) / (2 * evidence.n))
    return ShareRegion(low, high, np.cumsum(evidence.shares)[:-1], band)
