"""The weighted sum behind threshold answers: every stated bound against exact whole-number arithmetic."""

from __future__ import annotations

import itertools
import math
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import MechanismError
from discreet.mechanisms import JointResponse
from discreet.mechanisms.joint import StarLaw, Threshold, ThresholdLaw
from discreet.mechanisms.joint.threshold import PROPOSALS, Rejection
from discreet.mechanisms.joint.weighted_sum import UNIT, WeightedSum, discounted_roundings, discounted_tails, powers
from discreet.privacy.bounds import log_bounds
from discreet.randomness import Randomness

Instance = tuple[tuple[int, ...], tuple[int, ...], int]

#: Where an analysis of roundings goes wrong first.
EXTREME: dict[str, Instance] = {
    "one attribute": ((2,), (1,), 1),
    "one attribute of a million values": ((1 << 20,), (7,), 7),
    "a threshold inside a gap": ((1 << 20, 1 << 20), (1000, 1000), 1001),
    "everything truthful": ((2, 3, 4, 5) * 10, tuple(range(1, 41)), 820),
    "all but the lightest": ((2, 3, 4, 5) * 10, tuple(range(1, 41)), 819),
    "anything": ((2, 3, 4, 5) * 10, tuple(range(1, 41)), 1),
    "no tilt, fair coins": ((2,) * 60, (1,) * 60, 30),
    "no tilt, one long series": ((2,) * 9, (1, 1000, 500, 250, 125, 60, 30, 15, 7), 1),
    "some weights are zero": ((3, 1000, 5, 7, 2), (0, 4, 0, 9, 3), 11),
    "only one weight is not zero": ((3, 5, 7), (0, 0, 2), 2),
    "a heavy one with light ones": ((4, *((5,) * 50)), (2500, *((1,) * 50)), 2549),
    "a heavy one that is not needed": ((4, *((900,) * 50)), (2500, *((1,) * 50)), 50),
    "rare and common values": ((1 << 20, 2) * 20, (60, 5) * 20, 900),
    "many blocks": ((1 << 20,) * 50, (40,) * 50, 1700),
    "powers of two": ((3,) * 11, tuple(1 << i for i in range(11)), 1500),
    "sixty different": (tuple(2 + i % 7 for i in range(60)), tuple(17 + (31 * i) % 73 for i in range(60)), 2000),
}


def whole_counts(sizes, weights) -> np.ndarray:
    """The number of answers with each sum: an attribute that is not truthful has a − 1 other values."""
    counts = np.zeros(sum(weights) + 1, dtype=object)
    counts[0], length = 1, 1
    for a, v in zip(sizes, weights, strict=True):
        shifted = counts[:length].copy()
        counts[:length] *= a - 1
        counts[v : v + length] += shifted
        length += v
    return counts


def without(counts: np.ndarray, a: int, v: int) -> np.ndarray:
    """The same for all attributes but one, by exact division."""
    if v == 0:
        return counts // a
    rest = counts.copy()
    for start in range(0, counts.size, v):
        if start:
            part = rest[start : start + v]
            part -= rest[start - v : start - v + part.size]
        rest[start : start + v] //= a - 1
    return rest


def passing(counts: np.ndarray, x: int) -> int:
    return int(counts[max(x, 0) :].sum())


def exact_rates(instance: Instance) -> tuple[Fraction, list[Fraction]]:
    """P(S ≥ T), and P(B_i = 1 | S ≥ T) for every attribute."""
    sizes, weights, threshold = instance
    counts = whole_counts(sizes, weights)
    event = passing(counts, threshold)
    found = {
        (a, v): Fraction(passing(without(counts, a, v), threshold - v), event)
        for a, v in set(zip(sizes, weights, strict=True))
    }
    return Fraction(event, math.prod(sizes)), [found[pair] for pair in zip(sizes, weights, strict=True)]


