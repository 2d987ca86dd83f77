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
from collections import Counter
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
from discreet.domains.columns import as_arrow, is_text, without_dictionary
from discreet.errors import Argument, DomainError, ReleaseError
from discreet.manifest.document import ColumnType
from discreet.plain_text import one_line
from discreet.publish.arrangement import MAX_KINDS, RowKinds
from discreet.publish.memoising import memoised
from discreet.publish.plan import Plan
from discreet.randomness import Randomness
from discreet.randomness.memoised import MemoKey
from discreet.reading.releases import decoded, report_type
from discreet.tables.readers import likely_delimiter


def plain_type(kind: pa.DataType, column: str) -> pa.DataType:
    """The type without dictionaries, extensions and metadata.

    A dictionary lists its values in order of appearance, which tells the original order; extensions and fields
    of structs can carry any text.
    """
    if isinstance(kind, pa.BaseExtensionType):
        return plain_type(kind.storage_type, column)
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return plain_type(kind.value_type, column)
    if pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_binary_view(kind):
        return pa.binary()
    if pa.types.is_nested(kind):
        return _plain_nested(kind, column)
    return kind


def _plain_nested(kind: pa.DataType, column: str) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([(_field_name(one, column), plain_type(one.type, column)) for one in kind])
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(plain_type(kind.value_type, column), kind.list_size)
    if pa.types.is_large_list(kind):
        return pa.large_list(plain_type(kind.value_type, column))
    if pa.types.is_list(kind):
        return pa.list_(plain_type(kind.value_type, column))
    if pa.types.is_map(kind):
        return pa.map_(plain_type(kind.key_type, column), plain_type(kind.item_type, column))
    raise ReleaseError(f'column "{column}" is public, but its type {kind} cannot be copied')


def _field_name(field: pa.Field, column: str) -> str:
    try:
        return str(field.name)
    except UnicodeDecodeError:
        raise ReleaseError(
            f'column "{column}" is public, but the name of a field in it is not UTF-8; rename that field'
        ) from None


def plain_column(cells: pa.Array, kind: pa.DataType, column: str, first_row: int) -> pa.Array:
    """Cells of a public column in their plain type."""
    try:
        if isinstance(cells, pa.ExtensionArray):
            cells = cells.storage
        if pa.types.is_run_end_encoded(cells.type):
            cells = pc.run_end_decode(cells)
        if pa.types.is_dictionary(cells.type):
            cells = plain_column(cells.dictionary, kind, column, first_row).take(cells.indices)
        return cells if cells.type.equals(kind, check_metadata=True) else cells.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        raise ReleaseError(
            f'column "{column}" is public, but the rows from {first_row} on cannot be copied as {kind}'
        ) from None


def fresh_copy(cells: pa.Array) -> pa.Array:
    """The same cells in memory of their own: nothing lies under a null, or beside the cells of a slice."""
    if cells.null_count:
        lacking = blanks_of(cells)
        copied = cells.drop_null().take(array_of(np.cumsum(~lacking) - 1, lacking))
    else:
        copied = pa.concat_arrays([cells, cells.slice(0, 0)])  # of one array it would be no copy
    kind = copied.type
    if not pa.types.is_nested(kind):
        return copied
    if pa.types.is_struct(kind):
        inside = [copied.field(place) for place in range(kind.num_fields)]
    else:
        inside = [copied.values]
    own = 1 if pa.types.is_struct(kind) or pa.types.is_fixed_size_list(kind) else 2
    return pa.Array.from_buffers(kind, len(copied), copied.buffers()[:own], children=[*map(fresh_copy, inside)])


#: Text that stands for a number and would be written the same way again: 7 and -1, but neither 007 nor +7.
_INTEGER = r"^-?(0|[1-9][0-9]{0,17})$"
_NUMBER = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$"


