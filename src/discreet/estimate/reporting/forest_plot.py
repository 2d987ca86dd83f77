"""The picture of a result: its rows as a forest of intervals, drawn from the same description as its table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import EstimationError
from discreet.estimate.reporting.table import Axis, Column, Ends, ResultTable
from discreet.plots import Series, plot_forest
from discreet.plots.forest import MAX_SHOWN

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def forest_of(
    table: ResultTable, axis: Axis, *, ax: Axes | None, title: str | None, labels: Sequence[str] | None = None
) -> Axes:
    """Draw the rows of a table: estimates with their intervals, or ranges, of which there may be two."""
    if table.more:
        raise EstimationError(
            f"a picture shows at most {MAX_SHOWN} quantities, and there are {' and '.join(table.more)}; "
            "draw the most frequent values, result.top(20).plot(), or one group"
        )
    words = [column for column in table.columns if column.text]
    rows = range(table.rows)
    if labels is None:
        labels = [" · ".join(column.cell(row) for column in words) for row in rows]
    ends = [column for column in table.columns if isinstance(column, Ends)]
    if len(ends) == 1:
        found = [column for column in table.columns if isinstance(column, Column) and column.name == "estimate"]
        series = [Series(ends[0].title, np.asarray(found[0].values, float), np.asarray(ends[0].bounds, float))]
    else:  # no point of a range is better than another
        nowhere = np.full(table.rows, np.nan)
        series = [Series(one.title, nowhere, np.asarray(one.bounds, float), "") for one in ends]
    title = table.title if title is None else title
    return plot_forest(labels, series, ax=ax, title=title, **axis._asdict())
