"""A law of numeric covariates on cells of the box and on values that many share, and what reports say under it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.estimate.noisy_numbers.inside import Inside
from discreet.estimate.regressions.semiparametric.axis import Axis, axis_of
from discreet.mechanisms.laplace import ZeroInflatedLaplace

#: Cells along a coordinate, by dimension: at most, and at least; and the rows that each cell of the box should have.
_MOST_CELLS, _FEWEST_CELLS, _ROWS_PER_CELL = {1: 24, 2: 9, 3: 5}, {1: 4, 2: 4, 3: 3}, 25
#: Coordinates for which cells are few enough.
MOST_COORDINATES = 3


def fewest_rows(d: int) -> int:
    """Rows that a law of d coordinates needs."""
    return int(_ROWS_PER_CELL * _FEWEST_CELLS[d] ** d)


@dataclass(frozen=True, eq=False)
class CellLaw:
    """Combinations of the places of every coordinate, for short cells, and points in them.

    Parameters
    ----------
    mechanism : ZeroInflatedLaplace
        Of one to three coordinates.
    axes : tuple of Axis
        The places along each.
    """

    mechanism: ZeroInflatedLaplace
    axes: tuple[Axis, ...]

    @classmethod
    def of(cls, mechanism: ZeroInflatedLaplace, reports: Floats, rows: int) -> CellLaw:
        """Cells for these reports (n, d), which show the values that many share, and for laws of this many rows."""
        inside, d = Inside.of(mechanism), mechanism.dimension
        steps, scales, exact = mechanism.grid, mechanism.noise_scale, mechanism.zero_probability
        cells = min(_MOST_CELLS[d], max(_FEWEST_CELLS[d], int((rows / _ROWS_PER_CELL) ** (1 / d) + 1e-9)))
        axes = tuple(
            axis_of(reports[:, j], float(inside.low[j]), float(inside.high[j]), cells, steps[j], scales[j], exact)
            for j in range(d)
        )
        return cls(mechanism, axes)

    @property
    def _shape(self) -> tuple[int, ...]:
        return tuple(axis.places for axis in self.axes)

    @property
    def cells(self) -> int:
        """Number of cells."""
        return math.prod(self._shape)

    @cached_property
    def inside(self) -> Inside:
        """The box that the cells fill."""
        return Inside.of(self.mechanism)

    @cached_property
    def volume(self) -> Floats:
        """Of every cell; a shared value has that of one step of the grid."""
        return _products([axis.widths for axis in self.axes])

    @cached_property
    def _order(self) -> NDArray[np.intp]:
        """Combinations of points, cell by cell."""
        return np.argsort(self._cell_of_combination, kind="stable")

    @cached_property
    def _cell_of_combination(self) -> NDArray[np.intp]:
        places = np.meshgrid(*(axis.place_of_point for axis in self.axes), indexing="ij")
        return np.asarray(np.ravel_multi_index(tuple(one.ravel() for one in places), self._shape))

    @cached_property
    def points(self) -> Floats:
        """Points (F, d), cell by cell."""
        grid = np.meshgrid(*(axis.points for axis in self.axes), indexing="ij")
        return np.asarray(np.stack([one.ravel() for one in grid], axis=1)[self._order])

    @cached_property
    def extents(self) -> Floats:
        """How much of each coordinate a point stands for (F, d)."""
        grid = np.meshgrid(*(axis.extent for axis in self.axes), indexing="ij")
        return np.asarray(np.stack([one.ravel() for one in grid], axis=1)[self._order])

    @cached_property
    def cell_of_point(self) -> NDArray[np.intp]:
        """The cell of every point, ascending."""
        return self._cell_of_combination[self._order]

    @cached_property
    def points_in(self) -> NDArray[np.intp]:
        """How many points each cell has."""
        return np.bincount(self.cell_of_point, minlength=self.cells)

    def summed(self, weights: Floats, values: Floats, cells: NDArray[np.intp] | None = None) -> Floats:
        """Sums of values (F, m) at points over the points of all cells, or of some, for several weights (F, q).

        Returns
        -------
        array (q, cells, m)
        """
        from scipy.sparse import csr_matrix

        count = self.points_in if cells is None else self.points_in[cells]
        first = np.cumsum(self.points_in) - self.points_in
        stop = np.cumsum(count)
        points = np.repeat((first if cells is None else first[cells]) - stop + count, count) + np.arange(stop[-1])
        q = weights.shape[1]
        ends = np.append(0, (stop + points.size * np.arange(q)[:, None]).ravel())
        matrix = csr_matrix(
            (weights.T[:, points].ravel(), np.tile(points, q), ends), shape=(q * count.size, len(self.points))
        )
        return np.asarray(matrix @ values).reshape(q, count.size, values.shape[1])

    def cell_of(self, x: Floats) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """The cell of every row, outside the box the nearest; and whether a truth of the law can lie there."""
        places = np.stack([axis.place_of(column) for axis, column in zip(self.axes, x.T, strict=True)])
        held = np.asarray((places >= 0).all(axis=0))
        return np.asarray(np.ravel_multi_index(tuple(np.maximum(places, 0)), self._shape)), held

    def density(self, reports: Floats) -> Floats:
        """Of noisy reports (n, d) given every point (F, n).

        ``2(2π)^{−d/2} (r²/2)^{v/2} K_v(√2 r)/Πλ``, v = 1 − d/2 and r the distance in units of the noise: the
        multivariate Laplace law (for d = 1 the Laplace law itself). In two and three dimensions it grows without bound
        as r → 0, like −ln r and 1/r; a point there stands for a small cell, over which the average is that at e^{−1/2}
        and 2/3 of the radius of a ball of its size.
        """
        from scipy.special import k0e

        mechanism, d = self.mechanism, self.mechanism.dimension
        scale = mechanism.noise_scale
        square = np.zeros((len(self.points), len(reports)))
        for j in range(d):
            square += ((reports[:, j] - self.points[:, j, None]) / scale[j]) ** 2
        r = np.sqrt(square)
        if d == 1:
            return np.asarray(np.exp(-math.sqrt(2) * r) / (math.sqrt(2) * scale[0]))
        size = np.prod(self.extents / scale, axis=1)
        radius = np.sqrt(size / math.pi) * math.exp(-0.5) if d == 2 else (size * 0.75 / math.pi) ** (1 / 3) * 2 / 3
        np.maximum(r, radius[:, None], out=r)
        z = math.sqrt(2) * r
        fall = np.exp(-z)
        if d == 2:
            return np.asarray(k0e(z) * fall / (math.pi * np.prod(scale)))
        return np.asarray(fall / (2 * math.pi * r * np.prod(scale)))  # K_{−1/2} is elementary


def _products(parts: list[Floats]) -> Floats:
    """The products of one number of each part, the last part varying fastest."""
    found = np.ones(1)
    for part in parts:
        found = np.multiply.outer(found, part).ravel()
    return found
