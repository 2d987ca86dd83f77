"""What every designer returns: a mechanism, what it achieves, and why nothing of its kind does better."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from discreet.mechanisms import Mechanism
from discreet.privacy import Guarantee

M_co = TypeVar("M_co", bound=Mechanism, covariant=True)


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

    @property
    def gap(self) -> float:
        """How much is left at most: value − bound."""
        return self.value - self.bound

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"value": self.value, "bound": self.bound, "gap": self.gap, "statement": self.statement}


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
    """

    mechanism: M_co
    objective: float
    certificate: Optimality
    notes: tuple[str, ...] = ()
    measure: str = ""

    @property
    def guarantee(self) -> Guarantee:
        """What the mechanism promises."""
        return self.mechanism.guarantee

    def summary(self) -> str:
        """A few lines for people."""
        lines = [
            f"{type(self.mechanism).__name__}: {self.guarantee.summary()}",
            f"{self.measure}: {self.objective:.6g}",
            f"Certificate: {self.certificate.statement} (gap ≤ {max(self.certificate.gap, 0):.2g})",
        ]
        lines.extend(f"Note: {note}" for note in self.notes)
        return "\n".join(lines)

    __str__ = summary

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "mechanism": self.mechanism.to_dict(),
            "guarantee": self.guarantee.to_dict(),
            "objective": self.objective,
            "measure": self.measure,
            "certificate": self.certificate.to_dict(),
            "notes": list(self.notes),
        }
