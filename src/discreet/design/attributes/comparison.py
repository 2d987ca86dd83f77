"""Product, heuristic and optimum side by side."""

from __future__ import annotations

import itertools
import math

import numpy as np

from discreet import arguments
from discreet.design.attributes.published_heuristic import inductive
from discreet.design.attributes.request import Request
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
