"""Rows to learn from, batch by batch: from arrays in memory, or from a release and its manifest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet import limits
from discreet.domains.columns import as_arrow
from discreet.errors import DomainError, EstimationError, ReleaseError
from discreet.estimate.tally import Floats, LabelIndex, count_reports, report_codes
from discreet.manifest.blocks import design_name

if TYPE_CHECKING:
    from discreet.estimate.channels import Channels

#: Rows of an array handled at once when they carry more than a report.
_ROWS = 1 << 20


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows: report codes, and what else is known about each; ``answered`` is None when all have a report."""

    codes: NDArray[Any]
    first_row: int = 0
    answered: NDArray[np.bool_] | None = None
    weights: Floats | None = None
    strata: Any = None
    clusters: Any = None
    groups: Any = None


class Column(Protocol):
    """How the codes of one column come out of a batch of rows."""

    @property
    def reports(self) -> int:
        """Number of codes."""

    @property
    def needs(self) -> list[str]:
        """Columns of the release that are read."""

    def encode(self, read: Callable[[str], Any], rows: slice) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """Codes of these rows, and a mask of missing answers."""


def is_release(source: Any) -> bool:
    """Whether a source is a release rather than an array of reports."""
    return hasattr(source, "block") and hasattr(source, "batches")


class ArrayColumn:
    """Report codes in memory, possibly of several designs."""

    def __init__(self, reports: Any, channels: Channels, designs: Any = None) -> None:
        self.codes = report_codes(reports)
        self._channels = channels
        if (designs is not None) != bool(channels.names):
            raise EstimationError(
                "designs= names the design of every row, and goes with a mapping from those names to mechanisms"
            )
        self._designs = None if designs is None else DesignOfRow(channels, "designs")
        self._names = None if designs is None else checked_length(as_arrow(designs), self.codes.size, "designs")

    @property
    def reports(self) -> int:
        """Number of codes, over all designs."""
        return self._channels.reports

    @property
    def needs(self) -> list[str]:
        """Nothing of a release."""
        return []

    def encode(self, read: Callable[[str], Any], rows: slice) -> tuple[NDArray[Any], None]:
        """Codes of these rows."""
        del read  # the codes are here already
        codes = self.codes[rows]
        if self._designs is None or self._names is None:
            return codes, None
        return self._designs.stack(codes, self._names[rows], rows.start), None


class DesignOfRow:
    """Places the reports of each design side by side."""

    def __init__(self, channels: Channels, name: str) -> None:
        self._channels = channels
        self._name = name
        self._index = LabelIndex(f'"{name}"')
        self._position = {label: position for position, label in enumerate(channels.names)}

    def stack(self, codes: NDArray[Any], names: Any, first_row: int) -> NDArray[np.int64]:
        """Codes that count the reports of the designs before this one."""
        found = self._index.encode(names, first_row)
        positions = np.array([self._position.get(design_name(label), -1) for label in self._index.labels], np.int64)[
            found
        ]
        if positions.size and positions.min() < 0:
            row = first_row + int(np.flatnonzero(positions < 0)[0])
            raise EstimationError(
                f'"{self._name}": row {row} (counted from 0) names no design; known are '
                + ", ".join(f'"{name}"' for name in self._channels.names)
            )
        sizes = np.array([one.shape[1] for one in self._channels.mechanisms])
        wide = codes.astype(np.int64)
        if wide.size and (wide.min() < 0 or np.any(wide >= sizes[positions])):
            row = first_row + int(np.flatnonzero((wide < 0) | (wide >= sizes[positions]))[0])
            raise EstimationError(f"row {row} (counted from 0): a report is out of range for its design")
        return np.asarray(wide + self._channels.offsets[positions])


