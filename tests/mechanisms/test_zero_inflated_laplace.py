"""Zero-inflated Laplace: the promise, the noise, and what the manifest keeps of it."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special, stats

from discreet.design.numbers.zero_inflated_noise import ratio_for
from discreet.domains.box import Box
from discreet.errors import DomainError, InputError, ManifestError, MechanismError
from discreet.mechanisms.laplace import ZeroInflatedLaplace
from discreet.mechanisms.laplace.curve import delta_bound, delta_one_dimension, ratio_for_bound, trade_off_bound
from discreet.mechanisms.laplace.density import RadialLaw
from discreet.mechanisms.laplace.exact import delta_exact, enclosure
from discreet.randomness import Randomness

UNIT = Box([0, 0], [1, 1])
#: (ε, c, d, δ) computed elsewhere.
REFERENCES = [
    (1.0, 0.745, 2, 0.099971117599440975),
    (1.0, 0.6, 4, 0.088491170695303963),
    (4.0, 4.0, 6, 0.67784063287996303),
    (5.0, 0.1, 3, 2.0037904533947829e-7),
    (50.0, 50.0, 4, 0.99997995041375221),
]


@pytest.mark.parametrize(
    ("epsilon", "c", "expected"), [(0.8, 0.5, 0.125282), (0.5, 0.5, 0.167242), (1.2, 1.0, 0.279177)]
)
def test_checked_figures_of_the_bound(epsilon, c, expected):
    """δ_c(ε) to six digits, as computed independently."""
    assert delta_bound(epsilon, c) == pytest.approx(expected, abs=5e-7)


def test_checked_figures_of_the_calibration():
    """(.8, .17) with δ₀ = .05 gives c = .5025; at (1, .1) dimensions 2 and 6 allow .745 and .581 against .483."""
    inner = 1 - (1 - 0.17) / (1 - 0.05)
    assert ratio_for_bound(0.8, inner) == pytest.approx(0.5025, abs=5e-5)
    assert ratio_for_bound(1.0, 0.1) == pytest.approx(0.483, abs=5e-4)
    assert delta_exact(1.0, 0.745, 2) == pytest.approx(0.1, abs=3e-4)
    assert delta_exact(1.0, 0.581, 6) == pytest.approx(0.1, abs=3e-4)


def test_the_setting_of_table_2_is_hardly_private():
    """C = 4, δ₀ = .2 at ε = 4: δ is .74, and .815 by the bound."""
    mechanism = ZeroInflatedLaplace(Box([-1] * 6, [1] * 6), 0.5, 0.2, unit="attribute")
    assert mechanism.ratio() == 4.0
    assert mechanism.delta(4.0) == pytest.approx(0.74, abs=5e-3)
    assert mechanism.delta(4.0, bound=True) == pytest.approx(0.815, abs=5e-4)


def test_levels_of_table_1():
    """In one dimension λ = .94 is pure noise of ε = 1.5045 and λ = 1.4 of 1.0102."""
    assert delta_one_dimension(1.5045, 1 / 0.94) < 1e-4
    assert delta_one_dimension(1.5044, 1 / 0.94) > 0
    assert delta_one_dimension(1.0102, 1 / 1.4) == 0.0
    assert delta_one_dimension(1.01, 1 / 1.4) > 0


@given(st.floats(0, 30), st.floats(1e-6, 30))
@settings(max_examples=200, deadline=None)
def test_the_simple_form_is_the_printed_one_corrected(epsilon, c):
    """1 − e^ε b(−ε/c) − b(ε/c), with e^{+ε}, equals 1 − exp((ε − √(ε² + 2c²))/2)."""
    h = epsilon / c
    s = h + math.sqrt(2 + h * h)
    tail = math.exp(epsilon - c * s / 2) / (1 + s * s / 2)
    printed = 1 - tail - math.exp(-c / s) / (1 + 2 / (s * s))
    assert delta_bound(epsilon, c) == pytest.approx(printed, abs=1e-11)


@given(st.floats(0, 700), st.floats(1e-9, 1e3))
@settings(max_examples=200, deadline=None)
def test_the_bound_is_rounded_up_and_solved_by_its_inverse(epsilon, c):
    """Never below the value in doubles by more than rounding, also where 1 − e^−x would be lost."""
    x = c * c / (epsilon + math.sqrt(epsilon * epsilon + 2 * c * c))
    assert delta_bound(epsilon, c) >= -math.expm1(-x) * (1 - 1e-14)
    if 1e-9 < delta_bound(epsilon, c) < 0.999:
        assert ratio_for_bound(epsilon, delta_bound(epsilon, c)) == pytest.approx(c, rel=1e-6)


def test_small_delta_costs_hundreds_of_diameters():
    """δ = 1e-6 at ε = 1 needs λ of about 700 diameters by the bound."""
    assert 1 / ratio_for_bound(1.0, 1e-6) == pytest.approx(707, rel=1e-3)


@pytest.mark.parametrize("c", [0.3, 1.0, 4.0])
def test_the_trade_off_curve_is_the_envelope_of_delta(c):
    """β(α) ≥ 1 − δ(ε) − e^ε α for every ε, with equality somewhere."""
    alpha = np.linspace(0.001, 0.999, 200)
    beta = trade_off_bound(alpha, c)
    levels = np.linspace(0, 12, 1201)
    lines = np.array([1 - delta_bound(e, c) - math.exp(e) * alpha for e in levels])
    mirrored = np.array([math.exp(-e) * (1 - delta_bound(e, c) - alpha) for e in levels])
    envelope = np.maximum(lines.max(axis=0), mirrored.max(axis=0))
    assert np.all(beta >= envelope - 1e-12)
    np.testing.assert_allclose(beta, envelope, atol=2e-5)


@pytest.mark.parametrize("dimension", [2, 3, 4, 7])
def test_the_radial_density_is_a_density(dimension):
    """It integrates to one and has the second moment d."""
    law = RadialLaw(dimension)

    def moment(power):
        return integrate.quad(
            lambda r: r**power * float(np.exp(law.log_radius_density(np.array([r])))[0]), 0, 60, limit=400
        )[0]

    assert moment(0) == pytest.approx(1, abs=1e-7)
    assert moment(2) == pytest.approx(dimension, rel=1e-6)


@pytest.mark.parametrize(
    ("dimension", "epsilon", "c"), [(2, 1.0, 0.745), (4, 1.0, 0.6), (4, 4.0, 4.0), (3, 0.2, 0.5), (2, 0.5, 2.0)]
)
def test_simulation_confirms_the_exact_curve(dimension, epsilon, c):
    """P(A) − e^ε Q(A) over simulated noise; a δ that is 3 % off would be seen."""
    n, rng, law = 1_000_000, np.random.default_rng(11), RadialLaw(dimension)
    y = np.sqrt(rng.standard_exponential((n, 1))) * rng.standard_normal((n, dimension))

    def radii(points, shift):
        moved = points.copy()
        moved[:, 0] += shift
        return np.linalg.norm(points, axis=1), np.linalg.norm(moved, axis=1)

    def log_density(r):  # a table is exact enough to tell on which side of the boundary a point lies
        knots = np.geomspace(1e-9, 200, 20_000)
        return np.interp(np.log(r), np.log(knots), law.log_density(knots))

    near, far = radii(y, -c)
    first = log_density(near) - log_density(far) > epsilon
    second_far, second_near = radii(y, c)
    second = log_density(second_near) - log_density(second_far) > epsilon
    p, q = first.mean(), second.mean()
    error = math.sqrt((p * (1 - p) + math.exp(2 * epsilon) * q * (1 - q)) / n)
    stated = delta_exact(epsilon, c, dimension)
    assert abs(p - math.exp(epsilon) * q - stated) < 6 * error
    assert error < 0.03 * stated / 2


@given(st.floats(0.0, 6), st.floats(0.01, 5), st.integers(2, 12))
@settings(max_examples=15, deadline=None)
def test_the_curve_rises_with_the_dimension_and_stays_below_the_bound(epsilon, c, dimension):
    """D = 1 is the most private, every d is below the bound, δ falls with ε and rises with c."""
    low, here = enclosure(epsilon, c, dimension)
    assert delta_one_dimension(epsilon, c) <= here
    assert low <= delta_exact(epsilon, c, dimension + 1)
    assert here <= delta_bound(epsilon, c)
    assert enclosure(epsilon + 0.3, c, dimension)[0] <= here
    assert delta_exact(epsilon, c * 1.1, dimension) >= low


def bessel_log_density(dimension, r):
    """Ln g(r) straight from its formula, for radii at which K does not overflow."""
    order, z = dimension / 2 - 1, math.sqrt(2) * r
    constant = math.log(2) - dimension / 2 * math.log(2 * math.pi)
    return constant - order * np.log(r / math.sqrt(2)) + np.log(special.kve(order, z)) - z


@pytest.mark.parametrize("dimension", [1, 2, 3, 4, 7, 32, 33, 34, 35, 66, 100])
def test_the_recurrence_is_the_bessel_formula(dimension):
    """Ln g, its slope and the survival function, against K of the order itself and against sums of both."""
    r = np.geomspace(1e-2, 40, 50)
    law, h = RadialLaw(dimension), 1e-5
    np.testing.assert_allclose(law.log_density(r), bessel_log_density(dimension, r), rtol=1e-12, atol=1e-11)
    slope = (bessel_log_density(dimension, r * (1 - h)) - bessel_log_density(dimension, r * (1 + h))) / (2 * h)
    np.testing.assert_allclose(law.state(r).steepness, slope, rtol=1e-5)
    nodes, weights = np.polynomial.legendre.leggauss(400)
    for low, high in ((0.1, 1.0), (1.0, 6.0)):
        x = (low + high) / 2 + (high - low) / 2 * nodes
        area = math.log(2) + dimension / 2 * math.log(math.pi) - math.lgamma(dimension / 2)
        density = np.exp(bessel_log_density(dimension, x) + area + (dimension - 1) * np.log(x))
        beyond = law.state(np.array([low, high])).beyond
        assert beyond[0] - beyond[1] == pytest.approx((high - low) / 2 * float(weights @ density), rel=1e-11, abs=1e-13)
    assert law.state(np.array([1e-200])).beyond[0] == pytest.approx(1, abs=1e-13)


@given(st.floats(-200, 3), st.floats(0, 60), st.integers(2, 100))
@settings(max_examples=100, deadline=None)
def test_the_partner_radius_is_never_too_large(log_r, epsilon, dimension):
    """g(R) ≥ e^{−ε} g(r), and R misses equality by rounding only."""
    law, r = RadialLaw(dimension), np.array([math.exp(log_r)])
    R = law.partner(r, epsilon)
    assert float(R[0]) >= float(r[0])
    loss = float((law.log_density(r) - law.log_density(R))[0])
    assert loss <= epsilon + 1e-15 * epsilon
    assert loss >= epsilon * (1 - 1e-12) - 1e-9
    again = law.partner(r, epsilon, guess=R * 1.3)
    assert again == pytest.approx(R, rel=1e-10)


def directly(epsilon, c, dimension):
    """δ = E[(1 − e^{ε−L})₊] over radius and angle around the first truth: no ball, no cap, K of the order itself."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    turn = (nodes + 1) * (math.pi / 2)

    def log_g(r):
        return bessel_log_density(dimension, r)

    def loss(r, cosine):
        return log_g(r) - log_g(np.sqrt((r - c) ** 2 + 2 * r * c * (1 - cosine)))

    def crossing(where, low, high):
        """Where a falling loss reaches ε."""
        for _ in range(80):
            middle = (low + high) / 2
            low, high = (np.where(where(middle) > epsilon, a, b) for a, b in ((middle, low), (high, middle)))
        return (low + high) / 2

    start, stop = math.log(c / 2), math.log(40 + 4 * math.sqrt(dimension))
    first = float(crossing(lambda x: loss(np.exp(x), 1.0), np.array(start - 60), np.array(start)))
    last = float(crossing(lambda x: loss(np.exp(x), -1.0), np.array(first), np.array(stop)))
    below = np.linspace(first - 20, first, 21)
    cuts = np.concatenate([below, np.linspace(first, last, 2 + int(2 * (last - first)))[1:]])
    total = 0.0
    for a, b in itertools.pairwise(cuts):
        x = a + (b - a) * np.sin(turn / 2) ** 2  # roots at either end become smooth
        step = (b - a) / 2 * np.sin(turn) * weights * (math.pi / 2)
        r = np.exp(x)[:, None]
        # 1 + cos up to which L > ε, as a logarithm: it may be tiny.
        edge = crossing(lambda e, r=r: loss(r, np.exp(e) - 1), np.full_like(r, -60.0), np.full_like(r, math.log(2)))
        angle = 2 * np.arcsin(np.sqrt(np.minimum(np.exp(edge) / 2, 1.0)))  # measured from the far side
        angle = np.where(loss(r, 1.0) > epsilon, math.pi, angle)
        theta = angle * (nodes + 1) / 2
        gain = -np.expm1(np.minimum(epsilon - loss(r, -np.cos(theta)), 0.0))
        inner = (gain * np.sin(theta) ** (dimension - 2)) @ weights * angle[:, 0] / 2
        share = special.beta((dimension - 1) / 2, 0.5)
        area = math.log(2) + dimension / 2 * math.log(math.pi) - math.lgamma(dimension / 2)
        total += float(step @ (np.exp(log_g(r[:, 0]) + area + dimension * x) * inner / share))
    return total


