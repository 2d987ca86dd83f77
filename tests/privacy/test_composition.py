"""Several guarantees together: sums, optimal composition at a δ to spare, and what is kept."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal, localcontext

import numpy as np
import pytest

from discreet import Guarantee, PrivacyError, design
from discreet.privacy import compose

#: name -> (levels, ε at δ = 10⁻⁶ by dp-accounting 0.6.0: optimistic and pessimistic estimate of randomised response,
#: ``privacy_loss_distribution.from_randomized_response`` with steps of 10⁻⁴).
PEERS = {
    "30 at .5": ([0.5] * 30, 13.951909, 13.954910),
    "52 at .2": ([0.2] * 52, 7.093567, 7.098768),
    "365 at .1": ([0.1] * 365, 10.300959, 10.337460),
    "mixed": ([0.5] * 10 + [0.3] * 20 + [0.1] * 50 + [0.7, 0.0123, 1.1], 12.540212, 12.548413),
    "all different": ([0.05 * i for i in range(1, 41)], 40.635965, 40.638266),
}


@pytest.mark.parametrize("name", PEERS)
def test_between_the_estimates_of_another_accountant(name):
    """Never below dp-accounting's optimistic estimate, never above its pessimistic one."""
    levels, optimistic, pessimistic = PEERS[name]
    found = compose([Guarantee(level) for level in levels], delta=1e-6)
    assert optimistic <= found.epsilon <= pessimistic
    assert found.delta == 1e-6


def _formula(count: int, level: float, epsilon: float) -> Decimal:
    """``Σ_l C(k, l)(e^{(k−l)ε} − e^{ε' + lε})₊/(1 + e^ε)^k`` with sixty digits."""
    with localcontext(prec=60):
        one, total = Decimal(level), Decimal(epsilon)
        terms = (
            math.comb(count, lies) * max(((count - lies) * one).exp() - (total + lies * one).exp(), Decimal(0))
            for lies in range(count + 1)
        )
        return sum(terms, Decimal(0)) / (1 + one.exp()) ** count


@pytest.mark.parametrize(("count", "level", "figure"), [(30, 0.5, 13.953), (52, 0.2, 7.099), (365, 0.1, 10.314)])
def test_equal_levels_are_composed_exactly(count, level, figure):
    """The formula of Kairouz, Oh and Viswanath holds at the stated ε and no longer a billionth part below it."""
    found = compose([Guarantee(level)] * count, delta=1e-6).epsilon
    assert figure - 0.0012 < found <= figure
    assert _formula(count, level, found) <= Decimal("1e-6") < _formula(count, level, found * (1 - 3e-9))


def test_unequal_levels_against_all_outcomes():
    """Every combination of two-point losses is enumerated: never below the exact ε, and at most 0.1 % above."""
    generator = np.random.default_rng(3)
    for _ in range(20):
        levels = generator.uniform(0.01, 1.5, generator.integers(2, 9))
        signs = np.array(list(itertools.product([1, -1], repeat=levels.size)))
        losses = signs @ levels
        chances = np.prod(1 / (1 + np.exp(-signs * levels)), axis=1)
        delta = float(10.0 ** generator.uniform(-6, -1))
        found = compose([Guarantee(level) for level in levels], delta).epsilon

        def exact(epsilon, losses=losses, chances=chances):
            return float((chances * -np.expm1(np.minimum(epsilon - losses, 0))).sum())

        assert exact(found) <= delta
        assert found == 0 or exact(found * 0.999) > delta


def test_deltas_are_kept():
    """δ = 1 − (1 − δ(ε)) Π(1 − δ_j): parts with a δ leave less to spare, and at their own δ only the sum is left."""
    parts = [Guarantee(0.2, 1e-8)] * 52
    pure, less = (compose([Guarantee(0.2)] * 52, delta).epsilon for delta in (1e-6, 4.8e-7))
    assert pure < compose(parts, 1e-6).epsilon == pytest.approx(less, rel=1e-5)
    own = compose(parts)
    assert compose(parts, own.delta).epsilon == pytest.approx(own.epsilon)
    with pytest.raises(PrivacyError, match=r"delta must be at least 5.2e-07, which the guarantees have together"):
        compose(parts, 1e-7)


def test_the_total_is_never_above_the_sum():
    """A single guarantee, none, nothing to spare, and levels of very different size."""
    for levels in ([1.0], [], [0.0, 0.0], [50.0, 1e-6], [1e-9] * 3, [3.0] * 2):
        found, total = (compose([Guarantee(level) for level in levels], delta) for delta in (1e-6, None))
        assert found.epsilon <= total.epsilon == pytest.approx(math.fsum(levels), rel=1e-15)


def test_without_a_delta_everything_adds_up():
    """ε, δ, exposure; the unit is the smaller one; each caveat is stated once."""
    first = Guarantee(1.0, 0.1, "person", 0.1, ("a",))
    second = Guarantee(0.5, 0.1, "person", 0.1, ("a", "b"))
    total = compose([first, second])
    assert total == first.compose(second)
    assert (total.epsilon, total.unit, total.caveats) == (1.5, "person", ("a", "b"))
    assert total.delta == pytest.approx(0.19)
    assert total.exposure == pytest.approx(0.19)
    assert total.delta >= 0.19
    spared = compose([first, second], 0.2)
    assert (spared.unit, spared.exposure, spared.caveats) == (total.unit, total.exposure, total.caveats)
    assert compose([Guarantee(1.0, unit="label")]).unit == "label"
    assert compose([Guarantee(1.0, unit="label"), Guarantee(1.0, unit="person")]).unit == "record"
    assert compose([Guarantee(1.0, unit="attribute"), Guarantee(1.0, unit="person")]).unit == "attribute"


def test_what_has_a_guarantee_can_be_composed():
    """Mechanisms and designs as they are."""
    found = design.binary(1.0)
    assert compose([found, found.mechanism]) == found.guarantee.compose(found.guarantee)


def test_without_a_finite_epsilon_there_is_none_together():
    """No δ helps."""
    assert compose([Guarantee(math.inf), Guarantee(1.0)], 0.5).epsilon == math.inf


@pytest.mark.parametrize(
    ("given", "delta", "match"),
    [
        ([1.0], None, "each of the guarantees must be a Guarantee, not 1.0"),
        (3, None, "each of the guarantees must be a Guarantee, not 3"),
        ([Guarantee(1.0)], 0.0, "delta must be a number above 0 and below 1, not 0"),
        ([Guarantee(1.0)], 1.0, "delta must be a number above 0 and below 1"),
        ([Guarantee(0.1)] * 20_001, 1e-6, "up to 20,000 guarantees"),
    ],
)
def test_wrong_requests_are_refused_in_one_sentence(given, delta, match):
    """What is wrong, and which bound it breaks."""
    with pytest.raises(PrivacyError, match=match) as caught:
        compose(given, delta)
    assert "\n" not in str(caught.value)
