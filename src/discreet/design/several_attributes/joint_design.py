"""Designs that need no fitting: every attribute on its own, and the whole truth now and then.

design.attributes: the strongest promise about a record at given levels of its attributes.

design.attributes_for_total: the largest attribute levels for a given record-level ε.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from discreet import arguments
from discreet.design.result import Optimality
from discreet.design.several_attributes.exact_optimum import generate
from discreet.design.several_attributes.request import (
    LARGEST_LEVEL,
    WORDS,
    Request,
    Tables,
    checked_levels,
    checked_pairs,
    checked_sizes,
    kept_groups,
    refuse_too_large,
)
from discreet.design.several_attributes.result import AttributesDesign
from discreet.design.several_attributes.rounding import grouped_law, levelled
from discreet.design.several_attributes.threshold_search import ThresholdSearch
from discreet.design.several_attributes.threshold_sums import TRUSTED, quick_bound
from discreet.design.several_attributes.yamamoto_heuristic import inductive
from discreet.design.several_attributes.yamamoto_lp import MAX_PATTERN_ATTRIBUTES, Cells, Solution, solve_cells
from discreet.errors import Argument, DesignError, MechanismError, PrivacyError
from discreet.mechanisms.exact_integers import checked_epsilon, keep_and_other
from discreet.mechanisms.joint import JointResponse, ProductLaw, StarLaw, ThresholdLaw


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


METHODS = ("auto", "exact", "lp", "inductive", "kronecker")

#: Cells up to which attributes that are alike are treated by counts, beyond sixteen attributes.
_MAX_COUNT_CELLS = 20_000
#: Rows for pairs of groups that are affordable there.
_MAX_COUNT_GROUPS = 12
#: Attributes for which a dual bound is computed for a method that does not bring its own.
_MAX_BOUND = 2_000

MEASURE = "Record-level ε"
_DUALITY = "no mechanism with these attribute levels goes below it, by duality"
_SIMPLEST = (
    "the levels are too high or too unequal for a fitted design; the simplest that meets them was taken, and the gap "
    "says how much a better one could save at most"
)
#: How close a design must come to the levels asked for, absolute below one and relative above.
_LEVEL_TOLERANCE = 1e-6


def attributes(
    sizes: Any, epsilons: Any, method: str = "auto", pairs: Any = "keep", *, allow_raised: bool = False
) -> AttributesDesign:
    """The smallest record-level ε at given marginal levels of several attributes.

    By symmetry a mechanism is a density over the set of attributes that are reported truthfully, and e^ε is the ratio
    of its extremes. With B_i ~ Bernoulli(1/a_i) independent, p_i = e^{ε_i}/(e^{ε_i} + a_i − 1) and d_i = p_i − 1/a_i,

        1/(e^ε − 1) = min { E[(Σ w_i (B_i − p_i))₊] : Σ w_i d_i = 1 },

    and a mixture of weighted-threshold answers and the uniform answer attains it.

    Parameters
    ----------
    sizes : sequence of int
        Number of values a_i of every attribute, at least 2.
    epsilons : sequence of float
        Marginal level ε_i: what somebody may learn who sees *only column i*. Somebody who sees the whole
        record is bound by the record-level ε.
    method : {"auto", "exact", "lp", "inductive", "kronecker"}
        "exact" (and "auto"): column generation over the dual, to the optimum up to 16 attributes; attributes that are
        alike are treated by counts; beyond, one threshold or a mixture of several, with its gap stated.
        "lp": the linear programme over 2^k
        patterns of Yamamoto and Shibuya (2024), k ≤ 16. "inductive": their heuristic. "kronecker": every attribute
        on its own.
    pairs : {"keep", "free", "triples"}, or a list of tables
        "keep": every cross-table of two attributes stays at least as informative as under independent
        randomisation, λ_ij ≥ λ_i λ_j. "triples": every table of three too, λ_ijk ≥ λ_i λ_j λ_k, which a regression on
        two attributes needs. A list such as [(0, 1, 2), (1, 3)] keeps these tables and their parts, and no others.
        "free": no such constraint; a cross-table may then become impossible. Tables beyond pairs are kept for up to 16
        attributes, or more that are alike.
    allow_raised : bool
        The heuristic's fallback changes levels. One that it raises, which is less privacy than asked for, is refused
        unless this is set.

    Returns
    -------
    AttributesDesign

    Examples
    --------
    >>> design = attributes([4] * 10, [0.5] * 10, pairs="free")
    >>> round(design.guarantee.epsilon, 6), round(design.product, 6)
    (1.815643, 5.0)
    >>> round(attributes([4] * 10, [0.5] * 10).guarantee.epsilon, 3)
    1.909
    >>> round(attributes([4] * 10, [0.5] * 10, pairs="triples").guarantee.epsilon, 3)
    2.266
    """
    request = Request.of(sizes, epsilons)
    method = arguments.choice(method, "method", METHODS, DesignError)
    allow_raised = arguments.flag(allow_raised, "allow_raised", DesignError)
    pairs = checked_pairs(pairs, request.count)
    if method == "inductive":
        return _inductive(request, pairs, allow_raised=allow_raised)
    if method == "kronecker" or request.count == 1:
        found = _kronecker(request, pairs, method)
    else:
        found = _lp(request, pairs) if method == "lp" else _exact(request, pairs)
    _check_levels(request, found.mechanism)
    return found


def _check_levels(request: Request, mechanism: JointResponse) -> None:
    """Refuse a finished mechanism that is less private than asked for, whatever its size."""
    above = np.flatnonzero(mechanism.marginal_epsilons > np.array(request.epsilons))
    if above.size:
        i = int(above[0])
        raise PrivacyError(
            f"epsilons[{i}] = {request.epsilons[i]:g} is not met: the finished design has a level of "
            f'{mechanism.marginal_epsilons[i]:.12g} there; ask for slightly less, or use method="kronecker"'
        )


def _kronecker(request: Request, pairs: str | Tables, method: str) -> AttributesDesign:
    mechanism = independent(request)
    statement = _DUALITY
    if request.count == 1:
        statement = "one attribute is its own record"
    return _design(request, mechanism, _quick(request), statement, "kronecker" if method == "auto" else method, pairs)


def _inductive(request: Request, pairs: str | Tables, *, allow_raised: bool) -> AttributesDesign:
    found = inductive(request)
    if found.raised and not allow_raised:
        i = found.raised[0]
        more = f" and {len(found.raised) - 1} more" if len(found.raised) > 1 else ""
        raise PrivacyError(
            f"the heuristic would raise the level of attribute {i} from {request.epsilons[i]:g} to "
            f"{found.levels[i]:.4g}{more}, which is less privacy than asked for; use ",
            Argument('method="exact"'),
            ", or allow_raised",
        )
    notes = ["the heuristic does not look at cross-tables"] if pairs != "free" else []
    if found.changed:
        listed = ", ".join(f"{i}: {request.epsilons[i]:.4g} → {found.levels[i]:.4g}" for i in found.changed[:6])
        more = " …" if len(found.changed) > 6 else ""
        notes.append(f"the heuristic changed the level of {len(found.changed)} attributes ({listed}{more})")
    reached = Request(request.sizes, tuple(np.maximum(found.levels, 1e-12).tolist())) if found.changed else request
    design = _design(
        request,
        _never_above(reached, found.mechanism()),
        _quick(reached),
        "no mechanism with the attribute levels that the heuristic ends at goes below it, by duality",
        "inductive",
        pairs,
        tuple(notes),
    )
    return replace(design, changed=found.changed)


def _never_above(request: Request, mechanism: JointResponse) -> JointResponse:
    """Randomise down what the rounding of the heuristic's masses left above its level."""
    if np.any(mechanism.marginal_epsilons > np.array(request.epsilons)):
        mechanism = levelled(request, mechanism.law)
        _check_levels(request, mechanism)
    return mechanism


