"""How a batch of the source becomes a batch of the release, column by column.

::

    source batch ─ encode ─> codes ─ randomize ─> report codes ─ decode ─> released batch

The layout is worked out once, from the plan and the names and types of the source. Nothing of the source's
schema is carried over: no metadata, no dictionaries (one in order of appearance tells the original order), no
null bitmaps of private columns unless the plan says that blanks are public.
"""

from __future__ import annotations

import difflib
import json
import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet import arrow_functions as pc
from discreet.blocks import Block, Cells
from discreet.domains import Domain, FiniteDomain
from discreet.domains.buffers import array_of, blanks_of, numbers_of
from discreet.domains.columns import is_text
from discreet.errors import Argument, DomainError, ReleaseError
from discreet.plain_text import one_line
from discreet.publish.plan import Plan
from discreet.publish.run.answers import ReadAs, encode_answers
from discreet.publish.run.arrangement import MAX_KINDS, RowKinds
from discreet.publish.run.memoising import memoised
from discreet.publish.run.plain import plain_column, plain_type
from discreet.randomness import Randomness
from discreet.randomness.memoised import MemoKey
from discreet.reading.releases import decoded, report_type
from discreet.tables.readers import likely_delimiter

#: Batches are encoded by several threads.
_COUNTING = threading.Lock()


