"""A label designed for the regression that it is meant for; only public columns of the table are read for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.domains import Binary, Categorical, Domain, WithBlank
from discreet.errors import InputError, PlanError, ReleaseError
from discreet.manifest.block import Block
from discreet.mechanisms import FiniteMechanism
from discreet.publish.grammar import Section, at
from discreet.publish.sources import open_source

if TYPE_CHECKING:
    from discreet.publish.plan import Plan

LABEL = ("link", "criterion", "formula", "coefficients")


@dataclass(frozen=True)
class LabelSpec:
    """What a label is designed for.

    Attributes
    ----------
    formula : str
        The predictors, ``"age + C(sex)"``, all of them public columns.
    coefficients : list or mapping or None
        Assumed: one set, several, or ``{low = [...], high = [...]}``; for k classes one row per class after the first.
    symmetric : bool
        Only designs with p00 = p11; the best of them is the same for every regression.
    reports : {2, 4}
        How many reports a yes/no label has.
    """

    path: str
    epsilon: float
    delta: float
    formula: str
    coefficients: Any
    link: str = "logit"
    criterion: str = "A"
    symmetric: bool = False
    reports: int = 2

    def design(self, source: Any, classes: int, missing: Sequence[str] = ()) -> FiniteMechanism:
        """Read the public columns of a table and design for them."""
        from discreet.design import binary, label
        from discreet.estimate.formulas import Matrices, read_formula

        with at(f"{self.path}.formula"):
            sides = read_formula(f"label ~ {self.formula}")
            table = _public_table(open_source(source, missing), sides.variables)
            X = Matrices(sides.predictors, sides.variables, table.to_batches).matrix(table)
        complete = X[np.all(np.isfinite(X), axis=1)]
        with at(self.path):
            if self.symmetric:
                return cast("FiniteMechanism", binary(self.epsilon, self.delta, symmetric=True).mechanism)
            assumed = self._assumed()
            found = label(
                self.epsilon, self.delta, complete, assumed, self.link, self.criterion, classes, reports=self.reports
            )
        return cast("FiniteMechanism", found.mechanism)

    def _assumed(self) -> Any:
        given = self.coefficients
        if isinstance(given, Mapping):
            if set(given) != {"low", "high"}:
                raise PlanError(f'{self.path}.coefficients must be a list, or a table with "low" and "high"')
            return tuple(self._numbers(given["low"]).tolist()), tuple(self._numbers(given["high"]).tolist())
        return None if given is None else self._numbers(given).tolist()

    def _numbers(self, given: Any) -> NDArray[np.float64]:
        try:
            numbers = np.asarray(given, float)
        except (TypeError, ValueError, OverflowError):
            numbers = np.array(np.nan)
        if numbers.ndim == 0 or not np.isfinite(numbers).all():
            raise PlanError(f"{self.path}.coefficients must be lists of finite numbers")
        return numbers


def read_label(section: Section, block: Block) -> LabelSpec | None:
    """The ``label`` table of a private block; what stands beside it is read too, or refused."""
    if "label" not in section:
        return None
    path, domain = section.at("label"), block.domain
    if section.get("mechanism") not in (None, "randomized-response"):
        raise PlanError(f'{path} belongs to mechanism = "randomized-response"')
    if "prevalence" in section:
        raise PlanError(
            f"{section.at('prevalence')} cannot stand beside label, whose coefficients say how frequent it is"
        )
    if section.flag("collected"):
        raise PlanError(f"{path} designs a randomisation, but these answers were randomised by the respondents")
    if isinstance(domain, WithBlank):
        raise PlanError(f'{path} needs a label without blanks; missing = "category" makes the blank a value')
    label = Section(section.get("label"), path, LABEL)
    epsilon, delta = section.epsilon(), section.delta()
    if epsilon is None:
        raise PlanError(f"{section.at('epsilon')} is missing")
    formula = label.text("formula")
    if formula is None:
        raise PlanError(f"{label.at('formula')} is missing; it names the public predictors")
    return LabelSpec(
        path,
        epsilon,
        delta or 0.0,
        formula,
        label.get("coefficients"),
        label.choice("link", ("logit", "probit", "cauchit", "cloglog")) or "logit",
        label.choice("criterion", ("A", "D", "T")) or "A",
        section.flag("symmetric"),
        block.reports.size if isinstance(domain, Binary) else 2,
    )


def with_labels_designed(plan: Plan, source: Any) -> Plan:
    """The plan with every label block designed for the public columns of this table."""
    if not plan.labels:
        return plan
    if isinstance(source, pa.RecordBatchReader):
        raise ReleaseError("a label design reads the public columns first: give a file or a table, not a stream")
    blocks = list(plan.blocks)
    for index, spec in plan.labels:
        _check_public(spec, plan)
        block = blocks[index]
        mechanism = spec.design(source, block.domain.size, plan.missing_values)
        with at(spec.path):
            reports = _report_labels(block, mechanism.shape[1])
            blocks[index] = Block.of(block.columns, block.domain, mechanism, reports=reports, missing=block.missing)
    return replace(plan, blocks=tuple(blocks), labels=())


def _check_public(spec: LabelSpec, plan: Plan) -> None:
    from discreet.estimate.formulas import read_formula

    with at(f"{spec.path}.formula"):
        used = read_formula(f"label ~ {spec.formula}").variables
    for name in used:
        if name not in plan.public:
            raise PlanError(f'{spec.path}.formula names "{name}", which is not a public column of the plan')


def _report_labels(block: Block, count: int) -> Domain:
    """The names that the plan gave; a channel with another number of reports names them r0, r1, …"""
    return block.reports if count == block.reports.size else Categorical([f"r{y}" for y in range(count)])


def _public_table(source: Any, variables: tuple[str, ...]) -> pa.Table:
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
    import pyarrow.compute as pc

    try:
        return pc.if_else(pc.equal(column, ""), pa.scalar(None, column.type), column).cast(pa.float64())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return column
