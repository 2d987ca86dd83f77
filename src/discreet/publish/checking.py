"""Validate a table against a plan: everything that a release would refuse, and nothing is written."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from discreet import arrow_functions as pc
from discreet.blocks import Block
from discreet.domains import FiniteDomain
from discreet.domains.columns import is_text, without_dictionary
from discreet.engines import Engine, Spark
from discreet.errors import DomainError, ReleaseError
from discreet.manifest.signature import SigningKey
from discreet.publish.layout import Layout, encode_answers
from discreet.publish.pipeline import Progress, Work
from discreet.publish.prepare import prepare
from discreet.randomness import Randomness
from discreet.tables.readers import Source

#: Different values of a batch up to which each is tried once; beyond, batches are halved until the bad rows are found.
_MANY = 4096
#: Rows of one batch that are found by halving before the count is only a lower bound.
_MOST = 2000


@dataclass
class Violations:
    """What is wrong with one column, counted over all rows."""

    column: str
    first_row: int
    what: str
    value: Any = field(default=None, repr=False)  # private: for whoever may see it, and never in a sentence
    rows: int = 0
    near: int = 0
    more: bool = False

    def sentence(self) -> str:
        """For a steward: counts and the first row, never a value."""
        at_least = "at least " if self.more else ""
        near = f"; {self.near:,} of them differ from a declared value in capitals or spaces only" if self.near else ""
        rows = "1 row" if self.rows == 1 else f"{self.rows:,} rows"
        where = f'column "{self.column}": {at_least}{rows}, the first is row {self.first_row} (counted from 0)'
        return f"{where}: {self.what}{near}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data, without the value."""
        return {
            "column": self.column,
            "rows": self.rows,
            "at_least": self.more,
            "first_row": self.first_row,
            "problem": self.what,
            "near": self.near,
        }


def violations(source: Source, layout: Layout, blocks: tuple[Block, ...]) -> list[Violations]:
    """Every private column with cells that the plan does not allow."""
    found: dict[str, Violations] = {}
    first_row = 0
    names = [name for block in blocks for name in block.columns]
    for batch in source.batches(names):
        for block in blocks:
            for name in block.columns:
                _add(found, block, name, batch.column(name), first_row, layout.text)
        first_row += batch.num_rows
    return [found[name] for name in names if name in found]


def _add(found: dict[str, Violations], block: Block, name: str, cells: pa.Array, first_row: int, text: bool) -> None:
    def error_of(part: pa.Array) -> DomainError | None:
        try:
            encode_answers(block, name, part, text=text)
        except DomainError as error:
            return error
        return None

    error = error_of(cells)
    if error is None:
        return
    if name not in found:
        placed = error.at(column=name, first_row=first_row)
        row = first_row if placed.row is None else placed.row
        found[name] = Violations(name, row, _what(placed), placed.value)
    one = found[name]
    plain = without_dictionary(cells)
    values = [] if pa.types.is_nested(plain.type) else pc.value_counts(plain)
    if 0 < len(values) <= _MANY:
        bad = [entry for entry in values if error_of(pa.array([entry["values"].as_py()], plain.type)) is not None]
        one.rows += sum(entry["counts"].as_py() for entry in bad)
        one.near += sum(entry["counts"].as_py() for entry in bad if _is_near(block, name, entry["values"]))
        return
    counted = _halved(cells, error_of)
    one.rows += counted
    one.more |= counted >= _MOST


def _what(error: DomainError) -> str:
    return f"{error.problem}; expected {error.expected}" if error.expected else error.problem


def _halved(cells: pa.Array, error_of: Callable[[pa.Array], DomainError | None]) -> int:
    """How many rows are refused, by halving what contains one; stops at a limit."""
    waiting, counted = [cells], 0
    while waiting and counted < _MOST:
        part = waiting.pop()
        if error_of(part) is None:
            continue
        if len(part) == 1:
            counted += 1
            continue
        middle = len(part) // 2
        waiting += [part.slice(middle), part.slice(0, middle)]
    return counted


def _is_near(block: Block, name: str, value: pa.Scalar) -> bool:
    """Whether a text would be a declared value, but for capitals and spaces around it."""
    domain = block.reports_of(name) if block.collected else block.truths_of(name)
    if not value.is_valid or not is_text(value.type) or not isinstance(domain, FiniteDomain) or domain.size > _MANY:
        return False
    return value.as_py().strip().casefold() in {str(label).strip().casefold() for label in domain.labels}


def every_violation(source: Source, layout: Layout, blocks: tuple[Block, ...], first: DomainError) -> DomainError:
    """The first error, extended to all columns and counts; it still holds the value for whoever may see it."""
    found = violations(source, layout, blocks)
    if sum(one.rows for one in found) <= 1:
        first.violations = tuple(found)
        return first
    what = "column does" if len(found) == 1 else "columns do"
    listed = "; ".join(one.sentence() for one in found)
    every = DomainError(f"{len(found)} private {what} not fit the plan: {listed}", value=first.value)
    every.violations = tuple(found)
    return every


def check(
    source: Any,
    plan: Any,
    output: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
    *,
    randomness: Randomness | None = None,
    engine: Engine | None = None,
    workers: int | None = None,
    append: bool = False,
    ledger: Any = "default",
    safe_csv: bool = False,
    signing_key: str | os.PathLike[str] | SigningKey | None = None,
) -> int:
    """Validate everything that ``release`` would, write nothing, and return the number of rows.

    It is the same preparation, up to the opening of the output; parameters as for :func:`discreet.release`. What does
    not fit is counted in all private columns before it is refused, where the source can be read again.
    """
    ready = prepare(
        source,
        plan,
        output,
        randomness,
        overwrite,
        progress,
        engine=engine,
        workers=workers,
        append=append,
        ledger=ledger,
        safe_csv=safe_csv,
        signing_key=signing_key,
    )
    work = ready.work
    work.refuse_output(overwrite=overwrite, key=ready.key)
    if ready.book is not None and work.spends:
        ready.book.check()
    if isinstance(engine, Spark):  # the rows are read here: Spark would write while it looks at them
        if engine.is_frame(source):
            raise ReleaseError(
                "the rows of a data frame of Spark cannot be checked: write it to a folder and give that"
            )
        work = Work.open(source, plan, None, overwrite=False)
    try:
        for _ in work.encoded(progress):
            pass
    except DomainError as error:
        if isinstance(source, pa.RecordBatchReader):
            raise
        again = Work.open(source, plan, None, overwrite=False)
        raise every_violation(again.source, again.layout, again.plan.blocks, error) from None
    work.tell()
    return work.rows
