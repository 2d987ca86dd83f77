"""Intervals that may be looked at again and again."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet import EstimationError, estimate
from discreet.estimate.anytime import allowed_shares, bounded_deviation, reach
from discreet.mechanisms import BinaryResponse, GeneralizedResponse


def test_the_reach_is_the_published_formula():
    """Written out once more, at several n and levels."""
    for n, level, planned in [(1, 0.95, 1000), (700, 0.99, 50), (10**7, 0.5, 10**4)]:
        alpha = 1 - level
        rho2 = (-2 * math.log(alpha) + math.log(1 - 2 * math.log(alpha))) / planned
        expected = math.sqrt(2 * (n * rho2 + 1) / (n**2 * rho2) * math.log(math.sqrt(n * rho2 + 1) / alpha))
        assert reach(n, np.array([1.0]), level, planned)[0] == pytest.approx(expected, rel=1e-9)


def test_it_is_tightest_near_the_planned_number():
    """Among all plans, the one for n is within a few per cent of the narrowest at n."""
    n = 2_000
    widths = {planned: reach(n, np.array([1.0]), 0.95, planned)[0] for planned in np.geomspace(50, 10**5, 200)}
    assert reach(n, np.array([1.0]), 0.95, n)[0] < 1.01 * min(widths.values())


@pytest.mark.parametrize("prevalence", [0.0, 0.05, 0.5])
def test_many_looks_do_not_mislead(prevalence):
    """Fixed intervals miss at some look in a third of all surveys; the sequence in fewer than α = 5 %."""
    rng, runs, largest = np.random.default_rng(5), 1_000, 3_000
    mechanism = BinaryResponse.warner(0.73)
    channel, inverse = mechanism.matrix(), mechanism.inverse.as_matrix()
    share = channel[0, 1] + prevalence * (channel[1, 1] - channel[0, 1])
    ones = (rng.random((runs, largest)) < share).cumsum(axis=1)
    fixed, asymptotic, rigorous = np.zeros((3, runs), bool)
    for n in range(50, largest + 1, 50):
        q = ones[:, n - 1] / n
        estimate = inverse[1, 0] * (1 - q) + inverse[1, 1] * q
        slope = abs(inverse[1, 1] - inverse[1, 0])
        allowed = np.array([allowed_shares(np.array([1 - x, x]), channel)[1] for x in q])
        deviation = slope * np.sqrt(allowed * (1 - allowed))
        error = np.abs(estimate - prevalence)
        fixed |= error > 1.96 * slope * np.sqrt(q * (1 - q) / n)
        asymptotic |= error > reach(n, deviation, 0.95)
        rigorous |= error > reach(n, bounded_deviation(inverse)[1:], 0.95)
    assert fixed.mean() > 0.25
    assert rigorous.mean() <= asymptotic.mean() < 0.05  # 0.05 itself would be met by chance; measured 1 to 3 %


def test_the_result_has_these_intervals():
    """By name: around the unbiased estimate, wider than Wald's, the rigorous ones wider still, all inside [0, 1]."""
    mechanism = GeneralizedResponse(3, 1.0)
    result = estimate.frequencies(counts=[500, 300, 200], mechanism=mechanism)
    inverse, n = mechanism.inverse.as_matrix(), 1_000
    half = reach(n, bounded_deviation(inverse), 0.95)
    found = result.interval(method="anytime-rigorous")
    np.testing.assert_allclose(found[:, 1], np.clip(result.estimate + half, 0, 1))
    widths = [np.ptp(result.interval(method=name), axis=1).max() for name in ("wald", "anytime", "anytime-rigorous")]
    assert widths == sorted(widths)
    assert 1.3 < widths[1] / widths[0] < 1.8
    with pytest.raises(EstimationError, match="simple random samples"):
        estimate.frequencies([0, 1, 1], mechanism, weights=[1.0, 2.0, 1.0]).interval(method="anytime")


def test_unanimous_answers_still_have_a_spread():
    """Where all reports agree the plain share has no variance; what the design allows has."""
    mechanism = BinaryResponse.warner(0.75)
    np.testing.assert_allclose(allowed_shares(np.array([1.0, 0.0]), mechanism.matrix()), [0.75, 0.25])


def test_the_bounded_deviation_is_half_the_range():
    """For generalised response the debiased answer takes two values."""
    mechanism = GeneralizedResponse(5, 1.0)
    inverse = mechanism.inverse.as_matrix()
    np.testing.assert_allclose(bounded_deviation(inverse), (inverse.max() - inverse.min()) / 2)
