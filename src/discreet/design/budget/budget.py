"""Split a total ε over columns, joint blocks and numbers, for the margins that matter.

With ``ε_b(s)`` the least ε of block b at which all its margins are at most s times the wanted ones, a falling
function, and budgets that add up:

* the least total that meets every margin is ``Σ_b ε_b(1)``;
* the best margins for a total E, in the sense of the least s with every margin at most s times the wanted one, have the
  s at which ``Σ_b ε_b(s) = E``.

Both are optimal: any split that meets the margins gives block b at least ε_b.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from discreet import arguments
from discreet.design.budget.problem import Problem
from discreet.design.budget.result import BudgetSplit, Further, Share
from discreet.design.budget.targets import Wanted
from discreet.design.result import Optimality
from discreet.errors import BudgetError, DesignError
from discreet.mechanisms.rounding import checked_epsilon

#: The first step by which a factor from interpolated curves is widened until the total holds.
_SLIGHTLY = 5e-5


def budget(
    targets: Mapping[str, Wanted],
    n: int,
    epsilon: float | None = None,
    *,
    spend: str = "least",
    level: float = 0.95,
    step: float = 0.1,
) -> BudgetSplit:
    """Split a total ε over blocks for the margins that matter.

    Parameters
    ----------
    targets : mapping of name to Target or JointTarget
        What is to be learned from each block, and how well.
    n : int
        How many people answer.
    epsilon : float, optional
        What may be spent in all. Without it the margins decide.
    spend : {"least", "all"}
        "least": the least ε that meets every margin, refused when that is over the total. "all": the whole total, for
        the least largest margin over the wanted one, which may be above 1.
    level : float
        Of the intervals.
    step : float
        What each further so much of ε would buy is computed for three steps.

    Examples
    --------
    >>> from discreet import Binary, Categorical
    >>> from discreet.design import Target
    >>> split = budget({"cheated": Target(Binary(), 0.02), "region": Target(Categorical(list("nsew")), 0.02)}, 20_000)
    >>> {name: round(epsilon, 2) for name, epsilon in split.epsilons.items()}
    {'cheated': 0.72, 'region': 1.14}
    """
    problem = Problem(
        _checked(targets),
        arguments.number(n, "n", DesignError, least=1),
        arguments.number(level, "level", DesignError, above=0, below=1),
    )
    step = arguments.number(step, "step", DesignError, above=0)
    spend = arguments.choice(spend, "spend", ("least", "all"), DesignError)
    total = None if epsilon is None else checked_epsilon(epsilon)
    if spend == "all" and total is None:
        raise DesignError('spend="all" needs an epsilon to spend')
    factor = 1.0
    if spend == "all" and total is not None:
        factor = problem.best_factor(total)
        if not math.isfinite(factor):
            raise BudgetError(
                f"ε = {total:g} is too little for {len(problem.targets)} blocks, however wide the margins"
            )
        wider = _SLIGHTLY
        while problem.total(factor) > total:  # the factor was found on interpolated curves
            factor, wider = factor * (1 + wider), 2 * wider
    else:
        _check_reachable(problem, total)
    return _split(problem, factor, total, step)


def _checked(targets: Any) -> dict[str, Wanted]:
    if not isinstance(targets, Mapping) or not targets:
        raise DesignError("targets must name what is to be learned: {name: Target(domain, margin), …}")
    for target in targets.values():
        if not isinstance(target, Wanted):
            raise DesignError(f"a target must be a Target or a JointTarget, not {type(target).__name__}")
    return {str(name): target for name, target in targets.items()}


def _check_reachable(problem: Problem, total: float | None) -> None:
    """One sentence with the best reachable when some margin is not to be had."""
    for name, target in problem.targets.items():
        best = target.best_margins(problem.n, problem.level)
        for reachable, want in zip(best, target.wanted(), strict=True):
            if reachable > want:
                raise BudgetError(
                    f'"{name}": no ε gives a margin of {want:g} with {problem.n:,.0f} people; '
                    f"the best that can be reached is {reachable:.4g}"
                )
    needed = problem.total(1.0)
    if total is not None and needed > total * (1 + 1e-12):
        factor = problem.best_factor(total)
        reach = f"{math.ceil(1000 * factor) / 1000:.4g}" if math.isfinite(factor) else "more than 1,000"
        raise BudgetError(
            f"the margins need ε = {math.ceil(1e4 * needed) / 1e4:.5g}, and the budget is {total:g}; the best that it "
            f"reaches is every margin {reach} times as wide"
        )


def _split(problem: Problem, factor: float, total: float | None, step: float) -> BudgetSplit:
    shares = {}
    for name, target in problem.targets.items():
        design = target.design_for(factor, problem.n, problem.level)
        epsilon = target.epsilon_for(factor, problem.n, problem.level)
        more = target.factor_at(epsilon + step, problem.n, problem.level)
        margins = target.reached(design, problem.n, problem.level)
        alone = margins if not math.isfinite(more) else tuple(more / factor * margin for margin in margins)
        shares[name] = Share(epsilon, target.wanted(), margins, alone, design)
    spent = math.fsum(share.epsilon for share in shares.values())
    further = []
    for i in range(1, 4):
        larger = spent + i * step
        further.append(Further(larger, problem.best_factor(larger)))
    even = problem.even_factor(spent)
    return BudgetSplit(
        shares,
        spent,
        total,
        max(got / want for share in shares.values() for got, want in zip(share.margins, share.wanted, strict=True)),
        even if math.isfinite(even) else None,
        tuple(further),
        step,
        _certificate(problem, shares, factor),
        int(problem.n),
        problem.level,
        problem,
    )


def _certificate(problem: Problem, shares: Mapping[str, Share], factor: float) -> Optimality:
    bounds = [
        problem.targets[name].bound(share.epsilon, share.design, factor, problem.n, problem.level)
        for name, share in shares.items()
    ]
    statement = "whoever meets these margins with these kinds of mechanisms spends at least as much on every block"
    return Optimality.checked(math.fsum(share.epsilon for share in shares.values()), math.fsum(bounds), statement)
