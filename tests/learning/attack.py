"""A lower confidence bound on the ε of a fit, from fits on two neighbouring tables."""

from __future__ import annotations

import numpy as np

from discreet.audit.attack import epsilon_bound

#: Chance that a bound is above the true ε.
ERROR = 1e-6


def lower_bound(first, second) -> float:
    """With confidence 1 − 1e-6 the two laws are at least this far apart.

    The event "statistic at or above (below) a threshold" is chosen on one half of the runs and judged on the other,
    in both directions.
    """
    first, second = np.asarray(first, float), np.asarray(second, float)
    best = 0.0
    for a, b in ((first, second), (second, first)):
        for sign in (1.0, -1.0):
            best = max(best, _one_side(sign * a, sign * b))
    return best


def _one_side(a, b) -> float:
    half = len(a) // 2
    error = ERROR / 8  # two directions, two signs, two tails of each
    cuts = np.quantile(np.concatenate([a[:half], b[:half]]), np.linspace(0.001, 0.999, 200))
    scores = [bound(a[:half] >= cut, b[:half] >= cut, error) for cut in cuts]
    cut = cuts[int(np.argmax(scores))]
    return bound(a[half:] >= cut, b[half:] >= cut, error)


def bound(hits, misses, error) -> float:
    """The bound of one event."""
    return epsilon_bound(int(hits.sum()), hits.size, int(misses.sum()), misses.size, 0.0, error)
