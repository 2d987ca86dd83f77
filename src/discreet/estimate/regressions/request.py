"""What a regression by formula is asked to do: the columns, what is known about each, and how their rows are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeVar, cast

import numpy as np
import pyarrow as pa

from discreet import arguments
from discreet import arrow_functions as pc
from discreet.arguments import Floats
from discreet.blocks import Block
from discreet.domains import FiniteDomain
from discreet.domains.columns import is_number, without_dictionary
from discreet.errors import EstimationError
from discreet.estimate.data.columns import ReleaseColumn
from discreet.estimate.data.map_reduce import rows_of, summed
from discreet.estimate.data.rows import Rows
from discreet.estimate.data.survey_design import dropped_note
from discreet.estimate.formulas import Matrices, Sides, read_formula, read_terms
from discreet.estimate.formulas.column_values import CountedRows, ValuesOf
from discreet.estimate.formulas.expression import calls_of, columns_of, quoted
from discreet.estimate.formulas.group_intercepts import without_group
from discreet.estimate.regressions.likelihood.random_intercept_result import RandomInterceptRegression
from discreet.estimate.regressions.likelihood.result import LikelihoodFit
from discreet.estimate.regressions.likelihood.truth_given_report import Reporting
from discreet.estimate.regressions.result import MEstimate
from discreet.reading import Release

Fit = TypeVar("Fit", bound=LikelihoodFit | MEstimate | RandomInterceptRegression)


@dataclass(frozen=True, eq=False)
class Specification:
    """A formula on a release, and the choices that go with it; nothing has been read yet.

    Attributes
    ----------
    formula, release : str, Release
    family, link, method : str
        As they were asked for; link None stands for the family's own.
    missing : {"error", "drop"}
    penalty : str or None
    tau, threshold : float or None
    """

    formula: str
    release: Release
    family: str = "auto"
    link: str | None = None
    method: str = "auto"
    missing: Literal["error", "drop"] = "error"
    penalty: str | None = None
    tau: float | None = None
    threshold: float | None = None

    @property
    def group(self) -> str | None:
        """The public column whose groups have intercepts of their own: ``(1 | group)``."""
        return without_group(arguments.text(self.formula, "formula", EstimationError))[1]

    @cached_property
    def sides(self) -> Sides:
        """The formula, read; every column that it names is in the release, and stands on one side."""
        fixed, group = without_group(arguments.text(self.formula, "formula", EstimationError))
        sides = read_formula(fixed)
        if group is not None and group in self._blocks:
            raise EstimationError(f'the groups of (1 | {group}) must be known: "{group}" was randomised')
        for name in (sides.outcome, *sides.variables, *([group] if group is not None else [])):
            if name not in self.release.columns:
                raise EstimationError(
                    f'the formula names "{name}", which the release does not have; '
                    f"it has {', '.join(self.release.columns)} (a column that a plan does not list is dropped)"
                )
        if sides.outcome in sides.variables:
            raise EstimationError(f'"{sides.outcome}" stands on both sides of the formula')
        self._refuse_categories_of_numbers(sides)
        return sides

    def _refuse_categories_of_numbers(self, sides: Sides) -> None:
        """``C(x)`` of numbers with noise: there is no list of values that could be categories."""
        calls = [call for factor in read_terms(sides.predictors).factors for call in calls_of(factor)]
        for call in calls:
            noisy = [name for name in columns_of(call) if name in self._blocks and self.holds_numbers(name)]
            if call.function == "C" and noisy:
                raise EstimationError(
                    f'{call.text}: "{noisy[0]}" was released with noise, and numbers with noise have no values to be '
                    f"categories; write {quoted(noisy[0])} for a slope, or release it as a grid or in bands"
                )

    @property
    def outcome(self) -> str:
        """The outcome's column."""
        return self.sides.outcome

    @cached_property
    def _blocks(self) -> dict[str, Block]:
        blocks = self.release.manifest.blocks
        return {column: block.beside_others(column) for block in blocks for column in block.columns}

    def block(self, column: str) -> Block | None:
        """The block of a randomised column; columns of one block have the same."""
        return self._blocks.get(column)

    @cached_property
    def randomised(self) -> tuple[str, ...]:
        """Randomised columns of the formula, the outcome first."""
        return tuple(name for name in (self.outcome, *self.sides.variables) if name in self._blocks)

    @property
    def randomised_predictors(self) -> tuple[str, ...]:
        """Those on the right side."""
        return tuple(name for name in self.randomised if name != self.outcome)

    @property
    def public(self) -> list[str]:
        """Public columns of the right side."""
        return [name for name in self.sides.variables if name not in self._blocks]

    def holds_numbers(self, column: str) -> bool:
        """Whether a randomised column holds numbers with noise; others hold one of finitely many answers."""
        return not isinstance(self._blocks[column].truths_of(column), FiniteDomain)

    def size(self, column: str) -> int:
        """The number of values of a randomised answer."""
        return self._answers(column).size

    def values(self, column: str) -> tuple[Any, ...]:
        """The declared values of a randomised answer, the reference first."""
        return tuple(self._answers(column).labels)

    def _answers(self, column: str) -> FiniteDomain:
        domain = self._blocks[column].truths_of(column)
        assert isinstance(domain, FiniteDomain)  # nobody counts the values of a column that holds numbers
        return domain

    def matrices(self) -> Matrices:
        """Model matrices of the public part of the right side."""
        sides = self.sides
        for name in self.randomised_predictors:
            sides = replace(sides, predictors=sides.without(name))
        read = rows_of(self.release, ReadColumns(self.public or [self.outcome]))
        return Matrices(sides.predictors, self.public, read)

    def rows(self, answers: Sequence[ReleaseColumn], table: Sequence[str] = ()) -> Rows:
        """The rows, with the public columns and some more handed on, and the survey's weights and units."""
        declared = self.release.survey
        return Rows(
            self.release,
            self.release.rows,
            answers,
            weights=declared.weight,
            strata=declared.strata,
            clusters=declared.cluster,
            table=[*self.public, *table],
            missing=self.missing,
        )

    def reporting(self, column: ReleaseColumn) -> Reporting | None:
        """How a column was reported, where all rows share one design."""
        return Reporting.of(column.column, self.block(column.column), column.channels)

    @cached_property
    def outcome_values(self) -> tuple[Any, Any] | None:
        """The two values of a yes/no outcome, the first one being the "no"; None for any other outcome."""
        if self.outcome in self._blocks:
            if self.holds_numbers(self.outcome) or self.size(self.outcome) != 2:
                return None
            no, yes = self.values(self.outcome)
            return no, yes
        source = rows_of(self.release, ReadColumns([self.outcome]))
        levels = summed(source, ValuesOf([self.outcome], frozenset([self.outcome]))).levels.get(self.outcome)
        if levels is None:
            return None
        levels = levels.filter(pc.invert(pc.is_null(levels, nan_is_null=True)))
        return cast("tuple[Any, Any]", tuple(sorted(levels.to_pylist()))) if len(levels) == 2 else None

    def outcome_numbers(self, family: str) -> OutcomeNumbers:
        """What makes numbers of a public outcome."""
        if family not in ("binary", "hinge"):
            return OutcomeNumbers(self.outcome)
        if self.outcome_values is None:
            raise EstimationError(f'family "{family}" needs an outcome with two values, and "{self.outcome}" has not')
        return OutcomeNumbers(self.outcome, self.outcome_values[1])

    def public_outcome(self, table: pa.Table, family: str) -> Floats:
        """A public outcome as numbers: 0 and 1 for a yes/no outcome, otherwise as it stands."""
        return self.outcome_numbers(family)(table)

    def modelled(self, family: str) -> str:
        """What is modelled, such as ``P(cheated = "yes")``."""
        if family == "multinomial":
            return f"P({self.outcome} = each value), reference {_quoted(self.values(self.outcome)[0])}"
        if family in ("binary", "hinge") and self.outcome_values is not None:
            what = f"{self.outcome} = {_quoted(self.outcome_values[1])}"
            return f"P({what})" if family == "binary" else what
        return f"E({self.outcome})" if family in ("linear", "poisson") else self.outcome

    def finished(self, fit: Fit, family: str, *notes: str) -> Fit:
        """The fit with the formula, what it models, and how many rows were left out."""
        left_out = self.release.rows - fit.n if self.missing == "drop" else 0
        told = (*fit.notes, *dropped_note(left_out), *notes)
        return replace(fit, notes=told, formula=self.formula.strip(), modelled=self.modelled(family))


@dataclass(frozen=True)
class OutcomeNumbers:
    """Makes numbers of a public outcome: 1 for the second value of a yes/no outcome, otherwise as it stands."""

    name: str
    yes: Any = None

    def __call__(self, table: pa.Table) -> Floats:
        """Of some rows."""
        column = without_dictionary(table[self.name])
        if self.yes is not None:
            found = pc.equal(column, pa.scalar(self.yes, column.type))
            return np.asarray(found.to_numpy(zero_copy_only=False), float)
        if not is_number(column.type):
            raise EstimationError(f'the outcome "{self.name}" must be a number or have two values')
        return np.asarray(column.to_numpy(zero_copy_only=False), float)


@dataclass(frozen=True)
class ReadColumns:
    """Reads some columns of a release, or of a part of one."""

    columns: Sequence[str]

    def __call__(self, part: Release, _: int) -> Iterator[CountedRows]:
        """Batch by batch."""
        return (CountedRows(batch) for batch in part.batches(self.columns))


def _quoted(level: Any) -> str:
    return "(blank)" if level is None else f'"{level}"' if isinstance(level, str) else str(level)
