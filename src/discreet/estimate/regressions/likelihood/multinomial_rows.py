"""The rows of a regression of one-of-k answers: covariates, and the channel each report went through."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.data.checks import (
    checked_codes,
    checked_labels,
    checked_matrix,
    checked_names,
    checked_numbers,
    checked_weights,
    row_of,
)
from discreet.estimate.data.map_reduce import nbytes
from discreet.estimate.regressions.likelihood.designs import channels_of, refuse_unidentified
from discreet.estimate.regressions.likelihood.scan import collinear, dependent_columns


@dataclass(frozen=True, eq=False)
class ClassRows:
    """Some rows.

    ``given[i, j]`` is the probability of the report that row i made, under truth j; ``design[i]`` says through
    which of ``channels`` it went. ``outcome`` is a public outcome, where the randomised answer is a predictor. Where
    equal rows were put together, ``weights`` holds Σw of each and ``squares`` Σw².
    """

    X: Floats
    report: NDArray[np.int64]
    given: Floats
    design: NDArray[np.int64]
    weights: Floats | None = None
    clusters: NDArray[Any] | None = None
    outcome: Floats | None = None
    strata: NDArray[Any] | None = None
    squares: Floats | None = None
    first_row: int = 0

    @property
    def size(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def nbytes(self) -> int:
        """What they take."""
        return nbytes(*(getattr(self, name) for name in self.__dataclass_fields__ if name != "first_row"))

    def take(self, which: Any) -> ClassRows:
        """Some of these rows; a slice gives views."""
        parts: dict[str, Any] = {
            name: None if getattr(self, name) is None else getattr(self, name)[which]
            for name in self.__dataclass_fields__
            if name != "first_row"
        }
        first = self.first_row + (which.start or 0) if isinstance(which, slice) else self.first_row
        return ClassRows(**parts, first_row=first)


def class_rows(
    X: Any,
    y: Any,
    mechanism: Any,
    *,
    outcome: Any = None,
    designs: Any = None,
    weights: Any = None,
    clusters: Any = None,
    strata: Any = None,
    first_row: int = 0,
) -> tuple[ClassRows, tuple[Floats, ...]]:
    """Rows from what a user gave to a regression of, or on, a one-of-k answer, and the channels of their reports."""
    design = checked_matrix(X, "X", first_row)
    n = design.shape[0]
    channels, which = channels_of(mechanism, designs, n, first_row)
    refuse_unidentified(channels)
    report, given = given_truths(y, channels, which, first_row)
    rows = ClassRows(
        design,
        report,
        given,
        which,
        None if weights is None else checked_weights(weights, n, first_row),
        checked_labels(clusters, n, "clusters", first_row),
        None if outcome is None else checked_numbers(outcome, n, "outcome", first_row),
        checked_labels(strata, n, "strata", first_row),
        first_row=first_row,
    )
    return rows, channels


def class_labels(classes: Sequence[Any] | None, channels: Sequence[Floats]) -> tuple[str, ...]:
    """One name per class."""
    count = channels[0].shape[0]
    return checked_names(range(count) if classes is None else classes, None, count, "classes")


def given_truths(
    y: Any, channels: Sequence[Floats], design: NDArray[np.int64], first_row: int = 0
) -> tuple[NDArray[np.int64], Floats]:
    """The report codes, and their probabilities under each truth."""
    reports = np.array([channel.shape[1] for channel in channels])[design]
    codes = checked_codes(y, reports, design.size, first_row)
    given = np.empty((codes.size, channels[0].shape[0]))
    for position, channel in enumerate(channels):
        rows = design == position
        given[rows] = channel.T[codes[rows]]
    impossible = given.max(axis=1, initial=0.0) == 0
    if impossible.any():
        raise EstimationError(f"y: {row_of(impossible, first_row)} is a report that no truth can give")
    return codes, given


def refuse_collinear(design: Floats, names: Sequence[str]) -> None:
    """Covariates must be of full rank, with enough rows."""
    n, size = design.shape
    if size == 0 or n < size:
        raise EstimationError(
            f"X has {n:,} rows and {size} columns; a regression needs at least one column and as many rows as columns"
        )
    dependent = dependent_columns(np.asarray(np.linalg.qr(design, mode="r")), 1e-10, triangular=True)
    if dependent:
        raise collinear(names, *dependent)
