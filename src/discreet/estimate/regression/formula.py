"""A formula and the columns of a release become model matrices, batch by batch.

Formulas are read by formulaic. Levels of categories are collected in a first pass over the public columns, so that
every batch is coded alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.errors import EstimationError

Floats = NDArray[np.float64]

#: A column with more different values than this is taken to be a number, and its levels are not collected.
_MAX_LEVELS = 1000


@dataclass(frozen=True)
class Sides:
    """The two sides of a formula: the outcome's column, and the terms of the predictors."""

    outcome: str
    predictors: str
    variables: tuple[str, ...]

    def without(self, column: str) -> str:
        """The predictors without one column, which must be a term of its own."""
        from formulaic import Formula

        terms = [str(term) for term in Formula(self.predictors)]
        if column not in terms:
            raise EstimationError(
                f'the randomised column "{column}" must be a term of its own in the formula; inside a function or an '
                "interaction its correction is not known"
            )
        kept = [term for term in terms if term != column]
        if any(column in Formula(term).required_variables for term in kept):
            raise EstimationError(f'the randomised column "{column}" may stand in one term of the formula only')
        return " + ".join(["0", *kept] if "1" not in terms else kept or ["1"])


def read_formula(formula: str) -> Sides:
    """Split "outcome ~ predictors" and name every column that it uses."""
    from formulaic import Formula

    if not isinstance(formula, str) or formula.count("~") != 1:
        raise EstimationError('a formula has the form "outcome ~ predictor + predictor"')
    left, right = (side.strip() for side in formula.split("~"))
    try:
        parsed = Formula(right)
        outcome = list(Formula(f"{left} - 1").required_variables)
        variables = tuple(sorted(str(v) for v in parsed.required_variables))
    except Exception as error:
        raise EstimationError(f"the formula cannot be read: {str(error).splitlines()[0]}") from None
    plain = left.strip("`")
    if len(outcome) != 1 or str(outcome[0]) != plain:
        raise EstimationError(f'the left side of a formula is the name of one column, not "{left}"')
    return Sides(plain, right, variables)


class Matrices:
    """Model matrices of the right side of a formula, the same columns for every batch."""

    def __init__(self, predictors: str, variables: Sequence[str], batches: Iterable[pa.RecordBatch]) -> None:
        from formulaic import Formula

        self.variables = tuple(variables)
        frame = _scaffold(self.variables, batches)
        try:
            self._spec = Formula(predictors).get_model_matrix(frame, na_action="ignore").model_spec
        except Exception as error:
            raise EstimationError(f"the formula cannot be applied: {str(error).splitlines()[0]}") from None
        self.stateful = bool(self._spec.transform_state)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the model's columns."""
        return tuple(str(name) for name in self._spec.column_names)

    def matrix(self, batch: pa.RecordBatch | pa.Table) -> Floats:
        """The model matrix of some rows; missing values become nan."""
        frame = _frame(batch.select(list(self.variables))) if self.variables else _empty(batch.num_rows)
        try:
            made = self._spec.get_model_matrix(frame, na_action="ignore")
        except Exception as error:
            raise EstimationError(f"the formula cannot be applied: {str(error).splitlines()[0]}") from None
        return np.asarray(made, dtype=float)


def _frame(batch: pa.RecordBatch | pa.Table) -> Any:
    """A pandas frame; dictionaries become plain values, so that their order does not choose the reference level."""
    columns = {
        name: column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
    }
    return pa.table(columns).to_pandas()


def _empty(rows: int) -> Any:
    import pandas as pd

    return pd.DataFrame(index=range(rows))


def _scaffold(variables: Sequence[str], batches: Iterable[pa.RecordBatch]) -> Any:
    """A small frame with every level of every column that has few, and some numbers of those that have many."""
    import pandas as pd

    levels: dict[str, Any] = dict.fromkeys(variables)
    rows = 0
    for batch in batches:
        rows += batch.num_rows
        for name in variables:
            column = batch.column(name)
            if pa.types.is_dictionary(column.type):
                column = column.dictionary_decode()
            known = levels[name]
            if known is not None and len(known) > _MAX_LEVELS:
                continue
            seen = column.drop_null().unique()
            levels[name] = seen if known is None else pa.concat_arrays([known, seen]).unique()
    if rows == 0:
        raise EstimationError("there are no rows, and nothing to fit")
    if not variables:
        return _empty(2)
    size = max(2, *(0 if values is None else len(values) for values in levels.values()))
    frame = {}
    for name, values in levels.items():
        if values is None or not len(values):
            raise EstimationError(f'column "{name}" has no values')
        listed = values.to_pandas().sort_values(ignore_index=True)
        frame[name] = pd.concat([listed] * -(-size // len(listed)), ignore_index=True)[:size]
    return pd.DataFrame(frame)
