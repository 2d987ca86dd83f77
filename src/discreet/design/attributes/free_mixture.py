"""The best mixture of thresholds when pairs are free, by column generation.

The next threshold has the dual weights of the rows: {Σ w_i (B_i − p_i)/d_i ≥ 0} is the set that helps most, and its
weights prove a bound besides. Left alone the dual weights oscillate for ever, so they are held in a box around the best
so far, which grows after a step that helped and shrinks after one that did not (Marsten, Hogan and Blankenship 1975).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.arguments import Floats
from discreet.design.attributes.dual_bound import bound_at
from discreet.design.attributes.mixture import Mixed, Programme
from discreet.design.attributes.request import Request
from discreet.design.attributes.threshold_columns import Column, Weights, nested_subsets, single_column, whole_weights
from discreet.design.attributes.threshold_sums import centre_of

#: Σ v_i of the thresholds; the mixture makes up for what whole weights miss.
_WEIGHT_SUM = 30_000
_LEAST_MEAN, _LARGEST_MEAN = 30.0, 1000.0
#: Rounds, and where they end: bound and value this close in ε, relative.
_ROUNDS = 200
_TOLERANCE = 3e-5
#: Rounds without an improvement of the bound worth mentioning, after which the search ends.
_PATIENCE = 100
#: A first mixture is made of the weights given, at these places between the centre and the top.
_FIRST_PLACES = (0.0, 0.25, 0.5, 0.75, 0.9)
#: The box: its first width, how it grows and shrinks, and the part of the mean weight that is added to it.
_FIRST_WIDTH, _WIDER, _WIDEST, _NARROWER, _NARROWEST, _PADDING = 0.5, 1.5, 10.0, 0.7, 1e-4, 0.05


@dataclass(frozen=True, eq=False)
class FreeMixture:
    """A mixture with the bound that was proved on the way."""

    columns: tuple[Column, ...]
    mixed: Mixed
    bound: float


def free_mixture(request: Request, weights: Floats, bound: float) -> FreeMixture:
    """Mix thresholds from these weights on, until value and bound agree."""
    mean = max(_LEAST_MEAN, min(_LARGEST_MEAN, _WEIGHT_SUM / request.count))
    columns: dict[tuple[bytes, int], Column] = {}

    def add(whole: Weights, threshold: int) -> bool:
        at = min(max(threshold, 1), int(whole.sum()))
        key = (whole.tobytes(), at)
        if key in columns:
            return False
        columns[key] = single_column(request, whole, at)
        return True

    for strongest in nested_subsets(request):
        add(strongest.astype(np.int64), int(strongest.sum()))
    starts = [whole_weights(one, mean) for one in (weights, np.array(request.epsilons))]
    for first in starts:
        centre, top = float(first @ request.truth), int(first.sum())
        for place in _FIRST_PLACES:
            add(first, math.ceil(centre + place * (top - centre)))
    value, first = max(((bound_at(request, one), one) for one in starts), key=lambda pair: pair[0])
    best, width = first * request.excess, _FIRST_WIDTH
    bound = max(bound, value, *request.epsilons)
    improved = 0
    for step in range(_ROUNDS):
        # At the optimum the dual weights add up to e^ε − 1, here relative to e^bound.
        middle = best / best.sum() * math.exp(value - bound) * -math.expm1(-value)
        pad = _PADDING * width * float(middle.mean())
        low, high = np.maximum(middle / (1 + width) - pad, 0.0), middle * (1 + width) + pad
        found = Programme(request, bound, tuple(columns.values())).boxed(low, high)
        if found is None:
            # The solver gave up; another box may suit it better.
            width = max(width * _NARROWER, _NARROWEST)
            continue
        model, duals, binds = found
        if not duals.any():
            break
        whole = whole_weights(duals / request.excess, mean)
        proved = bound_at(request, whole)
        bound = max(bound, proved)
        fresh = add(whole, centre_of(request, whole)[0])
        if proved > value * (1 + 0.1 * _TOLERANCE):
            improved = step
        if proved > value:
            if proved - value > 0.1 * max(model - value, 0.0):
                width = min(width * _WIDER, _WIDEST)
            value, best = proved, duals
        else:
            width = max(width * _NARROWER, _NARROWEST)
        if not binds and (model - value < _TOLERANCE * model or not fresh):
            break
        if step - improved > _PATIENCE:
            break
        if not fresh:
            width *= 2
    chosen = tuple(columns.values())
    return FreeMixture(chosen, Programme(request, bound, chosen).mixed(), bound)
