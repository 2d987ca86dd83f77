"""What a design for several attributes returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from discreet.arguments import Floats
from discreet.design.attributes.comparison import least_pair_information, least_triple_information
from discreet.design.result import Design
from discreet.mechanisms.joint import JointResponse


@dataclass(frozen=True)
class AttributesDesign(Design[JointResponse]):
    """A joint response with both of its promises, and a bound on what any mechanism with these levels can reach.

    Attributes
    ----------
    requested : tuple of float
        The marginal levels asked for.
    method : str
        How it was found.
    pairs : {"keep", "free", "triples"}, or tuple of tables
        Which tables stay at least as informative as under independent randomisation.
    changed : tuple of int
        Attributes whose level is not the requested one (only the published heuristic changes any).
    """

    requested: tuple[float, ...] = ()
    method: str = ""
    pairs: str | tuple[tuple[int, ...], ...] = "keep"
    changed: tuple[int, ...] = ()

    @property
    def joint(self) -> JointResponse:
        """The mechanism, under the name that earlier versions gave it."""
        return self.mechanism

    @property
    def marginal_epsilons(self) -> Floats:
        """The certified level of every attribute for somebody who sees only its column."""
        return self.mechanism.marginal_epsilons

    def pair_eigenvalues(self, attributes: list[int] | None = None) -> Floats:
        """λ_ij, the information about every pair; λ_i λ_j is that of independent randomisation."""
        return self.mechanism.pair_eigenvalues(attributes)

    @property
    def product(self) -> float:
        """Σ ε_i: what independent randomisation costs."""
        return float(sum(self.requested))

    def summary(self) -> str:
        """A few lines for people."""
        text = super().summary()
        count = len(self.requested)
        lines = [
            text,
            f"Whoever sees a whole record learns at most ε = {self.guarantee.epsilon:.6g} about it; "
            f"independent randomisation would give {self.product:.6g}.",
            "Whoever sees only one column learns at most its own level about it: "
            + ", ".join(f"{level:.4g}" for level in self.marginal_epsilons[:8])
            + (" …" if count > 8 else "")
            + ". That is no promise against anybody who sees more.",
        ]
        if (least := least_pair_information(self.mechanism)) is not None:
            lines.append(f"Information about pairs, relative to independent randomisation: at least {least:.3g}.")
        if (least := least_triple_information(self.mechanism)) is not None:
            lines.append(f"Information about triples, by the same measure: at least {least:.3g}.")
        return "\n".join(lines)

    __str__ = summary

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            **super().to_dict(),
            "method": self.method,
            "pairs": self.pairs if isinstance(self.pairs, str) else [list(table) for table in self.pairs],
            "requested": list(self.requested),
            "marginal_epsilons": self.marginal_epsilons.tolist(),
            "changed": list(self.changed),
            "product": self.product,
        }
