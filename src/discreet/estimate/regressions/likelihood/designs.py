"""The designs of a regression: through which channel each row's report went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import arguments
from discreet.arguments import Floats
from discreet.errors import EstimationError, NotIdentifiedError
from discreet.estimate.data.checks import checked_length, floats, row_of
from discreet.estimate.data.columns import DesignIndex
from discreet.mechanisms import FiniteMechanism


def channel_matrix(mechanism: Any) -> Floats:
    """The channel of a mechanism, or a matrix with rows that sum to one."""
    if isinstance(mechanism, FiniteMechanism):
        return mechanism.matrix()
    matrix = arguments.floats(mechanism, "mechanism, where it is a matrix,", EstimationError)
    if matrix.ndim != 2 or matrix.shape[0] < 2:
        raise EstimationError("mechanism must be a matrix with a row per true class (at least two) and finite entries")
    if (matrix < 0).any() or not np.allclose(matrix.sum(axis=1), 1.0, rtol=0, atol=1e-9):
        raise EstimationError("the rows of the mechanism's matrix must be probabilities that sum to one")
    return matrix


def channels_of(
    mechanism: Any, designs: Any, n: int, first_row: int = 0
) -> tuple[tuple[Floats, ...], NDArray[np.int64]]:
    """The channels, and which one each row used."""
    if designs is None:
        if isinstance(mechanism, Mapping):
            raise EstimationError("several mechanisms need designs=, which names the one of every row")
        return (channel_matrix(mechanism),), np.zeros(n, np.int64)
    if not isinstance(mechanism, Mapping) or not mechanism:
        raise EstimationError("designs= goes with a mapping from names to mechanisms")
    labels = checked_length(arguments.array(designs, "designs", EstimationError), n, "designs")
    channels = tuple(channel_matrix(one) for one in mechanism.values())
    if len({channel.shape[0] for channel in channels}) != 1:
        raise EstimationError("all mechanisms must have the same true classes")
    return channels, DesignIndex(list(mechanism), "designs").positions(labels, first_row)


def refuse_unidentified(channels: Sequence[Floats]) -> None:
    """The channels together must tell the classes apart."""
    stacked = np.hstack(channels)
    if np.linalg.matrix_rank(stacked, tol=1e-10 * max(stacked.shape)) < stacked.shape[0]:
        raise NotIdentifiedError(
            "the channel does not tell all classes apart (its rows are linearly dependent), and the coefficients "
            "are not identified"
        )


def checked_channel(p00: Any, p11: Any, mechanism: Any, designs: Any, n: int, first_row: int = 0) -> Floats:
    """The channels of a yes/no truth, (2, reports, 1) or (2, reports, rows), from p00 and p11 or from mechanisms."""
    if mechanism is None:
        if p00 is None or p11 is None:
            raise EstimationError("the design is missing: give p00 and p11, or mechanism=")
        if designs is not None:
            raise EstimationError("designs= goes with a mapping from names to mechanisms")
        no, yes = (_probabilities(value, n, name, first_row) for value, name in ((p00, "p00"), (p11, "p11")))
        no, yes = np.broadcast_arrays(np.atleast_1d(no), np.atleast_1d(yes))
        return np.array([[no, 1.0 - no], [1.0 - yes, yes]])
    if p00 is not None or p11 is not None:
        raise EstimationError("p00 and p11, or mechanism=: give one of them")
    channels, which = channels_of(mechanism, designs, n, first_row)
    if channels[0].shape[0] != 2:
        raise EstimationError(f"a yes/no answer has two true values, the mechanism has {channels[0].shape[0]}")
    if len(channels) == 1:
        return channels[0][:, :, None]
    most = max(channel.shape[1] for channel in channels)
    padded = np.zeros((2, most, len(channels)))
    for position, channel in enumerate(channels):
        padded[:, : channel.shape[1], position] = channel
    return padded[:, :, which]


def _probabilities(values: Any, n: int, name: str, first_row: int) -> Floats:
    """One probability, or one per row."""
    numbers = floats(values, name)
    if numbers.ndim == 0:
        if not 0 <= numbers <= 1:
            raise EstimationError(f"{name} must lie between 0 and 1")
        return numbers
    if numbers.shape != (n,):
        raise EstimationError(f"{name} must be one number, or one per row of X: {n:,}, not {numbers.size:,}")
    bad = ~((numbers >= 0) & (numbers <= 1))
    if bad.any():
        raise EstimationError(f"{name}: {row_of(bad, first_row)} must lie between 0 and 1")
    return numbers