def _lp(request: Request, pairs: str | Tables) -> AttributesDesign:
    if request.count > MAX_PATTERN_ATTRIBUTES:
        raise DesignError(
            f"the linear programme has 2^k variables and is limited to {MAX_PATTERN_ATTRIBUTES} attributes, "
            f"not {request.count}; ",
            Argument('method="exact"'),
            " has no such limit",
        )
    tables = pairs
    if isinstance(pairs, str):  # the programme of the paper: every attribute stands for itself
        tables = tuple(itertools.combinations(range(request.count), min(WORDS[pairs], request.count)))
    kept = () if pairs == "free" else kept_groups(request, tables)[1]
    cells = Cells(request, tuple(range(request.count)), kept)
    found = _from_cells(request, cells, solve_cells, "lp", pairs)
    if not _meets(request, found.mechanism):
        raise PrivacyError("the linear programme does not meet these levels in floating point: they are too high")
    return found


def _exact(request: Request, pairs: str | Tables) -> AttributesDesign:
    merged = request.merged()
    few = _few_cells(merged)
    named = not isinstance(pairs, str)
    if pairs not in ("keep", "free") and (not few or (named and request.count > MAX_PATTERN_ATTRIBUTES)):
        raise DesignError(
            f"tables beyond pairs are kept for up to {MAX_PATTERN_ATTRIBUTES} attributes, or all triples of more that "
            f"are alike, not for {request.count}: put the attributes whose tables matter into a block of their own"
        )
    if few:
        groups, kept = kept_groups(merged, pairs)
        cells = Cells(merged, groups, kept)
        if pairs not in ("keep", "free"):
            refuse_too_large(kept, cells.count)
        try:
            found = _from_cells(merged, cells, generate, "exact", pairs)
        except (PrivacyError, MechanismError):  # levels so high or so unequal that floats cannot tell the cells apart
            return _fallback(request, 0.0, pairs)
        if not _meets(request, found.mechanism):
            return _fallback(request, 0.0, pairs)
        return replace(found, requested=request.epsilons)
    search = ThresholdSearch(request, keep_pairs=pairs == "keep")
    try:
        mechanism = search.run()
    except MechanismError:  # weights that no law can hold
        mechanism = None
    if mechanism is None or not _meets(request, mechanism):
        return _fallback(request, search.bound, pairs)
    statement = f"{_DUALITY} at the weights of the threshold"
    if pairs == "keep":
        statement += ", whether it keeps cross-tables or not"
    return _design(request, mechanism, max(search.bound, _largest(request)), statement, "exact", pairs)


