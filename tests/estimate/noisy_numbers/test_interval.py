"""The unbiased function of least variance on the box of one coordinate."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.domains.box import Box
from discreet.errors import EstimationError
from discreet.estimate.noisy_numbers.interval import IntervalCorrection
from discreet.estimate.noisy_numbers.variance import mean_variance
from discreet.mechanisms.laplace import ZeroInflatedLaplace


def column(function):
    return lambda x: function(x[:, 0])[:, None]


def moments_given(mechanism, corrected, truth):
    """Mean and variance of a corrected function at one truth, by sums over a fine grid of reports."""
    zero, b = mechanism.zero_probability, float(mechanism.noise_scale[0]) / math.sqrt(2)
    low, high = mechanism.box.low[0] - 0.5, mechanism.box.high[0] + 0.5
    edges = np.linspace(low, high, 400_001)
    t, step = (edges[1:] + edges[:-1]) / 2, edges[1] - edges[0]
    density = np.exp(-np.abs(t - truth) / b) / (2 * b) * step
    tails = np.array([math.exp(-(truth - low) / b), math.exp(-(high - truth) / b)]) / 2
    g = corrected(t)[:, 0]
    ends = corrected(np.array([low - 1.0, high + 1.0]))[:, 0]
    at = corrected(np.array([truth]))[0, 0]
    mean, square = ((1 - zero) * (density @ g**k + tails @ ends**k) + zero * at**k for k in (1, 2))
    return mean, square - mean**2


@pytest.mark.parametrize(("scale", "zero"), [(2.0, 0.1), (0.3, 0.02), (10.0, 0.3)])
@pytest.mark.parametrize(
    ("function", "tolerance"),
    [(lambda x: x, 3e-5), (np.exp, 3e-5), (lambda x: (x <= 0.3123) * 1.0, 4e-3)],
)
def test_it_is_unbiased_at_every_point_of_the_box(scale, zero, function, tolerance):
    """By integration over all reports; a jump is known to a sixteenth of a cell."""
    mechanism = ZeroInflatedLaplace(Box(0, 1), scale, zero)
    corrected = IntervalCorrection(mechanism).of(column(function))
    for truth in (0.0, 0.111, 0.3, 0.5, 0.98765, 1.0):
        assert moments_given(mechanism, corrected, truth)[0] == pytest.approx(
            float(function(np.array([truth]))[0]), abs=tolerance
        )


@settings(max_examples=15, deadline=None)
@given(scale=st.floats(0.1, 20), zero=st.floats(0.005, 0.6))
def test_a_mean_is_never_noisier_than_the_reports(scale, zero):
    """At no truth in the box, not only on average."""
    mechanism = ZeroInflatedLaplace(Box(0, 1), scale, zero)
    corrected = IntervalCorrection(mechanism, 100).of(lambda x: x)
    for truth in (0.0, 0.25, 0.5):
        assert moments_given(mechanism, corrected, truth)[1] < (1 - zero) * scale**2 * (1 + 1e-3) + 1e-4
    assert mean_variance(scale, zero) <= 1 / 12 + (1 - zero) * scale**2 + 1e-9


def test_its_variance_is_the_least():
    """Half that of the reports; and adding a function of mean zero everywhere makes it larger."""
    mechanism = ZeroInflatedLaplace(Box(0, 1), 1.0, 0.1)
    correction = IntervalCorrection(mechanism)
    best, truths = correction.of(lambda x: x), np.linspace(0.025, 0.975, 20)
    # The correction of 1 has mean one everywhere, so adding c(correction of 1) − c changes no mean.
    one = correction.of(np.ones_like)
    exact = [(1 - 0.1) * 1.0**2 for _ in truths]
    found = [moments_given(mechanism, best, t)[1] for t in truths]
    assert np.mean(found) < 0.55 * np.mean(exact)
    assert np.mean(found) + 1 / 12 == pytest.approx(mean_variance(1.0, 0.1), rel=2e-3)
    for c in (-0.1, 0.1):
        other = [moments_given(mechanism, lambda t, c=c: best(t) + c * (one(t) - 1), x)[1] for x in truths]
        assert np.mean(other) >= np.mean(found) - 1e-9


def test_a_record_at_an_edge_off_the_grid_keeps_its_weight():
    """The box reaches out to the grid: without that, records at .1 would lose nearly all of it."""
    mechanism = ZeroInflatedLaplace(Box(0.1, 0.9), 1.0, 0.2, grid=2.0**-10)
    correction = IntervalCorrection(mechanism)
    assert correction.inside.low[0] < math.floor(0.1 * 2**10) / 2**10 < 0.1
    published = round(0.1 * 2**10) / 2**10
    corrected = correction.of(np.ones_like)
    assert moments_given(mechanism, corrected, published)[0] == pytest.approx(1.0, abs=1e-3)


def test_a_share_of_exact_records_is_needed():
    """One clear sentence."""
    with pytest.raises(EstimationError, match="published exactly"):
        IntervalCorrection(ZeroInflatedLaplace(Box(0, 1), 1.0, 0.0))
    with pytest.raises(EstimationError, match="one coordinate"):
        IntervalCorrection(ZeroInflatedLaplace(Box([0, 0], [1, 1]), 1.0, 0.1))
