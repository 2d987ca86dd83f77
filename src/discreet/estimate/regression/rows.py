"""The rows of a regression: checked once, then handed out in chunks that fit the cache."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.errors import EstimationError

Floats = NDArray[np.float64]
#: Rows handled at once: the working arrays of a step stay in the second-level cache.
CHUNK = 1 << 14
#: p00 + p11 this close to 1 is 1 but for rounding (0.3 + 0.7), and nothing could be learned at this distance anyway.
_NO_DIFFERENCE = 1e-12


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows of a yes/no regression.

    ``given_no`` and ``given_yes`` are the probabilities of the report that was made, under a true "no" and a true
    "yes": the likelihood of a row is ``given_no (1 − G) + given_yes G``, whatever the design.
    """

    X: Floats
    report: NDArray[np.bool_]
    p00: float | Floats
    p11: float | Floats
    given_no: Floats
    given_yes: Floats
    weights: Floats | None = None
    offset: Floats | None = None
    clusters: NDArray[Any] | None = None
    first_row: int = 0

    @property
    def size(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def tells(self) -> NDArray[np.bool_]:
        """Which reports depend on the truth."""
        return np.asarray(np.abs(self.given_yes - self.given_no) > _NO_DIFFERENCE)

    def take(self, which: Any) -> Rows:
        """Some of these rows; a slice gives views."""

        def part(values: Any) -> Any:
            return values[which] if isinstance(values, np.ndarray) else values

        first = self.first_row + (which.start or 0) if isinstance(which, slice) else self.first_row
        return Rows(
            **{name: part(getattr(self, name)) for name in self.__dataclass_fields__ if name != "first_row"},
            first_row=first,
        )

    def taken_literally(self) -> Rows:
        """The same rows with the reports read as truths: the naive analysis."""
        yes = self.report.astype(float)
        return replace(self, p00=1.0, p11=1.0, given_no=1.0 - yes, given_yes=yes)


def joined(parts: Sequence[Rows]) -> Rows:
    """Rows from several chunks as one."""

    def stack(name: str) -> Any:
        values = [getattr(part, name) for part in parts]
        if values[0] is None:
            return None
        if name in {"p00", "p11"}:
            values = [np.broadcast_to(value, part.report.shape) for value, part in zip(values, parts, strict=True)]
        return np.concatenate(values)

    return Rows(**{name: stack(name) for name in Rows.__dataclass_fields__ if name != "first_row"})


class Source(Protocol):
    """Rows that can be read again and again, chunk by chunk."""

    def chunks(self) -> Iterator[Rows]:
        """All rows; a new pass each time."""


class ArrayRows:
    """Rows held in memory."""

    def __init__(self, rows: Rows) -> None:
        self._chunks = [rows.take(slice(start, start + CHUNK)) for start in range(0, rows.size, CHUNK)]

    def chunks(self) -> Iterator[Rows]:
        """All rows; a new pass each time."""
        return iter(self._chunks)


class LiteralRows:
    """A source whose reports are read as truths."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def chunks(self) -> Iterator[Rows]:
        """All rows; a new pass each time."""
        return (rows.taken_literally() for rows in self._source.chunks())


def checked_rows(
    X: Any,
    y: Any,
    p00: Any,
    p11: Any,
    weights: Any = None,
    offset: Any = None,
    clusters: Any = None,
    first_row: int = 0,
) -> Rows:
    """Rows from what a user gave; an error names the argument and the row, never a value."""
    design = checked_matrix(X, "X", first_row)
    n = design.shape[0]
    report = _labels(y, n, first_row)
    no, yes = (_probabilities(value, n, name, first_row) for value, name in ((p00, "p00"), (p11, "p11")))
    return Rows(
        design,
        report,
        no,
        yes,
        np.where(report, 1.0 - np.asarray(no), no),
        np.where(report, yes, 1.0 - np.asarray(yes)),
        checked_weights(weights, n, first_row),
        None if offset is None else checked_numbers(offset, n, "offset", first_row),
        checked_clusters(clusters, n, first_row),
        first_row,
    )


def row_of(bad: NDArray[np.bool_], first_row: int) -> str:
    """Where the first bad row is, in words."""
    return f"row {first_row + int(np.flatnonzero(bad)[0])} (counted from 0)"


def _floats(values: Any, name: str) -> Floats:
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "biuf" and array.dtype.kind != "O":
            raise TypeError
        return np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError):
        raise EstimationError(f"{name} must hold numbers only") from None


def checked_matrix(X: Any, name: str, first_row: int = 0) -> Floats:
    """Covariates: two-dimensional and finite."""
    design = _floats(X, name)
    if design.ndim != 2:
        raise EstimationError(f"{name} must have two dimensions, rows and columns, not {design.ndim}")
    with np.errstate(over="ignore", invalid="ignore"):
        fine = bool(np.isfinite(design.sum()))  # one addition per number; looked at closely only on suspicion
    if not fine and not np.isfinite(design).all():
        bad = ~np.isfinite(design)
        column = int(np.flatnonzero(bad.any(axis=0))[0])
        raise EstimationError(
            f"{name}: {row_of(np.asarray(bad.any(axis=1)), first_row)}, column {column} is missing or infinite; "
            "leave out such rows or fill them in first"
        )
    return design


def checked_numbers(values: Any, n: int, name: str, first_row: int = 0) -> Floats:
    """One finite number per row."""
    numbers = _floats(values, name)
    if numbers.shape != (n,):
        raise EstimationError(f"{name} must have one number per row of X: {n:,}, not {_shape(numbers)}")
    if not np.isfinite(numbers).all():
        raise EstimationError(f"{name}: {row_of(np.asarray(~np.isfinite(numbers)), first_row)} is missing or infinite")
    return numbers


def checked_weights(weights: Any, n: int, first_row: int = 0) -> Floats | None:
    """Survey weights: positive and finite."""
    if weights is None:
        return None
    numbers = checked_numbers(weights, n, "weights", first_row)
    if not (numbers > 0).all():
        raise EstimationError(
            f"weights: {row_of(numbers <= 0, first_row)} must be positive; leave out rows that do not count"
        )
    return numbers


def _labels(y: Any, n: int, first_row: int) -> NDArray[np.bool_]:
    labels = np.asarray(y)
    if labels.dtype.kind != "b":
        labels = _floats(labels, "y")
    if labels.shape != (n,):
        raise EstimationError(f"y must have one label per row of X: {n:,}, not {_shape(labels)}")
    bad = (labels != 0) & (labels != 1)
    if bad.any():
        raise EstimationError(f"y: {row_of(bad, first_row)} must be 0 or 1")
    return labels.astype(np.bool_)


def _probabilities(values: Any, n: int, name: str, first_row: int) -> float | Floats:
    numbers = _floats(values, name)
    if numbers.ndim == 0:
        if not 0 <= numbers <= 1:
            raise EstimationError(f"{name} must lie between 0 and 1")
        return float(numbers)
    if numbers.shape != (n,):
        raise EstimationError(f"{name} must be one number, or one per row of X: {n:,}, not {_shape(numbers)}")
    bad = ~((numbers >= 0) & (numbers <= 1))
    if bad.any():
        raise EstimationError(f"{name}: {row_of(bad, first_row)} must lie between 0 and 1")
    return numbers


def checked_clusters(clusters: Any, n: int, first_row: int = 0) -> NDArray[Any] | None:
    """Cluster labels, one per row; none may be missing."""
    if clusters is None:
        return None
    labels = np.asarray(clusters)
    if labels.shape != (n,):
        raise EstimationError(f"clusters must have one label per row of X: {n:,}, not {_shape(labels)}")
    if labels.dtype.kind == "O":
        missing = np.array([label is None or label != label for label in labels], bool)  # noqa: PLR0124  # nan
        labels = np.where(missing, "", labels.astype(str))
    else:
        missing = labels != labels if labels.dtype.kind == "f" else np.zeros(n, bool)  # noqa: PLR0124  # nan
    if missing.any():
        raise EstimationError(f"clusters: {row_of(missing, first_row)} has no label")
    return labels


def _shape(values: NDArray[Any]) -> str:
    return f"{values.size:,}" if values.ndim == 1 else f"an array of {values.ndim} dimensions"


def checked_names(names: Any, X: Any, columns: int, argument: str = "names") -> tuple[str, ...]:
    """One name per column: as given, from a table's header, or x1, x2, …"""
    if names is None:
        header = getattr(X, "column_names", getattr(X, "columns", None))  # Arrow tables; data frames
        names = [f"x{j + 1}" for j in range(columns)] if header is None else list(header)
    chosen = tuple(str(name) for name in names)
    if len(chosen) != columns:
        raise EstimationError(f"{argument} must hold one name per column of X: {columns}, not {len(chosen)}")
    if len(set(chosen)) != len(chosen):
        raise EstimationError(f"{argument} must differ from each other")
    return chosen
