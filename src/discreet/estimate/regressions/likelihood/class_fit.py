"""Fit a model of one-of-k answers to rows from any source."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from discreet.arguments import Floats
from discreet.estimate.regressions.likelihood.class_source import Seen
from discreet.estimate.regressions.likelihood.fit import finish, fit_fields
from discreet.estimate.regressions.likelihood.objective import Model, Objective
from discreet.estimate.regressions.likelihood.rows import ArrayRows
from discreet.estimate.regressions.likelihood.search import random_starts, search, search_with_sample


def fit_classes(
    model: Model,
    seen: Seen,
    metric: Floats,
    scale: Floats,
    names: tuple[str, ...],
    start: Floats | None = None,
    instead: str | None = None,
) -> dict[str, Any]:
    """The fields that every :class:`~discreet.estimate.regressions.likelihood.result.LikelihoodFit` has.

    A given start (or zero) and random ones around it are climbed on the different rows where equal ones were put
    together, on all rows where they are few, and on a sample first otherwise.

    Parameters
    ----------
    instead : str, optional
        What to fit where the maximum is infinite.
    """
    unit = seen.total / seen.n if seen.weighted else 1.0
    centre = np.zeros(scale.size) if start is None else start
    starts = [centre, *(centre + move for move in random_starts(metric))]
    if seen.together is not None or seen.sample.size == seen.n:
        rows = seen.sample if seen.together is None else seen.together
        objective = Objective(model, ArrayRows(rows), metric, seen.n, passes=1, unit=unit)
        found = search(objective, starts, scale)
    else:
        objective = Objective(model, seen.source, metric, seen.n, passes=1, unit=unit)
        sample = Objective(model, ArrayRows(seen.sample), metric, seen.sample.size, unit=unit)
        found = search_with_sample(objective, sample, starts, scale)
    by_unit = seen.together is not None and (seen.clustered or seen.stratified)  # sums by cluster need every row
    last = Objective(model, seen.source, metric, seen.n, unit=unit) if by_unit else objective
    done = finish(last, found, names, scale)
    if instead is not None and found.direction is not None:
        done = replace(done, notes=(*done.notes[:-1], instead))
    sampling = {"weighted": seen.weighted, "clustered": seen.clustered, "stratified": seen.stratified}
    return fit_fields(objective, found, done, names, scale) | sampling
