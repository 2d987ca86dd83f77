"""Mixtures of several weighted thresholds, for attributes that one threshold does not serve: the master programme.

With x_m the share of threshold m over that of the uniform answer, π_i^m its truth rates and l_i the eigenvalues that
the mixture reaches, the best mixture is

    minimise Σ x_m/P(D_m)   subject to   Σ x_m (π_i^m − p_i)/d_i ≥ 1                            for every attribute,
                                         Σ x_m E_m[(χ_i − l_i)(χ_j − l_j)]/(l_i l_j) ≥ −1       for every pair to keep,

and its value is e^ε − 1. Attributes above their level are randomised down afterwards, which leaves the sign of every
covariance alone. Columns are found by :mod:`discreet.design.attributes.free_mixture` and
:mod:`discreet.design.attributes.pair_keeping_mixture`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import Floats
from discreet.design.attributes.linear_programme import solved
from discreet.design.attributes.request import Request
from discreet.design.attributes.threshold_columns import Column
from discreet.mechanisms.joint import Threshold, ThresholdLaw
from discreet.mechanisms.joint.threshold import DENOMINATOR

Pair = tuple[int, int]

#: Columns dearer than e to this, relative to the bound, are noise to the solver.
_LARGEST_LOG_COST = 14.0
#: A missing unit of a row costs this much: more than any dual weight of a mixture that is worth having.
_PENALTY = 1e5
#: Shares below this, relative to the largest, are what the solver leaves of nothing.
_NEGLIGIBLE_SHARE = 1e-13
#: The largest share over that of the uniform answer.
_LARGEST_SHARE = 1e9
#: What may be missing of a row that is met.
_ROW_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class Mixed:
    """A solved programme: ε (infinite when a row is not met), shares of the columns, dual weights of the rows."""

    epsilon: float
    shares: Floats
    duals: Floats
    pair_duals: Floats

    @property
    def used(self) -> NDArray[np.intp]:
        """Columns with a share."""
        return np.flatnonzero(self.shares > 0)


@dataclass(frozen=True)
class Programme:
    """The programme for a set of columns; costs are relative to e^bound, so that values are near one."""

    request: Request
    bound: float
    columns: tuple[Column, ...]
    pairs: tuple[Pair, ...] = ()
    reached: Floats | None = None

    def mixed(self) -> Mixed:
        """The best mixture; rows may be missed at a penalty, so that there is always one."""
        which, cost, rows = self._parts()
        goal = np.concatenate([np.ones(self.request.count), -np.ones(len(self.pairs))])
        answer = solved(
            np.concatenate([cost, np.full(len(rows), _PENALTY)]),
            A_ub=-np.hstack([rows, np.eye(len(rows))]),
            b_ub=-goal,
            bounds=(0.0, _LARGEST_SHARE),
        )
        shares = np.zeros(len(self.columns))
        if answer is None:
            return Mixed(math.inf, shares, np.zeros(self.request.count), np.zeros(len(self.pairs)))
        found, missing = np.split(np.asarray(answer.x), [cost.size])
        shares[which] = np.where(found > _NEGLIGIBLE_SHARE * found.max(), found, 0.0)
        duals = np.maximum(-np.asarray(answer.ineqlin.marginals), 0.0)
        epsilon = self.epsilon(answer.fun) if missing.max() < _ROW_TOLERANCE else math.inf
        return Mixed(epsilon, shares, *np.split(duals, [self.request.count]))

    def boxed(self, low: Floats, high: Floats) -> tuple[float, Floats, bool] | None:
        """The programme with its dual weights in a box: value as ε, dual weights, and whether the box binds."""
        _, cost, rows = self._parts()
        free = np.eye(self.request.count)
        answer = solved(
            np.concatenate([cost, high, -low]),
            A_ub=-np.hstack([rows, free, -free]),
            b_ub=-np.ones(self.request.count),
            bounds=(0.0, _LARGEST_SHARE),
        )
        if answer is None or not answer.fun > 0:
            return None
        binds = bool(answer.x[cost.size :].max() > _ROW_TOLERANCE)
        return self.epsilon(answer.fun), np.maximum(-np.asarray(answer.ineqlin.marginals), 0.0), binds

    def reduced_costs(self, mixed: Mixed) -> tuple[NDArray[np.intp], Floats]:
        """Columns that are cheap enough, and what a unit of each would add to the value."""
        which, cost, rows = self._parts()
        return which, cost - np.concatenate([mixed.duals, mixed.pair_duals]) @ rows

    def epsilon(self, value: float) -> float:
        """ε of a value of the programme, which is (e^ε − 1)/e^bound."""
        return self.bound + math.log(value + math.exp(-self.bound))

    def _parts(self) -> tuple[NDArray[np.intp], Floats, Floats]:
        logs = np.array([-column.log_chance - self.bound for column in self.columns])
        which = np.flatnonzero(logs < _LARGEST_LOG_COST)
        rows = truth_rows(self.request, np.array([self.columns[m].truth for m in which]).T)
        if self.pairs and self.reached is not None:
            first, second = np.array(self.pairs).T
            both = np.array([self.columns[m].pairs[first, second] for m in which]).T
            chi = np.array([self.columns[m].chi for m in which]).T
            rows = np.vstack([rows, covariance_rows(self.reached, both, chi, self.pairs)])
        return which, np.exp(logs[which]), rows


def truth_rows(request: Request, truth: Floats) -> Floats:
    """(π_i − p_i)/d_i: attributes × columns."""
    return np.asarray((truth - request.truth[:, None]) / request.excess[:, None])


def covariance_rows(reached: Floats, both: Floats, chi: Floats, pairs: Sequence[Pair]) -> Floats:
    """E[(χ_i − l_i)(χ_j − l_j)]/(l_i l_j): pairs × columns."""
    first, second = np.array(pairs).T
    one, other = reached[first][:, None], reached[second][:, None]
    return np.asarray(both / (one * other) - chi[first] / one - chi[second] / other + 1)


def mixture_law(request: Request, parts: Iterable[tuple[Column, float]], surplus: float) -> ThresholdLaw:
    """The mixture with integer shares; a surplus over what is needed makes up for errors of the arithmetic."""
    used = [(column, share) for column, share in parts if share > 0]
    whole = 1 + math.fsum(share for _, share in used)
    return ThresholdLaw(
        request.sizes,
        tuple(
            Threshold(
                math.ceil(share / whole * (1 + surplus) * DENOMINATOR), tuple(column.weights.tolist()), column.threshold
            )
            for column, share in used
        ),
    )
