"""Mechanisms for numbers side by side: what the mean is known to, what is promised, and who is published exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from discreet import arguments, limits
from discreet.design.numbers.mean_variance import mean_variance, noisy_mean_variance
from discreet.design.numbers.unbiased_lp import LEAST_EPSILON, MOST_EPSILON, mean
from discreet.design.numbers.zero_inflated_noise import zero_inflated_laplace
from discreet.design.ordered_values.bipartite_response import bipartite
from discreet.domains import Box, Grid
from discreet.errors import DesignError, NotIdentifiedError, PrivacyError
from discreet.mechanisms import GeneralizedResponse, ZeroInflatedLaplace

#: Points of an interval for mechanisms that need some: more change the variance of unbiased numbers by less than 1 %.
_POINTS = 9
#: Below this no comparison says anything: every variance is beyond all numbers of people.
_LEAST_EPSILON = 1e-4


@dataclass(frozen=True)
class NumberContender:
    """One way to release numbers.

    Attributes
    ----------
    name : str
        What it is.
    variance : float
        n times the variance of a mean at the worst distribution of the truth, in squared widths; infinite where the
        mean is not identified.
    epsilon, delta : float
        The promise about a record, all columns together.
    exposed : float
        The chance of being published exactly.
    """

    name: str
    variance: float
    epsilon: float
    delta: float = 0.0
    exposed: float = 0.0

    def margin(self, n: float, level: float = 0.95) -> float:
        """Half the width of the interval for a mean with n people, in widths of the column."""
        return NormalDist().inv_cdf((1 + level) / 2) * math.sqrt(self.variance / n)


@dataclass(frozen=True)
class NumberComparison:
    """Every way to release some numbers of a record at one promise, the smallest error first."""

    contenders: tuple[NumberContender, ...]
    columns: int
    n: int

    def __getitem__(self, name: str) -> NumberContender:
        for contender in self.contenders:
            if contender.name == name:
                return contender
        raise DesignError(f'there is no "{name}" here; there are {", ".join(one.name for one in self.contenders)}')

    def lines(self, level: float = 0.95) -> list[str]:
        """One line each."""
        told = []
        for one in self.contenders:
            promise = f"ε = {one.epsilon:.4g}" + (f", δ = {one.delta:.4g}" if one.delta else "")
            if math.isinf(one.variance):
                told.append(f"{one.name}: {promise}, mean not identified")
                continue
            who = f"about {self.n * one.exposed:,.0f}" if one.exposed else "nobody"
            people = f"{who} published exactly"
            told.append(f"{one.name}: {promise}, mean to ± {one.margin(self.n, level):.3g} widths, {people}")
        return told

    def summary(self) -> str:
        """A few lines for people."""
        columns = "one number" if self.columns == 1 else f"{self.columns} numbers"
        return "\n".join([f"The mean of each of {columns} with {self.n:,} people, 95 % confidence", *self.lines()])

    __str__ = summary

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        found = []
        for one in self.contenders:
            margin = None if math.isinf(one.variance) else one.margin(self.n)
            found.append(
                {
                    "name": one.name,
                    "epsilon": one.epsilon,
                    "delta": one.delta,
                    "exposed": self.n * one.exposed,
                    "margin": margin,
                }
            )
        return {"columns": self.columns, "people": self.n, "contenders": found}


def compare_numbers(
    domain: Box | Grid, epsilon: float, n: int, delta: float = 0.0, *, noise: ZeroInflatedLaplace | None = None
) -> NumberComparison:
    """What the mean of every column is known to under each way to release numbers at the same record-level promise.

    Unbiased numbers and the other mechanisms of single columns share ε among the columns equally; or every person
    reports one column, drawn at random, with all of ε. Noise for vectors has δ as well. With δ there is also the
    baseline of publishing a random share δ of the records exactly and nothing else.

    Parameters
    ----------
    domain : Box or Grid
        The columns; margins are in widths of each.
    epsilon, delta : float
        The promise about a record.
    n : int
        How many people.
    noise : ZeroInflatedLaplace, optional
        The noise for vectors, where there is some already; designed by default.

    Examples
    --------
    >>> print(compare_numbers(Box([0, 0], [1, 1]), 2.0, 10_000))
    The mean of each of 2 numbers with 10,000 people, 95 % confidence
    unbiased numbers, one column per person: ε = 2, mean to ± 0.0189 widths, nobody published exactly
    unbiased numbers: ε = 2, mean to ± 0.0219 widths, nobody published exactly
    Laplace noise: ε = 2, mean to ± 0.0294 widths, nobody published exactly
    generalised response: ε = 2, mean to ± 0.0437 widths, nobody published exactly
    bipartite: ε = 2, mean not identified
    """
    if not isinstance(domain, (Box, Grid)):
        raise DesignError("numbers are compared on a Box, or on a Grid for one column")
    columns = domain.dimension if isinstance(domain, Box) else 1
    epsilon = arguments.number(epsilon, "epsilon", PrivacyError, least=_LEAST_EPSILON, most=limits.EPSILON)
    delta = arguments.number(delta, "delta", PrivacyError, least=0, below=1)
    n = arguments.whole(n, "n", DesignError, least=1)
    if noise is not None:
        noise = arguments.instance(noise, ZeroInflatedLaplace, "noise", DesignError)
    found = _single_columns(columns, epsilon)
    if delta > 0:
        if noise is None:
            noise = zero_inflated_laplace(Box([0.0] * columns, [1.0] * columns), epsilon, delta).mechanism
        zero = noise.zero_probability
        variance = noisy_mean_variance(float(noise.noise_scale[0] / noise.box.widths[0]), zero)
        found += [
            NumberContender("noise for vectors", variance, epsilon, delta, zero),
            NumberContender("a random share published, nothing else", 0.25 / delta, 0.0, delta, delta),
        ]
    return NumberComparison(tuple(sorted(found, key=lambda one: one.variance)), columns, n)


def _single_columns(columns: int, epsilon: float) -> list[NumberContender]:
    """Mechanisms of one column, which share ε, or have all of it for one column per person."""
    share, points = epsilon / columns, np.linspace(0, 1, _POINTS)
    grid = Grid(0, 1, _POINTS)
    found = [NumberContender("Laplace noise", 0.25 + 2 / share**2, epsilon)]
    for name, mechanism in (
        ("generalised response", GeneralizedResponse(_POINTS, share)),
        ("bipartite", bipartite(grid, share).mechanism),
    ):
        try:
            variance = mean_variance(mechanism, points)
        except NotIdentifiedError:
            variance = math.inf
        found.append(NumberContender(name, variance, epsilon))
    if LEAST_EPSILON <= share <= MOST_EPSILON:
        found.append(NumberContender("unbiased numbers", mean_variance(mean(grid, share).mechanism), epsilon))
    if columns > 1 and LEAST_EPSILON <= epsilon <= MOST_EPSILON:
        whole = columns * mean_variance(mean(grid, epsilon).mechanism)
        found.append(NumberContender("unbiased numbers, one column per person", whole, epsilon))
    return found
