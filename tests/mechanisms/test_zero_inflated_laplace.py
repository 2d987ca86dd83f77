"""Zero-inflated Laplace: the promise, the noise, and what the manifest keeps of it."""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from discreet.domains.box import Box
from discreet.errors import DomainError, InputError, ManifestError, MechanismError
from discreet.mechanisms.laplace import ZeroInflatedLaplace
from discreet.mechanisms.laplace.curve import delta_bound, delta_one_dimension, ratio_for_bound, trade_off_bound
from discreet.mechanisms.laplace.exact import RadialLaw, delta_exact
from discreet.randomness import Randomness

UNIT = Box([0, 0], [1, 1])


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
    here = delta_exact(epsilon, c, dimension)
    assert delta_one_dimension(epsilon, c) <= here + 1e-11
    assert here <= delta_exact(epsilon, c, dimension + 1) + 4e-12
    assert here <= delta_bound(epsilon, c)
    assert delta_exact(epsilon + 0.3, c, dimension) <= here + 4e-12
    assert delta_exact(epsilon, c * 1.1, dimension) >= here - 4e-12


def test_large_dimensions_approach_the_bound():
    """Within 2 % at d = 100, and equal to it beyond."""
    assert delta_exact(1.0, 0.7, 100) == pytest.approx(delta_bound(1.0, 0.7), rel=0.02)
    assert delta_exact(1.0, 0.7, 101) == delta_bound(1.0, 0.7)


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
    """Share and number of exactly published records, what protects the others, and that whole numbers show."""
    text = ZeroInflatedLaplace(UNIT, 2.0, 0.05).guarantee.explain(10_000)
    assert "0.05 (about 500 of 10,000 people)" in text
    assert "published exactly" in text
    assert "standard deviation of 2, 2" in text
    assert "whole-number data" in text
    plain = ZeroInflatedLaplace(UNIT, 2.0, 0.0).guarantee
    assert plain.exposure == 0
    assert plain.caveats == ()


def test_the_guarantee_includes_finite_precision():
    """The stated δ is at least the curve plus the slack of the draws, which is tiny."""
    mechanism = ZeroInflatedLaplace(UNIT, 2.0, 0.05)
    assert mechanism.guarantee.delta >= mechanism.delta(1.0) + mechanism.sampling_slack * (1 - 1e-6)
    assert mechanism.sampling_slack < 1e-9


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
    """Multiples of the power of two, far outside the box, no negative zeros; at the data's grid all look alike."""
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


def test_one_dimension_streaming_and_seeds():
    """A vector in, a vector out; batches are the same job; a seed repeats, the secure source does not."""
    mechanism = ZeroInflatedLaplace(Box(0, 1), 1.0, 0.1)
    x = np.linspace(0, 1, 50)
    once = mechanism.privatize(x, Randomness.seeded(3))
    assert once.shape == (50,)
    np.testing.assert_array_equal(once, mechanism.privatize(x, Randomness.seeded(3)))
    assert not np.array_equal(mechanism.privatize(x), mechanism.privatize(x))
    parts = list(mechanism.privatize_batches(iter([x[:20], x[20:]])))
    assert [part.size for part in parts] == [20, 30]
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
