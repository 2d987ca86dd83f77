"""How much the report shares vary, and what that makes of any correction A.

Three laws, one question each: the covariance of A·p̂, in full or its diagonal only.

* :class:`Multinomial`: people are a simple random sample.
* :class:`Linearised`: people come from a survey with weights, strata or clusters.
* :class:`Randomisation`: the people are fixed, only the randomisation is random.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.channels.moments import MAX_COVARIANCE, refuse_large, table_covariance, table_variances
from discreet.mechanisms.inverse import Inverse, UniformInverse

#: Clusters times reports that are taken through a correction which is not written out: about a minute.
_MAX_CLUSTER_WORK = 1 << 29


class Spread(ABC):
    """The law of the report shares p̂, as far as variances need it."""

    @property
    def degrees_of_freedom(self) -> float:
        """Of Student's t for Wald intervals; infinite means the normal law."""
        return math.inf

    @abstractmethod
    def variances(self, correction: Inverse) -> Floats:
        """Variances of A·p̂, at any size that has a closed form."""

    @abstractmethod
    def covariance(self, correction: Inverse) -> Floats:
        """Covariance matrix of A·p̂."""

    def cross_covariance(self, other: Spread, correction: Inverse) -> Floats | None:
        """Covariance of A·p̂ of this group with that of another one of the sample; None where they are independent."""
        del other, correction
        return None

    @abstractmethod
    def score_variances(self, scores: Floats, squares: Floats) -> Floats:
        """Variances of ``Σ_y a_y p̂_y`` for each row a of scores, at any number of reports.

        ``squares`` holds the debiased squares of the numbers behind each row, ``Aᵀc²`` for ``a = Aᵀc``.
        """


@dataclass(frozen=True, eq=False)
class Multinomial(Spread):
    """n independent people: ``Cov = A (diag(p) − p pᵀ) Aᵀ/n``."""

    shares: Floats
    n: int

    def variances(self, correction: Inverse) -> Floats:
        """The diagonal."""
        return correction.variances(self.shares) / self.n

    def covariance(self, correction: Inverse) -> Floats:
        """The full matrix."""
        refuse_large(correction.shape[0])
        if isinstance(correction, UniformInverse):  # the shares add up to one, so 11ᵀ has no part in it
            return np.asarray(
                correction.scale**2 * (np.diag(self.shares) - np.outer(self.shares, self.shares)) / self.n
            )
        return correction.covariance(self.shares) / self.n

    def score_variances(self, scores: Floats, squares: Floats) -> Floats:
        """The variance of the score of one person, over n."""
        del squares  # people are a sample: what their truths add is part of the variance
        centred = scores - (scores @ self.shares)[:, None]
        return np.asarray(centred**2 @ self.shares / self.n)


@dataclass(frozen=True, eq=False)
class Randomisation(Spread):
    """Given the table of truths: ``Cov = Σ_i w_i² A (diag(Q_x) − Q_x Q_xᵀ) Aᵀ/(Σw)²`` with x the truth of row i.

    Parameters
    ----------
    squares : array
        ``Σ w_i²`` over the rows with each report (the plain counts when there are no weights).
    total : float
        Σ w.
    """

    squares: Floats
    total: float

    def variances(self, correction: Inverse) -> Floats:
        """The diagonal."""
        return table_variances(correction, self.squares) / self.total**2

    def covariance(self, correction: Inverse) -> Floats:
        """The full matrix."""
        refuse_large(correction.shape[0])
        return table_covariance(correction, self.squares) / self.total**2

    def score_variances(self, scores: Floats, squares: Floats) -> Floats:
        """``Σ_y s_y (a_y² − (Aᵀc²)_y)/(Σw)²``: what the truths contribute is taken off."""
        return np.asarray((scores**2 - squares) @ self.squares / self.total**2)


