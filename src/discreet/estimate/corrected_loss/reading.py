"""Rows of a release for a formula: complete ones, with equal rows found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from discreet.errors import EstimationError
from discreet.estimate.checks import checked_weights
from discreet.estimate.corrected_loss.objective import Sample

if TYPE_CHECKING:
    from discreet.manifest import Release

Indices = NDArray[np.intp]


def complete_rows(release: Release, names: Sequence[str], checked: Sequence[str], missing: str) -> tuple[pa.Table, int]:
    """The rows in these columns without missing values in the ``checked`` ones, and how many were left out."""
    parts, dropped, first_row = [], 0, 0
    for batch in release.batches(list(names)):
        table = pa.Table.from_batches([batch])
        blank = np.zeros(table.num_rows, bool)
        for name in checked:
            lacking = pc.is_null(table[name], nan_is_null=True).to_numpy()
            if missing == "error" and lacking.any():
                row = first_row + int(np.flatnonzero(lacking)[0])
                raise EstimationError(
                    f'column "{name}", row {row} (counted from 0): the value is missing; '
                    'missing="drop" leaves such rows out and counts them'
                )
            blank |= lacking
        first_row += table.num_rows
        if blank.any():
            dropped += int(blank.sum())
            table = table.filter(pa.array(~blank))
        parts.append(table)
    whole = pa.concat_tables(parts, promote_options="permissive").combine_chunks() if parts else None
    if whole is None or whole.num_rows == 0:
        raise EstimationError("there are no complete rows, and nothing to fit")
    return whole, dropped


def plain(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """One array, without a dictionary."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return whole.dictionary_decode() if pa.types.is_dictionary(whole.type) else whole


def distinct_rows(columns: Sequence[pa.Array | NDArray[Any]], rows: int) -> tuple[Indices, Indices]:
    """The first row of each distinct combination, and the combination of each row.

    Where a column alone has more different values than half the rows, looking further is not worth it: every row is its
    own.
    """
    key = np.zeros(rows, np.int64)
    for column in columns:
        encoded = (pa.array(column) if isinstance(column, np.ndarray) else column).dictionary_encode()
        size = max(len(encoded.dictionary), 1)
        if size > rows // 2:
            return np.arange(rows), np.arange(rows)
        if (int(key.max(initial=0)) + 1) * size > 1 << 62:
            key = np.unique(key, return_inverse=True)[1]
        key = key * size + encoded.indices.to_numpy(zero_copy_only=False)
    _, first, back = np.unique(key, return_index=True, return_inverse=True)
    return first, back


def sample_of(release: Release, table: pa.Table, distinct: Indices) -> Sample:
    """Weights, clusters and strata as the manifest names them."""
    survey = release.survey
    weights = np.ones(table.num_rows)
    if survey.weight is not None:
        weights = checked_weights(plain(table[survey.weight]), table.num_rows, name=f'column "{survey.weight}"')

    def labels(name: str | None) -> NDArray[Any] | None:
        return None if name is None else np.asarray(plain(table[name]).to_numpy(zero_copy_only=False))

    return Sample(distinct, weights, labels(survey.cluster), labels(survey.strata))
