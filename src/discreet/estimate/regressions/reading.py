"""Rows of a release for a formula: complete ones, reports as codes, with equal rows found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.blocks import Block
from discreet.domains.columns import without_dictionary
from discreet.estimate.data.checks import checked_weights
from discreet.estimate.data.map_reduce import nbytes
from discreet.estimate.data.rows import Rows
from discreet.estimate.formulas import Sides
from discreet.estimate.regressions.cells import Codes, narrow
from discreet.estimate.regressions.randomised import RandomisedColumn, randomised_column
from discreet.estimate.regressions.sample import Sample
from discreet.reading import Release

Indices = NDArray[np.intp]
#: Rows that are looked at together.
_ROWS = 1 << 18


@dataclass(frozen=True, eq=False)
class EncodedRows:
    """Distinct rows as a model takes them.

    Attributes
    ----------
    public : pyarrow.Table
        The public predictors; without any, a column that says how many rows there are.
    outcome : Arrow array or None
        A public outcome.
    codes : tuple of array
        The reports of every randomised column, with the design where there are several.
    sample : Sample
        The rows that these stand for.
    """

    public: pa.Table
    outcome: pa.Array | None
    codes: tuple[Codes, ...]
    sample: Sample

    @property
    def rows(self) -> int:
        """Number of distinct rows."""
        return int(self.public.num_rows)

    @property
    def nbytes(self) -> int:
        """What they take."""
        return nbytes(self.public, self.outcome, *self.codes) + self.sample.nbytes

    def take(self, rows: slice, sample: Sample) -> EncodedRows:
        """Some distinct rows, and the sample that points to them."""
        outcome = None if self.outcome is None else self.outcome[rows]
        public = self.public.slice(rows.start, rows.stop - rows.start)
        return EncodedRows(public, outcome, tuple(one[rows] for one in self.codes), sample)


@dataclass(frozen=True, eq=False)
class FormulaColumns:
    """The columns of a formula: which were randomised, which are public, which must not be blank.

    Attributes
    ----------
    release : Release
    sides : Sides
        The formula.
    known : tuple of str
        Randomised columns whose numbers are known here, because they were written out as copies.
    naive : bool
        Take the reports for the truth.
    """

    release: Release
    sides: Sides
    known: tuple[str, ...] = ()
    naive: bool = False

    @cached_property
    def blocks(self) -> dict[str, Block]:
        """The blocks of randomised columns of the formula."""
        found = self.release.manifest.blocks
        blocks = {column: block.beside_others(column) for block in found for column in block.columns}
        named = (*self.sides.variables, self.sides.outcome)
        return {name: blocks[name] for name in named if name in blocks}

    @property
    def private(self) -> list[str]:
        """Randomised predictors."""
        return [name for name in self.sides.variables if name in self.blocks and name not in self.known]

    @property
    def public(self) -> list[str]:
        """The other predictors, those with known numbers last."""
        plain = [name for name in self.sides.variables if name not in self.blocks]
        return plain + [name for name in self.sides.variables if name in self.blocks and name in self.known]

    @property
    def randomised_outcome(self) -> bool:
        """Whether the outcome is one of the randomised columns."""
        return self.sides.outcome in self.blocks and self.sides.outcome not in self.known

    @cached_property
    def randomised(self) -> tuple[RandomisedColumn, ...]:
        """The randomised columns: predictors first."""
        names = [*self.private, *([self.sides.outcome] if self.randomised_outcome else [])]
        private = set(self.private)
        found = tuple(randomised_column(name, self.blocks[name], predictor=name in private) for name in names)
        return tuple(column.taken_literally() for column in found) if self.naive else found

    def tables(self, missing: Literal["error", "drop"]) -> Iterator[pa.Table]:
        """Complete rows, batch by batch."""
        survey, named = self.release.survey, (*self.sides.variables, self.sides.outcome)
        aside = [survey.weight, survey.cluster, survey.strata, *(block.by for block in self.blocks.values())]
        names = list(dict.fromkeys([*named, *(name for name in aside if name is not None)]))
        # A blank that was randomised is an answer like any other; a weight that is missing is refused, never dropped.
        blanks = [name for name in names if name in self.blocks and not self.blocks[name].gaps]
        blanks += [] if survey.weight is None else [survey.weight]
        nothing: dict[str, Any] = {"weights": None, "strata": None, "clusters": None}
        rows = Rows(self.release, self.release.rows, (), **nothing, table=names, missing=missing, blanks=blanks)
        return (batch.table for batch in rows.batches() if batch.table is not None)

    def encoded(
        self,
        table: pa.Table,
        records: pa.Table | None = None,
        copies: tuple[Indices, Floats] | None = None,
        first_row: int = 0,
    ) -> EncodedRows:
        """Rows as a model takes them, equal ones found.

        Parameters
        ----------
        table : pyarrow.Table
        records, copies : optional
            Where rows are copies of records: the records; whose copy each row is, and what it weighs.
        first_row : int
            How many rows there are before these.
        """
        public = [without_dictionary(table[name]) for name in self.public]
        outcome = None if self.randomised_outcome else without_dictionary(table[self.sides.outcome])
        codes = tuple(column.read(table, first_row) for column in self.randomised)
        seen = [*public, *([] if outcome is None else [outcome]), *codes]
        first, back = distinct_rows(seen, table.num_rows)
        sample = self._sample(table if records is None else records, back, copies)
        if first is not None:
            public, codes = [one.take(pa.array(first)) for one in public], tuple(one[first] for one in codes)
            outcome = None if outcome is None else outcome.take(pa.array(first))
        rows = table.num_rows if first is None else first.size
        shown = pa.table(public, names=self.public) if public else pa.table({"": pa.nulls(rows)})
        return EncodedRows(shown, outcome, codes, sample)

    def _sample(self, records: pa.Table, distinct: Codes | None, copies: tuple[Indices, Floats] | None) -> Sample:
        """Weights, clusters and strata as the manifest names them."""
        survey, count = self.release.survey, records.num_rows
        weights = None
        if survey.weight is not None:
            weights = checked_weights(
                without_dictionary(records[survey.weight]), count, name=f'column "{survey.weight}"'
            )
        units = {
            role: None if name is None else without_dictionary(records[name])
            for role, name in (("clusters", survey.cluster), ("strata", survey.strata))
        }
        if copies is None:
            return Sample(count, distinct, weights, **units)
        record, own = copies
        return Sample(count, distinct, own if weights is None else weights[record] * own, **units, records=record)


@dataclass(frozen=True, eq=False)
class ReadRows:
    """Reads the rows of a release, or of a part of one."""

    sides: Sides
    missing: Literal["error", "drop"]
    naive: bool

    def __call__(self, part: Release, first_row: int) -> Iterator[EncodedRows]:
        """Batch by batch."""
        columns = FormulaColumns(part, self.sides, naive=self.naive)
        for table in columns.tables(self.missing):
            for start in range(0, table.num_rows, _ROWS):
                yield columns.encoded(table.slice(start, _ROWS), first_row=first_row + start)
            first_row += table.num_rows


def distinct_rows(
    columns: Sequence[pa.Array | NDArray[Any]], rows: int, most: int | None = None
) -> tuple[Indices | None, Codes | None]:
    """The first row of each distinct combination, and the combination of each row; None where every row is its own.

    Where a column alone has more than so many different values (default: half the rows), looking further is not worth
    it.
    """
    most = rows // 2 if most is None else most
    key = np.zeros(rows, np.int64)
    for column in columns:
        if isinstance(column, np.ndarray) and column.dtype.kind == "u":
            size, codes = int(column.max(initial=0)) + 1, column
        else:
            encoded = column.dictionary_encode()
            size, codes = max(len(encoded.dictionary), 1), encoded.indices.to_numpy(zero_copy_only=False)
        if size > most:
            return None, None
        if (int(key.max(initial=0)) + 1) * size > 1 << 62:
            key = np.unique(key, return_inverse=True)[1]
        key = key * size + codes
    _, first, back = np.unique(key, return_index=True, return_inverse=True)
    return (None, None) if first.size == rows else (first, narrow(back, first.size))
