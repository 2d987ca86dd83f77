"""What known totals take off the variance of an estimate: the variance is that of residuals.

With calibrated weights an estimate moves with the given weights d as if every answer z_i were ``z_i − x_i'B``, where
``B = (Σ d_i F'_i x_i x_i')⁻¹ Σ d_i F'_i x_i z_i``: the regression of the answers on what is known. This is the
derivative of ``Σ w_i z_i`` in the given weights (Demnati and Rao 2004), and for F linear the estimator of Deville and
Särndal (1992, section 3). Its variance under the design of the sample is

    S₀ − C B' − B C' + B S₂ B',

S₀ that of the answers, C their covariance with the totals of the auxiliary numbers, S₂ the covariance of those. Rows
that are not in a group, or that have no answer, have the residual ``−x_i'B`` there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.arguments import Floats
from discreet.estimate.data.label_codes import Ints
from discreet.estimate.data.rows import Batch
from discreet.estimate.sampling.share_covariance import Linearised
from discreet.mechanisms.inverse import Inverse


class AuxiliarySums:
    """``Σ w x`` by sampling unit (the stratum, where rows are units) and ``Σ w² x x'``; of more rows they add up."""

    def __init__(self) -> None:
        self._totals: Floats = np.zeros((0, 0))
        self._squares: Floats = np.zeros((0, 0, 0))

    def add(self, unit: Ints, batch: Batch, *, rows_are_units: bool) -> None:
        """One batch, all rows of it, answered or not."""
        assert batch.auxiliary is not None
        assert batch.weights is not None
        weighted = batch.auxiliary * batch.weights[:, None]
        size = self._grow(unit, weighted.shape[1], squares=rows_are_units)
        for column in range(weighted.shape[1]):
            self._totals[:, column] += np.bincount(unit, weighted[:, column], size)
        if rows_are_units:
            for one in np.unique(unit):
                mine = unit == one
                self._squares[one] += weighted[mine].T @ weighted[mine]

    def take(self, other: AuxiliarySums, unit: Ints) -> None:
        """The sums of other rows, whose units have these codes here."""
        known = unit[: len(other._totals)]
        if not known.size:
            return
        self._grow(known, other._totals.shape[1], squares=bool(len(other._squares)))
        self._totals[known] += other._totals
        if len(other._squares):
            self._squares[known] += other._squares

    def _grow(self, unit: Ints, p: int, *, squares: bool) -> int:
        """Room for these units."""
        size = max(len(self._totals), int(unit.max(initial=-1)) + 1)
        if len(self._totals) < size:
            totals, more = np.zeros((size, p)), np.zeros((size if squares else 0, p, p))
            totals[: len(self._totals)] = self._totals.reshape(-1, p)
            more[: len(self._squares)] = self._squares.reshape(-1, p, p)
            self._totals, self._squares = totals, more
        return size

    @property
    def totals(self) -> Floats:
        """``Σ w x`` of every unit (units, p)."""
        return self._totals

    def squares(self, factors: Floats) -> Floats:
        """``Σ_h k_h Σ_i w_i² x_i x_i'`` where rows are units."""
        return np.asarray(np.tensordot(factors, self._squares, axes=1))

    def covariance(self, stratum_of: Ints, units_in: Ints, factors: Floats, *, rows_are_units: bool) -> Floats:
        """``Σ_h k_h Σ_c (t_hc − t̄_h)(t_hc − t̄_h)'`` for the sums t_hc of w x."""
        if rows_are_units:
            own, by_stratum = self.squares(factors), self._totals
        else:
            own = (self._totals.T * factors[stratum_of]) @ self._totals
            by_stratum = np.zeros((units_in.size, self._totals.shape[1]))
            np.add.at(by_stratum, stratum_of, self._totals)
        return np.asarray(own - (by_stratum.T * (factors / units_in)) @ by_stratum)


@dataclass(frozen=True, eq=False)
class Calibrated(Linearised):
    """The linearised variance of report shares under calibrated weights.

    Attributes
    ----------
    crossed : array (reports, p)
        C: how the weights of every report vary together with the totals of the auxiliary numbers.
    slopes : array (reports, p)
        ``H⁻¹ Σ d F' x`` over the rows with each report, as rows.
    known : array (p, p)
        S₂.
    """

    crossed: Floats
    slopes: Floats
    known: Floats

    def _parts(self, centre: Floats) -> tuple[Floats, Floats]:
        """C and B of the shares less a centre."""
        crossed, slopes = self.crossed, self.slopes
        return crossed - np.outer(centre, crossed.sum(axis=0)), slopes - np.outer(centre, slopes.sum(axis=0))

    def _diagonal(self, correction: Inverse, centre: Floats, total: float) -> Floats:
        crossed, slopes = (_applied(correction, part) for part in self._parts(centre))
        change = np.einsum("xp,pq,xq->x", slopes, self.known, slopes) - 2 * np.sum(crossed * slopes, axis=1)
        found = super()._diagonal(correction, centre, total) + change / total**2
        return np.asarray(np.maximum(found, 0.0))

    def _full(self, correction: Inverse, centre: Floats, total: float) -> Floats:
        crossed, slopes = (_applied(correction, part) for part in self._parts(centre))
        both = crossed @ slopes.T
        change = slopes @ self.known @ slopes.T - both - both.T
        return super()._full(correction, centre, total) + change / total**2

    @property
    def may_exceed_n(self) -> bool:
        """Known totals say more."""
        return True

    def share_variances(self) -> Floats:
        """The diagonal."""
        crossed, slopes = self._parts(self.shares)
        change = np.einsum("xp,pq,xq->x", slopes, self.known, slopes) - 2 * np.sum(crossed * slopes, axis=1)
        return np.asarray(np.maximum(super().share_variances() + change / self.total**2, 0.0))

    def score_variances(self, scores: Floats, squares: Floats) -> Floats:
        """As of the shares, for sums of scores."""
        centred = scores - (scores @ self.shares)[:, None]
        crossed, slopes = centred @ self.crossed, centred @ self.slopes
        change = np.einsum("xp,pq,xq->x", slopes, self.known, slopes) - 2 * np.sum(crossed * slopes, axis=1)
        return np.asarray(np.maximum(super().score_variances(scores, squares) + change / self.total**2, 0.0))

    def _together(self, other: Linearised) -> Floats:
        """The covariance of the shares of two groups: every row has a residual in both."""
        assert isinstance(other, Calibrated)
        (own, mine), (its, theirs) = self._parts(self.shares), other._parts(other.shares)
        change = mine @ self.known @ theirs.T - own @ theirs.T - mine @ its.T
        return super()._together(other) + change / (self.total * other.total)


def _applied(correction: Inverse, columns: Floats) -> Floats:
    """A times each of a few columns."""
    return np.stack([correction.apply(column) for column in columns.T], axis=1)
