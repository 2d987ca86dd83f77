"""Places of a number along one coordinate of its box: cells of equal width, and values that many people share.

A law that is constant on cells is an approximation of a smooth one, and a poor one of whole numbers, answers in tens,
or a third of all people at zero. Such values show: a record that is published exactly repeats them, while noise and
smooth numbers rarely fall on the same point of the grid. A value that recurs more often than that is a place of its
own, without width.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats

Places = NDArray[np.intp]

#: Points of a cell along a coordinate, at which the outcome's model is evaluated.
POINTS = 2
#: The chance that any value at all is taken for a shared one where none is.
_FALSE = 1e-4
#: More shared values than this are as good as smooth numbers.
_MOST_SHARED = 40
#: Exact records that may be missing on shared values, in standard errors, before cells are needed as well; and the
#: share of them that this may at most be, lest shared values that were not found go unnoticed.
_MISSING, _NOTICED = 3.0, 0.15


@dataclass(frozen=True, eq=False)
class Axis:
    """The places of one coordinate.

    Attributes
    ----------
    low, high : float
        What the cells fill.
    cells : int
        Of equal width; 0 where all exact records are on shared values.
    shared : array
        Values that many people have, ascending; their places come after the cells.
    step : float
        Of the grid of reports.
    """

    low: float
    high: float
    cells: int
    shared: Floats
    step: float

    @property
    def places(self) -> int:
        """Number of places."""
        return self.cells + self.shared.size

    @cached_property
    def widths(self) -> Floats:
        """What each place has of the coordinate: a cell its width, a shared value one step of the grid."""
        wide = (self.high - self.low) / max(self.cells, 1)
        return np.concatenate([np.full(self.cells, wide), np.full(self.shared.size, self.step)])

    @cached_property
    def points(self) -> Floats:
        """The points of cells, evenly spread, then the shared values."""
        share = (np.arange(self.cells * POINTS) + 0.5) / max(self.cells * POINTS, 1)
        return np.concatenate([self.low + share * (self.high - self.low), self.shared])

    @cached_property
    def place_of_point(self) -> Places:
        """The place of every point."""
        return np.concatenate([np.repeat(np.arange(self.cells), POINTS), self.cells + np.arange(self.shared.size)])

    @cached_property
    def extent(self) -> Floats:
        """How much of the coordinate a point stands for."""
        return np.asarray(self.widths[self.place_of_point] / self._points_in[self.place_of_point])

    @cached_property
    def _points_in(self) -> Places:
        return np.bincount(self.place_of_point, minlength=self.places)

    def place_of(self, x: Floats) -> Places:
        """The place of every number, −1 for one that no place holds; outside it is that of the nearest end."""
        place = np.clip(((x - self.low) / (self.high - self.low) * self.cells).astype(np.intp), 0, self.cells - 1)
        if not self.shared.size:
            return np.asarray(place)
        nearest = np.abs(x[:, None] - self.shared).argmin(axis=1)
        held = np.abs(x - self.shared[nearest]) < 0.5 * self.step
        return np.asarray(np.where(held, self.cells + nearest, place if self.cells else -1))


def axis_of(x: Floats, low: float, high: float, cells: int, step: float, scale: float, exact: float) -> Axis:
    """The places of a coordinate, shared values found among its reports.

    Parameters
    ----------
    x : array
        Reports.
    low, high : float
        The box along this coordinate, with its margin.
    cells : int
        If there is anything but shared values.
    step, scale, exact : float
        Grid and scale of the noise, and the chance that a record is published exactly.
    """
    inside = x[(x >= low) & (x <= high)]
    values, counts = np.unique(inside, return_counts=True)
    # At most this many reports of a value come from noise, and from smooth truths that fill a twentieth of the box.
    expected = x.size * step * ((1 - exact) / (math.sqrt(2) * scale) + exact * 20 / (high - low))
    often = counts > _rarely_above(expected, _FALSE * step / (high - low))
    shared = values[often]
    if not 0 < shared.size <= _MOST_SHARED:
        return Axis(low, high, cells, np.empty(0), step)
    noise = x.size * step * (1 - exact) / (math.sqrt(2) * scale) * shared.size
    records = exact * x.size
    missing, room = records - (float(counts[often].sum()) - noise), _MISSING * math.sqrt(records * (1 - exact) + noise)
    alone = missing < room < _NOTICED * records
    return Axis(low, high, 0 if alone else cells, shared, step)


def _rarely_above(mean: float, chance: float) -> float:
    """A count that a Poisson variable of this mean exceeds with at most this chance."""
    from scipy.stats import poisson

    return float(poisson.isf(chance, mean))
