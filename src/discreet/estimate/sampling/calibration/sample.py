"""What calibration needs to know of a sample: which auxiliary numbers occur, and the weights that they carry.

People in the same categories are alike and are put together; where a total is of numbers every row stands for itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.data.map_reduce import Source, summed
from discreet.estimate.data.rows import Batch
from discreet.estimate.sampling.calibration.margins import Margins

#: Numbers that are held: codes and weights of rows that differ (2^27, 1 GB).
_MOST_NUMBERS = 1 << 27
#: Rows whose auxiliary numbers are written out at once.
_CHUNK = 1 << 15


@dataclass(frozen=True, eq=False)
class CalibrationSample:
    """Rows, or cells of rows that are alike.

    Attributes
    ----------
    margins : Margins
    coded : array (cells, parts)
        Codes and numbers, as margins take them.
    rows, weights, squares : array (cells,)
        How many rows a cell has, Σd and Σd².
    least, most : array (cells,)
        The smallest and the largest weight in it.
    """

    margins: Margins
    coded: Floats
    rows: Floats
    weights: Floats
    squares: Floats
    least: Floats
    most: Floats

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.rows.sum())

    def chunks(self) -> Iterator[tuple[slice, Floats]]:
        """Cells with their auxiliary numbers, some at a time."""
        for start in range(0, len(self.coded), _CHUNK):
            part = slice(start, start + _CHUNK)
            yield part, self.margins.auxiliary(self.coded[part])

    def totals(self, weights: Floats) -> Floats:
        """``Σ w x`` with one weight for each cell."""
        return np.asarray(sum((weights[part] @ x for part, x in self.chunks()), np.zeros(self.margins.totals.size)))

    def scaled(self, factor: float) -> CalibrationSample:
        """The same with all weights multiplied."""
        return CalibrationSample(
            self.margins,
            self.coded,
            self.rows,
            self.weights * factor,
            self.squares * factor**2,
            self.least * factor,
            self.most * factor,
        )


def read_sample(source: Source, margins: Margins) -> CalibrationSample:
    """Read all rows once: cells of people who are alike where the rows lie, rows that differ here."""
    reading = _Reading(margins)
    found = (summed(source, reading) if margins.only_categories else reading(source.chunks())).together()
    if not len(found[0]):
        raise EstimationError("there are no rows to calibrate (n = 0)")
    return CalibrationSample(margins, *found)


@dataclass(frozen=True, eq=False)
class _Cells:
    """Codes, numbers and weights of some rows, in pieces; those of different rows add up."""

    pieces: tuple[tuple[Floats, ...], ...]
    alike: bool

    def __add__(self, other: _Cells) -> _Cells:
        return _Cells((_Cells((*self.pieces, *other.pieces), self.alike).together(),), self.alike)

    def together(self) -> tuple[Floats, ...]:
        """All pieces as one; rows with the same codes are one cell where only categories count."""
        whole = tuple(np.concatenate(one) for one in zip(*self.pieces, strict=True))
        return _together(whole) if self.alike else whole


@dataclass(frozen=True, eq=False)
class _Reading:
    """The pass that reads them."""

    margins: Margins

    def __call__(self, batches: Iterator[Batch]) -> _Cells:
        alike = self.margins.only_categories
        found = [tuple(np.zeros((0, len(self.margins.parts)) if place == 0 else 0) for place in range(6))]
        held = 0
        for batch in batches:
            size = batch.codes.size
            coded = self.margins.coded(partial(_column, batch.table), size, batch.first_row)
            d = np.ones(size) if batch.weights is None else batch.weights
            part: tuple[Floats, ...] = (coded, np.ones(size), d, d * d, d, d)
            found.append(_together(part) if alike else part)
            held += found[-1][0].size + 5 * len(found[-1][0])
            if alike and len(found) > 64:
                found, held = [_Cells(tuple(found), alike).together()], 0
            if held > _MOST_NUMBERS:
                raise EstimationError(
                    "totals of numbers hold every row in memory, and this release has too many: use totals of bands"
                )
        return _Cells(tuple(found), alike)


def _column(table: Any, name: str) -> Any:
    return table[name].combine_chunks()


def _together(part: tuple[Floats, ...]) -> tuple[Floats, ...]:
    """Rows with the same codes as one cell."""
    coded, *_ = part
    if not len(coded):
        return part
    cells, back = np.unique(coded, axis=0, return_inverse=True)
    back = back.ravel()
    sums = [np.bincount(back, one, len(cells)) for one in part[1:4]]
    least, most = np.full(len(cells), np.inf), np.zeros(len(cells))
    np.minimum.at(least, back, part[4])
    np.maximum.at(most, back, part[5])
    return (cells, *sums, least, most)
