"""The unrelated question with an unknown prevalence, asked in two groups (Greenberg et al. 1969).

With probability p_g a person answers the sensitive question, otherwise a harmless one to which an unknown share u says
"yes":

    P(yes) = p_g π + (1 − p_g) u.

From the shares λ₁, λ₂ of "yes" in two groups with p₁ ≠ p₂,

    π = ((1 − p₂)λ₁ − (1 − p₁)λ₂)/(p₁ − p₂),    u = (p₁λ₂ − p₂λ₁)/(p₁ − p₂).

A group with p = 0 is asked the harmless question alone (Moors 1971), one with p = 1 the sensitive one. Everybody is
taken to answer truthfully; what is estimated besides π is the harmless question.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.arguments import Floats
from discreet.errors import EstimationError, MechanismError
from discreet.estimate.compliance.model import Model, asked_directly, share
from discreet.mechanisms import BinaryResponse, FiniteMechanism

_SQUARE = [np.array(edge, float) for edge in ([[0, 0], [1, 0]], [[0, 0], [0, 1]], [[1, 0], [1, 1]], [[0, 1], [1, 1]])]


class UnrelatedQuestion(Model):
    """θ = (π, u). Traits: the attribute, π, and a "yes" to the harmless question, u."""

    name = "unrelated-question"
    title = "Unrelated question of unknown prevalence"
    citation = "Greenberg et al. (1969)"
    traits = ("prevalence", "unrelated")
    corners = np.array([[[0, 0], [0, 1]], [[1, 0], [1, 1]]], float)
    honest = None
    compliant = 0
    start = 0.5
    quantities = (
        share("prevalence", "carriers", [1, 0], lambda v: [[v, 0], [v, 1]]),
        share("unrelated", '"yes" to the harmless question', [0, 1], lambda v: [[0, v], [1, v]]),
    )

    def design(self, given: Any, name: str) -> FiniteMechanism:
        """The probability of the sensitive question, or a mechanism made by ``BinaryResponse.unrelated``."""
        if isinstance(given, FiniteMechanism):
            _selection(given, name)
            return given
        try:  # the stated prevalence of the harmless question plays no part
            return BinaryResponse.unrelated(given, "1/2")
        except MechanismError:
            raise EstimationError(
                f'designs: "{name}" must be the probability of the sensitive question, from 0 to 1, or '
                "BinaryResponse.unrelated"
            ) from None

    def rows(self, mechanism: FiniteMechanism, evasive: int) -> Floats:
        """See :class:`Model`."""
        del evasive  # everybody complies
        p = _selection(mechanism, "a group")
        yes = np.array([-1.0, 1.0])
        return np.array([[1.0, 0.0], p * yes, (1 - p) * yes])

    def inside(self, theta: Floats) -> bool:
        """See :class:`Model`."""
        return bool(np.all((theta >= 0) & (theta <= 1)))

    def borders(self) -> list[Floats]:
        """See :class:`Model`."""
        return _SQUARE

    def notes(self, theta: Floats, from_release: bool) -> list[str]:
        """See :class:`Model`."""
        del theta
        if not from_release:
            return []
        return ["the prevalence that the manifest states for the harmless question is not used: it is estimated"]


def _selection(mechanism: FiniteMechanism, name: str) -> float:
    """The probability of the sensitive question."""
    how = mechanism.procedure if isinstance(mechanism, BinaryResponse) else None
    if how is not None and how.name == "unrelated":
        return float(dict(how.parameters)["p"])
    if asked_directly(mechanism):
        return 1.0
    raise EstimationError(
        f'designs: "{name}" is not an unrelated question: give the probability of the sensitive question, or '
        "BinaryResponse.unrelated"
    )


def closed_form(yes: tuple[float, float], selection: tuple[float, float]) -> Floats:
    """(π, u) of two groups from their shares of "yes"; not held to [0, 1].

    >>> closed_form((0.35, 0.45), (0.7, 0.3)).round(4)
    array([0.275, 0.525])
    """
    (first, second), (p1, p2) = yes, selection
    return np.array([(1 - p2) * first - (1 - p1) * second, p1 * second - p2 * first]) / (p1 - p2)
