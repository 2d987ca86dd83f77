"""A regression under a model of non-compliance by formula, on a release that was collected under several designs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from discreet import arguments
from discreet import arrow_functions as pc
from discreet.errors import Argument, DomainError, EstimationError
from discreet.estimate.data.survey_design import dropped_note, fixed_weights_note
from discreet.estimate.formulas import Matrices, read_formula

if TYPE_CHECKING:
    from discreet.estimate.compliance.model import Model
    from discreet.estimate.compliance.regression import NoncomplianceRegression
    from discreet.estimate.regressions.likelihood.links import Link


def from_release(
    formula: str, release: Any, model: Model, second: Any, link: Link, missing: str, evasive: int
) -> NoncomplianceRegression:
    """Read the rows, code the covariates and fit."""
    from dataclasses import replace

    from discreet.estimate.compliance.regression import fit_traits
    from discreet.estimate.data.columns import ReleaseColumn
    from discreet.reading import Release

    release = arguments.instance(release, Release, "reports, with a formula a release,", EstimationError)
    sides = read_formula(formula)
    other = read_formula(f"{sides.outcome} {arguments.text('~ 1' if second is None else second, 'second').strip()}")
    private = {column for block in release.manifest.blocks for column in block.columns}
    for name in dict.fromkeys((sides.outcome, *sides.variables, *other.variables)):
        if name not in release.columns:
            raise EstimationError(f'the formula names "{name}", which the release does not have')
        if (name in private) != (name == sides.outcome):
            raise EstimationError(
                f'the outcome must be the one randomised column of the formula; "{name}" is not as that asks'
            )
    block = release.block(sides.outcome)
    if block.by is None:
        raise EstimationError(
            f'column "{sides.outcome}" was collected under one design; a model of non-compliance needs groups with '
            'different ones (by = "…" in the plan)'
        )
    survey = release.survey
    aside = {"weights": survey.weight, "strata": survey.strata, "clusters": survey.cluster}
    needed = dict.fromkeys([sides.outcome, block.by, *sides.variables, *other.variables, *aside.values()])
    table, dropped = _complete(release, [name for name in needed if name is not None], sides.outcome, block, missing)
    matrices = [Matrices(side.predictors, side.variables, lambda: iter(table.to_batches())) for side in (sides, other)]
    try:
        codes = block.reports.encode(table[sides.outcome], column=sides.outcome)
    except DomainError as error:
        raise EstimationError(error) from None
    channels = ReleaseColumn(release, sides.outcome).channels
    for label, one in zip(channels.names, channels.mechanisms, strict=True):
        model.design(one, label)
    fit = fit_traits(
        model,
        link,
        channels,
        matrices[0].matrix(table),
        matrices[1].matrix(table),
        codes,
        table[block.by].to_numpy(),
        matrices[0].names,
        matrices[1].names,
        evasive,
        **{role: None if name is None else table[name].to_numpy() for role, name in aside.items()},
    )
    notes = (*fit.notes, *model.notes(np.zeros(0), True), *fixed_weights_note(release), *dropped_note(dropped))
    label = block.domain.labels[1]
    return replace(
        fit, notes=notes, formula=formula.strip(), modelled=f'{model.traits[0]} of {sides.outcome} = "{label}"'
    )


def _complete(release: Any, names: list[str], outcome: str, block: Any, missing: str) -> tuple[pa.Table, int]:
    """The rows without a missing value in these columns, and how many had one."""
    table = pa.Table.from_batches(list(release.batches(names)))
    blank = np.zeros(table.num_rows, bool)
    for name in names:
        if name == outcome and not block.gaps:
            continue  # a blank is refused or one of the reports
        lacking = pc.is_null(table[name], nan_is_null=True).to_numpy()
        if missing == "error" and lacking.any():
            raise EstimationError(
                f'column "{name}", row {int(np.flatnonzero(lacking)[0])} (counted from 0): the value is missing; ',
                Argument('missing="drop"'),
                " leaves such rows out and counts them",
            )
        blank |= lacking
    if blank.all():
        raise EstimationError("there are no complete rows, and nothing to fit")
    return table.filter(pa.array(~blank)).combine_chunks(), int(blank.sum())
