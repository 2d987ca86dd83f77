"""A budget split over what is to be learned: what each block gets, what that gives, and what more would give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from discreet.design.result import Optimality

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from discreet.design.budget.problem import Problem


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