@pytest.mark.parametrize("dimension", [2, 3, 4, 6, 50])
@pytest.mark.parametrize("c", [1e-3, 0.05, 0.6, 4.0, 50.0])
def test_the_enclosure_holds_an_independent_integral(dimension, c):
    """Over ε from 1e-6 to 50: the double integral lies inside, and the enclosure is a millionth of δ wide."""
    for epsilon in (1e-6, 0.1, 1.0, 5.0, 50.0):
        low, high = enclosure(epsilon, c, dimension)
        assert high - low <= 1e-6 * high + 1.3e-11
        assert high <= delta_bound(epsilon, c)
        if high < 1e-11:  # nothing that doubles could tell from rounding
            continue
        value = directly(epsilon, c, dimension)
        assert low - 1e-9 * value <= value <= high + 1e-9 * value


@pytest.mark.parametrize(
    ("epsilon", "c", "dimension", "delta"),
    # P(A) − e^ε Q(A) by tanh-sinh quadrature over caps with 20 digits (mpmath 1.4).
    REFERENCES,
)
def test_references_with_many_digits(epsilon, c, dimension, delta):
    """Within the enclosure, also when it is ten times tighter, and its middle is nearly right."""
    for relative in (1e-4, 1e-6, 1e-7):
        low, high = enclosure(epsilon, c, dimension, relative=relative)
        assert low <= delta <= high
        assert high - low <= relative * delta + 1.3e-11
    assert (low + high) / 2 == pytest.approx(delta, rel=2e-8, abs=1e-11)


