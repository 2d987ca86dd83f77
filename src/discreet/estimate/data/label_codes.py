"""Codes of public labels, the same over many batches, and sums by such codes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.domains.columns import as_arrow
from discreet.errors import DomainError, EstimationError

Ints = NDArray[np.int64]

#: The name of the group of rows whose public label is missing.
MISSING = "(missing)"


class LabelIndex:
    """Codes for public labels in order of appearance, the same across batches."""

    def __init__(self, name: str, *, missing_is_a_group: bool = False) -> None:
        self._name = name
        self._missing_is_a_group = missing_is_a_group
        self._codes: dict[Any, int] = {}

    @property
    def labels(self) -> list[Any]:
        """The labels met so far; None is the missing one."""
        return list(self._codes)

    def encode(self, column: Any, first_row: int = 0) -> Ints:
        """Codes of one batch."""
        try:
            array = as_arrow(column)
        except DomainError as error:
            raise EstimationError(f"{self._name}: {error}") from None
        if not pa.types.is_dictionary(array.type):
            array = array.dictionary_encode()
        positions = array.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        entries = array.dictionary.to_pylist()
        codes = np.zeros(len(entries) + 1, np.int64)  # the last one is that of position −1: missing
        for position in np.flatnonzero(np.bincount(positions + 1)) - 1:
            label = None if position < 0 else entries[position]
            if label is None and not self._missing_is_a_group:
                row = first_row + int(np.flatnonzero(positions == position)[0])
                raise EstimationError(f"{self._name}: row {row} (counted from 0) has no value")
            codes[position] = self._codes.setdefault(label, len(self._codes))
        return np.asarray(codes[positions])

    def __add__(self, other: LabelIndex) -> LabelIndex:
        both = LabelIndex(self._name, missing_is_a_group=self._missing_is_a_group)
        for one in (self, other):
            both.take(one)
        return both

    def take(self, other: LabelIndex) -> Ints:
        """The codes here of all labels that another index knows, in the order of its codes."""
        return np.array([self._codes.setdefault(label, len(self._codes)) for label in other._codes], np.int64)

    def in_order(self) -> list[tuple[Any, int]]:
        """Labels with their codes in sorted order, the missing one last and under its name."""
        present = [label for label in self._codes if label is not None]
        try:
            present.sort()
        except TypeError:
            present.sort(key=str)
        pairs = [(label, self._codes[label]) for label in present]
        if None in self._codes:
            if MISSING in self._codes:
                raise EstimationError(
                    f'{self._name}: a label is "{MISSING}", the name of the group of rows without a label'
                )
            pairs.append((MISSING, self._codes[None]))
        return pairs


def distinct(keys: Ints) -> tuple[Ints, Ints]:
    """Different keys in order, and where each row's key is among them; by counting where sorting is not needed."""
    if keys.size and keys.max() < 4 * keys.size:
        present = np.flatnonzero(np.bincount(keys))
        place = np.empty(int(keys.max()) + 1, np.int64)
        place[present] = np.arange(present.size)
        return present, place[keys]
    found, back = np.unique(keys, return_inverse=True)
    return found, back


