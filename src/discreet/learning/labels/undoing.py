"""From probabilities of reports to probabilities of classes.

A classifier that was trained on reports estimates ``q(r | x) = Σ_t Q[t, r] p(t | x)``. As ``A Qᵀ = I``, ``p = A q``.
Where q is not exact, p can leave the simplex; it is then projected, by name.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.arguments import Floats


def undone(reports: Floats, inverse: Floats) -> Floats:
    """``A q`` of every row; rows sum to one, entries may be negative."""
    return np.asarray(reports @ inverse.T)


def on_simplex(values: Floats) -> Floats:
    """The nearest point of the simplex, for every row (Held, Wolfe and Crowder 1974).

    >>> on_simplex(np.array([[1.2, -0.2], [0.5, 0.5]])).tolist()
    [[1.0, 0.0], [0.5, 0.5]]
    """
    falling = -np.sort(-values, axis=1)
    excess = np.cumsum(falling, axis=1) - 1
    place = np.arange(1, values.shape[1] + 1)
    kept = (falling * place > excess).sum(axis=1)
    shift = excess[np.arange(len(values)), kept - 1] / kept
    return np.asarray(np.maximum(values - shift[:, None], 0.0))


def precision(channel: Floats, inverse: Floats) -> float:
    """How much one report tells: the inverse of the summed variance of ``A`` at the report, classes equally
    frequent.
    """
    shares = channel.mean(axis=0)
    spread = inverse**2 @ shares - (inverse @ shares) ** 2
    return float(1 / max(spread.sum(), np.finfo(float).tiny))


def combined(parts: Sequence[Floats], weights: Sequence[float]) -> Floats:
    """The weighted mean of what the designs say."""
    shares = np.asarray(weights, float) / np.sum(weights)
    return np.asarray(sum(share * part for share, part in zip(shares, parts, strict=True)))
