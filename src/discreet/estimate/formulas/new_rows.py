"""Rows to predict for: a table with every column that a formula uses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from discreet import arrow_functions as pc
from discreet.domains.columns import without_dictionary
from discreet.errors import EstimationError
from discreet.estimate.formulas.matrices import Matrices


def is_table(rows: Any) -> bool:
    """Whether rows are a table with named columns rather than an array of numbers."""
    named = hasattr(rows, "__arrow_c_stream__") or hasattr(rows, "columns")
    return isinstance(rows, (Mapping, pa.Table)) or (named and not isinstance(rows, np.ndarray))


def as_table(rows: Any, needed: tuple[str, ...]) -> pa.Table:
    """The needed columns of rows that a user gave, without dictionaries; nothing in them may be missing."""
    try:
        given = rows if isinstance(rows, pa.Table) else pa.table(rows)
    except (TypeError, ValueError, pa.ArrowException):
        raise EstimationError("rows must be a table: a mapping of lists, an Arrow table or a data frame") from None
    lacking = [name for name in needed if name not in given.column_names]
    if lacking:
        raise EstimationError(f'the rows have no column "{lacking[0]}", which the formula uses')
    if not needed:
        return given
    chosen = pa.table({name: without_dictionary(given[name]) for name in needed})
    for name in chosen.column_names:
        missing = pc.is_null(chosen[name], nan_is_null=True).to_numpy()
        if missing.any():
            row = int(np.flatnonzero(missing)[0])
            raise EstimationError(f'column "{name}", row {row} (counted from 0): the value is missing')
    return chosen


def new_rows(matrices: Matrices, rows: Any) -> pa.Table:
    """The columns of a formula, with categories that the model knows."""
    chosen = as_table(rows, tuple(matrices.variables))
    if matrices.variables and not chosen.num_rows:
        raise EstimationError("there are no rows to predict for")
    if matrices.variables:
        matrices.refuse_unknown(chosen)
    return chosen
