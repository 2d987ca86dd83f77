"""How each method corrects a loss: which views of the reports it averages, with which weights."""

from __future__ import annotations

import numpy as np

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.m_estimation.losses import IndexLoss
from discreet.estimate.m_estimation.objective import Noise, Objective, View
from discreet.estimate.m_estimation.sample import Sample
from discreet.randomness import Randomness


def corrected_objective(loss: IndexLoss, sample: Sample, method: str, randomness: Randomness | None) -> Objective:
    """The corrected risk of a loss on these rows, by one of the methods."""
    mechanism, zero = sample.mechanism, sample.mechanism.zero_probability
    # Without public columns the reports are used where they are.
    design = np.concatenate([sample.private, sample.public], axis=1) if sample.public.size else sample.private
    variances = np.zeros(design.shape[1])
    variances[: sample.private.shape[1]] = mechanism.noise_scale**2
    outcome, other = 0.0, None
    if sample.outcome_noise is not None:
        own = float(sample.outcome_noise.noise_scale[0] ** 2)
        if sample.joint:
            outcome = own
        else:
            other = (sample.outcome_noise.zero_probability, own / 2)
    assert sample.outcome is not None
    y = np.asarray(sample.outcome, float)
    if method in ("exact", "naive"):
        second = design
    elif sample.joint:
        raise EstimationError(
            'an outcome among the reports is corrected by the methods "exact", "box" and "naive" only'
        )
    else:
        second = np.concatenate([mechanism.doubly_randomized(sample.private, randomness), sample.public], axis=1)
    views = {
        "exact": (View(design, 1.0, 1 - zero, averaged=True),),
        "naive": (View(design, 1.0, 0.0),),
        "drcl": (View(design, 1 / max(zero, 1e-300), 0.0), View(second, 1 - 1 / max(zero, 1e-300), 0.0)),
        "sdrcl": (View(design, 1.0, 0.0), View(second, 0.0, 1 - zero)),
        "sl": (View(second, 1.0, 1.0),),
    }[method]
    rows = sample.row_weights
    if sample.weights is not None:
        undone = sample.weights if rows is None else sample.weights * rows[:, None]
        truths = [np.full(sample.n, float(value)) for value in (0, 1)]
        outcomes: tuple[tuple[Floats, Floats | None], ...] = tuple(
            (truth, undone[:, value]) for value, truth in enumerate(truths)
        )
    else:
        outcomes = ((np.where(y > 0, 1.0, 0.0) if loss.name == "hinge" else y, rows),)
    return Objective(loss, views, outcomes, Noise(zero, variances, outcome, other))
