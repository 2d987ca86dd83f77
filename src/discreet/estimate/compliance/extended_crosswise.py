"""The extended crosswise model (Heck, Hoffmann and Moshagen 2018).

Two groups get the crosswise question with harmless statements that hold for a share p₁ and p₂ of people; in the
original p₂ = 1 − p₁. Everybody is taken to comply, and the groups must then agree: with the share λ_g of "the same",

    λ_g = p_g π + (1 − p_g)(1 − π),    so that λ₁ + λ₂ = 1 where p₂ = 1 − p₁.

One parameter and two shares leave a degree of freedom to *test* compliance. People who prefer one of the two answers,
whatever the statements say, break the equation; people who answer at random do not, and no test of this kind notices
them. With ``p₂ = 1 − p₁`` the estimate pools the groups, the second one reversed:

    π = (λ + p₁ − 1)/(2p₁ − 1),    λ = (same₁ + different₂)/n,    Var π̂ = λ(1 − λ)/(n (2p₁ − 1)²).

The same holds for any designs that each tell "yes" from "no": forced responses, Warner's, direct questions.
"""

from __future__ import annotations

import numpy as np

from discreet.arguments import Floats
from discreet.estimate.compliance.model import Model, share
from discreet.mechanisms import FiniteMechanism

_INTERVAL = np.array([[0.0], [1.0]])


class ExtendedCrosswise(Model):
    """θ = π. One trait: the attribute."""

    name = "extended-crosswise"
    title = "Extended crosswise"
    citation = "Heck, Hoffmann and Moshagen (2018)"
    traits = ("prevalence", None)
    corners = np.array([[[0], [0]], [[1], [1]]], float)
    honest = None
    compliant = 0
    start = 0.5
    quantities = (share("prevalence", "carriers", [1], lambda v: [[v], [v]]),)

    def rows(self, mechanism: FiniteMechanism, evasive: int) -> Floats:
        """See :class:`Model`."""
        del evasive  # everybody complies
        no, yes = mechanism.matrix()
        return np.array([no, yes - no])

    def inside(self, theta: Floats) -> bool:
        """See :class:`Model`."""
        return bool(0 <= theta[0] <= 1)

    def borders(self) -> list[Floats]:
        """See :class:`Model`."""
        return [_INTERVAL]


def closed_form(same: tuple[int, int], people: tuple[int, int], p: float) -> tuple[float, float]:
    """π̂ and its standard error for groups with p₁ = p and p₂ = 1 − p; not held to [0, 1].

    >>> estimate, error = closed_form((620, 400), (1000, 1000), 0.25)
    >>> round(estimate, 4), round(error, 4)
    (0.28, 0.0218)
    """
    n = sum(people)
    pooled = (same[0] + people[1] - same[1]) / n
    return (pooled + p - 1) / (2 * p - 1), float(np.sqrt(pooled * (1 - pooled) / n) / abs(2 * p - 1))
