"""Score tests and intervals: level, agreement with Wald where all is well, honesty where it is not."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import EstimationError, Randomness, design, estimate
from discreet.estimate.regressions.likelihood.links import LINKS
from discreet.estimate.regressions.likelihood.rows import checked_rows
from discreet.estimate.regressions.likelihood.score import ScoreTest


def survey(n, epsilon, seed, beta=(-0.5, 0.8)):
    """Reports of a logit model through randomised response."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.normal(size=n)])
    truth = rng.random(n) < 1 / (1 + np.exp(-(X @ np.array(beta))))
    mechanism = design.binary(epsilon).mechanism
    p = float(mechanism.p00)
    return X, mechanism.privatize(truth, Randomness.seeded(seed)), p


def score_test(X, y, p, link="logit"):
    """The score test of these rows."""
    return ScoreTest(checked_rows(X, y, p, p), LINKS[link])


def test_score_and_wald_agree_in_large_samples():
    """Where the normal approximation is good, the two intervals are nearly the same."""
    X, y, p = survey(20_000, 2.0, 1)
    fit = estimate.binary_regression(X, y, p, p)
    assert np.allclose(fit.interval(method="score"), fit.interval(), atol=0.08 * fit.std_error.max())


def test_the_ends_are_where_the_test_just_rejects():
    """Each finite end has a statistic at the chi-square quantile."""
    X, y, p = survey(3_000, 1.0, 2)
    fit = estimate.binary_regression(X, y, p, p)
    for j, ends in enumerate(fit.interval(0.9, method="score")):
        for end in ends:
            assert score_test(X, y, p).statistic(j, end) == pytest.approx(2.7055, abs=1e-3)


def test_the_test_keeps_its_level_under_strong_randomisation():
    """At ε = 0.25 and n = 1,000 the truth is rejected about 5 % of the time, also when the maximum is infinite."""
    rejected = np.zeros(2)
    runs = 600
    for run in range(runs):
        X, y, p = survey(1_000, 0.25, 100 + run)
        test = score_test(X, y, p)
        rejected += [test.statistic(j, b) > 3.8415 for j, b in enumerate((-0.5, 0.8))]
    assert np.all(rejected / runs < 0.05 + 6.5 * np.sqrt(0.05 * 0.95 / runs))
    assert np.all(rejected / runs > 0.005)


def test_an_end_may_be_infinite():
    """Ten reports at ε = 0.1 do not bound anything."""
    X, y, p = survey(30, 0.1, 5)
    fit = estimate.binary_regression(X[:, :1], y, p, p)
    assert np.isinf(fit.interval(method="score")).any()


