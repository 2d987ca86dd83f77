"""Problems that no number of rows of the same kind can solve, found before anything is fitted."""

from __future__ import annotations

import numpy as np

from discreet.estimate.m_estimation.losses import IndexLoss
from discreet.estimate.m_estimation.sample import Sample


def obstacle(loss: IndexLoss, sample: Sample, names: tuple[str, ...], earlier: bool) -> str | None:
    """Why the coefficients cannot be told from these rows, or None; an update is judged together with earlier rows."""
    if earlier:
        return None
    p = len(names)
    if sample.n < p:
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
    gram = public.T @ public / sample.n / np.outer(size, size)
    for j in range(1, public.shape[1]):
        if np.linalg.eigvalsh(gram[: j + 1, : j + 1])[0] < 1e-12 * (j + 1):
            return f'not identified: the public column "{labels[j]}" is a combination of the ones before it'
    return None
