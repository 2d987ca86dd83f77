"""A regression by formula on a release with numeric columns: everything but the formula is in the manifest."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from discreet import arguments
from discreet.errors import EstimationError
from discreet.estimate.formulas import Matrices, Sides, read_formula
from discreet.estimate.m_estimation.fit import m_estimate
from discreet.estimate.m_estimation.losses import Check, Huber
from discreet.estimate.m_estimation.result import MEstimate
from discreet.mechanisms import FiniteMechanism, ZeroInflatedLaplace

if TYPE_CHECKING:
    import pyarrow as pa

    from discreet.manifest import Release

Floats = NDArray[np.float64]


def regression(
    formula: str,
    release: Release,
    loss: Any = "squared",
    tau: float | None = None,
    method: str = "exact",
    missing: str = "error",
    threshold: float | None = None,
) -> MEstimate:
    """Fit a loss to the columns of a release, corrected for how each was randomised.

    Parameters
    ----------
    formula : str
        ``"income ~ age + bmi"``. Numeric columns that were released together with zero-inflated Laplace noise stand
        as terms of their own; other terms are public. The outcome is public, a numeric column of the same or of
        another block, or a randomised yes/no answer.
    release : Release
    loss : str or loss
        See :func:`m_estimate`.
    tau : float, optional
        The quantile of the check loss.
    method : str
        See :func:`m_estimate`.
    missing : {"error", "drop"}
        What to do with rows in which a needed value is missing. Dropped rows are counted and reported.
    threshold : float, optional
        Of the Huber loss, in the units of the outcome; 1.345 residual spreads by default.
    """
    from discreet.manifest import Release

    release = arguments.instance(release, Release, "release", EstimationError)
    missing = arguments.choice(missing, "missing", ("error", "drop"), EstimationError)
    if tau is not None:
        if loss not in ("check", "median"):
            raise EstimationError("tau belongs to the check loss")
        loss = Check(tau)
    if threshold is not None:
        if loss != "huber":
            raise EstimationError("threshold belongs to the huber loss")
        loss = Huber(threshold)
    sides = read_formula(formula)
    for name in (sides.outcome, *sides.variables):
        if name not in release.columns:
            raise EstimationError(
                f'the formula names "{name}", which the release does not have; it has {", ".join(release.columns)}'
            )
    if sides.outcome in sides.variables:
        raise EstimationError(f'"{sides.outcome}" stands on both sides of the formula')
    return replace(_Work(release, sides, loss, method, missing).fit(), formula=formula.strip())


class _Work:
    """One fit: which columns are read, and how they become arguments of ``m_estimate``."""

    def __init__(self, release: Release, sides: Sides, loss: Any, method: str, missing: str) -> None:
        self.release, self.sides, self.loss, self.method, self.missing = release, sides, loss, method, missing
        self.blocks = {column: block for block in release.manifest.blocks for column in block.columns}
        self.private = [name for name in sides.variables if name in self.blocks]
        chosen = {id(self.blocks[name]) for name in self.private}
        if not self.private:
            raise EstimationError("no predictor was released with noise; a randomised outcome alone is fitted by glm")
        block = self.blocks[self.private[0]]
        if len(chosen) > 1 or not isinstance(block.mechanism, ZeroInflatedLaplace):
            raise EstimationError(
                "the randomised predictors of a regression must be numeric columns of one zero-inflated Laplace block"
            )
        self.block, self.mechanism = block, block.mechanism

    def fit(self) -> MEstimate:
        sides = self.sides
        predictors = sides.predictors
        for name in self.private:
            predictors = Sides(sides.outcome, predictors, sides.variables).without(name)
        public = [name for name in sides.variables if name not in self.blocks]
        matrices = Matrices(predictors, public, lambda: self.release.batches(public or self.private[:1]))
        table, dropped = self._rows([*public, *self.private, sides.outcome])
        columns = matrices.matrix(table)
        if np.isnan(columns).any():
            raise EstimationError("a public column of the formula holds numbers that are not there in every row")
        coordinates = [self.block.columns.index(name) for name in self.private]
        reports = np.column_stack([_numbers(table, name) for name in self.private])
        arguments: dict[str, Any] = {}
        outcome_block = self.blocks.get(sides.outcome)
        if outcome_block is self.block:
            coordinates.append(self.block.columns.index(sides.outcome))
            reports = np.column_stack([reports, _numbers(table, sides.outcome)])
            arguments["outcome"] = len(coordinates) - 1
        elif outcome_block is None:
            arguments["outcome"] = self._public_outcome(table)
        else:
            arguments |= self._private_outcome(table)
        result = m_estimate(
            self.loss,
            reports,
            self.mechanism.coordinates(coordinates),
            method=self.method,
            public=columns if columns.shape[1] else None,
            names=[*self.private, *matrices.names],
            **arguments,
        )
        notes = [f"{dropped:,} rows with a missing value were left out"] if dropped else []
        survey = self.release.survey
        if any(name is not None for name in (survey.weight, survey.strata, survey.cluster)):
            notes.append(
                "the survey weights, strata and clusters of the manifest are not used by this kind of regression"
            )
        return replace(result, notes=(*result.notes, *notes), modelled=self._modelled())

    def _modelled(self) -> str:
        """The outcome; of a yes/no answer the value that counts as 1."""
        name, block = self.sides.outcome, self.blocks.get(self.sides.outcome)
        if block is None or isinstance(block.mechanism, ZeroInflatedLaplace):
            return name
        return f'{name} = "{block.of_column(name).domain.label(1)}"'

    def _rows(self, names: list[str]) -> tuple[pa.Table, int]:
        table = self.release.to_arrow(names)
        rows = table.num_rows
        for name in names:
            if table.column(name).null_count and self.missing == "error":
                raise EstimationError(
                    f'column "{name}" has missing values; leave such rows out with missing="drop" '
                    "(on the command line --missing drop)"
                )
        kept = table.drop_null()
        return kept, rows - kept.num_rows

    def _public_outcome(self, table: pa.Table) -> Floats:
        column = table.column(self.sides.outcome)
        try:
            # Arrow casts true and false to whole numbers only.
            whole = column.cast("int8") if column.type == "bool" else column
            return np.asarray(whole.cast("float64").to_numpy(), float)
        except Exception:
            raise EstimationError(f'the outcome "{self.sides.outcome}" must be a number') from None

    def _private_outcome(self, table: pa.Table) -> dict[str, Any]:
        name = self.sides.outcome
        mechanism = self.release.mechanism(name)
        if isinstance(mechanism, ZeroInflatedLaplace):
            position = self.blocks[name].columns.index(name)
            return {"outcome": _numbers(table, name), "outcome_mechanism": mechanism.coordinates([position])}
        if isinstance(mechanism, FiniteMechanism) and mechanism.shape[0] == 2:
            codes = self.release.block(name).reports.encode(table.column(name))
            return {"outcome": codes.astype(float), "outcome_mechanism": mechanism}
        raise EstimationError(f'the outcome "{name}" must be a number or a yes/no answer')


def _numbers(table: pa.Table, name: str) -> Floats:
    return np.asarray(pc.cast(table.column(name), "float64").to_numpy(), float)
