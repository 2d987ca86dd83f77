"""Means and totals of scores by group, with the covariance of all of them together.

Every row i has k scores z_i: the numbers of a public column, or debiased answers, whose mean is that of the truths. The
mean of group g is Hájek's ``m_g = Σ w_i z_i/W_g`` with ``W_g = Σ w_i`` over its rows, and its error that of the sum of

    u_i = w_i (z_i − m_g)/W_g,

so that all groups have one covariance matrix:

* a simple random sample: ``Σ u_i u_iᵀ`` in each group, groups independent of each other;
* weights, strata or clusters: ``Σ_h m_h/(m_h − 1) Σ_c (t_hc − t̄_h)(t_hc − t̄_h)ᵀ`` with the sums t_hc of u over the
  clusters of stratum h, with replacement at the first stage (Binder 1983). A cluster that reaches into several groups
  makes them dependent, and this matrix knows it;
* with a finite-population correction: see :mod:`discreet.estimate.sampling.finite_population`;
* with weights that meet known totals: ``z_i − m_g − x_i'B_g`` in place of ``z_i − m_g``, for every row, also outside
  the group (:mod:`discreet.estimate.sampling.calibrated_variance`);
* given the table of truths: ``Σ w_i² (z_i z_iᵀ − z̃_i)/W_g²`` with z̃_i the debiased products of the numbers behind the
  scores, unbiased for the variance that the randomisation alone adds.

Rows are added batch by batch and kept as sums by stratum, cluster and group.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.data.label_codes import GroupIndex, PairIndex
from discreet.estimate.data.map_reduce import refuse_to_send
from discreet.estimate.data.rows import Batch
from discreet.estimate.data.survey_design import Roles
from discreet.estimate.sampling.calibrated_variance import AuxiliarySums
from discreet.estimate.sampling.degrees_of_freedom import degrees_of_strata, with_known_part
from discreet.estimate.sampling.report_totals import auxiliary_products
from discreet.estimate.sampling.unit_totals import UnitIndex, at_codes, grown
from discreet.estimate.sampling.weighted_counts import People

Ints = NDArray[np.int64]

#: Sums of clusters by group that are written out at once (2^26 numbers, half a gigabyte).
_MAX_SUMS = 1 << 26


@dataclass(frozen=True, kw_only=True)
class ScoreMeans:
    """Means of k scores in every group.

    Attributes
    ----------
    labels : list
        The groups; one, called None, where there are none.
    n : array (groups,)
        Rows with an answer.
    weight : array (groups,)
        Σw.
    means : array (groups, k)
    covariance : array (groups·k, groups·k)
        Of the means, group by group.
    total_covariance : array or None
        Of Horvitz and Thompson's totals ``Σ w_i z_i``, where there are weights.
    degrees_of_freedom : array (groups,)
        Of the variance over strata (:mod:`discreet.estimate.sampling.degrees_of_freedom`), n − 1 for a simple
        random sample; infinite given the table.
    simple : array (groups·k, groups·k) or None
        The covariance that a simple random sample of as many people would have, for design effects; of surveys only.
    people : People
        What bounds effective sample sizes.
    """

    labels: list[Any]
    n: Ints
    weight: Floats
    means: Floats
    covariance: Floats
    total_covariance: Floats | None
    degrees_of_freedom: Floats
    people: People
    simple: Floats | None = None


class ScoreSums:
    """Sums over batches of rows; those of different rows add up.

    Parameters
    ----------
    width : int
        Number of scores, k.
    roles : Roles
        Which of weights, strata, clusters and groups the batches carry.
    target : {"population", "table"}
    lost : int
        What is taken off n in the variance of a simple random sample: 1 for measured numbers, as everybody does; 0 for
        debiased answers, whose plug-in variance is that of ``frequencies``.
    """

    def __init__(self, width: int, roles: Roles, target: str, lost: int = 0) -> None:
        self._width, self._roles, self._target, self._lost = width, roles, target, lost
        self._is_survey = target == "population" and roles.is_sample
        self._index, self._groups, self._blocks = UnitIndex(), GroupIndex("by"), PairIndex()
        # By block: rows, Σw, Σw², then Σwz, Σw²z (k each), Σw²zz', Σw²z̃, Σwzz' (k² each).
        self._sums: Floats = np.zeros((3 + 2 * width + 3 * width * width, 0))
        # By block, with known totals: Σ(w²x, slope·x), then the same times each score (2p each).
        self._auxiliary, self._products = AuxiliarySums(), np.zeros((0, 0))
        #: Rows without an answer.
        self.left_out = 0

    def add(self, batch: Batch, scores: Floats, products: Floats | None = None) -> None:
        """One batch; scores (rows, k) and debiased products (rows, k, k) of all its rows, answered or not."""
        if not len(scores):
            return
        nothing = np.zeros(len(scores), np.int64)
        unit = self._index.encode(batch.strata, batch.clusters, len(scores), batch.first_row, batch.fpc)
        group = nothing if batch.groups is None else self._groups.encode(batch.groups, batch.first_row)
        weights, more = batch.weights, None
        if self._is_survey and self._roles.rule is not None:
            self._auxiliary.add(unit, batch, rows_are_units=not self._roles.clusters)
            more = auxiliary_products(batch)
        if batch.answered is not None:  # rows without an answer stay in the sample, with a sum of zero
            self.left_out += int(np.count_nonzero(~batch.answered))
            unit, group, scores = unit[batch.answered], group[batch.answered], scores[batch.answered]
            products = None if products is None else products[batch.answered]
            weights = None if weights is None else weights[batch.answered]
            more = None if more is None else more[batch.answered]
        if not len(scores):
            return
        block = self._blocks.encode(unit, group)
        if more is not None:
            self._add_products(block, more, scores)
        w = np.ones(len(scores)) if weights is None else weights
        columns = [np.ones(len(scores)), w, w * w, *(w * scores.T), *(w * w * scores.T)]
        columns += [w * w * a * b for a in scores.T for b in scores.T]
        flat = np.zeros((self._width**2, len(scores))) if products is None else products.reshape(len(scores), -1).T
        columns += list(w * w * flat)
        columns += [w * a * b for a in scores.T for b in scores.T]
        size = len(self._blocks)
        self._sums = grown(self._sums, np.array([np.bincount(block, column, size) for column in columns]))

    def __add__(self, other: ScoreSums) -> ScoreSums:
        both = ScoreSums(self._width, self._roles, self._target, self._lost)
        for one in (self, other):
            both._take(one)
        return both

    def _take(self, other: ScoreSums) -> None:
        """The sums of other rows, whose labels have codes of their own."""
        self.left_out += other.left_out
        unit = self._index.take(other._index)
        if not unit.size:
            return
        group = self._groups.take(other._groups) if self._roles.groups else np.zeros(1, np.int64)
        block = self._blocks.take(other._blocks, unit, group)
        self._sums = grown(self._sums, at_codes(other._sums, block, len(self._blocks)))
        if other._products.size:
            self._grow_products(at_codes(other._products, block, len(self._blocks)))
        self._auxiliary.take(other._auxiliary, unit)

    def __getstate__(self) -> dict[str, Any]:
        """As it is sent, and not at any size."""
        refuse_to_send(len(self._blocks), "combinations of clusters and groups")
        return vars(self)

    def _add_products(self, block: Ints, more: Floats, scores: Floats) -> None:
        """Sums of products of scores with what the known totals are of."""
        columns = [column * score for score in (np.ones(len(scores)), *scores.T) for column in more.T]
        self._grow_products(np.array([np.bincount(block, column, len(self._blocks)) for column in columns]))

    def _grow_products(self, found: Floats) -> None:
        self._products = found if not self._products.size else grown(self._products, found)

    def means(self) -> ScoreMeans:
        """The means, from all rows so far."""
        k, sums = self._width, self._sums
        unit, group = self._blocks.pairs()
        pairs = self._groups.in_order() if self._roles.groups else [(None, 0)]
        present = [(label, code) for label, code in pairs if (group == code).any()]
        if not present:
            raise EstimationError("there are no reports to estimate from (n = 0)")
        rank = np.full(int(group.max()) + 1, -1)
        rank[[code for _, code in present]] = np.arange(len(present))
        place = rank[group]
        by_group = np.array([np.bincount(place, row, len(present)) for row in sums])
        n, weight, squares = by_group[0].round().astype(np.int64), by_group[1], by_group[2]
        means = (by_group[3 : 3 + k] / weight).T
        totals = None
        if self._target == "table":
            covariance = self._given_the_table(by_group, weight)
        elif not self._is_survey:
            covariance = self._simple(by_group, n, means)
        else:
            covariance = self._linearised(unit, place, means, weight)
            if self._roles.weights:
                totals = self._linearised(unit, place, np.zeros_like(means), np.ones_like(weight))
        return ScoreMeans(
            labels=[label for label, _ in present],
            n=n,
            weight=weight,
            means=means,
            covariance=covariance,
            total_covariance=totals,
            degrees_of_freedom=self._degrees(unit, place, means, weight, covariance),
            people=self._people(place, n, weight, squares),
            simple=self._same_size(by_group, n, weight, means) if self._is_survey else None,
        )

    def _people(self, place: Ints, n: Ints, weight: Floats, squares: Floats) -> People:
        """What bounds the effective sample size of every group."""
        kish = weight**2 / squares
        units, more = kish, self._roles.fpc or self._roles.rule is not None
        if self._is_survey:
            more = more or self._index.units.size > 1
            if self._roles.clusters:
                units = weight**2 / np.bincount(place, self._sums[1] ** 2, n.size)
        units = units / self._roles.rows_per_person
        return People(n.astype(float), kish, units, self._target == "table" or (self._is_survey and more))

    def _second(self, sums: Floats, start: int) -> Floats:
        """Sums of k × k products, one matrix per column of sums."""
        k = self._width
        return sums[start : start + k * k].T.reshape(-1, k, k)

    def _given_the_table(self, by_group: Floats, weight: Floats) -> Floats:
        k = self._width
        own = self._second(by_group, 3 + 2 * k) - self._second(by_group, 3 + 2 * k + k * k)
        return _diagonal_blocks(own / weight[:, None, None] ** 2)

    def _simple(self, by_group: Floats, n: Ints, means: Floats) -> Floats:
        k = self._width
        centred = self._second(by_group, 3 + 2 * k) - n[:, None, None] * means[:, :, None] * means[:, None, :]
        with np.errstate(divide="ignore", invalid="ignore"):
            blocks = centred / (n * (n - self._lost))[:, None, None].astype(float)
        blocks[n < 2] = np.nan  # one row has no spread
        return _diagonal_blocks(blocks)

    def _same_size(self, by_group: Floats, n: Ints, weight: Floats, means: Floats) -> Floats:
        """``(Σ w zzᵀ/Σw − m mᵀ)/n``: as if as many people had been a simple random sample."""
        k = self._width
        second = self._second(by_group, 3 + 2 * k + 2 * k * k) / weight[:, None, None]
        return _diagonal_blocks((second - means[:, :, None] * means[:, None, :]) / n[:, None, None])

    def _linearised(self, unit: Ints, place: Ints, centre: Floats, total: Floats) -> Floats:
        stratum_of, units_in = self._index.stratum, self._index.units
        groups, k = centre.shape
        if stratum_of.size * groups * k > _MAX_SUMS:
            raise EstimationError(
                f"{stratum_of.size:,} clusters in {groups:,} groups are more than memory should hold; use fewer groups"
            )
        fraction = self._index.fractions if self._roles.fpc else np.zeros(units_in.size)
        sampling, randomised = self._roles.corrected(fraction)
        factor = sampling * units_in / (units_in - 1)
        sums, own_centre, own_total = self._sums, centre[place], total[place]
        residual = (sums[3 : 3 + k].T - sums[1][:, None] * own_centre) / own_total[:, None]
        cells = np.zeros((stratum_of.size, groups, k))
        cells[unit, place] = residual
        by_unit = cells.reshape(stratum_of.size, groups * k)
        slopes = None
        if self._roles.rule is not None:
            slopes = self._slopes(place, centre, total)
            by_unit = by_unit - self._auxiliary.totals @ slopes
        if self._roles.clusters:
            weighted = by_unit * np.sqrt(factor[stratum_of])[:, None]
            middle = weighted.T @ weighted
            by_stratum = np.zeros((units_in.size, groups * k))
            np.add.at(by_stratum, stratum_of, by_unit)
        else:  # every row is a unit of its own, and in one group only
            middle = _diagonal_blocks(self._row_squares(unit, place, centre, total, factor))
            by_stratum = by_unit
            if slopes is not None:
                crossed = self._with_auxiliary(place, centre, total, factor[stratum_of[unit]], 0) @ slopes
                middle = middle - crossed - crossed.T + slopes.T @ self._auxiliary.squares(factor) @ slopes
        found = np.asarray(middle - (by_stratum.T * (factor / units_in)) @ by_stratum)
        if randomised.any():  # everybody who was asked was randomised, in every row anew
            alone = self._second(sums, 3 + 2 * k) - self._second(sums, 3 + 2 * k + k * k)
            blocks = np.zeros((groups, k, k))
            np.add.at(blocks, place, alone * (randomised[stratum_of[unit]] / own_total**2)[:, None, None])
            found = found + _diagonal_blocks(blocks)
        return found

    def _with_auxiliary(self, place: Ints, centre: Floats, total: Floats, factor: Floats, which: int) -> Floats:
        """``Σ_i f (z_i − m_g) x_i/W_g`` of every group and score (groups·k, p).

        ``f`` is w² (0) or the slope of the weight (1), times a factor of its block.
        """
        groups, k = centre.shape
        p = self._auxiliary.totals.shape[1]
        sums = self._products.reshape(1 + k, 2, p, -1)[:, which] * factor
        by_group = np.zeros((groups, 1 + k, p))
        np.add.at(by_group, place, np.moveaxis(sums, 2, 0))
        found = by_group[:, 1:] - centre[:, :, None] * by_group[:, :1]
        return np.asarray((found / total[:, None, None]).reshape(groups * k, p))

    def _slopes(self, place: Ints, centre: Floats, total: Floats) -> Floats:
        """``B/W_g`` of every group and score, as columns (p, groups·k)."""
        assert self._roles.rule is not None
        moments = self._with_auxiliary(place, centre, total, np.ones(place.size), 1)
        return np.asarray(self._roles.rule.inverse @ moments.T)

    def _row_squares(self, unit: Ints, place: Ints, centre: Floats, total: Floats, factor: Floats) -> Floats:
        """``Σ_i u_i u_iᵀ`` of every group, the rows of a stratum times its factor."""
        out = np.zeros((len(centre), self._width, self._width))
        np.add.at(out, place, self._squares(place, centre, total) * factor[unit][:, None, None])
        return out

    def _squares(self, place: Ints, centre: Floats, total: Floats) -> Floats:
        """``Σ_i u_i u_iᵀ`` of every block."""
        k, sums, own = self._width, self._sums, centre[place]
        first, crossed = self._second(sums, 3 + 2 * k), sums[3 + k : 3 + 2 * k].T[:, :, None] * own[:, None, :]
        squares = first - crossed - crossed.transpose(0, 2, 1)
        squares = squares + sums[2][:, None, None] * own[:, :, None] * own[:, None, :]
        return np.asarray(squares / (total[place] ** 2)[:, None, None])

    def _degrees(self, unit: Ints, place: Ints, means: Floats, weight: Floats, covariance: Floats) -> Floats:
        """Of the variance of every group, at most units minus strata in which it has any; infinite given the table."""
        groups, k = means.shape
        if self._target == "table":
            return np.full(groups, math.inf)
        if not self._is_survey:
            return np.asarray(np.maximum(np.bincount(place, self._sums[0], groups) - 1.0, 1.0))
        stratum_of, units_in = self._index.stratum, self._index.units
        rows = np.ones(unit.size) if self._roles.clusters else self._sums[0]
        units = np.bincount(place, rows, groups)
        pairs = np.unique(np.stack([place, stratum_of[unit]]), axis=1)
        most = units / self._roles.rows_per_person - np.bincount(pairs[0], minlength=groups)
        if units_in.size == 1 and not self._roles.fpc:
            return np.asarray(np.maximum(most, 1.0))
        squares, sums = np.zeros((units_in.size, groups, k)), np.zeros((units_in.size, groups, k))
        residual = (self._sums[3 : 3 + k].T - self._sums[1][:, None] * means[place]) / weight[place][:, None]
        own = residual**2
        if not self._roles.clusters:
            own = np.diagonal(self._squares(place, means, weight), axis1=1, axis2=2)
        np.add.at(squares, (stratum_of[unit], place), own)
        np.add.at(sums, (stratum_of[unit], place), residual)
        remaining = 1 - self._index.fractions if self._roles.fpc else 1.0
        factors = remaining * units_in / (units_in - 1)
        by_stratum = (squares - sums**2 / units_in[:, None, None]) * factors[:, None, None]
        found = degrees_of_strata(by_stratum, units_in, most[:, None])
        if self._roles.fpc:
            sampled, whole = by_stratum.sum(axis=0), np.diag(covariance).reshape(groups, k)
            found = with_known_part(found, np.divide(whole, sampled, out=np.ones_like(whole), where=sampled > 0))
        return np.asarray(found.min(axis=1))


def _diagonal_blocks(blocks: Floats) -> Floats:
    groups, k, _ = blocks.shape
    out = np.zeros((groups, k, groups, k))
    out[np.arange(groups), :, np.arange(groups), :] = blocks
    return out.reshape(groups * k, groups * k)
