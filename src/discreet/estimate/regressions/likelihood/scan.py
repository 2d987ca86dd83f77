"""The first pass over the rows: what is there, whether it can be learned from, and a sample to try starts on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.arguments import Floats
from discreet.errors import EstimationError, NotIdentifiedError
from discreet.estimate.data.map_reduce import Source, summed
from discreet.estimate.regressions.likelihood.even_sample import EvenSample
from discreet.estimate.regressions.likelihood.rows import Rows, joined

#: The probabilities of the reports under a true "no" and under a true "yes".
Channel = tuple[tuple[float, ...], tuple[float, ...]]
#: Share of a column that must remain after the others are taken out of it (squared, on the Gram matrix).
_SUSPECT, _COLLINEAR = 1e-9, 1e-10
#: Different designs that a summary can list.
_LISTED = 4


@dataclass(frozen=True, eq=False)
class Scan:
    """What one pass over the rows tells.

    Attributes
    ----------
    n, informative : int
        Rows, and those whose report depends on the truth (for two reports, p00 + p11 ≠ 1).
    total : float
        Sum of the weights.
    metric : array
        Mean of x x' over the informative rows.
    scale : array
        Largest absolute entry of each column.
    sample : Rows
        Some rows, spread evenly; all of them when there are few.
    designs : tuple of Channel or None
        The different designs; None when there are more than four.
    """

    n: int
    informative: int
    total: float
    metric: Floats
    scale: Floats
    sample: Rows
    designs: tuple[Channel, ...] | None
    epsilon: tuple[float, float]
    weighted: bool
    clustered: bool
    stratified: bool
    constant: tuple[bool, ...]


@dataclass(eq=False)
class _Look:
    """What some rows tell; two of them add up, the first rows before the second."""

    size: int
    sample: EvenSample
    n: int = 0
    informative: int = 0
    total: float = 0.0
    gram: Any = 0.0
    everything: Any = 0.0
    low: Any = np.inf
    high: Any = -np.inf
    designs: set[Channel] | None = field(default_factory=set)
    epsilon: tuple[float, float] = (math.inf, 0.0)
    extras: tuple[bool, bool, bool] = (False, False, False)

    def add(self, rows: Rows) -> None:
        """One chunk."""
        if rows.X.shape[1] != self.size:
            raise EstimationError(f"X must have {self.size} columns in every batch, not {rows.X.shape[1]}")
        tells = rows.tells
        count = int(np.count_nonzero(tells))
        self.n, self.informative = self.n + rows.size, self.informative + count
        self.total += rows.size if rows.weights is None else float(rows.weights.sum())
        X = rows.X if rows.weights is None else rows.X * np.sqrt(rows.weights)[:, None]
        product = X.T @ X
        self.everything = self.everything + product
        self.gram = self.gram + (product if count == rows.size else X[tells].T @ X[tells])
        if rows.size:
            self.low, self.high = np.minimum(self.low, rows.X.min(axis=0)), np.maximum(self.high, rows.X.max(axis=0))
        self.sample.add(rows)
        self.designs, self.epsilon = _seen(self.designs, *self.epsilon, rows)
        self.extras = (rows.weights is not None, rows.clusters is not None, rows.strata is not None)

    def __add__(self, other: _Look) -> _Look:
        if self.n == 0 or other.n == 0:
            return self if other.n == 0 else other
        designs = None if self.designs is None or other.designs is None else self.designs | other.designs
        return _Look(
            self.size,
            self.sample + other.sample,
            self.n + other.n,
            self.informative + other.informative,
            self.total + other.total,
            self.gram + other.gram,
            self.everything + other.everything,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            None if designs is None or len(designs) > _LISTED else designs,
            (min(self.epsilon[0], other.epsilon[0]), max(self.epsilon[1], other.epsilon[1])),
            self.extras,
        )


@dataclass(frozen=True)
class _Looking:
    """Looks at some chunks."""

    size: int

    def __call__(self, chunks: Iterator[Rows]) -> _Look:
        found = _Look(self.size, EvenSample())
        for rows in chunks:
            found.add(rows)
        return found


def scan(source: Source, names: Sequence[str]) -> Scan:
    """Read all rows once; refuse what cannot be learned from."""
    size = len(names)
    seen = summed(source, _Looking(size))
    n, informative, total = seen.n, seen.informative, seen.total
    gram, everything, low, high = seen.gram, seen.everything, seen.low, seen.high
    if n < size or size == 0:
        raise EstimationError(
            f"X has {n:,} rows and {size} columns; a regression needs at least one column and as many rows as columns"
        )
    if informative == 0:
        raise NotIdentifiedError(
            "p00 + p11 = 1 in every row: the reports do not depend on the truth, and nothing can be learned from them"
        )
    _refuse_collinear(gram, everything, source, names)
    constant = tuple(bool(same) for same in low == high)
    return Scan(
        n,
        informative,
        total,
        gram / total,
        np.maximum(np.abs(low), np.abs(high)),
        joined(seen.sample.parts()),
        None if seen.designs is None else tuple(sorted(seen.designs)),
        seen.epsilon,
        *seen.extras,
        constant,
    )


def design_epsilon(channel: Floats) -> Floats:
    """ε of each row's design: the largest log ratio of a report's two probabilities; infinite if one of them is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.abs(np.log(channel[1]) - np.log(channel[0]))
    # A report that never occurs under either truth (nan) reveals nothing.
    return np.asarray(np.where(np.isnan(ratio), 0.0, ratio).max(axis=0))


