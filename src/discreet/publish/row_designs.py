"""Reading the designs of rows from columns of the answers, and naming them in a column that is added."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from discreet import arrow_functions as pc
from discreet import limits
from discreet.blocks import DesignsByRow
from discreet.domains.columns import is_text, without_dictionary
from discreet.errors import InputError, ReleaseError
from discreet.mechanisms import BinaryResponse
from discreet.plain_text import one_line
from discreet.publish.plan import Plan
from discreet.publish.plan.row_designs import RowDesigns, design_text
from discreet.tables.readers import Source, TableFile, open_source

#: Between the cells of a row when they are looked up together; no cell of a plan's text may hold a control character.
_BETWEEN = "\x1f"
#: What stands for a blank there.
_BLANK = "\x00"


def with_designs_read(plan: Plan, source: Any) -> tuple[Plan, Any]:
    """The plan with the designs that the rows of this table were asked under, and the table with their names."""
    if not plan.row_designs:
        return plan, source
    if isinstance(source, pa.RecordBatchReader):
        raise ReleaseError("parameters are read from their columns first: give a file or a table, not a stream")
    blocks = list(plan.blocks)
    known: dict[str, dict[str, str]] = {}
    for place, spec in plan.row_designs:
        opened = open_source(source, plan.missing_values, delimiter=plan.delimiter, encoding=plan.encoding)
        found = _designs(spec, opened)
        block = blocks[place]
        assert isinstance(block, DesignsByRow)  # the reader made it
        designs = dict(sorted((design_text(one), one) for one in found.values()))
        if len(designs) > limits.ROW_DESIGNS:
            raise ReleaseError(
                f"{spec.path}: the rows have {len(designs):,} different designs, over the limit of "
                f"{limits.ROW_DESIGNS:,}; are these the columns of the parameters?"
            )
        # The promise is worked out anew: it follows from the designs.
        blocks[place] = DesignsByRow(
            columns=block.columns,
            domain=block.domain,
            reports=block.reports,
            by=block.by,
            designs=designs,
            missing=block.missing,
            collected=True,
        )
        known[spec.by] = {key: design_text(one) for key, one in found.items()}
    opened = open_source(source, plan.missing_values, delimiter=plan.delimiter, encoding=plan.encoding)
    table = NamedDesigns(opened.table, {spec.by: (spec, known[spec.by]) for _, spec in plan.row_designs})
    return replace(plan, blocks=tuple(blocks), row_designs=()), Source(table, opened.path)


class NamedDesigns(TableFile):
    """A table with a column more for every block whose designs stand in columns: their names."""

    def __init__(self, table: TableFile, named: dict[str, tuple[RowDesigns, dict[str, str]]]) -> None:
        self._table = table
        self._named = named
        self.text = table.text
        self.path = table.path
        for name in named:
            if name in table.schema.names:
                raise ReleaseError(
                    f'the table has a column "{one_line(name)}" already, which is to name the designs of its rows; '
                    'give another name with by = "…"'
                )

    @property
    def schema(self) -> pa.Schema:
        """Of the table, with the columns that are added."""
        return pa.schema([*self._table.schema, *((name, pa.string()) for name in self._named)])

    @property
    def rows(self) -> int | None:
        """Of the table."""
        return self._table.rows

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows, in these columns."""
        added = [name for name in columns if name in self._named]
        read = [name for name in columns if name not in self._named]
        read += [source for name in added for source in self._named[name][0].columns]
        for batch in self._table.batches(list(dict.fromkeys(read))):
            made = {name: self._names(name, batch) for name in added}
            yield pa.RecordBatch.from_arrays(
                [made[name] if name in made else batch.column(name) for name in columns], names=list(columns)
            )

    def _names(self, name: str, batch: pa.RecordBatch) -> pa.Array:
        spec, known = self._named[name]
        keys = _keys(spec, batch).dictionary_encode()
        named = [known.get(key) for key in keys.dictionary.to_pylist()]
        if None in named:
            raise ReleaseError("the table changed while it was read")
        return pa.array(named, pa.string()).take(keys.indices)


def _designs(spec: RowDesigns, source: Source) -> dict[str, BinaryResponse]:
    """Every combination of parameters that occurs, with its design."""
    for name in spec.columns:
        if name not in source.schema.names:
            raise ReleaseError(f'{spec.path}: the table has no column "{one_line(name)}"')
    found: dict[str, BinaryResponse] = {}
    first_row = 0
    for batch in source.batches(list(dict.fromkeys(spec.columns))):
        keys = _keys(spec, batch)
        for key in keys.unique().to_pylist():
            if key in found:
                continue
            cells = [None if cell == _BLANK else cell for cell in key.split(_BETWEEN)]
            if len(cells) != len(spec.columns):
                raise ReleaseError(f"{spec.path}: a cell of its columns holds a control character")
            try:
                found[key] = spec.mechanism(cells)
            except InputError as error:
                row = first_row + pc.index(keys, key).as_py()
                raise ReleaseError(f"row {row} (counted from 0): ", error) from None
        # Many more ways of writing than designs: these columns hold something else.
        if len(found) > 10 * limits.ROW_DESIGNS:
            raise ReleaseError(
                f"{spec.path}: the rows have more than {limits.ROW_DESIGNS:,} different designs, which is the limit; "
                "are these the columns of the parameters?"
            )
        first_row += batch.num_rows
    if not found:
        raise ReleaseError("the table has no rows")
    return found


def _keys(spec: RowDesigns, batch: pa.RecordBatch) -> pa.Array:
    """The cells of all parameters of a row as one text."""
    cells = [_texts(batch.column(name), name) for name in spec.columns]
    return pc.binary_join_element_wise(*cells, _BETWEEN)


def _texts(column: pa.Array, name: str) -> pa.Array:
    """Cells as they are written; numbers with the fewest digits that give them back."""
    plain = without_dictionary(column)
    kind = plain.type
    if pa.types.is_null(kind):
        return pa.array([_BLANK] * len(plain))
    if not (is_text(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise ReleaseError(f'column "{one_line(name)}" holds a parameter of a design: it must be numbers or text')
    if pa.types.is_floating(kind):
        plain = pc.if_else(pc.fill_null(pc.is_nan(plain), True), pa.scalar(None, kind), plain)
    texts = plain.cast(pa.string())
    return pc.fill_null(pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts), _BLANK)
