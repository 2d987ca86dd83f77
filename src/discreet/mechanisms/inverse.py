"""Undo a channel on average: the linear maps A with A Qᵀ = I, so that A·(report shares) is unbiased.

For a square channel A is the inverse of Qᵀ. With more reports than truths many maps are unbiased; ours is
generalised least squares, ``A = (Q W Qᵀ)⁻¹ Q W`` with ``W = diag(1/p)`` and p the report shares under equally
frequent truths. The weights do not look at the data, so the estimate stays exactly unbiased.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import NotIdentifiedError
from discreet.privacy.exact import Rows

#: Primes below 2^31: products of two residues fit into 64 bits.
_PRIMES = (2_147_483_647, 2_147_483_629)
#: A smallest singular value above this proves full rank: floats err by at most about 1e-12 for the sizes allowed.
_CERTAINLY_REGULAR = 1e-9
#: Up to this many truths the inverse is computed with fractions, beyond it in floats.
_EXACT_SIZE = 12


class Inverse(ABC):
    """A linear map from report shares to frequencies of truths."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Number of truths and number of reports."""

    @abstractmethod
    def apply(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """A·shares, for one vector or for the columns of a matrix."""

    def of_counts(self, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        """A·(counts/n) for plain counts of reports."""
        return self.apply(counts / float(counts.sum()))

    @abstractmethod
    def variances(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Diagonal of A (diag(p) − p pᵀ) Aᵀ, the variances of one debiased answer."""

    @abstractmethod
    def as_matrix(self) -> NDArray[np.float64]:
        """A written out."""

    def squares(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """``Σ_y w_y a_xy²``."""
        return np.asarray(self.as_matrix() ** 2 @ weights)

    def scores(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        """``Aᵀc``: what one report adds to ``Σ c_x f̂_x``."""
        return np.asarray(self.as_matrix().T @ coefficients)

    def covariance(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """A (diag(p) − p pᵀ) Aᵀ, the covariance of one debiased answer."""
        return self.sandwich(np.diag(shares) - np.outer(shares, shares))

    def sandwich(self, middle: NDArray[np.float64]) -> NDArray[np.float64]:
        """A M Aᵀ."""
        matrix = self.as_matrix()
        return np.asarray(matrix @ middle @ matrix.T)

    @property
    @abstractmethod
    def single(self) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """(slope, offset) with ``f_x = slope_x · p_x + offset_x`` when each frequency needs one share only."""


@dataclass(frozen=True)
class UniformInverse(Inverse):
    """``A = scale·I + shift·11ᵀ``: the inverse of a channel that keeps the truth or answers uniformly."""

    size: int
    scale: float
    shift: float

    @property
    def shape(self) -> tuple[int, int]:
        """Number of truths and number of reports."""
        return self.size, self.size

    def apply(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """``scale·p + shift·Σp``."""
        return np.asarray(self.scale * shares + self.shift * shares.sum(axis=0))

    def scores(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        """``Ac``, since A is symmetric."""
        return self.apply(coefficients)

    def variances(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """``scale²·p(1 − p)``: the constant does not vary."""
        return np.asarray(self.scale**2 * shares * (1 - shares))

    def covariance(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """``scale²(diag(p) − p pᵀ)``."""
        return np.asarray(self.scale**2 * (np.diag(shares) - np.outer(shares, shares)))

    def as_matrix(self) -> NDArray[np.float64]:
        """A written out."""
        return self.scale * np.eye(self.size) + self.shift

    @property
    def single(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The same line for every value."""
        return np.broadcast_to(self.scale, self.size), np.broadcast_to(self.shift, self.size)


class DenseInverse(Inverse):
    """Any A, written out."""

    __slots__ = ("_matrix",)

    def __init__(self, matrix: NDArray[np.float64]) -> None:
        self._matrix = np.array(matrix, dtype=float)
        self._matrix.flags.writeable = False

    @property
    def shape(self) -> tuple[int, int]:
        """Number of truths and number of reports."""
        truths, reports = self._matrix.shape
        return truths, reports

    def apply(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """A·shares."""
        return np.asarray(self._matrix @ shares)

    def variances(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """``Σ_y p_y (a_xy − Σ p a)²``, centred so that large entries do not cancel."""
        centred = self._matrix - self.apply(shares)[:, None]
        return np.asarray((centred**2) @ shares)

    def covariance(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Σ_y p_y (a_y − Ap)(a_y − Ap)ᵀ."""
        centred = self._matrix - self.apply(shares)[:, None]
        return np.asarray((centred * shares) @ centred.T)

    def as_matrix(self) -> NDArray[np.float64]:
        """A written out."""
        return self._matrix

    @property
    def single(self) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Two truths and two reports: shares add up to one, so each frequency is a line in its own share."""
        if self.shape != (2, 2):
            return None
        a = self._matrix
        return np.array([a[0, 0] - a[0, 1], a[1, 1] - a[1, 0]]), np.array([a[0, 1], a[1, 0]])


def dense_inverse(rows: Rows, denominator: int) -> DenseInverse:
    """The inverse of a channel given by its integers; a channel without one is refused by name."""
    groups = indistinguishable(rows)
    if groups:
        named = "; ".join(", ".join(str(x) for x in group) for group in groups)
        raise NotIdentifiedError(
            f"the channel does not tell these values apart (by code): {named}; their frequencies cannot be "
            "estimated one by one: merge them, or use a mechanism of full rank",
            groups=groups,
        )
    used = [y for y in range(len(rows[0])) if any(row[y] for row in rows)]
    if len(rows) <= _EXACT_SIZE and len(used) <= 2 * _EXACT_SIZE:
        compact = _exact_inverse([[Fraction(row[y], denominator) for y in used] for row in rows])
    else:
        Q = np.array([[row[y] / denominator for y in used] for row in rows])
        weighted = Q / Q.sum(axis=0)
        compact = np.linalg.solve(weighted @ Q.T, weighted)
    full = np.zeros((len(rows), len(rows[0])))
    full[:, used] = compact
    return DenseInverse(full)


def _exact_inverse(Q: list[list[Fraction]]) -> NDArray[np.float64]:
    """(Q W Qᵀ)⁻¹ Q W by Gauss–Jordan elimination in fractions."""
    n, reports = len(Q), len(Q[0])
    totals = [sum((row[y] for row in Q), Fraction(0)) for y in range(reports)]
    weighted = [[row[y] / totals[y] for y in range(reports)] for row in Q]
    system = [
        [sum((a * b for a, b in zip(weighted[i], Q[j], strict=True)), Fraction(0)) for j in range(n)] + weighted[i]
        for i in range(n)
    ]
    for col in range(n):
        pivot = next(r for r in range(col, n) if system[r][col])
        system[col], system[pivot] = system[pivot], system[col]
        head = system[col][col]
        system[col] = [v / head for v in system[col]]
        for r in range(n):
            if r != col and system[r][col]:
                factor = system[r][col]
                system[r] = [v - factor * w for v, w in zip(system[r], system[col], strict=True)]
    return np.array([[float(v) for v in row[n:]] for row in system])


def exact_rank(rows: Rows) -> int:
    """The rank of an integer matrix, by elimination modulo a large prime.

    The rank modulo a prime is never above the true rank, and falls short only when the prime divides all
    leading minors; the larger of two primes is taken.
    """
    return max(_rank_modulo(rows, prime) for prime in _PRIMES)


def _rank_modulo(rows: Rows, prime: int) -> int:
    work: NDArray[Any] = np.array([[value % prime for value in row] for row in rows], np.int64)
    rank = 0
    for col in range(work.shape[1]):
        below = np.flatnonzero(work[rank:, col])
        if not below.size:
            continue
        pivot = rank + int(below[0])
        work[[rank, pivot]] = work[[pivot, rank]]
        work[rank] = work[rank] * pow(int(work[rank, col]), -1, prime) % prime
        factors = work[rank + 1 :, col].copy()
        work[rank + 1 :] = (work[rank + 1 :] - factors[:, None] * work[rank][None, :] % prime) % prime
        rank += 1
        if rank == work.shape[0]:
            break
    return rank


def indistinguishable(rows: Rows) -> tuple[tuple[int, ...], ...]:
    """Groups of truths whose frequencies the reports cannot separate; empty for a channel of full row rank.

    Equal rows form a group each. Beyond that, all values that take part in a direction v with vᵀQ = 0 form
    one group.
    """
    denominator = sum(rows[0])
    floats = np.array([[weight / denominator for weight in row] for row in rows])
    if len(rows) <= len(rows[0]) and np.linalg.svd(floats, compute_uv=False)[-1] > _CERTAINLY_REGULAR:
        return ()
    by_row: dict[tuple[int, ...], list[int]] = {}
    for x, row in enumerate(rows):
        by_row.setdefault(row, []).append(x)
    groups = [tuple(members) for members in by_row.values() if len(members) > 1]
    different = list(by_row)
    rank = exact_rank(tuple(different))
    if rank < len(different):
        Q = np.array([[weight / denominator for weight in row] for row in different])
        null = np.linalg.svd(Q)[0][:, rank:]
        involved = np.flatnonzero(np.abs(null).max(axis=1) > 1e-9)
        groups.append(tuple(by_row[different[i]][0] for i in involved))
    return tuple(groups)
