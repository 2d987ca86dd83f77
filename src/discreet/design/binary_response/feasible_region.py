"""The designs (p00, p11) that are (ε, δ)-private, their corners, and the variance of the estimate.

Feasible: ``p00, p11 ≤ 1``, ``p00 ≤ e^ε(1 − p11) + δ``, ``p11 ≤ e^ε(1 − p00) + δ`` and ``p00 + p11 > 1``
(Holohan, Leith and Mason 2017, Definition 2). The variance falls in p00 and in p11 (their Lemma 2), so only
the two edges on which a privacy constraint is tight matter. On an edge the variance is concave in
``u = 1/(p00 + p11 − 1)`` for every prevalence, so its minimum lies at a corner: the Warner point, (1, δ) or (δ, 1).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from discreet.errors import PrivacyError
from discreet.mechanisms import BinaryResponse
from discreet.mechanisms.exact_integers import RELATIVE_TOLERANCE, close_enough, first_fine_enough
from discreet.privacy.bounds import exp_bounds

Point = tuple[Fraction, Fraction]


def variance(p00: Any, p11: Any, prevalence: Any) -> Any:
    """Variance of the unbiased estimate from one answer: q(1 − q)/(p00 + p11 − 1)², in fractions, floats or arrays.

    ``q = 1 − p00 + π(p00 + p11 − 1)`` is the chance of report 1 (Holohan et al. 2017, Corollary 1).
    """
    s = p00 + p11 - 1
    q = 1 - p00 + prevalence * s
    return q * (1 - q) / (s * s)


def four_report_information(keep: Any, other: Any, shown: Any, prevalence: Any) -> Any:
    """Information about the prevalence in one answer that is published, flagged, with probability ``shown``.

    ``shown/(π(1 − π)) + (keep − other)²/((keep + other) q(1 − q))`` with q the chance of report 1 when nothing is
    flagged, in fractions, floats or arrays: the flagged and the randomised part add up.
    """
    flagged = shown / (prevalence * (1 - prevalence))
    rest = keep + other
    if not rest:
        return flagged
    q = (other + prevalence * (keep - other)) / rest
    return flagged + (keep - other) ** 2 / (rest * q * (1 - q))


def switch_prevalence(epsilon: float, delta: float) -> float:
    """g(ε, δ) = δ(e^ε + δ)/(e^ε + 2δ − 1)²: below this prevalence (1, δ) beats the Warner point.

    Holohan et al. 2017, equation (23). For prevalences above ½ the mirror image holds with 1 − π.
    """
    exp_epsilon = sum(exp_bounds(epsilon)) / 2
    d = Fraction(delta)
    return float(d * (exp_epsilon + d) / (exp_epsilon + 2 * d - 1) ** 2)


def corners(exp_epsilon: Fraction, delta: Fraction) -> dict[str, Point]:
    """The three candidates by name; with δ = 0 only the Warner point tells the answers apart."""
    keep = (exp_epsilon + delta) / (exp_epsilon + 1)
    points = {"warner": (keep, keep)}
    if delta > 0:
        points["no is kept"] = (Fraction(1), delta)
        points["yes is kept"] = (delta, Fraction(1))
    return points


def described(point: Point) -> str:
    """How a design is called in a comparison."""
    p00, p11 = (f"{float(p):.4g}" for p in point)
    return f"symmetric (p00 = p11 = {p00})" if point[0] == point[1] else f"p00 = {p00}, p11 = {p11}"


def edge_point(u: Fraction, exp_epsilon: Fraction, delta: Fraction) -> Point:
    """The design on the edge ``p11 = e^ε(1 − p00) + δ`` with 1/(p00 + p11 − 1) = u."""
    s = 1 / u
    lie = (s - delta) / (exp_epsilon - 1)
    return 1 - lie, s + lie


def rounded(epsilon: float, delta: float, ideal: Callable[[Fraction], Point]) -> BinaryResponse:
    """The design nearest to ``ideal(e^ε)`` whose integers are private as asked, and hardly more.

    Parameters
    ----------
    epsilon, delta : float
        The request.
    ideal : function
        The design as a function of e^ε, anywhere on the edge of the feasible region.
    """
    low, high = exp_bounds(epsilon)
    asked = Fraction(delta)

    def attempt(denominator: int) -> BinaryResponse | None:
        p00, p11 = (Fraction(int(p * denominator), denominator) for p in ideal(low))
        # Rounding down one probability can break the constraint on the other: give way there.
        p00 = min(p00, _floor(low * (1 - p11) + asked, denominator))
        p11 = min(p11, _floor(low * (1 - p00) + asked, denominator))
        if p00 + p11 <= 1:
            return None
        if asked == 0:
            fits = p11 < 1 and p00 < 1 and close_enough(max(p11 / (1 - p00), p00 / (1 - p11)), epsilon)
            return BinaryResponse(p00, p11) if fits else None
        realised = max(p11 - high * (1 - p00), p00 - high * (1 - p11))
        return BinaryResponse(p00, p11, epsilon) if realised >= asked * (1 - RELATIVE_TOLERANCE) else None

    mechanism = first_fine_enough(epsilon, attempt)
    if not mechanism.guarantee.fits(epsilon, delta):
        raise PrivacyError(f"the rounded design misses ε = {epsilon:g}, δ = {delta:g}")
    return mechanism


def _floor(value: Fraction, denominator: int) -> Fraction:
    return Fraction(int(value * denominator), denominator)
