"""The programme on cells: attributes that are asked for alike are interchangeable, so only counts matter.

A density ``c(1 + (r − 1) g)`` with 0 ≤ g ≤ 1 is averaged over permutations of attributes with the same size and level
without losing anything, so g may be taken as a function of how many attributes of each group are truthful. With all
attributes different the cells are the 2^k patterns; k identical ones have k + 1 cells. In terms of g and
ρ = 1/(r − 1) the programme reads

    maximise ρ   subject to   E[g (B_i − p_i)]/d_i = ρ                       for every attribute
                              E[g (χ_S − λ_S⁰)]/λ_S⁰ ≥ ρ                     for every table S to keep,

expectations being under the uniformly random answer, with χ_S = Π χ_i and λ_S⁰ = Π λ_i over the attributes of S, which
is what independent randomisation has.

The paper's linear programme over the 2^k patterns, in a form that is well scaled.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.arguments import Floats
from discreet.design.several_attributes.request import Request
from discreet.errors import DesignError, PrivacyError
from discreet.mechanisms.joint.grouped import MAX_CELLS


@dataclass(frozen=True, eq=False)
class Cells:
    """Probabilities and features of every cell.

    Parameters
    ----------
    request : Request
    groups : tuple of int
        The group of every attribute.
    kept : tuple of tuples of int
        The tables to keep, each as the groups of its attributes: (0, 0, 2) is every table of two attributes of the
        first group and one of the third.
    """

    request: Request
    groups: tuple[int, ...]
    kept: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self) -> None:
        if self.count > MAX_CELLS:
            raise DesignError(f"{self.count:,} cells are over the limit of {MAX_CELLS:,}")

    @cached_property
    def members(self) -> tuple[int, ...]:
        """How many attributes each group has."""
        return tuple(np.bincount(self.groups).tolist())

    @cached_property
    def _first(self) -> list[int]:
        """One attribute of each group."""
        return [self.groups.index(g) for g in range(len(self.members))]

    @property
    def shape(self) -> tuple[int, ...]:
        """Counts of each group run from 0 to its number of members."""
        return tuple(n + 1 for n in self.members)

    @property
    def count(self) -> int:
        """Number of cells."""
        return math.prod(self.shape)

    def _along(self, g: int, values: Floats) -> Floats:
        """A function of the count of one group, over all cells."""
        shaped = values.reshape([-1 if axis == g else 1 for axis in range(len(self.shape))])
        return np.broadcast_to(shaped, self.shape).reshape(-1)

    @cached_property
    def log_probability(self) -> Floats:
        """Ln P(cell) under the uniformly random answer."""
        from scipy.special import gammaln

        total = np.zeros(self.count)
        for g, n in enumerate(self.members):
            a = self.request.a[self._first[g]]
            c = np.arange(n + 1.0)
            log_p = gammaln(n + 1) - gammaln(c + 1) - gammaln(n - c + 1) + (n - c) * math.log(a - 1) - n * math.log(a)
            total += self._along(g, log_p)
        return total

    @cached_property
    def rows(self) -> Floats:
        """(c_g/n_g − p_g)/d_g for every group: one row each."""
        out = []
        for g, n in enumerate(self.members):
            i = self._first[g]
            # c/n − p, written so that nothing cancels where p is nearly one.
            surplus = self.request.lie[i] - np.arange(n, -1.0, -1.0) / n
            out.append(self._along(g, surplus / self.request.excess[i]))
        return np.array(out)

    def _mean_of_products(self, g: int, count: int) -> Floats:
        """E[Π χ_i] over ``count`` attributes of one group, given how many of the group are truthful; over all cells.

        Every set of so many members is as likely as any other: χ is 1 for a truthful one and −1/(a − 1) otherwise.
        """
        n, a = self.members[g], float(self.request.a[self._first[g]])
        values = [
            math.fsum(
                math.comb(c, j) * math.comb(n - c, count - j) * (-1 / (a - 1)) ** (count - j) for j in range(count + 1)
            )
            / math.comb(n, count)
            for c in range(n + 1)
        ]
        return self._along(g, np.array(values))

    @cached_property
    def kept_rows(self) -> Floats:
        """(χ_S − Π λ_i)/Π λ_i for every kind of table S to keep, χ_S = Π χ_i over its attributes."""
        lam = [float(self.request.eigenvalues[i]) for i in self._first]
        out = []
        for kind in self.kept:
            counts = Counter(kind)
            product = np.ones(self.count)
            for g, count in counts.items():
                product = product * self._mean_of_products(g, count) / lam[g] ** count
            out.append(product - 1)
        return np.array(out).reshape(len(out), self.count)

    @cached_property
    def features(self) -> Floats:
        """All rows: attributes first, then the tables to keep."""
        return np.vstack([self.rows, self.kept_rows]) if self.kept and self.request.count > 1 else self.rows

    @cached_property
    def guess(self) -> tuple[Floats, float]:
        """Weights of the rows, adding up to one, with a small E[(·)₊], and the logarithm of that.

        The weights of a threshold under which every attribute is truthful as often as it is asked to be.
        """
        # logit p_i + ln(a_i − 1) is ε_i.
        levels = np.array(self.request.epsilons)[self._first]
        weights = levels * np.array(self.members) * self.request.excess[self._first]
        multipliers = np.zeros(len(self.features))
        multipliers[: len(weights)] = weights / weights.sum()
        return multipliers, self.log_value(multipliers)

    @cached_property
    def independent(self) -> Floats:
        """G of independent randomisation: ``(e^{Σ ε_i B_i} − 1)/(e^{Σ ε_i} − 1)``."""
        exponent = np.zeros(self.count)
        for g, n in enumerate(self.members):
            exponent += self._along(g, np.arange(n + 1.0) * self.request.epsilons[self._first[g]])
        top = self.request.product
        return np.asarray(np.exp(exponent - top) * np.expm1(-exponent) / np.expm1(-top))

    def log_value(self, multipliers: Floats) -> float:
        """``ln E[(Σ_m w_m feature_m)₊]``: with Σ w = 1, and w ≥ 0 for tables, an upper bound on ln ρ."""
        score = multipliers @ self.features
        positive = score > 0
        if not positive.any():
            return -math.inf
        logs = self.log_probability[positive] + np.log(score[positive])
        peak = float(logs.max())
        return peak + math.log(float(np.sum(np.exp(logs - peak))))


#: 2^16 variables; the programme takes seconds there and hours soon after.
MAX_PATTERN_ATTRIBUTES = 16
#: Solvers and tolerances, in this order.
_ATTEMPTS = (("highs-ds", 1e-10), ("highs-ds", 1e-9), ("highs", 1e-8), ("highs-ipm", 1e-8))


@dataclass(frozen=True, eq=False)
class Solution:
    """g by cell, ln ρ reached, and a bound on ln ρ that no mechanism passes."""

    g: Floats
    log_rho: float
    log_bound: float


def solve_cells(cells: Cells) -> Solution:
    """The optimal g by HiGHS, with the bound that its dual weights prove.

    ρ may be 1e-9 where the record level is 20. Probabilities are divided by a good guess of it, so that what the
    solver sees is near one.
    """
    log_guess = cells.guess[1]
    chance = np.exp(np.minimum(cells.log_probability - log_guess, 600.0))
    rows, features = len(cells.rows), cells.features
    # ρ is the last variable.
    matrix = np.hstack([features * chance, -np.ones((len(features), 1))])
    x, duals = _solve(matrix[:rows], matrix[rows:])
    duals[rows:] = np.maximum(duals[rows:], 0.0)
    # Whatever the solver's rounding, weights that add up to one prove a bound.
    log_bound = min(cells.log_value(duals / duals.sum()), log_guess) if duals.sum() > 0 else log_guess
    return Solution(np.clip(x[:-1], 0.0, 1.0), math.log(x[-1]) + log_guess, log_bound)


def solved(cost: Floats, **problem: Any) -> Any:
    """HiGHS, as exactly as it can; None when it gives up.

    Where the strictest tolerance is too strict for a problem, looser ones are tried. Whatever comes out is only a
    proposal: the finished integers are certified, and the bound is recomputed from the dual weights.
    """
    from scipy.optimize import linprog

    solver: Any = linprog  # its type knows each method with its options only
    for method, tolerance in _ATTEMPTS:
        options = {"primal_feasibility_tolerance": tolerance, "dual_feasibility_tolerance": tolerance}
        answer = solver(cost, method=method, options=options, **problem)
        if answer.success:
            return answer
    return None


def _solve(equal: Floats, at_least: Floats) -> tuple[Floats, Floats]:
    """Maximise the last variable; returns the variables and the dual weights of the rows."""
    count = equal.shape[1]
    cost = np.zeros(count)
    cost[-1] = -1.0
    answer = solved(
        cost,
        bounds=[(0.0, 1.0)] * (count - 1) + [(0.0, None)],
        A_eq=equal,
        b_eq=np.zeros(len(equal)),
        A_ub=-at_least if len(at_least) else None,
        b_ub=np.zeros(len(at_least)) if len(at_least) else None,
    )
    if answer is None or not answer.x[-1] > 0:
        raise PrivacyError("the linear programme was not solved: the levels are too unequal for floating point")
    duals = np.asarray(answer.eqlin.marginals)
    if len(at_least):
        duals = np.concatenate([duals, -np.asarray(answer.ineqlin.marginals)])
    return np.asarray(answer.x), duals
