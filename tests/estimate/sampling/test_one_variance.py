"""The same sample has the same standard error, degrees of freedom and interval, whatever is asked of it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet import estimate
from discreet.estimate.sampling.unit_totals import UnitTotals
from discreet.mechanisms import BinaryResponse, ChannelResponse, GeneralizedResponse
from tests.estimate.golden.releases import SURVEYS, opened

DIRECT = BinaryResponse(1, 1)
WARNER = BinaryResponse.warner("3/4")


def _reports(mechanism, truth, rng):
    edges = np.cumsum(np.asarray(mechanism.matrix(), float), axis=1)
    return (edges[truth] < rng.random(truth.size)[:, None]).sum(axis=1)


@pytest.mark.parametrize("target", ["population", "table"])
@pytest.mark.parametrize("survey", sorted(SURVEYS))
def test_frequencies_and_mean_of_a_yes_no_answer_are_one(survey, target):
    """Standard error, degrees of freedom, and intervals of both methods are equal."""
    release = opened("answers", survey)
    table = estimate.frequencies(release, "cheated", target=target)
    mean = estimate.mean(release, "cheated", target=target)
    assert table.std_error[1] == pytest.approx(mean.std_error[0], rel=1e-10)
    assert table.spread.degrees_of_freedom == pytest.approx(mean.degrees_of_freedom[0], rel=1e-10)
    for method in (None, "wald", "wilson"):
        assert np.allclose(table.interval(method=method)[1], mean.interval(method=method)[0], rtol=1e-10)


@pytest.mark.parametrize("survey", ["clustered", "survey"])
def test_totals_of_units_give_the_variance_and_degrees_of_freedom_of_a_mean(survey):
    """A regression that adds up the scores of its rows gets what the mean has, also part by part."""
    release = opened("answers", survey)
    mean = estimate.mean(release, "cheated")
    table = release.to_arrow()
    weights = np.ones(table.num_rows) if release.survey.weight is None else table["w"].to_numpy()
    inverse = np.linalg.inv(np.asarray(release.mechanism("cheated").matrix(), float).T)
    score = inverse[1, (table["cheated"].to_numpy(zero_copy_only=False) == "yes").astype(int)]
    rows = (weights * (score - float(mean)) / weights.sum())[:, None]
    strata = table["region"] if release.survey.strata else None
    whole, first, second = UnitTotals(1), UnitTotals(1), UnitTotals(1)
    clusters = table["school"].to_numpy()
    strata = None if strata is None else strata.to_numpy(zero_copy_only=False)
    whole.add(strata, clusters, rows)
    for part, chosen in ((first, slice(0, 300)), (second, slice(300, None))):
        part.add(None if strata is None else strata[chosen], clusters[chosen], rows[chosen])
    for found in (whole.finished(), (second + first).finished()):
        assert math.sqrt(found.scores[0, 0]) == pytest.approx(mean.std_error[0], rel=1e-10)
        assert found.degrees_of(np.eye(1))[0] == pytest.approx(mean.degrees_of_freedom[0], rel=1e-10)


def test_a_finite_population_enters_the_degrees_of_freedom():
    """A stratum that was sampled nearly whole does not count for the degrees of freedom."""
    rng = np.random.default_rng(3)
    strata = np.repeat([0, 1], [10, 200])
    numbers = np.where(strata == 0, rng.normal(0, 50, strata.size), rng.normal(0, 1, strata.size))
    sizes = np.where(strata == 0, 10.01, 1e6)
    without, corrected = (estimate.mean(numbers, strata=strata, fpc=fpc).degrees_of_freedom[0] for fpc in (None, sizes))
    assert without < 15
    assert corrected > 100


def test_intervals_keep_what_stratification_gains():
    """Two strata of 5 and 95 %: the default interval is about as wide as Wald's."""
    rng = np.random.default_rng(5)
    strata = np.repeat([0, 1], 200)
    truth = (rng.random(400) < np.where(strata == 0, 0.05, 0.95)).astype(int)
    found = estimate.frequencies(truth, DIRECT, strata=strata)
    default, wald = (np.diff(found.interval(method=method)[1])[0] for method in (None, "wald"))
    assert default == pytest.approx(wald, rel=0.05)


def test_randomisation_bounds_what_stratification_gains():
    """A sample of randomised answers is never worth more people than the randomisation allows."""
    strata = np.repeat(np.arange(100), 2)
    reports = np.tile([0, 0, 1, 1], 50)
    found = estimate.frequencies(reports, WARNER, strata=strata)
    own = 0.75 * 0.25 / 0.25  # the randomisation variance of one debiased answer
    assert np.diff(found.interval()[1])[0] > 1.9 * 1.96 * math.sqrt(own / 200)


