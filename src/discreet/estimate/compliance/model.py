"""What a model of non-compliance is: a family of channels that is affine in a few shares of people.

Under design g a person reports y with probability

    P_g(y | θ) = B_g0(y) + Σ_k θ_k B_gk(y),

where θ are shares of latent classes (honest "yes", cheater, …) in a polytope: a triangle, a square or an interval. The
log-likelihood ``Σ_g Σ_y c_gy log P_g(y | θ)`` is therefore concave in θ, whatever the model.

A regression needs parameters that vary freely between 0 and 1. Every model here has two of them, *traits* that a person
has or has not: the attribute that was asked for, and one that governs compliance. θ is bilinear in their two
probabilities, so that all a model must say is θ at the four corners.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.mechanisms import FiniteMechanism


@dataclass(frozen=True)
class Quantity:
    """A figure that a model reports, as a function of θ.

    Attributes
    ----------
    name : str
    meaning : str
        What it is, in words.
    value : function
        Of θ; nan where θ leaves it undefined.
    gradient : function
        Its derivative in θ.
    ends : function
        From a value v to two points θ, one row each: the segment between them holds every θ with this value.
    """

    name: str
    meaning: str
    value: Callable[[Floats], float]
    gradient: Callable[[Floats], Floats]
    ends: Callable[[float], Floats]


def share(name: str, meaning: str, weights: list[float], ends: Callable[[float], list[list[float]]]) -> Quantity:
    """A quantity that is linear in θ."""
    slope = np.array(weights)
    return Quantity(
        name, meaning, lambda theta: float(slope @ theta), lambda _: slope, lambda v: np.array(ends(v), float)
    )


class Model(ABC):
    """A model of how people depart from the design they were asked under."""

    name: str
    title: str
    citation: str
    #: Names of the two traits; the second is None where the model has one only.
    traits: tuple[str, str | None]
    #: θ where a person has (1) or has not (0) the first and the second trait: shape (2, 2, θ).
    corners: Floats
    #: The segment of θ on which everybody complies; None where the model has no parameter for it.
    honest: Floats | None
    #: The second trait of a person who complies, 0 or 1.
    compliant: int
    #: Where a search for the second trait's probability starts.
    start: float
    quantities: tuple[Quantity, ...]

    @abstractmethod
    def rows(self, mechanism: FiniteMechanism, evasive: int) -> Floats:
        """``B_0, B_1, …`` of one design, one row each, one column per report."""

    @abstractmethod
    def inside(self, theta: Floats) -> bool:
        """Whether θ is in the polytope."""

    @abstractmethod
    def borders(self) -> list[Floats]:
        """The edges of the polytope, each as its two ends."""

    def design(self, given: Any, name: str) -> FiniteMechanism:
        """A design as the user gave it: a mechanism for a yes/no answer."""
        if not isinstance(given, FiniteMechanism) or given.shape[0] != 2:
            raise EstimationError(f'designs: "{name}" must be a mechanism for a yes/no answer, such as BinaryResponse')
        return given

    def notes(self, theta: Floats, from_release: bool) -> list[str]:  # noqa: ARG002  # most models have nothing to add
        """What a reader should know about this model's figures."""
        return []

    def by_traits(self, rows: Floats) -> Floats:
        """``P(report | first trait, second trait)``, shape (2, 2, reports), from :meth:`rows`."""
        return np.asarray(rows[0] + self.corners @ rows[1:])


def triangle_inside(theta: Floats) -> bool:
    """Whether θ ≥ 0 with a sum of at most one."""
    return bool(np.all(theta >= 0) and theta.sum() <= 1)


#: The edges of the triangle of two shares that sum to at most one.
TRIANGLE = [np.array(edge, float) for edge in ([[0, 0], [1, 0]], [[0, 0], [0, 1]], [[1, 0], [0, 1]])]


def with_evaders(mechanism: FiniteMechanism, evasive: int) -> Floats:
    """The honest rows of a design and those who give the evasive report whatever they are told: affine in the shares
    of the honest "yes" and of the evaders.
    """
    no, yes = mechanism.matrix()
    if not 0 <= evasive < no.size:
        raise EstimationError(f"evasive must be the code of a report, from 0 to {no.size - 1}, not {evasive}")
    always = np.zeros(no.size)
    always[evasive] = 1.0
    return np.array([no, yes - no, always - no])


def asked_directly(mechanism: FiniteMechanism) -> bool:
    """Whether a design reports the truth as it is."""
    return bool(np.array_equal(mechanism.matrix(), np.eye(2)))
