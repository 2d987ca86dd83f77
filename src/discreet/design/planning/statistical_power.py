"""What somebody wants to find, and the people whose answers count.

The chance that a survey finds what there is to find, and how many people that takes.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from discreet import arguments
from discreet.arguments import Floats
from discreet.design.result import Design
from discreet.errors import Argument, DesignError
from discreet.mechanisms import FiniteMechanism
from discreet.mechanisms.finite import MAX_MATRIX

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Conduct:
    """How a survey goes: who answers, who follows the instructions, and what clustering and weights cost.

    Attributes
    ----------
    design_effect : float
        The variance over that of a simple random sample of as many people (Kish 1965).
    response_rate : float
        Share of the people asked who answer, whatever their truth.
    noncompliance : float
        Share of those who answer who give the first report whatever their truth and the instructions say: the
        self-protective "no". The analysis does not know it.
    """

    design_effect: float = 1.0
    response_rate: float = 1.0
    noncompliance: float = 0.0

    @classmethod
    def checked(cls, design_effect: Any, response_rate: Any, noncompliance: Any) -> Conduct:
        """From what a user gives."""
        return cls(
            arguments.number(design_effect, "design_effect", DesignError, least=1e-3, most=1e6),
            arguments.number(response_rate, "response_rate", DesignError, least=1e-6, most=1),
            arguments.number(noncompliance, "noncompliance", DesignError, least=0, below=1),
        )

    def effective(self, n: float) -> int:
        """The simple random sample of answers that tells as much as n people who are asked."""
        return math.floor(n * self.response_rate / self.design_effect + 1e-9)

    def asked(self, effective: float) -> int:
        """How many people to ask for that."""
        return math.ceil(effective * self.design_effect / self.response_rate - 1e-9)

    def reports(self, shares: Floats) -> Floats:
        """Report shares when some give the first report whatever their truth."""
        mixed = (1 - self.noncompliance) * shares
        mixed[..., 0] += self.noncompliance
        return mixed

    def to_dict(self) -> dict[str, float]:
        """Plain data."""
        return {
            "design_effect": self.design_effect,
            "response_rate": self.response_rate,
            "noncompliance": self.noncompliance,
        }

    def words(self) -> str:
        """What is assumed, for people; empty when everything goes well."""
        parts = []
        if self.response_rate < 1:
            parts.append(f"{self.response_rate:.0%} of those asked answer")
        if self.design_effect != 1:
            parts.append(f"a design effect of {self.design_effect:g}")
        if self.noncompliance > 0:
            parts.append(f"{self.noncompliance:.1%} give the first report whatever is asked")
        return ", ".join(parts)


class Aim(ABC):
    """What is to be found by a test at a level; each kind is one subclass."""

    #: The least number of answers at which the test can be made at all.
    LEAST: int = 4

    @abstractmethod
    def chance(self, mechanism: FiniteMechanism, effective: int, level: float, conduct: Conduct) -> float:
        """The probability that the test of ``estimate`` finds it, in the direction in which it is."""

    @abstractmethod
    def words(self) -> str:
        """What is to be found, in a few words."""

    @abstractmethod
    def to_dict(self) -> Mapping[str, Any]:
        """Plain data."""


def finite(given: Any) -> FiniteMechanism:
    """A mechanism whose channel can be written out; a design stands for its mechanism."""
    mechanism = given.mechanism if isinstance(given, Design) else given
    if not isinstance(mechanism, FiniteMechanism):
        raise DesignError(f"power needs a mechanism with finitely many reports, not {type(mechanism).__name__}")
    if max(mechanism.shape) > MAX_MATRIX:
        raise DesignError(f"power is limited to {MAX_MATRIX:,} values and reports")
    return mechanism


def quantile(level: float) -> float:
    """Z of a two-sided test."""
    return NormalDist().inv_cdf((1 + level) / 2)


def checked_shares(given: ArrayLike, name: str) -> Any:
    """A frequency, or a list of them."""
    values = arguments.floats(given, name, DesignError)
    if values.ndim > 1 or values.size == 0 or np.any(~((values >= 0) & (values <= 1))):
        raise DesignError(Argument(name), " must be a number between 0 and 1, or one frequency per value")
    return float(values) if values.ndim == 0 else tuple(values.tolist())


def distribution(given: ArrayLike, name: str, truths: int) -> Floats:
    """Frequencies of all values: one number for two values, else all of them."""
    values = arguments.floats(given, name, DesignError)
    if values.ndim == 0 and truths == 2:
        values = np.array([1 - float(values), float(values)])
    if values.shape != (truths,) or np.any(~(values >= 0)) or abs(values.sum() - 1) > 1e-9:
        raise DesignError(
            Argument(name), f" must be a number between 0 and 1 for two values, or {truths} frequencies that sum to 1"
        )
    return values


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
