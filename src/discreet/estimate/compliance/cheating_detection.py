"""The cheating detection model (Clark and Desharnais 1998).

Three kinds of people: honest carriers (share π), honest non-carriers (β) and cheaters (γ), who say "no" whatever the
spinner tells them, π + β + γ = 1. Under a design that makes an honest "no" say "yes" with probability a and an honest
"yes" with probability b,

    P(yes) = a β + b π.

Two groups with different designs, ``D = a₁b₂ − a₂b₁ ≠ 0``, and shares λ₁, λ₂ of "yes" identify both:

    π = (a₁λ₂ − a₂λ₁)/D,    β = (b₂λ₁ − b₁λ₂)/D,    γ = 1 − π − β.

In the original design "yes" is forced with probability p_g and nothing else: a = p_g, b = 1. The symmetric variant also
forces "no" (Ostapczuk, Moshagen, Zhao and Musch 2009), which is what protects an honest "no". Nothing is known about
the attribute of cheaters: of all people between π and π + γ carry it.
"""

from __future__ import annotations

import numpy as np

from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.compliance.model import (
    TRIANGLE,
    Model,
    asked_directly,
    share,
    triangle_inside,
    with_evaders,
)
from discreet.mechanisms import FiniteMechanism


class CheatingDetection(Model):
    """θ = (π, γ). Traits: the attribute among the honest, π/(1 − γ), and cheating, γ."""

    name = "cheating-detection"
    title = "Cheating detection"
    citation = "Clark and Desharnais (1998)"
    traits = ("prevalence among the honest", "cheating")
    corners = np.array([[[0, 0], [0, 1]], [[1, 0], [0, 1]]], float)
    honest = TRIANGLE[0]
    compliant = 0
    start = 0.1
    quantities = (
        share("prevalence", "honest carriers", [1, 0], lambda v: [[v, 0], [v, 1 - v]]),
        share("cheating", "people who ignore the design", [0, 1], lambda v: [[0, v], [1 - v, v]]),
        share("prevalence at most", "carriers if every cheater is one", [1, 1], lambda v: [[v, 0], [0, v]]),
    )

    def rows(self, mechanism: FiniteMechanism, evasive: int) -> Floats:
        """See :class:`Model`."""
        if asked_directly(mechanism):
            raise EstimationError(
                "cheating detection has no group that is asked directly: it says nothing about the attribute of "
                "cheaters; leave those rows out"
            )
        return with_evaders(mechanism, evasive)

    def inside(self, theta: Floats) -> bool:
        """See :class:`Model`."""
        return triangle_inside(theta)

    def borders(self) -> list[Floats]:
        """See :class:`Model`."""
        return TRIANGLE


def closed_form(yes: tuple[float, float], no_says_yes: Floats, yes_says_yes: Floats) -> Floats:
    """(π, γ) of two groups from their shares of "yes"; not held to [0, 1].

    >>> closed_form((0.44, 0.72), np.array([0.25, 0.75]), np.array([1.0, 1.0])).round(4)
    array([0.3 , 0.14])
    """
    (a1, a2), (b1, b2) = no_says_yes, yes_says_yes
    determinant = a1 * b2 - a2 * b1
    carriers = (a1 * yes[1] - a2 * yes[0]) / determinant
    others = (b2 * yes[0] - b1 * yes[1]) / determinant
    return np.array([carriers, 1 - carriers - others])