def test_no_yes_in_clusters_has_an_interval_of_some_width():
    """Nobody of 24 in clusters said "yes": the interval counts every cluster as one person."""
    clusters = np.repeat(np.arange(8), 3)
    for found in (
        estimate.frequencies(np.zeros(24, int), DIRECT, clusters=clusters).interval()[1],
        estimate.mean(np.zeros(24, int), DIRECT, clusters=clusters).interval()[0],
    ):
        assert found[0] == 0
        assert 0.2 < found[1] < 0.6


@pytest.mark.parametrize("yes", [0, 1])
def test_rare_answers_under_several_designs_have_an_interval_within_the_limits(yes):
    """Rows asked under two designs have Wilson's interval, not one of width zero or below zero."""
    reports = np.zeros(96, int)
    reports[:yes] = 1
    mixed = {"a": DIRECT, "b": BinaryResponse.forced("1/20", 0)}
    found = estimate.frequencies(reports, mixed, designs=np.tile(["a", "b"], 48))
    low, high = found.interval()[1]
    assert found.default_interval == "wilson"
    assert low == 0 or low > 0
    assert high > 0.01


def test_weights_of_a_fixed_table_are_counted_where_they_are():
    """Given the table, Wilson's interval of a design with unequal errors is as wide as Wald's where n is large."""
    rng = np.random.default_rng(8)
    forced = BinaryResponse.forced("1/3", 0)
    truth = (rng.random(4_000) < 0.3).astype(int)
    weights = np.where(truth == 1, 4.0, 1.0)
    found = estimate.frequencies(_reports(forced, truth, rng), forced, weights=weights, target="table")
    wilson, wald = (np.diff(found.interval(method=method)[1])[0] for method in ("wilson", "wald"))
    assert wilson == pytest.approx(wald, rel=0.03)


def test_an_odds_ratio_of_few_clusters_uses_students_t():
    """With five clusters the interval of the odds ratio has four degrees of freedom."""
    rng = np.random.default_rng(1)
    a = rng.integers(0, 2, 500)
    b = np.where(rng.random(500) < 0.3, a, rng.integers(0, 2, 500))
    clusters = np.arange(500) % 5
    table = estimate.crosstab_of_reports(a, b, DIRECT, DIRECT, clusters=clusters)
    ratio, low, high = table.odds_ratio()
    gradient = np.array([1, -1, -1, 1]) / table.estimate.ravel()
    error = math.sqrt(gradient @ table.covariance @ gradient)
    assert math.log(high / low) / 2 == pytest.approx(2.7764451 * error, rel=1e-6)
    assert low < ratio < high


def test_the_p_value_of_a_correlation_agrees_with_its_interval():
    """P is 5 % where an end of the 95 % interval is 0."""
    release = opened("answers")
    for a, b in (("pain", "age"), ("hours", "age"), ("drinks", "age"), ("cheated", "drinks")):
        found = estimate.correlation(release, a, b)
        at_p = found.interval(1 - found.p_value)[0]
        assert np.abs(at_p).min() == pytest.approx(0, abs=1e-9)


def test_groups_of_a_fixed_table_are_compared():
    """Differences and ratios of means given the table have the normal law."""
    release = opened("answers")
    means = estimate.mean(release, "meals", by="region", target="table")
    for kind in ("difference", "ratio"):
        with np.errstate(all="raise"):
            found = means.compare(kind=kind)
        assert np.isinf(found.degrees_of_freedom).all()
        assert np.isfinite(found.interval()).all()


def test_confidence_sequences_of_a_fixed_table_leave_sampling_out():
    """Given the table they are narrower than for the population, for frequencies and for means alike."""
    reports = np.tile([0, 0, 1], 300)
    for ask in (estimate.frequencies, estimate.mean):
        table, population = (ask(reports, WARNER, target=target) for target in ("table", "population"))
        widths = [np.diff(one.interval(method="anytime")[-1])[0] for one in (table, population)]
        assert 0 < widths[0] < 0.95 * widths[1]


def test_weights_of_one_do_not_weaken_the_test_of_independence():
    """The F test with equal weights is Pearson's χ² over its degrees of freedom, but for n − 1."""
    rng = np.random.default_rng(2)
    a = rng.integers(0, 3, 300)
    b = np.where(rng.random(300) < 0.3, a, rng.integers(0, 3, 300))
    for mechanism in (_truthful(3), GeneralizedResponse(3, 2.0)):
        reports = [_reports(mechanism, codes, np.random.default_rng(seed)) for seed, codes in ((4, a), (5, b))]
        plain = estimate.crosstab_of_reports(*reports, mechanism, mechanism).chi_square()
        ones = estimate.crosstab_of_reports(*reports, mechanism, mechanism, weights=np.ones(300)).chi_square()
        assert ones.statistic == pytest.approx(plain.statistic / plain.df * 299 / 300, rel=1e-9)


def _truthful(size):
    return ChannelResponse(np.eye(size, dtype=int).tolist())
