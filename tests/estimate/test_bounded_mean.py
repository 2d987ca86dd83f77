"""Intervals of means of numbers with known ends, and of differences of groups, also where few people answered."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, stats

from discreet import Box, EstimationError, Grid, Randomness, estimate
from discreet.estimate.intervals.bounded_mean import Support, reaches
from discreet.mechanisms import BinaryResponse, CyclicResponse, GeneralizedResponse, ZeroInflatedLaplace

FEW = [0, 1, 2, 5, 20, 100]
RARE = np.array([0.5, 0.2, 0.2, 0.08, 0.01, 0.01])


def mixed_variance(mean, variance, end, at_end, towards):
    """Of people of whom a share has moved to the end, so that the mean is ``towards``: by its definition."""
    share = (towards - mean) / (end - mean)
    second = (1 - share) * (variance + mean**2) + share * (at_end + end**2)
    return second - towards**2


@pytest.mark.parametrize("n", [2, 10, 400])
@pytest.mark.parametrize(("mean", "variance"), [(1.5, 40.0), (1.5, 0.0), (90.0, 900.0), (50.0, 3000.0)])
def test_ends_solve_the_equation_that_defines_them(mean, variance, n):
    """The end is where n(μ − m)² = q² V(μ), V the variance of a mixture, by a root finder; or beyond the domain."""
    support, q = Support(low=0.0, high=100.0, at_low=70.0, at_high=300.0), 2.3
    below, above = (float(one[0]) for one in reaches(*(np.array([x]) for x in (mean, variance, n, q)), support))
    for reach, end, at_end, sign in ((below, 0.0, 70.0, -1), (above, 100.0, 300.0, 1)):

        def excess(mu, end=end, at_end=at_end):
            return n * (mu - mean) ** 2 - q * q * mixed_variance(mean, variance, end, at_end, mu)

        if excess(end) < 0:
            assert reach >= abs(end - mean)
        else:
            start = mean + sign * 1e-9
            assert mean + sign * reach == pytest.approx(optimize.brentq(excess, start, end), rel=1e-6)


@pytest.mark.parametrize("p", ["0.6", "0.9", "0.999"])
def test_of_two_values_it_is_wilsons_interval(p):
    """A share written as a mean of numbers with ends 0 and 1 has the interval that the share has."""
    asked = BinaryResponse.warner(p)
    reports = asked.privatize(np.arange(60) % 10 < 1, Randomness.seeded(3))
    share = estimate.mean(reports, asked)
    own = share.two_valued
    support = Support(low=0.0, high=1.0, at_low=own[3], at_high=own[2])
    pi = float(share)
    variance = pi * own[2] + (1 - pi) * own[3] + pi * (1 - pi)
    given = (np.array([x]) for x in (pi, variance, 60.0, 1.959963984540054))
    below, above = reaches(*given, support)
    expected = share.interval()[0]
    got = np.clip([pi - below[0], pi + above[0]], 0, 1)
    np.testing.assert_allclose(got, expected, atol=1e-9)


def test_variances_at_the_ends_are_those_of_the_channel():
    """What the randomisation gives the score of somebody at an end, simulated; and the least of all truths."""
    for mechanism, numbers in ((GeneralizedResponse(6, 1.5), FEW), (CyclicResponse(7, 1.0), range(7))):
        found = estimate.mean([0, 1, 2], mechanism, labels=list(numbers)).support
        scores = mechanism.inverse.as_matrix().T @ np.array(numbers, float)
        by_truth = [row @ scores**2 - (row @ scores) ** 2 for row in mechanism.matrix()]
        assert (found.low, found.high) == (min(numbers), max(numbers))
        assert found.at_low == pytest.approx(by_truth[0])
        assert found.at_high == pytest.approx(by_truth[-1])
        assert found.least == pytest.approx(min(by_truth))
    noise = ZeroInflatedLaplace(Box([0], [10]), 4.0, 0.15)
    at_ends = np.repeat([[0.0], [10.0]], 200_000, axis=0)
    reports = noise.privatize(at_ends, Randomness.seeded(2))
    support = estimate.mean(reports, noise).support
    halves = [estimate.mean(part, noise) for part in (reports[:200_000], reports[200_000:])]
    spread = [one.std_error[0] ** 2 * 200_000 for one in halves]
    np.testing.assert_allclose([support.at_low, support.at_high], spread, rtol=0.02)
    assert support.least <= min(spread) * 1.02
    plain = ZeroInflatedLaplace(Box([0], [10]), 4.0, 0.0)
    assert estimate.mean(np.array([1.0, 2.0]), plain).support.at_low == pytest.approx(plain.noise_scale[0] ** 2)


def coverage(draw, truth, runs):
    """How often the default interval holds the truth, and Wald's with the normal quantile."""
    inside = np.zeros(2)
    for run in range(runs):
        found = draw(run)
        low, high = found.interval()[0]
        centre, error = found.estimate[0], found.std_error[0]
        inside += [low <= truth <= high, abs(centre - truth) <= 1.959964 * error]
    return inside / runs


