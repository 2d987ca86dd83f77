"""How a randomised answer stands in the model of a public outcome: one column per class, or its number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.arguments import Floats
from discreet.estimate.formulas import Matrices
from discreet.estimate.formulas.new_rows import new_rows
from discreet.estimate.formulas.terms import factor_text, read_terms


@dataclass(frozen=True, eq=False)
class AnswerCoding:
    """The columns of the outcome's model that depend on the answer.

    Attributes
    ----------
    names : tuple of str
        Of these columns.
    values : array (classes, columns)
        Their values at every true class: ``η = x'β + values[t] γ``.
    matrices : Matrices or None
        Makes the columns of answers that are given, after a constant; of a fit by formula.
    """

    names: tuple[str, ...]
    values: Floats
    matrices: Matrices | None = None

    @classmethod
    def of_classes(cls, labels: Sequence[str]) -> AnswerCoding:
        """One column for every class after the first."""
        return cls(tuple(f"answer {label}" for label in labels[1:]), np.eye(len(labels))[:, 1:])

    @classmethod
    def of_formula(cls, predictors: str, column: str, values: pa.Array) -> AnswerCoding:
        """As the formula has it: text and ``C(column)`` are categories, numbers are numbers.

        Parameters
        ----------
        predictors : str
            The right side of a formula, in which the column is a term of its own.
        column : str
        values : array
            Its declared values; the first is the reference of a category. A blank, the last one, has a column of its
            own.
        """
        term, known = factor_text(read_terms(predictors).own(column)), values.drop_null()
        rows = pa.table({column: known})
        made = Matrices(f"1 + {term}", [column], rows.to_batches, {column: known})
        names, coded = made.names[1:], made.matrix(rows)[:, 1:]
        if len(known) < len(values):
            names = (*names, f"{term}[T.(blank)]")
            coded = np.pad(coded, ((0, 1), (0, 1)))
            coded[-1, -1] = 1.0
        return cls(names, coded, made)

    @property
    def classes(self) -> bool:
        """Whether each column is one class after the first."""
        return np.array_equal(self.values, np.eye(len(self.values))[:, 1:])

    def at(self, rows: Any) -> Floats:
        """The columns for answers that a user gave, none of them blank."""
        assert self.matrices is not None
        made = self.matrices.matrix(new_rows(self.matrices, rows))[:, 1:]
        return np.pad(made, ((0, 0), (0, len(self.names) - made.shape[1])))
