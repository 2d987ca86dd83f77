"""Corrected losses by formula on a release with numeric columns: everything but the formula is in the manifest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from discreet import arrow_functions as pc
from discreet.arguments import Floats
from discreet.blocks import Block, NumericBlock
from discreet.errors import Argument, EstimationError
from discreet.estimate.columns import ReleaseColumn
from discreet.estimate.m_estimation.fit import m_estimate
from discreet.estimate.m_estimation.losses import Check, Huber
from discreet.estimate.m_estimation.result import MEstimate
from discreet.estimate.rows import joined
from discreet.estimate.specification import Specification
from discreet.mechanisms import ZeroInflatedLaplace

#: The losses of a yes/no outcome, by link.
_LINKS = {None: "logistic", "logit": "logistic", "probit": "probit"}


def numeric_predictors(asked: Specification) -> MEstimate:
    """An outcome given numeric columns of one block, which were released with zero-inflated Laplace noise."""
    family = asked.family
    if family == "auto":
        family = "linear" if asked.outcome_values is None else "binary"
    loss = _loss(asked, family)
    private = list(asked.randomised_predictors)
    block = asked.block(private[0])
    assert block is not None
    outcome = _Outcome.of(asked, block, family)
    matrices = asked.matrices()
    rows = asked.rows(outcome.answers, [*private, *outcome.columns])
    batch = joined(rows.batches())
    assert batch.table is not None
    columns = matrices.matrix(batch.table)
    inside = [*private, asked.outcome] if outcome.joint else private
    fit = m_estimate(
        loss,
        np.column_stack([_numbers(batch.table, name) for name in inside]),
        _coordinates(block, inside),
        method="exact" if asked.method == "corrected" else asked.method,
        public=columns if columns.shape[1] else None,
        outcome=len(private) if outcome.joint else outcome.read(asked, batch.table, batch.codes),
        outcome_mechanism=outcome.mechanism,
        names=[*private, *matrices.names],
        weights=batch.weights,
        strata=_labels(batch.strata),
        clusters=_labels(batch.clusters),
    )
    return asked.finished(fit, family)


def _loss(asked: Specification, family: str) -> Any:
    """The loss of a family."""
    if asked.link is not None and family != "binary":
        raise EstimationError(Argument("link"), f' belongs to a yes/no outcome; family "{family}" has none')
    if family == "binary":
        if asked.link not in _LINKS:
            raise EstimationError(f'numeric predictors with noise go with link logit or probit, not "{asked.link}"')
        return _LINKS[asked.link]
    if family == "quantile":
        return Check() if asked.tau is None else Check(asked.tau)
    if family == "huber":
        return Huber(asked.threshold)
    return {"linear": "squared"}.get(family, family)


@dataclass(frozen=True)
class _Outcome:
    """Where the outcome comes from: a coordinate of the same records, a public column, or reports of its own."""

    joint: bool = False
    answers: tuple[ReleaseColumn, ...] = ()
    columns: tuple[str, ...] = ()
    mechanism: Any = None
    family: str = ""

    @classmethod
    def of(cls, asked: Specification, block: Block, family: str) -> _Outcome:
        """The outcome of a formula, given the block of its predictors."""
        name, own = asked.outcome, asked.block(asked.outcome)
        if own is None:
            return cls(columns=(name,), family=family)
        if asked.holds_numbers(name):
            if own is block:
                return cls(joint=True, columns=(name,))
            return cls(columns=(name,), mechanism=_coordinates(own, [name]))
        if own.mechanism is None:
            raise EstimationError(
                f'the outcome "{name}" was asked under designs that differ by row and predictors have noise; both at '
                "once cannot be corrected for"
            )
        return cls(answers=(ReleaseColumn(asked.release, name),), mechanism=asked.release.mechanism(name))

    def read(self, asked: Specification, table: pa.Table, codes: Any) -> Floats:
        """The outcome of every row."""
        if self.answers:
            return np.asarray(codes, float)
        if self.mechanism is not None:
            return _numbers(table, asked.outcome)
        return asked.public_outcome(table, self.family)


def _labels(given: Any) -> Any:
    """Labels of rows as an array."""
    return given.to_numpy(zero_copy_only=False) if isinstance(given, pa.Array) else given


def _coordinates(block: Block, names: list[str]) -> ZeroInflatedLaplace:
    """The mechanism of some columns of a numeric block."""
    assert isinstance(block, NumericBlock)  # only these hold numbers
    return block.mechanism.coordinates([block.columns.index(name) for name in names])


def _numbers(table: pa.Table, name: str) -> Floats:
    return np.asarray(pc.cast(table.column(name), "float64").to_numpy(), float)
