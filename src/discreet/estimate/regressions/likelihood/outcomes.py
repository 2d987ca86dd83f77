"""Models of a public outcome given the covariates and the (unknown) truth."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np

from discreet import arguments
from discreet.arguments import Floats
from discreet.errors import EstimationError
from discreet.estimate.regressions.likelihood.links import LINKS, Link


class OutcomeModel(ABC):
    """The density of an outcome given its linear predictor."""

    name: str
    #: Parameters besides the coefficients.
    extra: int

    @abstractmethod
    def log_density(self, outcome: Floats, eta: Floats, extra: Floats) -> Floats:
        """``log f(v | η)``; ``extra`` holds the extra parameters."""

    @abstractmethod
    def derivatives(self, outcome: Floats, eta: Floats, extra: Floats) -> tuple[Floats, Floats, tuple[Floats, ...]]:
        """The derivative in η, those in the extra parameters (one column each), and the negative second ones."""

    @abstractmethod
    def information(self, design: Floats, curvatures: tuple[Floats, ...], share: Floats, size: int) -> Floats:
        """``Σ share · (−H)``, placed in a matrix of the full size."""


class BinaryOutcome(OutcomeModel):
    """A 0/1 outcome: ``P(v = 1) = G(η)``."""

    extra = 0

    def __init__(self, link: Link) -> None:
        self.name = link.name
        self._link = link

    def log_density(self, outcome: Floats, eta: Floats, extra: Floats) -> Floats:  # noqa: ARG002  # there are none
        """See :class:`OutcomeModel`."""
        no, yes, _ = self._link.logs(eta)
        return np.where(outcome == 1, yes, no)

    def derivatives(
        self,
        outcome: Floats,
        eta: Floats,
        extra: Floats,  # noqa: ARG002  # there are none
    ) -> tuple[Floats, Floats, tuple[Floats, ...]]:
        """See :class:`OutcomeModel`."""
        no, yes, slope = self._link.logs(eta)
        made = np.where(outcome == 1, yes, no)
        sign = 2.0 * outcome - 1.0
        first = sign * np.exp(slope - made)
        # g'/g: for logit 1 − 2G, for probit −η.
        bent = np.exp(no) - np.exp(yes) if self.name == "logit" else -eta
        return first, np.empty((eta.size, 0)), (first * first - first * bent,)

    def information(self, design: Floats, curvatures: tuple[Floats, ...], share: Floats, size: int) -> Floats:
        """See :class:`OutcomeModel`."""
        matrix = np.zeros((size, size))
        used = design.shape[1]
        matrix[:used, :used] = design.T @ ((share * curvatures[0])[:, None] * design)
        return matrix


class GaussianOutcome(OutcomeModel):
    """A number: ``v = η + σ·N(0, 1)``, with log σ as a parameter."""

    name = "gaussian"
    extra = 1

    def log_density(self, outcome: Floats, eta: Floats, extra: Floats) -> Floats:
        """See :class:`OutcomeModel`."""
        log_sigma = extra[0]
        with np.errstate(over="ignore"):
            z = (outcome - eta) * np.exp(-log_sigma)
            return np.asarray(-0.5 * math.log(2 * math.pi) - log_sigma - 0.5 * z * z)

    def derivatives(self, outcome: Floats, eta: Floats, extra: Floats) -> tuple[Floats, Floats, tuple[Floats, ...]]:
        """See :class:`OutcomeModel`."""
        inverse = np.exp(-extra[0])
        z = (outcome - eta) * inverse
        return z * inverse, (z * z - 1.0)[:, None], (np.full(eta.size, inverse**2), 2 * z * inverse, 2 * z * z)

    def information(self, design: Floats, curvatures: tuple[Floats, ...], share: Floats, size: int) -> Floats:
        """See :class:`OutcomeModel`."""
        own, cross, spread = curvatures
        matrix = np.zeros((size, size))
        used = design.shape[1]
        matrix[:used, :used] = design.T @ ((share * own)[:, None] * design)
        matrix[:used, used] = matrix[used, :used] = design.T @ (share * cross)
        matrix[used, used] = float(share @ spread)
        return matrix


def outcome_model(family: str) -> OutcomeModel:
    """The model of this name."""
    family = arguments.choice(family, "family", ("logit", "probit", "gaussian"), EstimationError)
    return GaussianOutcome() if family == "gaussian" else BinaryOutcome(LINKS[family])