@pytest.mark.parametrize("c", [1e-3, 0.1, 0.7, 3.0, 50.0])
def test_one_dimension_is_the_laplace_mechanism(c):
    """1 − e^{(ε − √2 c)/2} below ε = √2 c, nothing beyond."""
    for epsilon in (1e-6, 0.01, 1.0, 50.0):
        expected = max(0.0, -math.expm1((epsilon - math.sqrt(2) * c) / 2))
        low, high = enclosure(epsilon, c, 1)
        assert low <= expected * (1 + 1e-13)
        assert expected * (1 - 1e-13) <= high == delta_exact(epsilon, c, 1)
        assert high == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("epsilon", "delta", "dimension"), [(1.0, 0.1, 2), (0.5, 1e-3, 4), (4.0, 0.5, 6), (2.0, 1e-5, 20)]
)
def test_calibration_is_never_less_private_than_asked(epsilon, delta, dimension):
    """Even the upper end at the chosen c keeps δ; a c that is larger by a hundred-thousandth provably would not."""
    c = ratio_for(epsilon, delta, dimension)
    assert enclosure(epsilon, c, dimension)[1] <= delta
    assert enclosure(epsilon, c * (1 + 1e-5), dimension)[0] > delta


def test_large_dimensions_approach_the_bound():
    """Within 2 % at d = 100, and equal to it beyond."""
    assert delta_exact(1.0, 0.7, 100) == pytest.approx(delta_bound(1.0, 0.7), rel=0.02)
    for dimension in (101, 1000):
        assert delta_exact(1.0, 0.7, dimension) == delta_bound(1.0, 0.7)


