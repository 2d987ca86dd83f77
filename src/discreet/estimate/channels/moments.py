"""Moments of one debiased answer φ = A e_y, for every shape in which the correction A is held.

``E[φ_x | truth z] = 1{z = x}`` for every unbiased A. What remains are the conditional variances

    v(z, x) = Var(φ_x | truth z) = Σ_y Q[z, y] (a_xy − 1{z = x})²,

which are the randomisation error, and by the law of total variance ``Var φ_x = Σ_z f_z v(z, x) + f_x (1 − f_x)``,
which adds the sampling error. The variance *given the table* of truths therefore is an expectation of the
function a² − a of the reports, and can be estimated without knowing the truths.
"""

from __future__ import annotations

from functools import singledispatch

import numpy as np

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.mechanisms import FiniteMechanism
from discreet.mechanisms.cyclic import CyclicInverse
from discreet.mechanisms.inverse import DenseInverse, Inverse, UniformInverse

#: Largest number of estimated quantities for which a full covariance matrix is written out (2^24 numbers, 128 MB).
MAX_COVARIANCE = 4096


def refuse_large(quantities: int) -> None:
    """A full matrix for more quantities than fit is an error; standard errors are available at any size."""
    if quantities > MAX_COVARIANCE:
        raise EstimationError(
            f"the full covariance matrix of {quantities:,} quantities is over the limit of {MAX_COVARIANCE:,}; "
            "std_error and interval() work at any size"
        )


class KroneckerInverse(Inverse):
    """``A₁ ⊗ A₂``: the correction of two columns that were randomised independently."""

    __slots__ = ("first", "second")

    def __init__(self, first: Inverse, second: Inverse) -> None:
        self.first = first
        self.second = second

    @property
    def shape(self) -> tuple[int, int]:
        """Number of pairs of truths and of pairs of reports."""
        (n1, r1), (n2, r2) = self.first.shape, self.second.shape
        return n1 * n2, r1 * r2

    def apply(self, shares: Floats) -> Floats:
        """``A₁ P A₂ᵀ`` for the table P of report shares, both written row by row."""
        return _on_both(self.first, self.second, shares)

    def variances(self, shares: Floats) -> Floats:
        """``Σ_y p_y a_xy² − f_x²``: the squares of a Kronecker product are one too."""
        spread = _on_both(_squared(self.first), _squared(self.second), shares) - self.apply(shares) ** 2
        return np.asarray(np.maximum(spread, 0.0))  # only rounding can make it negative

    def covariance(self, shares: Floats) -> Floats:
        """A (diag(p) − p pᵀ) Aᵀ."""
        return DenseInverse(self.as_matrix()).covariance(shares)

    def as_matrix(self) -> Floats:
        """A written out."""
        refuse_large(max(self.shape))
        return np.asarray(np.kron(self.first.as_matrix(), self.second.as_matrix()), float)

    @property
    def single(self) -> None:
        """A cell depends on several report shares."""
        return


def _on_both(first: Inverse, second: Inverse, shares: Floats) -> Floats:
    table = shares.reshape(first.shape[1], second.shape[1])
    return np.asarray(second.apply(first.apply(table).T).T.reshape(-1))


def _squared(inverse: Inverse) -> Inverse:
    """The map whose entries are the squares of the entries of A."""
    if isinstance(inverse, UniformInverse):
        scale, shift = inverse.scale, inverse.shift
        return UniformInverse(inverse.size, scale * scale + 2 * scale * shift, shift * shift)
    return DenseInverse(inverse.as_matrix() ** 2)


@singledispatch
def table_variances(inverse: Inverse, squares: Floats) -> Floats:
    """``Σ_y s_y (a_xy² − a_xy)`` with s_y the sum of w_i² over the rows that reported y.

    Unbiased for ``Σ_i w_i² Var(φ_x | truth of row i)``.
    """
    matrix = inverse.as_matrix()
    return np.asarray((matrix * (matrix - 1)) @ squares)


@table_variances.register
def _(inverse: UniformInverse, squares: Floats) -> Floats:
    # The columns of A sum to one: diagonal = 1 − (N − 1)·shift. Every term below is ≥ 0 and nothing cancels.
    shift = inverse.shift
    rest = -(inverse.size - 1) * shift
    return np.asarray(squares * ((1 + rest) * rest) + (squares.sum() - squares) * (shift * (shift - 1)))


@table_variances.register
def _(inverse: CyclicInverse, squares: Floats) -> Floats:
    return inverse.squares(squares) - inverse.apply(squares)


@table_variances.register
def _(inverse: KroneckerInverse, squares: Floats) -> Floats:
    return _on_both(_squared(inverse.first), _squared(inverse.second), squares) - inverse.apply(squares)


def table_covariance(inverse: Inverse, squares: Floats) -> Floats:
    """``A diag(s) Aᵀ − diag(A s)``, the full matrix whose diagonal is :func:`table_variances`."""
    if isinstance(inverse, CyclicInverse):
        total = float(squares.sum())
        mean = inverse.apply(squares / total)
        covariance = total * (inverse.covariance(squares / total) + np.outer(mean, mean))
    else:
        matrix = inverse.as_matrix()
        covariance = (matrix * squares) @ matrix.T
    np.fill_diagonal(covariance, table_variances(inverse, squares))
    return np.asarray(covariance)


def conditional_variances(mechanism: FiniteMechanism) -> tuple[Floats, Floats]:
    """``v(x, x)``, and the largest ``v(z, x)`` over z ≠ x, for every value x.

    For generalised response, with keep and other as probabilities, ``keep(1 − keep)/gap²`` and
    ``other(1 − other)/gap²``; for two values the other truth is the only one, so the "largest" is exact. Cyclic designs
    of more than 4,096 reports have bounds of both.
    """
    inverse = mechanism.inverse
    if isinstance(inverse, UniformInverse):
        scale, size = inverse.scale, inverse.size
        other = -inverse.shift / scale
        own = (1 - (size - 1) * other) * ((size - 1) * other) * scale**2
        return np.broadcast_to(own, size), np.broadcast_to(other * (1 - other) * scale**2, size)
    if isinstance(inverse, CyclicInverse) and (inverse.shape[1] > MAX_COVARIANCE or inverse.size == inverse.shape[1]):
        return inverse.conditional_variances()
    matrix, channel = inverse.as_matrix(), mechanism.matrix()
    by_truth = channel @ (matrix**2).T
    own = np.einsum("xy,xy->x", channel, (matrix - 1) ** 2)
    np.fill_diagonal(by_truth, -np.inf)
    return np.asarray(own), np.asarray(by_truth.max(axis=0))


def paired_variances(first: tuple[Floats, Floats], second: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """The same two numbers for the cells of a cross-table of independently randomised columns.

    The second moments multiply: ``E[φ₁²φ₂² | z₁, z₂] = m₁(z₁) m₂(z₂)`` with m = v + 1{z = x}.
    """
    own1, other1 = first[0][:, None], first[1][:, None]
    own2, other2 = second[0][None, :], second[1][None, :]
    own = (own1 + 1) * (own2 + 1) - 1
    other = np.maximum((own1 + 1) * other2, other1 * np.maximum(own2 + 1, other2))
    return own.reshape(-1), other.reshape(-1)
