"""The model matrix at every row and cell, without writing it out.

Its columns are of three kinds. *Public* columns are the same in every cell, columns of *randomised* terms alone are the
same in every row, and only the columns in which both meet (``age:smokes``) differ in both. Linear predictors, gradients
and second derivatives are put together from the three parts, so that a model without interactions between public and
randomised columns costs no more per cell than one function value.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.estimate.data.map_reduce import nbytes

Places = NDArray[np.intp]
#: Numbers in one working array.
_CHUNK = 1 << 18


@dataclass(frozen=True, eq=False)
class CellMatrix:
    """A model matrix over rows and cells.

    Attributes
    ----------
    public : array (rows, p1)
    private : array (cells, p2)
    mixed : array (rows, kinds, p3)
        Columns that depend on both, for every kind of cell that they tell apart.
    kind : array (cells,)
        The kind of each cell.
    public_at, private_at, mixed_at : arrays of int
        Where these columns stand in the model.
    """

    public: Floats
    private: Floats
    mixed: Floats
    kind: Places
    public_at: Places
    private_at: Places
    mixed_at: Places

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.public.shape[0])

    @property
    def cells(self) -> int:
        """Number of cells."""
        return int(self.private.shape[0])

    @property
    def columns(self) -> int:
        """Number of columns."""
        return self.public_at.size + self.private_at.size + self.mixed_at.size

    @property
    def nbytes(self) -> int:
        """What its rows take; cells are shared with others."""
        return nbytes(self.public, self.mixed)

    def take(self, rows: slice | NDArray[np.intp]) -> CellMatrix:
        """Some of the rows."""
        return CellMatrix(
            self.public[rows],
            self.private,
            self.mixed[rows],
            self.kind,
            self.public_at,
            self.private_at,
            self.mixed_at,
        )

    def predictor(self, coefficients: Floats) -> Floats:
        """``x'β`` (rows, cells)."""
        eta = (self.public @ coefficients[self.public_at])[:, None] + self.private @ coefficients[self.private_at]
        if self.mixed_at.size:
            eta += (self.mixed @ coefficients[self.mixed_at])[:, self.kind]
        return np.asarray(eta)

    def row_sums(self, first: Floats) -> Floats:
        """``Σ_cells d x`` of every row (rows, columns), for numbers d (rows, cells)."""
        out = np.empty((self.rows, self.columns))
        out[:, self.public_at] = self._over_cells(first)[:, None] * self.public
        out[:, self.private_at] = first @ self.private
        if self.mixed_at.size:
            out[:, self.mixed_at] = np.einsum("ik,ikp->ip", self._by_kind(first), self.mixed)
        return out

    def total(self, first: Floats, weights: Floats) -> Floats:
        """``Σ ω d x`` over rows and cells, with the weights ω of rows."""
        out = np.empty(self.columns)
        out[self.public_at] = (weights * self._over_cells(first)) @ self.public
        out[self.private_at] = (weights @ first) @ self.private
        if self.mixed_at.size:
            out[self.mixed_at] = np.einsum("i,ik,ikp->p", weights, self._by_kind(first), self.mixed, optimize=True)
        return out

    def products(self, second: Floats, weights: Floats) -> Floats:
        """``Σ ω h x x'`` over rows and cells, for numbers h (rows, cells) and the weights ω of rows."""
        P, C, out = self.public, self.private, np.empty((self.columns, self.columns))
        pub, priv, mix = self.public_at, self.private_at, self.mixed_at
        out[np.ix_(pub, pub)] = P.T @ ((weights * self._over_cells(second))[:, None] * P)
        out[np.ix_(pub, priv)] = P.T @ (weights[:, None] * (second @ C))
        out[np.ix_(priv, pub)] = out[np.ix_(pub, priv)].T
        out[np.ix_(priv, priv)] = C.T @ ((weights @ second)[:, None] * C)
        if mix.size:
            second = weights[:, None] * second
            M, kinds = self.mixed, self._by_kind(second)
            own = kinds[:, :, None] * M
            flat = M.reshape(-1, mix.size)
            out[np.ix_(mix, mix)] = own.reshape(-1, mix.size).T @ flat
            out[np.ix_(pub, mix)] = P.T @ own.sum(axis=1)
            for place, at in enumerate(priv):  # Σ h c_j over the cells of a kind
                out[at, mix] = np.einsum("ik,ikp->p", self._by_kind(second * C[:, place]), M)
            out[np.ix_(mix, pub)] = out[np.ix_(pub, mix)].T
            out[np.ix_(mix, priv)] = out[np.ix_(priv, mix)].T
        return out

    def gram(self, times: Floats) -> Floats:
        """``Σ x x'`` over rows, each so many times, and cells, some rows at a time."""
        step = max(_CHUNK // self.cells, 16)
        total = np.zeros((self.columns, self.columns))
        for start in range(0, self.rows, step):
            rows = slice(start, start + step)
            part = self.take(rows)
            total += part.products(np.ones((part.rows, part.cells)), times[rows])
        return total

    def _over_cells(self, values: Floats) -> Floats:
        """Sums over all cells, one per row: a product, since adding up a few numbers at a time is slow."""
        return np.asarray(values @ np.ones(self.cells))

    def _by_kind(self, values: Floats) -> Floats:
        """Sums over the cells of each kind (rows, kinds)."""
        kinds = self.mixed.shape[1]
        if kinds == self.cells:
            return values
        member = np.zeros((self.cells, kinds))
        member[np.arange(self.cells), self.kind] = 1.0
        return values @ member

    def written_out(self) -> Floats:
        """The whole matrix (rows, cells, columns)."""
        out = np.empty((self.rows, self.cells, self.columns))
        out[:, :, self.public_at] = self.public[:, None, :]
        out[:, :, self.private_at] = self.private[None, :, :]
        out[:, :, self.mixed_at] = self.mixed[:, self.kind]
        return out
