"""What a loss allows, and problems that no number of rows of the same kind can solve."""

from __future__ import annotations

import numpy as np

from discreet.errors import EstimationError
from discreet.estimate.noisy_numbers.sample import Sample
from discreet.estimate.regressions.losses import IndexLoss, Squared


def check_outcome(loss: IndexLoss, sample: Sample, method: str) -> None:
    """Refuse an outcome that cannot be combined with the loss."""
    y, own = sample.outcome, sample.outcome_noise
    if y is None:
        raise EstimationError(f"the {loss.name} loss needs an outcome")
    if loss.outcomes == "binary" and sample.weights is None:
        allowed = (0.0, 1.0) if loss.name != "hinge" else (-1.0, 0.0, 1.0)
        if sample.joint or own is not None or not np.isin(y, allowed).all():
            raise EstimationError(f"the {loss.name} loss needs outcomes 0 and 1")
    if sample.weights is not None and loss.outcomes == "count":
        raise EstimationError("counts are not outcomes of a yes/no design")
    if loss.outcomes == "count" and own is None and (y < 0).any():
        raise EstimationError("the poisson loss needs counts, none of them negative")
    if own is None:
        return
    if method == "box":
        if loss.outcomes == "count" and own.box.low[0] < 0:
            raise EstimationError("the poisson loss needs counts: the box of the outcome must not go below 0")
        return
    if loss.outcomes == "count":
        raise EstimationError("the poisson loss needs counts that were not randomised")
    if not loss.location:
        raise EstimationError(f"a noisy outcome needs a loss of y − η, which {loss.name} is not")
    if sample.joint and method not in ("exact", "naive"):
        raise EstimationError(
            'an outcome among the reports is corrected by the methods "exact", "box" and "naive" only'
        )
    if not sample.joint and not isinstance(loss, Squared):
        if method != "exact":
            raise EstimationError('noise of the outcome is corrected by the method "exact" only')
        if own.zero_probability == 0:
            raise EstimationError(f"the {loss.name} loss needs a zero probability above 0 for the outcome too")


def obstacle(loss: IndexLoss, sample: Sample, names: tuple[str, ...]) -> str | None:
    """Why the coefficients are not identified by these rows, or None."""
    p = len(names)
    if sample.n <= p:
        return f"not identified: {sample.n:,} row{'s' * (sample.n != 1)} for {p} coefficients"
    found = _dependent(sample, names)
    if found is not None:
        return found
    y = sample.outcome
    if loss.outcomes == "binary" and sample.weights is None and y is not None and np.all(y == y[0]):
        return "not identified: every outcome is the same, which fits best with infinite coefficients"
    if loss.outcomes == "count" and sample.outcome_noise is None and y is not None and not y.any():
        return "not identified: every count is zero, which fits best with infinite coefficients"
    return None


def _dependent(sample: Sample, names: tuple[str, ...]) -> str | None:
    """A public column of zeros, or one that others make up."""
    public = sample.public
    if not public.size:
        return None
    size = np.sqrt(np.mean(public**2, axis=0))
    labels = names[sample.private.shape[1] :]
    for name, one in zip(labels, size, strict=True):
        if one == 0:
            return f'not identified: the public column "{name}" is zero in every row'
    triangle = np.asarray(np.linalg.qr(public / size, mode="r"))
    for j in range(1, public.shape[1]):
        if abs(triangle[j, j]) < 1e-10 * np.linalg.norm(triangle[:, j]):
            return f'not identified: the public column "{labels[j]}" is a combination of the ones before it'
    return None
