"""The best randomised response for a yes/no question: every case of ε, δ and what is known of the prevalence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Literal, overload

from discreet import arguments
from discreet.design.binary_response.feasible_region import (
    Point,
    corners,
    described,
    edge_point,
    four_report_information,
    rounded,
    switch_prevalence,
    variance,
)
from discreet.design.binary_response.minimax import Minimax, PrevalenceRange
from discreet.design.result import Alternative, Design, Optimality
from discreet.errors import Argument, DesignError, PrivacyError
from discreet.mechanisms import BinaryResponse, ChannelResponse
from discreet.mechanisms.exact_integers import (
    RELATIVE_TOLERANCE,
    checked_delta,
    checked_epsilon,
    close_enough,
    first_fine_enough,
)
from discreet.privacy.bounds import exp_bounds

#: Two corners whose variances differ by less than this share are called equally good.
_TIE = Fraction(1, 10**9)
#: Levels at which floats hold e^ε − 1 and e^−ε beside one to nine digits.
_LEAST_EPSILON, _LARGEST_EPSILON = 1e-6, 150.0
_MEASURE = "Variance of the prevalence estimate, times n"
FOUR_REPORTS = "four reports (reports = 4)"


@overload
def binary(
    epsilon: float,
    delta: float = ...,
    prevalence: float | Sequence[float] | None = ...,
    symmetric: bool = ...,
    reports: Literal[2] = ...,
) -> Design[BinaryResponse]: ...
@overload
def binary(
    epsilon: float,
    delta: float = ...,
    prevalence: float | Sequence[float] | None = ...,
    symmetric: bool = ...,
    *,
    reports: Literal[4],
) -> Design[ChannelResponse]: ...
@overload
def binary(
    epsilon: float,
    delta: float = ...,
    prevalence: float | Sequence[float] | None = ...,
    symmetric: bool = ...,
    reports: int = ...,
) -> Design[BinaryResponse | ChannelResponse]: ...
def binary(
    epsilon: float,
    delta: float = 0.0,
    prevalence: float | Sequence[float] | None = None,
    symmetric: bool = False,
    reports: int = 2,
) -> Design[BinaryResponse | ChannelResponse]:
    """The (ε, δ)-private randomised response of least variance for a yes/no question.

    Parameters
    ----------
    epsilon, delta : float
        The privacy level. With δ = 0 the optimum is ``p00 = p11 = e^ε/(1 + e^ε)`` whatever the prevalence is
        (Holohan, Leith and Mason 2017, Theorem 2).
    prevalence : float, (low, high) or None
        What is known of the share of "yes" before asking; only matters for δ > 0 (their Theorem 3 and
        Corollary 2). With an interval in which no single design is always best, the worst relative regret is
        minimised over the whole edge of the feasible region; with None, the worst variance.
    symmetric : bool
        Only designs with p00 = p11 (Warner's; their Theorem 4).
    reports : {2, 4}
        4: the channel that publishes the truth, flagged, with probability δ and otherwise answers by
        ε-randomised response. For δ > 0 it dominates every two-report design, for every prevalence and use,
        since every (ε, δ)-private channel is a garbling of it (Kairouz, Oh and Viswanath 2017).

    Examples
    --------
    >>> print(binary(1.0).mechanism.matrix().round(4))
    [[0.7311 0.2689]
     [0.2689 0.7311]]
    >>> round(binary(1.0, delta=0.4, prevalence=0.1).objective, 4)
    0.24
    """
    epsilon, delta = checked_epsilon(epsilon), checked_delta(delta)
    low, high = _checked_prevalence(prevalence)
    symmetric = arguments.flag(symmetric, "symmetric", DesignError)
    if arguments.choice(reports, "reports", (2, 4), DesignError) == 4:
        if symmetric:
            raise DesignError(
                Argument("symmetric=True"), " describes two-report designs; leave it out with ", Argument("reports=4")
            )
        return _four_reports(epsilon, delta, low, high)
    if delta == 0 or symmetric:
        return _warner(epsilon, delta, low, high, symmetric=symmetric)
    if low == high:
        return _known(epsilon, delta, low)
    return _interval(epsilon, delta, low, high, nothing_known=prevalence is None)


def _checked_prevalence(prevalence: float | Sequence[float] | None) -> tuple[float, float]:
    if prevalence is None:
        return 0.0, 1.0
    ends = arguments.floats(prevalence, "prevalence", DesignError)
    low, high = ends.tolist() if ends.shape == (2,) else [float(ends) if ends.ndim == 0 else math.nan] * 2
    if not 0 <= low <= high <= 1:
        raise DesignError(Argument("prevalence"), " must lie between 0 and 1, or be an interval (low, high) within it")
    return low, high


def _worst_prevalence(low: float, high: float) -> Fraction:
    """Where the variance of a symmetric design is largest: as close to ½ as the interval allows."""
    return Fraction(min(max(0.5, low), high))


def _warner(epsilon: float, delta: float, low: float, high: float, *, symmetric: bool) -> Design[BinaryResponse]:
    at = _worst_prevalence(low, high)
    asked = Fraction(delta)
    mechanism = rounded(epsilon, delta, lambda e: corners(e, asked)["warner"])
    ideal = corners(exp_bounds(epsilon)[1], asked)["warner"]
    kind, theorem = (
        ("(ε, δ)-private design with p00 = p11", 4) if symmetric else ("ε-private design with two reports", 2)
    )
    statement = f"no {kind} has a smaller variance at any prevalence (Holohan et al. 2017, Theorem {theorem})"
    notes = []
    if delta > 0:
        pure = BinaryResponse(mechanism.p00, mechanism.p11).guarantee.epsilon
        notes.append(f"this design is in truth ε-private without δ, at ε = ln((e^ε + δ)/(1 − δ)) = {pure:.9g}")
    return _finished(mechanism, ideal, at, statement, notes, (low, high), _others(epsilon, asked, at, "warner"))


def _known(epsilon: float, delta: float, prevalence: float) -> Design[BinaryResponse]:
    at, asked = Fraction(prevalence), Fraction(delta)
    ideal = corners(exp_bounds(epsilon)[1], asked)
    order = sorted(ideal, key=lambda name: variance(*ideal[name], at))
    # Prefer the Warner point among equals: it exposes nobody.
    best = order[0]
    ties = [name for name in order if variance(*ideal[name], at) <= variance(*ideal[best], at) * (1 + _TIE)]
    chosen = "warner" if "warner" in ties else best
    mechanism = rounded(epsilon, delta, lambda e: corners(e, asked)[chosen])
    notes = exposure_notes(chosen, delta)
    if len(ties) > 1:
        notes.insert(0, f"equally good here: {' and '.join(described(ideal[name]) for name in ties)}")
    statement = (
        "no (ε, δ)-private design with two reports has a smaller variance at this prevalence: the variance falls "
        "in p00 and p11 and is concave along each tight edge, so a corner is optimal (Holohan et al. 2017, Theorem 3)"
    )
    others = _others(epsilon, asked, at, chosen)
    return _finished(mechanism, ideal[best], at, statement, notes, (prevalence, prevalence), others)


def _finished(
    mechanism: BinaryResponse,
    ideal: Point,
    at: Fraction,
    statement: str,
    notes: list[str],
    known: tuple[float, float],
    others: tuple[Alternative, ...],
) -> Design[BinaryResponse]:
    value = float(variance(mechanism.p00, mechanism.p11, at))
    certificate = Optimality.checked(value, float(variance(*ideal, at)), statement)
    return Design(mechanism, value, certificate, tuple(notes), _measure_at(at, known), others)


def _measure_at(at: Fraction, known: tuple[float, float]) -> str:
    worst = "" if known[0] == known[1] else "the worst "
    return f"{_MEASURE}, at {worst}prevalence {float(at):g}"


def _others(epsilon: float, delta: Fraction, at: Fraction, chosen: str) -> tuple[Alternative, ...]:
    """The variances of the other candidates at a prevalence: two reports at the corners, or four."""
    e = exp_bounds(epsilon)[1]
    values = {name: (described(p), variance(*p, at)) for name, p in corners(e, delta).items()}
    if delta > 0:
        values[FOUR_REPORTS] = FOUR_REPORTS, _least_four_report_variance(e, delta, at)
    found = [Alternative(words, float(value)) for name, (words, value) in values.items() if name != chosen]
    return tuple(sorted(found, key=lambda one: one.value))


def _interval(epsilon: float, delta: float, low: float, high: float, *, nothing_known: bool) -> Design[BinaryResponse]:
    certain = _always_best(epsilon, delta, low, high)
    if certain is not None:
        design = _known(epsilon, delta, _certain_point(certain, low, high))
        note = f"this design is the best at every prevalence from {low:g} to {high:g}"
        return replace(design, notes=(note, *design.notes))
    if not _LEAST_EPSILON <= epsilon <= _LARGEST_EPSILON:
        raise PrivacyError(
            Argument("epsilon"),
            f" must lie between {_LEAST_EPSILON:g} and {_LARGEST_EPSILON:g}, not {epsilon:g}, where no "
            "design is best at every prevalence asked about: the search between them runs in floats; state "
            "the prevalence, or leave out delta",
        )
    # At prevalence 0 the design (1, δ) has no error at all, so every other one has infinite relative regret.
    relative = low > 0 and high < 1
    exp_epsilon = float(sum(exp_bounds(epsilon)) / 2)
    prevalences = PrevalenceRange(exp_epsilon, delta, low, high, relative)
    found = prevalences.problem().solve()
    mechanism = rounded(epsilon, delta, partial(point_of, found, delta=Fraction(delta)))
    known = "nothing is known of the prevalence" if nothing_known else f"the prevalence lies in [{low:g}, {high:g}]"
    if relative:
        measure = "Worst relative regret (variance over the best possible at the same prevalence, minus 1)"
        value, bound = found.value - 1, found.bound - 1
        why = "no single design is best throughout, so the worst relative regret over the interval was minimised"
    else:
        measure = f"Largest {_MEASURE.lower()}, over prevalences from {low:g} to {high:g}"
        value, bound = found.value, found.bound
        why = (
            "relative regret is unbounded at a prevalence of 0 or 1, so the largest variance over the interval was "
            "minimised"
        )
    statement = (
        "no (ε, δ)-private design with two reports has a smaller worst case: branch and bound over both tight edges"
    )
    notes = (f"{known}: {why}", *exposure_notes_of(mechanism))
    ends = zip(corners(Fraction(exp_epsilon), Fraction(delta)).values(), prevalences.worst_at_corners, strict=True)
    others = tuple(
        Alternative(described(point), worst - 1 if relative else worst)
        for point, worst in sorted(ends, key=lambda end: end[1])
        if worst > found.value * (1 + float(_TIE))
    )
    return Design(mechanism, value, Optimality.checked(value, bound, statement), notes, measure, others)


def point_of(found: Minimax, exp_epsilon: Fraction, delta: Fraction) -> Point:
    """The design that a minimax search found, exactly at an end where it is one."""
    ends = corners(exp_epsilon, delta)
    if found.at_warner:
        return ends["warner"]
    p00, p11 = ends["no is kept"] if found.at_corner else edge_point(Fraction(found.u), exp_epsilon, delta)
    return (p11, p00) if found.mirrored else (p00, p11)


def _always_best(epsilon: float, delta: float, low: float, high: float) -> str | None:
    """The corner that is best at every prevalence of the interval, if there is one.

    The best corner can only change at g, 1 − g and ½, so these and the ends are checked.
    """
    ideal = corners(exp_bounds(epsilon)[1], Fraction(delta))
    g = switch_prevalence(epsilon, delta)
    points = [low, high, *(p for p in (g, 1 - g, 0.5) if low < p < high)]
    winners = set(ideal)
    for point in points:
        at = Fraction(point)
        values = {name: variance(*p, at) for name, p in ideal.items()}
        best = min(values.values())
        winners &= {name for name, value in values.items() if value <= best * (1 + _TIE)}
    return min(winners, key=lambda name: name != "warner") if winners else None


def _certain_point(name: str, low: float, high: float) -> float:
    """The prevalence at which the variance of an everywhere-best design is reported: the worst in the interval."""
    if name == "warner":
        return float(_worst_prevalence(low, high))
    return high if name == "no is kept" else low


def _four_reports(epsilon: float, delta: float, low: float, high: float) -> Design[ChannelResponse]:
    """Truth published and flagged with probability δ, ε-randomised response otherwise."""
    if delta == 0:
        raise PrivacyError(Argument("reports=4"), " needs delta > 0; with delta = 0 two reports are already optimal")
    exp_low = exp_bounds(epsilon)[0]
    asked = Fraction(delta)

    def attempt(denominator: int) -> ChannelResponse | None:
        shown = int(asked * denominator)
        rest = denominator - shown
        other = math.ceil(rest / (exp_low + 1))
        keep = rest - other
        if shown < asked * denominator * (1 - RELATIVE_TOLERANCE):
            return None
        if rest and not (keep > other and close_enough(Fraction(keep, other), epsilon)):
            return None
        return ChannelResponse([[keep, other, shown, 0], [other, keep, 0, shown]], epsilon)

    mechanism = first_fine_enough(epsilon, attempt)
    at = _worst_prevalence(low, high)
    (keep, other, shown, _), _ = mechanism.rows
    d = mechanism.denominator
    value = four_report_variance(Fraction(keep, d), Fraction(other, d), Fraction(shown, d), at)
    bound = _least_four_report_variance(exp_bounds(epsilon)[1], asked, at)
    notes = (
        f"exposure: with probability δ = {delta:g} the true answer is published and marked as true, for everybody",
        'the stated variance is reached by the maximum-likelihood estimate (method "mle"); the unbiased one weighs '
        "reports as if both answers were equally frequent and can be worse when one is rare. sample_size and margin "
        "are for maximum likelihood when they are told the prevalence, for the unbiased estimate otherwise",
    )
    statement = (
        "no (ε, δ)-private channel with any number of reports has a smaller efficient variance: every one is a "
        "garbling of this channel (Kairouz, Oh and Viswanath 2017)"
    )
    certificate = Optimality.checked(float(value), float(bound), statement)
    others = _others(epsilon, asked, at, FOUR_REPORTS)
    return Design(mechanism, float(value), certificate, notes, _measure_at(at, (low, high)), others)


def _least_four_report_variance(exp_epsilon: Fraction, delta: Fraction, at: Fraction) -> Fraction:
    other = (1 - delta) / (exp_epsilon + 1)
    return four_report_variance(exp_epsilon * other, other, delta, at)


def four_report_variance(keep: Fraction, other: Fraction, shown: Fraction, prevalence: Fraction) -> Fraction:
    """Inverse of the information in one answer; it vanishes at a prevalence of 0 or 1, where flagged answers agree."""
    if prevalence in (0, 1):
        return Fraction(0)
    return Fraction(1 / four_report_information(keep, other, shown, prevalence))


def exposure_notes(chosen: str, delta: float) -> list[str]:
    """Who is exposed with certainty, and how likely, under a corner design."""
    exposed, safe = {"no is kept": ("yes", "no"), "yes is kept": ("no", "yes")}.get(chosen, ("", ""))
    if not exposed:
        return []
    return [
        f'exposure: a person whose truth is "{exposed}" is exposed with certainty with probability {delta:g}; '
        f'one whose truth is "{safe}" never is'
    ]


def exposure_notes_of(mechanism: BinaryResponse) -> list[str]:
    """The same for a finished design, corner or not."""
    if mechanism.p00 == 1:
        return exposure_notes("no is kept", float(mechanism.p11))
    if mechanism.p11 == 1:
        return exposure_notes("yes is kept", float(mechanism.p00))
    return []
