"""The value of an expression in some rows: a walk over its tree with numpy."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.formulas.expression import STATEFUL, Call, Column, Constant, Node, Operation
from discreet.estimate.formulas.transforms import Fixed

_FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "I": lambda x: x,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "exp": np.exp,
    "expm1": np.expm1,
    "sqrt": np.sqrt,
    "abs": np.abs,
}
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
}
_COMPARISON: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def evaluate(node: Node, columns: Mapping[str, Any], transforms: Mapping[str, Fixed]) -> Floats:
    """Numbers, one per row (a column or several for ``poly`` and splines); nan where something is missing.

    Parameters
    ----------
    node : Node
    columns : mapping of str to pandas.Series
        The rows.
    transforms : mapping of str to function
        What depends on all rows, by the text of its call.
    """
    # Logarithms of zero and powers that overflow give inf or nan, which the caller refuses with the name of the term.
    with np.errstate(all="ignore"):
        return np.asarray(_value(node, columns, transforms), float)


def _value(node: Node, columns: Mapping[str, Any], transforms: Mapping[str, Fixed]) -> Any:
    if isinstance(node, Column):
        return _numbers(node.name, columns)
    if isinstance(node, Constant):
        if not isinstance(node.value, (bool, float)):
            raise EstimationError("text in a formula can only be compared with a column")
        return np.float64(node.value)
    if isinstance(node, Call):
        argument = np.asarray(_value(node.argument, columns, transforms), float)
        if node.function in STATEFUL:
            return transforms[node.text](argument)
        return _FUNCTIONS[node.function](argument)
    if node.operator in _COMPARISON:
        return _compared(node, columns, transforms)
    values = [_value(operand, columns, transforms) for operand in node.operands]
    if len(values) == 1:
        return -values[0] if node.operator == "-" else values[0]
    return _ARITHMETIC[node.operator](*values)


def _compared(node: Operation, columns: Mapping[str, Any], transforms: Mapping[str, Fixed]) -> Floats:
    """One where the comparison holds, zero where it does not, nan where a side is missing."""
    first, second = node.operands
    for one, other in ((first, second), (second, first)):
        if isinstance(one, Column) and isinstance(other, Constant) and isinstance(other.value, str):
            if node.operator not in ("==", "!="):
                raise EstimationError("text in a formula is compared by == or !=")
            series = columns[one.name]
            same = (series.astype(object) == other.value).to_numpy(dtype=float)
            return np.where(series.isna().to_numpy(), np.nan, same if node.operator == "==" else 1 - same)
    left, right = (np.asarray(_value(side, columns, transforms), float) for side in (first, second))
    holds = _COMPARISON[node.operator](left, right).astype(float)
    return np.where(np.isnan(left) | np.isnan(right), np.nan, holds)


def _numbers(name: str, columns: Mapping[str, Any]) -> Floats:
    series = columns[name]
    if series.dtype.kind not in "iufb":
        raise EstimationError(f'column "{name}" of the formula does not hold numbers')
    return np.asarray(series.to_numpy(dtype=float, na_value=np.nan))
