"""What the rows tell about the columns of a formula before any matrix is made: the values of categories, and types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from discreet import limits
from discreet.arguments import Floats
from discreet.domains.columns import is_number, is_text, without_dictionary
from discreet.errors import EstimationError
from discreet.estimate.formulas.distribution import Distribution
from discreet.estimate.formulas.evaluation import evaluate
from discreet.estimate.formulas.expression import Node
from discreet.estimate.formulas.mixed_text import MixedText
from discreet.estimate.formulas.transforms import Fixed

#: Numbers of a column in the small frame that a model is laid out with.
SOME = 100


@dataclass(frozen=True, eq=False)
class CountedRows:
    """Rows of some columns, each so many times; None: once."""

    table: pa.RecordBatch | pa.Table
    times: Floats | None = None


@dataclass(frozen=True, eq=False)
class ColumnValues:
    """Of some rows; two of them add up.

    Attributes
    ----------
    levels : mapping of str to array
        The values of every category, and some of every other column.
    mixed : mapping of str to MixedText
        For columns of text that were not called categories.
    rows : int
    """

    levels: Mapping[str, pa.Array]
    mixed: Mapping[str, MixedText]
    rows: int = 0

    def __add__(self, other: ColumnValues) -> ColumnValues:
        levels, mixed = dict(self.levels), dict(self.mixed)
        for name, values in other.levels.items():
            known = levels.get(name)
            if known is None or len(known) <= limits.CATEGORY_LEVELS:  # more are refused, or numbers
                levels[name] = values if known is None else pa.concat_arrays([known, values]).unique()
        for name, one in other.mixed.items():
            mixed[name] = mixed[name] + one if name in mixed else one
        return ColumnValues(levels, mixed, self.rows + other.rows)


@dataclass(frozen=True, eq=False)
class ValuesOf:
    """The pass that collects them.

    Attributes
    ----------
    columns : sequence of str
    categories : frozenset of str
        Those whose every value is a level, numbers too.
    """

    columns: Sequence[str]
    categories: frozenset[str]

    def __call__(self, chunks: Iterator[CountedRows]) -> ColumnValues:
        """Of some rows."""
        found = ColumnValues({}, {})
        for rows in chunks:
            found = found + self._of(rows)
        return found

    def _of(self, rows: CountedRows) -> ColumnValues:
        levels, mixed = {}, {}
        for name in self.columns:
            column = plain(rows.table.column(name))
            _refuse_kind(name, column.type, category=name in self.categories)
            if is_text(column.type) and name not in self.categories:
                mixed[name] = MixedText.of(column, rows.times)
            seen = column.drop_null()
            if not (is_text(column.type) or name in self.categories):
                seen = seen[:SOME]
            levels[name] = seen.unique()[: limits.CATEGORY_LEVELS + 1]
        return ColumnValues(levels, mixed, rows.table.num_rows)


@dataclass(frozen=True, eq=False)
class DistributionOf:
    """The pass that collects the distribution of an expression."""

    node: Node
    transforms: Mapping[str, Fixed]

    def __call__(self, chunks: Iterator[CountedRows]) -> Distribution:
        """Of some rows."""
        found = Distribution.nothing()
        for rows in chunks:
            numbers = evaluate(self.node, frame_of(rows.table), self.transforms)
            found = found + Distribution.of_rows(numbers, rows.times)
        return found


def plain(column: Any) -> pa.Array:
    """One array without a dictionary, whose order of appearance must not choose the reference level; decimals are
    numbers.
    """
    whole = without_dictionary(column)
    return whole.cast(pa.float64()) if pa.types.is_decimal(whole.type) else whole


def _refuse_kind(name: str, kind: pa.DataType, *, category: bool) -> None:
    """Refuse what is neither a number nor text nor a truth value: of other values only some are looked at."""
    if is_number(kind) or is_text(kind) or pa.types.is_null(kind) or (category and pa.types.is_temporal(kind)):
        return
    instead = f"; write C({name}) for categories, or release a number" if pa.types.is_temporal(kind) else ""
    raise EstimationError(f'column "{name}" of the formula holds {kind}, and not numbers or text{instead}')


def frame_of(batch: pa.RecordBatch | pa.Table) -> Any:
    """A pandas frame of plain values."""
    columns = {name: plain(column) for name, column in zip(batch.schema.names, batch.columns, strict=True)}
    return pa.table(columns).to_pandas()