def test_large_epsilon_neither_overflows_nor_vanishes_wrongly():
    """Log space: ε = 600 gives a small, valid δ."""
    for dimension in (1, 2, 6, 50):
        assert 0 <= delta_exact(600.0, 3.0, dimension) <= delta_bound(600.0, 3.0) < 0.01


def test_record_and_attribute_levels():
    """A record spans the diagonal in units of the noise, an attribute the widest side; both use the same d."""
    box = Box([0, 0, 0], [3, 4, 12])
    mechanism = ZeroInflatedLaplace(box, 1.0, 0.1)
    assert mechanism.ratio() == 13.0
    assert mechanism.ratio("attribute") == 12.0
    scaled = ZeroInflatedLaplace(box, [3, 4, 12], 0.1)
    assert scaled.ratio() == pytest.approx(math.sqrt(3))
    assert scaled.ratio("attribute") == 1.0
    attribute = ZeroInflatedLaplace(box, [3, 4, 12], 0.1, unit="attribute")
    assert attribute.guarantee.unit == "attribute"
    assert attribute.guarantee.delta < attribute.record_guarantee.delta
    assert attribute.record_guarantee.unit == "record"


def test_the_guarantee_says_who_is_exposed():
    """Share and number of exactly published records, what protects the others, and what a report in the box means."""
    text = ZeroInflatedLaplace(UNIT, 2.0, 0.05).guarantee.explain(10_000)
    assert "0.05 (about 500 of 10,000 people)" in text
    assert "published exactly" in text
    assert "standard deviation of 2, 2" in text
    assert "a report inside the box gives away: about 33 % of those are the truth itself" in text
    assert "hides" not in text
    plain = ZeroInflatedLaplace(UNIT, 2.0, 0.0).guarantee
    assert plain.exposure == 0
    assert plain.caveats == ()


