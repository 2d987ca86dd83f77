"""A formula with ``(1 | group)``: which rows belong together, and how the groups were sampled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.data import rows as reader
from discreet.estimate.data.columns import ReleaseColumn
from discreet.estimate.regressions.likelihood.by_formula import columns_of_batch, labels_of_batch
from discreet.estimate.regressions.likelihood.fit import fit_binary
from discreet.estimate.regressions.likelihood.links import link_named
from discreet.estimate.regressions.likelihood.random_intercept import Maximum, RandomInterceptModel, maximise_marginal
from discreet.estimate.regressions.likelihood.random_intercept_result import (
    NO_MAXIMUM,
    RandomInterceptRegression,
    quadrature_note,
)
from discreet.estimate.regressions.likelihood.rows import ArrayRows, Rows
from discreet.estimate.regressions.request import Specification
from discreet.estimate.regressions.sandwich import bread
from discreet.estimate.reporting.result import frozen
from discreet.estimate.sampling.linearization import Linearization
from discreet.estimate.sampling.unit_totals import UnitTotals

#: A spread needs two groups to show; with so few it is hardly known.
_LEAST_GROUPS = 2


def grouped_yes_no_outcome(asked: Specification) -> RandomInterceptRegression:
    """A randomised yes/no answer given public predictors, with an intercept of its own for every group."""
    assert asked.group is not None
    column, matrices = ReleaseColumn(asked.release, asked.outcome), asked.matrices()
    rows = asked.rows([column], [asked.group])
    batch = reader.joined(rows.batches())
    held, link = labels_of_batch(batch, matrices, column.channels).checked(), link_named(asked.link or "logit")
    labels = columns_of_batch(batch)[asked.group].combine_chunks().dictionary_encode()
    codes = labels.indices.to_numpy(zero_copy_only=False)
    order = np.argsort(codes, kind="stable")
    present, starts = np.unique(codes[order], return_index=True)
    _refuse_groups(asked.group, present.size, codes.size)
    sorted_rows = held.take(order)
    weights = _group_weights(asked, sorted_rows, starts)
    unit = 1.0 if weights is None else float(weights.mean())
    model = RandomInterceptModel(
        rows=sorted_rows, starts=starts, link=link, weights=None if weights is None else weights / unit
    )
    plain = fit_binary(ArrayRows(held), link, matrices.names)
    found = maximise_marginal(model, plain.coefficients)
    certain = found.converged and bool(np.isfinite(bread(found.information)).all())
    sampling = _sampling(asked, model, found)
    fit = RandomInterceptRegression(
        coefficients=frozen(found.theta),
        covariance=frozen(_covariance(found, sampling, certain=certain)),
        names=(*matrices.names, f"sd(1 | {asked.group})"),
        n=held.size,
        group=asked.group,
        link=link,
        maximum=found,
        sampling=sampling,
        labels=tuple(labels.dictionary.take(pa.array(present)).to_pylist()),
        log_likelihood_without=plain.log_likelihood / unit,
        converged=certain,
        status="converged" if certain else NO_MAXIMUM,
        matrices=matrices,
        reporting=asked.reporting(column),
        notes=(*_survey_notes(asked), *quadrature_note(found)),
    )
    return asked.finished(fit, "binary")


def _refuse_groups(group: str, groups: int, rows: int) -> None:
    """A spread between groups shows where there are several, and rows of the same group to compare."""
    if groups < _LEAST_GROUPS or groups == rows:
        what = f"has {groups} group{'s' * (groups != 1)}" if groups < _LEAST_GROUPS else "has one row in every group"
        raise EstimationError(
            f'"{group}" of (1 | {group}) {what}, and the spread between groups cannot be told; leave (1 | {group}) out'
        )


def _group_weights(asked: Specification, rows: Rows, starts: NDArray[np.intp]) -> Floats | None:
    """One weight per group."""
    if rows.weights is None:
        return None
    return np.asarray(
        _same_in_group(
            rows.weights,
            starts,
            f'the survey weights "{asked.release.survey.weight}" differ within a group of (1 | {asked.group}): a '
            "weight for the group and one for each person in it would be needed apart, and one column does not tell "
            f'them; give all rows of a group one weight, or leave (1 | {asked.group}) out and name "{asked.group}" as '
            "the cluster in the plan",
        ),
        np.float64,
    )


def _same_in_group(values: NDArray[Any], starts: NDArray[np.intp], otherwise: str) -> NDArray[Any]:
    """What all rows of a group have in common; the sentence is the refusal where they differ."""
    first = values[starts]
    if not np.array_equal(np.repeat(first, np.diff(np.append(starts, values.size))), values):
        raise EstimationError(otherwise)
    return np.asarray(first)


def _sampling(asked: Specification, model: RandomInterceptModel, found: Maximum) -> Linearization | None:
    """How groups were sampled, with the middle of the linearised variance; None where the likelihood tells all."""
    survey, rows, starts = asked.release.survey, model.rows, model.starts
    if not survey.columns:
        return None
    units: dict[str, NDArray[Any] | None] = {"strata": None, "clusters": np.arange(model.groups)}
    for role, name, values in (("strata", survey.strata, rows.strata), ("clusters", survey.cluster, rows.clusters)):
        if values is not None:
            units[role] = _same_in_group(
                values,
                starts,
                f'a group of (1 | {asked.group}) has rows in several {role} of "{name}": its intercept makes them '
                f"depend on each other, so that {role} must hold whole groups; leave (1 | {asked.group}) out, or the "
                f"{role} out of the plan",
            )
    sums = UnitTotals(found.theta.size)
    sums.add(units["strata"], units["clusters"], model.group_scores(found.theta))
    return sums.finished()


def _covariance(found: Maximum, sampling: Linearization | None, *, certain: bool) -> Floats:
    """The inverse information, with the spread of the scores of clusters in its middle where there is a survey."""
    if not certain:
        return np.full(found.information.shape, np.nan)
    inverse = bread(found.information)
    return np.asarray(inverse if sampling is None else inverse @ sampling.scores @ inverse)


def _survey_notes(asked: Specification) -> tuple[str, ...]:
    survey = asked.release.survey
    notes = []
    if survey.weight is not None:
        notes.append("survey weights: those of groups, scaled to a mean of one; the log-likelihood is a weighted sum")
    if survey.columns:
        unit = f'clusters "{survey.cluster}"' if survey.cluster is not None else f'groups "{asked.group}"'
        within = f' within strata "{survey.strata}"' if survey.strata is not None else ""
        notes.append(f"errors from the spread between {unit}{within}")
    return tuple(notes)
