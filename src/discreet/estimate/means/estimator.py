"""From the means of scores to the mean, the total or the expectation of a column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from discreet import arguments
from discreet.arguments import Floats
from discreet.errors import EstimationError, NotIdentifiedError
from discreet.estimate.bounds import FrequencyBounds, Range, Ranges, bounds_of
from discreet.estimate.channels.debiased_scores import Scores
from discreet.estimate.channels.value_numbers import NOBODY_KNOWN
from discreet.estimate.data.source import listed_source
from discreet.estimate.data.survey_design import group_names
from discreet.estimate.means.input import Function, numbers_of, score_means, scored_column
from discreet.estimate.means.result import Statistic, few_rows_notes, single_row_notes
from discreet.estimate.reporting import display
from discreet.estimate.sampling.score_means import ScoreMeans

_NEGATIVE = (
    "a plug-in variance given the table came out negative: there are too few reports for a standard error of this kind"
)


def column_statistic(
    what: str,
    source: tuple[Any, Any],
    function: Function | None,
    target: str,
    aside: Mapping[str, Any],
    values: Mapping[str, Any],
) -> Statistic | Range | Ranges:
    """One of mean, total and expectation.

    Parameters
    ----------
    what : str
        Which.
    source : tuple
        Reports (or release) and mechanism (or column).
    function : callable or None
        Of an expectation.
    target : str
        Population or table.
    aside : mapping
        The arguments by, weights, strata, clusters and fpc.
    values : mapping
        The arguments positions, designs and labels.
    """
    arguments.choice(target, "target", ("population", "table"), EstimationError)
    try:
        column = scored_column(*source, function=function, what=what, **values)
    except NotIdentifiedError:
        return _range(what, source, function, target, aside, values)
    if column.asked_share < 1 and what == "total":
        raise EstimationError(
            f'every row reported one number of several, and "{column.source.name}" was drawn for a random part of '
            "them: its total is the mean times the number of people"
        )
    name, release = column.source.name, column.source.release
    means, notes = score_means(column, column.source.survey(target, **aside))
    counted = what == "total" and means.total_covariance is None  # so many times the mean of those who reported
    estimate, covariance = (_total if what == "total" else _ratio)(means, column.scores.centre)
    with np.errstate(invalid="ignore"):
        negative = np.diag(covariance) < 0
    if target == "population":  # reports that are all the same show no spread, and rounding no negative one
        covariance[negative, :] = covariance[:, negative] = 0.0
    elif negative.any():
        covariance[negative, :] = covariance[:, negative] = np.nan
        notes += (_NEGATIVE,)
    lost = [display.label_text(label) for label, value in zip(means.labels, estimate, strict=True) if np.isnan(value)]
    if lost:
        notes += (f"groups without an estimate, since {NOBODY_KNOWN}: {', '.join(lost[: display.SHOWN])}",)
    variances = None
    if what != "total" or counted:
        people = means.weight if counted else np.ones(means.n.size)
        variances = _for_intervals(means, column.scores, covariance, people, target)
    groups = tuple(means.labels) if aside["by"] is not None else ()
    share = (what != "total" or counted) and column.scores.two_valued is not None
    simple_share = share and means.simple is None  # a share of a simple random sample: the normal law, as frequencies
    support = column.scores.support if target == "population" and (what != "total" or counted) else None
    few = few_rows_notes(groups, means.n) if target == "population" and support is None and not share else ()
    return Statistic(
        what=what,
        column=name,
        estimate=estimate,
        covariance=covariance,
        groups=groups,
        by=group_names(aside["by"], release),
        n=means.n,
        degrees_of_freedom=np.full(means.n.size, np.inf) if simple_share else means.degrees_of_freedom,
        target=target,
        notes=(*notes, *single_row_notes(groups, means.n, share=share), *few),
        two_valued=column.scores.two_valued if share else None,
        support=support,
        people=means.people,
        deviations=column.scores.deviations if what != "total" else None,
        interval_variance=None if simple_share else variances,
        simple_variance=_simple_variance(what, means, column.scores.centre),
    )


def _for_intervals(means: ScoreMeans, scores: Scores, covariance: Floats, people: Floats, target: str) -> Floats | None:
    """The variances that intervals use: with n − 1, and not below what the randomisation alone makes them."""
    if target != "population":
        return None
    found = np.diag(covariance).copy()
    if means.simple is None:  # a simple random sample
        found *= means.n / np.maximum(means.n - (1 - scores.lost), 1)
    if scores.support is None:
        return found
    with np.errstate(invalid="ignore"):
        return np.asarray(np.maximum(found, people**2 * scores.support.least / means.people.kish))


def _simple_variance(what: str, means: ScoreMeans, centre: float) -> Floats | None:
    """The variance that a simple random sample of as many people would have; None where it is one."""
    if means.simple is None:
        return None
    if what == "total":
        gradient = np.tile([1.0, centre], (means.n.size, 1)) * means.weight[:, None]
    else:
        own, known = means.means[:, 0], means.means[:, 1]
        gradient = np.stack([1 / known, -own / known**2], axis=1)
    return np.diag(_carried(gradient, means.simple)).copy()


def _ratio(means: ScoreMeans, centre: float) -> tuple[Floats, Floats]:
    """``centre + m₁/m₂`` of every group, with its covariance by the delta method; nan where m₂ is not positive."""
    own, known = means.means[:, 0], means.means[:, 1]
    if (known <= 0).all():
        raise EstimationError(NOBODY_KNOWN)
    known = np.where(known > 0, known, np.nan)
    gradient = np.stack([1 / known, -own / known**2], axis=1)
    return centre + own / known, _carried(gradient, means.covariance)


def _total(means: ScoreMeans, centre: float) -> tuple[Floats, Floats]:
    """Horvitz and Thompson's totals where there are weights, else n times the mean of those who reported."""
    totals = means.weight * (means.means[:, 0] + centre * means.means[:, 1])
    gradient = np.tile([1.0, centre], (totals.size, 1))
    if means.total_covariance is not None:
        return totals, _carried(gradient, means.total_covariance)
    return totals, _carried(gradient * means.weight[:, None], means.covariance)


def _carried(gradient: Floats, covariance: Floats) -> Floats:
    """``J V Jᵀ`` for one quantity per group that depends on the two means of its group."""
    groups = len(gradient)
    blocks = covariance.reshape(groups, 2, groups, 2)
    return np.asarray(np.einsum("ga,gahb,hb->gh", gradient, blocks, gradient))


def _range(
    what: str,
    given: tuple[Any, Any],
    function: Function | None,
    target: str,
    aside: Mapping[str, Any],
    values: Mapping[str, Any],
) -> Range | Ranges:
    """What is left where the channel does not identify the mean: the range of it, overall or by group."""
    source = listed_source(*given, values["designs"], values["labels"], what)
    bounds = bounds_of(source, source.survey(target, **aside))

    def asked(part: FrequencyBounds) -> Range:
        if function is None:
            found = part.mean(positions=values["positions"])
        else:
            numbers = numbers_of(part.channels, values["positions"], function, part.column)
            if np.isnan(numbers).any():
                raise EstimationError(
                    "the range of an expectation needs a number for every value, and the blank has none"
                )
            found = part.functional(numbers)
        if what != "total":
            return found
        if part.evidence.weights is not None:
            raise EstimationError(
                "the design identifies only a range of this mean: its total in the population is the range of the mean "
                "times the number of people"
            )
        return found.times(part.n, found.what.replace("mean", "total", 1))

    if isinstance(bounds, FrequencyBounds):
        return asked(bounds)
    return replace(bounds.each(asked), notes=bounds.notes)