def test_the_guarantee_includes_finite_precision():
    """Reports drawn exactly add nothing to δ; those of earlier versions η(1 + e^ε), rounded up."""
    exact = ZeroInflatedLaplace(UNIT, 2.0, 0.05)
    assert exact.sampling_slack == 0
    assert exact.guarantee.delta == exact.delta(1.0)
    for epsilon in (0.0, 1.0, 10.0):
        earlier = ZeroInflatedLaplace(UNIT, 2.0, 0.05, epsilon, sampling="52-bit")
        added = earlier.sampling_slack * (1 + math.exp(epsilon))
        assert 0 < earlier.sampling_slack < 1e-9
        assert earlier.guarantee.delta == pytest.approx(earlier.delta(epsilon) + added, rel=1e-12)
        assert earlier.guarantee.delta >= earlier.delta(epsilon) + added * (1 - 1e-9)


def test_one_dimension_is_purely_private_beyond_its_level():
    """Rounded Laplace noise drawn exactly is ε-private without δ from ε = √2 c on."""
    mechanism = ZeroInflatedLaplace(Box(0, 10), 20.0, 0.0, 1.0)
    assert mechanism.guarantee.delta == 0
    assert mechanism.guarantee.pure


@pytest.mark.parametrize(
    ("dimension", "zero", "share"), [(1, 0.090, 0.30), (2, 0.076, 0.50), (4, 0.050, 0.85), (6, 0.044, 0.95)]
)
def test_most_reports_inside_the_box_are_the_truth(dimension, zero, share):
    """Whole numbers from 0 to 10 on a grid of 1 at (1, .1): by the formula and by simulation."""
    box = Box([0] * dimension, [10] * dimension)
    c = ratio_for(1.0, 1 - 0.9 / (1 - zero), dimension)
    mechanism = ZeroInflatedLaplace(box, 10 * math.sqrt(dimension) / c, zero, grid=1)
    assert mechanism.truths_inside == pytest.approx(share, abs=0.006)
    x = np.random.default_rng(1).integers(0, 11, (200_000, dimension)).astype(float)
    reports = mechanism.privatize(x, Randomness.seeded(3))
    inside = np.all((reports >= 0) & (reports <= 10), axis=1)
    found = float(np.mean(np.all(reports == x, axis=1)[inside]))
    assert found == pytest.approx(mechanism.truths_inside, abs=6 * math.sqrt(0.25 / inside.sum()))


