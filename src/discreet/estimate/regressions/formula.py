"""A regression by formula on a release with any number of randomised columns on either side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Literal

import pyarrow as pa

from discreet import arguments
from discreet.arguments import Floats
from discreet.blocks import NumericBlock
from discreet.errors import EstimationError
from discreet.estimate.data.columns import ReleaseColumn
from discreet.estimate.data.map_reduce import Held, Source, changed, remembered, rows_of, summed
from discreet.estimate.data.rows import refuse_never_together
from discreet.estimate.data.survey_design import dropped_note
from discreet.estimate.formulas import Matrices, Sides, read_terms
from discreet.estimate.formulas.column_values import CountedRows
from discreet.estimate.formulas.expression import STATEFUL, calls_of, columns_of
from discreet.estimate.regressions.exact_formula import ExactFormula
from discreet.estimate.regressions.families import Poisson
from discreet.estimate.regressions.first_look import Look, Looking
from discreet.estimate.regressions.fit import fit_corrected
from discreet.estimate.regressions.likelihood.truth_given_report import Reporting
from discreet.estimate.regressions.linear_moments import LinearMoments
from discreet.estimate.regressions.model import Counted, Model, model_of
from discreet.estimate.regressions.numeric import NumericColumns, with_numbers
from discreet.estimate.regressions.objective import CorrectedLoss
from discreet.estimate.regressions.outcome import Outcome, outcome_of
from discreet.estimate.regressions.over_copies import CopiedRows, fit_over_copies
from discreet.estimate.regressions.randomised import Randomisation
from discreet.estimate.regressions.reading import EncodedRows, FormulaColumns, Indices, ReadRows
from discreet.estimate.regressions.request import Specification
from discreet.estimate.regressions.result import CorrectedRegression
from discreet.reading import Release

#: The methods for numbers with noise; other columns have the first two and "naive".
METHODS = ("auto", "corrected", "box", "exact", "likelihood", "drcl", "sdrcl", "sl", "naive")


def corrected_regression(
    formula: str,
    release: Release,
    *,
    family: str = "auto",
    link: str = "logit",
    missing: str = "error",
    tau: float | None = None,
    threshold: float | None = None,
    method: str = "auto",
) -> CorrectedRegression:
    """Fit a regression on a release, corrected for the randomisation of every column in it.

    The loss of a row is replaced by ``Σ_t w(t) ℓ(θ; t)`` over every combination t of true values that its randomised
    columns can have, with weights that undo the randomisation on average: nothing is assumed about the law of the
    predictors. The noise of numbers is undone inside their box, or by the exact correction.

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
    method : str
        One of ``METHODS``. "auto" and "corrected" are the default correction of each kind of column; for numbers with
        noise that is "box" or "exact", chosen by the design alone. "naive" takes the reports for the truth.

    Returns
    -------
    CorrectedRegression
    """
    release = arguments.instance(release, Release, "release", EstimationError)
    chosen: Any = arguments.choice(missing, "missing", ("error", "drop"), EstimationError)
    method = arguments.choice(method, "method", METHODS, EstimationError)
    sides = Specification(formula, release).sides
    fit = FormulaFit(release, sides, chosen, family, link, tau, threshold, method).fit()
    return replace(fit, formula=formula.strip())


@dataclass(eq=False)
class FormulaFit(CopiedRows):
    """One fit: which columns are read, and how rows become a corrected loss."""

    release: Release
    sides: Sides
    missing: Literal["error", "drop"]
    family: str
    link: str
    tau: float | None = None
    threshold: float | None = None
    method: str = "auto"

    def __post_init__(self) -> None:
        self.columns = FormulaColumns(self.release, self.sides, naive=self.naive)
        refuse_never_together(self.release, (*self.sides.variables, self.sides.outcome))
        if not self.columns.blocks:
            raise EstimationError("no column of the formula was randomised: an ordinary regression needs no correction")
        self._refuse_transforms()
        self.numeric: NumericColumns | None = None
        if any(isinstance(block, NumericBlock) for block in self.columns.blocks.values()):
            self.numeric = NumericColumns.of(self.columns.blocks, whole_table(self.columns.tables(self.missing)))
            # Numbers of copies are known, and those of records as they were reported.
            self.columns = replace(self.columns, known=self.numeric.names)
            self.source: Source = Held((self.columns.encoded(self.numeric.table),))
        else:
            if self.method not in ("auto", "corrected", "naive"):
                raise EstimationError(f'the method "{self.method}" is there for numbers with noise only')
            self.source = remembered(rows_of(self.release, ReadRows(self.sides, self.missing, self.naive)))
        self.look: Look = summed(self.source, Looking(tuple(column.codes for column in self.columns.randomised)))
        if not self.look.n:
            raise EstimationError("there are no complete rows, and nothing to fit")

    @property
    def naive(self) -> bool:
        """Whether the reports are taken for the truth."""
        return self.method == "naive"

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
        rows: Any = changed(self.source, public_rows)
        if self.numeric is not None:
            records = self.numeric.table.select(self.columns.public or [self.sides.outcome])
            rows = records.to_batches
        return Matrices(self.sides.predictors, self.sides.variables, rows, declared)

    @cached_property
    def outcome(self) -> Outcome:
        """The outcome, and its family, from the records: copies of them decide nothing."""
        randomised = self.columns.randomised_outcome
        return outcome_of(
            self.sides.outcome,
            self.columns.randomised[-1].values if randomised else self.look.values,
            randomised=randomised,
            family=self.family,
            link=self.link,
            tau=self.tau,
            threshold=self.threshold,
        )

    @cached_property
    def model(self) -> Model:
        """The formula with what the records say about its columns."""
        counted = Randomisation(self.columns.randomised, self.columns.randomised_outcome, self.look.counts)
        return model_of(counted, self.matrices, self.outcome)

    def fit(self) -> CorrectedRegression:
        """Everything put together."""
        notes = self._notes()
        if self.numeric is None or self.naive:
            fit = self._fit(self._risk(), notes=notes)
        else:
            fit = self._of_numbers(self.numeric, notes)
        if isinstance(fit.family, Poisson) and fit.family.alpha:
            fit = replace(fit, notes=(*fit.notes, fit.family.note))
        return replace(fit, modelled=self.outcome.modelled, reporting=self._reporting(), matrices=self.matrices)

    def _notes(self) -> list[str]:
        columns = self.columns.randomised
        notes = [*dropped_note(self.release.rows - self.look.n if self.missing == "drop" else 0)]
        blanks = [column.name for column in columns if column.blank]
        if blanks:
            notes.append(
                f"a missing value was one of the values of {', '.join(blanks)}: the model is about "
                "people whose true answer was not missing"
            )
        if self.naive:
            notes.append("naive: the reports were taken for the truth, and nothing was corrected")
        return notes + [column.merged for column in columns if column.merged]

    def _reporting(self) -> Reporting | None:
        """How classes of a randomised outcome were reported."""
        name, columns, outcome = self.sides.outcome, self.columns, self.outcome
        told = outcome.family.scale == "probability" and columns.randomised_outcome and not columns.randomised[-1].blank
        return Reporting.of(name, columns.blocks[name], ReleaseColumn(self.release, name).channels) if told else None

    def _risk(self) -> CorrectedLoss | LinearMoments:
        """The corrected loss of rows whose numbers are known."""
        look, model, few = self.look, self.model, self.look.few
        made = changed(self.source, model.rows)
        if few is None:
            return model.risk(remembered(made), None, Counted(look.n, look.n, look.total))
        survey = self.release.survey
        by_unit = survey.cluster is not None or survey.strata is not None
        source = Held(tuple(model.rows(few)))
        return model.risk(source, made if by_unit else None, Counted(look.n, few.rows, look.total))

    def _fit(self, risk: Any, **options: Any) -> CorrectedRegression:
        numeric = () if self.numeric is None else self.numeric.names
        return fit_corrected(
            risk,
            self.matrices.names,
            [*numeric, *(column.name for column in self.columns.randomised)],
            matrices=self.matrices,
            weighted=self.release.survey.weight is not None,
            **options,
        )

    def _of_numbers(self, numeric: NumericColumns, notes: Sequence[str]) -> CorrectedRegression:
        """By the exact correction, by a likelihood, or over copies inside the box."""
        exact = ExactFormula(self, numeric)
        method, why = exact.chosen(self.method)
        if method != "box":
            return exact.fit(method, partial(self._fit, method=method), [*notes, *why])
        fit = partial(self._fit, method="box", notes=[*notes, numeric.described, *why])
        return fit_over_copies(self, numeric.copies(), fit)

    def rows(self, record: Indices, weight: Floats, values: Floats) -> Any:
        """Copies of these records with these numbers, in one piece."""
        assert self.numeric is not None
        table = with_numbers(self.numeric.table.take(pa.array(record)), self.numeric.names, values)
        (rows,) = self.model.rows(self.columns.encoded(table, self.numeric.table, (record, weight)))
        return rows

    def risk(self, rows: Any) -> CorrectedLoss | LinearMoments:
        """The corrected loss of copies."""
        return self.model.risk(Held((rows,)), None, Counted(self.look.n, rows.rows, self.look.total))


def public_rows(rows: EncodedRows) -> Iterator[CountedRows]:
    """The public columns of rows, each as often as it occurs."""
    yield CountedRows(rows.public, rows.sample.counted(rows.rows))


def whole_table(parts: Iterable[pa.Table]) -> pa.Table:
    """All rows as one table."""
    held = list(parts)
    if not held:
        raise EstimationError("there are no complete rows, and nothing to fit")
    return pa.concat_tables(held, promote_options="permissive").combine_chunks()
