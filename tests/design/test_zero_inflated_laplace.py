"""Designing noise for numeric vectors: never less private than asked, hardly more."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.design.zero_inflated_laplace import ratio_for, target_variance, zero_inflated_laplace
from discreet.domains.box import Box
from discreet.errors import DesignError, PrivacyError
from discreet.mechanisms.laplace.curve import ratio_for_bound

SQUARE = Box([0, 0], [1, 10])


@given(st.floats(0.05, 5), st.floats(0.01, 0.5), st.integers(1, 6), st.sampled_from(["record", "attribute"]))
@settings(max_examples=12, deadline=None)
def test_the_finished_mechanism_keeps_the_promise_and_wastes_nothing(epsilon, delta, dimension, unit):
    """δ of the finished mechanism is at most the one asked for and within 1e-6 of it."""
    box = Box([0] * dimension, np.arange(1, dimension + 1).tolist())
    mechanism = zero_inflated_laplace(box, epsilon, delta, delta / 3, unit).mechanism
    assert mechanism.guarantee.fits(epsilon, delta)
    assert mechanism.guarantee.delta >= delta * (1 - 1e-6)
    assert mechanism.guarantee.unit == unit


@pytest.mark.parametrize("dimension", [2, 4])
def test_the_exact_curve_needs_less_noise_than_the_bound(dimension):
    """A larger c for the same (ε, δ)."""
    assert ratio_for(1.0, 0.1, dimension) > ratio_for_bound(1.0, 0.1) * 1.2


def test_checked_ratios():
    """At (1, .1): .745 in two dimensions, .581 in six."""
    assert ratio_for(1.0, 0.1, 2) == pytest.approx(0.745, abs=5e-4)
    assert ratio_for(1.0, 0.1, 6) == pytest.approx(0.581, abs=5e-4)


def test_one_dimension_is_the_laplace_mechanism():
    """Scale b = λ/√2 = width/ε when δ hardly counts."""
    mechanism = zero_inflated_laplace(Box(0, 3), 1.0, 1e-6).mechanism
    assert mechanism.scale[0] / math.sqrt(2) == pytest.approx(3.0, rel=1e-5)


def test_coordinates_are_scaled_to_their_widths():
    """One wide column does not drown the others."""
    scale = zero_inflated_laplace(SQUARE, 1.0, 0.1).mechanism.scale
    assert scale[1] / scale[0] == pytest.approx(10.0)


def test_smooth_targets_get_no_exact_records_and_kinked_ones_an_interior_share():
    """0 for a mean; for median regression about .7 to .9 of δ, where the curve has its lowest point."""
    smooth = zero_inflated_laplace(SQUARE, 1.0, 0.1)
    assert smooth.mechanism.zero_probability == 0
    assert smooth.trade_off is not None
    assert list(smooth.trade_off.variance) == sorted(smooth.trade_off.variance)
    kinked = zero_inflated_laplace(SQUARE, 1.0, 0.1, target="check")
    assert 0.6 <= kinked.mechanism.zero_probability / 0.1 <= 0.95
    curve = kinked.trade_off
    assert min(curve.variance) < 0.8 * min(curve.variance[0], curve.variance[-1])
    assert kinked.objective == pytest.approx(min(curve.variance), rel=0.02)


@pytest.mark.parametrize(("zero", "scale"), [(0.08, 2.0), (0.2, 0.5)])
def test_the_variance_of_a_corrected_sign(zero, scale):
    """The evenly spread points give what simulation gives."""
    rng = np.random.default_rng(0)
    x, noise = rng.random(400_000) - 0.5, rng.laplace(0, scale / math.sqrt(2), 400_000)
    r = x + np.where(rng.random(x.size) < zero, 0.0, noise)
    b = math.sqrt(zero / 2) * scale
    simulated = np.mean((0.5 * (1 + (1 / zero - 1) * np.exp(-np.abs(r) / b))) ** 2)
    assert target_variance("median", scale, zero) == pytest.approx(simulated, rel=0.02)


def test_a_small_delta_is_said_to_be_expensive():
    """δ = 1e-6 at ε = 1: hundreds of diameters, and the note says what that means."""
    design = zero_inflated_laplace(Box([0] * 30, [1] * 30), 1.0, 1e-6)
    width = design.mechanism.scale[0] / math.sqrt(30)
    assert width > 300
    assert any("expensive" in note for note in design.notes)
    assert "diameters" in design.summary()
    assert design.to_dict()["trade_off"] is not None


@pytest.mark.parametrize(
    ("arguments", "kind", "says"),
    [
        (((0, 1), 1.0, 0.1), DesignError, "Box"),
        ((SQUARE, -1.0, 0.1), PrivacyError, "epsilon"),
        ((SQUARE, math.inf, 0.1), PrivacyError, "epsilon"),
        ((SQUARE, 1.0, 0.0), PrivacyError, "delta must be above"),
        ((SQUARE, 1.0, 1.0), PrivacyError, "delta"),
        ((SQUARE, 1.0, "0.1"), PrivacyError, "delta"),
        ((SQUARE, 1.0, 0.1, 0.1), PrivacyError, "above zero_probability"),
        ((SQUARE, 1.0, 0.1, 0.2), PrivacyError, "above zero_probability"),
        ((SQUARE, 1.0, 0.1, -0.1), PrivacyError, "of at least 0"),
        ((SQUARE, 1.0, 0.1, 0, "record", "check"), DesignError, "has a kink"),
        ((SQUARE, 1.0, 0.1, None, "person"), DesignError, "unit"),
        ((SQUARE, 1.0, 0.1, None, "record", "mode"), DesignError, "target"),
    ],
)
def test_requests_that_cannot_be_met_are_refused(arguments, kind, says):
    """One clear sentence each."""
    with pytest.raises(kind, match=says):
        zero_inflated_laplace(*arguments)
