"""Cells: every combination of true values that the randomised columns of a model can have, and their weights.

A row whose columns reported r_1 … r_p weighs the cell (t_1, …, t_p) by ``A_1[r_1, t_1] ⋯ A_p[r_p, t_p]``; columns that
were randomised together share one factor. The weights of a row sum to one (less where a missing value is one of the
truths: it weighs nothing), are negative in places, and weigh every function of the truth correctly on average.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.errors import EstimationError

Ints = NDArray[np.int64]

#: Cells, values of a randomised outcome included. Each is evaluated for every distinct row in every step.
MOST_CELLS = 4_096
#: Weights of all distinct reports are kept when there are no more than this many (2^23 floats, 64 MB).
_KEPT = 1 << 23


@dataclass(frozen=True, eq=False)
class Source:
    """Columns that were randomised together, often one.

    Attributes
    ----------
    axes : tuple of int
        Which columns of the model, ascending.
    codes : array
        The combined report of every row.
    table : array (reports, combined truths)
        The weights of a report; the truth of the first column varies slowest.
    """

    axes: tuple[int, ...]
    codes: Ints
    table: Floats


class CellWeights:
    """The weights of every row over the cells.

    Parameters
    ----------
    names : sequence of str
        The randomised columns: those of the predictors, then the outcome if it is randomised.
    sizes : sequence of int
        How many true values each has, missing ones not counted.
    sources : sequence of Source
        Which of them were randomised together.
    randomised_outcome : bool
        Whether the last column is the outcome.
    rows : int
    """

    def __init__(
        self,
        names: Sequence[str],
        sizes: Sequence[int],
        sources: Sequence[Source],
        *,
        randomised_outcome: bool,
        rows: int,
    ) -> None:
        self.names, self.sizes, self.sources = tuple(names), tuple(sizes), tuple(sources)
        self.outcomes = self.sizes[-1] if randomised_outcome else 1
        self.cells = math.prod(self.sizes) // self.outcomes
        self.rows = rows

    @property
    def predictors(self) -> tuple[int, ...]:
        """Sizes of the randomised predictors."""
        return self.sizes[:-1] if self.outcomes > 1 else self.sizes

    def truths(self) -> NDArray[np.intp]:
        """The true value of each randomised predictor in each cell, by position; one row per cell."""
        if not self.predictors:
            return np.zeros((1, 0), np.intp)
        return np.stack(np.unravel_index(np.arange(self.cells), self.predictors), axis=1)

    @cached_property
    def _space(self) -> int:
        """How many combinations of reports there can be."""
        return math.prod(source.table.shape[0] for source in self.sources)

    @cached_property
    def _few(self) -> bool:
        """Whether the weights of all combinations of reports that there can be are kept."""
        return self._space * self.cells * self.outcomes <= _KEPT

    @property
    def inflation(self) -> float:
        """By what the weights inflate variances: the mean of Σ w² over the cells of the predictors, one without noise.

        Every report counts alike. Of a randomised outcome the weights are added up first.
        """
        product = 1.0
        for source in self.sources:
            last = source.axes[-1] == len(self.sizes) - 1 and self.outcomes > 1
            by_truth = source.table.reshape(len(source.table), -1, self.outcomes if last else 1)
            reported = source.table.any(axis=1)  # a report that no truth gives, or that nobody gave, has no weights
            product *= float(np.mean((by_truth[reported].sum(axis=2) ** 2).sum(axis=1)))
        return product

    @cached_property
    def reports(self) -> Ints:
        """A number for each combination of reports, one per row."""
        combined = np.zeros(self.rows, np.int64)
        for source in self.sources:
            if (int(combined.max(initial=0)) + 1) * source.table.shape[0] > 1 << 62:
                combined = np.unique(combined, return_inverse=True)[1]
            combined = combined * source.table.shape[0] + source.codes
        return combined if self._few else np.asarray(np.unique(combined, return_inverse=True)[1], np.int64)

    @cached_property
    def _kept(self) -> Floats | None:
        """The weights of every combination of reports, where there are few enough."""
        if not self.sources:  # nothing but numbers was randomised
            return np.ones((1, 1, 1))
        if self._few:
            sizes = tuple(source.table.shape[0] for source in self.sources)
            return self._made(np.unravel_index(np.arange(self._space), sizes))
        first = np.unique(self.reports, return_index=True)[1]
        return self._of_rows(first) if first.size * self.cells * self.outcomes <= _KEPT else None

    def table(self) -> Floats:
        """The weights of every combination of reports over all cells, in the order of ``reports``."""
        made = self._kept
        if made is None:
            made = self._of_rows(np.unique(self.reports, return_index=True)[1])
        return made.transpose(0, 2, 1).reshape(len(made), -1)

    def of(self, rows: Any) -> Floats:
        """The weights (rows, outcomes, cells) of some rows."""
        return self._of_rows(rows) if self._kept is None else np.asarray(self._kept[self.reports[rows]])

    def _of_rows(self, rows: Any) -> Floats:
        return self._made([source.codes[rows] for source in self.sources])

    def _made(self, codes: Sequence[NDArray[Any]]) -> Floats:
        """The weights of rows whose sources reported these codes."""
        count = len(codes[0]) if codes else self.rows
        weights = np.ones((count, *self.sizes))
        for source, reported in zip(self.sources, codes, strict=True):
            shape = tuple(size if axis in source.axes else 1 for axis, size in enumerate(self.sizes))
            weights *= source.table[reported].reshape(count, *shape)
        by_cell = weights.reshape(count, self.cells, self.outcomes)
        return np.ascontiguousarray(by_cell.transpose(0, 2, 1))

    def take(self, rows: Any) -> CellWeights:
        """The weights of some rows only."""
        sources = [Source(one.axes, one.codes[rows], one.table) for one in self.sources]
        return CellWeights(
            self.names,
            self.sizes,
            sources,
            randomised_outcome=self.outcomes > 1,
            rows=np.arange(self.rows)[rows].size,
        )


def refuse_too_many(names: Sequence[str], sizes: Sequence[int]) -> None:
    """Count the cells of these columns, and say what to do where there are too many."""
    if math.prod(sizes) <= MOST_CELLS:
        return
    largest = int(np.argmax(sizes))
    product = " × ".join(str(size) for size in sizes)
    raise EstimationError(
        f"the randomised columns of the formula ({', '.join(names)}) have {product} = {math.prod(sizes):,} "
        f"combinations of true values, above the limit of {MOST_CELLS:,}; release "
        f'"{names[largest]}" with fewer than its {sizes[largest]:,} values, or leave a column out'
    )
