"""Cyclic block designs: the difference sets, their exact figures, decoding and choice."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest

from discreet import InputError, ManifestError, MechanismError, PrivacyError, Randomness, mechanisms
from discreet.mechanisms import CyclicResponse, GeneralizedResponse, PaleySet, SingerSet
from discreet.mechanisms.cyclic.choice import best_design, candidates, prime_powers, summed_variance
from discreet.mechanisms.cyclic.difference_sets import is_prime, is_primitive, primitive_polynomial, recurrence
from discreet.mechanisms.cyclic.inverse import Shifts, holders
from discreet.mechanisms.inverse import DenseInverse

#: Every prime power up to 27 in dimension 2, and more dimensions of the small ones.
SINGER = [(p, m, 2) for p, m in prime_powers(27)] + [
    (2, 1, 9), (2, 2, 5), (3, 1, 6), (3, 2, 3), (5, 1, 4), (2, 3, 3), (2, 4, 3), (53, 1, 2), (5, 2, 3),
]  # fmt: skip
THIRTEEN = SingerSet(3, 1, 2)


@pytest.mark.parametrize("parameters", SINGER, ids=str)
def test_singer_sets_have_every_difference_equally_often(parameters):
    """Over every prime power: v, s and λ as Singer states them, all differences counted."""
    q, t = parameters[0] ** parameters[1], parameters[2]
    design = SingerSet(*parameters)
    assert (design.order, design.block) == ((q ** (t + 1) - 1) // (q - 1), (q**t - 1) // (q - 1))
    assert design.overlap == (q ** (t - 1) - 1) // (q - 1)
    assert _differences(design) == {design.overlap}


@pytest.mark.parametrize("prime", [7, 11, 19, 23, 1019])
def test_paley_sets_have_every_difference_equally_often(prime):
    """The squares modulo a prime that leaves 3 when divided by 4."""
    design = PaleySet(prime)
    assert (design.order, design.block, design.overlap) == (prime, (prime - 1) // 2, (prime - 3) // 4)
    assert _differences(design) == {design.overlap}


def _differences(design):
    """How often the non-zero differences occur, by counting where there are few and by correlation elsewhere."""
    if design.order <= 400:
        elements = design.elements.astype(int)
        counts = np.bincount((elements[:, None] - elements[None, :]).ravel() % design.order, minlength=design.order)
    else:
        shifts = Shifts(design, design.order)
        counts = shifts.count_within(shifts.indicator().astype(np.int64))
    return set(counts[1:].tolist())


def test_a_wrong_polynomial_is_no_difference_set_and_is_refused():
    """Only primitive polynomials are taken: another gives sets whose differences do not come out even."""
    x3_plus_1 = (1, 0, 0)
    assert not is_primitive(x3_plus_1, 2)
    with pytest.raises(MechanismError, match="primitive"):
        SingerSet(2, 1, 2, x3_plus_1)
    with pytest.raises(MechanismError, match="degree 3"):
        SingerSet(2, 1, 2, (1, 1, 0, 0))
    others = [f for f in product(range(3), repeat=3) if is_primitive(f, 3) and f != THIRTEEN.polynomial]
    assert len(others) == 3  # φ(26)/3 = 4 primitive cubics
    for polynomial in others:
        other = SingerSet(3, 1, 2, polynomial)
        assert _differences(other) == {1}
    assert any(SingerSet(3, 1, 2, f).elements.tolist() != THIRTEEN.elements.tolist() for f in others)


def test_recurrences_run_through_every_state():
    """Over GF(2) and GF(5): the sequence has the full period p^N − 1, and blocks agree with single steps."""
    for p, degree in ((2, 10), (5, 4)):
        feedback = primitive_polynomial(p, degree)
        period = p**degree - 1
        terms = recurrence(feedback, p, 0, 2 * period)
        assert np.array_equal(terms[:period], terms[period:])
        states = {tuple(terms[i : i + degree]) for i in range(period)}
        assert len(states) == period
        assert np.array_equal(recurrence(feedback, p, 123, 400), terms[123:523])


def test_thirteen_values_as_fractions():
    """The (13, 4, 1) design: P, Q and variances exactly."""
    mechanism = CyclicResponse.from_weights(13, 9, 4, THIRTEEN)
    assert (mechanism.own_support, mechanism.other_support) == (Fraction(1, 2), Fraction(7, 24))
    assert mechanism.answer_variance(0) == Fraction(119, 25)
    three = CyclicResponse.from_weights(13, 3, 1, THIRTEEN)
    assert (three.own_support, three.other_support) == (Fraction(4, 7), Fraction(2, 7))
    assert (three.answer_variance(0), three.answer_variance(1)) == (Fraction(5, 2), 3)
    assert three.guarantee.epsilon == pytest.approx(math.log(3), rel=1e-15)
    # The same from the channel itself: rows of integers, reports counted by shift.
    rows = mechanism.weights()
    shift = set(THIRTEEN.elements.tolist())
    for x in range(3):
        own = sum(w for y, w in enumerate(rows[x]) if (y - x) % 13 in shift)
        other = sum(w for y, w in enumerate(rows[(x + 5) % 13]) if (y - x) % 13 in shift)
        assert (Fraction(own, mechanism.denominator), Fraction(other, mechanism.denominator)) == (
            Fraction(1, 2),
            Fraction(7, 24),
        )


@pytest.mark.parametrize(
    ("epsilon", "size", "expected"), [(1.0, 1_000, 3.685), (1.0, 10**6, 3.692), (4.0, 100, 0.0763)]
)
def test_variance_hardly_grows_with_the_domain(epsilon, size, expected):
    """n·Var of a rare value, whatever the size."""
    assert float(CyclicResponse(size, epsilon).answer_variance()) == pytest.approx(expected, abs=6e-4)


def test_closed_forms_agree_with_the_written_out_channel():
    """Correction, variances, covariance, scores and report shares, against the matrices; k = v and k < v."""
    rng = np.random.default_rng(2)
    for size, design in ((13, THIRTEEN), (9, THIRTEEN), (40, SingerSet(7, 1, 2)), (15, PaleySet(19))):
        mechanism = CyclicResponse(size, 1.5, design=design)
        inverse, Q = mechanism.inverse, mechanism.matrix()
        dense = DenseInverse(inverse.as_matrix())
        p, f = rng.dirichlet(np.ones(design.order)), rng.dirichlet(np.ones(size))
        counts, c = rng.integers(0, 99, design.order), rng.normal(size=size)
        assert np.allclose(inverse.as_matrix() @ Q.T, np.eye(size), atol=1e-12)
        for name in ("apply", "variances", "squares", "covariance", "of_counts"):
            given = counts if name == "of_counts" else p
            assert np.allclose(getattr(inverse, name)(given), getattr(dense, name)(given), rtol=1e-12, atol=1e-12)
        assert np.allclose(inverse.apply(np.stack([p, p[::-1]], axis=1))[:, 1], inverse.apply(p[::-1]))
        assert np.allclose(inverse.scores(c), c @ inverse.as_matrix())
        assert np.allclose(inverse.report_shares(f), f @ Q)
        assert inverse.apply(p).sum() == pytest.approx(1)
        own, other = inverse.conditional_variances()
        second = Q @ (inverse.as_matrix() ** 2).T  # truth × value
        exact_own, off = np.diag(second) - 1, second[~np.eye(size, dtype=bool)]
        if size == design.order:
            assert np.allclose(own, exact_own)
            assert np.allclose(other, off.max())
        else:
            assert np.all(own >= exact_own)
            assert other.min() >= off.max()


def test_supports_are_exact_whole_numbers():
    """Against counting one by one; also where counts are so large that they go through in several digits."""
    design = SingerSet(2, 2, 5)
    rng = np.random.default_rng(3)
    for largest in (5, 10**9, 2**52):
        counts = rng.integers(0, largest, design.order)
        by_hand = [sum(counts[(x + d) % design.order].item() for d in design.elements.tolist()) for x in range(5)]
        found = CyclicResponse(1_300, 1.0, design=design).supports(counts)
        assert found[:5].tolist() == by_hand
        assert found.dtype == np.int64


def test_counts_that_one_transform_cannot_hold_are_cut_into_digits():
    """Rounding a single transform would be wrong there, so the digits are needed."""
    design = SingerSet(2, 2, 5)
    counts = np.random.default_rng(3).integers(0, 2**52, design.order)
    shifts = Shifts(design, design.order)
    at_once = np.rint(shifts.within(counts.astype(float))).astype(np.int64)
    assert not np.array_equal(at_once, shifts.count_within(counts))
    assert shifts._digit_bits(counts) < 52


def test_reports_that_are_held_by_the_truths():
    """N_y counts the truths whose shift holds a report."""
    for size, design in ((5, THIRTEEN), (13, THIRTEEN), (100, SingerSet(2, 2, 4))):
        shift = set(design.elements.tolist())
        by_hand = [sum((y - x) % design.order in shift for x in range(size)) for y in range(design.order)]
        assert holders(design, size).tolist() == by_hand


def test_the_choice_is_the_best_of_all_designs_that_fit():
    """By the summed variance at equally frequent values, worked out from the written-out channels."""

    def summed(mechanism):
        A, p = mechanism.inverse.as_matrix(), mechanism.matrix().mean(axis=0)
        return float((A**2 @ p).sum() - ((A @ p) ** 2).sum())

    for size, epsilon in ((13, 1.0), (31, 2.0), (60, 0.1), (60, 1.0)):
        chosen = CyclicResponse(size, epsilon)
        assert summed(chosen) == pytest.approx(
            summed_variance(size, math.exp(epsilon), chosen.design.order, chosen.design.block), rel=1e-2
        )
        for candidate in candidates(size):
            if candidate.order < 1_000:
                other = CyclicResponse(size, epsilon, design=candidate.design())
                assert summed(chosen) <= summed(other) * 1.01
    assert isinstance(best_design(1_000, math.exp(0.1)), PaleySet)
    assert [best_design(10**6, math.exp(e)).field for e in (1.0, 2.0, 3.0)] == [4, 8, 23]


def test_elements_of_every_design_leave_one_report_over():
    """For both families v = r·s + 1: the sampler picks an element with the uniform number it has already."""
    for candidate in candidates(5_000):
        assert candidate.order % candidate.block == 1


def test_primes_and_prime_powers():
    """Against a sieve."""
    sieve = [n for n in range(2, 200) if all(n % d for d in range(2, n))]
    assert [n for n in range(200) if is_prime(n)] == sieve
    assert [p**m for p, m in prime_powers(32)] == [2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 19, 23, 25, 27, 29, 31, 32]
    assert all(a < b for a, b in pairwise(p**m for p, m in prime_powers(200)))


def test_reports_at_a_million_values_follow_the_channel():
    """Shares of reports in and out of the shifted set, and wrap-around at the end; a wrong set is noticed."""
    mechanism = CyclicResponse(10**6, 1.0)
    n, v = 200_000, mechanism.shape[1]
    inside = mechanism.shifts.indicator()
    for truth in (0, 999_999):
        reports = mechanism.privatize(np.full(n, truth), Randomness.seeded(truth)).astype(np.int64)
        assert 0 <= reports.min() <= reports.max() < v
        share = inside[(reports - truth) % v].mean()
        expected = float(mechanism.own_support)
        assert abs(share - expected) < 6.5 * math.sqrt(expected * (1 - expected) / n)
        shifted = inside[(reports - truth - 1) % v].mean()
        other = float(mechanism.other_support)
        assert abs(shifted - other) < 6.5 * math.sqrt(other * (1 - other) / n)
        assert abs(shifted - expected) > 6.5 * math.sqrt(expected * (1 - expected) / n)


def test_the_manifest_is_a_few_parameters_at_any_size():
    """No matrix: the design at ten million values is told in a few hundred characters and rebuilt from them."""
    mechanism = CyclicResponse(10**7, 1.0)
    data = mechanism.to_dict()
    assert len(str(data)) < 500
    again = mechanisms.from_dict(data)
    assert again == mechanism
    assert again.shape == (10**7, 22_369_621)
    assert mechanism.guarantee.epsilon <= 1.0
    with pytest.raises(MechanismError, match="limit"):
        mechanism.weights()


def test_what_cannot_be_is_refused_in_one_sentence():
    """Sizes, privacy levels and designs out of bounds."""
    for size in (1, 0, 10**7 + 1, "x", None):
        with pytest.raises(MechanismError, match="size must be a whole number from 2 to 10,000,000"):
            CyclicResponse(size, 1.0)
    with pytest.raises(PrivacyError, match="too small"):
        CyclicResponse(100, 1e-80)
    with pytest.raises(PrivacyError, match="above 0"):
        CyclicResponse(100, 0)
    with pytest.raises(MechanismError, match="too small for 14 values"):
        CyclicResponse(14, 1.0, design=THIRTEEN)
    with pytest.raises(MechanismError, match="design"):
        CyclicResponse(14, 1.0, design="singer")
    for bad in ((4, 1, 2), (2, 0, 2), (2, 1, 1), (2, 1, 25, (1,)), (9, 1, 2), (8_191, 1, 3)):
        with pytest.raises(InputError):
            SingerSet(*bad)
    for bad in (3, 13, 15, 2**26 + 3, 7.5):
        with pytest.raises(MechanismError, match="Paley"):
            PaleySet(bad)


@pytest.mark.parametrize(
    "change",
    [
        {"size": 14},
        {"size": 1},
        {"high": "1"},
        {"high": 9},
        {"design": {"kind": "singer", "prime": 3, "power": 1, "dimension": 2}},
        {"design": {"kind": "singer", "prime": 3, "power": 1, "dimension": 2, "polynomial": [1, 0, 0]}},
        {"design": {"kind": "singer", "prime": 3, "power": 1, "dimension": 40, "polynomial": [2, 1, 0]}},
        {"design": {"kind": "singer", "prime": 3, "power": 1, "dimension": 2, "polynomial": "210"}},
        {"design": {"kind": "paley", "prime": 13}},
        {"design": {"kind": "fano"}},
        {"design": None},
    ],
)
def test_damaged_manifests_are_refused(change):
    """A polynomial that is not primitive would decode wrongly: it is noticed, like everything else."""
    good = CyclicResponse.from_weights(13, 9, 4, THIRTEEN).to_dict()
    assert mechanisms.from_dict(good).to_dict() == good
    with pytest.raises(ManifestError):
        mechanisms.from_dict(good | change)


def test_a_design_with_one_element_is_generalised_response():
    """The figures of the two agree where they meet: keep = high, other = low, λ = 0."""
    plain = GeneralizedResponse(50, 2.0)
    gap = (plain.keep - plain.other) / plain.denominator
    other = plain.other / plain.denominator
    share = other + gap / 50
    assert summed_variance(50, plain.keep / plain.other, 50, 1) == pytest.approx(50 * share * (1 - share) / gap**2)
