"""The linearised variance of a sum of scores over a survey, and its degrees of freedom.

With t_hc the total of the scores over unit c of stratum h, which has m_h units in the sample,

    V = Σ_h (1 − f_h) m_h/(m_h − 1) Σ_c (t_hc − t̄_h)(t_hc − t̄_h)ᵀ

for sampling with replacement within strata (Binder 1983), f_h = 0, or without (``fractions``). Its degrees of freedom
are Satterthwaite's (:mod:`.degrees_of_freedom`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.estimate.sampling.degrees_of_freedom import degrees_of_strata

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False, kw_only=True)
class Linearization:
    """Totals of scores by primary sampling unit, and what they show about the variance of their sum.

    Attributes
    ----------
    totals : array (units, p)
        Totals of the units; totals of the strata (strata, p) where every row is a unit.
    stratum : array of int
        The stratum of every row of ``totals``.
    units : array of int (strata,)
        Number of units in every stratum.
    squares : array (strata, p, p) or None
        ``Σ z zᵀ`` over the rows of every stratum, where every row is a unit.
    fractions : array (strata,) or None
        Sampled share of the units of every stratum, of a sample without replacement.
    has_strata, recurring : bool
        Whether strata were named; whether a cluster label occurs in several of them.
    """

    totals: Floats
    stratum: Ints
    units: Ints
    squares: Floats | None = None
    fractions: Floats | None = None
    has_strata: bool = True
    recurring: bool = False

    @property
    def clusters(self) -> int:
        """Number of units."""
        return int(self.units.sum())

    @property
    def strata(self) -> int:
        """Number of strata."""
        return int(self.units.size)

    @property
    def factors(self) -> Floats:
        """``(1 − f_h) m_h/(m_h − 1)`` of every stratum."""
        remaining = 1.0 if self.fractions is None else 1 - self.fractions
        return np.asarray(remaining * self.units / (self.units - 1))

    @cached_property
    def scores(self) -> Floats:
        """The covariance matrix of the sum of the scores."""
        if self.squares is None:
            weighted = self._centred * np.sqrt(self.factors)[self.stratum, None]
            return np.asarray(weighted.T @ weighted)
        means = self.totals / self.units[:, None]
        within = self.squares - self.units[:, None, None] * means[:, :, None] * means[:, None, :]
        return np.asarray(np.tensordot(self.factors, within, axes=1))

    @property
    def _centred(self) -> Floats:
        """Totals of the units less the mean of their stratum."""
        by_stratum = np.zeros((self.units.size, self.totals.shape[1]))
        np.add.at(by_stratum, self.stratum, self.totals)
        return np.asarray(self.totals - (by_stratum / self.units[:, None])[self.stratum])

    def variances_by_stratum(self, directions: Floats) -> Floats:
        """What every stratum adds to the variances of ``directions @ Σz``; (strata, directions)."""
        if self.squares is None:
            squares = (self._centred @ directions.T) ** 2
            found = np.zeros((self.units.size, len(directions)))
            np.add.at(found, self.stratum, squares)
        else:
            means = self.totals @ directions.T / self.units[:, None]
            found = np.einsum("dp,hpq,dq->hd", directions, self.squares, directions) - self.units[:, None] * means**2
        return np.asarray(found * self.factors[:, None])

    @property
    def degrees_of_freedom(self) -> float:
        """Units minus strata: the most that any variance has."""
        return float(max(self.clusters - self.strata, 1))

    def degrees_of(self, directions: Floats) -> Floats:
        """Degrees of freedom of the variance of each row of ``directions @ Σz``.

        For coefficients with the sandwich ``H⁻¹ V H⁻¹`` the directions are the rows of ``H⁻¹``.
        """
        if self.strata == 1:
            return np.full(len(directions), self.degrees_of_freedom)
        return degrees_of_strata(self.variances_by_stratum(directions), self.units, self.degrees_of_freedom)
