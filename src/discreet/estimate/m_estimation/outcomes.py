"""Which outcomes and corrections each loss allows."""

from __future__ import annotations

import numpy as np

from discreet.errors import EstimationError
from discreet.estimate.m_estimation.losses import IndexLoss, Squared
from discreet.estimate.m_estimation.sample import Sample


def check_outcome(loss: IndexLoss, sample: Sample, method: str) -> None:
    """Refuse an outcome or a method that the loss does not go with."""
    y, zero = sample.outcome, sample.mechanism.zero_probability
    if y is None:
        raise EstimationError(f"the {loss.name} loss needs an outcome")
    if loss.outcomes == "binary" and sample.weights is None:
        allowed = (0.0, 1.0) if loss.name != "hinge" else (-1.0, 0.0, 1.0)
        if sample.joint or sample.outcome_noise is not None or not np.isin(y, allowed).all():
            raise EstimationError(f"the {loss.name} loss needs outcomes 0 and 1")
    if sample.weights is not None and loss.outcomes == "count":
        raise EstimationError("counts are not outcomes of a yes/no design")
    if loss.outcomes == "count" and sample.outcome_noise is not None and method != "box":
        raise EstimationError("the poisson loss needs counts that were not randomised")
    if loss.outcomes == "count" and sample.outcome_noise is None and (y < 0).any():
        raise EstimationError("the poisson loss needs counts, none of them negative")
    if loss.kinked and method in ("sdrcl", "sl"):
        raise EstimationError(f'the {loss.name} loss has no second derivative, which the method "{method}" needs')
    if loss.name == "huber" and method in ("sdrcl", "sl"):
        raise EstimationError(f'the huber loss has no continuous curvature, which the method "{method}" needs')
    if zero == 0 and method == "exact" and (loss.kinked or loss.name == "huber"):
        raise EstimationError(
            f"the {loss.name} loss cannot be corrected when no record is published exactly (zero probability 0); "
            "release with a zero probability above 0"
        )
    if sample.outcome_noise is not None and method == "box":
        if loss.outcomes == "count" and sample.outcome_noise.box.low[0] < 0:
            raise EstimationError("the poisson loss needs counts: the box of the outcome must not go below 0")
    elif sample.outcome_noise is not None:
        if not loss.location:
            raise EstimationError(f"a noisy outcome needs a loss of y − η, which {loss.name} is not")
        if not sample.joint and not isinstance(loss, Squared):
            if method != "exact":
                raise EstimationError('noise of the outcome is corrected by the method "exact" only')
            if sample.outcome_noise.zero_probability == 0:
                raise EstimationError(f"the {loss.name} loss needs a zero probability above 0 for the outcome too")