def observed(instance: Instance) -> tuple[float, float]:
    """Observed over stated error: of ln P(S ≥ T), and the largest of the rates. Asserts that bounds are narrow."""
    law = WeightedSum(*instance)
    chance, rates = exact_rates(instance)
    low, high = law.log_probability_bounds()
    inner = log_bounds(chance)
    assert low <= inner[0]
    assert inner[1] <= high
    assert high - low < 1e-11
    found, bound = law.truth_given_event()
    ratios = [
        abs(Fraction(float(f)) - rate) / Fraction(float(b)) for f, b, rate in zip(found, bound, rates, strict=True)
    ]
    assert max(ratios) <= 1
    assert bound.max() < 1e-8
    return float(abs((low + high) / 2 - inner[0]) / (high - low) * 2), float(max(ratios))


@st.composite
def instances(draw) -> Instance:
    """A few kinds of attributes, up to sixty of them, with equal or very different weights and any threshold."""
    count = draw(st.integers(1, 60))
    largest = draw(st.sampled_from([2, 3, 6, 1000, 1 << 20]))
    heaviest = draw(st.sampled_from([1, 4, 50]))
    kinds = draw(st.lists(st.tuples(st.integers(2, largest), st.integers(0, heaviest)), min_size=1, max_size=6))
    chosen = [kinds[i % len(kinds)] for i in range(count)]
    heavy = draw(st.sampled_from([0, 0, 300, 2000]))
    sizes = (*(a for a, _ in chosen), draw(st.integers(2, largest)))
    weights = (*(v for _, v in chosen), max(heavy, int(not any(v for _, v in chosen))))
    top = sum(weights)
    ends = st.sampled_from(sorted({1, top, max(1, top - 1), (top + 1) // 2}))
    return sizes, weights, draw(st.one_of(st.integers(1, top), ends))


@settings(max_examples=120, deadline=None, derandomize=True)
@given(instances())
def test_bounds_enclose_the_exact_values(instance):
    """Bounds on ln P(S ≥ T) and P(B_i = 1 | S ≥ T) hold and are narrow."""
    observed(instance)


@pytest.mark.parametrize("name", EXTREME)
def test_bounds_enclose_the_exact_values_at_the_extremes(name):
    """The same where thresholds, sizes or weights are at an end of their range."""
    observed(EXTREME[name])


def test_bounds_are_not_idle():
    """Bounds ten thousand times as narrow would be refuted by the errors that do occur."""
    ratios = np.array([observed(instance) for instance in EXTREME.values()])
    assert np.all(ratios.max(axis=0) > 1e-3)


@pytest.mark.parametrize("shift", [-1, 1])
def test_an_error_of_the_size_of_the_bound_is_seen(shift):
    """The comparison refutes a law whose tails are off by three times the bound."""
    instance = EXTREME["sixty different"]
    law = WeightedSum(*instance)
    law.__dict__["discounted"] = law.discounted * (1 + 3 * shift * law.relative_error)
    low, high = law.log_probability_bounds()
    inner = log_bounds(exact_rates(instance)[0])
    assert not low <= inner[0] <= inner[1] <= high


def test_a_thousand_attributes_with_a_million_values():
    """Identical attributes have binomial counts, also at the largest size; ln P is about −9,600."""
    k, a = 1000, 1 << 20
    for threshold in (1, 700, k):
        law = WeightedSum((a,) * k, (3,) * k, 3 * threshold - 1)
        ways = [math.comb(k, c) * (a - 1) ** (k - c) for c in range(threshold, k + 1)]
        low, high = law.log_probability_bounds()
        inner = log_bounds(Fraction(sum(ways), a**k))
        assert low <= inner[0]
        assert inner[1] <= high
        assert high - low < 1e-11
        rates, bound = law.truth_given_event()
        mean = Fraction(sum(c * w for c, w in enumerate(ways, start=threshold)), k * sum(ways))
        assert abs(Fraction(float(rates[0])) - mean) <= Fraction(float(bound[0]))
        assert bound.max() < 1e-9


def test_series_of_very_different_lengths():
    """Attributes that are summed together need not be alike: nothing overflows, and the mean of the sum is right."""
    generator = np.random.default_rng(3)
    sizes, weights = generator.integers(2, 6, 100), generator.integers(20, 9000, 100)
    law = WeightedSum(sizes.tolist(), weights.tolist(), int(0.93 * weights.sum()))
    ahead, bound = law._one_way(True, law.threshold, np.arange(100), law.discounted, law._base())
    back, other = law._one_way(False, law.threshold, np.arange(100), law.discounted, law._base())
    both = np.isfinite(bound) & np.isfinite(other)
    assert np.all(np.abs(ahead - back)[both] <= (bound + other)[both])
    rates, error = law.truth_given_event()
    assert error.max() < 1e-9
    x = np.arange(law.threshold, law.top + 1)
    tilted = law.probabilities[law.threshold :] * np.exp(-law.tilt * (x - law.threshold))
    assert weights @ rates == pytest.approx(float(x @ tilted / tilted.sum()), rel=1e-10)


@pytest.mark.parametrize(
    "instance",
    [
        ((2, 3, 4, 3, 2), (3, 5, 7, 4, 2), 13),
        ((1024, 4, 4), (10, 1, 0), 5),  # a weight of zero beside one above the threshold
        ((3, 3, 900, 2, 2), (0, 1, 40, 2, 2), 5),
        ((2,) * 6, (1,) * 6, 3),
        EXTREME["sixty different"],
    ],
)
def test_pairs_match_exact_counts(instance):
    """P(B_i = B_j = 1 | S ≥ T), also with weights of zero and with one attribute that passes alone."""
    sizes, weights, threshold = instance
    counts = whole_counts(sizes, weights)
    event = passing(counts, threshold)
    chosen = list(range(min(len(sizes), 8)))
    found = WeightedSum(*instance).pairs_given_event(chosen)
    for i, j in itertools.combinations(chosen, 2):
        rest = without(without(counts, sizes[i], weights[i]), sizes[j], weights[j])
        exact = Fraction(passing(rest, threshold - weights[i] - weights[j]), event)
        assert found[i, j] == pytest.approx(float(exact), abs=1e-11)
        assert found[j, i] == found[i, j]
    np.testing.assert_allclose(np.diag(found), [float(r) for r in exact_rates(instance)[1][: len(chosen)]], atol=1e-11)


@pytest.mark.parametrize("tilt", [0.0, 1e-6, 0.003, 0.02, 0.4, 1.7, 2.5, 11.0, 29.0, 31.0, 300.0])
def test_roundings_of_discounted_tails(tilt):
    """Tails are within their counted roundings of the recurrence in 80 digits, with one block and with many."""
    context = Context(prec=80)
    generator = np.random.default_rng(1)
    worst = 0.0
    for size in (1, 2, 40, 2500):
        law = generator.random(size) ** 8
        law[generator.random(size) < 0.3] = 0
        law /= max(law.sum(), 1)
        found = discounted_tails(law, tilt)
        step, exact = context.exp(Decimal(-tilt)), Decimal(0)
        allowed = UNIT * discounted_roundings(size, tilt) * 1.001
        for x in range(size - 1, -1, -1):
            exact = context.fma(step, exact, Decimal(float(law[x])))
            off = abs(context.subtract(Decimal(float(found[x])), exact))
            assert float(off) <= allowed * float(exact) + 2.0**-850
            worst = max(worst, float(off / exact) / allowed if exact > Decimal("1e-200") else 0.0)
    assert worst > 1e-4


def test_roundings_of_powers():
    """Powers of e^−t carry at most two roundings per binary digit."""
    context = Context(prec=60)
    for tilt, count in ((0.0123, 2400), (1.9, 15), (29.7, 1)):
        for j, found in enumerate(powers(tilt, count)):
            exact = context.exp(context.multiply(Decimal(-tilt), Decimal(j)))
            allowed = 2 * j.bit_length() * UNIT * 1.001
            assert abs(context.subtract(Decimal(float(found)), exact)) <= exact * Decimal(allowed)


def test_a_probability_that_cannot_be_trusted_is_refused():
    """Tails so small that underflow could matter give an error, not a certificate."""
    law = WeightedSum((2, 2), (1, 1), 2)
    law.__dict__["discounted"] = np.array([1.0, 1.0, 1e-250])
    with pytest.raises(MechanismError, match="too unlikely"):
        law.log_probability_bounds()
    with pytest.raises(MechanismError, match="too unlikely"):
        law.truth_given_event()


SMALL = [
    ((2, 3, 4, 3, 2), (3, 5, 7, 4, 2), 13),
    ((2, 2, 2), (1, 1, 1), 2),
    ((1 << 20, 2, 5), (9, 0, 4), 9),
    ((4, 3, 3, 3), (500, 1, 1, 1), 502),
    ((3,) * 7, (1, 1, 1, 40, 40, 40, 40), 161),
]


@pytest.mark.parametrize("instance", SMALL)
def test_accepted_proposals_are_exactly_uniform(instance):
    """Proposal times acceptance is one constant times the uniform law on the event, as fractions; α ≤ 1."""
    sizes, weights, threshold = instance
    sampler = Rejection(WeightedSum(*instance))
    constants, acceptance = set(), []
    for pattern in itertools.product((False, True), repeat=len(sizes)):
        if sum(v for v, b in zip(weights, pattern, strict=True) if b) < threshold:
            continue
        proposal = math.prod(
            Fraction(n if b else PROPOSALS - n, PROPOSALS) for n, b in zip(sampler._numerators, pattern, strict=True)
        )
        uniform = math.prod(Fraction(1 if b else a - 1, a) for a, b in zip(sizes, pattern, strict=True))
        alpha = sampler.acceptance(np.array(pattern))
        acceptance.append(alpha)
        constants.add(proposal * alpha / uniform)
        chance = math.exp(float(sampler._log_scale) - float(np.array(pattern) @ sampler._logs))
        assert abs(chance - alpha) <= 4 * sampler._guard
    assert len(constants) == 1
    assert max(acceptance) <= 1
    # Nothing is given away: exponents of the tilt apart, α could not be larger.
    assert float(next(iter(constants))) > 1e-4


@pytest.mark.parametrize("instance", SMALL)
def test_close_comparisons_are_decided_by_whole_numbers(instance, monkeypatch):
    """Around α itself, U is called below α exactly when it is, also when fifty digits do not tell."""
    sampler = Rejection(WeightedSum(*instance))
    pattern = np.ones(len(instance[0]), bool)
    alpha = sampler.acceptance(pattern)
    word = min(int(alpha * (1 << 64)), (1 << 64) - 1)

    class Bits:
        """The bits of α, then bits just below or above."""

        def __init__(self, last: int) -> None:
            self.place, self.last = 1, last

        def words(self, count: int) -> np.ndarray:
            self.place += 1
            digit = int(alpha * (1 << (64 * self.place))) % (1 << 64)
            if self.place >= 5:
                digit = min(max(digit + self.last, 0), (1 << 64) - 1)
            return np.array([digit], np.uint64)

    assert sampler._decide(pattern, word, Bits(-1 << 40)) is True
    if alpha < 1:
        assert sampler._decide(pattern, word, Bits(1 << 40)) is False
    if 2 <= word < (1 << 64) - 2:
        monkeypatch.setattr(sampler, "acceptance", lambda _: pytest.fail("fifty digits are enough here"))
        assert sampler._decide(pattern, word - 2, Bits(0)) is True
        assert sampler._decide(pattern, word + 2, Bits(0)) is False


def test_very_unequal_weights_are_drawn():
    """Rates that floats cannot tell from one do not slow the draws down, and the light attributes have their rates."""
    instance = ((5,) * 50 + (4,) * 3, (1,) * 50 + (60,) * 3, 220)
    drawn = Rejection(WeightedSum(*instance)).draw(3000, Randomness.seeded(1))
    assert np.all(drawn @ np.array(instance[1]) >= 220)
    rates = np.array([float(rate) for rate in exact_rates(instance)[1]])
    spread = np.sqrt(rates[0] * (1 - rates[0]) / drawn[:, :50].size)
    assert abs(drawn[:, :50].mean() - rates[0]) < 6 * spread


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.data())
def test_record_level_and_views_are_never_understated(data):
    """Of small mixtures: record level, one column's level and two columns' level, against all patterns written out."""
    count = data.draw(st.integers(2, 5))
    sizes = (*(data.draw(st.integers(2, 5)) for _ in range(2)), *((3, 1000, 7)[: count - 2]))
    weights = tuple(data.draw(st.lists(st.integers(1, 30), min_size=count, max_size=count)))
    threshold = data.draw(st.integers(1, sum(weights)))
    share = data.draw(st.integers(1, (1 << 64) - 1))
    joint = JointResponse(ThresholdLaw(sizes, (Threshold(share, weights, threshold),)))
    chance, rates = exact_rates((sizes, weights, threshold))
    theta = Fraction(share, 1 << 64)
    exact = log_bounds(1 + theta / ((1 - theta) * chance))
    assert exact[0] <= Fraction(joint.guarantee.epsilon) <= exact[1] + Fraction(1, 10**11) * (1 + exact[1])
    for i, rate in enumerate(rates):
        truth = theta * rate + (1 - theta) / sizes[i]
        odds = max(truth * (sizes[i] - 1) / (1 - truth), Fraction(1)) if truth < 1 else None
        if odds is not None:
            assert Fraction(float(joint.marginal_epsilons[i])) >= log_bounds(odds)[0]
    counts = whole_counts(sizes, weights)
    rest = without(without(counts, sizes[0], weights[0]), sizes[1], weights[1])
    error = joint.law.subset_error((0, 1))
    assert 0 < error < 1e-10
    each = []
    for pattern, found in enumerate(joint.law.subset((0, 1))):
        bits = (pattern >> 1, pattern & 1)
        ways = math.prod(1 if b else a - 1 for a, b in zip(sizes[:2], bits, strict=True))
        moved = sum(v * b for v, b in zip(weights[:2], bits, strict=True))
        inside = Fraction(ways * passing(rest, threshold - moved), passing(counts, threshold))
        exactly = theta * inside + (1 - theta) * Fraction(ways, sizes[0] * sizes[1])
        assert abs(found - exactly) <= error * exactly
        each.append(exactly / ways)
    assert Fraction(joint.view(0, 1).guarantee.epsilon) >= log_bounds(max(each) / min(each))[0]


def test_all_attributes_are_a_subset_too():
    """The patterns of every attribute of a law add up to one."""
    law = ThresholdLaw((2, 3, 4), (Threshold(1 << 62, (3, 5, 7), 8), Threshold(1 << 61, (1, 0, 1), 2)))
    assert sum(law.subset((0, 1, 2))) == 1
    assert law.subset_error((0, 1, 2)) > 0


def test_levels_beyond_the_range_of_exponentials():
    """A record level of millions is stated, not an overflow."""

    class Rare:
        """An event of probability e^{−3,000,000}."""

        def log_probability_bounds(self) -> tuple[Fraction, Fraction]:
            return Fraction(-3_000_000), Fraction(-3_000_000)

    law = ThresholdLaw((2, 2), (Threshold(1 << 62, (1, 1), 2), Threshold(1 << 62, (1, 1), 1)))
    law.__dict__["_sums"] = (Rare(), WeightedSum((2, 2), (1, 1), 1))
    assert law.record_epsilon() == pytest.approx(3_000_000 - math.log(2), rel=1e-12)


def test_a_star_with_a_vanishing_weight_has_no_negative_level():
    """ln(1 + z) with a tiny z over very many answers is small and not below zero."""
    law = StarLaw((2,) * 1000, 10**400, 1, (0,) * 1000)
    assert 0 <= law.record_epsilon() <= 1
