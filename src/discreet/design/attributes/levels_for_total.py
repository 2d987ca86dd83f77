"""design.attributes_for_total: the largest attribute levels for a given record-level ε."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from discreet import arguments
from discreet.design.attributes.attributes import attributes
from discreet.design.attributes.request import LARGEST_LEVEL, checked_levels, checked_sizes
from discreet.design.attributes.result import AttributesDesign
from discreet.errors import DesignError, PrivacyError
from discreet.mechanisms.joint import ThresholdLaw
from discreet.mechanisms.rounding import checked_epsilon

#: How close below the total the record level must come, relative, for counts and for one threshold.
_TOTAL_TOLERANCE = 1e-9
_TOTAL_TOLERANCE_OF_THRESHOLDS = 3e-3
_ROUNDS = 60


def attributes_for_total(sizes: Any, ratios: Any, total: float, pairs: Any = "keep") -> AttributesDesign:
    """The largest marginal levels in given ratios whose record-level ε is at most a total.

    Parameters
    ----------
    sizes : sequence of int
        Number of values of every attribute.
    ratios : sequence of float
        Relative sizes of the levels; (1, 1, 2) gives the third attribute twice the level of the others.
    total : float
        The record-level ε that must not be exceeded.
    pairs : {"keep", "free", "triples"}, or a list of tables
        As for :func:`attributes`.

    Examples
    --------
    >>> design = attributes_for_total([4] * 10, [1] * 10, 5.0)
    >>> design.guarantee.epsilon <= 5.0, round(design.requested[0], 2)   # independent randomisation: 0.5
    (True, 1.2)
    """
    counts = arguments.listed(sizes, "sizes", DesignError)
    shares = arguments.listed(ratios, "ratios", PrivacyError)
    if len(counts) != len(shares):
        raise DesignError(
            f"sizes and ratios must have the same length: there are {len(counts)} sizes and {len(shares)} ratios"
        )
    checked_sizes(counts)
    weights = checked_levels(shares, "ratios")
    weights = tuple(weight / max(weights) for weight in weights)
    total = checked_epsilon(total, "total")
    unit = sum(weights)

    def at(scale: float) -> AttributesDesign:
        return attributes(counts, [min(scale * w / unit, LARGEST_LEVEL) for w in weights], pairs=pairs)

    # Independent randomisation meets the total at scale = total, so the answer is at or above it; no attribute
    # can have more than the total itself.
    low, high = total, total * unit / max(weights)
    best = at(low * (1 - 1e-12))
    close = _TOTAL_TOLERANCE_OF_THRESHOLDS if isinstance(best.mechanism.law, ThresholdLaw) else _TOTAL_TOLERANCE
    low_value, high_value = best.guarantee.epsilon, None
    ceiling = False
    if low_value > total:  # one attribute: it is its own record
        best = at(low * (1 - 1e-9))
    for _ in range(_ROUNDS):
        if best.guarantee.epsilon >= total * (1 - close) or high - low <= 1e-13 * high:
            break
        if high_value is None and ceiling:
            middle = (low + high) / 2
        elif high_value is None:
            middle = min(low * max(1.05, min(total / low_value, 4.0)), high)
        else:
            # ε is nearly linear in the scale between two points; a bit of bisection keeps the bracket shrinking.
            guess = low + (total * (1 - close / 2) - low_value) / (high_value - low_value) * (high - low)
            middle = min(max(guess, low + 0.02 * (high - low)), high - 0.02 * (high - low))
        try:
            design = at(middle)
        except PrivacyError:  # levels that no design meets in floating point are too high
            high, high_value = middle, None
            ceiling = True
            continue
        if design.guarantee.epsilon <= total:
            best, low, low_value = design, middle, design.guarantee.epsilon
            if middle >= high:
                break
        else:
            high, high_value = middle, design.guarantee.epsilon
    if best.guarantee.epsilon > total:
        raise PrivacyError(f"no design was found whose record-level ε is at most total = {total:g}: raise it slightly")
    gain = best.product / total
    note = (
        f"at a record-level ε of {total:g}, independent randomisation allows attribute levels that add up to "
        f"{total:g}; together they add up to {best.product:.4g}, {gain:.2f} times as much"
    )
    return replace(best, notes=(*best.notes, note))
