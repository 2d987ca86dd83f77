"""Unbiased numbers of least variance: the figures, the certificate, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet import Binary, Box, DesignError, Grid, Ordinal, PrivacyError, Randomness, design
from discreet.design.numbers.unbiased_lp import _programme, known_mechanisms, solve


@pytest.mark.parametrize(("epsilon", "at_most"), [(1.0, 3.995), (2.0, 0.870), (4.0, 0.130)])
def test_twenty_one_points_have_the_variance_that_they_should(epsilon, at_most):
    """Worst variance on [−1, 1], below the best of the known mechanisms, within one per cent of the bound."""
    found = design.mean(Grid(-1, 1, 21), epsilon)
    assert found.objective <= at_most
    assert found.objective == found.mechanism.variances().max()
    assert 0 <= found.certificate.gap <= 0.01 * found.objective
    assert found.objective < min(known_mechanisms(epsilon).values())
    assert epsilon * (1 - 1e-9) <= found.guarantee.epsilon <= epsilon


def test_known_mechanisms_have_their_published_variances():
    """The best of them at four levels."""
    best = [min(known_mechanisms(epsilon).values()) for epsilon in (0.5, 1.0, 2.0, 4.0)]
    assert best == pytest.approx([16.67, 4.29, 1.042, 0.219], abs=6e-3)


def test_two_points_are_randomised_response_with_a_remainder_that_pays():
    """For two points the optimum is known by a direct search over symmetric channels with up to four reports."""
    epsilon = 1.0
    found = design.mean(Grid(-1, 1, 2), epsilon)
    e = math.exp(epsilon)
    plain = ((e + 1) / (e - 1)) ** 2 - 1  # the variance of randomised response at ±1
    assert found.objective == pytest.approx(plain, rel=1e-3)
    assert found.certificate.bound <= plain


def test_the_bound_holds_for_mechanisms_that_were_not_searched():
    """The mechanisms of Duchi and others are unbiased and private on the same points: none passes the bound."""
    points = np.linspace(-1, 1, 9)
    for epsilon in (0.3, 1.0, 3.0):
        bound = solve(points, epsilon, None).bound
        e = math.exp(epsilon)
        assert bound <= ((e + 1) / (e - 1)) ** 2
        rng = np.random.default_rng(1)
        reach = (math.sqrt(e) + 1) / (math.sqrt(e) - 1)
        for _ in range(3):
            values = np.sort(np.concatenate([rng.uniform(-reach, reach, 30), [-reach, reach]]))
            assert _programme(points, values, e, None)[1] >= bound
        # Between the points a continuum costs more, so that more points raise the bound.
        assert solve(np.linspace(-1, 1, 3), epsilon, None).bound <= bound * (1 + 1e-3)


def test_a_prior_lowers_the_average_and_raises_the_worst():
    """At ε = 1 the average is 3.91 where the worst was minimised at 3.99."""
    flat = np.full(21, 1 / 21)
    average = design.mean(Grid(-1, 1, 21), 1.0, flat)
    worst = design.mean(Grid(-1, 1, 21), 1.0)
    assert average.objective == pytest.approx(3.905, abs=5e-3)
    assert average.objective < flat @ worst.mechanism.variances()
    assert average.mechanism.variances().max() > worst.objective
    assert "average" in average.measure


def test_units_and_uneven_points():
    """Variances follow the square of the unit; positions need not be equidistant, nor near zero."""
    small, large = design.mean(Grid(0, 1, 6), 1.0), design.mean(Grid(1_000, 1_100, 6), 1.0)
    assert large.objective == pytest.approx(small.objective * 10_000, rel=1e-3)
    uneven = design.mean(Ordinal(["a", "b", "c"], positions=[0.0, 0.3, 7.0]), 1.0)
    assert uneven.mechanism.points == (0.0, 0.3, 7.0)
    assert uneven.certificate.gap <= 0.01 * uneven.objective


def test_the_mean_of_the_reports_estimates_the_mean():
    """End to end with numbers between the points: unbiased, with the variance that was stated."""
    found = design.mean(Grid(0, 10, 11), 1.0)
    mechanism = found.mechanism
    truths = np.random.default_rng(2).beta(2, 5, 300_000) * 10
    reports = mechanism.privatize(mechanism.round(truths, Randomness.seeded(3)), Randomness.seeded(4))
    values = mechanism.values[reports]
    error = values.std() / math.sqrt(truths.size)
    assert abs(values.mean() - truths.mean()) < 6.5 * error
    assert values.var() <= found.objective + 0.25 + truths.var()
    assert abs(truths.mean() + 0.2 - values.mean()) > 4 * error  # a bias of a fiftieth of the range would show


def test_bad_input_is_one_sentence():
    """Domains, levels and priors that cannot be."""
    for domain in (Binary(), Box(0, 1), 5, None):
        with pytest.raises(DesignError, match="Grid"):
            design.mean(domain, 1.0)
    with pytest.raises(DesignError, match="up to 64 points, not 65"):
        design.mean(Grid(0, 1, 65), 1.0)
    for epsilon in (1e-6, 9.0):
        with pytest.raises(PrivacyError, match=r"from 0\.01 to 8"):
            design.mean(Grid(0, 1, 3), epsilon)
    with pytest.raises(PrivacyError, match="above 0"):
        design.mean(Grid(0, 1, 3), -1.0)
    with pytest.raises(DesignError, match="sum to 1"):
        design.mean(Grid(0, 1, 3), 1.0, [0.5, 0.5, 0.5])
    with pytest.raises(DesignError, match="3 numbers"):
        design.mean(Grid(0, 1, 3), 1.0, [0.5, 0.5])
