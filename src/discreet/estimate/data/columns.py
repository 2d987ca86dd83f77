"""How the codes of one column come out of a batch of rows: reports in memory, reports of a release, public labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet import arrow_functions as pc
from discreet.arguments import Floats
from discreet.blocks import design_name
from discreet.domains import FiniteDomain
from discreet.domains.columns import as_arrow, without_dictionary
from discreet.errors import DomainError, EstimationError, ReleaseError
from discreet.estimate.channels.channel import Channels
from discreet.estimate.channels.report_codes import report_codes
from discreet.estimate.data.checks import checked_length, row_of
from discreet.estimate.data.label_codes import LabelIndex
from discreet.estimate.data.map_reduce import rows_of, summed
from discreet.mechanisms import GeneralizedResponse


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


class ArrayColumn:
    """Report codes in memory, possibly of several designs."""

    value_notes: tuple[str, ...] = ()

    def __init__(self, reports: Any, channels: Channels, designs: Any = None) -> None:
        self.codes = report_codes(reports)
        self._channels = channels
        if (designs is not None) != bool(channels.names):
            raise EstimationError(
                "designs= names the design of every row, and goes with a mapping from those names to mechanisms"
            )
        self._designs = None if designs is None else StackedReports(channels, "designs")
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


class DesignIndex:
    """Which design each row names."""

    def __init__(self, names: Sequence[Any], column: str) -> None:
        self._names = [design_name(name) for name in names]
        self._column = column
        self._labels = LabelIndex(f'"{column}"')

    def positions(self, labels: Any, first_row: int = 0) -> NDArray[np.int64]:
        """The position of every row's design among the names."""
        found = self._labels.encode(labels, first_row)
        place = {name: position for position, name in enumerate(self._names)}
        positions = np.array([place.get(design_name(label), -1) for label in self._labels.labels], np.int64)[found]
        if positions.size and positions.min() < 0:
            known = ", ".join(f'"{name}"' for name in self._names)
            raise EstimationError(
                f'"{self._column}": {row_of(positions < 0, first_row)} names no design; known are {known}'
            )
        return positions


class StackedReports:
    """The reports of several designs side by side: a code says both which design a row had and what it reported."""

    def __init__(self, channels: Channels, column: str) -> None:
        self._channels = channels
        self._index = DesignIndex(channels.names, column)
        self._sizes = np.array([one.shape[1] for one in channels.mechanisms])

    def stack(self, codes: NDArray[Any], names: Any, first_row: int) -> NDArray[np.int64]:
        """Codes that count the reports of the designs before this one."""
        positions = self._index.positions(names, first_row)
        wide = codes.astype(np.int64)
        bad = (wide < 0) | (wide >= self._sizes[positions])
        if bad.any():
            raise EstimationError(f"{row_of(bad, first_row)}: a report is out of range for its design")
        return np.asarray(wide + self._channels.offsets[positions])


class ReleaseColumn:
    """The reports of a private column of a release, with the designs that its manifest names."""

    def __init__(self, release: Any, column: str) -> None:
        block = release.block(column)
        if not isinstance(block.truths_of(column), FiniteDomain):
            raise EstimationError(
                f'column "{column}" holds numbers with noise, which have no list of values: ask for its mean, '
                "quantiles, or the expectation of a function, such as the share above a threshold"
            )
        self.column = column
        self.value_notes: tuple[str, ...] = block.value_notes
        self._domain = block.reports
        self._by: str | None = block.by
        designs: Mapping[str, Any] = block.designs if block.by is not None else {}
        self.channels = Channels.of(designs or block.mechanism, block.domain)
        self._designs = StackedReports(self.channels, block.by) if block.by is not None else None

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
        if self._designs is not None and self._by is not None:
            codes = self._designs.stack(codes, read(self._by), rows.start)
        return codes, missing


class PublicColumn:
    """A public column of a release, coded in the sorted order of its labels."""

    value_notes: tuple[str, ...] = ()

    def __init__(self, release: Any, name: str) -> None:
        self.column = name
        self._index = summed(rows_of(release, _ReadColumn(name)), _Labels(f'"{name}"'))
        pairs = self._index.in_order()
        self.channels = truthful(len(pairs), [label for label, _ in pairs], name)
        self._rank = np.empty(len(pairs), np.int64)
        self._rank[[code for _, code in pairs]] = np.arange(len(pairs))

    @property
    def reports(self) -> int:
        """Number of labels."""
        return self._rank.size

    @property
    def needs(self) -> list[str]:
        """The column."""
        return [self.column]

    def encode(self, read: Callable[[str], Any], rows: slice) -> tuple[NDArray[Any], None]:
        """Codes of these rows."""
        return self._rank[self._index.encode(read(self.column), rows.start)], None


@dataclass(frozen=True)
class _ReadColumn:
    """Reads one column of a release, or of a part of it."""

    name: str

    def __call__(self, part: Any, _: int) -> Iterator[Any]:
        return (batch.column(0) for batch in part.batches([self.name]))


@dataclass(frozen=True)
class _Labels:
    """The pass that collects the labels of a public column."""

    name: str

    def __call__(self, columns: Iterator[Any]) -> LabelIndex:
        index = LabelIndex(self.name, missing_is_a_group=True)
        for column in columns:
            index.encode(column)
        return index


def truthful(size: int, labels: Any, name: str | None = None) -> Channels:
    """A column that was copied: the channel that always tells the truth."""
    if size < 2:
        where = f'the public column "{name}"' if name else "a public column"
        raise EstimationError(f"{where} has fewer than two values: there is nothing to count or to cross")
    return Channels.of(GeneralizedResponse.from_weights(size, 1, 0), labels)


def listed_column(release: Any, name: str) -> ReleaseColumn | PublicColumn:
    """A column of a release with a list of values, private or public."""
    try:
        return ReleaseColumn(release, name)
    except ReleaseError:
        if name not in release.columns:
            raise
    return PublicColumn(release, name)


class NumberColumn:
    """Numbers in memory or in a release: a public column, or reports of one coordinate of a box."""

    reports = 1  # there are no codes

    def __init__(self, name: str | None, values: Floats | None = None) -> None:
        self.name, self.values = name, values

    @property
    def needs(self) -> list[str]:
        """The column of the release."""
        return [] if self.name is None else [self.name]

    def encode(self, read: Callable[[str], Any], rows: slice) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """The numbers of these rows, and which are missing."""
        numbers = (
            self.values[rows] if self.values is not None else as_numbers(read(str(self.name)), f'column "{self.name}"')
        )
        missing = np.isnan(numbers)
        return numbers, missing if missing.any() else None


def as_numbers(values: Any, what: str) -> Floats:
    """Entries as floats, nan where there is none; text that reads as numbers is taken, anything else refused."""
    try:
        array = without_dictionary(as_arrow(values))
        if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
            array = pc.if_else(pc.equal(array, ""), pa.scalar(None, array.type), array)
        if pa.types.is_boolean(array.type):
            array = array.cast(pa.int8())
        numbers = np.asarray(array.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy(zero_copy_only=False))
    except (DomainError, pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise EstimationError(f"{what} must hold numbers: other entries have no mean and no quantiles") from None
    if np.isinf(numbers).any():
        row = int(np.flatnonzero(np.isinf(numbers))[0])
        raise EstimationError(f"{what}: row {row} (counted from 0) must be a finite number")
    return numbers