def test_the_share_of_truths_at_its_ends():
    """Without noise in the way all reports inside are truths; far narrower noise than the box leaves the share δ₀."""
    assert ZeroInflatedLaplace(UNIT, 1e6, 0.05).truths_inside == pytest.approx(1, abs=1e-9)
    assert ZeroInflatedLaplace(UNIT, 1e-4, 0.05).truths_inside == pytest.approx(0.05, rel=2e-3)


def test_composition_with_another_block():
    """Like every guarantee: ε adds up, chances of failure combine."""
    both = ZeroInflatedLaplace(UNIT, 2.0, 0.05).guarantee.compose(ZeroInflatedLaplace(UNIT, 3.0, 0.1).guarantee)
    assert both.epsilon == 2.0
    assert both.exposure == pytest.approx(1 - 0.95 * 0.9)


def test_noise_has_the_stated_law():
    """Zero share, variance, kurtosis and the marginal Laplace law; a scale that is 5 % wrong is rejected."""
    mechanism = ZeroInflatedLaplace(Box([0, -5], [1, 5]), [0.5, 3.0], 0.2)
    n = 300_000
    truth = np.tile([0.5, 1.0], (n, 1))
    error = mechanism.privatize(truth, Randomness.seeded(5)) - truth
    exact = np.all(error == 0, axis=1)
    assert abs(exact.mean() - 0.2) < 6 * math.sqrt(0.16 / n)
    noisy = error[~exact] / np.array([0.5, 3.0])
    for j in range(2):
        assert stats.kstest(noisy[:, j], "laplace", args=(0, 1 / math.sqrt(2))).pvalue > 1e-9
        assert stats.kstest(noisy[:, j] * 1.05, "laplace", args=(0, 1 / math.sqrt(2))).pvalue < 1e-9
    assert abs(np.corrcoef(noisy.T)[0, 1]) < 0.01
    assert np.corrcoef((noisy**2).T)[0, 1] > 0.1  # the common W


def test_reports_are_on_the_grid_and_never_clamped():
    """Multiples of the power of two, far outside the box, no negative zeros; whole numbers on a grid of 1."""
    box = Box([0, 0], [10, 10])
    mechanism = ZeroInflatedLaplace(box, 8.0, 0.3, grid=1)
    truth = np.random.default_rng(1).integers(0, 11, (20_000, 2))
    reports = mechanism.privatize(truth, Randomness.seeded(2))
    assert np.all(reports == np.rint(reports))
    assert reports.min() < -10
    assert reports.max() > 20
    assert not np.any(np.signbit(reports[reports == 0]))
    error = (reports - truth)[:, 0]
    expected = 0.7 * mechanism.noise_scale[0] ** 2
    assert np.mean(error**2) == pytest.approx(expected, rel=0.05)
    assert mechanism.noise_scale[0] ** 2 == pytest.approx(64 + 1 / 12, rel=1e-3)


def test_rounded_noise_has_the_stated_variance():
    """The closed form for the variance of a rounded Laplace variable, with a grid as coarse as allowed."""
    mechanism = ZeroInflatedLaplace(Box(0, 10), 1.0, 0.0, grid=1)
    b = 1 / math.sqrt(2)
    k = np.arange(-200, 201)
    cells = stats.laplace.cdf(k + 0.5, scale=b) - stats.laplace.cdf(k - 0.5, scale=b)
    assert mechanism.noise_scale[0] ** 2 == pytest.approx(float(cells @ k**2), rel=1e-9)


