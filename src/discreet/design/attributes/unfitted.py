"""Designs that need no fitting: every attribute on its own, and the whole truth now and then."""

from __future__ import annotations

from discreet.design.attributes.request import Request
from discreet.design.attributes.rounding import levelled
from discreet.mechanisms.joint import JointResponse, ProductLaw, StarLaw
from discreet.mechanisms.rounding import keep_and_other


def independent(request: Request) -> JointResponse:
    """Independent generalised responses (Wang, Wu and Hu 2016)."""
    known: dict[tuple[int, float], tuple[int, int, int]] = {}
    for pair in zip(request.sizes, request.epsilons, strict=True):
        if pair not in known:
            known[pair] = keep_and_other(*pair)
    weights = [known[pair] for pair in zip(request.sizes, request.epsilons, strict=True)]
    return JointResponse(ProductLaw(request.sizes, tuple(w[0] for w in weights), tuple(w[1] for w in weights)))


def whole_truth(request: Request) -> JointResponse:
    """The whole truth with the probability that the strongest attribute needs, else the uniform answer.

    ε is about Σ ln a_i + max ε_i, whatever the other levels are, since they are reached by randomising each attribute
    down; λ_ij ≥ λ_i λ_j holds for every pair. Where levels are high this is far below Σ ε_i.
    """
    strongest = max(request.exact_eigenvalues)
    uniform = strongest.denominator - strongest.numerator
    return levelled(request, StarLaw(request.sizes, uniform, strongest.numerator, (0,) * request.count))
