"""Link functions: how a linear predictor becomes the probability of a true "yes".

Each link gives G and 1 − G separately, so that neither tail is lost to cancellation, and logarithms of all three
for the far tails where they underflow.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np

from discreet.arguments import Floats
from discreet.errors import Argument, EstimationError

#: e^37 already sends exp(−e^η) to zero, long before e^η overflows.
_LARGE = 700.0


class Link(ABC):
    """A distribution function G of the linear predictor η."""

    name: str

    @abstractmethod
    def parts(self, eta: Floats) -> tuple[Floats, Floats, Floats]:
        """``1 − G(η)``, ``G(η)`` and the slope ``G'(η)``."""

    @abstractmethod
    def bend(self, eta: Floats, parts: tuple[Floats, Floats, Floats]) -> Floats:
        """The second derivative ``G''(η)``, given :meth:`parts`."""

    @abstractmethod
    def logs(self, eta: Floats) -> tuple[Floats, Floats, Floats]:
        """Logarithms of :meth:`parts`, finite where those underflow."""

    @abstractmethod
    def inverse(self, probability: Floats) -> Floats:
        """The η at which G is this probability."""

    def probability(self, eta: Floats) -> Floats:
        """``G(η)``."""
        return self.parts(eta)[1]

    def __repr__(self) -> str:
        return f"link({self.name!r})"


class Logit(Link):
    """``G(η) = 1/(1 + e^{−η})``."""

    name = "logit"

    def parts(self, eta: Floats) -> tuple[Floats, Floats, Floats]:
        """See :class:`Link`."""
        tail = np.exp(-np.abs(eta))
        large = 1.0 / (1.0 + tail)
        small = tail * large
        positive = eta >= 0
        return np.where(positive, small, large), np.where(positive, large, small), small * large

    def bend(self, eta: Floats, parts: tuple[Floats, Floats, Floats]) -> Floats:  # noqa: ARG002  # not needed here
        """See :class:`Link`."""
        no, yes, slope = parts
        return np.asarray(slope * (no - yes))

    def logs(self, eta: Floats) -> tuple[Floats, Floats, Floats]:
        """See :class:`Link`."""
        no, yes = -np.logaddexp(0.0, eta), -np.logaddexp(0.0, -eta)
        return no, yes, no + yes

    def inverse(self, probability: Floats) -> Floats:
        """See :class:`Link`."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(probability) - np.log1p(-probability))


class Probit(Link):
    """``G = Φ``, the normal distribution function."""

    name = "probit"

    def parts(self, eta: Floats) -> tuple[Floats, Floats, Floats]:
        """See :class:`Link`."""
        from scipy.special import ndtr

        with np.errstate(under="ignore", over="ignore"):
            return ndtr(-eta), ndtr(eta), np.exp(-0.5 * eta * eta) / math.sqrt(2 * math.pi)

    def bend(self, eta: Floats, parts: tuple[Floats, Floats, Floats]) -> Floats:
        """See :class:`Link`."""
        return np.asarray(-eta * parts[2])

    def logs(self, eta: Floats) -> tuple[Floats, Floats, Floats]:
        """See :class:`Link`."""
        from scipy.special import log_ndtr

        return log_ndtr(-eta), log_ndtr(eta), -0.5 * eta * eta - 0.5 * math.log(2 * math.pi)

    def inverse(self, probability: Floats) -> Floats:
        """See :class:`Link`."""
        from scipy.special import ndtri

        return np.asarray(ndtri(probability))


class Cauchit(Link):
    """``G(η) = ½ + atan(η)/π``, written as an angle so that the small tail keeps its digits."""

    name = "cauchit"

    def parts(self, eta: Floats) -> tuple[Floats, Floats, Floats]:
        """See :class:`Link`."""
        with np.errstate(over="ignore"):
            slope = 1.0 / (math.pi * (1.0 + eta * eta))
        return np.arctan2(1.0, eta) / math.pi, np.arctan2(1.0, -eta) / math.pi, slope

    def bend(self, eta: Floats, parts: tuple[Floats, Floats, Floats]) -> Floats:
        """See :class:`Link`."""
        return np.asarray(-2.0 * math.pi * eta * parts[2] * parts[2])

    def logs(self, eta: Floats) -> tuple[Floats, Floats, Floats]:
        """See :class:`Link`."""
        no, yes, _ = self.parts(eta)
        return np.log(no), np.log(yes), -math.log(math.pi) - 2.0 * np.log(np.hypot(1.0, eta))

    def inverse(self, probability: Floats) -> Floats:
        """See :class:`Link`."""
        with np.errstate(divide="ignore"):
            return np.asarray(-1.0 / np.tan(math.pi * probability))


class ComplementaryLogLog(Link):
    """``G(η) = 1 − exp(−e^η)``: proportional hazards in grouped time."""

    name = "cloglog"

    def parts(self, eta: Floats) -> tuple[Floats, Floats, Floats]:
        """See :class:`Link`."""
        with np.errstate(under="ignore"):
            hazard = np.exp(np.minimum(eta, _LARGE))
            return np.exp(-hazard), -np.expm1(-hazard), np.exp(np.minimum(eta, _LARGE) - hazard)

    def bend(self, eta: Floats, parts: tuple[Floats, Floats, Floats]) -> Floats:
        """See :class:`Link`."""
        return np.asarray(parts[2] * -np.expm1(np.minimum(eta, _LARGE)))

    def logs(self, eta: Floats) -> tuple[Floats, Floats, Floats]:
        """See :class:`Link`."""
        eta = np.minimum(eta, _LARGE)
        with np.errstate(under="ignore"):
            hazard = np.exp(eta)
        # For a tiny hazard, 1 − e^{−h} = h to the last digit, and log h = η even where h underflows.
        yes = np.where(eta < -40.0, eta, np.log(-np.expm1(-np.maximum(hazard, 1e-300))))
        return -hazard, yes, eta - hazard

    def inverse(self, probability: Floats) -> Floats:
        """See :class:`Link`."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(-np.log1p(-probability)))


#: The links by name.
LINKS: dict[str, Link] = {link.name: link for link in (Logit(), Probit(), Cauchit(), ComplementaryLogLog())}


def link_named(name: str) -> Link:
    """The link of this name."""
    try:
        return LINKS[name]
    except (KeyError, TypeError):
        raise EstimationError(Argument("link"), f" must be one of {', '.join(LINKS)}, not {name!r}") from None
