"""Losses of one or several linear predictors, weighed over the possible truths of the outcome.

A family is handed the linear predictors ``η`` of rows and cells, the values y that the outcome can have, and the weight
of each value; it returns ``Σ_y w_y ℓ(η, y)`` with its first two derivatives in η. Weights may be negative, so nothing
here may assume a convex sum.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from discreet.arguments import Floats
from discreet.estimate.regressions.likelihood.links import LINKS, Link, link_named

#: The weighed loss (rows, cells), and its derivatives (rows, cells, K) and (rows, cells, K, K) in the K predictors.
Terms = tuple[Floats, Floats, Floats]
#: Numbers (rows, cells) or (rows, cells, classes) that stand for the outcome and its weights.
Statistics = tuple[Floats, ...]
#: An inflation of variances by less is none.
_NOTHING = 1e-9
#: Which interactions of true values the corrected loss has: see :meth:`Family.needs`.
Curvature = Literal["square", "canonical", "general"]


class Family(ABC):
    """A loss ℓ(η, y)."""

    name: str
    #: What the exponentials of the coefficients are, where they have a name.
    exponentiated: str | None = None
    #: What it needs of the joint law of the columns: "square" pairs of terms, "canonical" y with one term at a time
    #: and all terms together, "general" everything together.
    curvature: Curvature = "general"
    #: What the outcome is.
    outcome: Literal["number", "count", "binary", "classes"] = "number"
    #: Number of linear predictors.
    predictors: int = 1
    #: On which scale intervals of predictions are made.
    scale: Literal["number", "probability", "rate"] = "number"
    #: Whether the loss has a kink, so that the scores of a sample have no root.
    kinked: bool = False

    def statistics(self, y: Floats, weights: Floats) -> Statistics:
        """What the loss needs of the outcome, free of η: here ``Σ_y w_y`` and ``Σ_y w_y y``.

        Parameters
        ----------
        y : array (rows or 1, values)
            The values that the outcome can have: one where it is public, all where it is randomised.
        weights : array (rows, values, cells)
        """
        if weights.shape[1] == 1:  # a public outcome
            return weights[:, 0], weights[:, 0] * y
        return weights.sum(axis=1), np.tensordot(weights, y[0], axes=(1, 0))

    @abstractmethod
    def terms(self, eta: Floats, statistics: Statistics) -> Terms:
        """``Σ_y w_y ℓ(η, y)`` with derivatives, at linear predictors (rows, cells, K)."""

    @abstractmethod
    def mean(self, eta: Floats) -> tuple[Floats, Floats]:
        """What is predicted at linear predictors (…, K): (…, M) numbers and their derivatives (…, M, K)."""

    def approximation(self) -> Linear | None:
        """Least squares whose coefficients are near those of this loss; None where there are none to start from."""
        return None

    def start(self, shares: Floats) -> Floats:  # noqa: ARG002  # most losses start well at zero
        """Constants of the K predictors to start from, given the mean outcome (or the shares of classes)."""
        return np.zeros(self.predictors)

    def parameters(self, names: Sequence[str]) -> tuple[tuple[str, ...], Floats | None]:
        """Names of the parameters, and the matrix that makes the K × columns coefficients of them (None: identity)."""
        return tuple(names), None

    def described(self) -> str:
        """For a summary."""
        return self.name


class Linear(Family):
    """``(y − η)²/2``: linear regression.

    Parameters
    ----------
    change : function, optional
        What is made of an outcome first.
    """

    name = "linear"
    curvature: Curvature = "square"

    def __init__(self, change: Callable[[Floats], Floats] | None = None) -> None:
        self.change = change

    def statistics(self, y: Floats, weights: Floats) -> Statistics:
        """With ``Σ_y w_y y²``."""
        y = y if self.change is None else self.change(y)
        return (*super().statistics(y, weights), super().statistics(y * y, weights)[1])

    def terms(self, eta: Floats, statistics: Statistics) -> Terms:
        """See :class:`Family`."""
        total, first, square = statistics
        eta = eta[:, :, 0]
        value = 0.5 * square + eta * (0.5 * total * eta - first)
        return value, (total * eta - first)[..., None], total[..., None, None]

    def mean(self, eta: Floats) -> tuple[Floats, Floats]:
        """The predictor itself."""
        return eta, np.ones((*eta.shape, 1))


class Logistic(Family):
    """``ln(1 + e^η) − yη``: logistic regression."""

    name = "binary"
    exponentiated: str | None = "odds ratios"
    curvature: Curvature = "canonical"
    outcome = "binary"
    scale = "probability"
    link: Link = LINKS["logit"]

    def terms(self, eta: Floats, statistics: Statistics) -> Terms:
        """See :class:`Family`."""
        total, first = statistics
        eta = eta[:, :, 0]
        tail = np.exp(-np.abs(eta))
        large = 1.0 / (1.0 + tail)
        small = tail * large
        value = total * (np.maximum(eta, 0.0) - np.log(large)) - first * eta
        slope = total * np.where(eta >= 0, large, small) - first
        return value, slope[..., None], (total * (small * large))[..., None, None]

    def mean(self, eta: Floats) -> tuple[Floats, Floats]:
        """The probability of the second value."""
        _, yes, slope = self.link.parts(eta)
        return yes, slope[..., None]

    def approximation(self) -> Linear:
        """Near zero the probability is ``G(0) + G'(0) η``."""
        _, centre, slope = (float(one[0]) for one in self.link.parts(np.zeros(1)))
        return Linear(lambda y: (y - centre) / slope)

    def start(self, shares: Floats) -> Floats:
        """The logit of the share, kept away from its ends."""
        return np.asarray(self.link.inverse(np.clip(shares, 0.02, 0.98)))

    def described(self) -> str:
        """With its link."""
        return f"{self.name}, {self.link.name} link"


