"""Designing noise for numeric vectors: never less private than asked, hardly more."""

from __future__ import annotations

import json
import math

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib import pyplot

from discreet import Randomness, estimate
from discreet.design.numbers.zero_inflated_noise import ratio_for, target_variance, zero_inflated_laplace
from discreet.domains.box import Box
from discreet.errors import DesignError, PrivacyError
from discreet.mechanisms import ZeroInflatedLaplace
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
    mechanism = zero_inflated_laplace(Box(0, 3), 1.0, 1e-6, exposure=0.0).mechanism
    assert mechanism.scale[0] / math.sqrt(2) == pytest.approx(3.0, rel=1e-5)


def test_coordinates_are_scaled_to_their_widths():
    """One wide column does not drown the others."""
    scale = zero_inflated_laplace(SQUARE, 1.0, 0.1).mechanism.scale
    assert scale[1] / scale[0] == pytest.approx(10.0)


def test_the_default_can_be_learned_from():
    """Exactly published records up to half of δ: half the variance of a mean, and losses with a kink."""
    chosen, none = (zero_inflated_laplace(SQUARE, 1.0, 0.1, exposure=most) for most in (None, 0.0))
    assert chosen.mechanism.zero_probability == pytest.approx(0.05)
    assert none.mechanism.zero_probability == 0
    assert none.objective == pytest.approx(3.686, abs=2e-3)
    assert chosen.objective == pytest.approx(1.827, abs=5e-3)
    assert zero_inflated_laplace(SQUARE, 1.0, 0.1, target="check").mechanism.zero_probability == pytest.approx(0.05)
    more = zero_inflated_laplace(SQUARE, 1.0, 0.1, exposure=0.1)
    assert more.mechanism.zero_probability > 0.09
    assert more.objective < chosen.objective
    assert more.guarantee.fits(1.0, 0.1)


def test_the_stated_variance_is_that_of_the_estimator():
    """Simulated means of evenly spread numbers, through the mechanism as designed and the estimator of a release."""
    design = zero_inflated_laplace(Box([0, 0], [1, 10]), 1.0, 0.1)
    rng = np.random.default_rng(1)
    n, runs = 2_000, 150
    truths = rng.random((n * runs, 2)) * [1, 10]
    reports = design.mechanism.privatize(truths, Randomness.seeded(3))[:, 1]
    groups = np.repeat(np.arange(runs), n)
    found = estimate.mean(reports, design.mechanism.view(1), by=groups)
    spread = np.var(found.estimate - 5) * n / 100
    assert spread == pytest.approx(design.objective, rel=6.5 * math.sqrt(2 / runs))
    assert np.mean(found.std_error**2) * n / 100 == pytest.approx(design.objective, rel=0.05)
    plain = 1 / 12 + 0.95 * design.mechanism.noise_scale[0] ** 2
    assert plain > design.objective * (1 + 6.5 * math.sqrt(2 / runs))  # what was stated before is far off


def test_error_and_exact_people_side_by_side():
    """A table with the baseline of a random share, and a picture."""
    curve = zero_inflated_laplace(Box([0] * 6, [1] * 6), 1.0, 0.1).trade_off
    rows = curve.rows(10_000)
    assert rows[0]["exposed"] == 0
    assert rows[-1] == {
        "zero_probability": 0.1,
        "noise": None,
        "margin": pytest.approx(1.96 * math.sqrt(1 / 1.2 / 10_000), rel=1e-3),
        "exposed": pytest.approx(1_000),
    }
    margins = [row["margin"] for row in rows]
    assert margins == sorted(margins, reverse=True)  # the more people, the less error, and the share is best here
    text = curve.summary(10_000)
    assert "a random share, nothing else" in text
    assert "chosen" in text
    mpl.use("agg")
    assert "exactly" in curve.plot(people=10_000).get_xlabel()
    pyplot.close("all")
    assert json.loads(json.dumps(curve.to_dict()))["share"] == 0.1


def test_one_dimension_has_no_step_in_its_curve():
    """Noise grows with the zero probability, smoothly, up to the last point."""
    scale = np.array(zero_inflated_laplace(Box(0, 1), 1.0, 0.1).trade_off.scale)
    assert np.all(np.diff(scale) > 0)
    assert np.diff(scale).max() < 0.02


@pytest.mark.parametrize(("zero", "scale"), [(0.08, 2.0), (0.2, 0.5)])
def test_variances_of_corrected_answers(zero, scale):
    """Of a number and of a share below the middle: what reports through the estimator's function give."""
    mechanism = ZeroInflatedLaplace(Box(0, 1), scale, zero)
    truths = np.random.default_rng(0).random(200_000)
    reports = mechanism.privatize(truths[:, None], Randomness.seeded(1))[:, 0]
    for target, function in (("mean", None), ("median", lambda x: (x <= 0.5) * 1.0)):
        found = (
            estimate.mean(reports, mechanism)
            if function is None
            else estimate.expectation(reports, mechanism, function)
        )
        assert target_variance(target, scale, zero) == pytest.approx(found.std_error[0] ** 2 * 200_000, rel=0.03)
    assert target_variance("indicator", scale, 0.0) == math.inf


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
        ((SQUARE, 1.0, 0.1, None, "record", "mean", None, 0.2), PrivacyError, "at most delta"),
        ((SQUARE, 1.0, 0.1, None, "record", "mean", None, -0.2), DesignError, "exposure"),
        ((SQUARE, 1.0, 0.1, 0.02, "record", "mean", None, 0.05), DesignError, "leave out one"),
        ((SQUARE, 1.0, 0.1, None, "record", "median", None, 0.0), DesignError, "has a kink"),
        ((SQUARE, 1.0, 0.1, None, "person"), DesignError, "unit"),
        ((SQUARE, 1.0, 0.1, None, "record", "mode"), DesignError, "target"),
    ],
)
def test_requests_that_cannot_be_met_are_refused(arguments, kind, says):
    """One clear sentence each."""
    more = dict(zip(("grid", "exposure"), arguments[6:], strict=False))
    with pytest.raises(kind, match=says):
        zero_inflated_laplace(*arguments[:6], **more)
