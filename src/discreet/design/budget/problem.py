"""The two functions of a budget: what margins cost, and which margins a total buys."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from discreet.design.budget.curve import Curve
from discreet.design.budget.targets import Wanted

#: Factors of the wanted margins that are looked at.
_WIDEST = 1e3
#: Relative precision of a factor.
_PRECISION = 1e-8


@dataclass(frozen=True, eq=False)
class Problem:
    """Blocks, people and level: the functions of :mod:`~discreet.design.budget.budget`."""

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
