"""How a batch of the source becomes a batch of the release, column by column.

::

    source batch ─ encode ─> codes ─ randomize ─> report codes ─ decode ─> released batch

The layout is worked out once, from the plan and the names and types of the source. Nothing of the source's
schema is carried over: no metadata, no dictionaries (one in order of appearance tells the original order), no
null bitmaps of private columns unless the plan says that blanks are public.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from discreet.domains import Box, Domain
from discreet.domains.columns import is_text
from discreet.errors import DomainError, ReleaseError
from discreet.manifest import Block
from discreet.manifest.reading import decoded, report_type
from discreet.mechanisms import JointResponse, ZeroInflatedLaplace
from discreet.publish.plan import Plan
from discreet.publish.run.plain import plain_column, plain_type
from discreet.randomness import Randomness


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
                raise ReleaseError(f'the table has no column "{name}", which the plan names')

    @cached_property
    def clipped(self) -> dict[str, int]:
        """How many numbers of each column were moved to the bounds of its box; for the terminal only."""
        return {}

    @cached_property
    def source_columns(self) -> list[str]:
        """The columns that have to be read; every other one is never touched."""
        person = self.plan.budget.person
        names = [*self.plan.public, *self.plan.private, *([person] if person else [])]
        return list(dict.fromkeys(names))

    @cached_property
    def private(self) -> dict[str, Block]:
        """Block of every private column."""
        return {name: block.of_column(name) for block in self.plan.blocks for name in block.columns}

    @cached_property
    def _public_types(self) -> dict[str, pa.DataType]:
        return {name: plain_type(self.schema.field(name).type, name) for name in self.plan.public}

    @cached_property
    def coded(self) -> pa.Schema:
        """Public columns, and a column of codes for every private one."""
        fields = list(self._public_types.items())
        for name, block in self.private.items():
            fields.append((name, pa.from_numpy_dtype(_code_dtype(block))))
        return pa.schema(fields)

    @cached_property
    def released(self) -> pa.Schema:
        """What is written: made from the plan and from the plain types of the public columns."""
        fields = list(self._public_types.items())
        fields += [(name, report_type(block.reports)) for name, block in self.private.items()]
        return pa.schema(fields)

    def encode(self, batch: pa.RecordBatch, first_row: int) -> pa.RecordBatch:
        """Check a batch of the source and turn its private cells into codes."""
        public = {
            name: plain_column(batch.column(name), kind, name, first_row) for name, kind in self._public_types.items()
        }
        weight = self.plan.survey.weight
        if weight is not None:
            _check_weight(weight, public[weight], first_row)
        for block in self.plan.blocks:
            if block.by is not None:
                _check_by(block, public[block.by], first_row)
        arrays = list(public.values())
        for name, block in self.private.items():
            domain = block.reports if block.collected else block.domain
            codes, missing = self._codes(batch.column(name), name, block, domain, first_row)
            arrays.append(pa.array(codes.astype(_code_dtype(block), copy=False), mask=missing))
        return pa.RecordBatch.from_arrays(arrays, schema=self.coded)

    def _codes(
        self, cells: pa.Array, name: str, block: Block, domain: Domain, first_row: int
    ) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        try:
            values = domain.parse(cells) if self.text else cells
            if block.collected and isinstance(domain, Box) and isinstance(block.mechanism, ZeroInflatedLaplace):
                numbers, missing = domain.numbers(values)
                if missing is not None and block.missing != "public":
                    raise DomainError("the value is missing", row=int(missing.argmax()), expected="a number")
                present = numbers if missing is None else np.where(missing, 0.0, numbers)
                return block.mechanism.check_reports(present)[:, 0], missing
            if block.clip and isinstance(domain, Box):
                numbers, missing = domain.numbers(values)
                if missing is not None and block.missing != "public":
                    domain.encode(values)  # says which row is missing
                moved, count = domain.clip(numbers)
                self.clipped[name] = self.clipped.get(name, 0) + count
                return moved[:, 0], missing
            if block.missing == "public":
                return domain.encode_with_missing(values)
            return domain.encode(values), None
        except DomainError as error:
            raise error.at(column=name, first_row=first_row) from None

    def randomize(self, batch: pa.RecordBatch, randomness: Randomness) -> pa.RecordBatch:
        """Replace every code by a report; what respondents randomised themselves stays."""
        arrays = list(batch.columns)
        together = self._randomize_together(arrays, randomness)
        for i, field in enumerate(self.coded):
            block = self.private.get(field.name)
            if block is None or block.collected or block.mechanism is None or field.name in together:
                continue
            codes, missing = _as_numpy(arrays[i])
            reports = block.mechanism.privatize(codes, randomness)
            arrays[i] = pa.array(reports.astype(codes.dtype, copy=False), mask=missing)
        return pa.RecordBatch.from_arrays(arrays, schema=self.coded)

    def _randomize_together(self, arrays: list[pa.Array], randomness: Randomness) -> set[str]:
        """Replace the columns of joint blocks, all of a block at once; returns their names."""
        done: set[str] = set()
        for block in self.plan.blocks:
            if block.collected or not isinstance(block.mechanism, (JointResponse, ZeroInflatedLaplace)):
                continue
            places = [self.coded.get_field_index(name) for name in block.columns]
            cells = [_as_numpy(arrays[place]) for place in places]
            if isinstance(block.mechanism, ZeroInflatedLaplace):  # a blank stands at the low bound until it is put back
                low = block.mechanism.box.low
                cells = [
                    (codes if missing is None else np.where(missing, low[j], codes), missing)
                    for j, (codes, missing) in enumerate(cells)
                ]
            reports = block.mechanism.privatize(np.column_stack([codes for codes, _ in cells]), randomness)
            for place, (codes, missing), column in zip(places, cells, reports.T, strict=True):
                arrays[place] = pa.array(column.astype(codes.dtype), mask=missing)
            done.update(block.columns)
        return done

    def decode(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Turn report codes into labels."""
        arrays = list(batch.columns)
        for i, field in enumerate(self.coded):
            block = self.private.get(field.name)
            if block is not None:
                arrays[i] = decoded(block.reports, *_as_numpy(arrays[i]))
        return pa.RecordBatch.from_arrays(arrays, schema=self.released)


def _code_dtype(block: Block) -> np.dtype[Any]:
    """Unsigned integers that hold every truth and every report; numbers in a box are their own codes."""
    if isinstance(block.domain, Box):
        return np.dtype(np.float64)
    return np.min_scalar_type(max(block.domain.size, block.reports.size) - 1)


def _as_numpy(codes: pa.Array) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    if codes.null_count == 0:
        return codes.to_numpy(), None
    missing = codes.is_null().to_numpy(zero_copy_only=False)
    return pc.fill_null(codes, 0).to_numpy(), missing


def _check_weight(name: str, cells: pa.Array, first_row: int) -> None:
    """A survey weight is a finite number above 0, in every row."""
    try:
        numbers = cells.cast(pa.float64())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise ReleaseError(f'column "{name}" is the survey weight, but it does not hold numbers') from None
    good = pc.fill_null(pc.and_(pc.is_finite(numbers), pc.greater(numbers, 0.0)), False)
    if not pc.all(good, min_count=0).as_py():
        row = first_row + int(np.flatnonzero(~good.to_numpy(zero_copy_only=False))[0])
        raise ReleaseError(f'column "{name}", row {row} (counted from 0): a survey weight must be a number above 0')


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