def test_ten_people_do_not_hide_a_rare_large_value():
    """1 % have 100 and others 0 to 20: ten answers miss them, the interval allows for them; Wald's does not.

    Below .885 of 600 runs has a chance of 1e-9 where the coverage is .95.
    """
    asked = GeneralizedResponse(6, 6.0)

    def draw(run):
        truth = np.random.default_rng([7, run]).choice(6, 10, p=RARE)
        return estimate.mean(asked.privatize(truth, Randomness.seeded(run)), asked, labels=FEW)

    ours, wald = coverage(draw, float(RARE @ FEW), 600)
    assert ours > 0.885
    assert wald < 0.8


def test_many_people_have_nearly_walds_interval():
    """The difference is of the order 1/n: at ten thousand people ends move by a few per cent of the width."""
    asked, grid = GeneralizedResponse(11, 2.0), Grid(0, 10, 11)
    reports = asked.privatize(np.random.default_rng(1).integers(0, 11, 10_000), Randomness.seeded(1))
    found = estimate.mean(reports, asked, labels=grid)
    wilson, wald = found.interval(), found.interval(method="wald")
    width = np.ptp(wald)
    assert np.abs(wilson - wald).max() < 0.03 * width
    t = stats.t.ppf(0.975, 9_999)
    np.testing.assert_allclose(wald[0, 1] - found.estimate[0], t * found.std_error[0] * np.sqrt(10_000 / 9_999))


def test_intervals_stay_within_the_domain_or_are_empty():
    """Reports that go with no mean of the domain contradict the design, and the interval says so."""
    asked = GeneralizedResponse(3, 0.5)
    low = estimate.mean([0] * 5, asked, labels=[0, 1, 2])
    assert low.interval()[0, 0] == 0
    assert low.interval()[0, 1] <= 2
    broken = estimate.mean([2] * 3_000, asked, labels=[0, 1, 2])
    assert np.isnan(broken.interval()).all()
    assert "contradict the design" in broken.summary()


