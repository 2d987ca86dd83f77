"""A falling function that is expensive: every value is remembered, and its inverse found by few of them.

What is to be learned from a column, or from columns randomised together, and how well.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import NormalDist
from typing import Any, cast

from numpy.typing import ArrayLike

from discreet import arguments
from discreet.design.numbers.mean_variance import mean_variance
from discreet.design.planning.statistical_power import checked_shares
from discreet.design.result import Design
from discreet.domains import FiniteDomain
from discreet.errors import Argument, DesignError, NotIdentifiedError
from discreet.mechanisms import FiniteMechanism, Mechanism, UnbiasedResponse

#: How far the search for a bracket goes at once.
_STRIDE = 3.0
#: Ratio of neighbouring nodes of an interpolated curve.
_NODES = 1.35


class Curve:
    """A function that falls on [low, high], both above 0.

    Parameters
    ----------
    function : callable
        One number to one number; it may be infinite on the left.
    low, high : float
        Where it is asked for.
    tolerance : float
        Relative precision of the inverse, on the safe side.
    """

    def __init__(self, function: Callable[[float], float], low: float, high: float, tolerance: float = 1e-9) -> None:
        self._function, self._low, self._high, self._tolerance = function, low, high, tolerance
        self._known: dict[float, float] = {}

    def value(self, argument: float) -> float:
        """The function, remembered."""
        if argument not in self._known:
            self._known[argument] = self._function(argument)
        return self._known[argument]

    def argument(self, value: float) -> float:
        """The smallest argument at which the function is at most ``value``, from above; ∞ if there is none.

        By Brent's method on logarithms, between the nearest arguments that are known, or are found by strides from the
        middle: the ends are expensive.
        """
        middle = min(max(1.0, self._low), self._high)
        while not any(found <= value for found in self._known.values()):
            if self.value(middle) > value and middle == self._high:
                return math.inf
            middle = min(middle * _STRIDE, self._high)
        bracket = self._bracket(value)
        if bracket is None:
            return self._low
        low, high = bracket
        if high - low <= self._tolerance * high:
            return high
        from scipy.optimize import brentq

        def excess(logarithm: float) -> float:
            found = self.value(math.exp(logarithm))
            return math.log(found / value) if math.isfinite(found) else 1e3

        ends = math.log(low), math.log(high)
        if excess(ends[1]) == 0:
            return high
        root = math.exp(brentq(excess, *ends, xtol=self._tolerance / 4))
        while self.value(root) > value:  # on the safe side, by a hair
            root = min(root * (1 + self._tolerance / 2), high)
        return root

    def _bracket(self, value: float) -> tuple[float, float] | None:
        """Known arguments on either side; None where the function is small enough everywhere."""
        middle = min(max(1.0, self._low), self._high)
        while not any(found > value for found in self._known.values()):
            if self.value(middle) <= value and middle == self._low:
                return None
            middle = max(middle / _STRIDE, self._low)
        low = max(x for x, found in self._known.items() if found > value)
        return low, min(x for x, found in self._known.items() if found <= value)

    def interpolated(self) -> Curve:
        """The same curve, cheaper: cubic in logarithms between nodes of a fixed ratio, to about three digits."""
        return Curve(self._interpolate, self._low, self._high, max(self._tolerance, 1e-7))

    def _interpolate(self, argument: float) -> float:
        place = math.log(argument / self._low) / math.log(_NODES)
        last = math.floor(math.log(self._high / self._low) / math.log(_NODES))
        first = min(max(math.floor(place) - 1, 0), max(last - 3, 0))
        nodes = range(first, min(first + 3, last) + 1)
        heights = [math.log(self.value(self._low * _NODES**node)) for node in nodes]
        total = 0.0
        for i, node in enumerate(nodes):
            weight = math.prod((place - other) / (node - other) for other in nodes if other != node)
            total += weight * heights[i]
        return math.exp(total)


#: Levels that are tried: below, mechanisms cannot be told from noise; above, hardly anything is randomised.
LEAST_EPSILON, MOST_EPSILON = 1e-3, 20.0
#: The same for unbiased numbers, whose programme is solved in floats.
LEAST_FOR_MEANS, MOST_FOR_MEANS = 0.01, 8.0
#: Relative precision of a level: of frequencies, and of means, where every step is a linear programme.
_PRECISION, _MEANS_PRECISION = 1e-9, 1e-6


class Wanted(ABC):
    """A block of the budget: what it costs to learn it so well."""

    @abstractmethod
    def epsilon_for(self, factor: float, n: float, level: float, *, roughly: bool = False) -> float:
        """The least ε of the block at which every margin is at most ``factor`` times the wanted one; ∞ if none does.

        ``roughly``: to about three digits, where every digit more costs a linear programme.
        """

    @abstractmethod
    def design_for(self, factor: float, n: float, level: float) -> Any:
        """The design at that ε."""

    @abstractmethod
    def reached(self, design: Any, n: float, level: float) -> tuple[float, ...]:
        """The margins that a finished design gives."""

    @abstractmethod
    def wanted(self) -> tuple[float, ...]:
        """The margins that are wanted."""

    @abstractmethod
    def factor_at(self, epsilon: float, n: float, level: float) -> float:
        """The largest margin over the wanted one when the block has this ε."""

    @abstractmethod
    def bound(self, epsilon: float, design: Any, factor: float, n: float, level: float) -> float:
        """A level below which the margins, times the factor, are missed for certain."""

    @abstractmethod
    def best_margins(self, n: float, level: float) -> tuple[float, ...]:
        """What no ε improves on: the margins with hardly any randomisation."""


@dataclass(frozen=True, eq=False)
class Target(Wanted):
    """What is to be learned from one column, and how well.

    Parameters
    ----------
    domain : domain or int
        What a true value can be; a number of values says enough for frequencies.
    margin : float
        Half the width of the interval: of every frequency, or of the mean in its own units.
    learn : {"frequencies", "mean"}
        Frequencies by the design of least variance, or the mean of a Grid or Ordinal by unbiased numbers.
    prevalence : float or array, optional
        Expected frequencies; the worst distribution by default.
    design : callable, optional
        From ε to a design or mechanism, in place of the best one: its margins must fall as ε grows.
    """

    domain: Any
    margin: float
    learn: str = "frequencies"
    prevalence: ArrayLike | None = None
    design: Callable[[float], Any] | None = None
    #: Margins of one person against ε, by level: what was computed is remembered.
    _curves: dict[float, Curve] = field(default_factory=dict, init=False, repr=False)
    _rough_curves: dict[float, Curve] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "margin", arguments.number(self.margin, "margin", DesignError, above=0))
        arguments.choice(self.learn, "learn", ("frequencies", "mean"), DesignError)
        if self.learn == "mean" and self.prevalence is not None:
            raise DesignError(
                Argument("prevalence"), " goes with frequencies; the margin of a mean is for the worst distribution"
            )
        if self.prevalence is not None:
            object.__setattr__(self, "prevalence", checked_shares(self.prevalence, "prevalence"))
        if self.design is not None and not callable(self.design):
            raise DesignError("design must be a function of epsilon")
        if isinstance(self.domain, FiniteDomain) or (self.design is not None and self.domain is None):
            size = None
        else:
            size = arguments.whole(self.domain, "domain", DesignError, least=2)
        if size is not None and self.learn == "mean":
            raise DesignError("a mean needs a Grid, or an Ordinal whose positions are the numbers")

    @property
    def _range(self) -> tuple[float, float]:
        return (LEAST_FOR_MEANS, MOST_FOR_MEANS) if self.learn == "mean" else (LEAST_EPSILON, MOST_EPSILON)

    def _at(self, epsilon: float) -> Any:
        """The design at a level."""
        if self.design is not None:
            return self.design(epsilon)
        from discreet.design import binary, frequencies, mean

        if self.learn == "mean":
            return mean(self.domain, epsilon)
        size = self.domain.size if isinstance(self.domain, FiniteDomain) else int(self.domain)
        return binary(epsilon) if size == 2 else frequencies(self.domain, epsilon)

    def reached(self, design: Any, n: float, level: float) -> tuple[float, ...]:
        """See :class:`Wanted`."""
        mechanism = design.mechanism if isinstance(design, Design) else design
        return (self._margin_of(mechanism, n, level),)

    def _margin_of(self, mechanism: Mechanism, n: float, level: float) -> float:
        from discreet.design.planning.sample_sizes import margin

        if self.learn == "mean":
            if not isinstance(mechanism, UnbiasedResponse):
                raise DesignError("the margin of a mean is for a design with unbiased numbers")
            quantile = NormalDist().inv_cdf((1 + level) / 2)
            return quantile * math.sqrt(mean_variance(mechanism) / n)
        if not isinstance(mechanism, FiniteMechanism):
            raise DesignError("the margin of a frequency is for a design with finitely many reports")
        try:
            return margin(mechanism, n, level, self.prevalence, method="unbiased")
        except NotIdentifiedError as error:
            raise DesignError("a margin cannot be promised for this design: ", error) from None

    def _curve(self, level: float) -> Curve:
        # Margins at other numbers of people follow from those of one person: ∝ 1/√n.
        if level not in self._curves:
            precision = _MEANS_PRECISION if self.learn == "mean" else _PRECISION
            self._curves[level] = Curve(
                lambda epsilon: self.reached(self._at(epsilon), 1.0, level)[0], *self._range, precision
            )
        return self._curves[level]

    def _rough(self, level: float) -> Curve:
        if self.learn != "mean":
            return self._curve(level)
        if level not in self._rough_curves:
            self._rough_curves[level] = self._curve(level).interpolated()
        return self._rough_curves[level]

    def epsilon_for(self, factor: float, n: float, level: float, *, roughly: bool = False) -> float:
        """See :class:`Wanted`."""
        curve = self._rough(level) if roughly else self._curve(level)
        return curve.argument(factor * self.margin * math.sqrt(n))

    def design_for(self, factor: float, n: float, level: float) -> Any:
        """See :class:`Wanted`."""
        return self._at(self.epsilon_for(factor, n, level))

    def factor_at(self, epsilon: float, n: float, level: float) -> float:
        """See :class:`Wanted`."""
        low, high = self._range
        if epsilon < low:
            return math.inf
        return self._rough(level).value(min(epsilon, high)) / (self.margin * math.sqrt(n))

    def bound(self, epsilon: float, design: Any, factor: float, n: float, level: float) -> float:
        """See :class:`Wanted`: a slightly smaller level is seen to miss the margin, which falls as ε grows."""
        del design
        smaller = max(epsilon * (1 - (1e-4 if self.learn == "mean" else 1e-6)), self._range[0])
        missed = self._curve(level).value(smaller) > factor * self.margin * math.sqrt(n)
        return smaller if missed else 0.0

    def wanted(self) -> tuple[float, ...]:
        """See :class:`Wanted`."""
        return (self.margin,)

    def best_margins(self, n: float, level: float) -> tuple[float, ...]:
        """See :class:`Wanted`."""
        if self.learn == "mean":  # truths at both ends of the range, and no randomisation
            points = self.domain.positions
            quantile = NormalDist().inv_cdf((1 + level) / 2)
            return (quantile * float(points[-1] - points[0]) / 2 / math.sqrt(n),)
        return (self._curve(level).value(self._range[1]) / math.sqrt(n),)


@dataclass(frozen=True, eq=False)
class JointTarget(Wanted):
    """Frequencies of several columns that are randomised together, each to a margin of its own.

    Each margin needs a marginal level; the block costs the least record-level ε with these levels
    (:func:`discreet.design.attributes`).

    Parameters
    ----------
    domains : sequence of domains or int
        One per column.
    margins : sequence of float
        For the frequencies of each column.
    pairs : {"keep", "free"}
        As in :func:`discreet.design.attributes`.
    method : str
        Likewise.
    """

    domains: Sequence[Any]
    margins: Sequence[float]
    pairs: str = "keep"
    method: str = "auto"
    _sizes: tuple[int, ...] = field(default=(), init=False, repr=False)
    _columns: tuple[Target, ...] = field(default=(), init=False, repr=False)
    #: Designs by their marginal levels, remembered.
    _designs: dict[tuple[float, ...], Any] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        domains = arguments.listed(self.domains, "domains", DesignError)
        margins = arguments.listed(self.margins, "margins", DesignError)
        if len(domains) < 2 or len(domains) != len(margins):
            raise DesignError(
                f"a joint block needs two columns or more and a margin for each, not {len(domains)} and {len(margins)}"
            )
        from discreet.mechanisms import GeneralizedResponse

        sizes = tuple(
            one.size if isinstance(one, FiniteDomain) else arguments.whole(one, "domains", DesignError, least=2)
            for one in domains
        )
        columns = tuple(
            Target(size, margin, design=partial(GeneralizedResponse, size))
            for size, margin in zip(sizes, margins, strict=True)
        )
        object.__setattr__(self, "_sizes", sizes)
        object.__setattr__(self, "_columns", columns)

    def levels_for(self, factor: float, n: float, level: float) -> list[float]:
        """The least marginal level of every column."""
        return [column.epsilon_for(factor, n, level) for column in self._columns]

    def design_for(self, factor: float, n: float, level: float) -> Any:
        """See :class:`Wanted`."""
        from discreet.design import attributes

        levels = tuple(self.levels_for(factor, n, level))
        if levels not in self._designs:
            self._designs[levels] = attributes(
                self._sizes, levels, method=cast("Any", self.method), pairs=cast("Any", self.pairs)
            )
        return self._designs[levels]

    def epsilon_for(self, factor: float, n: float, level: float, *, roughly: bool = False) -> float:
        """See :class:`Wanted`."""
        del roughly
        if not all(math.isfinite(one) for one in self.levels_for(factor, n, level)):
            return math.inf
        return float(self.design_for(factor, n, level).guarantee.epsilon)

    def reached(self, design: Any, n: float, level: float) -> tuple[float, ...]:
        """See :class:`Wanted`."""
        joint = design.mechanism
        return tuple(column.reached(joint.view(i), n, level)[0] for i, column in enumerate(self._columns))

    def bound(self, epsilon: float, design: Any, factor: float, n: float, level: float) -> float:
        """See :class:`Wanted`: the bound of the joint design, whose levels are the least that meet the margins."""
        del factor, n, level
        return min(float(design.certificate.bound), epsilon)

    def wanted(self) -> tuple[float, ...]:
        """See :class:`Wanted`."""
        return tuple(column.margin for column in self._columns)

    def factor_at(self, epsilon: float, n: float, level: float) -> float:
        """See :class:`Wanted`: by search over the common factor of its columns."""
        least = self._least_factor(n, level)
        return Curve(lambda factor: self.epsilon_for(factor, n, level), least, 1e3, tolerance=1e-6).argument(epsilon)

    def _least_factor(self, n: float, level: float) -> float:
        best = self.best_margins(n, level)
        return max(one / want for one, want in zip(best, self.wanted(), strict=True)) * (1 + 1e-9)

    def best_margins(self, n: float, level: float) -> tuple[float, ...]:
        """See :class:`Wanted`."""
        return tuple(column.best_margins(n, level)[0] for column in self._columns)
