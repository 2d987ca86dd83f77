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
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arguments import Floats
from discreet.errors import DesignError
from discreet.mechanisms.rounding import RELATIVE_TOLERANCE

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
    """Channel, objective and multipliers for these values.

    The unknowns are ``Q = e^−ε h + t`` with ``0 ≤ t ≤ (1 − e^−ε) h``, whose coefficients stay between zero and one.
    """
    from scipy import sparse
    from scipy.optimize import linprog

    size, count, least = points.size, values.size, 1 / ratio
    distance = np.tile(values, (size, 1)) - points[:, None]
    equations: Any = sparse.vstack([_weighted(np.ones((size, count)), least), _weighted(distance, least)])
    # In units of a variance that is about right: the solver knows absolute tolerances only.
    unit = _typical_variance(ratio)
    squares = _weighted(distance**2 / unit, least)
    caps: Any = sparse.hstack([sparse.eye(size * count), sparse.kron(np.full((size, 1), least - 1), sparse.eye(count))])
    limits, right = caps, np.zeros(size * count)
    if prior is None:
        equations = sparse.hstack([equations, sparse.csr_matrix((2 * size, 1))])
        caps = sparse.hstack([caps, sparse.csr_matrix((size * count, 1))])
        limits = sparse.vstack([caps, sparse.hstack([squares, sparse.csr_matrix(-np.ones((size, 1)))])])
        right = np.zeros(size * count + size)
        costs = np.append(np.zeros(size * count + count), 1.0)
    else:
        costs = squares.T @ prior
    found = linprog(
        costs,
        A_ub=limits.tocsr(),
        b_ub=right,
        A_eq=equations.tocsr(),
        b_eq=np.concatenate([np.ones(size), np.zeros(size)]),
        method="highs-ds",
        options={"primal_feasibility_tolerance": _TOLERANCE, "dual_feasibility_tolerance": _TOLERANCE},
    )
    if found.status != 0 or found.x is None or found.fun is None:
        raise DesignError(f"the linear programme for {size} points could not be solved: use fewer points")
    above, high = found.x[: size * count].reshape(size, count), found.x[size * count : size * count + count]
    equal = np.asarray(found.eqlin.marginals) * unit
    theta = prior if prior is not None else np.maximum(-np.asarray(found.ineqlin.marginals)[size * count :], 0.0)
    multipliers = _Multipliers(equal[:size], equal[size:], theta / theta.sum())
    return above + least * high, float(found.fun) * unit, multipliers


def _weighted(coefficients: Floats, least: float) -> Any:
    """The rows ``Σ_y Q[x, y] c_xy`` in the unknowns t and h."""
    from scipy import sparse

    own = sparse.block_diag([sparse.csr_matrix(row[None, :]) for row in coefficients])
    return sparse.hstack([own, sparse.csr_matrix(least * coefficients)], format="csr")


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