def test_one_dimension_and_seeds():
    """A vector in, a vector out; a seed repeats, the secure source does not."""
    mechanism = ZeroInflatedLaplace(Box(0, 1), 1.0, 0.1)
    x = np.linspace(0, 1, 50)
    once = mechanism.privatize(x, Randomness.seeded(3))
    assert once.shape == (50,)
    np.testing.assert_array_equal(once, mechanism.privatize(x, Randomness.seeded(3)))
    assert not np.array_equal(mechanism.privatize(x), mechanism.privatize(x))
    assert mechanism.privatize(np.empty((0, 1))).shape == (0, 1)


def test_doubly_randomized_reports_have_laplace_noise():
    """x1 + S is the truth plus plain Laplace noise: δ₀ + (1 − δ₀)·characteristic function, times that of S."""
    mechanism = ZeroInflatedLaplace(Box(0, 1), 1.0, 0.25)
    x1 = mechanism.privatize(np.full(200_000, 0.5), Randomness.seeded(7))
    x2 = mechanism.doubly_randomized(x1, Randomness.seeded(8))[:, 0] - 0.5
    assert stats.kstest(x2, "laplace", args=(0, 1 / math.sqrt(2))).pvalue > 1e-9
    assert stats.kstest(x1 - 0.5, "laplace", args=(0, 1 / math.sqrt(2))).pvalue < 1e-9


def test_values_outside_the_box_are_refused_with_their_row():
    """Also beyond the first chunk; the value is not in the message."""
    x = np.full((100_000, 2), 0.5)
    x[70_000, 1] = 1.25
    with pytest.raises(DomainError, match="row 70000") as caught:
        ZeroInflatedLaplace(UNIT, 1.0, 0.1).privatize(x)
    assert "1.25" not in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (((0, 1), 1.0, 0.1), "Box"),
        ((UNIT, 0.0, 0.1), "scale"),
        ((UNIT, [1.0], 0.1), "one number per coordinate"),
        ((UNIT, math.inf, 0.1), "scale"),
        ((UNIT, 1.0, 1.0), "zero_probability"),
        ((UNIT, 1.0, -0.1), "zero_probability"),
        ((UNIT, 1.0, "0.1"), "zero_probability"),
        ((UNIT, 1.0, 0.1, -1.0), "epsilon"),
        ((UNIT, 1.0, 0.1, 1.0, 0.3), "power of two"),
        ((UNIT, 1.0, 0.1, 1.0, 2.0), "coarser"),
        ((UNIT, 1.0, 0.1, 1.0, 2.0**-30), "at least"),
        ((Box(0, 2.0**40), 1.0, 0.1, 1.0, 2.0**-12), "too fine"),
        ((UNIT, 1.0, 0.1, 1.0, None, "person"), "unit"),
    ],
)
def test_arguments_that_make_no_mechanism_are_refused(arguments, says):
    """One clear sentence each."""
    with pytest.raises(MechanismError, match=says):
        ZeroInflatedLaplace(*arguments)


def test_frozen_and_round_trip_through_json():
    """A value: immutable, hashable, the same after JSON; the repr can be pasted back."""
    mechanism = ZeroInflatedLaplace(Box([0, 18], [1e5, 65]), [2e5, 90.0], 0.05, 0.7, unit="attribute")
    again = ZeroInflatedLaplace.from_dict(json.loads(json.dumps(mechanism.to_dict())))
    assert again == mechanism
    assert hash(again) == hash(mechanism)
    assert again.guarantee == mechanism.guarantee
    assert eval(repr(mechanism)) == mechanism
    with pytest.raises(dataclasses.FrozenInstanceError):
        mechanism.scale = (1.0,)
    with pytest.raises(ManifestError):
        ZeroInflatedLaplace.from_dict({"kind": "zero-inflated-laplace"})
    with pytest.raises(InputError):
        mechanism.privatize([[0.0, 20.0]], np.random.default_rng(1))


def test_the_default_grid_fits_boxes_of_any_size():
    """Tiny, huge and far from zero: always a valid grid, much finer than the noise."""
    for low, width, scale in [(0, 1e-9, 1e-9), (0, 1e12, 3e12), (1e9, 1.0, 2.0), (-5, 10, 7000.0), (0, 1.0, 1e-4)]:
        mechanism = ZeroInflatedLaplace(Box(low, low + width), scale, 0.1)
        assert mechanism.grid[0] <= mechanism.scale[0] / 256