def _few_cells(request: Request) -> bool:
    """Whether attributes are few, or so much alike that counts per group are few."""
    members = np.bincount(request.groups).tolist()
    cells = math.prod(n + 1 for n in members)
    return request.count <= MAX_PATTERN_ATTRIBUTES or (cells <= _MAX_COUNT_CELLS and len(members) <= _MAX_COUNT_GROUPS)


def _fallback(request: Request, bound: float, pairs: str | Tables) -> AttributesDesign:
    """The better of two designs that need no fitting; what is proved of a better one is still said."""
    return _design(request, simplest(request), max(bound, _quick(request)), _DUALITY, "exact", pairs, (_SIMPLEST,))


def _from_cells(
    request: Request, cells: Cells, solve: Callable[[Cells], Solution], method: str, pairs: str | Tables
) -> AttributesDesign:
    found = solve(cells)
    mechanism = levelled(request, grouped_law(request, cells.groups, found.g, found.log_rho))
    statement = _DUALITY
    if pairs != "free":
        tables = {"keep": "every cross-table", "triples": "every table of two or three attributes"}
        which = tables[pairs] if isinstance(pairs, str) else "the tables named"
        statement = f"no mechanism with these attribute levels that keeps {which} goes below it, by duality"
    bound = max(record_level(found.log_bound) * (1 - TRUSTED), _largest(request))
    return _design(request, mechanism, bound, statement, method, pairs)


def record_level(log_rho: float) -> float:
    """ε = ln(1 + 1/ρ)."""
    return -log_rho + math.log1p(math.exp(log_rho)) if log_rho < 0 else math.log1p(math.exp(-log_rho))


def simplest(request: Request) -> JointResponse:
    """Every attribute on its own, or the whole truth now and then: the better of two designs that always work."""
    alone, together = independent(request), whole_truth(request)
    better = together.guarantee.epsilon < alone.guarantee.epsilon and _meets(request, together)
    return together if better else alone


def _meets(request: Request, mechanism: JointResponse) -> bool:
    """Whether every level is reached; shares of a mixture end at 2^-64, which is too coarse for levels of about 30."""
    wanted = np.array(request.epsilons)
    return bool(np.all(mechanism.marginal_epsilons >= wanted - _LEVEL_TOLERANCE * np.maximum(wanted, 1.0)))


def _largest(request: Request) -> float:
    """No record level is below that of its weakest attribute."""
    return max(request.epsilons) * (1 - TRUSTED)


def _quick(request: Request) -> float:
    """A lower bound that takes no search; no record level is below that of its weakest attribute."""
    largest = _largest(request)
    if request.count == 1 or request.count > _MAX_BOUND:
        return largest
    return max(largest, quick_bound(request))


def _design(
    request: Request,
    mechanism: JointResponse,
    bound: float,
    statement: str,
    method: str,
    pairs: str | Tables,
    notes: tuple[str, ...] = (),
) -> AttributesDesign:
    value = mechanism.guarantee.epsilon
    if bound > value * (1 + TRUSTED):
        notes += (
            f"a bound of {bound:.6g} was computed and is refuted by this design, which reaches {value:.6g}: floating "
            "point is too coarse for it at these levels",
        )
        bound, statement = _largest(request), "no record level is below that of its weakest attribute"
    if pairs == "free" and method in ("exact", "lp"):
        notes += ("pairs were left free: look at pair_eigenvalues() before promising anybody a cross-table",)
    return AttributesDesign(
        mechanism=mechanism,
        objective=value,
        certificate=Optimality(value, min(bound, value), statement),
        notes=notes,
        measure=MEASURE,
        requested=request.epsilons,
        method=method,
        pairs=pairs,
    )


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
