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
from discreet.estimate.data.map_reduce import nbytes

Ints = NDArray[np.int64]
#: Codes of reports, in the smallest integers that hold them.
Codes = NDArray[Any]

#: Cells, values of a randomised outcome included. Each is evaluated for every distinct row in every step.
MOST_CELLS = 4_096
#: Weights of all distinct reports are kept when there are no more than this many (2^23 floats, 64 MB).
_KEPT = 1 << 23


@dataclass(frozen=True, eq=False)
class Factor:
    """Columns that were randomised together, often one.

    Attributes
    ----------
    axes : tuple of int
        Which columns of the model, ascending.
    table : array (reports, combined truths)
        The weights of a combined report; the truth of the first column varies slowest.
    """

    axes: tuple[int, ...]
    table: Floats


class Cells:
    """Every combination of true values, and what reports weigh each by.

    Parameters
    ----------
    names : sequence of str
        The randomised columns: those of the predictors, then the outcome if it is randomised.
    sizes : sequence of int
        How many true values each has, missing ones not counted.
    factors : sequence of Factor
        Which of them were randomised together.
    randomised_outcome : bool
        Whether the last column is the outcome.
    """

    def __init__(
        self, names: Sequence[str], sizes: Sequence[int], factors: Sequence[Factor], *, randomised_outcome: bool
    ) -> None:
        self.names, self.sizes, self.factors = tuple(names), tuple(sizes), tuple(factors)
        self.outcomes = self.sizes[-1] if randomised_outcome else 1
        self.count = math.prod(self.sizes) // self.outcomes

    @property
    def predictors(self) -> tuple[int, ...]:
        """Sizes of the randomised predictors."""
        return self.sizes[:-1] if self.outcomes > 1 else self.sizes

    def truths(self) -> NDArray[np.intp]:
        """The true value of each randomised predictor in each cell, by position; one row per cell."""
        if not self.predictors:
            return np.zeros((1, 0), np.intp)
        return np.stack(np.unravel_index(np.arange(self.count), self.predictors), axis=1)

    @cached_property
    def combinations(self) -> int:
        """How many combinations of reports there can be."""
        return math.prod(factor.table.shape[0] for factor in self.factors)

    @cached_property
    def few(self) -> bool:
        """Whether the weights of all combinations of reports that there can be are kept."""
        return self.combinations * self.count * self.outcomes <= _KEPT

    @property
    def inflation(self) -> float:
        """By what the weights inflate variances: the mean of Σ w² over the cells of the predictors, one without noise.

        Every report counts alike. Of a randomised outcome the weights are added up first.
        """
        product = 1.0
        for factor in self.factors:
            last = factor.axes[-1] == len(self.sizes) - 1 and self.outcomes > 1
            by_truth = factor.table.reshape(len(factor.table), -1, self.outcomes if last else 1)
            reported = factor.table.any(axis=1)  # a report that no truth gives, or that nobody gave, has no weights
            product *= float(np.mean((by_truth[reported].sum(axis=2) ** 2).sum(axis=1)))
        return product

    @cached_property
    def every(self) -> Floats:
        """The weights of every combination of reports that there can be, where there are few enough."""
        if not self.factors:  # nothing but numbers was randomised
            return np.ones((1, 1, 1))
        sizes = tuple(factor.table.shape[0] for factor in self.factors)
        return self.made(np.unravel_index(np.arange(self.combinations), sizes))

    def made(self, codes: Sequence[Codes]) -> Floats:
        """The weights (rows, outcomes, cells) of rows with these codes, one array for each factor."""
        count = len(codes[0])
        weights = np.ones((count, *self.sizes))
        for factor, reported in zip(self.factors, codes, strict=True):
            shape = tuple(size if axis in factor.axes else 1 for axis, size in enumerate(self.sizes))
            weights *= factor.table[reported].reshape(count, *shape)
        by_cell = weights.reshape(count, self.count, self.outcomes)
        return np.ascontiguousarray(by_cell.transpose(0, 2, 1))

    def of_rows(self, codes: Sequence[Codes], rows: int) -> CellWeights:
        """The weights of so many rows, given the combined report of each for every factor."""
        combined = np.zeros(rows, np.int64)
        for factor, reported in zip(self.factors, codes, strict=True):
            if (int(combined.max(initial=0)) + 1) * factor.table.shape[0] > 1 << 62:
                combined = np.unique(combined, return_inverse=True)[1]
            combined = combined * factor.table.shape[0] + reported
        if self.few:
            return CellWeights(self, narrow(combined, self.combinations))
        _, first, back = np.unique(combined, return_index=True, return_inverse=True)
        return CellWeights(self, narrow(back, first.size), tuple(one[first] for one in codes))


@dataclass(eq=False)
class CellWeights:
    """The weights of some rows over the cells.

    Attributes
    ----------
    cells : Cells
    reports : array
        A number for each combination of reports, one per row.
    codes : tuple of array, optional
        The reports of every combination, where not all that there can be are kept.
    """

    cells: Cells
    reports: Codes
    codes: tuple[Codes, ...] | None = None

    @cached_property
    def _kept(self) -> Floats | None:
        """The weights of every combination of reports, where there are few enough."""
        if self.codes is None:
            return self.cells.every
        few = len(self.codes[0]) * self.cells.count * self.cells.outcomes <= _KEPT
        return self.cells.made(self.codes) if few else None

    def table(self) -> Floats:
        """The weights of every combination of reports over all cells, in the order of ``reports``."""
        made = self._kept
        if made is None:
            assert self.codes is not None
            made = self.cells.made(self.codes)
        return made.transpose(0, 2, 1).reshape(len(made), -1)

    def of(self, rows: Any) -> Floats:
        """The weights (rows, outcomes, cells) of some rows."""
        if self._kept is not None:
            return np.asarray(self._kept[self.reports[rows]])
        assert self.codes is not None
        return self.cells.made([one[self.reports[rows]] for one in self.codes])

    @property
    def nbytes(self) -> int:
        """What they take beside the cells, which others share."""
        own = () if self.codes is None or self._kept is None else (self._kept,)
        return nbytes(self.reports, *(self.codes or ()), *own)


def narrow(codes: NDArray[Any], size: int) -> Codes:
    """Codes below a size, in the smallest integers that hold them."""
    return codes.astype(np.min_scalar_type(max(size - 1, 0)))


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