@dataclass(frozen=True)
class Layout:
    """The columns of a release and how each one is made.

    Parameters
    ----------
    plan : Plan
        What is to be done.
    schema : pa.Schema
        Names and types of the source.
    text : bool
        Whether every cell of the source is text.
    """

    plan: Plan
    schema: pa.Schema
    text: bool = False

    def __post_init__(self) -> None:
        present = set(self.schema.names)
        for name in self.source_columns:
            if name not in present:
                if self.text and (mark := likely_delimiter(self.schema.names)) is not None:
                    shown = "a tab" if mark == "\t" else f'"{mark}"'
                    raise ReleaseError(
                        f"the CSV file has one column as the plan reads it, but it seems to be separated by {shown}: "
                        f"say delimiter = {json.dumps(mark)} in the plan"
                    )
                close = difflib.get_close_matches(name, sorted(present), n=1)
                hint = f'; did you mean "{one_line(close[0])}"?' if close else ""
                raise ReleaseError(f'the table has no column "{name}", which the plan names{hint}')

    @cached_property
    def clipped(self) -> dict[str, int]:
        """How many numbers of each column were moved to the bounds of its box; for the terminal only."""
        return {}

    @cached_property
    def read_as(self) -> dict[str, ReadAs]:
        """Answers of each collected column that were written in another way than declared, and what they mean."""
        return {}

    @cached_property
    def source_columns(self) -> list[str]:
        """The columns that have to be read; every other one is never touched."""
        person = self.plan.budget.person
        names = [*self.plan.public, *self.plan.private, *([person] if person else [])]
        return list(dict.fromkeys(names))

    @cached_property
    def truths(self) -> dict[str, Domain]:
        """What a true value of every private column can be."""
        return {name: block.truths_of(name) for block in self.plan.blocks for name in block.columns}

    @cached_property
    def reports(self) -> dict[str, Domain]:
        """What a released cell of every private column can be."""
        return {name: block.reports_of(name) for block in self.plan.blocks for name in block.columns}

    @cached_property
    def _public_types(self) -> dict[str, pa.DataType]:
        return {name: plain_type(self.schema.field(name).type, name) for name in self.plan.public}

    @cached_property
    def coded(self) -> pa.Schema:
        """Public columns, and a column of codes for every private one."""
        # Truths and reports lie in the same column, one after the other.
        codes = {name: block.code_dtype(name) for block in self.plan.blocks for name in block.columns}
        private = [(name, pa.from_numpy_dtype(dtype)) for name, dtype in codes.items()]
        return pa.schema([*self._public_types.items(), *private])

    @cached_property
    def released(self) -> pa.Schema:
        """What is written: made from the plan and from the plain types of the public columns."""
        private = [(name, report_type(reports)) for name, reports in self.reports.items()]
        return pa.schema([*self._public_types.items(), *private])

    @cached_property
    def blanks(self) -> dict[str, bool]:
        """Of every private column, whether a released cell can be blank."""
        return {name: not block.complete for block in self.plan.blocks for name in block.columns}

    @cached_property
    def kinds(self) -> RowKinds | None:
        """The rows that can be released, where they are few: combinations of reports, and nothing that is public."""
        if self._public_types or not all(isinstance(domain, FiniteDomain) for domain in self.reports.values()):
            return None
        blanks = tuple(block.gaps for block in self.plan.blocks for _ in block.columns)
        sizes = tuple(
            domain.size + blank
            for domain, blank in zip(self.reports.values(), blanks, strict=True)
            if isinstance(domain, FiniteDomain)
        )
        return RowKinds(self.coded, sizes, blanks) if math.prod(sizes) <= MAX_KINDS else None

    def encode(self, batch: pa.RecordBatch, first_row: int) -> pa.RecordBatch:
        """Check a batch of the source and turn its private cells into codes."""
        public = {
            name: plain_column(batch.column(name), kind, name, first_row) for name, kind in self._public_types.items()
        }
        survey = self.plan.survey
        for name in survey.numbers:
            what = "survey weight" if name == survey.weight else "population size" if name == survey.fpc else None
            _check_number(name, what, public[name], first_row)
        for block in self.plan.blocks:
            if block.by is not None:
                _check_by(block, public[block.by], first_row)
        arrays = list(public.values())
        for block in self.plan.blocks:
            for name in block.columns:
                cells = self._codes(block, name, batch.column(name), first_row)
                dtype = self.coded.field(name).type.to_pandas_dtype()
                arrays.append(array_of(cells.codes.astype(dtype, copy=False), cells.missing))
        return pa.RecordBatch.from_arrays(arrays, schema=self.coded)

    def _codes(self, block: Block, name: str, column: pa.Array, first_row: int) -> Cells:
        try:
            cells, read = encode_answers(block, name, column, text=self.text)
        except DomainError as error:
            raise error.at(column=name, first_row=first_row) from None
        with _COUNTING:
            if read:
                self.read_as[name] = self.read_as.get(name, ReadAs()) + read
            if cells.moved:
                self.clipped[name] = self.clipped.get(name, 0) + cells.moved
        return cells

    def memoise(self, batch: pa.RecordBatch, people: Sequence[bytes], key: MemoKey) -> pa.RecordBatch:
        """Replace the codes of memoised blocks by the reports of these people about them."""
        arrays = list(batch.columns)
        for block in self.plan.blocks:
            if block.memoised:
                places = [self.coded.get_field_index(name) for name in block.columns]
                cells = [_as_numpy(arrays[place]) for place in places]
                for place, (codes, missing, _), reports in zip(
                    places, cells, memoised(block, cells, people, key), strict=True
                ):
                    arrays[place] = array_of(reports.astype(codes.dtype, copy=False), missing)
        return pa.RecordBatch.from_arrays(arrays, schema=self.coded)

    def randomize(
        self, batch: pa.RecordBatch, randomness: Randomness, *, after_memoising: bool = False
    ) -> pa.RecordBatch:
        """Replace every code by a report; what respondents randomised stays, and what was memoised already."""
        arrays = list(batch.columns)
        for block in self.plan.blocks:
            if block.memoised and not after_memoising:
                raise ReleaseError(
                    'repeat = "memoise" needs its key: ',
                    Argument("randomness=Randomness.memoised(key)"),
                    ", and is for releases on one machine",
                )
            if block.collected or block.memoised:
                continue
            places = [self.coded.get_field_index(name) for name in block.columns]
            cells = [_as_numpy(arrays[place]) for place in places]
            for place, (codes, missing, _), reports in zip(
                places, cells, block.randomize(cells, randomness), strict=True
            ):
                arrays[place] = _with_blanks(reports.astype(codes.dtype, copy=False), missing)
        return pa.RecordBatch.from_arrays(arrays, schema=self.coded)

    def decode(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Turn report codes into labels."""
        public = len(self._public_types)
        arrays = batch.columns[:public]
        for reports, codes in zip(self.reports.values(), batch.columns[public:], strict=True):
            found = _as_numpy(codes)
            # Numbers that were rounded left their reports in a column of floats.
            arrays.append(decoded(reports, found.codes.astype(reports.code_dtype, copy=False), found.missing))
        return pa.RecordBatch.from_arrays(arrays, schema=self.released)


def _as_numpy(codes: pa.Array) -> Cells:
    if codes.null_count == 0:
        return Cells(numbers_of(codes), None)
    return Cells(numbers_of(pc.fill_null(codes, 0)), blanks_of(codes))


def _with_blanks(reports: NDArray[Any], missing: NDArray[np.bool_] | None) -> pa.Array:
    """Reports with the blanks of the truth put back, and without those that the block masked, nothing under them."""
    if type(reports) is np.ndarray or not isinstance(reports, np.ma.MaskedArray):  # numpy.ma loads when it is asked for
        return array_of(reports, missing)
    unreported = np.ma.getmaskarray(reports)
    return array_of(reports.filled(0), unreported if missing is None else unreported | missing)


def _check_number(name: str, what: str | None, cells: pa.Array, first_row: int) -> None:
    """A survey weight or population size is a finite number above 0, in every row; a replicate weight may be 0."""
    role, least = (what, "above 0") if what is not None else ("replicate weight", "of at least 0")
    try:
        numbers = cells.cast(pa.float64())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise ReleaseError(f'column "{name}" is the {role}, but it does not hold numbers') from None
    large = pc.greater(numbers, 0.0) if what is not None else pc.greater_equal(numbers, 0.0)
    good = pc.fill_null(pc.and_(pc.is_finite(numbers), large), False)
    if not pc.all(good, min_count=0).as_py():
        row = first_row + int(np.flatnonzero(~good.to_numpy(zero_copy_only=False))[0])
        raise ReleaseError(f'column "{name}", row {row} (counted from 0): a {role} must be a number {least}')


def _check_by(block: Block, values: pa.Array, first_row: int) -> None:
    """Every row must say under which design it was asked."""
    if not (is_text(values.type) or pa.types.is_integer(values.type) or pa.types.is_boolean(values.type)):
        raise ReleaseError(f'column "{block.by}" names designs: it must be text, whole numbers or booleans')
    if not is_text(values.type):
        values = values.cast(pa.string())
    known = pc.is_in(values, value_set=pa.array(list(block.designs), values.type))
    if not pc.all(known, min_count=0).as_py():
        row = first_row + int(np.flatnonzero(~known.to_numpy(zero_copy_only=False))[0])
        listed = ", ".join(f'"{value}"' for value in block.designs)
        raise ReleaseError(
            f'column "{block.by}", row {row} (counted from 0): no design is declared for this value; there are {listed}'
        )
