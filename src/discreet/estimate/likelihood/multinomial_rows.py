"""The rows of a regression of one-of-k answers: covariates, and the channel each report went through."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import arguments
from discreet.errors import EstimationError
from discreet.estimate.likelihood.checks import checked_matrix, row_of
from discreet.estimate.likelihood.rows import CHUNK
from discreet.estimate.likelihood.scan import collinear, dependent_columns

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ClassRows:
    """Some rows.

    ``given[i, j]`` is the probability of the report that row i made, under truth j; ``design[i]`` says through
    which of ``channels`` it went. ``outcome`` is a public outcome, where the randomised answer is a predictor.
    """

    X: Floats
    report: NDArray[np.int64]
    given: Floats
    design: NDArray[np.int64]
    weights: Floats | None = None
    clusters: NDArray[Any] | None = None
    outcome: Floats | None = None
    strata: NDArray[Any] | None = None

    @property
    def size(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    def take(self, which: slice) -> ClassRows:
        """Some of these rows, as views."""
        parts: dict[str, Any] = {
            name: None if getattr(self, name) is None else getattr(self, name)[which]
            for name in self.__dataclass_fields__
        }
        return ClassRows(**parts)


class ClassArrays:
    """Rows held in memory."""

    def __init__(self, rows: ClassRows) -> None:
        self.rows = rows
        self._chunks = [rows.take(slice(start, start + CHUNK)) for start in range(0, rows.size, CHUNK)]

    def chunks(self) -> Iterator[ClassRows]:
        """All rows; a new pass each time."""
        return iter(self._chunks)


def given_truths(y: Any, channels: Sequence[Floats], design: NDArray[np.int64]) -> tuple[NDArray[np.int64], Floats]:
    """The report codes, and their probabilities under each truth."""
    codes = arguments.array(y, "y", EstimationError)
    if codes.shape != design.shape:
        raise EstimationError(f"y must have one report per row of X: {design.size:,}")
    if codes.dtype.kind not in "biu":
        whole = codes.dtype.kind == "f" and bool(np.isfinite(codes).all()) and bool((codes == np.floor(codes)).all())
        if not whole:
            raise EstimationError("y must hold report codes, whole numbers from 0")
    codes = codes.astype(np.int64)
    reports = np.array([channel.shape[1] for channel in channels])[design]
    bad = (codes < 0) | (codes >= reports)
    if bad.any():
        raise EstimationError(f"y: {row_of(bad, 0)} must be a whole number from 0 to {int(reports[bad][0]) - 1}")
    given = np.empty((codes.size, channels[0].shape[0]))
    for position, channel in enumerate(channels):
        rows = design == position
        given[rows] = channel.T[codes[rows]]
    if (given.max(axis=1, initial=0.0) == 0).any():
        raise EstimationError(f"y: {row_of(given.max(axis=1) == 0, 0)} is a report that no truth can give")
    return codes, given


def checked_design(X: Any, names: Sequence[str] | None = None) -> Floats:
    """Covariates of full rank, with enough rows."""
    design = checked_matrix(X, "X")
    n, size = design.shape
    if size == 0 or n < size:
        raise EstimationError(
            f"X has {n:,} rows and {size} columns; a regression needs at least one column and as many rows as columns"
        )
    dependent = dependent_columns(np.asarray(np.linalg.qr(design, mode="r")), 1e-10, triangular=True)
    if dependent:
        header = names if names is not None else [f"x{j + 1}" for j in range(size)]
        raise collinear(header, *dependent)
    return design
