"""A loss of a linear index, and what its exact correction needs.

A loss on a linear index ``η = θ'x`` knows itself and its curvature, plain and averaged over a Laplace variable
(:mod:`~discreet.estimate.m_estimation.smoothing`); that is all that its exact correction needs, since

    ℓ(x1)/δ₀ + (1 − 1/δ₀) E[ℓ(x1 + S)] = ℓ(η₁) − (1 − δ₀) q (K_v ℓ'')(η₁),   q = ‖Λθ‖²/2,  v = δ₀ q,

Λ the scales of the noise (of privatised coordinates only). The right-hand side also has the right limit at δ₀ = 0.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Literal, Self

from discreet.arguments import Floats

Terms = tuple[Floats, Floats, Floats]


class IndexLoss(ABC):
    """A loss of a linear index and an outcome."""

    #: How summaries and ``m_estimate`` call it.
    name: ClassVar[str]
    #: Which outcomes it takes.
    outcomes: ClassVar[Literal["number", "binary", "count"]] = "number"
    #: Whether it depends on y − η alone, so that the outcome may be noisy too.
    location: ClassVar[bool] = False
    #: Whether it has a kink: then its correction needs exactly published records.
    kinked: ClassVar[bool] = False
    #: ℓ'' where it is a constant: the correction is then the same for every row.
    constant_curvature: ClassVar[float | None] = None

    @abstractmethod
    def plain(self, eta: Floats, y: Floats) -> Terms:
        """ℓ and its first two derivatives in η."""

    @abstractmethod
    def curvature(self, eta: Floats, y: Floats, v: float) -> Terms:
        """``K_v ℓ''`` and its first two derivatives in η; at v = 0 the curvature itself."""

    def smoothed(self, bandwidth: float) -> Self:  # noqa: ARG002  # smooth losses need no bandwidth
        """The loss with its kink, if any, averaged over a Laplace variable of this scale."""
        return self

    def start(self, y: Floats) -> tuple[Floats, float]:
        """An outcome and a factor such that least squares gives a first guess."""
        return y, 1.0

    def check(self, q: float) -> str | None:  # noqa: ARG002  # most corrections exist everywhere
        """Why the correction does not exist at this amount of noise, or None."""
        return None