class OtherLink(Logistic):
    """``−ln G(η)`` for a "yes", ``−ln(1 − G(η))`` for a "no": probit, cauchit, complementary log-log."""

    exponentiated = None
    curvature: Curvature = "general"

    def __init__(self, link: Link) -> None:
        self.link = link
        self._tilt = _TILT[link.name]

    def terms(self, eta: Floats, statistics: Statistics) -> Terms:
        """See :class:`Family`."""
        total, yes = statistics
        no, eta = total - yes, eta[:, :, 0]
        log_no, log_yes, log_slope = self.link.logs(eta)
        up, down = np.exp(log_slope - log_yes), np.exp(log_slope - log_no)  # G'/G and G'/(1 − G)
        tilt = self._tilt(eta)
        value = -yes * log_yes - no * log_no
        second = yes * up * (up - tilt) + no * down * (down + tilt)
        return value, (no * down - yes * up)[..., None], second[..., None, None]


#: The derivative of ln G'(η).
_TILT: dict[str, Callable[[Floats], Floats]] = {
    "probit": lambda eta: -eta,
    "cauchit": lambda eta: -2.0 * eta / (1.0 + eta * eta),
    "cloglog": lambda eta: -np.expm1(np.minimum(eta, 700.0)),
}


class Poisson(Family):
    """``e^η − yη``: Poisson regression of counts; with α > 0 the quasi-likelihood of the variance ``μ + αμ²``.

    A correction has an error of the order of the mean: the score of a row has the variance ``μ + cμ²`` where that of a
    Poisson count is μ, and an exponential with negative weights has no bottom. The quasi-likelihood
    ``ln(1 + αμ)/α − y(η − ln(1 + αμ))`` has the score ``(μ − y)/(1 + αμ)``, which is zero on average at the same
    coefficients (McCullagh and Nelder 1989, chapter 9), and grows like η only.

    Parameters
    ----------
    alpha : float
    """

    name = "poisson"
    exponentiated = "rate ratios"
    outcome = "count"
    scale = "rate"
    #: α is the inflation of variances by the correction, minus one, at most this. At ε = 1 (n = 5,000, two randomised
    #: predictors) 59 of 100 fits converged with α = 0, and of 1, 5 and 23 the first had the smallest errors; at ε = 3,
    #: where the inflation is 1.5, errors were 4 to 18 % below those of α = 0 with ½, and larger again with 2.
    MOST = 1.0

    def __init__(self, alpha: float = 0.0) -> None:
        self.alpha = alpha
        self.curvature = "general" if alpha else "canonical"

    def tamed(self, inflation: float) -> Poisson:
        """The same with the weights that an inflation of variances by the correction calls for."""
        alpha = min(inflation - 1.0, self.MOST)
        return Poisson(alpha if alpha > _NOTHING else 0.0)

    @property
    def note(self) -> str:
        """What a reader should know of α > 0."""
        return (
            f"a count weighs 1/(1 + {self.alpha:.2g}μ), μ its mean: with randomised predictors the error of one grows "
            "with μ². Where the model of the mean is right this changes errors, not coefficients"
        )

    def terms(self, eta: Floats, statistics: Statistics) -> Terms:
        """See :class:`Family`."""
        total, first = statistics
        eta, alpha = eta[:, :, 0], self.alpha
        with np.errstate(over="ignore"):
            if not alpha:
                rate = total * np.exp(eta)
                return rate - first * eta, (rate - first)[..., None], rate[..., None, None]
            grown = np.logaddexp(0.0, eta + math.log(alpha))  # ln(1 + αμ)
            small = np.exp(-grown)  # 1/(1 + αμ)
        share = -np.expm1(-grown)  # αμ/(1 + αμ)
        value = total * grown / alpha - first * (eta - grown)
        slope = total * share / alpha - first * small
        return value, slope[..., None], ((total / alpha + first) * share * small)[..., None, None]

    def mean(self, eta: Floats) -> tuple[Floats, Floats]:
        """The expected count."""
        rate = np.exp(eta)
        return rate, rate[..., None]

    def approximation(self) -> Linear:
        """Logarithms, kept finite."""
        return Linear(lambda y: np.log(np.maximum(y, 0.0) + 0.5))

    def start(self, shares: Floats) -> Floats:
        """The logarithm of the mean."""
        return np.log(np.maximum(shares, 0.1))

    def described(self) -> str:
        """With its link, and the variance in view."""
        return "poisson, log link" + (f", variance μ + {self.alpha:.2g}μ²" if self.alpha else "")


def binary_family(link: str) -> Family:
    """Logistic regression, or the same with another link."""
    chosen = link_named(link)
    return Logistic() if chosen.name == "logit" else OtherLink(chosen)
