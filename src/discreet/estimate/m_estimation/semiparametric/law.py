"""A law of numeric covariates that is constant on cells of the box, and what reports say under it."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.estimate.m_estimation.box.inside import Inside
from discreet.mechanisms.laplace import ZeroInflatedLaplace

#: Cells along a coordinate, by dimension; and points of a cell along it, at which the outcome's model is evaluated.
_CELLS, _POINTS = {1: 24, 2: 9, 3: 5}, 2
#: Coordinates for which cells are few enough.
MOST_COORDINATES = 3


@dataclass(frozen=True, eq=False)
class CellLaw:
    """Cells of a box, and points in them.

    Parameters
    ----------
    mechanism : ZeroInflatedLaplace
        Of one to three coordinates.
    """

    mechanism: ZeroInflatedLaplace

    @property
    def along(self) -> int:
        """Cells along a coordinate."""
        return _CELLS[self.mechanism.dimension]

    @property
    def cells(self) -> int:
        """Number of cells."""
        return int(self.along**self.mechanism.dimension)

    @cached_property
    def inside(self) -> Inside:
        """The box that the cells fill."""
        return Inside.of(self.mechanism)

    @property
    def volume(self) -> float:
        """Of a cell."""
        return float(np.prod((self.inside.high - self.inside.low) / self.along))

    @cached_property
    def points(self) -> Floats:
        """Points (F, d), cell by cell."""
        steps = (np.arange(self.along * _POINTS) + 0.5) / (self.along * _POINTS)
        grid = np.array(list(itertools.product(steps, repeat=self.mechanism.dimension)))
        points = self.inside.low + grid * (self.inside.high - self.inside.low)
        return np.asarray(points[np.argsort(self.cell_of(points), kind="stable")])

    def cell_of(self, x: Floats) -> NDArray[np.intp]:
        """The cell of every row; of one outside, the nearest along each coordinate."""
        share = (x - self.inside.low) / (self.inside.high - self.inside.low)
        place = np.clip((share * self.along).astype(np.intp), 0, self.along - 1)
        return np.asarray(np.ravel_multi_index(tuple(place.T), (self.along,) * self.mechanism.dimension))

    @property
    def points_per_cell(self) -> int:
        """Points in one cell."""
        return int(_POINTS**self.mechanism.dimension)

    def density(self, reports: Floats) -> Floats:
        """Of noisy reports (n, d) given every point (n, F).

        ``2(2π)^{−d/2} (r²/2)^{v/2} K_v(√2 r)/Πλ``, v = 1 − d/2 and r the distance in units of the noise: the
        multivariate Laplace law (for d = 1 the Laplace law itself). In two and three dimensions it grows without bound
        as r → 0, like −ln r and 1/r; a point there stands for a small cell, over which the average is that at e^{−1/2}
        and 2/3 of the radius of a ball of its size.
        """
        from scipy.special import k0e

        mechanism, d = self.mechanism, self.mechanism.dimension
        scale = mechanism.noise_scale
        square = np.zeros((len(reports), len(self.points)))
        for j in range(d):
            square += ((reports[:, j, None] - self.points[:, j]) / scale[j]) ** 2
        r = np.sqrt(square)
        if d == 1:
            return np.asarray(np.exp(-math.sqrt(2) * r) / (math.sqrt(2) * scale[0]))
        size = float(np.prod((self.inside.high - self.inside.low) / (self.along * _POINTS) / scale))
        radius = math.sqrt(size / math.pi) * math.exp(-0.5) if d == 2 else (size * 0.75 / math.pi) ** (1 / 3) * 2 / 3
        np.maximum(r, radius, out=r)
        z = math.sqrt(2) * r
        fall = np.exp(-z)
        if d == 2:
            return np.asarray(k0e(z) * fall / (math.pi * np.prod(scale)))
        return np.asarray(fall / (2 * math.pi * r * np.prod(scale)))  # K_{−1/2} is elementary
