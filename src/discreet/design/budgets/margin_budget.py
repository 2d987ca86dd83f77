"""The two functions of a budget: what margins cost, and which margins a total buys.

A budget split over what is to be learned: what each block gets, what that gives, and what more would give.

Split a total ε over columns, joint blocks and numbers, for the margins that matter.

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
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from discreet import arguments
from discreet.design.budgets.margin_targets import Curve, Wanted
from discreet.design.result import Optimality
from discreet.errors import BudgetError, DesignError
from discreet.mechanisms.exact_integers import checked_epsilon

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

#: Factors of the wanted margins that are looked at.
_WIDEST = 1e3
#: Relative precision of a factor.
_PRECISION = 1e-8


@dataclass(frozen=True, eq=False)
class Problem:
    """Blocks, people and level: the functions of :mod:`~discreet.design.budgets.margin_budget`."""

    targets: Mapping[str, Wanted]
    n: float
    level: float

    def total(self, factor: float, *, roughly: bool = False) -> float:
        """Σ_b ε_b(s)."""
        return math.fsum(
            target.epsilon_for(factor, self.n, self.level, roughly=roughly) for target in self.targets.values()
        )

    @cached_property
    def least_factor(self) -> float:
        """What no ε improves on: the largest margin over the wanted one with hardly any randomisation."""
        return max(
            best / want
            for target in self.targets.values()
            for best, want in zip(target.best_margins(self.n, self.level), target.wanted(), strict=True)
        )

    @cached_property
    def _total(self) -> Curve:
        low = self.least_factor * (1 + 1e-9)
        return Curve(lambda factor: self.total(factor, roughly=True), low, max(_WIDEST, 10 * low), _PRECISION)

    def best_factor(self, total: float) -> float:
        """The least s whose total is at most this; ∞ where even the widest margins cost more."""
        return self._total.argument(total)

    def even_factor(self, total: float) -> float:
        """The largest margin over the wanted one when every block has the same ε."""
        part = total / len(self.targets)
        return max(target.factor_at(part, self.n, self.level) for target in self.targets.values())


@dataclass(frozen=True)
class Share:
    """One block of a split.

    Attributes
    ----------
    epsilon : float
        What it gets; of columns randomised together the record-level ε.
    wanted, margins : tuple of float
        The margins that are wanted, and those of the finished design: one, or one per column.
    alone : tuple of float
        The margins if a further step of ε went to this block alone.
    design : Design or Mechanism
        The finished mechanism.
    """

    epsilon: float
    wanted: tuple[float, ...]
    margins: tuple[float, ...]
    alone: tuple[float, ...]
    design: Any = field(repr=False)


@dataclass(frozen=True)
class Further:
    """What a larger total would buy: every margin times ``factor``."""

    epsilon: float
    factor: float


@dataclass(frozen=True, eq=False, repr=False)
class BudgetSplit:
    """A total ε split over blocks. Made by :func:`discreet.design.budget`.

    Attributes
    ----------
    shares : mapping of name to Share
        What each block gets, and what it gives.
    epsilon : float
        All together.
    total : float or None
        What may be spent; None when only the margins count.
    factor : float
        The largest margin over the wanted one; at most 1 when all are met.
    even : float or None
        The same if every block had the same ε, for comparison.
    further : tuple of Further
        What each further step of ε would buy, split as well as it can be.
    step : float
        That step.
    certificate : Optimality
        Why no smaller total does.
    n : int
    level : float
    """

    shares: Mapping[str, Share]
    epsilon: float
    total: float | None
    factor: float
    even: float | None
    further: tuple[Further, ...]
    step: float
    certificate: Optimality
    n: int
    level: float
    _problem: Problem = field(repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "shares", MappingProxyType(dict(self.shares)))

    @property
    def epsilons(self) -> dict[str, float]:
        """What each block gets."""
        return {name: share.epsilon for name, share in self.shares.items()}

    @property
    def margins(self) -> dict[str, tuple[float, ...]]:
        """The margins of each block."""
        return {name: share.margins for name, share in self.shares.items()}

    @property
    def designs(self) -> dict[str, Any]:
        """The finished design of each block."""
        return {name: share.design for name, share in self.shares.items()}

    def summary(self) -> str:
        """A table to read, and what more would buy."""
        allowed = "" if self.total is None else f" of {self.total:g} allowed"
        lines = [f"ε = {self.epsilon:.4g}{allowed}, {self.n:,} people, {self.level:.0%} intervals"]
        for name, share in self.shares.items():
            wanted, got, alone = (_figures(one) for one in (share.wanted, share.margins, share.alone))
            lines.append(
                f"  {name}: ε = {share.epsilon:.4g}, ± {got} (wanted {wanted}); "
                f"a further {self.step:g} for it alone: ± {alone}"
            )
        if self.even is not None:
            lines.append(f"  equal parts of the same total: the worst margin is {self.even:.3g} times the wanted one")
        for more in self.further:
            lines.append(f"  with ε = {more.epsilon:.4g} in all: every margin {more.factor:.3g} times the wanted one")
        return "\n".join([*lines, self.certificate.summary()])

    __str__ = summary

    def __repr__(self) -> str:
        parts = ", ".join(f"{name}: {share.epsilon:.4g}" for name, share in self.shares.items())
        return f"BudgetSplit(epsilon={self.epsilon:.4g}, factor={self.factor:.4g}, {{{parts}}})"

    def rows(self) -> list[dict[str, Any]]:
        """One record per margin."""
        return [
            {"block": name, "epsilon": share.epsilon, "wanted": wanted, "margin": got, "further": alone}
            for name, share in self.shares.items()
            for wanted, got, alone in zip(share.wanted, share.margins, share.alone, strict=True)
        ]

    def to_frame(self) -> pd.DataFrame:
        """A data frame of pandas, one row per margin."""
        import pandas as pd

        return pd.DataFrame(self.rows())

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "epsilon": self.epsilon,
            "total": self.total,
            "factor": self.factor,
            "even": self.even,
            "n": self.n,
            "level": self.level,
            "blocks": {
                name: {
                    "epsilon": share.epsilon,
                    "wanted": list(share.wanted),
                    "margins": list(share.margins),
                    "alone": list(share.alone),
                }
                for name, share in self.shares.items()
            },
            "step": self.step,
            "further": [{"epsilon": one.epsilon, "factor": one.factor} for one in self.further],
            "certificate": self.certificate.to_dict(),
        }

    def plot(self, ax: Axes | None = None, *, title: str | None = None) -> Axes:
        """Draw the largest margin, over the wanted one, against the total: the best split, and equal parts.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        title : str, optional
            Above the picture.
        """
        from discreet.plots import plot_curves

        totals = [self.epsilon * share for share in (0.6, 0.8, 1.0, 1.25, 1.5)]
        curves = {
            "best split": [self._problem.best_factor(total) for total in totals],
            "equal parts": [self._problem.even_factor(total) for total in totals],
        }
        title = "What a larger budget buys" if title is None else title
        up = "margin over the wanted one"
        return plot_curves(curves, totals, ax=ax, title=title, across="ε in all", up=up, reference=1.0)


def _figures(values: tuple[float, ...]) -> str:
    return ", ".join(f"{value:.4g}" for value in values)


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