class PairIndex:
    """Codes for pairs of codes in order of appearance."""

    def __init__(self) -> None:
        self._codes: dict[int, int] = {}

    def encode(self, first: Ints, second: Ints) -> Ints:
        """One code for each pair."""
        width = int(second.max(initial=0)) + 1
        keys, back = distinct(first * width + second)
        known = self._codes
        pairs = ((keys // width) << 32 | keys % width).tolist()
        return np.asarray(np.array([known.setdefault(pair, len(known)) for pair in pairs], np.int64)[back])

    def take(self, other: PairIndex, first: Ints, second: Ints) -> Ints:
        """The codes here of all pairs that another index knows; its codes of both parts have these codes here."""
        one, more = other.pairs()
        pairs = (first[one] << 32 | second[more]).tolist()
        return np.array([self._codes.setdefault(pair, len(self._codes)) for pair in pairs], np.int64)

    def __len__(self) -> int:
        return len(self._codes)

    def pairs(self) -> tuple[Ints, Ints]:
        """The pairs in the order of their codes."""
        keys = np.fromiter(self._codes, np.int64, len(self._codes))
        return keys >> 32, keys & 0xFFFFFFFF


class GroupIndex:
    """Codes for groups by one public column, or by every combination of several that occurs."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._columns: list[LabelIndex] = []
        self._pairs: list[PairIndex] = []

    def encode(self, given: Any, first_row: int = 0) -> Ints:
        """Codes of one batch; a list holds several columns."""
        columns = given if isinstance(given, list) else [given]
        if not self._columns:
            self._columns = [LabelIndex(self._name, missing_is_a_group=True) for _ in columns]
            self._pairs = [PairIndex() for _ in columns[1:]]
        found = [index.encode(column, first_row) for index, column in zip(self._columns, columns, strict=True)]
        codes = found[0]
        for pairs, more in zip(self._pairs, found[1:], strict=True):
            codes = pairs.encode(codes, more)
        return codes

    def take(self, other: GroupIndex) -> Ints:
        """The codes here of all groups that another index knows, in the order of its codes."""
        if not self._columns:
            self._columns = [LabelIndex(self._name, missing_is_a_group=True) for _ in other._columns]
            self._pairs = [PairIndex() for _ in other._pairs]
        maps = [mine.take(theirs) for mine, theirs in zip(self._columns, other._columns, strict=True)]
        codes = maps[0]
        for mine, theirs, more in zip(self._pairs, other._pairs, maps[1:], strict=True):
            codes = mine.take(theirs, codes, more)
        return codes

    def in_order(self) -> list[tuple[Any, int]]:
        """Labels with their codes, sorted column by column; labels of several columns are tuples."""
        columns = [index.in_order() for index in self._columns]
        if not self._pairs:
            return columns[0] if columns else []
        places = [{code: (place, label) for place, (label, code) in enumerate(column)} for column in columns]
        codes = np.arange(len(self._pairs[-1]))
        parts = []
        for pairs, place in zip(reversed(self._pairs), reversed(places), strict=False):
            before, own = pairs.pairs()
            parts.append([place[code] for code in own[codes].tolist()])
            codes = before[codes]
        parts.append([places[0][code] for code in codes.tolist()])
        keyed = [
            (tuple(place for place, _ in one), tuple(label for _, label in one), code)
            for code, one in enumerate(zip(*reversed(parts), strict=True))
        ]
        keyed.sort(key=lambda one: one[0])
        return [(labels, code) for _, labels, code in keyed]


class Cells:
    """Sparse sums by key: number of rows, Σw, Σw², and sums of whatever else is given."""

    def __init__(self) -> None:
        self._keys: Ints = np.zeros(0, np.int64)
        self._sums: Floats = np.zeros((3, 0))

    def add(self, keys: Ints, weights: Floats | None, more: Floats | None = None) -> None:
        """One batch of rows; ``more`` has one row of numbers for each."""
        if not keys.size:
            return
        present, back = distinct(keys)
        count = np.bincount(back)
        sums = [count] * 3
        if weights is not None:
            sums = [count, np.bincount(back, weights), np.bincount(back, weights**2)]
        if more is not None:
            sums += [np.bincount(back, column) for column in more.T]
        self._merge(present, np.array(sums, float))

    def _merge(self, keys: Ints, sums: Floats) -> None:
        merged, back = np.unique(np.concatenate([self._keys, keys]), return_inverse=True)
        earlier = self._sums if self._keys.size else np.zeros((len(sums), 0))
        both = np.concatenate([earlier, sums], axis=1)
        self._keys = merged
        self._sums = np.array([np.bincount(back, row, merged.size) for row in both])

    def take(self, other: Cells, block: Ints, size: int) -> None:
        """Sums of other rows, with keys ``block·size + code`` whose blocks have these codes here."""
        if other._keys.size:
            self._merge(block[other._keys // size] * size + other._keys % size, other._sums)

    def by_block(self, size: int) -> tuple[Ints, Ints, Floats]:
        """(block, code, sums) for keys that were made as ``block·size + code``."""
        return self._keys // size, self._keys % size, self._sums