def _seen(
    designs: set[Channel] | None, least: float, most: float, rows: Rows
) -> tuple[set[Channel] | None, tuple[float, float]]:
    if not rows.size:
        return designs, (least, most)
    epsilon = design_epsilon(rows.channel)
    least, most = min(least, float(epsilon.min())), max(most, float(epsilon.max()))
    if designs is not None:
        left = rows.channel
        while left.shape[2] and len(designs) <= _LISTED:
            first = left[:, :, :1]
            no, yes = first[:, :, 0].tolist()
            designs = designs | {(tuple(no), tuple(yes))}
            left = left[:, :, (left != first).any(axis=(0, 1))]
        if len(designs) > _LISTED:
            designs = None
    return designs, (least, most)


def _refuse_collinear(gram: Floats, everything: Floats, source: Source, names: Sequence[str]) -> None:
    if not dependent_columns(gram, _SUSPECT):
        return
    # The Gram matrix squares the condition number: look again with orthogonal factors before refusing.
    dependent = dependent_columns(summed(source, _Triangles(len(names))).factor, _COLLINEAR, triangular=True)
    if not dependent:
        return
    column, others = dependent
    if not dependent_columns(everything, _SUSPECT):
        raise NotIdentifiedError(
            f'the coefficient of "{names[column]}" is not identified: in the rows whose reports depend on the truth '
            f"(p00 + p11 ≠ 1) it is a combination of the other columns"
        )
    raise collinear(names, column, others)


def collinear(names: Sequence[str], column: int, others: Sequence[int]) -> EstimationError:
    """The error that names the columns."""
    if not others:
        return EstimationError(f'column "{names[column]}" of X is zero throughout; leave it out')
    listed = ", ".join(f'"{names[j]}"' for j in others)
    return EstimationError(
        f'X is collinear: column "{names[column]}" is a linear combination of {listed}; leave one of them out'
    )


@dataclass(frozen=True, eq=False)
class Triangle:
    """The triangular factor of some rows; that of the rows of two is the factor of both on top of each other."""

    factor: Floats

    @classmethod
    def of(cls, rows: Floats) -> Triangle:
        """Of a matrix."""
        return cls(np.asarray(np.linalg.qr(rows, mode="r"), float))

    @classmethod
    def nothing(cls, columns: int) -> Triangle:
        """Of no rows."""
        return cls(np.zeros((0, columns)))

    def __add__(self, other: Triangle) -> Triangle:
        if not (len(self.factor) and len(other.factor)):
            return self if len(self.factor) else other
        return Triangle.of(np.vstack([self.factor, other.factor]))


@dataclass(frozen=True, eq=False)
class _Triangles:
    """The triangular factor of rows whose reports depend on the truth."""

    columns: int

    def __call__(self, chunks: Iterator[Rows]) -> Triangle:
        found = Triangle.nothing(self.columns)
        for rows in chunks:
            tells = rows.tells
            found = found + Triangle.of(rows.X if tells.all() else rows.X[tells])
        return found


def dependent_columns(matrix: Floats, tolerance: float, *, triangular: bool = False) -> tuple[int, list[int]] | None:
    """The first column that the ones before it explain, and those among them that do.

    ``matrix`` is a Gram matrix (tolerance on squares) or, more accurate, a triangular factor.
    """
    size = matrix.shape[1]
    root = matrix if triangular else _root(matrix)
    norms = np.linalg.norm(root, axis=0) if triangular else np.sqrt(np.diag(matrix))
    for column in range(size):
        if norms[column] == 0:
            return column, []
        if column == 0:
            continue
        before = root[:, :column] / norms[:column]
        shares, *_ = np.linalg.lstsq(before, root[:, column] / norms[column], rcond=None)
        left = float(np.linalg.norm(root[:, column] / norms[column] - before @ shares))
        if (left if triangular else left * left) <= tolerance:
            return column, [j for j in range(column) if abs(shares[j]) > 1e-6]
    return None


def _root(gram: Floats) -> Floats:
    """R with R'R = gram."""
    scale = np.sqrt(np.maximum(np.diag(gram), 1e-300))
    values, vectors = np.linalg.eigh(gram / np.outer(scale, scale))
    return np.asarray((np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T) * scale)
