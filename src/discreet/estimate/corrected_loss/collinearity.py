"""Columns of a model that are combinations of others, in every row and for every truth, are refused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from discreet.arguments import Floats
from discreet.estimate.corrected_loss.evaluation import Evaluation
from discreet.estimate.corrected_loss.model_matrix import CellMatrix
from discreet.estimate.likelihood.scan import collinear, dependent_columns

#: Share of a squared column below which it may be a combination of others; then orthogonal factors decide.
_SUSPECT, _COLLINEAR = 1e-9, 1e-10
_ROWS = 1 << 12


def refuse_collinear(matrix: CellMatrix, names: Sequence[str]) -> None:
    """Refuse a model matrix over rows and cells."""
    if not dependent_columns(matrix.gram(), _SUSPECT):
        return
    step = max(_ROWS // matrix.cells, 1)
    parts = (matrix.take(slice(start, start + step)) for start in range(0, matrix.rows, step))
    _refuse((part.written_out().reshape(-1, matrix.columns) for part in parts), names)


def refuse_collinear_units(public: Floats, evaluation: Evaluation, names: Sequence[str]) -> None:
    """The same for a model that is a sum over units, without its cells.

    A sum ``f_0(row) + f_1(t_1) + f_2(t_2) + …`` is zero everywhere exactly when it is zero in every row at the first
    truths, and for every truth of one unit at a time in the first row.
    """
    units = evaluation.unit_matrices
    base = np.zeros(len(names))
    base[evaluation.public_at] = public[0]
    for unit, values in units.items():
        base[evaluation.columns_of(unit)] = values[0]

    def parts() -> Iterator[Floats]:
        for start in range(0, len(public), _ROWS):
            rows = public[start : start + _ROWS]
            made = np.tile(base, (len(rows), 1))
            made[:, evaluation.public_at] = rows
            yield made
        for unit, values in units.items():
            made = np.tile(base, (len(values), 1))
            made[:, evaluation.columns_of(unit)] = values
            yield made

    gram = np.zeros((len(names), len(names)))
    for part in parts():
        gram += part.T @ part
    if dependent_columns(gram, _SUSPECT):
        _refuse(parts(), names)


def _refuse(parts: Iterable[Floats], names: Sequence[str]) -> None:
    """Decide by orthogonal factors, updated part by part."""
    factor = np.zeros((0, len(names)))
    for part in parts:
        factor = np.asarray(np.linalg.qr(np.vstack([factor, part]), mode="r"))
    found = dependent_columns(factor, _COLLINEAR, triangular=True)
    if found:
        raise collinear(names, *found)
