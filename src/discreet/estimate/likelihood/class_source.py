"""Rows of one-of-k answers from any source: looked at once, equal ones put together, held where they fit.

A likelihood is a sum over rows, and equal rows (the same covariates, report, design and outcome) add the same term:
with a few discrete covariates millions of rows are a few hundred different ones, with Σw and Σw² of each. Where rows
differ, starts are tried on a sample and the climb reads all rows again, in bounded memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.likelihood.multinomial_rows import ClassRows
from discreet.estimate.likelihood.objective import Chunks
from discreet.estimate.likelihood.rows import CHUNK
from discreet.estimate.likelihood.scan import SAMPLE, collinear, dependent_columns

#: Different rows that are kept when equal ones are put together.
_DIFFERENT = 1 << 16
#: Numbers that are held in memory rather than read again on every pass (2^24: 128 MB).
_HELD = 1 << 24


class HeldRows:
    """Chunks kept in memory."""

    def __init__(self, chunks: Sequence[ClassRows]) -> None:
        self._chunks = chunks

    def chunks(self) -> Iterator[ClassRows]:
        """All rows; a new pass each time."""
        return iter(self._chunks)


class ClassStream:
    """Rows that are read anew on each pass."""

    def __init__(self, read: Callable[[], Iterable[ClassRows]]) -> None:
        self._read = read

    def chunks(self) -> Iterator[ClassRows]:
        """All rows, in pieces that fit the cache."""
        for rows in self._read():
            for start in range(0, rows.size, CHUNK):
                yield rows.take(slice(start, start + CHUNK))


class LiteralClasses:
    """A source whose reports are read as truths."""

    def __init__(self, source: Chunks, classes: int) -> None:
        self._source, self._classes = source, classes

    def chunks(self) -> Iterator[ClassRows]:
        """All rows; a new pass each time."""
        return (literally(rows, self._classes) for rows in self._source.chunks())


def literally(rows: ClassRows, classes: int) -> ClassRows:
    """The same rows with the reports read as truths."""
    if rows.size and int(rows.report.max()) >= classes:
        raise EstimationError("there are more kinds of reports than classes: they cannot be read as truths")
    return replace(rows, given=np.eye(classes)[rows.report], design=np.zeros(rows.size, np.int64))


@dataclass(frozen=True, eq=False)
class Seen:
    """What one pass over the rows tells.

    Attributes
    ----------
    n : int
    total : float
        Σw.
    gram, largest : array
        Mean of x x', and the largest absolute entry of each column.
    constant : array of bool
        Which columns are the same in every row.
    triangle : array
        R of the QR decomposition of the covariates and, last, of a public outcome.
    together : ClassRows or None
        All rows with equal ones put together, where there are few different ones.
    sample : ClassRows
        Rows to try starts on; all of them where there are not more than 16,384.
    source : Chunks
    weighted, clustered, stratified : bool
    """

    n: int
    total: float
    gram: Floats
    largest: Floats
    constant: NDArray[np.bool_]
    triangle: Floats
    together: ClassRows | None
    sample: ClassRows
    source: Chunks
    weighted: bool
    clustered: bool
    stratified: bool

    def literal(self, classes: int) -> Seen:
        """The same with the reports read as truths: the naive analysis."""
        together = None if self.together is None else literally(self.together, classes)
        sample, source = literally(self.sample, classes), LiteralClasses(self.source, classes)
        return replace(self, together=together, sample=sample, source=source)


def look(source: Chunks, columns: Sequence[str]) -> Seen:
    """Read all rows once; refuse covariates that cannot be told apart."""
    size, n, total, numbers = len(columns), 0, 0.0, 0
    gram, low, high = np.zeros((size, size)), np.full(size, np.inf), np.full(size, -np.inf)
    triangle: Floats = np.zeros((0, 0))
    held: list[ClassRows] | None = []
    equal, sampler, last = _Equal(), _Sampler(), None
    for rows in source.chunks():
        n, last = n + rows.size, rows
        total += rows.size if rows.weights is None else float(rows.weights.sum())
        gram += rows.X.T @ rows.X
        low, high = np.minimum(low, rows.X.min(axis=0)), np.maximum(high, rows.X.max(axis=0))
        own = rows.X if rows.outcome is None else np.column_stack([rows.X, rows.outcome])
        triangle = np.asarray(np.linalg.qr(np.vstack([triangle, own]) if triangle.size else own, mode="r"), float)
        equal.add(rows)
        sampler.add(rows)
        numbers += rows.size * (size + rows.given.shape[1] + 4)
        held = [*held, rows] if held is not None and numbers <= _HELD else None
    if size == 0 or n < size or last is None:
        raise EstimationError(
            f"X has {n:,} rows and {size} columns; a regression needs at least one column and as many rows as columns"
        )
    dependent = dependent_columns(triangle[:size, :size], 1e-10, triangular=True)
    if dependent:
        raise collinear(columns, *dependent)
    return Seen(
        n=n,
        total=total,
        gram=gram / n,
        largest=np.maximum(np.abs(low), np.abs(high)),
        constant=low == high,
        triangle=triangle,
        together=equal.rows(),
        sample=sampler.rows(),
        source=source if held is None else HeldRows(held),
        weighted=last.weights is not None,
        clustered=last.clusters is not None,
        stratified=last.strata is not None,
    )


class _Equal:
    """Equal rows put together, until there are too many different ones."""

    def __init__(self) -> None:
        self._places: dict[bytes, int] | None = {}
        self._first: list[ClassRows] = []
        self._weights: Floats = np.zeros(0)
        self._squares: Floats = np.zeros(0)
        self._n = 0

    def add(self, rows: ClassRows) -> None:
        """One chunk."""
        if self._places is None:
            return
        parts = [rows.X, rows.report, rows.design, *(() if rows.outcome is None else (rows.outcome,))]
        table = np.ascontiguousarray(np.column_stack(parts) + 0.0)  # no negative zeros
        keys = table.view(np.dtype((np.void, table.dtype.itemsize * table.shape[1]))).ravel()
        _, first, back = np.unique(keys, return_index=True, return_inverse=True)
        self._n += rows.size
        if self._n >= CHUNK and 4 * (len(self._places) + first.size) > self._n:
            self._places = None
            return
        known = len(self._places)
        places = np.array([self._places.setdefault(keys[row].tobytes(), len(self._places)) for row in first])
        if len(self._places) > _DIFFERENT:
            self._places = None
            return
        fresh = first[places >= known]
        self._first.append(rows.pick(fresh[np.argsort(places[places >= known])]))
        w = np.ones(rows.size) if rows.weights is None else rows.weights
        place, count = places[back], len(self._places)
        self._weights = _added(self._weights, np.asarray(np.bincount(place, w, count), float))
        self._squares = _added(self._squares, np.asarray(np.bincount(place, w * w, count), float))

    def rows(self) -> ClassRows | None:
        """The different rows, where there are few of them."""
        if self._places is None or not self._first or 4 * len(self._places) > self._n:
            return None
        whole = joined(self._first)
        return replace(whole, weights=self._weights, squares=self._squares, clusters=None, strata=None)


def _added(earlier: Floats, more: Floats) -> Floats:
    """Sums by place, of which there may be more now."""
    more[: earlier.size] += earlier
    return more


class _Sampler:
    """A random sample of all rows, at most 16,384; all of them, in order, where there are not more."""

    def __init__(self) -> None:
        self._chance = np.random.default_rng(20250)
        self._rows: list[ClassRows] = []
        self._keys = np.zeros(0)

    def add(self, rows: ClassRows) -> None:
        """One chunk."""
        self._rows.append(rows)
        self._keys = np.append(self._keys, self._chance.random(rows.size))
        if self._keys.size > 4 * SAMPLE:
            self._thin()

    def _thin(self) -> None:
        kept = np.sort(np.argpartition(self._keys, SAMPLE)[:SAMPLE])
        self._rows, self._keys = [joined(self._rows).pick(kept)], self._keys[kept]

    def rows(self) -> ClassRows:
        """The sample."""
        if self._keys.size > SAMPLE:
            self._thin()
        return joined(self._rows)


def joined(parts: Sequence[ClassRows]) -> ClassRows:
    """Rows of several chunks as one."""

    def stack(name: str) -> Any:
        values = [getattr(part, name) for part in parts]
        return None if values[0] is None else np.concatenate(values)

    return parts[0] if len(parts) == 1 else ClassRows(**{name: stack(name) for name in ClassRows.__dataclass_fields__})
