"""Survey weights, strata, clusters and groups: sums over batches of rows, and the linearised variance."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.channels.report_codes import Ints, count_reports
from discreet.estimate.data.label_codes import Cells, GroupIndex, PairIndex
from discreet.estimate.data.map_reduce import refuse_to_send, summed
from discreet.estimate.data.rows import Batch
from discreet.estimate.data.source import Source
from discreet.estimate.data.survey_design import Roles, SurveyDesign
from discreet.estimate.reporting import display
from discreet.estimate.sampling.calibrated_variance import AuxiliarySums, Calibrated
from discreet.estimate.sampling.degrees_of_freedom import degrees_of_strata
from discreet.estimate.sampling.finite_population import FiniteSample
from discreet.estimate.sampling.share_covariance import Linearised
from discreet.estimate.sampling.unit_totals import MAX_STRATUM_CELLS, UnitIndex
from discreet.estimate.sampling.weighted_counts import Counting, Evidence


class SurveyTally:
    """Sums by stratum, cluster, group and report, over batches of rows; those of different rows add up."""

    def __init__(self, reports: int, roles: Roles, target: str) -> None:
        self._reports = reports
        self._roles = roles
        self._target = target
        #: Rows without an answer.
        self.left_out = 0
        # Given the table of truths, rows are randomised independently: only weights matter.
        self._is_sample = target == "population" and roles.is_sample
        self._index = UnitIndex()
        self._group_labels = GroupIndex("by")
        self._blocks = PairIndex()  # (unit, group); the unit is the stratum where there are no clusters
        self._cells = Cells()
        self._auxiliary = AuxiliarySums()

    def add(self, batch: Batch) -> None:
        """One batch."""
        count_reports(batch.codes, self._reports, batch.first_row)  # refuses codes out of range
        if not batch.codes.size:
            return
        nothing = np.zeros(batch.codes.size, np.int64)
        unit = self._index.encode(batch.strata, batch.clusters, batch.codes.size, batch.first_row, batch.fpc)
        group = nothing if batch.groups is None else self._group_labels.encode(batch.groups, batch.first_row)
        codes, weights, more = batch.codes.astype(np.int64), batch.weights, None
        if self._is_sample and self._roles.rule is not None:
            self._auxiliary.add(unit, batch, rows_are_units=not self._roles.clusters)
            more = auxiliary_products(batch)
        if batch.answered is not None:  # rows without an answer stay in the sample, with a total of zero
            self.left_out += int(np.count_nonzero(~batch.answered))
            codes, unit, group = codes[batch.answered], unit[batch.answered], group[batch.answered]
            weights = None if weights is None else weights[batch.answered]
            more = None if more is None else more[batch.answered]
        self._cells.add(self._blocks.encode(unit, group) * self._reports + codes, weights, more)

    def __add__(self, other: SurveyTally) -> SurveyTally:
        both = SurveyTally(self._reports, self._roles, self._target)
        for one in (self, other):
            both._take(one)
        return both

    def _take(self, other: SurveyTally) -> None:
        """The sums of other rows, whose labels have codes of their own."""
        self.left_out += other.left_out
        unit = self._index.take(other._index)
        if not unit.size:
            return
        group = self._group_labels.take(other._group_labels) if self._roles.groups else np.zeros(1, np.int64)
        block = self._blocks.take(other._blocks, unit, group)
        self._cells.take(other._cells, block, self._reports)
        self._auxiliary.take(other._auxiliary, unit)

    def __getstate__(self) -> dict[str, Any]:
        """As it is sent, and not at any size."""
        refuse_to_send(len(self._blocks), "combinations of clusters and groups")
        return vars(self)

    def evidence(self) -> list[tuple[Any, Evidence]]:
        """The evidence of every group, in label order; without groups one, labelled None."""
        block, report, sums = self._cells.by_block(self._reports)
        unit, group = (codes[block] for codes in self._blocks.pairs())
        if not self._roles.groups:
            return [(None, self._of_group(unit, report, sums))]
        chosen = {label: group == code for label, code in self._group_labels.in_order()}
        return [(label, self._of_group(unit[k], report[k], sums[:, k])) for label, k in chosen.items()]

    def _of_group(self, unit: Ints, report: Ints, sums: Floats) -> Evidence:
        counts, weights, squares = (_sums(report, row, self._reports) for row in sums[:3])
        whole = counts.round().astype(np.int64)
        survey: Linearised | None = None
        finite: FiniteSample | None = None
        notes: tuple[str, ...] = ()
        if self._is_sample and whole.any():
            stratum_of = self._index.stratum
            rows, strata = self._roles.rows_per_person, self._index.units.size
            survey, notes = self._linearised(unit, report, sums, weights, np.full(strata, float(rows)))
            if self._roles.fpc or rows > 1:
                fractions = self._index.fractions if self._roles.fpc else np.zeros(strata)
                sampling, randomised = self._roles.corrected(fractions)
                sampled, _ = self._linearised(unit, report, sums, weights, sampling)
                finite = FiniteSample(sampled, _sums(report, sums[2] * randomised[stratum_of[unit]], self._reports))
        if not self._roles.weights:
            return Evidence(whole, survey=survey, notes=notes, finite=finite)
        return Evidence(whole, weights, squares, survey, notes, finite)

    def _linearised(
        self, unit: Ints, report: Ints, sums: Floats, weights: Floats, remaining: Floats
    ) -> tuple[Linearised, tuple[str, ...]]:
        """The spread of one group: the clusters of the whole sample count, with zeros where the group is absent.

        ``remaining`` multiplies the variance of every stratum: the rows of one person, times 1 − f_h.
        """
        stratum_of, clusters_in = self._index.stratum, self._index.units
        if clusters_in.size * self._reports > MAX_STRATUM_CELLS:
            raise EstimationError(
                f"{clusters_in.size:,} strata with {self._reports:,} reports each are more than memory should hold; "
                "merge strata"
            )
        count, weight, square = sums[:3]
        factor = remaining * clusters_in / (clusters_in - 1)
        stratum = stratum_of[unit]
        strata = _sums(stratum * self._reports + report, weight, clusters_in.size * self._reports)
        rows: Any
        if self._roles.clusters:
            from scipy.sparse import csr_array

            k = factor[stratum_of]
            cluster_weight = _sums(unit, weight, stratum_of.size)
            rows = csr_array((weight * np.sqrt(k)[unit], (unit, report)), shape=(stratum_of.size, self._reports))
            g = _sums(report, weight * (k * cluster_weight)[unit], self._reports)
            gamma = float(k @ cluster_weight**2)
            present = cluster_weight > 0
            used, used_strata = int(present.sum()), np.unique(stratum_of[present]).size
            kish = float(cluster_weight.sum() ** 2 / (cluster_weight**2).sum())
        else:
            g = _sums(report, square * factor[stratum], self._reports)
            rows, gamma = g, float(g.sum())
            used, used_strata = int(count.sum().round()), np.unique(stratum).size
            kish = float(weight.sum() ** 2 / square.sum())
        total, rows_of_one = float(weights.sum()), self._roles.rows_per_person
        survey = Linearised(
            shares=weights / total,
            total=total,
            rows=rows,
            g=g,
            gamma=gamma,
            strata=strata.reshape(clusters_in.size, self._reports),
            factors=factor / clusters_in,
            clusters=used,
            degrees=self._degrees(unit, report, sums, weights / total, used / rows_of_one - used_strata, remaining),
            kish=kish / rows_of_one,
        )
        notes = self._survey_notes(used, used_strata)
        return (survey if self._roles.rule is None else self._calibrated(survey, unit, report, sums, factor)), notes

    def _degrees(self, unit: Ints, report: Ints, sums: Floats, shares: Floats, most: float, remaining: Floats) -> float:
        """Degrees of freedom of the variance of all shares together, ``Σ_y Var(p̂_y)``."""
        stratum_of, units_in = self._index.stratum, self._index.units
        if units_in.size == 1:
            return max(most, 1.0)
        _, weight, square = sums[:3]
        stratum, size, length = stratum_of[unit], units_in.size, float(shares @ shares)
        if self._roles.clusters:  # Σ_y (W_cy − p_y W_c)² of every cluster, in two sums over its cells
            whole = _sums(unit, weight, stratum_of.size)
            own = _sums(unit, weight**2 - 2 * weight * shares[report] * whole[unit], stratum_of.size)
            squares = _sums(stratum_of, own + length * whole**2, size)
        else:
            squares = _sums(stratum, square * (1 - 2 * shares[report] + length), size)
        cells = _sums(stratum * self._reports + report, weight, size * self._reports).reshape(size, self._reports)
        between = np.sum((cells - np.outer(cells.sum(axis=1), shares)) ** 2, axis=1)
        by_stratum = (squares - between / units_in) * (remaining * units_in / (units_in - 1))
        return float(degrees_of_strata(by_stratum, units_in, most))

    def _calibrated(self, plain: Linearised, unit: Ints, report: Ints, sums: Floats, factor: Floats) -> Calibrated:
        """The same spread, as that of residuals from what is known."""
        assert self._roles.rule is not None
        stratum_of, clusters_in = self._index.stratum, self._index.units
        totals, rows_are_units = self._auxiliary.totals, not self._roles.clusters
        p, weight, k = totals.shape[1], sums[1], factor[stratum_of]
        squares, slopes = sums[3 : 3 + p], sums[3 + p : 3 + 2 * p]
        # Σ_c k_h W_cy X_c, where rows are units Σ_i k_h w_i² x_i; less what centring at the strata takes off.
        within = squares * k[unit] if rows_are_units else totals[unit].T * (weight * k[unit])
        crossed = np.stack([_sums(report, row, self._reports) for row in within], axis=1)
        by_stratum = totals
        if not rows_are_units:
            by_stratum = np.zeros((clusters_in.size, p))
            np.add.at(by_stratum, stratum_of, totals)
        crossed -= (plain.strata.T * plain.factors) @ by_stratum
        by_report = np.stack([_sums(report, row, self._reports) for row in slopes], axis=1)
        return Calibrated(
            **{one.name: getattr(plain, one.name) for one in fields(plain)},
            crossed=crossed,
            slopes=by_report @ self._roles.rule.inverse,
            known=self._auxiliary.covariance(stratum_of, clusters_in, factor, rows_are_units=rows_are_units),
        )

    def _survey_notes(self, used: int, used_strata: int) -> tuple[str, ...]:
        notes = [*self._roles.notes]
        if used <= used_strata:
            notes.append(
                "the group has no stratum with two clusters of its own: its standard errors rest on one degree of "
                "freedom at most"
            )
        if self._index.recurring:
            notes.append("cluster labels that recur in several strata were taken as different clusters")
        return tuple(notes)


def auxiliary_products(batch: Batch) -> Floats:
    """``w² x`` and ``slope·x`` of every row, side by side."""
    assert batch.auxiliary is not None
    assert batch.weights is not None
    assert batch.slopes is not None
    return np.hstack([batch.auxiliary * (batch.weights**2)[:, None], batch.auxiliary * batch.slopes[:, None]])


def _sums(keys: Ints, values: Floats, size: int) -> Floats:
    """Σ values by key."""
    return np.asarray(np.bincount(keys, values, size), float)


@dataclass(frozen=True)
class Tallying:
    """The pass that tallies batches which have groups, weights, strata or clusters."""

    reports: int
    roles: Roles
    target: str

    def __call__(self, batches: Iterable[Batch]) -> SurveyTally:
        """Of some rows."""
        tally = SurveyTally(self.reports, self.roles, self.target)
        for batch in batches:
            tally.add(batch)
        return tally


def collect(source: Source, design: SurveyDesign) -> tuple[list[tuple[Any, Evidence]], int]:
    """Read all rows and reduce them to the evidence of each group; also how many rows had no answer."""
    rows, roles = source.rows(design).source(), design.roles
    size = int(np.prod([column.reports for column in source.readers]))
    if roles.any:
        tally = summed(rows, Tallying(size, roles, design.target))
        return tally.evidence(), tally.left_out
    found = summed(rows, Counting(size))
    return [(None, Evidence(found.counts))], found.left_out


def silent_note(evidence: list[tuple[Any, Evidence]]) -> tuple[str, ...]:
    """The groups without any answer."""
    silent = [display.label_text(label) for label, part in evidence if part.n == 0]
    return (f"groups without any answer left out: {', '.join(silent)}",) if silent else ()
