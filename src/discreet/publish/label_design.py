"""Designing the labels of a plan for the regression they are meant for; only public columns are read for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet import arrow_functions as pc
from discreet.blocks import ColumnBlock
from discreet.domains import Categorical, FiniteDomain
from discreet.errors import InputError, PlanError, ReleaseError
from discreet.publish.plan import Plan
from discreet.publish.plan.grammar import at
from discreet.publish.plan.labels import LabelSpec
from discreet.tables.readers import Source, open_source


def with_labels_designed(plan: Plan, source: Any) -> Plan:
    """The plan with every label block designed for the public columns of this table."""
    if not plan.labels:
        return plan
    if isinstance(source, pa.RecordBatchReader):
        raise ReleaseError("a label design reads the public columns first: give a file or a table, not a stream")
    blocks, designs = list(plan.blocks), list(plan.designs)
    for index, spec in plan.labels:
        _check_public(spec, plan)
        block = blocks[index]
        assert isinstance(block, ColumnBlock)  # the reader refuses a label of any other
        opened = open_source(source, plan.missing_values, delimiter=plan.delimiter, encoding=plan.encoding)
        X = _predictors(spec, opened)
        design = spec.design(X, block.domain.size)
        with at(spec.path):
            reports = _report_labels(block, design.mechanism.shape[1])
            blocks[index] = ColumnBlock(
                columns=block.columns,
                domain=block.domain,
                reports=reports,
                mechanism=design.mechanism,
                missing=block.missing,
            )
        designs[index] = design
    return replace(plan, blocks=tuple(blocks), designs=tuple(designs), labels=())


def _check_public(spec: LabelSpec, plan: Plan) -> None:
    from discreet.estimate.formulas import read_formula

    with at(f"{spec.path}.formula"):
        used = read_formula(f"label ~ {spec.formula}").variables
    for name in used:
        if name not in plan.public:
            raise PlanError(f'{spec.path}.formula names "{name}", which is not a public column of the plan')


def _predictors(spec: LabelSpec, source: Source) -> NDArray[np.float64]:
    """The rows of a table that are complete in the columns of the formula."""
    from discreet.estimate.formulas import Matrices, read_formula

    with at(f"{spec.path}.formula"):
        sides = read_formula(f"label ~ {spec.formula}")
        table = _public_table(source, sides.variables)
        X = Matrices(sides.predictors, sides.variables, table.to_batches).matrix(table)
    complete: NDArray[np.float64] = X[np.all(np.isfinite(X), axis=1)]
    return complete


def _report_labels(block: ColumnBlock, count: int) -> FiniteDomain:
    """The names that the plan gave; a channel with another number of reports names them r0, r1, …"""
    return block.reports if count == block.reports.size else Categorical([f"r{y}" for y in range(count)])


def _public_table(source: Source, variables: tuple[str, ...]) -> pa.Table:
    """The public columns of the predictors; text that is all numbers is read as numbers, as in a CSV file."""
    missing = [name for name in variables if name not in source.schema.names]
    if missing:
        raise InputError(f'the table has no column "{missing[0]}"')
    names = list(variables) or source.schema.names[:1]
    table = pa.Table.from_batches(list(source.batches(names)), pa.schema([source.schema.field(n) for n in names]))
    if table.num_rows == 0:
        raise ReleaseError("the table has no rows")
    return pa.table({name: _numbers(table[name]) if source.text else table[name] for name in names})


def _numbers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    try:
        return pc.if_else(pc.equal(column, ""), pa.scalar(None, column.type), column).cast(pa.float64())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return column
