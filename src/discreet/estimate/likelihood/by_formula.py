"""A regression by formula on a release: the mechanism is read from the manifest, row by row where it says so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from discreet import arguments
from discreet.errors import DomainError, EstimationError
from discreet.estimate.formulas import Matrices, Sides, read_formula
from discreet.estimate.likelihood.comparison import compare as side_by_side
from discreet.estimate.likelihood.firth import checked_penalty
from discreet.estimate.likelihood.fit import fit_binary
from discreet.estimate.likelihood.links import link_named
from discreet.estimate.likelihood.multinomial import multinomial_regression
from discreet.estimate.likelihood.predictor import predictor_regression
from discreet.estimate.likelihood.rows import ArrayRows
from discreet.estimate.likelihood.streaming import Batch, binary_regression_batches
from discreet.manifest.block import design_name
from discreet.mechanisms import FiniteMechanism, ZeroInflatedLaplace

if TYPE_CHECKING:
    from discreet.manifest import Block, Release

Floats = NDArray[np.float64]

#: Above this many rows a yes/no label is fitted batch by batch instead of in memory.
IN_MEMORY_ROWS = 2_000_000


def glm(
    formula: str,
    release: Release,
    missing: str = "error",
    *,
    link: str = "logit",
    compare: bool = False,
    penalty: str | None = None,
    level: float = 0.95,
) -> Any:
    """Fit a regression on a release, correcting for the randomisation of the column that was randomised.

    Parameters
    ----------
    formula : str
        ``"cheated ~ age + C(sex)"``. The outcome is randomised and the predictors are public; or the outcome is
        public and one predictor is randomised (the likelihood then mixes over its unknown truth).
    release : Release
        Opened with `Release.open` or made by `release` or `Release.from_reports`.
    missing : {"error", "drop"}
        What to do with rows in which a needed value is missing. Dropped rows are counted and reported.
    link : {"logit", "probit", "cauchit", "cloglog"}
        For a yes/no outcome. A public outcome that is not yes/no is fitted by a linear model.
    compare : bool
        Return a `Comparison` of the corrected and the naive fit instead.
    penalty : {None, "firth"}
        For a yes/no outcome: Firth's penalised likelihood, see `binary_regression`.
    level : float
        Confidence level of a comparison.

    Returns
    -------
    BinaryRegression, MultinomialRegression, PredictorRegression or Comparison
        All with `.summary()`, `.coefficients`, `.std_error`, `.interval()`, `.to_dict()`.
    """
    from discreet.manifest import Release

    release = arguments.instance(release, Release, "release", EstimationError)
    compare = arguments.flag(compare, "compare", EstimationError)
    missing = arguments.choice(missing, "missing", ("error", "drop"), EstimationError)
    sides = read_formula(formula)
    private = {column for block in release.manifest.blocks for column in block.columns}
    _check_columns(sides, release)
    randomised = [name for name in (sides.outcome, *sides.variables) if name in private]
    if not randomised:
        raise EstimationError("no column of the formula was randomised: an ordinary regression needs no correction")
    if len(set(randomised)) > 1:
        raise EstimationError(
            "the formula names more than one randomised column "
            f"({', '.join(sorted(set(randomised)))}); one can be corrected for at a time"
        )
    work = _Work(release, sides, randomised[0], missing, link, checked_penalty(penalty), formula.strip())
    if sides.outcome in sides.variables:
        raise EstimationError(f'"{sides.outcome}" stands on both sides of the formula')
    fit = work.label() if randomised[0] == sides.outcome else work.predictor()
    if compare:
        return side_by_side({"corrected": fit, "naive": work.naive(fit)}, level)
    return fit


def _check_columns(sides: Sides, release: Release) -> None:
    for name in (sides.outcome, *sides.variables):
        if name not in release.columns:
            raise EstimationError(
                f'the formula names "{name}", which the release does not have; '
                f"it has {', '.join(release.columns)} (a column that a plan does not list is dropped)"
            )


@dataclass
class _Work:
    """One fit: which columns are read, and how rows become arguments of a regression."""

    release: Release
    sides: Sides
    column: str
    missing: str
    link: str
    penalty: str | None = None
    formula: str = ""

    def __post_init__(self) -> None:
        self.block: Block = self.release.block(self.column)
        if isinstance(self.block.mechanism, ZeroInflatedLaplace):
            raise EstimationError(f'column "{self.column}" holds numbers with noise; fit it with estimate.regression')
        self.dropped = 0
        self.modelled = ""
        survey = self.release.survey
        self.weight, self.cluster, self.strata = survey.weight, survey.cluster, survey.strata

    @property
    def is_label(self) -> bool:
        return self.column == self.sides.outcome

    @property
    def _predictors(self) -> tuple[str, tuple[str, ...]]:
        """The formula of the public predictors, and their columns."""
        if self.is_label:
            return self.sides.predictors, self.sides.variables
        return self.sides.without(self.column), tuple(v for v in self.sides.variables if v != self.column)

    def matrices(self) -> Matrices:
        formula, variables = self._predictors
        return Matrices(formula, variables, lambda: self.release.batches(list(variables) or [self.column]))

    def rows(self) -> Iterator[pa.Table]:
        """Batches with the needed columns; rows with a missing value are refused, or dropped and counted."""
        names = dict.fromkeys(
            [
                *self._predictors[1],
                self.column,
                self.sides.outcome,
                self.block.by,
                self.weight,
                self.cluster,
                self.strata,
            ]
        )
        needed = [name for name in names if name is not None]
        checked = [name for name in needed if name != self.column or self.block.missing == "public"]
        self.dropped = 0
        first_row = 0
        for batch in self.release.batches(needed):
            table = pa.Table.from_batches([batch])
            blank = np.zeros(table.num_rows, bool)
            for name in checked:
                lacking = pc.is_null(table[name], nan_is_null=True).to_numpy()
                if self.missing == "error" and lacking.any():
                    row = first_row + int(np.flatnonzero(lacking)[0])
                    raise EstimationError(
                        f'column "{name}", row {row} (counted from 0): the value is missing; '
                        'missing="drop" leaves such rows out and counts them'
                    )
                blank |= lacking
            first_row += table.num_rows
            if blank.any():
                self.dropped += int(blank.sum())
                table = table.filter(pa.array(~blank))
            if table.num_rows:
                yield table

    def _codes(self, table: pa.Table) -> NDArray[Any]:
        try:
            return self.block.reports.encode(table[self.column], column=self.column)
        except DomainError as error:
            raise EstimationError(str(error)) from None

    def _design_names(self, table: pa.Table) -> NDArray[Any] | None:
        if self.block.by is None:
            return None
        column = table[self.block.by].combine_chunks()
        names = np.array([design_name(v) for v in column.to_pylist()], dtype=object)
        if not set(names) <= set(self.block.designs):
            raise EstimationError(f'column "{self.block.by}" names a design that the manifest does not have')
        return names

    def _designs(self) -> dict[str, FiniteMechanism] | FiniteMechanism:
        found = dict(self.block.designs) if self.block.by else self.block.mechanism
        return cast("dict[str, FiniteMechanism] | FiniteMechanism", found)

    def _optional(self, table: pa.Table, name: str | None) -> Any:
        return None if name is None else table[name].combine_chunks().to_numpy(zero_copy_only=False)

    def _about_rows(self, table: pa.Table, matrices: Matrices) -> dict[str, Any]:
        """What a regression on one-of-k answers is told beside covariates and reports."""
        return {
            "designs": self._design_names(table),
            "weights": self._optional(table, self.weight),
            "clusters": self._optional(table, self.cluster),
            "strata": self._optional(table, self.strata),
            "names": matrices.names,
            "classes": ["(blank)" if label is None else str(label) for label in self.block.domain.labels],
        }

    @property
    def _is_binary(self) -> bool:
        return self.block.domain.size == 2

    def label(self) -> Any:
        """The randomised column is the outcome."""
        matrices = self.matrices()
        labels = self.block.domain.labels
        if self._is_binary:
            self.modelled = _chance(self.sides.outcome, labels[1])
            if self.release.rows > IN_MEMORY_ROWS:
                fit: Any = binary_regression_batches(
                    lambda: (self._batch(table, matrices) for table in self.rows()),
                    link=self.link,
                    names=matrices.names,
                    penalty=self.penalty,
                )
            else:
                rows = ArrayRows(self._batch(self._all(), matrices).checked())
                fit = fit_binary(rows, link_named(self.link), matrices.names, self.penalty)
            return self._noted(fit)
        self._refuse_penalty()
        if self.link != "logit":
            raise EstimationError(f"an outcome with {self.block.domain.size} values is fitted with link logit only")
        self.modelled = f"P({self.sides.outcome} = each value), reference {_quoted(labels[0])}"
        table = self._all()
        fit = multinomial_regression(
            matrices.matrix(table), self._codes(table), self._designs(), **self._about_rows(table, matrices)
        )
        return self._noted(fit)

    def _refuse_penalty(self) -> None:
        if self.penalty is not None:
            raise EstimationError("a penalty is there for a randomised yes/no outcome only; leave it out")

    def _all(self) -> pa.Table:
        tables = list(self.rows())
        if not tables:
            raise EstimationError("there are no complete rows, and nothing to fit")
        return pa.concat_tables(tables, promote_options="permissive").combine_chunks()

    def _batch(self, table: pa.Table, matrices: Matrices) -> Batch:
        return Batch(
            matrices.matrix(table),
            self._codes(table),
            weights=self._optional(table, self.weight),
            clusters=self._optional(table, self.cluster),
            strata=self._optional(table, self.strata),
            mechanism=self._designs(),
            designs=self._design_names(table),
        )

    def predictor(self) -> Any:
        """The randomised column is a predictor of a public outcome."""
        self._refuse_penalty()
        matrices, table = self.matrices(), self._all()
        outcome, family = self._outcome(table)
        fit = predictor_regression(
            outcome,
            matrices.matrix(table),
            self._codes(table),
            self._designs(),
            family=family,
            **self._about_rows(table, matrices),
        )
        return self._noted(fit)

    def _outcome(self, table: pa.Table) -> tuple[Floats, str]:
        """The public outcome as numbers, and the model for it."""
        column = table[self.sides.outcome].combine_chunks()
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        levels = sorted(pc.unique(column).to_pylist())
        if len(levels) == 2:
            if self.link not in ("logit", "probit"):
                raise EstimationError(
                    "a public yes/no outcome with a randomised predictor is fitted with link logit or probit, "
                    f'not "{self.link}"'
                )
            self.modelled = _chance(self.sides.outcome, levels[1])
            yes = pc.equal(column, pa.scalar(levels[1], column.type)).to_numpy(zero_copy_only=False)
            return yes.astype(float), self.link
        if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
            raise EstimationError(
                f'the outcome "{self.sides.outcome}" must be a number or have two values, not {len(levels)} of them'
            )
        self.modelled = f"E({self.sides.outcome})"
        return column.to_numpy(zero_copy_only=False).astype(float), "gaussian"

    def naive(self, fit: Any) -> Any:
        """The same fit with the reports taken for the truth."""
        if not hasattr(fit, "naive"):
            raise EstimationError("a comparison with the naive fit is made when the randomised column is the outcome")
        return fit.naive()

    def _noted(self, fit: Any) -> Any:
        dropped = (f"{self.dropped:,} rows with a missing value were dropped",) if self.dropped else ()
        return replace(fit, notes=(*fit.notes, *dropped), formula=self.formula, modelled=self.modelled)


def _chance(outcome: str, level: Any) -> str:
    """What a regression of categories models: ``P(cheated = "yes")``."""
    return f"P({outcome} = {_quoted(level)})"


def _quoted(level: Any) -> str:
    return "(blank)" if level is None else f'"{level}"' if isinstance(level, str) else str(level)