class PublicTypes:
    """What the cells of public text columns mean, found while they pass by.

    A CSV holds text only. A column whose every cell is a whole number, or a number, is marked as such in the
    manifest, so that it reads back as numbers; the cells themselves are not touched.
    """

    def __init__(self, schema: pa.Schema, public: tuple[str, ...], text: bool) -> None:
        self._found: dict[str, ColumnType] = {name: _meaning(schema.field(name).type) for name in public}
        self._open: dict[str, ColumnType | None] = dict.fromkeys(public) if text else {}
        self._unsigned = [name for name in public if pa.types.is_uint64(schema.field(name).type)]

    def observe(self, batch: pa.RecordBatch) -> None:
        """Take a batch into account."""
        for name in self._unsigned:
            largest = pc.max(batch.column(name)).as_py()
            if largest is not None and largest >= 1 << 63:  # an "integer" is read back in 64 bits with a sign
                self._found[name] = "other"
        for name in [name for name, kind in self._open.items() if kind != "text"]:
            cells = batch.column(name).drop_null()
            if len(cells) == 0:
                continue
            if self._open[name] != "number" and _all_match(cells, _INTEGER):
                self._open[name] = "integer"
            else:
                self._open[name] = "number" if _all_match(cells, _NUMBER) else "text"

    def of(self, name: str) -> ColumnType:
        """The meaning of a column's cells."""
        return self._open.get(name) or self._found[name]


def _all_match(cells: pa.Array, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(cells, pattern), min_count=0).as_py())


def _meaning(kind: pa.DataType) -> ColumnType:
    if is_text(kind):
        return "text"
    if pa.types.is_integer(kind):
        return "integer"
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "number"
    return "boolean" if pa.types.is_boolean(kind) else "other"


#: Declared values up to which a meaning is looked for, and spellings that a message lists.
_FEW = 64
_WORDS = {"true": 1.0, "false": 0.0}

#: How often an answer, as it was written, was read as a declared value.
ReadAs = Counter[tuple[str, str]]


class AnswersReadWarning(UserWarning):
    """Answers were written in another way than declared, and read as the declared value that they mean."""


def encode_answers(block: Block, name: str, cells: pa.Array, *, text: bool) -> tuple[Cells, ReadAs]:
    """Codes of answers; where they are written in another way than declared, of the values that they mean."""
    try:
        return block.encode(name, cells, text=text), Counter()
    except DomainError:
        meant = _as_declared(block.reports_of(name), cells) if block.collected else None
        if meant is None:
            raise
    declared, read = meant
    return block.encode(name, declared), read


def meanings(domain: Any) -> dict[float | None, Any] | None:
    """The declared value that each number means; None where values are many, words, or mean the same number twice."""
    if not isinstance(domain, FiniteDomain) or domain.size > _FEW:
        return None
    found = {_number(label): label for label in domain.labels}
    return None if None in found or len(found) < domain.size else found  # "1" beside "01"


def _as_declared(domain: Any, cells: pa.Array) -> tuple[pa.Array, ReadAs] | None:
    """The declared values that all of these cells mean; None when that is not certain for every one of them."""
    plain = as_arrow(without_dictionary(cells))  # NaN is a missing value
    meant = meanings(domain)
    if meant is None or pa.types.is_nested(plain.type):
        return None
    coded = plain.dictionary_encode()
    written = coded.dictionary.to_pylist()
    if any(_number(value) not in meant for value in written):
        return None
    declared = [meant[_number(value)] for value in written]
    times = np.bincount(numbers_of(coded.indices.drop_null()), minlength=len(written)).tolist()
    read: ReadAs = Counter()
    for value, label, count in zip(written, declared, times, strict=True):
        if str(value) != str(label):
            read[one_line(str(value)), one_line(str(label))] += count
    return pa.array(declared).take(coded.indices), read


def _number(value: Any) -> float | None:
    """What a label or an answer says as a number; None for words."""
    if isinstance(value, str):
        word = value.strip().casefold()
        try:
            number = _WORDS.get(word)
            number = float(word) if number is None else number
        except ValueError:
            return None
    elif isinstance(value, (bool, int, float)):
        number = float(value)
    else:
        return None
    return number if math.isfinite(number) else None


def sentence(column: str, read: ReadAs) -> str:
    """What was done, for people."""
    shown = [f'{times:,} of {written} as "{label}"' for (written, label), times in sorted(read.items())[:_FEW]]
    more = [f"and {len(read) - _FEW:,} further spellings"] if len(read) > _FEW else []
    listed = ", ".join(shown + more)
    return f'column "{one_line(column)}": answers were read as the declared values that they mean: {listed}'


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
