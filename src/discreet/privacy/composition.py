"""Several guarantees about the same person: what they give together.

Guarantees add up: ``ε = Σ ε_j``, ``δ = 1 − Π(1 − δ_j)``. With a δ to spare the total ε is smaller. The worst mechanism
with ε_j is binary response, whose privacy loss is ε_j with probability e^{ε_j}/(1 + e^{ε_j}) and −ε_j otherwise. With
the sum L of these losses

    δ(ε) = E(1 − e^{ε − L})₊,    δ = 1 − (1 − δ(ε)) Π(1 − δ_j),

and no smaller figures hold for all mechanisms (Kairouz, Oh and Viswanath 2017, Theorems 3.3 and 3.5). For equal ε_j
this is computed as it stands; unequal ones are rounded up to multiples of a common step.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

import numpy as np

from discreet import arguments
from discreet.arguments import Floats
from discreet.errors import PrivacyError
from discreet.privacy.bounds import round_down, round_up
from discreet.privacy.guarantee import Guarantee, Unit

#: Guarantees that are composed at a given δ: a release a day for fifty years.
MAX_COMPOSED = 20_000
#: Multiples of the common step that all losses together may have.
MAX_STEPS = 1 << 17
#: Parts of the smallest ε that are tried as a common step.
_PARTS = range(1, 65)
#: A ratio of two ε that is this close to a whole number is taken for it; the step is raised to make it so.
_WHOLE = 1e-9
#: Half the distance between 1 and the next float.
_ROUNDING = 2.0**-53
#: How far ε may lie above the smallest possible one, relative.
_TOLERANCE = 1e-9


@runtime_checkable
class HasGuarantee(Protocol):
    """Anything with a guarantee: a mechanism, a design, a release, a shuffled file."""

    @property
    def guarantee(self) -> Guarantee:
        """What it guarantees."""


def compose(guarantees: Iterable[Any], delta: float | None = None) -> Guarantee:
    """State what several guarantees about the same person give together.

    Unit, exposure and caveats are kept: the result protects the smallest of the units, exposures combine like δ.

    Parameters
    ----------
    guarantees : iterable of Guarantee
        Or of anything with one: mechanisms, releases, shuffled files.
    delta : float, optional
        The total δ, above 0 and below 1, for which the smallest total ε is stated. By default nothing is spared: ε and
        δ add up.

    Examples
    --------
    >>> monthly = [Guarantee(0.5, unit="person")] * 30
    >>> compose(monthly)
    Guarantee(epsilon=15.0, delta=0.0, unit='person', exposure=0.0)
    >>> round(compose(monthly, delta=1e-6).epsilon, 3)
    13.952
    """
    blocks = [_checked(one) for one in _listed(guarantees)]
    total = _sum(blocks)
    if delta is None:
        return total
    delta = arguments.number(delta, "delta", PrivacyError, above=0, below=1)
    if total.delta > delta:
        raise PrivacyError(f"delta must be at least {total.delta:g}, which the guarantees have together, not {delta:g}")
    if len(blocks) > MAX_COMPOSED:
        raise PrivacyError(f"up to {MAX_COMPOSED:,} guarantees are composed at a given delta, not {len(blocks):,}")
    kept = math.prod((1 - Fraction(one.delta) for one in blocks), start=Fraction(1))
    spare = round_down(1 - (1 - Fraction(delta)) / kept)
    epsilon = total.epsilon if math.isinf(total.epsilon) else _smallest([b.epsilon for b in blocks], max(0.0, spare))
    return Guarantee(min(epsilon, total.epsilon), delta, total.unit, total.exposure, total.caveats)


def _listed(guarantees: Any) -> list[Any]:
    return list(guarantees) if isinstance(guarantees, Iterable) else [guarantees]


def _checked(given: Any) -> Guarantee:
    """A guarantee, or that of an object which has one."""
    found = given.guarantee if isinstance(given, HasGuarantee) and not isinstance(given, type) else given
    return arguments.instance(found, Guarantee, "each of the guarantees", PrivacyError)


def _sum(blocks: Sequence[Guarantee]) -> Guarantee:
    """``Σ ε_j`` and ``1 − Π(1 − δ_j)``, the same for exposure; each figure is rounded up once."""
    if not blocks:
        return Guarantee(0.0, unit="record")
    infinite = any(math.isinf(one.epsilon) for one in blocks)
    return Guarantee(
        epsilon=math.inf if infinite else round_up(sum((Fraction(one.epsilon) for one in blocks), Fraction(0))),
        delta=_any([one.delta for one in blocks]),
        unit=_common_unit([one.unit for one in blocks]),
        exposure=_any([one.exposure for one in blocks]),
        caveats=tuple(dict.fromkeys(caveat for one in blocks for caveat in one.caveats)),
    )


def _any(chances: Sequence[float]) -> float:
    """The chance of at least one of several independent events, rounded up."""
    return round_up(1 - math.prod((1 - Fraction(chance) for chance in chances), start=Fraction(1)))


def _common_unit(units: Sequence[Unit]) -> Unit:
    """What guarantees protect together: the smaller thing, and a row when they are about parts of it.

    A guarantee about a person holds for each of their rows, not the reverse; one about a coordinate does not cover
    the record.
    """
    if len(units) == 1:
        return units[0]
    if "attribute" in units:
        return "attribute"
    return "person" if set(units) == {"person"} else "record"


def _smallest(epsilons: Sequence[float], delta: float) -> float:
    """The smallest ε with δ(ε) ≤ delta: the upper end of its bracket."""
    steps, step = _lattice([one for one in epsilons if one > 0])
    chance, loss = _losses(steps, step)
    low, high = 0.0, math.inf if not steps else round_up(Fraction(step) * sum(steps))
    if not steps or _delta(chance, loss, 0.0) <= delta:
        return 0.0
    while high - low > _TOLERANCE * high:
        middle = (low + high) / 2
        low, high = (low, middle) if _delta(chance, loss, middle) <= delta else (middle, high)
    return high


def _delta(chance: Floats, loss: Floats, epsilon: float) -> float:
    """``E(1 − e^{ε − L})₊``, rounded up; the chances are rounded up already."""
    above = loss > epsilon
    return float((chance[above] * -np.expm1(epsilon - loss[above])).sum()) * (1 + 1e-12)


def _lattice(epsilons: Sequence[float]) -> tuple[list[int], float]:
    """Whole numbers m_j and a step with ``m_j·step ≥ ε_j``: of the steps that are tried, the one which adds least."""
    if not epsilons:
        return [], 0.0
    smallest, total = min(epsilons), sum(epsilons)
    tried = [smallest / parts for parts in _PARTS if total * parts / smallest <= MAX_STEPS] + [total / MAX_STEPS]

    def raised(step: float) -> tuple[float, list[int], float]:
        steps = [max(1, math.ceil(one / step - _WHOLE)) for one in epsilons]
        whole = max(math.nextafter(one / n, math.inf) for one, n in zip(epsilons, steps, strict=True))
        return whole * sum(steps), steps, whole

    # The coarsest of equally good steps: rounding of the total by less than one part in 10¹² is no difference.
    best = min((raised(step) for step in tried), key=lambda found: found[0] // (total * 1e-12))
    return best[1], best[2]


def _losses(steps: Sequence[int], step: float) -> tuple[Floats, Floats]:
    """The law of the sum of the two-point losses ±m_j·step, chances and losses rounded up."""
    chance = np.ones(1)
    for n in sorted(steps):
        gain = 1 / (1 + math.exp(-n * step))
        longer = np.zeros(chance.size + n)
        longer[: chance.size] = gain * chance
        longer[n:] += math.exp(-n * step) * gain * chance
        chance = longer
    # Each step rounds the exponential, the quotient, the product and the sum: eight roundings at most.
    chance *= 1 + 8 * (len(steps) + 1) * _ROUNDING
    loss = (sum(steps) - 2 * np.arange(chance.size)) * step
    return chance, loss + 4 * _ROUNDING * np.abs(loss)
