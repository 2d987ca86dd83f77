"""The chance that a survey finds what there is to find, and how many people that takes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet import arguments
from discreet.arguments import Floats
from discreet.design.power.aim import Aim, Conduct, finite
from discreet.design.result import Design
from discreet.errors import DesignError
from discreet.mechanisms import FiniteMechanism

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Nobody asks more people than there are.
MOST_PEOPLE = 10**10
#: Points of a curve, and how far it reaches on either side of the number of people.
_POINTS, _REACH = 33, 4.0
#: The power that surveys are usually planned for.
_USUAL = 0.8


@dataclass(frozen=True, eq=False, repr=False)
class Power:
    """The chance that a test finds what there is to find. Made by :func:`discreet.design.power`.

    Attributes
    ----------
    aim : Prevalence, Difference, Coefficient or Association
        What is to be found.
    mechanism : FiniteMechanism
        How answers are randomised.
    n : int
        People who are asked.
    level : float
        One minus the level of the test: that of the interval.
    conduct : Conduct
        Design effect, response rate and non-compliance.
    power : float
        The chance.
    """

    aim: Aim
    mechanism: FiniteMechanism
    n: int
    level: float
    conduct: Conduct

    @cached_property
    def power(self) -> float:
        """The chance that the test finds it."""
        return self._at(self.n)

    def __float__(self) -> float:
        return self.power

    def _at(self, n: float) -> float:
        effective = self.conduct.effective(n)
        chance = self.aim.chance(self.mechanism, max(effective, self.aim.LEAST), self.level, self.conduct)
        return min(1.0, max(0.0, chance)) if effective >= self.aim.LEAST else 0.0

    @property
    def effective(self) -> int:
        """The simple random sample of answers that tells as much."""
        return self.conduct.effective(self.n)

    def sample_size(self, power: float = 0.8) -> int:
        """How many people to ask so that the chance is at least ``power``."""
        power = arguments.number(power, "power", DesignError, above=0, below=1)
        return people_for(self.aim, self.mechanism, power, self.level, self.conduct)

    def curve(self, people: Any = None) -> tuple[Floats, Floats]:
        """Numbers of people, a range around n by default, and the power with each."""
        if people is None:
            numbers = np.unique(np.geomspace(max(self.n / _REACH, 2.0), self.n * _REACH, _POINTS).round())
        else:
            numbers = np.atleast_1d(arguments.floats(people, "people", DesignError))
            if numbers.ndim != 1 or not np.all((numbers >= 1) & (numbers <= MOST_PEOPLE)):
                raise DesignError(f"people must be numbers from 1 to {MOST_PEOPLE:,}")
        return numbers, np.array([self._at(float(one)) for one in numbers])

    def plot(self, ax: Axes | None = None, *, people: Any = None, title: str | None = None) -> Axes:
        """Draw the power against the number of people.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        people : array, optional
            Numbers of people; a range around n by default.
        title : str, optional
            Above the picture.
        """
        from discreet.plots import plot_curves
        from discreet.plots.curves import logarithmic_people

        numbers, powers = self.curve(people)
        title = f"Power to find {self.aim.words()}" if title is None else title
        axes = plot_curves(
            {f"test at {1 - self.level:.3g}": powers.tolist()},
            numbers.tolist(),
            ax=ax,
            title=title,
            across="people",
            up="power",
            reference=_USUAL,
        )
        logarithmic_people(axes)
        axes.set_ylim(0, 1.02)
        axes.plot(self.n, self.power, "*", markersize=14, color="black", label=f"{self.n:,} people: {self.power:.0%}")
        axes.legend(frameon=False, loc="lower right")
        return axes

    def summary(self) -> str:
        """One sentence, with what it assumes."""
        assumed = self.conduct.words()
        tail = f"; assumed: {assumed}" if assumed else ""
        return (
            f"With {self.n:,} people there is a chance of {self.power:.1%} to find {self.aim.words()} "
            f"(test at {1 - self.level:.3g}{tail})"
        )

    __str__ = summary

    def __repr__(self) -> str:
        return f"Power(power={self.power:.4g}, n={self.n}, find={self.aim.words()!r})"

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "power": self.power,
            "n": self.n,
            "effective": self.effective,
            "level": self.level,
            "aim": dict(self.aim.to_dict()),
            **self.conduct.to_dict(),
        }


def power(
    mechanism: FiniteMechanism | Design[FiniteMechanism],
    aim: Aim,
    n: int,
    level: float = 0.95,
    *,
    design_effect: float = 1.0,
    response_rate: float = 1.0,
    noncompliance: float = 0.0,
) -> Power:
    """The chance that a survey of n people finds what there is to find.

    Parameters
    ----------
    mechanism : FiniteMechanism or Design
        How answers are randomised; of columns randomised together ``joint.view(0, 1)``.
    aim : Prevalence, Difference, Coefficient or Association
        What is to be found. The test is the one that :mod:`discreet.estimate` makes.
    n : int
        People who are asked.
    level : float
        The test is at 1 − level, two-sided; only findings in the right direction count.
    design_effect : float
        The variance over that of a simple random sample, for clusters and weights.
    response_rate : float
        Share of the people asked who answer.
    noncompliance : float
        Share of those who answer who give the first report whatever is asked; the analysis does not know it.

    Examples
    --------
    >>> from discreet import design
    >>> found = power(design.binary(1.0), design.Difference(0.1, 0.2), 5000)
    >>> print(found)
    With 5,000 people there is a chance of 93.3% to find that 0.1 and 0.2 differ, in groups of equal size (test at 0.05)
    >>> found.sample_size(0.8)
    3287
    """
    if not isinstance(aim, Aim):
        raise DesignError(
            "aim must say what is to be found: design.Prevalence, Difference, Coefficient or Association, "
            f"not {type(aim).__name__}"
        )
    found = Power(
        aim,
        finite(mechanism),
        arguments.whole(n, "n", DesignError, least=1, most=MOST_PEOPLE),
        arguments.number(level, "level", DesignError, above=0, below=1),
        Conduct.checked(design_effect, response_rate, noncompliance),
    )
    _ = found.power  # what does not fit together is refused here
    return found


def people_for(aim: Aim, mechanism: FiniteMechanism, wanted: float, level: float, conduct: Conduct) -> int:
    """A number of people with at least the wanted power, and with one effective answer fewer not: by halving."""

    def enough(effective: int) -> bool:
        return aim.chance(mechanism, effective, level, conduct) >= wanted

    low, high = aim.LEAST - 1, aim.LEAST
    while not enough(high):
        low, high = high, 2 * high
        if conduct.asked(high) > MOST_PEOPLE:
            best = aim.chance(mechanism, high, level, conduct)
            raise DesignError(
                f"a power of {wanted:g} would take more than {MOST_PEOPLE:,} people, who reach {best:.3g}"
            )
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return max(1, math.ceil(conduct.asked(high)))
