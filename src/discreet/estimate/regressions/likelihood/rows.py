"""The rows of a regression: checked once, then handed out in chunks that fit the cache."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.data.checks import (
    checked_codes,
    checked_labels,
    checked_matrix,
    checked_numbers,
    checked_weights,
    row_of,
)
from discreet.estimate.data.map_reduce import nbytes
from discreet.estimate.regressions.likelihood.designs import checked_channel

#: Rows handled at once: the working arrays of a step stay in the second-level cache.
CHUNK = 1 << 14
#: Probabilities this close are equal but for rounding (p00 + p11 = 0.3 + 0.7), and would teach nothing anyway.
_NO_DIFFERENCE = 1e-12


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows of a regression with a yes/no truth and any number of reports.

    ``channel[t, r]`` is the probability of report r under truth t, one number for all rows or one per row: its shape
    is (2, reports, 1) or (2, reports, rows). ``given_no`` and ``given_yes`` are those of the report that was made:
    the likelihood of a row is ``given_no (1 − G) + given_yes G``, whatever the design.
    """

    X: Floats
    report: NDArray[Any]
    channel: Floats
    given_no: Floats
    given_yes: Floats
    weights: Floats | None = None
    offset: Floats | None = None
    clusters: NDArray[Any] | None = None
    strata: NDArray[Any] | None = None
    first_row: int = 0

    @property
    def size(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def reports(self) -> int:
        """Number of different reports."""
        return int(self.channel.shape[1])

    @property
    def difference(self) -> Floats:
        """``P(r | yes) − P(r | no)`` of every report."""
        return np.asarray(self.channel[1] - self.channel[0])

    @property
    def tells(self) -> NDArray[np.bool_]:
        """Which rows have reports that depend on the truth."""
        telling = np.abs(self.difference).max(axis=0) > _NO_DIFFERENCE
        return np.broadcast_to(telling, self.size)

    @property
    def reads_yes(self) -> NDArray[np.bool_]:
        """Which reports sound like a "yes": report 1 of two, otherwise those that are likelier under a true "yes"."""
        if self.reports == 2:
            return np.array([[False], [True]])
        return np.asarray(self.difference > 0)

    @property
    def nbytes(self) -> int:
        """What they take; a channel that all rows share is that of others too."""
        units = (self.weights, self.offset, self.clusters, self.strata)
        own = self.channel if self.channel.shape[2] > 1 else None
        return nbytes(self.X, self.report, self.given_no, self.given_yes, *units, own)

    def take(self, which: Any) -> Rows:
        """Some of these rows; a slice gives views."""

        def part(name: str) -> Any:
            values = getattr(self, name)
            if name == "channel":
                return values if values.shape[2] == 1 else values[:, :, which]
            return values[which] if isinstance(values, np.ndarray) else values

        first = self.first_row + (which.start or 0) if isinstance(which, slice) else self.first_row
        return Rows(**{name: part(name) for name in self.__dataclass_fields__ if name != "first_row"}, first_row=first)

    def taken_literally(self) -> Rows:
        """The same rows with the reports read as truths: the naive analysis."""
        sounds = np.broadcast_to(self.reads_yes, (self.reports, self.size))
        yes = made_by(sounds[None], self.report)[0].astype(float)
        return replace(
            self, report=yes.astype(np.uint8), channel=np.eye(2)[:, :, None], given_no=1.0 - yes, given_yes=yes
        )


def made_by(channel: NDArray[Any], report: NDArray[Any]) -> NDArray[Any]:
    """The entries (truth, row) of a channel that belong to the report of each row."""
    if channel.shape[2] == 1:
        return np.asarray(channel[:, report, 0])
    return np.asarray(channel[:, report, np.arange(report.size)])


def joined(parts: Sequence[Rows]) -> Rows:
    """Rows from several chunks as one."""
    first = parts[0].channel
    alike = all(part.channel.shape == first.shape and (part.channel == first).all() for part in parts)

    def stack(name: str) -> Any:
        values = [getattr(part, name) for part in parts]
        if values[0] is None:
            return None
        if name == "channel":
            if alike and first.shape[2] == 1:
                return first
            full = [np.broadcast_to(part.channel, (2, part.reports, part.size)) for part in parts]
            return np.concatenate(full, axis=2)
        return np.concatenate(values)

    return Rows(**{name: stack(name) for name in Rows.__dataclass_fields__ if name != "first_row"})


class ArrayRows:
    """Rows of any model, held in memory."""

    def __init__(self, rows: Any) -> None:
        self.rows = rows
        self._chunks = [rows.take(slice(start, start + CHUNK)) for start in range(0, rows.size, CHUNK)]

    def chunks(self) -> Iterator[Any]:
        """All rows; a new pass each time."""
        return iter(self._chunks)


def literally(rows: Rows) -> Iterator[Rows]:
    """The same rows with the reports read as truths."""
    yield rows.taken_literally()


def checked_rows(
    X: Any,
    y: Any,
    p00: Any = None,
    p11: Any = None,
    weights: Any = None,
    offset: Any = None,
    clusters: Any = None,
    first_row: int = 0,
    *,
    mechanism: Any = None,
    designs: Any = None,
    strata: Any = None,
) -> Rows:
    """Rows from what a user gave; an error names the argument and the row, never a value."""
    design = checked_matrix(X, "X", first_row)
    n = design.shape[0]
    channel = checked_channel(p00, p11, mechanism, designs, n, first_row)
    reports = channel.shape[1]
    report = checked_codes(y, reports, n, first_row).astype(np.min_scalar_type(reports - 1))
    no, yes = made_by(channel, report)
    if ((no == 0) & (yes == 0)).any():
        raise EstimationError(f"y: {row_of((no == 0) & (yes == 0), first_row)} is a report that no truth can give")
    return Rows(
        design,
        report,
        channel,
        no,
        yes,
        None if weights is None else checked_weights(weights, n, first_row),
        None if offset is None else checked_numbers(offset, n, "offset", first_row),
        checked_labels(clusters, n, "clusters", first_row),
        checked_labels(strata, n, "strata", first_row),
        first_row,
    )