class ReleaseColumn:
    """The reports of a private column of a release, with the designs that its manifest names."""

    def __init__(self, release: Any, column: str) -> None:
        from discreet.estimate.channels import Channels

        block = release.block(column)
        self.column = column
        self._domain = block.reports
        self._missing = block.missing
        self._by: str | None = block.by
        designs: Mapping[str, Any] = block.designs if block.by is not None else {}
        self.channels = Channels.of(designs or block.mechanism, block.domain)
        self._designs = DesignOfRow(self.channels, block.by) if block.by is not None else None

    @property
    def reports(self) -> int:
        """Number of codes, over all designs."""
        return self.channels.reports

    @property
    def needs(self) -> list[str]:
        """The column, and the public one that names the designs."""
        return [self.column] if self._by is None else [self.column, self._by]

    def encode(self, read: Callable[[str], Any], rows: slice) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """Codes of these rows, and which answers are missing."""
        try:
            codes, missing = self._domain.encode_with_missing(read(self.column))
        except DomainError as error:
            raise error.at(column=self.column, first_row=rows.start) from None
        if missing is not None and self._missing != "public":
            row = rows.start + int(np.flatnonzero(missing)[0])
            raise EstimationError(f'column "{self.column}": row {row} (counted from 0) has no report')
        if self._designs is not None and self._by is not None:
            codes = self._designs.stack(codes, read(self._by), rows.start)
        return codes, missing


class PublicColumn:
    """A public column of a release, coded in the sorted order of its labels."""

    def __init__(self, name: str, index: LabelIndex, order: Sequence[int]) -> None:
        self._name = name
        self._index = index
        self._rank = np.empty(len(order), np.int64)
        self._rank[list(order)] = np.arange(len(order))

    @property
    def reports(self) -> int:
        """Number of labels."""
        return self._rank.size

    @property
    def needs(self) -> list[str]:
        """The column."""
        return [self._name]

    def encode(self, read: Callable[[str], Any], rows: slice) -> tuple[NDArray[Any], None]:
        """Codes of these rows."""
        return self._rank[self._index.encode(read(self._name), rows.start)], None


def checked_length(values: Any, rows: int, name: str) -> Any:
    """Values, one per row."""
    if len(values) != rows:
        raise EstimationError(f"{name} must have one entry per report: {rows:,}, not {len(values):,}")
    return values


