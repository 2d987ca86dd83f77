"""What every designer returns: a mechanism, what it achieves, and why nothing of its kind does better."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import Any, Generic, Self, TypeVar

from discreet.domains.losses import HasLosses
from discreet.mechanisms import Mechanism
from discreet.privacy import Guarantee

M_co = TypeVar("M_co", bound=Mechanism, covariant=True)

#: A design this close to its bound, relative, is the optimum: the rest is the rounding to integers.
_PROVEN = 1e-6


@dataclass(frozen=True)
class Optimality:
    """A certificate: what the finished mechanism reaches, and a bound that no competitor can pass.

    Attributes
    ----------
    value : float
        The objective of the finished mechanism, after rounding to integers.
    bound : float
        No feasible design of the stated kind has a smaller objective.
    statement : str
        Which designs are meant, and why the bound holds.
    """

    value: float
    bound: float
    statement: str

    @classmethod
    def checked(cls, value: float, bound: float, statement: str) -> Self:
        """The certificate of a bound that was computed in floats, and may pass the value by their rounding only.

        One that passes it by more is refuted by the design itself. Then nothing is proven, and the statement says it.
        """
        if bound <= value + _PROVEN * abs(value):
            return cls(value, min(bound, value), statement)
        return cls(value, 0.0, f"nothing is proven: the bound computed, {bound:.6g}, is above what this design reaches")

    @property
    def gap(self) -> float:
        """How much is left at most: value − bound."""
        return self.value - self.bound

    @property
    def proven(self) -> bool:
        """Whether the value is the bound, but for rounding."""
        return self.gap <= _PROVEN * abs(self.bound)

    def summary(self) -> str:
        """One line for people: proven best, or how far from the bound at most."""
        if self.proven:
            return f"Proven best: {self.statement}"
        share = f" ({self.gap / self.bound:.2%})" if self.bound > 0 else ""
        return f"At most {self.gap:.3g}{share} above the bound: {self.statement}"

    __str__ = summary

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "value": self.value,
            "bound": self.bound,
            "gap": self.gap,
            "proven": self.proven,
            "statement": self.statement,
        }


@dataclass(frozen=True)
class Alternative:
    """Another mechanism with the same promise, and what the objective would be under it."""

    name: str
    value: float

    def __str__(self) -> str:
        return f"{self.name}: {self.value:.4g}"


@dataclass(frozen=True)
class Design(Generic[M_co]):
    """The best mechanism for a purpose; ``Design[BinaryResponse]`` is one whose mechanism is of that type.

    Attributes
    ----------
    mechanism : Mechanism
        Finished: integer weights, guarantee recomputed.
    objective : float
        What was minimised, for this mechanism.
    certificate : Optimality
        Why no feasible design of its kind does better.
    notes : tuple of str
        What the user must know about the choice.
    measure : str
        The objective in words.
    alternatives : tuple of Alternative
        What else keeps the same promise, by the same measure.
    """

    mechanism: M_co
    objective: float
    certificate: Optimality
    notes: tuple[str, ...] = ()
    measure: str = ""
    alternatives: tuple[Alternative, ...] = ()

    @property
    def guarantee(self) -> Guarantee:
        """What the mechanism promises."""
        return self.mechanism.guarantee

    def summary(self) -> str:
        """A few lines for people."""
        return "\n".join([f"{type(self.mechanism).__name__}: {self.guarantee.summary()}", *self.reasons()])

    __str__ = summary

    def _repr_html_(self) -> str:
        """In a notebook the summary; the mechanism and its fractions are for ``repr``."""
        return f'<pre style="white-space:pre-wrap">{escape(self.summary())}</pre>'

    def reasons(self) -> list[str]:
        """Why this mechanism: what it achieves, the certificate, what else there was, and what to know."""
        others = [f"Instead: {'; '.join(map(str, self.alternatives))}"] if self.alternatives else []
        return [
            f"{self.measure[:1].upper()}{self.measure[1:]}: {self.objective:.6g}",
            self.certificate.summary(),
            *others,
            *(f"Note: {note}" for note in self.notes),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"mechanism": self.mechanism.to_dict(), "guarantee": self.guarantee.to_dict(), **self.reasons_to_dict()}

    def reasons_to_dict(self) -> dict[str, Any]:
        """The reasons as plain data, without the mechanism, which may be large."""
        return {
            "objective": self.objective,
            "measure": self.measure,
            "certificate": self.certificate.to_dict(),
            "notes": list(self.notes),
            "alternatives": [{"name": one.name, "value": one.value} for one in self.alternatives],
        }


@dataclass(frozen=True)
class MetricDesign(Design[M_co]):
    """A design for reports near the truth: its objective is an expected loss.

    Attributes
    ----------
    domain : domain with losses
        What a report that is not the truth costs.
    prior : tuple of float or None
        How frequent each truth is thought to be; None when equally frequent.
    """

    domain: HasLosses = field(kw_only=True, repr=False)
    prior: tuple[float, ...] | None = field(default=None, kw_only=True, repr=False)
