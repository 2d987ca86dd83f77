"""The stochastic lie detector (Moshagen, Musch and Erdfelder 2012).

Carriers, of whom there is a share π, are honest with probability t and otherwise say "no"; non-carriers have nothing to
hide and follow the design. Under a design that makes a "no" say "yes" with probability a and a "yes" with b,

    P(yes) = b π t + a (1 − π).

The original design is Mangat's, b = 1 and a = 1 − p_g; from the shares λ₁, λ₂ of "yes" in two groups

    π = 1 − (λ₁ − λ₂)/(p₂ − p₁),    t = (λ_g − (1 − p_g)(1 − π))/π.

In the shares h = πt of honest carriers and l = π(1 − t) of liars this *is* cheating detection, with l in place of γ:
the reports fit both equally well, and which one holds is an assumption. Here every liar is a carrier; there nothing is
assumed about them.

A group that was asked directly is taken at its word, ``P(yes) = π``. It is meant for regressions in which a covariate
says how a person was asked.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.arguments import Floats
from discreet.estimate.compliance.model import (
    TRIANGLE,
    Model,
    Quantity,
    asked_directly,
    share,
    triangle_inside,
    with_evaders,
)
from discreet.mechanisms import FiniteMechanism


def _honesty(theta: Floats) -> float:
    carriers = float(theta.sum())
    return float(theta[0]) / carriers if carriers > 0 else math.nan


def _honesty_gradient(theta: Floats) -> Floats:
    carriers = float(theta.sum())
    return np.array([theta[1], -theta[0]]) / carriers**2 if carriers > 0 else np.full(2, math.nan)


class StochasticLie(Model):
    """θ = (πt, π(1 − t)). Traits: the attribute, π, and honesty, t."""

    name = "stochastic-lie"
    title = "Stochastic lie detector"
    citation = "Moshagen, Musch and Erdfelder (2012)"
    traits = ("prevalence", "honesty")
    corners = np.array([[[0, 0], [0, 0]], [[0, 1], [1, 0]]], float)
    honest = TRIANGLE[0]
    compliant = 1
    start = 0.9
    quantities = (
        share("prevalence", "carriers", [1, 1], lambda v: [[v, 0], [0, v]]),
        Quantity(
            "honesty",
            "carriers who follow the design, among carriers",
            _honesty,
            _honesty_gradient,
            lambda v: np.array([[0.0, 0.0], [v, 1 - v]]),
        ),
    )

    def rows(self, mechanism: FiniteMechanism, evasive: int) -> Floats:
        """See :class:`Model`."""
        if asked_directly(mechanism):
            return np.array([[1.0, 0.0], [-1.0, 1.0], [-1.0, 1.0]])
        return with_evaders(mechanism, evasive)

    def inside(self, theta: Floats) -> bool:
        """See :class:`Model`."""
        return triangle_inside(theta)

    def borders(self) -> list[Floats]:
        """See :class:`Model`."""
        return TRIANGLE


def closed_form(yes: tuple[float, float], noncarriers_say_no: tuple[float, float]) -> Floats:
    """(π, t) of two groups under Mangat's design from their shares of "yes"; not held to [0, 1].

    >>> closed_form((373 / 564, 398 / 692), (1 / 6, 5 / 6)).round(6)
    array([0.870695, 0.635806])
    """
    (first, second), (p1, p2) = yes, noncarriers_say_no
    others = (first - second) / (p2 - p1)
    return np.array([1 - others, (first - (1 - p1) * others) / (1 - others)])
