"""The private mechanism with unbiased numbers of least variance, for means."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from discreet.arguments import Floats
from discreet.design.ranked import checked_prior
from discreet.design.result import Design, Optimality
from discreet.design.unbiased_programme import SHRINK, solve
from discreet.domains import Grid, Ordinal
from discreet.errors import DesignError, PrivacyError
from discreet.mechanisms.rounding import checked_epsilon
from discreet.mechanisms.unbiased import UnbiasedResponse, shortened

#: Largest number of points: the programme for 51 takes from a second to half a minute.
MAX_POINTS = 64
#: Below this ε the values are so large, and above it the probabilities so small, that the programme fails in floats.
LEAST_EPSILON, MOST_EPSILON = 0.01, 8.0
#: How often a channel is put into its range and its rows made right, and the excess of a ratio that is none.
_PROJECTIONS, _NEGLIGIBLE = 200, 1e-13
#: Below this ε the hybrid mechanism is that of Duchi (Wang and others 2019).
_HYBRID_FROM = 0.61


def mean(domain: Grid | Ordinal, epsilon: float, prior: ArrayLike | None = None) -> Design[UnbiasedResponse]:
    """The ε-private mechanism whose reports are unbiased numbers of the least variance.

    A number x on the points of the domain gets a report with a value a_y, and ``Σ_y Q[x, y] a_y = x`` for every point:
    the mean of the values *is* the estimate of the mean. Minimised is the largest variance ``Σ_y Q[x, y] a_y² − x²``
    over all points, or its average under a prior. Channel and values are found together, by a linear programme whose
    grid of values is refined (:mod:`discreet.design.unbiased_programme`); the certificate bounds every ε-private
    mechanism with unbiased numbers on these points. Between the points, numbers are rounded at random
    (:meth:`UnbiasedResponse.round`), which keeps them unbiased.

    Parameters
    ----------
    domain : Grid or Ordinal
        Numbers, up to 64; those of an ordinal domain are its positions.
    epsilon : float
        The privacy level, from 0.01 to 8.
    prior : array, optional
        How frequent each point is thought to be: minimise the average variance instead of the largest.

    Notes
    -----
    On [−1, 1] with 21 points the largest variance is 3.99 at ε = 1 and .865 at ε = 2, where the best of the mechanisms
    of Duchi, Jordan and Wainwright (2018) and of Wang and others (2019; piecewise and hybrid) have 4.29 and 1.042, and
    Laplace noise 8 and 2.

    Examples
    --------
    >>> from discreet import Grid
    >>> found = mean(Grid(-1, 1, 5), 1.0)
    >>> round(found.objective, 2), found.certificate.gap < 0.001 * found.objective
    (3.98, True)
    """
    if not isinstance(domain, (Grid, Ordinal)):
        raise DesignError("unbiased numbers are for a Grid, or an Ordinal whose positions are the numbers")
    if domain.size > MAX_POINTS:
        raise DesignError(
            f"unbiased numbers are designed for up to {MAX_POINTS} points, not {domain.size:,}: take fewer, numbers in "
            "between are rounded at random without bias"
        )
    epsilon = checked_epsilon(epsilon)
    if not LEAST_EPSILON <= epsilon <= MOST_EPSILON:
        raise PrivacyError(
            f"epsilon must be from {LEAST_EPSILON:g} to {MOST_EPSILON:g} for unbiased numbers, not {epsilon:g}: the "
            "linear programme is solved in floats"
        )
    weights = None if prior is None else checked_prior(prior, domain.size)
    points = np.asarray(domain.positions, float)
    middle, half = float(points[0] + points[-1]) / 2, float(points[-1] - points[0]) / 2
    solution = solve(
        (points - middle) / half, epsilon, weights, lambda values: (shortened(middle + half * values) - middle) / half
    )
    values = shortened(middle + half * solution.values)
    channel = _polished(solution.channel, points, values, math.exp(epsilon * (1 - SHRINK)))
    mechanism = UnbiasedResponse.private(channel, points, values, epsilon)
    variances = mechanism.variances()
    value = float(variances.max() if weights is None else weights @ variances)
    bound = solution.bound * half**2
    which = "largest variance" if weights is None else "average variance"
    statement = f"no ε-private mechanism with unbiased numbers on these points has a smaller {which}, by its dual"
    measure = f"{which} of a reported number, over the points" if weights is None else f"{which} of a reported number"
    return Design(
        mechanism, value, Optimality.checked(value, bound, statement), _notes(points, epsilon, variances), measure
    )


def _polished(channel: Floats, points: Floats, values: Floats, ratio: float) -> Floats:
    """The channel to the last digit: sums and means right, and hardly an entry outside of its range.

    What the solver leaves, about 1e-10, is taken out of every row by factors ``1 + α + β·distance`` near one. Where an
    entry leaves its range it is put back and the rows are made right again; of all these the best is taken.
    """
    distance = (values - points[:, None]) / float(np.ptp(points))
    best, least = channel, math.inf
    for _ in range(_PROJECTIONS):
        found = _exact_rows(_exact_rows(channel, distance), distance)
        excess = float((found.max(axis=0) / found.min(axis=0)).max() / ratio - 1)
        if excess < least:
            best, least = found, excess
        if excess < _NEGLIGIBLE:
            break
        low = np.maximum(found.min(axis=0), found.max(axis=0) / ratio)
        channel = np.clip(found, low, ratio * low)
    return best


def _exact_rows(channel: Floats, distance: Floats) -> Floats:
    """Rows that sum to one and have a mean distance of zero."""
    total, first, second = ((channel * distance**power).sum(axis=1) for power in (0, 1, 2))
    # α·total + β·first = 1 − total and α·first + β·second = −first, for every row.
    determinant = total * second - first**2
    alpha = ((1 - total) * second + first**2) / determinant
    beta = -first / determinant
    return np.asarray(channel * (1 + alpha[:, None] + beta[:, None] * distance))


def known_mechanisms(epsilon: float) -> dict[str, float]:
    """The largest variance, for numbers in [−1, 1], of the mechanisms that are in use.

    >>> {name: round(value, 3) for name, value in known_mechanisms(1.0).items()}
    {'Laplace noise': 8.0, 'Duchi': 4.683, 'piecewise': 5.224, 'hybrid': 4.289}
    """
    e, root = math.exp(epsilon), math.exp(epsilon / 2)
    duchi = ((e + 1) / (e - 1)) ** 2
    piecewise = 1 / (root - 1) + (root + 3) / (3 * (root - 1) ** 2)
    # The hybrid takes the piecewise mechanism with probability 1 − e^{−ε/2}; at small ε it is Duchi's.
    hybrid = (root + 3) / (3 * root * (root - 1)) + duchi / root
    return {
        "Laplace noise": 8 / epsilon**2,
        "Duchi": duchi,
        "piecewise": piecewise,
        "hybrid": hybrid if epsilon > _HYBRID_FROM else duchi,
    }


def _notes(points: Floats, epsilon: float, variances: Floats) -> tuple[str, ...]:
    half = float(np.ptp(points)) / 2
    known = {name: value * half**2 for name, value in known_mechanisms(epsilon).items()}
    gap = float(np.diff(points).max())
    return (
        f"largest variance {variances.max():.4g}; of mechanisms for any number in the interval: "
        + ", ".join(f"{name} {value:.4g}" for name, value in known.items()),
        f"numbers between the points are rounded at random, which adds at most {gap**2 / 4:.3g} to the variance",
        "the mean of the reported values is the estimate; a single report can lie far outside of the interval",
    )
