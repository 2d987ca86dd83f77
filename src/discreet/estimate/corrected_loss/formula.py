"""A regression by formula on a release with any number of randomised columns on either side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from discreet import arguments
from discreet.arguments import Floats
from discreet.errors import EstimationError, NotIdentifiedError
from discreet.estimate.columns import ReleaseColumn
from discreet.estimate.corrected_loss.cells import CellWeights
from discreet.estimate.corrected_loss.collinearity import refuse_collinear, refuse_collinear_units
from discreet.estimate.corrected_loss.evaluation import Evaluation
from discreet.estimate.corrected_loss.families import Family, Poisson
from discreet.estimate.corrected_loss.fit import fit_corrected
from discreet.estimate.corrected_loss.linear_moments import LinearMoments, Pair, Unit
from discreet.estimate.corrected_loss.numeric import NumericColumns, WrittenOut
from discreet.estimate.corrected_loss.objective import CorrectedLoss, Sample
from discreet.estimate.corrected_loss.outcome import Outcome, outcome_of
from discreet.estimate.corrected_loss.randomised import Needed, Randomisation, randomised_column
from discreet.estimate.corrected_loss.reading import Indices, complete_rows, distinct_rows, plain, sample_of
from discreet.estimate.corrected_loss.result import CorrectedRegression
from discreet.estimate.formulas import Matrices, Sides, read_terms
from discreet.estimate.formulas.expression import STATEFUL, calls_of, columns_of
from discreet.estimate.likelihood.truth_given_report import Reporting
from discreet.estimate.m_estimation.box.controls import degrees, multiples
from discreet.estimate.m_estimation.box.copies import MONTE_CARLO_SHARE
from discreet.estimate.rows import refuse_never_together
from discreet.estimate.specification import Specification

if TYPE_CHECKING:
    from discreet.manifest import Block, Release


def corrected_regression(
    formula: str,
    release: Release,
    *,
    family: str = "auto",
    link: str = "logit",
    missing: str = "error",
    tau: float | None = None,
    threshold: float | None = None,
    naive: bool = False,
) -> CorrectedRegression:
    """Fit a regression on a release, corrected for the randomisation of every column in it.

    The loss of a row is replaced by ``Σ_t w(t) ℓ(θ; t)`` over every combination t of true values that its randomised
    columns can have, with weights that undo the randomisation on average: nothing is assumed about the law of the
    predictors. See :mod:`discreet.estimate.corrected_loss`.

    Parameters
    ----------
    formula : str
        ``"cheated ~ age + C(sex) + smokes"``, any of the columns randomised, with interactions and functions of them.
    release : Release
    family : {"auto", "linear", "binary", "multinomial", "ordinal", "poisson", "quantile", "huber", "hinge"}
        "auto": binary for an outcome with two values, linear for numbers, multinomial for other values.
    link : {"logit", "probit", "cauchit", "cloglog"}
        Of a binary family.
    missing : {"error", "drop"}
        What to do with rows in which a public value, or the public blank of a private column, is missing. A blank that
        was randomised as one more value is never dropped: its truth weighs nothing.
    tau : float, optional
        The quantile of a quantile family, the median by default.
    threshold : float, optional
        Of a huber family, in the units of the outcome; 1.345 residual spreads by default.
    naive : bool
        Take the reports for the truth, to compare with.

    Returns
    -------
    CorrectedRegression
    """
    from discreet.manifest import Release

    release = arguments.instance(release, Release, "release", EstimationError)
    missing = arguments.choice(missing, "missing", ("error", "drop"), EstimationError)
    sides = Specification(formula, release).sides
    naive = arguments.flag(naive, "naive", EstimationError)
    fit = _Work(release, sides, missing, family, link, tau, threshold, naive).fit()
    return replace(fit, formula=formula.strip())


@dataclass
class _Work:
    """One fit: which columns are read, and how rows become a corrected loss."""

    release: Release
    sides: Sides
    missing: str
    family: str
    link: str
    tau: float | None = None
    threshold: float | None = None
    naive: bool = False

    def __post_init__(self) -> None:
        found = self.release.manifest.blocks
        blocks = {column: block.beside_others(column) for block in found for column in block.columns}
        named = (*self.sides.variables, self.sides.outcome)
        refuse_never_together(self.release, named)
        self.blocks: dict[str, Block] = {name: blocks[name] for name in named if name in blocks}
        if not self.blocks:
            raise EstimationError("no column of the formula was randomised: an ordinary regression needs no correction")
        self.private = [name for name in self.sides.variables if name in self.blocks]
        self.public = [name for name in self.sides.variables if name not in self.blocks]
        self._refuse_transforms()
        survey = self.release.survey
        aside = [survey.weight, survey.cluster, survey.strata, *(block.by for block in self.blocks.values())]
        names = [*named, *(name for name in aside if name is not None)]
        # A blank that was randomised is an answer like any other; a weight that is missing is refused, never dropped.
        checked = [n for n in names if (n not in self.blocks or self.blocks[n].gaps) and n != survey.weight]
        self.table, self.dropped = complete_rows(
            self.release, list(dict.fromkeys(names)), list(dict.fromkeys(checked)), self.missing
        )
        self.records = self.table
        self.numeric = NumericColumns.of(self.blocks, self.table)
        self.copies: tuple[Indices, Floats] | None = None
        if self.numeric is not None:  # numbers of copies are known
            known = set(self.numeric.names)
            self.blocks = {name: block for name, block in self.blocks.items() if name not in known}
            self.public += [name for name in self.private if name in known]
            self.private = [name for name in self.private if name not in known]
            if not self.naive:
                self._write_out(self.numeric.inside())

    def _write_out(self, rows: WrittenOut) -> None:
        """Work on copies of the records from here on."""
        self.table, self.copies = rows.table, (rows.record, rows.weight)
        self.__dict__.pop("randomisation", None)

    def _refuse_transforms(self) -> None:
        for factor in read_terms(self.sides.predictors).factors:
            for call in calls_of(factor):
                hidden = sorted(set(columns_of(call)) & set(self.private))
                if call.function in STATEFUL and hidden:
                    raise EstimationError(
                        f'{call.text} depends on the distribution of "{hidden[0]}", which was randomised; write the '
                        f"numbers into the formula, as in I(({hidden[0]} - 40) / 10) or I({hidden[0]} ** 2)"
                    )

    @cached_property
    def randomisation(self) -> Randomisation:
        """The randomised columns: predictors first."""
        names = [*self.private, *([self.sides.outcome] if self.sides.outcome in self.blocks else [])]
        columns = tuple(
            randomised_column(name, self.blocks[name], self.table, predictor=name in self.private) for name in names
        )
        found = Randomisation(columns, self.table.num_rows, self.sides.outcome in self.blocks)
        return found.taken_literally() if self.naive else found

    @cached_property
    def matrices(self) -> Matrices:
        """The model's columns; the values of randomised columns are those that were declared."""
        declared = {column.name: column.values for column in self.randomisation.columns if column.name in self.private}
        read = self.public or [self.sides.outcome]
        return Matrices(
            self.sides.predictors,
            self.sides.variables,
            lambda: self.records.select(read).to_batches(),
            declared,
        )

    def outcome(self) -> Outcome:
        """The outcome, and its family."""
        name, randomised = self.sides.outcome, self.randomisation.outcome
        column = self.randomisation.columns[-1].values if randomised else plain(self.table[name])
        return outcome_of(
            name,
            column,
            randomised=randomised,
            family=self.family,
            link=self.link,
            tau=self.tau,
            threshold=self.threshold,
        )

    def fit(self) -> CorrectedRegression:
        """Everything put together."""
        randomisation, outcome = self.randomisation, self.outcome()
        plural = "s" if self.dropped != 1 else ""
        notes = [f"{self.dropped:,} row{plural} with a missing value left out"] if self.dropped else []
        if randomisation.blanks:
            notes.append(
                f"a missing value was one of the values of {', '.join(randomisation.blanks)}: the model is about "
                "people whose true answer was not missing"
            )
        if self.naive:
            notes.append("naive: the reports were taken for the truth, and nothing was corrected")
        notes += [column.merged for column in randomisation.columns if column.merged]
        fit = self._fit(self._risk(outcome), notes)
        if self.numeric is not None and not self.naive:
            fit = self._controlled(fit, notes)
        if isinstance(fit.family, Poisson) and fit.family.alpha:
            fit = replace(fit, notes=(*fit.notes, fit.family.note))
        return replace(fit, modelled=outcome.modelled, reporting=self._reporting(outcome))

    def _reporting(self, outcome: Outcome) -> Reporting | None:
        """How classes of a randomised outcome were reported."""
        name, last = self.sides.outcome, self.randomisation.columns[-1:]
        told = outcome.family.scale == "probability" and self.randomisation.outcome and not last[0].blank
        return Reporting.of(name, self.blocks[name], ReleaseColumn(self.release, name).channels) if told else None

    def _risk(self, outcome: Outcome) -> CorrectedLoss | LinearMoments:
        """The corrected loss of the rows at hand."""
        randomisation = self.randomisation
        evaluation = Evaluation(self.matrices, randomisation.predictors, self.table, self.public)
        by_moments = outcome.family.curvature == "square" and not (evaluation.mixed_at.size or randomisation.partial)
        return (self._moments if by_moments else self._over_cells)(evaluation, outcome)

    def _fit(self, risk: CorrectedLoss | LinearMoments, notes: Sequence[str]) -> CorrectedRegression:
        numeric = () if self.numeric is None else self.numeric.names
        return fit_corrected(
            risk,
            self.matrices.names,
            [*numeric, *(column.name for column in self.randomisation.columns)],
            notes=notes,
            matrices=self.matrices,
            weighted=self.release.survey.weight is not None,
        )

    def _controlled(self, fit: CorrectedRegression, notes: Sequence[str]) -> CorrectedRegression:
        """The fit with as many copies as are needed, and with the controls that fit at it.

        What is corrected outside the box, where no truth is, has mean zero: :mod:`.m_estimation.box.controls`.
        """
        numeric = self.numeric
        assert numeric is not None
        share = self._share(fit)
        if fit.converged and share > MONTE_CARLO_SHARE and numeric.copies.count < numeric.copies.most:
            numeric = self.numeric = numeric.with_count(numeric.copies.wanted(share))
            self._write_out(numeric.inside())
            fit = self._fit(self._risk(self.outcome()), notes)
            share = self._share(fit)
        notes = [*notes, numeric.described, numeric.copies.note(share)]
        if not fit.converged:
            return replace(fit, notes=tuple(notes))
        inner = self._risk(self.outcome())
        scores, theta = inner.sample.by_record(inner.row_scores(fit.coefficients)), fit.coefficients
        controls, inside = np.zeros_like(scores), (self.table, self.copies)
        for part in numeric.outside():
            self._write_out(part)
            outer = self._risk(self.outcome())
            controls += outer.sample.by_record(outer.row_scores(theta))
        self.table, self.copies = inside
        self.__dict__.pop("randomisation", None)
        gamma = multiples(scores, controls)
        inner.sample = replace(inner.sample, controls=controls @ gamma)
        found = self._fit(inner, notes)
        return replace(found, covariance=found.covariance * degrees(inner.sample.n, int(gamma.any()) * len(gamma)))

    def _share(self, fit: CorrectedRegression) -> float:
        """What the copies add to the variance of the scores."""
        assert self.numeric is not None
        risk = fit.risk
        scores = risk.row_scores(np.array(fit.coefficients))
        return self.numeric.copies.share(risk.sample.by_row(scores), risk.sample.by_record(scores))

    def _distinct(self, outcome: Outcome) -> tuple[Indices, Sample]:
        """The first of every set of equal rows, and the sample that points to them."""
        seen = [plain(self.table[name]) for name in self.public]
        if not self.randomisation.outcome:
            seen.append(pa.array(outcome.values[:, 0]))
        seen += [code for column in self.randomisation.columns for code in column.codes]
        first, back = distinct_rows(seen, self.table.num_rows)
        return first, sample_of(self.release, self.records, back, self.copies)

    def _over_cells(self, evaluation: Evaluation, outcome: Outcome) -> CorrectedLoss:
        """The corrected loss over every combination of true values."""
        randomisation, matrices = self.randomisation, self.matrices
        family, cells = self._weighed(evaluation, outcome.family)
        rows, sample = self._distinct(outcome)
        matrix = evaluation.cell_matrix(cells.truths(), rows)
        refuse_collinear(matrix, matrices.names)
        _, transform = family.parameters(matrices.names)
        return CorrectedLoss(
            family,
            matrix,
            cells.take(rows),
            outcome.values if randomisation.outcome else outcome.values[rows],
            sample,
            matrices.names.index("Intercept") if "Intercept" in matrices.names else None,
            transform,
        )

    def _weighed(self, evaluation: Evaluation, family: Family) -> tuple[Family, CellWeights]:
        """The loss with the weights of the cells: counts have one that fits them, where all parts of it are known."""
        randomisation = self.randomisation
        every = range(len(randomisation.columns))
        if isinstance(family, Poisson):
            try:
                found = randomisation.weights(every, lambda _: True, outcome=randomisation.outcome)
            except NotIdentifiedError:  # columns that were randomised together: the canonical loss needs less
                pass
            else:
                return family.tamed(found.inflation), found
        needed = needed_parts(evaluation.units, family.curvature, randomisation)
        return family, randomisation.weights(every, needed, outcome=randomisation.outcome)

    def _moments(self, evaluation: Evaluation, outcome: Outcome) -> LinearMoments:
        """The corrected squared loss, from the moments of single units and of pairs that were randomised together."""
        randomisation, last = self.randomisation, len(self.matrices.names)
        rows, sample = self._distinct(outcome)
        parts = [
            (evaluation.columns_of(unit), evaluation.axes(unit), values)
            for unit, values in evaluation.unit_matrices.items()
        ]
        public, public_at = evaluation.public(rows), evaluation.public_at
        if randomisation.outcome:
            parts.append((np.array([last]), (len(randomisation.columns) - 1,), outcome.values.T))
        else:
            public = np.column_stack([public, outcome.values[rows]])
            public_at = np.append(public_at, last)

        def weights(axes: tuple[int, ...]) -> CellWeights:
            return randomisation.weights(axes, lambda _: True, outcome=False).take(rows)

        units = [Unit.of(at, weights(axes), values) for at, axes, values in parts]
        pairs = [
            Pair.of(units[i], units[j], weights((*parts[i][1], *parts[j][1])), (parts[i][2], parts[j][2]))
            for i in range(len(parts))
            for j in range(i)
            if randomisation.together(parts[i][1], parts[j][1])
        ]
        refuse_collinear_units(public[:, : evaluation.public_at.size], evaluation, self.matrices.names)
        return LinearMoments(public, public_at, units, pairs, sample)


def needed_parts(units: Sequence[int], curvature: str, randomisation: Randomisation) -> Needed:
    """Which columns the corrected loss has together, by axis.

    A canonical loss ``b(η) − yη`` has the outcome together with one term at a time, a squared loss terms in pairs, any
    other loss everything together. Terms are sums over *units*, columns that meet in a term. Where a blank weighs
    nothing, every part of the loss is multiplied by whether no truth is blank, and has everything together.
    """
    outcome = len(units) if randomisation.outcome else None
    if curvature == "general" or randomisation.blanks:
        return lambda _: True
    most = 2 if curvature == "square" else len(units)

    def needed(members: frozenset[int]) -> bool:
        met = {units[axis] for axis in members if axis != outcome}
        return len(met) <= (1 if outcome in members else most)

    return needed
