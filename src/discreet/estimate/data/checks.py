"""What a user gave about rows, checked in one way: an error names the argument and the row, never a value."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import arguments, limits
from discreet.arguments import Floats
from discreet.errors import EstimationError


def row_of(bad: NDArray[np.bool_], first_row: int) -> str:
    """Where the first bad row is, in words."""
    return f"row {first_row + int(np.flatnonzero(bad)[0])} (counted from 0)"


def floats(values: Any, name: str) -> Floats:
    """Numbers of any type as floats."""
    return arguments.floats(values, name, EstimationError, finite=False)


def checked_matrix(X: Any, name: str, first_row: int = 0) -> Floats:
    """Covariates: two-dimensional and finite."""
    design = floats(X, name)
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
    numbers = floats(values, name)
    checked_length(numbers, n, name)
    if not np.isfinite(numbers).all():
        raise EstimationError(f"{name}: {row_of(np.asarray(~np.isfinite(numbers)), first_row)} is missing or infinite")
    return numbers


def checked_weights(values: Any, n: int, first_row: int = 0, name: str = "weights") -> Floats:
    """Survey weights, one per row: positive and finite.

    Zero is refused: a row that stands for nobody would still count as a person in the variance.
    """
    weights = floats(values, name)
    checked_length(weights, n, name)
    # Squares of weights must not overflow.
    least, most = 1 / limits.LARGEST_NUMBER, limits.LARGEST_NUMBER
    usable = (weights >= least) & (weights <= most)
    if not usable.all():
        raise EstimationError(
            f"{name}: {row_of(~usable, first_row)} must be positive, from {least:g} to {most:g}; leave out rows "
            "that do not count"
        )
    return weights


def checked_population_sizes(values: Any, first_row: int, name: str) -> Floats:
    """Population sizes or sampling fractions, one per row: finite and above zero."""
    numbers = floats(values, name)
    bad = ~(np.isfinite(numbers) & (numbers > 0))
    if bad.any():
        raise EstimationError(
            f"{name}: {row_of(bad, first_row)} must be a population size, or a sampling fraction of at most 1"
        )
    return numbers


def checked_length(values: Any, n: int, name: str) -> Any:
    """Values, one per row."""
    shape = np.shape(values) if isinstance(values, np.ndarray) else (len(values),)
    if shape != (n,):
        size = f"{shape[0]:,}" if len(shape) == 1 else f"an array of {len(shape)} dimensions"
        raise EstimationError(f"{name} must have one entry per row: {n:,}, not {size}")
    return values


def checked_codes(y: Any, reports: int | NDArray[np.int64], n: int, first_row: int = 0) -> NDArray[np.int64]:
    """Report codes, one per row, from 0 to the number of reports (of the row's design) minus one."""
    codes = arguments.array(y, "y", EstimationError)
    if codes.dtype.kind != "b":
        codes = floats(codes, "y")
    checked_length(codes, n, "y")
    bad = ~((codes >= 0) & (codes < reports) & (codes == np.floor(codes.astype(float))))
    if bad.any():
        most = int(np.broadcast_to(reports, n)[bad][0])
        allowed = "0 or 1" if most == 2 else f"a whole number from 0 to {most - 1}"
        raise EstimationError(f"y: {row_of(bad, first_row)} must be {allowed}")
    return codes.astype(np.int64)


def checked_labels(given: Any, n: int, name: str, first_row: int = 0) -> NDArray[Any] | None:
    """Labels of clusters or strata, one per row; none may be missing."""
    if given is None:
        return None
    labels = arguments.array(given, name, EstimationError)
    checked_length(labels, n, name)
    if labels.dtype.kind == "O":
        missing = np.array([label is None or label != label for label in labels], bool)  # noqa: PLR0124  # nan
        labels = np.where(missing, "", labels.astype(str))
    else:
        missing = labels != labels if labels.dtype.kind == "f" else np.zeros(n, bool)  # noqa: PLR0124  # nan
    if missing.any():
        raise EstimationError(f"{name}: {row_of(missing, first_row)} has no label")
    return labels


def checked_names(names: Any, X: Any, columns: int, argument: str = "names") -> tuple[str, ...]:
    """One name per column: as given, from a table's header, or x1, x2, …"""
    if names is None:
        header = getattr(X, "column_names", getattr(X, "columns", None))  # Arrow tables; data frames
        names = [f"x{j + 1}" for j in range(columns)] if header is None else list(header)
    chosen = tuple(str(name) for name in arguments.listed(names, argument, EstimationError))
    if len(chosen) != columns:
        raise EstimationError(f"{argument} must hold one name per column of X: {columns}, not {len(chosen)}")
    if len(set(chosen)) != len(chosen):
        raise EstimationError(f"{argument} must differ from each other")
    return chosen