def test_a_survey_counts_the_people_that_it_is_worth():
    """Weights, strata and clusters: with n replaced by the effective number of people and t of clusters − strata."""
    rng = np.random.default_rng(4)
    n, asked = 600, GeneralizedResponse(4, 2.0)
    aside = {"weights": rng.uniform(1, 5, n), "clusters": np.arange(n) // 20}
    reports = asked.privatize(rng.integers(0, 4, n), Randomness.seeded(4))
    found = estimate.mean(reports, asked, labels=[0, 1, 5, 9], **aside)
    variance = found.simple_variance[0] * n
    size = min(variance / found.std_error[0] ** 2, n)
    q = stats.t.ppf(0.975, 29)
    below, above = reaches(*(np.array([x]) for x in (float(found), variance, size, q)), found.support)
    np.testing.assert_allclose(found.interval()[0], [float(found) - below[0], float(found) + above[0]])


def test_weights_count_in_the_interval_of_a_share_given_the_table():
    """The interval of a weighted share in a table is that of the frequencies: fewer people count than there are."""
    rng = np.random.default_rng(6)
    asked, weights = BinaryResponse.warner("3/4"), rng.lognormal(0, 1.5, 500)
    reports = asked.privatize(rng.random(500) < 0.3, Randomness.seeded(6))
    mean = estimate.mean(reports, asked, weights=weights, target="table")
    shares = estimate.frequencies(reports, asked, weights=weights, target="table")
    np.testing.assert_allclose(mean.interval()[0], shares.interval()[1], rtol=1e-9)


def test_differences_of_shares_are_newcombes():
    """Method 10 of Newcombe (1998): his example 56/70 and 48/80 gives .0524 to .3339 without randomisation."""
    yes = np.repeat([True, False, True, False], [56, 14, 48, 32])
    group = np.repeat(["a", "b"], [70, 80])
    found = estimate.mean(yes, by=group).compare("a", "b")
    assert found.default_interval == "newcombe"
    np.testing.assert_allclose(found.interval()[0], [0.0524, 0.3339], atol=5e-5)
    asked = GeneralizedResponse.from_weights(2, 1, 0)
    shares = estimate.frequencies(yes.astype(int), asked, by=group).compare("a", "b")
    np.testing.assert_allclose(shares.interval(), found.interval(), rtol=1e-9)
    np.testing.assert_allclose(shares.p_values, found.p_values, rtol=1e-6)


@pytest.mark.parametrize("level", [0.9, 0.99])
def test_the_p_value_is_where_the_interval_leaves_zero_out(level):
    """At 1 − p an end of the interval is 0, with shared clusters and without."""
    rng = np.random.default_rng(8)
    n, asked = 400, BinaryResponse.warner("0.8")
    group = np.where(rng.random(n) < 0.3, "a", "b")
    reports = asked.privatize(rng.random(n) < np.where(group == "a", 0.35, 0.15), Randomness.seeded(8))
    for aside in ({}, {"clusters": np.arange(n) % 40, "weights": rng.uniform(1, 2, n)}):
        found = estimate.mean(reports, asked, by=group, **aside).compare("a", "b")
        p = float(found.p_values[0])
        ends = found.interval(1 - p)[0]
        assert np.abs(ends).min() < 1e-9
        assert (found.interval(level)[0, 0] > 0) == (p < 1 - level)


def test_groups_that_share_clusters_are_compared_with_their_correlation():
    """Zou and Donner's form: with a correlation near one the difference is known better than either share."""
    rng = np.random.default_rng(9)
    cluster = np.repeat(np.arange(40), 20)
    yes = rng.random(800) < np.repeat(rng.beta(0.3, 0.3, 40), 20)
    group = np.tile(["a", "b"], 400)
    found = estimate.mean(yes, by=group, clusters=cluster)
    apart = estimate.mean(yes, by=group)
    assert found.covariance[0, 1] > 0.5 * found.covariance[0, 0]
    difference = found.compare("a", "b")
    sides = difference.sides(np.array([stats.t.ppf(0.975, 39)]))
    rho = found.covariance[0, 1] / np.sqrt(found.covariance[0, 0] * found.covariance[1, 1])
    low = np.sqrt(sides[0] ** 2 + sides[3] ** 2 - 2 * rho * sides[0] * sides[3])
    np.testing.assert_allclose(difference.interval()[0, 0], difference.estimate[0] - low)
    assert np.ptp(difference.interval()) < np.hypot(*np.ptp(found.interval(), axis=1))
    assert apart.compare("a", "b").degrees_of_freedom[0] == np.inf


def test_differences_of_numbers_have_welchs_degrees_of_freedom():
    """As scipy's t-test of unequal variances, for public numbers in two groups of different sizes."""
    rng = np.random.default_rng(10)
    x, y = rng.normal(1, 3, 8), rng.normal(0, 1, 31)
    found = estimate.mean(np.concatenate([x, y]), by=np.repeat(["x", "y"], [8, 31])).compare("x", "y")
    test = stats.ttest_ind(x, y, equal_var=False)
    assert found.degrees_of_freedom[0] == pytest.approx(test.df)
    assert found.p_values[0] == pytest.approx(test.pvalue)
    np.testing.assert_allclose(found.interval()[0], test.confidence_interval(), rtol=1e-9)


def test_small_groups_without_known_ends_say_so():
    """Public numbers have no domain: the result itself says what its interval rests on."""
    x, groups = np.arange(50.0), np.repeat(["many", "few", "one"], [40, 9, 1])
    found = estimate.mean(x, by=groups)
    assert any("fewer than 30 answers in few:" in note for note in found.notes)
    assert any("groups of one row" in note for note in found.notes)
    assert not any("fewer than 30" in note for note in estimate.mean(x).notes)
    asked = GeneralizedResponse(6, 2.0)
    assert not any("fewer than 30" in n for n in estimate.mean([0, 1, 2, 5], asked, labels=FEW).notes)


def test_made_up_reports_and_comparisons_are_not_mixed():
    """A comparison would not be widened, although the note of its groups says that intervals are."""
    asked = BinaryResponse.warner("3/4")
    groups = estimate.frequencies([0, 1] * 50, asked, by=["a", "b"] * 50, contamination=0.05)
    with pytest.raises(EstimationError, match="without contamination"):
        groups.compare("a", "b")
