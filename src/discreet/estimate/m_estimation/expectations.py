"""The mean of a function of a record, with its standard error."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from discreet.errors import EstimationError
from discreet.estimate.noisy_numbers.corrected_means import corrected_answers
from discreet.estimate.noisy_numbers.expectation import Expectation
from discreet.estimate.noisy_numbers.sample import Sample, labels_of
from discreet.estimate.regressions.result import MEstimate
from discreet.randomness import Randomness


def expectation(
    loss: Expectation, sample: Sample, method: str, names: Sequence[str] | None, randomness: Randomness | None
) -> MEstimate:
    """The mean over rows of the corrected function, with its standard error."""
    if sample.outcome is not None or sample.public.size:
        raise EstimationError("an expectation is of a function of the reports alone: no outcome, no public columns")
    answers, notes = corrected_answers(loss, sample, method, randomness)
    n, rows = sample.n, sample.row_weights
    mean = answers.mean(axis=0) if rows is None else rows @ answers / n
    centred = (answers - mean) if rows is None else (answers - mean) * rows[:, None]
    scores, sampling = sample.design.middle(centred)
    k = mean.size
    return MEstimate(
        coefficients=mean,
        covariance=scores / n if n > 1 else np.full((k, k), math.nan),
        names=labels_of([f"f{j + 1}" for j in range(k)] if names is None else names, k, "function"),
        n=n,
        loss="expectation",
        method=method,
        converged=n > 1,
        status="converged" if n > 1 else "one row has no standard error",
        notes=tuple(notes),
        hessian=np.eye(k),
        scores=scores,
        sampling=sampling,
    )
