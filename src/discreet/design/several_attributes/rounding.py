"""From a solution in floats to a finished mechanism: integers, levels met and never exceeded."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from discreet.arguments import Floats
from discreet.design.several_attributes.request import Request
from discreet.mechanisms.joint import GroupedLaw, JointResponse, Law
from discreet.mechanisms.joint.grouped import cells_of
from discreet.mechanisms.joint.response import POST_DENOMINATOR

#: The smallest density; 64 bits below the point are far finer than any solver.
_LEAST_DENSITY = 1 << 64
#: Shares g this close to 0 or 1 are 0 or 1.
_SOLVER_ERROR = 1e-12


def grouped_law(request: Request, groups: Sequence[int], g: Floats, log_rho: float) -> GroupedLaw:
    """Integer densities ``2^64 (1 + g/ρ)``, rounded down."""
    from discreet.privacy.bounds import exp_bounds

    step = exp_bounds(-log_rho)[0] * _LEAST_DENSITY
    clean = np.where(g < _SOLVER_ERROR, 0.0, np.where(g > 1 - _SOLVER_ERROR, 1.0, g))
    known = {value: _LEAST_DENSITY + int(Fraction(value) * step) for value in set(clean.tolist())}
    levels, cells = cells_of([known[value] for value in clean.tolist()])
    return GroupedLaw(request.sizes, tuple(groups), levels, cells)


def levelled(request: Request, law: Law) -> JointResponse:
    """Randomise every attribute that is above its level a little more on its own, exactly down to it.

    The promise about the record stays valid (it is post-processing), and an attribute that rounding left a little
    below its level stays there.
    """
    rates = law.truth_rates()
    post = []
    known: dict[tuple[Fraction, Fraction, int, Fraction], int] = {}
    for rate, error, size, wanted in zip(
        rates.rates, rates.error, request.sizes, request.exact_eigenvalues, strict=True
    ):
        key = (rate, error, size, wanted)
        if key not in known:
            reached = ((rate + error) * size - 1) / (size - 1)
            if reached <= wanted:
                known[key] = POST_DENOMINATOR
            else:
                known[key] = int(wanted / reached * POST_DENOMINATOR)
        post.append(known[key])
    return JointResponse(law, post)
