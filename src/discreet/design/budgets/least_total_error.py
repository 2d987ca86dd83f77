"""Vectors: one privacy budget split over several coordinates so that the total error is least."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet import arguments
from discreet.arguments import Floats
from discreet.design.ordered_values.bipartite_response import bipartite
from discreet.design.ordered_values.near_count import Ranking, checked_prior, rank
from discreet.design.result import Design
from discreet.domains.losses import with_losses
from discreet.errors import DesignError
from discreet.mechanisms import BipartiteResponse
from discreet.mechanisms.exact_integers import checked_epsilon

#: The budget is first split in so many equal parts, then by ever smaller exchanges.
_PARTS = 64
_HALVINGS = 20


@dataclass(frozen=True, eq=False)
class Split:
    """One design per coordinate.

    Attributes
    ----------
    designs : tuple of Design
        A bipartite response for every coordinate.
    epsilons : tuple of float
        The budget of every coordinate; they sum to the total.
    objective : float
        Σ weight × expected error.
    even : float
        The same with equal budgets, for comparison.
    """

    designs: tuple[Design[BipartiteResponse], ...]
    epsilons: tuple[float, ...]
    objective: float
    even: float

    def summary(self) -> str:
        """A few lines for people."""
        lines = [f"total expected error {self.objective:.6g} (equal budgets: {self.even:.6g})"]
        lines += [
            f"coordinate {i}: ε = {epsilon:.4g}, m = {design.mechanism.near}, error {design.objective:.4g}"
            for i, (epsilon, design) in enumerate(zip(self.epsilons, self.designs, strict=True))
        ]
        return "\n".join(lines)

    __str__ = summary


def split_budget(domains: Sequence[Any], epsilon: float, weights: Sequence[float] | None = None) -> Split:
    """Bipartite responses for the coordinates of a vector, with budgets that sum to ε and the least total error.

    A vector is randomised coordinate by coordinate, and the budgets add up. With the error e_i(ε_i) of the best
    bipartite response, ``Σ w_i e_i(ε_i)`` is minimised over ε_i ≥ 0, Σ ε_i = ε: by dynamic programming over a grid,
    then by exchanges between pairs of coordinates.

    Parameters
    ----------
    domains : sequence of Ordinal, Grid or Metric
        One per coordinate, at least two.
    epsilon : float
        The privacy level of the whole vector.
    weights : sequence of float, optional
        How much an error of each coordinate counts; equally by default.

    Examples
    --------
    >>> from discreet import Grid
    >>> found = split_budget([Grid(0, 1, 50), Grid(0, 10, 50)], 2.0)
    >>> found.epsilons[1] > found.epsilons[0], found.objective < found.even
    (True, True)
    """
    epsilon = checked_epsilon(epsilon)
    losses = [with_losses(domain, DesignError) for domain in arguments.listed(domains, "domains", DesignError)]
    count = len(losses)
    if count < 2:
        raise DesignError(f"a budget is split over at least two coordinates, not {count}")
    worth = np.ones(count) if weights is None else arguments.floats(weights, "weights", DesignError)
    if worth.shape != (count,) or not np.all(np.isfinite(worth) & (worth > 0)):
        raise DesignError(f"weights must be {count} numbers above 0, one per coordinate")
    # The sums of sorted losses do not depend on ε: each domain is sorted once.
    rankings = [rank(one, epsilon, checked_prior(None, one.size)) for one in losses]

    def error(i: int, budget: float) -> float:
        return float(worth[i]) * _least(rankings[i], budget)

    budgets = _exchanged(_on_grid(error, count, epsilon), error)
    # Coordinates whose budget is nothing would be answered without looking at the truth; a mechanism needs some.
    budgets = np.maximum(budgets, epsilon * 1e-6)
    budgets *= epsilon / math.fsum(budgets.tolist())
    if math.fsum(budgets.tolist()) > epsilon:
        budgets *= 1 - 1e-15
    designs = tuple(bipartite(d, float(b), "best") for d, b in zip(domains, budgets, strict=True))
    total = float(sum(w * design.objective for w, design in zip(worth, designs, strict=True)))
    even = float(sum(error(i, epsilon / count) for i in range(count)))
    return Split(designs, tuple(budgets.tolist()), total, even)


def _least(ranking: Ranking, budget: float) -> float:
    return float(ranking.errors(math.exp(min(budget, 700.0))).min())


def _on_grid(error: Any, count: int, epsilon: float) -> Floats:
    """The best split into multiples of ε/64."""
    tables = np.array([[error(i, epsilon * k / _PARTS) for k in range(_PARTS + 1)] for i in range(count)])
    best, choices = tables[0], []
    for i in range(1, count):
        sums = np.array([[best[k - j] + tables[i][j] if j <= k else np.inf for j in range(_PARTS + 1)]
                         for k in range(_PARTS + 1)])  # fmt: skip
        choices.append(sums.argmin(axis=1))
        best = sums.min(axis=1)
    parts, left = [], _PARTS
    for chosen in reversed(choices):
        parts.append(int(chosen[left]))
        left -= parts[-1]
    return epsilon * np.array([left, *reversed(parts)], float) / _PARTS


def _exchanged(budgets: Floats, error: Any) -> Floats:
    """Move smaller and smaller amounts between pairs of coordinates while that lowers the total."""
    current = budgets.copy()
    amount = budgets.sum() / _PARTS / 2
    for _ in range(_HALVINGS):
        for i in range(current.size):
            for j in range(current.size):
                if i == j or current[i] < amount:
                    continue
                before = error(i, current[i]) + error(j, current[j])
                if error(i, current[i] - amount) + error(j, current[j] + amount) < before * (1 - 1e-12):
                    current[i] -= amount
                    current[j] += amount
        amount /= 2
    return current
