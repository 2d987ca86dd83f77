"""A regression by formula on a release with any number of randomised columns on either side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from discreet import arguments
from discreet.arguments import Floats
from discreet.blocks import NumericBlock
from discreet.errors import EstimationError
from discreet.estimate.collecting import dropped_note
from discreet.estimate.columns import ReleaseColumn
from discreet.estimate.corrected_loss.families import Poisson
from discreet.estimate.corrected_loss.first_look import Look, Looking
from discreet.estimate.corrected_loss.fit import fit_corrected
from discreet.estimate.corrected_loss.linear_moments import LinearMoments
from discreet.estimate.corrected_loss.model import Counted, model_of
from discreet.estimate.corrected_loss.numeric import NumericColumns, WrittenOut
from discreet.estimate.corrected_loss.objective import CorrectedLoss
from discreet.estimate.corrected_loss.outcome import Outcome, outcome_of
from discreet.estimate.corrected_loss.randomised import Randomisation
from discreet.estimate.corrected_loss.reading import EncodedRows, FormulaColumns, ReadRows
from discreet.estimate.corrected_loss.result import CorrectedRegression
from discreet.estimate.formulas import Matrices, Sides, read_terms
from discreet.estimate.formulas.column_values import CountedRows
from discreet.estimate.formulas.expression import STATEFUL, calls_of, columns_of
from discreet.estimate.likelihood.truth_given_report import Reporting
from discreet.estimate.m_estimation.box.controls import degrees, multiples
from discreet.estimate.m_estimation.box.copies import MONTE_CARLO_SHARE
from discreet.estimate.passes import Held, Source, changed, remembered, rows_of, summed
from discreet.estimate.rows import refuse_never_together
from discreet.estimate.specification import Specification
from discreet.reading import Release


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
    release = arguments.instance(release, Release, "release", EstimationError)
    chosen: Any = arguments.choice(missing, "missing", ("error", "drop"), EstimationError)
    sides = Specification(formula, release).sides
    naive = arguments.flag(naive, "naive", EstimationError)
    fit = _Work(release, sides, chosen, family, link, tau, threshold, naive).fit()
    return replace(fit, formula=formula.strip())


@dataclass
class _Work:
    """One fit: which columns are read, and how rows become a corrected loss."""

    release: Release
    sides: Sides
    missing: Literal["error", "drop"]
    family: str
    link: str
    tau: float | None = None
    threshold: float | None = None
    naive: bool = False

    def __post_init__(self) -> None:
        self.columns = FormulaColumns(self.release, self.sides, naive=self.naive)
        refuse_never_together(self.release, (*self.sides.variables, self.sides.outcome))
        if not self.columns.blocks:
            raise EstimationError("no column of the formula was randomised: an ordinary regression needs no correction")
        self._refuse_transforms()
        self.numeric: NumericColumns | None = None
        if any(isinstance(block, NumericBlock) for block in self.columns.blocks.values()):
            records = whole_table(self.columns.tables(self.missing))
            self.numeric = NumericColumns.of(self.columns.blocks, records)
            # Numbers of copies are known.
            self.columns = replace(self.columns, known=self.numeric.names)
            self.rows: Source = self._copies(self.numeric.taken_literally() if self.naive else self.numeric.inside())
        else:
            self.rows = remembered(rows_of(self.release, ReadRows(self.sides, self.missing, self.naive)))
        self.look = self._looked(self.rows)
        if not self.look.n:
            raise EstimationError("there are no complete rows, and nothing to fit")

    def _looked(self, rows: Source) -> Look:
        return summed(rows, Looking(tuple(column.codes for column in self.columns.randomised)))

    def _copies(self, rows: WrittenOut) -> Held:
        """Copies of records, or records as they were reported, in one piece."""
        assert self.numeric is not None
        copies = None if rows.weight is None else (rows.record, rows.weight)
        return Held((self.columns.encoded(rows.table, self.numeric.table, copies),))

    def _refuse_transforms(self) -> None:
        for factor in read_terms(self.sides.predictors).factors:
            for call in calls_of(factor):
                hidden = sorted(set(columns_of(call)) & set(self.columns.private))
                if call.function in STATEFUL and hidden:
                    raise EstimationError(
                        f'{call.text} depends on the distribution of "{hidden[0]}", which was randomised; write the '
                        f"numbers into the formula, as in I(({hidden[0]} - 40) / 10) or I({hidden[0]} ** 2)"
                    )

    @cached_property
    def matrices(self) -> Matrices:
        """The model's columns; the values of randomised columns are those that were declared."""
        private = set(self.columns.private)
        declared = {column.name: column.values for column in self.columns.randomised if column.name in private}
        rows: Any = changed(self.rows, public_rows)
        if self.numeric is not None:
            records = self.numeric.table.select(self.columns.public or [self.sides.outcome])
            rows = records.to_batches
        return Matrices(self.sides.predictors, self.sides.variables, rows, declared)

    def outcome(self, look: Look) -> Outcome:
        """The outcome, and its family."""
        randomised = self.columns.randomised_outcome
        values = self.columns.randomised[-1].values if randomised else look.values
        return outcome_of(
            self.sides.outcome,
            values,
            randomised=randomised,
            family=self.family,
            link=self.link,
            tau=self.tau,
            threshold=self.threshold,
        )

    def fit(self) -> CorrectedRegression:
        """Everything put together."""
        columns = self.columns.randomised
        dropped = self.release.rows - self.look.n if self.missing == "drop" else 0
        notes = [*dropped_note(dropped)]
        blanks = [column.name for column in columns if column.blank]
        if blanks:
            notes.append(
                f"a missing value was one of the values of {', '.join(blanks)}: the model is about "
                "people whose true answer was not missing"
            )
        if self.naive:
            notes.append("naive: the reports were taken for the truth, and nothing was corrected")
        notes += [column.merged for column in columns if column.merged]
        fit = self._fit(self._risk(self.rows, self.look), notes)
        if self.numeric is not None and not self.naive:
            fit = self._controlled(fit, notes)
        if isinstance(fit.family, Poisson) and fit.family.alpha:
            fit = replace(fit, notes=(*fit.notes, fit.family.note))
        outcome = self.outcome(self.look)
        return replace(fit, modelled=outcome.modelled, reporting=self._reporting(outcome))

    def _reporting(self, outcome: Outcome) -> Reporting | None:
        """How classes of a randomised outcome were reported."""
        name, columns = self.sides.outcome, self.columns
        told = outcome.family.scale == "probability" and columns.randomised_outcome and not columns.randomised[-1].blank
        return Reporting.of(name, columns.blocks[name], ReleaseColumn(self.release, name).channels) if told else None

    def _risk(self, rows: Source, look: Look) -> CorrectedLoss | LinearMoments:
        """The corrected loss of these rows."""
        randomisation = Randomisation(self.columns.randomised, self.columns.randomised_outcome, look.counts)
        model, few = model_of(randomisation, self.matrices, self.outcome(look)), look.few
        made = changed(rows, model.rows)
        if few is None:
            return model.risk(remembered(made), None, Counted(look.n, look.n, look.total))
        survey = self.release.survey
        by_unit = survey.cluster is not None or survey.strata is not None
        source = Held(tuple(model.rows(few)))
        return model.risk(source, made if by_unit else None, Counted(look.n, few.rows, look.total))

    def _fit(self, risk: CorrectedLoss | LinearMoments, notes: Sequence[str]) -> CorrectedRegression:
        numeric = () if self.numeric is None else self.numeric.names
        return fit_corrected(
            risk,
            self.matrices.names,
            [*numeric, *(column.name for column in self.columns.randomised)],
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
            fit = self._fit(self._of_copies(numeric.inside()), notes)
            share = self._share(fit)
        notes = [*notes, numeric.described, numeric.copies.note(share)]
        if not fit.converged:
            return replace(fit, notes=tuple(notes))
        inner, theta = self._of_copies(numeric.inside()), fit.coefficients
        scores = self._by_record(inner, theta)
        controls = np.zeros_like(scores)
        for part in numeric.outside():
            controls += self._by_record(self._of_copies(part), theta)
        gamma = multiples(scores, controls)
        found = self._fit(inner.with_controls(controls @ gamma), notes)
        return replace(found, covariance=found.covariance * degrees(inner.n, int(gamma.any()) * len(gamma)))

    def _of_copies(self, rows: WrittenOut) -> CorrectedLoss | LinearMoments:
        """The corrected loss of copies."""
        held = self._copies(rows)
        return self._risk(held, self._looked(held))

    @staticmethod
    def _by_record(risk: CorrectedLoss | LinearMoments, theta: Floats) -> Floats:
        return risk.only.sample.by_record(risk.row_scores(theta))

    def _share(self, fit: CorrectedRegression) -> float:
        """What the copies add to the variance of the scores."""
        assert self.numeric is not None
        risk = fit.risk
        assert isinstance(risk, (CorrectedLoss, LinearMoments))
        scores, sample = risk.row_scores(np.array(fit.coefficients)), risk.only.sample
        return self.numeric.copies.share(sample.by_row(scores), sample.by_record(scores))


def public_rows(rows: EncodedRows) -> Iterator[CountedRows]:
    """The public columns of rows, each as often as it occurs."""
    yield CountedRows(rows.public, rows.sample.counted(rows.rows))


def whole_table(parts: Iterable[pa.Table]) -> pa.Table:
    """All rows as one table."""
    held = list(parts)
    if not held:
        raise EstimationError("there are no complete rows, and nothing to fit")
    return pa.concat_tables(held, promote_options="permissive").combine_chunks()
