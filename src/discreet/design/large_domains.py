"""The mechanism of least variance for the frequencies of a domain, with the bound that no mechanism passes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from discreet import arguments
from discreet.arguments import Floats
from discreet.design.result import Design, Optimality
from discreet.domains import FiniteDomain
from discreet.errors import DesignError
from discreet.mechanisms import CyclicResponse, FiniteMechanism, GeneralizedResponse
from discreet.mechanisms.cyclic import CyclicInverse
from discreet.mechanisms.cyclic.choice import best_design, summed_variance
from discreet.mechanisms.exact_integers import checked_epsilon
from discreet.mechanisms.generalized import MAX_SIZE

#: Beyond this ε the best block design has some hundred times as many reports as values, and takes long to make.
_MANY_REPORTS = 5.0
#: How many times more people generalised response must need before it is worth a sentence.
_WORTH_SAYING = 1.05
#: e^ε beyond this is the same for every choice, and its square would overflow.
_LARGE = 300.0


def frequencies(domain: int | FiniteDomain, epsilon: float, *, criterion: str = "total") -> Design[FiniteMechanism]:
    """The mechanism of least variance for the frequencies of a domain: generalised response or a block design.

    The objective is n times the variances of all k frequencies together, at the worst distribution of truths. No
    ε-private mechanism with unbiased estimates has less than

        M = min_w (k − 1)²(w·e^ε + k − w)² / (k·w·(k − w)·(e^ε − 1)²)

    at equally frequent values, whatever n is, and asymptotically no estimate at all has in the worst case (Ye and Barg
    2018, 2019). Block designs whose size fits reach it exactly; the certificate says how far from it the design is.

    Parameters
    ----------
    domain : int or FiniteDomain
        Number of values, from 2 to 10⁷, or the domain that has them.
    epsilon : float
        The privacy level.
    criterion : {"total", "rare"}
        What is small: the variances of all frequencies together at the worst distribution, or the variance of the
        frequency of a value that hardly occurs, for domains of which most values are rare. They can differ.

    Notes
    -----
    Why the bound holds for every n: at equally frequent values the Fisher information of one report has the trace
    ``Σ_y Σ_x (Q[x, y] − p_y)²/p_y`` on the simplex, p_y the mean of column y. As a function of the column this is
    convex and homogeneous, so that columns with the entries 1 and e^ε have the most; w of the latter give
    ``k·w(k − w)(e^ε − 1)²/(w·e^ε + k − w)²``. The trace of the inverse on k − 1 dimensions is at least (k − 1)² over
    it, and by Cramér and Rao no unbiased estimate has a smaller summed variance.

    Examples
    --------
    >>> found = frequencies(13, 1.0)
    >>> found.mechanism.design
    SingerSet(prime=3, power=1, dimension=2, polynomial=(2, 1, 0))
    >>> round(found.objective, 3), found.certificate.gap < 1e-6    # this design reaches the bound
    (41.159, True)
    >>> print(found.notes[0])
    generalised response would have 67.7272: it needs 1.65 times as many people
    """
    size = _checked_size(domain)
    epsilon = checked_epsilon(epsilon)
    arguments.choice(criterion, "criterion", ("total", "rare"), DesignError)
    rare = criterion == "rare"
    plain = GeneralizedResponse(size, epsilon)
    if not rare and epsilon > _MANY_REPORTS and plain_total(plain) <= total_variance_bound(size, epsilon) * (1 + 1e-9):
        return _nothing_better(plain, epsilon)
    design = best_design(size, math.exp(min(epsilon, _LARGE)), rare=rare)
    block = CyclicResponse(size, epsilon, design=design)
    value = float(block.answer_variance()) if rare else worst_total_variance(block)
    plain_value = _plain_rare(plain) if rare else plain_total(plain)
    chosen = plain if plain_value <= value else block
    best = min(value, plain_value)
    if rare:
        measure = "n × the variance of the frequency of a value that hardly occurs"
        certificate = Optimality(best, best, "no generalised, Singer or Paley design for as many values has less")
    else:
        measure = f"n × the variances of all {size:,} frequencies together, at the worst distribution"
        bound = total_variance_bound(size, epsilon)
        certificate = Optimality.checked(best, bound, _statement(best, bound))
    return Design(chosen, best, certificate, _notes(chosen, value, plain_value), measure)


def _nothing_better(plain: GeneralizedResponse, epsilon: float) -> Design[FiniteMechanism]:
    """Generalised response where it reaches the bound and a block design would have e^ε times as many reports."""
    value, bound = plain_total(plain), total_variance_bound(plain.size, epsilon)
    measure = f"n × the variances of all {plain.size:,} frequencies together, at the worst distribution"
    certificate = Optimality.checked(value, bound, _statement(value, bound))
    return Design(plain, value, certificate, ("generalised response reaches the bound of all mechanisms",), measure)


def total_variance_bound(size: int, epsilon: float) -> float:
    """M: no ε-private mechanism for so many values has unbiased estimates of less summed variance, times n.

    >>> round(total_variance_bound(13, math.log(9 / 4)), 3)
    63.803
    """
    k, ratio = size, math.exp(min(epsilon, _LARGE))

    def at(w: int) -> float:
        return ((k - 1) * (w * ratio + k - w) / (ratio - 1)) ** 2 / (k * w * (k - w))

    # As a function of real w it falls up to k/(e^ε + 1) and rises from there.
    middle = int(k / (ratio + 1))
    return min(at(min(max(w, 1), k - 1)) for w in (middle, middle + 1))


def worst_total_variance(mechanism: CyclicResponse) -> float:
    """The variances of all frequencies together, times n, at the distribution of truths where they are largest.

    They add up to ``Σ_z f_z·norm_z − Σ_z f_z²``, a concave function on the simplex: its maximum is at
    ``f_z = max(0, norm_z − μ)/2``. For k = v all norms are equal and the worst is the uniform distribution.
    """
    inverse = mechanism.inverse
    assert isinstance(inverse, CyclicInverse)
    norms = inverse.answer_norms()
    frequencies = _on_the_simplex(norms / 2)
    return float(frequencies @ norms - frequencies @ frequencies)


def _on_the_simplex(point: Floats) -> Floats:
    """The nearest distribution: ``max(0, point − μ)`` with the μ at which it sums to one."""
    ordered = np.sort(point)[::-1]
    ordered -= ordered[0]  # large numbers that differ by little would lose the one
    levels = (np.cumsum(ordered) - 1) / np.arange(1, point.size + 1)
    level = levels[np.flatnonzero(ordered > levels)[-1]]
    nearest = np.maximum(point - point.max() - level, 0.0)
    return np.asarray(nearest / nearest.sum())


def plain_total(mechanism: GeneralizedResponse) -> float:
    """The same for generalised response, which is worst at equally frequent values: ``(1 − 1/k)/(keep − other)²``."""
    gap = (mechanism.keep - mechanism.other) / mechanism.denominator
    return (1 - 1 / mechanism.size) / gap**2


def _plain_rare(mechanism: GeneralizedResponse) -> float:
    other, gap = mechanism.other, mechanism.keep - mechanism.other
    return (other / gap) * ((mechanism.denominator - other) / gap)


def cost_of_generalized(domain: int | FiniteDomain, epsilon: float) -> str | None:
    """What generalised response costs on a large domain, and what is better, in one sentence; None where it is best.

    >>> cost_of_generalized(1000, 1.0)
    'generalised response on 1,000 values needs about 92.1 times as many people at ε = 1 as mechanism = "frequencies"'
    >>> cost_of_generalized(4, 1.0) is None
    True
    """
    size, epsilon = _checked_size(domain), checked_epsilon(epsilon)
    ratio = math.exp(min(epsilon, _LARGE))
    design = best_design(size, ratio)
    times = plain_total(GeneralizedResponse(size, epsilon)) / summed_variance(size, ratio, design.order, design.block)
    if times < _WORTH_SAYING:
        return None
    return (
        f"generalised response on {size:,} values needs about {times:,.3g} times as many people at ε = {epsilon:g} as "
        'mechanism = "frequencies"'
    )


def _checked_size(domain: Any) -> int:
    size = domain.size if isinstance(domain, FiniteDomain) else domain
    return arguments.whole(size, "the number of values", DesignError, least=2, most=MAX_SIZE)


def _statement(value: float, bound: float) -> str:
    share = value / bound - 1
    how = "which this design reaches" if share < 1e-9 else f"and this design has {share:.2%} more"
    return f"no ε-private mechanism with unbiased estimates has less than {bound:.6g}, {how}"


def _notes(chosen: GeneralizedResponse | CyclicResponse, value: float, plain_value: float) -> tuple[str, ...]:
    if isinstance(chosen, GeneralizedResponse):
        return (f"the best cyclic design has {value:.6g}, {value / plain_value:.3g} times as much",)
    notes = [
        f"generalised response would have {plain_value:.6g}: it needs {plain_value / value:,.3g} times as many people",
        f"{chosen.design.describe()}: a report is a whole number below {chosen.design.order:,}, "
        f"{(chosen.design.order - 1).bit_length()} bits",
    ]
    if chosen.design.order > chosen.size:
        notes.append(
            f"{chosen.design.order - chosen.size:,} of the reports stand for no value: a report is no answer and is "
            "read through the estimate only"
        )
    rare = float(chosen.answer_variance())
    notes.append(f"a value that hardly occurs has n × variance {rare:.4g}")
    return tuple(notes)