@dataclass(frozen=True, eq=False)
class Linearised(Spread):
    """The linearised variance of survey sampling, first stage taken as with replacement.

    ``S = Σ_h m_h/(m_h − 1) Σ_c (t_hc − t̄_h)(t_hc − t̄_h)ᵀ`` with the cluster totals
    ``t_hc = Σ_i w_i (e_{y_i} − p̂)/Σw`` of stratum h with m_h clusters (Binder 1983; Särndal, Swensson and
    Wretman 1992, chapter 5). Without clusters every row is one. It is kept as sums, so that its diagonal
    costs no matrix.

    Attributes
    ----------
    shares, total : array, float
        p̂ and Σw.
    rows : array or sparse matrix
        Without clusters: ``g`` below. With clusters: one row ``√k_h·(weights by report)`` per cluster, where
        k_h = m_h/(m_h − 1).
    g : array
        ``Σ_c k_h W_c·(weights by report of c)``; without clusters W_c is the weight of the row.
    gamma : float
        ``Σ_c k_h W_c²``.
    strata : array (H, reports)
        Weights by report in each stratum.
    factors : array (H,)
        k_h/m_h.
    clusters : int
        Clusters that have a row here.
    degrees : float
        Degrees of freedom, at most clusters minus strata (:mod:`discreet.estimate.sampling.degrees_of_freedom`).
    kish : float
        ``(ΣW_c)²/ΣW_c²``, the effective number of clusters.
    """

    shares: Floats
    total: float
    rows: Any
    g: Floats
    gamma: float
    strata: Floats
    factors: Floats
    clusters: int
    degrees: float
    kish: float

    @property
    def may_exceed_n(self) -> bool:
        """Whether the sample may say more than a simple random one of its size: with strata, or known totals."""
        return len(self.strata) > 1

    @property
    def degrees_of_freedom(self) -> float:
        """Clusters minus strata, fewer where few clusters make most of the variance."""
        return self.degrees

    def variances(self, correction: Inverse) -> Floats:
        """The diagonal of A S Aᵀ."""
        return self._diagonal(correction, self.shares, self.total)

    def covariance(self, correction: Inverse) -> Floats:
        """A S Aᵀ."""
        return self._full(correction, self.shares, self.total)

    def score_variances(self, scores: Floats, squares: Floats) -> Floats:
        """``Σ_h k_h Σ_c (t_hc − t̄_h)²`` for the sums t_hc of centred scores over clusters."""
        del squares  # people are a sample
        centre = scores @ self.shares
        centred = scores - centre[:, None]
        if isinstance(self.rows, np.ndarray):
            within = centred**2 @ self.g
        else:
            within = np.sum(np.asarray(self.rows @ centred.T) ** 2, axis=0)
        sums = self.strata @ centred.T
        return np.asarray(np.maximum(within - self.factors @ sums**2, 0.0) / self.total**2)

    def cross_covariance(self, other: Spread, correction: Inverse) -> Floats | None:
        """Covariance of A·p̂ of this group with that of another group of the same sample.

        No row is in both; what ties them are clusters that reach into both, and the centring of strata.
        """
        if not isinstance(other, Linearised):
            return None
        refuse_large(max(correction.shape))
        return correction.sandwich(self._together(other))

    def _together(self, other: Linearised) -> Floats:
        """The covariance of the shares of two groups."""
        own, its = ((one.strata - np.outer(one.strata.sum(axis=1), one.shares)) / one.total for one in (self, other))
        middle = -(own.T * self.factors) @ its
        if not isinstance(self.rows, np.ndarray):
            parts = [
                (one.rows.toarray() - np.outer(one.rows.sum(axis=1), one.shares)) / one.total for one in (self, other)
            ]
            middle = middle + parts[0].T @ parts[1]
        return np.asarray(middle)

    def total_variances(self, correction: Inverse) -> Floats:
        """Variances of the Horvitz–Thompson totals ``A Σ w_i e_{y_i}``: the same sums, not centred at p̂."""
        return self._diagonal(correction, np.zeros_like(self.shares), 1.0)

    def total_covariance(self, correction: Inverse) -> Floats:
        """Covariance of the Horvitz–Thompson totals."""
        return self._full(correction, np.zeros_like(self.shares), 1.0)

    def share_variances(self) -> Floats:
        """The diagonal of S."""
        return self._share_diagonal(self.shares, self.total)

    def _stratum_sums(self, centre: Floats, total: float) -> Floats:
        return np.asarray((self.strata - self.strata.sum(axis=1, keepdims=True) * centre) / total)

    def _share_diagonal(self, centre: Floats, total: float) -> Floats:
        own = self.g if isinstance(self.rows, np.ndarray) else np.asarray(self.rows.multiply(self.rows).sum(axis=0))
        within = (own.reshape(-1) - 2 * self.g * centre + self.gamma * centre**2) / total**2
        between = self.factors @ self._stratum_sums(centre, total) ** 2
        return np.asarray(np.maximum(within - between, 0.0))  # only rounding can make it negative

    def _diagonal(self, correction: Inverse, centre: Floats, total: float) -> Floats:
        if max(correction.shape) > MAX_COVARIANCE and not isinstance(correction, UniformInverse):
            return self._diagonal_by_sums(correction, centre, total)
        if not isinstance(correction, UniformInverse):
            return np.asarray(np.maximum(np.diag(Linearised._full(self, correction, centre, total)), 0.0))
        # A = scale·I + shift·11ᵀ needs the diagonal of S, its row sums and its sum.
        sums = self._stratum_sums(centre, total)
        across = sums.sum(axis=1)
        row_sums = (self.g - self.gamma * centre) * (1 - centre.sum()) / total**2 - (self.factors * across) @ sums
        everything = self.gamma * (1 - centre.sum()) ** 2 / total**2 - self.factors @ across**2
        scale, shift = correction.scale, correction.shift
        spread = scale**2 * self._share_diagonal(centre, total) + 2 * scale * shift * row_sums + shift**2 * everything
        return np.asarray(np.maximum(spread, 0.0))

    def _diagonal_by_sums(self, correction: Inverse, centre: Floats, total: float) -> Floats:
        """The diagonal of A S Aᵀ from A times the sums that S is made of, for an A that is not written out."""
        if isinstance(self.rows, np.ndarray):
            own = correction.squares(self.g)
        else:
            if self.rows.shape[0] * self.rows.shape[1] > _MAX_CLUSTER_WORK:
                raise EstimationError(
                    f"{self.rows.shape[0]:,} clusters with {self.rows.shape[1]:,} reports each would take hours; leave "
                    "out the clusters, or use a smaller domain"
                )
            own = np.zeros(correction.shape[0])
            for row in self.rows:
                own += correction.apply(row.toarray().reshape(-1)) ** 2
        at_g, at_centre = correction.apply(self.g), correction.apply(centre)
        spread = (own - 2 * at_g * at_centre + self.gamma * at_centre**2) / total**2
        for factor, sums in zip(self.factors, self._stratum_sums(centre, total), strict=True):
            spread -= factor * correction.apply(sums) ** 2
        return np.asarray(np.maximum(spread, 0.0))  # only rounding can make it negative

    def _full(self, correction: Inverse, centre: Floats, total: float) -> Floats:
        refuse_large(max(correction.shape))
        if isinstance(self.rows, np.ndarray):
            middle = np.diag(self.g)
        else:
            middle = (self.rows.T @ self.rows).toarray()
        crossed = np.outer(self.g, centre)
        middle = (middle - crossed - crossed.T + self.gamma * np.outer(centre, centre)) / total**2
        sums = self._stratum_sums(centre, total)
        return correction.sandwich(middle - (sums.T * self.factors) @ sums)
