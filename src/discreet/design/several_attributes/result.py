"""Product, heuristic and optimum side by side.

What a design for several attributes returns.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet import arguments
from discreet.arguments import Floats
from discreet.design.result import Design
from discreet.design.several_attributes.request import Request
from discreet.design.several_attributes.yamamoto_heuristic import inductive
from discreet.errors import DesignError
from discreet.mechanisms.joint import JointResponse

#: Attributes up to which all pairs are looked at for a summary.
_SHOWN_PAIRS = 60
#: The same for triples, of which there are more.
_SHOWN_TRIPLES = 8


def least_pair_information(joint: JointResponse) -> float | None:
    """The smallest |λ_ij|/(λ_i λ_j); None for one attribute, or for so many that it takes long."""
    if not 1 < len(joint.sizes) <= _SHOWN_PAIRS:
        return None
    values = joint.pair_eigenvalues()
    ratio = np.abs(values / np.outer(np.diag(values), np.diag(values)))
    return float(ratio[~np.eye(len(values), dtype=bool)].min())


def least_triple_information(joint: JointResponse) -> float | None:
    """The smallest |λ_ijk|/(λ_i λ_j λ_k); None for two attributes, or for so many that it takes long."""
    if not 2 < len(joint.sizes) <= _SHOWN_TRIPLES:
        return None
    own = joint.eigenvalues
    triples = itertools.combinations(range(len(joint.sizes)), 3)
    return min(abs(joint.table_eigenvalue(triple)) / float(np.prod(own[list(triple)])) for triple in triples)


def compare_attributes(joint: JointResponse) -> dict[str, float | str]:
    """Record-level ε of the alternatives at the column levels of a finished mechanism.

    "independent": every column on its own. "heuristic": Yamamoto and Shibuya's, with a remark when it would not keep
    the levels. "this design": the mechanism itself.
    """
    joint = arguments.instance(joint, JointResponse, "joint", DesignError)
    request = Request(joint.sizes, tuple(float(level) for level in joint.marginal_epsilons))
    heuristic: float | str = math.inf
    try:
        found = inductive(request)
        heuristic = found.epsilon
        if found.changed:
            moved = [
                f"{len(group)} {word}"
                for word, group in (
                    ("raised", found.raised),
                    ("lowered", tuple(i for i in found.changed if i not in found.raised)),
                )
                if group
            ]
            heuristic = f"{found.epsilon:.4g} (with levels changed: {' and '.join(moved)})"
    except (ValueError, ArithmeticError):
        pass
    if isinstance(heuristic, float) and not math.isfinite(heuristic):
        heuristic = "not available at these levels"
    return {"independent": request.product, "heuristic": heuristic, "this design": joint.guarantee.epsilon}


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