def checked_weights(values: Any, name: str, first_row: int) -> Floats:
    """Survey weights of one batch: positive and finite.

    Zero is refused: a row that stands for nobody would still count as a person in the variance.
    """
    try:
        array = as_arrow(values)
        if pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        numbers = array.cast(pa.float64(), safe=False)
    except (DomainError, pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise EstimationError(f"{name} must be numbers") from None
    weights = numbers.fill_null(np.nan).to_numpy()
    usable = (weights >= 1 / limits.LARGEST_NUMBER) & (weights <= limits.LARGEST_NUMBER)  # squares must not overflow
    if not np.all(usable):
        row = first_row + int(np.flatnonzero(~usable)[0])
        raise EstimationError(
            f"{name}: row {row} (counted from 0) must be a positive, finite number; leave out rows that do not count"
        )
    return np.asarray(weights)


class Rows:
    """The rows of arrays or of a release: codes of one or two columns, weights, strata, clusters and groups.

    Parameters
    ----------
    release : Release or None
    total : int
        Number of rows.
    columns : sequence of Column
        One column for frequencies, two for a cross-table; the codes of two are combined row by row.
    weights, strata, clusters : array, column name or None
    groups : array, column name, sequence of either, or None
    """

    def __init__(
        self,
        release: Any,
        total: int,
        columns: Sequence[Column],
        *,
        weights: Any,
        strata: Any,
        clusters: Any,
        groups: Any,
    ) -> None:
        self._release = release
        self._total = total
        self._columns = columns
        self._aside = {"weights": weights, "strata": strata, "clusters": clusters, "groups": groups}
        #: Rows without an answer, whose blank is public: counted while the batches are read.
        self.left_out = 0
        for role, given in self._aside.items():
            if is_several(given, release):
                self._aside[role] = [self._checked(one, role) for one in given]
            elif given is not None:
                self._aside[role] = self._checked(given, role)

    def _checked(self, given: Any, role: str) -> Any:
        """A public column of the release, or one entry per row."""
        if isinstance(given, str):
            self._check_public(given, role)
            return given
        if self._release is not None and self._release.manifest.order != "keep":
            raise EstimationError(
                f"{_shown(role)}: an array cannot be matched to the rows of this release, which are in random order; "
                "name a public column of the release"
            )
        return checked_length(self._arrow(given, role), self._total, _shown(role))

    @staticmethod
    def _arrow(values: Any, role: str) -> pa.Array:
        try:
            return as_arrow(values)
        except DomainError as error:
            raise EstimationError(f"{_shown(role)}: {error}") from None

    def _check_public(self, column: str, role: str) -> None:
        if self._release is None:
            raise EstimationError(f"{_shown(role)} is a column name, which needs a release; give an array")
        if column not in self._release.columns:
            raise EstimationError(f'{_shown(role)}: the release has no column "{column}"')
        try:
            self._release.block(column)
        except ReleaseError:
            return
        raise EstimationError(
            f'{_shown(role)}: column "{column}" is private, its entries are randomised reports; use a public column '
            "(for two private columns, crosstab)"
        )

    def batches(self) -> Iterator[Batch]:
        """All rows; a new pass each time."""
        self.left_out = 0
        if self._release is None:
            yield from self._from_arrays()
        else:
            yield from self._from_release()

    def _from_arrays(self) -> Iterator[Batch]:
        alone = len(self._columns) == 1 and all(given is None for given in self._aside.values())
        step = max(self._total, 1) if alone else _ROWS
        for start in range(0, self._total, step):
            yield self._batch({}, slice(start, min(start + step, self._total)))

    def _from_release(self) -> Iterator[Batch]:
        names = {name for column in self._columns for name in column.needs}
        for given in self._aside.values():
            names |= {one for one in (given if isinstance(given, list) else [given]) if isinstance(one, str)}
        start = 0
        for record in self._release.batches([name for name in self._release.columns if name in names]):
            columns = dict(zip(record.schema.names, record.columns, strict=True))
            yield self._batch(columns, slice(start, start + record.num_rows))
            start += record.num_rows

    def _batch(self, columns: Mapping[str, Any], rows: slice) -> Batch:
        parts = [column.encode(columns.__getitem__, rows) for column in self._columns]
        codes, absent = parts[0]
        if len(parts) == 2:
            (first, second), (more, missing) = self._columns, parts[1]
            count_reports(codes, first.reports, rows.start)  # refuses codes out of range, which would mix up cells
            count_reports(more, second.reports, rows.start)
            codes = codes.astype(np.int64) * second.reports + more
            absent = missing if absent is None else absent if missing is None else absent | missing

        def part(given: Any) -> Any:
            if isinstance(given, list):
                return [part(one) for one in given]
            return given[rows] if isinstance(given, pa.Array) else columns[given] if given is not None else None

        aside = {role: part(given) for role, given in self._aside.items()}
        if aside["weights"] is not None:
            aside["weights"] = checked_weights(aside["weights"], _shown("weights", self._aside), rows.start)
        if absent is not None:
            self.left_out += int(np.count_nonzero(absent))
        return Batch(codes, rows.start, None if absent is None else ~absent, **aside)


def is_several(given: Any, release: Any) -> bool:
    """Whether a grouping is by several columns: a list of arrays or, with a release, of column names."""
    if not isinstance(given, (list, tuple)) or not given:
        return False
    if release is not None and all(isinstance(one, str) for one in given):
        return True
    return all(not isinstance(one, str) and np.ndim(one) == 1 for one in given)


def _shown(role: str, given: Mapping[str, Any] | None = None) -> str:
    """A role as the caller knows it: its keyword, or the column that was named for it."""
    if given is not None and isinstance(given[role], str):
        return f'column "{given[role]}"'
    return "by" if role == "groups" else role
