"""Shares of people who carry an attribute and of people who do not comply, from groups with different designs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from discreet import arguments
from discreet.arguments import Floats
from discreet.blocks import design_name
from discreet.errors import EstimationError, NotIdentifiedError
from discreet.estimate.channels.channel import Channels
from discreet.estimate.compliance.maximum import Likelihood
from discreet.estimate.compliance.model import Model
from discreet.estimate.compliance.models import checked_evasive, model_named
from discreet.estimate.compliance.result import Noncompliance
from discreet.estimate.data.columns import ArrayColumn, ReleaseColumn
from discreet.estimate.data.rows import is_release
from discreet.estimate.data.source import Source
from discreet.estimate.data.survey_design import SurveyDesign, left_out_note
from discreet.estimate.sampling.report_totals import collect


def noncompliance(
    reports: Any = None,
    groups: Any = None,
    designs: Any = None,
    *,
    model: str = "cheating-detection",
    counts: Any = None,
    evasive: int = 0,
) -> Noncompliance:
    """How many people carry an attribute when some do not follow the design that they were asked under.

    People were put at random into two or more groups with different designs. All groups share the parameters of one
    model, which is fitted by maximum likelihood:

    * "cheating-detection": some people give the evasive report whatever the design tells them (Clark and Desharnais
      1998). ``P(yes) = a_g (1 − π − γ) + b_g π``.
    * "stochastic-lie": carriers are honest with probability t, non-carriers always (Moshagen, Musch and Erdfelder
      2012). ``P(yes) = b_g π t + a_g (1 − π)``.
    * "extended-crosswise": everybody complies, and the groups must agree; whether they do is tested (Heck, Hoffmann and
      Moshagen 2018).
    * "unrelated-question": the harmless question has an unknown share u of "yes" (Greenberg et al. 1969).
      ``P(yes) = p_g π + (1 − p_g) u``.

    a_g and b_g are the chances that the design of group g makes a true "no" and a true "yes" report "yes". The first
    two models fit the same reports equally well: they differ in what they assume about cheaters.

    Parameters
    ----------
    reports : array of int or bool, or Release
        Report codes; or a release whose column was collected under several designs (``by``).
    groups : array, or str
        The group of every row; with a release, the name of the column.
    designs : mapping
        From the name of each group to its mechanism, such as ``BinaryResponse.mangat("5/6")``; for
        "unrelated-question" also to the probability of the sensitive question. A release knows its designs.
    model : {"cheating-detection", "stochastic-lie", "extended-crosswise", "unrelated-question"}
    counts : mapping, optional
        From the name of each group to the counts of its reports, in place of reports and groups.
    evasive : int
        The code of the report that cheaters give, by default that of "no".

    Returns
    -------
    Noncompliance

    Raises
    ------
    NotIdentifiedError
        The designs are too alike to tell the parameters of the model apart.

    Notes
    -----
    People are taken as a simple random sample. For survey weights, strata and clusters fit
    :func:`noncompliance_regression` with an intercept alone.

    Examples
    --------
    Attitudes to a ban on minarets (Radukic and Musch 2014), asked under Mangat's design with two spinners:

    >>> from discreet.mechanisms import BinaryResponse
    >>> result = noncompliance(
    ...     counts={"few": [191, 373], "many": [294, 398]},
    ...     designs={"few": BinaryResponse.mangat("2/12"), "many": BinaryResponse.mangat("10/12")},
    ...     model="stochastic-lie",
    ... )
    >>> print(result)
    Stochastic lie detector, Moshagen, Musch and Erdfelder (2012): maximum likelihood, 2 groups, n = 1,256
    <BLANKLINE>
    share       of                                              estimate  std. error  95 % interval (likelihood-ratio)
    prevalence  carriers                                          0.8707      0.0411                  0.7906 to 0.9516
    honesty     carriers who follow the design, among carriers    0.6358      0.0173                  0.6026 to 0.6706
    everybody complies: half χ²(1) = 249.4578, p = 1.705e-56
    """
    chosen = model_named(model)
    evasive = checked_evasive(evasive, chosen)
    if is_release(reports):
        return _from_release(reports, groups, designs, chosen, counts, evasive)
    channels = group_channels(chosen, designs)
    notes: tuple[str, ...] = ()
    if counts is not None:
        if reports is not None or groups is not None:
            raise EstimationError("counts stand in place of reports and groups: give one or the other")
        found = _checked_counts(counts, channels)
    elif reports is None or groups is None:
        raise EstimationError("give reports, and the group of every row; or counts by group")
    else:
        column = ArrayColumn(reports, channels, groups)
        found = _counted(None, column.codes.size, column)[0]
    return _fitted(chosen, channels, found, evasive, notes, None)


def group_channels(model: Model, designs: Any) -> Channels:
    """The designs of the groups, as the model takes them."""
    if not isinstance(designs, Mapping) or len(designs) < 2:
        raise EstimationError("designs must map the names of two or more groups to their mechanisms")
    return Channels.of({design_name(name): model.design(one, str(name)) for name, one in designs.items()})


def side_by_side(model: Model, channels: Channels, evasive: int) -> Floats:
    """``B_0, B_1, …`` of all designs, one row each."""
    return np.hstack([model.rows(one, evasive) for one in channels.mechanisms])


def refuse_unidentified(rows: Floats, model: Model) -> None:
    """The parameters of a model must move the report shares of the groups in different ways."""
    parameters = rows.shape[0] - 1
    if np.linalg.matrix_rank(rows[1:], tol=1e-9) < parameters:
        raise NotIdentifiedError(
            f"the groups that have rows do not identify the {parameters} parameters of the model "
            f'"{model.name}": it needs at least two groups whose designs differ'
            if parameters > 1
            else "no group that has rows has a design whose reports depend on the truth"
        )


def _from_release(release: Any, column: Any, designs: Any, model: Model, counts: Any, evasive: int) -> Noncompliance:
    if designs is not None or counts is not None:
        raise EstimationError("designs and counts of a release come from its manifest and its rows")
    name = arguments.text(column, "groups, with a release the name of a column,", EstimationError)
    refuse_survey(release.survey)
    block = release.block(name)
    if block.by is None:
        raise EstimationError(
            f'column "{name}" was collected under one design; a model of non-compliance needs groups with different '
            'ones (by = "…" in the plan)'
        )
    source = ReleaseColumn(release, name)
    for label, one in zip(source.channels.names, source.channels.mechanisms, strict=True):
        model.design(one, label)
    found, left_out = _counted(release, int(release.rows), source)
    return _fitted(model, source.channels, found, evasive, left_out_note(left_out), name)


def refuse_survey(survey: Any) -> None:
    """Weights, strata and clusters of a release are not ignored silently."""
    if survey.weight is not None or survey.strata is not None or survey.cluster is not None:
        raise EstimationError(
            "the release declares survey weights, strata or clusters, which these shares do not take; fit "
            'noncompliance_regression("column ~ 1", release), which does'
        )


def _counted(release: Any, total: int, column: Any) -> tuple[Floats, int]:
    """Counts of the reports of all designs side by side, and how many rows had none."""
    evidence, left_out = collect(Source(release=release, total=total, readers=[column]), SurveyDesign())
    return np.asarray(evidence[0][1].counts, float), left_out


def _checked_counts(counts: Any, channels: Channels) -> Floats:
    if not isinstance(counts, Mapping) or {design_name(name) for name in counts} != set(channels.names):
        raise EstimationError(
            f"counts must map the names of the groups, {', '.join(channels.names)}, to counts of their reports"
        )
    named = {design_name(name): values for name, values in counts.items()}
    parts = []
    for name, one in zip(channels.names, channels.mechanisms, strict=True):
        part = arguments.floats(named[name], f'counts of "{name}"', EstimationError, dimensions=1)
        if part.shape != (one.shape[1],) or not np.all((part >= 0) & (part == np.floor(part)) & (part < 2**53)):
            raise EstimationError(f'counts of "{name}" must be {one.shape[1]} whole numbers ≥ 0, one per report')
        parts.append(part)
    return np.concatenate(parts)


def _fitted(
    model: Model, channels: Channels, counts: Floats, evasive: int, notes: tuple[str, ...], column: str | None
) -> Noncompliance:
    if counts.sum() == 0:
        raise EstimationError("there are no reports to estimate from (n = 0)")
    rows = side_by_side(model, channels, evasive)
    sizes = np.array([part.sum() for part in np.split(counts, channels.offsets[1:])])
    present = np.repeat(sizes > 0, [one.shape[1] for one in channels.mechanisms])
    refuse_unidentified(rows[:, present], model)
    if np.any((model.by_traits(rows).max(axis=(0, 1)) <= 0) & (counts > 0)):
        raise EstimationError("the reports contain one that the model can never produce")
    likelihood = Likelihood(model, rows, counts)
    told = [*notes, *model.notes(likelihood.estimate, column is not None)]
    if not model.inside(likelihood.unrestricted):
        free = [f"{one.name} {one.value(likelihood.unrestricted):.4f}" for one in model.quantities]
        told.append(
            "the estimate is on the boundary of what is possible, where standard errors and wald intervals do not "
            f"hold; without the bounds it would be {', '.join(free)}"
        )
    return Noncompliance(
        likelihood=likelihood,
        groups=channels.names,
        offsets=tuple(int(offset) for offset in channels.offsets),
        notes=tuple(told),
        column=column,
    )
