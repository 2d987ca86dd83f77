"""The unbiased channel of least variance: a linear programme on a grid of values that is refined where it matters.

A report y has a value a_y. For given values the channel is a linear programme in the probabilities:

    minimise  max_x Σ_y Q[x, y] (a_y − x)²   (or its average under a prior)
    subject to  Σ_y Q[x, y] = 1,  Σ_y Q[x, y] (a_y − x) = 0  and  l_y ≤ Q[x, y] ≤ e^ε l_y  for every point x.

**The bound.** With multipliers μ_x, ν_x of the equations and θ_x ≥ 0 of the variances (the prior, or whatever sums to
one), let ``g_x(a) = θ_x (a − x)² − ν_x (a − x) − μ_x`` and ``h(a) = Σ_x min(g_x(a), e^ε g_x(a))``, the least that a
report of value a can cost per unit of l. The l_y sum to at most one, since every row does and no entry is below l_y. So

    Σ_x μ_x + min(0, min_a h(a))

is a lower bound for every mechanism with *any* values: for all multipliers, in particular those of the programme. h is
a quadratic function between the roots of the g_x, so that its minimum is found exactly. The values where it is negative
and least improve the programme: they are added until the bound is met.

The private mechanism with unbiased numbers of least variance, for means.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from discreet.arguments import Floats
from discreet.design.ordered_values.near_count import checked_prior
from discreet.design.private_channel_lp import PrivateChannelLP
from discreet.design.result import Design, Optimality
from discreet.domains import Grid, Ordinal
from discreet.errors import DesignError, PrivacyError
from discreet.mechanisms.exact_integers import RELATIVE_TOLERANCE, checked_epsilon
from discreet.mechanisms.unbiased import UnbiasedResponse, shortened

#: Values in the programme at the start.
_START = 48
#: Rounds of refinement; three to eight are needed.
_ROUNDS = 25
#: Rounds for which a value stays although it is not used: dropped at once, it would be proposed again and again where
#: multipliers are not unique.
_REMEMBERED = 4
#: The search stops at this gap between programme and bound, relative to the variance.
GAP = 2e-4
#: The programme is solved at an ε that is this much smaller, so that rounding cannot carry the result above ε.
SHRINK = 0.5 * float(RELATIVE_TOLERANCE)
#: The solver's tolerances, the least that it takes.
_TOLERANCE = 1e-10
#: A report that is given with less probability is rounding.
_UNUSED = 1e-9
#: Values closer than this share of their range become one report.
_MERGED = 2e-3


@dataclass(frozen=True, eq=False)
class Solution:
    """What the programme found: a value for every report, the channel, its objective, and the bound."""

    values: Floats
    channel: Floats
    value: float
    bound: float


@dataclass(frozen=True, eq=False)
class _Multipliers:
    """Of the row sums (μ), of the means (ν) and of the variances (θ ≥ 0, summing to one)."""

    sums: Floats
    means: Floats
    variances: Floats

    def least_costs(self, points: Floats, ratio: float) -> tuple[Floats, Floats]:
        """Where h has its minima between the roots of the g_x, and its value there."""
        # g_x(a) = θa² − νa − μ in powers of a.
        theta = self.variances
        nu = self.means + 2 * theta * points
        mu = self.sums - theta * points**2 - self.means * points
        edges = np.unique(_roots(theta, nu, mu))
        inner = (edges[1:] + edges[:-1]) / 2
        middles = np.concatenate([[edges[0] - 1], inner, [edges[-1] + 1]])
        negative = theta[:, None] * middles**2 - nu[:, None] * middles - mu[:, None] < 0
        sigma = np.where(negative, ratio, 1.0)
        square, line, constant = theta @ sigma, nu @ sigma, mu @ sigma
        at = np.clip(line / (2 * square), np.append(-np.inf, edges), np.append(edges, np.inf))
        return at, square * at**2 - line * at - constant


def solve(
    points: Floats, epsilon: float, prior: Floats | None, written: Callable[[Floats], Floats] = lambda values: values
) -> Solution:
    """The programme for points in [−1, 1]; the worst variance when there is no prior.

    ``written`` gives values as they will be written down: the last programme is for these.

    The channel is for an ε that is 5e-10 of itself smaller, to leave room for rounding; the bound is for ε itself.
    """
    ratio, full = math.exp(epsilon * (1 - SHRINK)), math.exp(epsilon)
    root = math.sqrt(ratio)
    reach = (root + 1) / (root - 1)
    # With little privacy reports are near the truth, so that the points themselves are among the first values.
    values = np.unique(np.concatenate([np.linspace(-reach, reach, _START), points]))
    bound, ever_used, proposed = -math.inf, np.zeros(0), list[Floats]()
    for attempt in range(1, _ROUNDS + 1):
        channel, value, multipliers = _programme(points, values, ratio, prior)
        at, cost = multipliers.least_costs(points, full)
        bound = max(bound, float(multipliers.sums.sum()) + min(0.0, float(cost.min())))
        if value - bound <= GAP * value or attempt == _ROUNDS:
            break
        ever_used = np.concatenate([ever_used, values[channel.max(axis=0) > _UNUSED]])
        proposed = [*proposed[1 - _REMEMBERED :], at[cost < 0]]
        values = np.unique(np.concatenate([ever_used, *proposed]))
    used = channel.max(axis=0) > _UNUSED
    merged = written(_merged(values[used], channel[:, used].mean(axis=0), _MERGED * reach))
    fewer, its_value, _ = _programme(points, merged, ratio, prior)
    if its_value > value * (1 + GAP):
        merged = written(values[used])
        fewer, its_value, _ = _programme(points, merged, ratio, prior)
    used = fewer.max(axis=0) > _UNUSED
    return Solution(merged[used], fewer[:, used], its_value, bound)


def _merged(values: Floats, shares: Floats, width: float) -> Floats:
    """Values that lie closely together, each group as its mean; the ends stay where they are."""
    groups: list[list[int]] = []
    for i in range(values.size):
        if groups and values[i] - values[groups[-1][0]] <= width:
            groups[-1].append(i)
        else:
            groups.append([i])
    means = [float(np.average(values[group], weights=shares[group])) for group in groups]
    means[0], means[-1] = float(values[0]), float(values[-1])
    return np.array(means)


def _programme(
    points: Floats, values: Floats, ratio: float, prior: Floats | None
) -> tuple[Floats, float, _Multipliers]:
    """Channel, objective and multipliers for these values."""
    from scipy import sparse

    size, count, least = points.size, values.size, 1 / ratio
    programme = PrivateChannelLP(size, count, least)
    distance = np.tile(values, (size, 1)) - points[:, None]
    # In units of a variance that is about right: the solver knows absolute tolerances only.
    unit = _typical_variance(ratio)
    squares = programme.rows(distance**2 / unit)
    found = programme.solve(
        sparse.vstack([programme.rows(np.ones((size, count))), programme.rows(distance)]),
        np.concatenate([np.ones(size), np.zeros(size)]),
        costs=None if prior is None else squares.T @ prior,
        largest=squares,
        options={"primal_feasibility_tolerance": _TOLERANCE, "dual_feasibility_tolerance": _TOLERANCE},
    )
    equal = found.equations * unit
    theta = found.worst_truths if prior is None else prior
    multipliers = _Multipliers(equal[:size], equal[size:], theta / theta.sum())
    return found.above + least * found.highest, found.value * unit, multipliers


def _typical_variance(ratio: float) -> float:
    """The largest variance of the hybrid of the mechanisms of Duchi and of Wang (2019), within a few times of ours."""
    root = math.sqrt(ratio)
    return (root + 3) / (3 * root * (root - 1)) + ((ratio + 1) / (ratio - 1)) ** 2 / root


def _roots(theta: Floats, nu: Floats, mu: Floats) -> Floats:
    """Where ``θa² − νa − μ`` is zero, for every point; a line has one root."""
    found = [0.0]
    for t, n, m in zip(theta.tolist(), nu.tolist(), mu.tolist(), strict=True):
        if t == 0:
            found += [-m / n] if n else []
            continue
        inside = n * n + 4 * t * m
        if inside >= 0:
            q = (n + math.copysign(math.sqrt(inside), n)) / 2  # no cancellation: the roots are q/t and −m/q
            found += [q / t] + ([-m / q] if q else [])
    return np.array([root for root in found if math.isfinite(root)])


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
    grid of values is refined (:mod:`discreet.design.numbers.unbiased_lp`); the certificate bounds every ε-private
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
