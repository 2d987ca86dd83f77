"""Rows of one-of-k answers from any source: looked at once, and equal ones put together.

A likelihood is a sum over rows, and equal rows (the same covariates, report, design and outcome) add the same term:
with a few discrete covariates millions of rows are a few hundred different ones, with Σw and Σw² of each. Where rows
differ, starts are tried on a sample and the climb passes over all rows again, in bounded memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.data.map_reduce import Source, changed, summed
from discreet.estimate.regressions.likelihood.even_sample import EvenSample
from discreet.estimate.regressions.likelihood.multinomial_rows import ClassRows
from discreet.estimate.regressions.likelihood.rows import CHUNK
from discreet.estimate.regressions.likelihood.scan import Triangle, collinear, dependent_columns

#: Different rows that are kept when equal ones are put together.
_DIFFERENT = 1 << 16


def literally(rows: ClassRows, classes: int) -> ClassRows:
    """The same rows with the reports read as truths."""
    if rows.size and int(rows.report.max()) >= classes:
        raise EstimationError("there are more kinds of reports than classes: they cannot be read as truths")
    return replace(rows, given=np.eye(classes)[rows.report], design=np.zeros(rows.size, np.int64))


def _each_literally(rows: ClassRows, classes: int) -> Iterator[ClassRows]:
    yield literally(rows, classes)


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
    source : Source
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
    source: Source
    weighted: bool
    clustered: bool
    stratified: bool

    def literal(self, classes: int) -> Seen:
        """The same with the reports read as truths: the naive analysis."""
        together = None if self.together is None else literally(self.together, classes)
        source = changed(self.source, partial(_each_literally, classes=classes))
        return replace(self, together=together, sample=literally(self.sample, classes), source=source)


class EqualRows:
    """Equal rows put together, until there are too many different ones; two of them add up."""

    def __init__(self) -> None:
        self._places: dict[bytes, int] | None = {}
        self._first: list[ClassRows] = []
        self._weights: Floats = np.zeros(0)
        self._squares: Floats = np.zeros(0)
        self._n = 0

    def add(self, rows: ClassRows) -> None:
        """One chunk."""
        w = np.ones(rows.size) if rows.weights is None else rows.weights
        self._take(rows, w, w * w, rows.size)

    def __add__(self, other: EqualRows) -> EqualRows:
        both = EqualRows()
        for one in (self, other):
            if one._places is None:
                both._give_up()
            elif one._first:
                both._take(joined(one._first), one._weights, one._squares, one._n)
        return both

    def _take(self, rows: ClassRows, weights: Floats, squares: Floats, n: int) -> None:
        """Rows that stand for n, with the sums of their weights."""
        if self._places is None:
            return
        parts = [rows.X, rows.report, rows.design, *(() if rows.outcome is None else (rows.outcome,))]
        table = np.ascontiguousarray(np.column_stack(parts) + 0.0)  # no negative zeros
        keys = table.view(np.dtype((np.void, table.dtype.itemsize * table.shape[1]))).ravel()
        _, first, back = np.unique(keys, return_index=True, return_inverse=True)
        self._n += n
        if self._n >= CHUNK and 4 * (len(self._places) + first.size) > self._n:
            self._give_up()
            return
        known = len(self._places)
        places = np.array([self._places.setdefault(keys[row].tobytes(), len(self._places)) for row in first])
        if len(self._places) > _DIFFERENT:
            self._give_up()
            return
        fresh = first[places >= known]
        if fresh.size:
            self._first.append(rows.take(fresh[np.argsort(places[places >= known])]))
        place, count = places[back], len(self._places)
        self._weights = _added(self._weights, np.asarray(np.bincount(place, weights, count), float))
        self._squares = _added(self._squares, np.asarray(np.bincount(place, squares, count), float))

    def _give_up(self) -> None:
        self._places, self._first = None, []
        self._weights = self._squares = np.zeros(0)

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


@dataclass(eq=False)
class _Look:
    """What some rows tell; two of them add up, the first rows before the second."""

    n: int = 0
    total: float = 0.0
    gram: Any = 0.0
    low: Any = np.inf
    high: Any = -np.inf
    triangle: Triangle = field(default_factory=lambda: Triangle.nothing(0))
    equal: EqualRows = field(default_factory=EqualRows)
    sample: EvenSample = field(default_factory=EvenSample)
    extras: tuple[bool, bool, bool] = (False, False, False)

    def add(self, rows: ClassRows) -> None:
        """One chunk."""
        self.n += rows.size
        self.total += rows.size if rows.weights is None else float(rows.weights.sum())
        self.gram = self.gram + rows.X.T @ rows.X
        self.low, self.high = np.minimum(self.low, rows.X.min(axis=0)), np.maximum(self.high, rows.X.max(axis=0))
        own = rows.X if rows.outcome is None else np.column_stack([rows.X, rows.outcome])
        self.triangle = self.triangle + Triangle.of(own)
        self.equal.add(rows)
        self.sample.add(rows)
        self.extras = (rows.weights is not None, rows.clusters is not None, rows.strata is not None)

    def __add__(self, other: _Look) -> _Look:
        if not (self.n and other.n):
            return self if self.n else other
        return _Look(
            self.n + other.n,
            self.total + other.total,
            self.gram + other.gram,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            self.triangle + other.triangle,
            self.equal + other.equal,
            self.sample + other.sample,
            self.extras,
        )


def _looking(chunks: Iterator[ClassRows]) -> _Look:
    found = _Look()
    for rows in chunks:
        found.add(rows)
    return found


def look(source: Source, columns: Sequence[str]) -> Seen:
    """Pass over all rows once; refuse covariates that cannot be told apart."""
    size, seen = len(columns), summed(source, _looking)
    if size == 0 or seen.n < size:
        raise EstimationError(
            f"X has {seen.n:,} rows and {size} columns; a regression needs at least one column and as many rows as "
            "columns"
        )
    triangle = seen.triangle.factor
    dependent = dependent_columns(triangle[:size, :size], 1e-10, triangular=True)
    if dependent:
        raise collinear(columns, *dependent)
    weighted, clustered, stratified = seen.extras
    return Seen(
        n=seen.n,
        total=seen.total,
        gram=seen.gram / seen.n,
        largest=np.maximum(np.abs(seen.low), np.abs(seen.high)),
        constant=seen.low == seen.high,
        triangle=triangle,
        together=seen.equal.rows(),
        sample=joined(seen.sample.parts()),
        source=source,
        weighted=weighted,
        clustered=clustered,
        stratified=stratified,
    )


def joined(parts: Sequence[ClassRows]) -> ClassRows:
    """Rows of several chunks as one."""

    def stack(name: str) -> Any:
        values = [getattr(part, name) for part in parts]
        return None if values[0] is None else np.concatenate(values)

    if len(parts) == 1:
        return parts[0]
    return ClassRows(**{name: stack(name) for name in ClassRows.__dataclass_fields__ if name != "first_row"})
