"""Rows of a release for a formula: complete ones, with equal rows found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.checks import checked_weights
from discreet.estimate.corrected_loss.objective import Sample
from discreet.estimate.rows import Rows

if TYPE_CHECKING:
    from discreet.manifest import Release

Indices = NDArray[np.intp]


def complete_rows(release: Release, names: Sequence[str], checked: Sequence[str], missing: Any) -> tuple[pa.Table, int]:
    """The rows in these columns without missing values in the ``checked`` ones, and how many were left out."""
    blanks = [name for name in names if name not in checked]
    aside: dict[str, Any] = {"weights": None, "strata": None, "clusters": None}
    rows = Rows(release, release.rows, (), **aside, table=names, missing=missing, blanks=blanks)
    parts = [batch.table for batch in rows.batches() if batch.table is not None]
    if not parts:
        raise EstimationError("there are no complete rows, and nothing to fit")
    return pa.concat_tables(parts, promote_options="permissive").combine_chunks(), rows.left_out


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


def sample_of(
    release: Release, table: pa.Table, distinct: Indices, copies: tuple[Indices, Floats] | None = None
) -> Sample:
    """Weights, clusters and strata as the manifest names them.

    Parameters
    ----------
    table : pyarrow.Table
        The records.
    copies : (record, weight), optional
        Where rows are copies of records: whose they are, and what they weigh.
    """
    survey = release.survey
    weights = np.ones(table.num_rows)
    if survey.weight is not None:
        weights = checked_weights(plain(table[survey.weight]), table.num_rows, name=f'column "{survey.weight}"')

    def labels(name: str | None) -> NDArray[Any] | None:
        return None if name is None else np.asarray(plain(table[name]).to_numpy(zero_copy_only=False))

    cluster, strata = labels(survey.cluster), labels(survey.strata)
    if copies is None:
        return Sample(distinct, weights, cluster, strata)
    record, own = copies
    return Sample(distinct, weights[record] * own, cluster, strata, record, table.num_rows)