def rare(seed, n=600):
    """A rare outcome at ε = 1, where a test that stops at the first rejected value misses much."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.normal(size=(n, 2))])
    truth = rng.random(n) < 1 / (1 + np.exp(-(X @ [-3.0, 0.8, 0.8])))
    p = float(np.exp(1) / (1 + np.exp(1)))
    return X, np.where(rng.random(n) < p, truth, ~truth), p


def test_intervals_hold_every_value_that_the_test_accepts():
    """Against a grid: nothing accepted lies outside, and no interval is missing."""
    for seed in range(12):
        X, y, p = rare(seed)
        test = score_test(X, y, p)
        for j in range(3):
            low, high = test.interval(j, 1.959964)
            assert low < high
            accepted = [b for b in np.linspace(-12, 12, 25) if test.statistic(j, b) < 3.8414]
            assert all(low <= b <= high for b in accepted)


def test_intervals_cover_rare_outcomes():
    """The interval itself, 60 times: as often as the test accepts the truth, and never (nan, nan)."""
    covered, runs = np.zeros(3), 60
    for seed in range(runs):
        X, y, p = rare(1_000 + seed)
        test = score_test(X, y, p)
        ends = np.array([test.interval(j, 1.959964) for j in range(3)])
        assert not np.isnan(ends).any()
        covered += (ends[:, 0] <= [-3.0, 0.8, 0.8]) & (ends[:, 1] >= [-3.0, 0.8, 0.8])
    assert np.all(covered / runs > 0.95 - 6.5 * np.sqrt(0.05 * 0.95 / runs))


def cells(*counts):
    """Two yes/no covariates after the intercept: rows and ones among their reports, for each pair of values."""
    X, y = [], []
    for (first, second), (n, ones) in zip([(0, 0), (0, 1), (1, 0), (1, 1)], counts, strict=True):
        X += [[1.0, first, second]] * n
        y += [1] * ones + [0] * (n - ones)
    return np.array(X), np.array(y)


@pytest.mark.parametrize(
    "counts",
    [
        ((1223, 372), (124, 38), (141, 62), (12, 1)),
        ((1218, 402), (134, 38), (140, 55), (8, 0)),
        ((1196, 387), (141, 40), (144, 61), (19, 4)),
    ],
)
def test_a_coefficient_without_bound_does_not_take_the_others_with_it(counts):
    """Where the estimate of one coefficient is infinite the search for the others still starts near their own."""
    X, y = cells(*counts)
    test = score_test(X, y, float(np.exp(1) / (1 + np.exp(1))))
    for j in range(3):
        low, high = test.interval(j, 1.959964)
        assert low < high
        accepted = [b for b in np.linspace(-8, 8, 33) if test.statistic(j, b) < 3.8414]
        assert len(accepted) > 1 or high - low < 1
        assert all(low <= b <= high for b in accepted)


def test_a_search_from_far_away_arrives():
    """From a rejected centre the values between which the root changes its sign are found, however far they lie."""
    X, y, p = survey(20_000, 2.0, 3)
    test, moved = score_test(X, y, p), score_test(X, y, p)
    moved._centre = moved._centre + np.array([40.0, -25.0])
    for j in range(2):
        np.testing.assert_allclose(moved.interval(j, 1.959964), test.interval(j, 1.959964), rtol=1e-5)


def test_reports_that_contradict_the_model_have_no_interval():
    """Everybody reports 1 though at most 60 % should: every value is rejected, and the summary says so."""
    fit = estimate.binary_regression(np.ones((500, 1)), np.ones(500), 0.6, 0.6, names=["const"])
    assert np.isnan(fit.interval(method="score")).all()
    assert 'rejects every value of "const"' in fit.summary(method="score")


def test_the_unused_half_of_a_turned_design_changes_nothing():
    """Reports coded the other way round, p00 + p11 < 1: the same intervals."""
    X, y, p = survey(2_000, 1.0, 6)
    straight = score_test(X, y, p).interval(1, 1.96)
    turned = ScoreTest(checked_rows(X, 1 - y, 1 - p, 1 - p), LINKS["logit"]).interval(1, 1.96)
    assert straight == pytest.approx(turned, abs=1e-6)


@pytest.mark.parametrize("link", LINKS)
def test_every_link_has_one_statistic_per_value(link):
    """The value alone counts, not the values tried before it; some of these equations have no finite solution."""
    for seed in range(6):
        X, y, p = rare(seed, 300)
        used = score_test(X, y, p, link)
        values = [-30.0, 5.0, -2.0, 0.5, 40.0, -1.0]
        for j in range(3):
            before = [used.statistic(j, value) for value in values]
            fresh = [score_test(X, y, p, link).statistic(j, value) for value in values]
            np.testing.assert_allclose(before, fresh, rtol=1e-4, atol=1e-6)


def test_columns_far_from_zero_move_only_the_intercept():
    """A year beside a centred year: the same interval of the slope, and a finite one for the distant intercept."""
    X, y, p = survey(4_000, 2.0, 7)
    moved = X + np.array([0.0, 2_000.0])
    slope, shifted = (score_test(one, y, p).interval(1, 1.96) for one in (X, moved))
    assert slope == pytest.approx(shifted, abs=1e-4)
    assert np.isfinite(score_test(moved, y, p).interval(0, 1.96)).all()


def test_mixed_designs_and_offsets():
    """Direct and crosswise rows, an offset, and rows that carry no information."""
    rng = np.random.default_rng(3)
    n = 20_000
    X = np.column_stack([np.ones(n), rng.normal(size=n)])
    shift = rng.normal(size=n)
    truth = rng.random(n) < 1 / (1 + np.exp(-(X @ [0.2, -0.6] + shift)))
    p = rng.choice([1.0, 0.25, 0.5], n)
    y = np.where(rng.random(n) < p, truth, ~truth)
    fit = estimate.binary_regression(X, y, p, p, offset=shift)
    low, high = fit.interval(0.9999, method="score").T
    assert np.all((low < [0.2, -0.6]) & (high > [0.2, -0.6]))
    assert np.allclose(fit.interval(method="score"), fit.interval(), atol=0.2 * fit.std_error.max())


def test_surveys_are_refused():
    """With weights the score has another distribution."""
    X, y, p = survey(500, 1.0, 4)
    fit = estimate.binary_regression(X, y, p, p, weights=np.ones(500) * 2)
    with pytest.raises(EstimationError, match="score intervals"):
        fit.interval(method="score")
