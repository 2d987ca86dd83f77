"""Tests of independence: they keep their level where reports are rare and margins uneven, and find associations."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import chdtrc
from scipy.stats import binom, chi2_contingency, multinomial

from discreet import design
from discreet.errors import EstimationError
from discreet.estimate import crosstab_of_reports
from discreet.estimate.channels.channel import Channels
from discreet.estimate.channels.joint import JointChannels
from discreet.estimate.sampling.weighted_counts import Evidence
from discreet.estimate.tables.independence import (
    _moments_given_margins,
    _own_terms,
    independence_fit,
    independence_test,
    interaction_basis,
    joint_independence_test,
    score_statistic,
    score_test,
)
from discreet.mechanisms import GeneralizedResponse

#: A size above this would be found by the tests below: the most that is allowed of a test at 5 %.
MOST = 0.08


def margin(size, first):
    """The first value with a given share, the others alike."""
    return np.array([first, *([(1 - first) / (size - 1)] * (size - 1))])


def pair(sizes, levels, pairs="keep"):
    """The channels of the first two attributes of a joint design."""
    return JointChannels.of(design.attributes(sizes, levels, pairs=pairs).mechanism, (0, 1))


def tables(channel, law, n, runs, seed):
    """Counts of the reports of n people, one line per run."""
    return np.random.default_rng(seed).multinomial(n, law.reshape(-1) @ channel, runs)


def rejected(evidence, test):
    """How many tables a test at 5 % rejects."""
    return sum(test(Evidence(counts)).p_value < 0.05 for counts in evidence)


def p_values(counts, channel, rows, columns):
    """Of the score test for many tables at once, and of Pearson's test against the same fit."""
    n = counts[0].sum()
    fitted, directions = independence_fit(counts / n, channel, rows, columns)
    basis = interaction_basis(fitted, directions)
    statistic, variance = score_statistic(counts / n, n, fitted, basis)
    df = basis.shape[1]
    pearson = n * np.sum((counts / n - fitted) ** 2 / fitted, axis=1)
    return chdtrc(2 * df**2 / variance, 2 * df * statistic / variance), chdtrc(df, pearson)


@pytest.mark.parametrize(
    ("sizes", "levels", "pairs", "first", "n", "pearson"),
    [
        ([6, 6, 2], [3, 3, 1], "keep", 0.9, 300, 0.06),  # the Wald test with the observed covariance: 95 %
        ([6, 6, 2], [3, 3, 1], "keep", 0.9, 1000, 0.05),  # 37 %
        ([6, 6, 2], [5, 5, 1], "free", 0.98, 300, 0.12),  # expected counts of 0.3
        ([2, 6, 3], [2, 3, 1], "free", 0.98, 300, 0.09),  # margins fitted as zero
    ],
)
def test_level_after_joint_randomisation(sizes, levels, pairs, first, n, pearson):
    """Uneven margins, rare reports, 4,000 tables: 3 to 8 % are rejected; Pearson's against the fit rejects more."""
    channels = pair(sizes, levels, pairs)
    law = np.outer(margin(sizes[0], first), margin(sizes[1], first))
    counts = tables(channels.matrix(None), law, n, 4000, 1)
    ours, plain = p_values(counts, channels.matrix(None), *sizes[:2])
    assert 0.03 < np.mean(ours < 0.05) < MOST
    assert np.mean(plain < 0.05) > pearson - 0.01
    for row in range(10):
        assert joint_independence_test(Evidence(counts[row]), channels).p_value == pytest.approx(ours[row], rel=1e-5)


def test_power_after_joint_randomisation():
    """Half of the people with the same value in both attributes: found nearly always at n = 1,000."""
    channels = pair([6, 6, 2], [3, 3, 1])
    uneven = margin(6, 0.9)
    law = 0.5 * np.outer(uneven, uneven) + 0.5 * np.diag(uneven)
    count = rejected(
        tables(channels.matrix(None), law, 1000, 60, 2), lambda one: joint_independence_test(one, channels)
    )
    assert count >= 54


@pytest.mark.parametrize(("level", "first", "n"), [(5.0, 0.98, 300), (5.0, 0.9, 300), (3.0, 0.98, 300)])
def test_level_of_pearson_in_sparse_tables(level, first, n):
    """Expected counts far below five: exact moments keep the level where the χ² law gives 22, 15 and 8 %."""
    mechanism = GeneralizedResponse(6, level)
    channels = Channels.of(mechanism)
    law = np.outer(margin(6, first), margin(6, first))
    counts = tables(np.kron(mechanism.matrix(), mechanism.matrix()), law, n, 1000, 3)
    count = rejected(counts, lambda one: independence_test(one, channels, channels))
    assert binom.sf(count - 1, 1000, MOST) > 1e-6
    assert binom.cdf(count, 1000, 0.03) > 1e-6


def test_fit_under_independence_is_the_maximum():
    """EM reaches the log-likelihood that a general optimiser reaches; also with a margin at zero."""
    channels = pair([3, 4, 2], [1.0, 2.0, 0.5], "free")
    channel = channels.matrix(None)
    on_boundary = 0
    for counts in tables(channel, np.outer(margin(3, 0.9), margin(4, 0.9)), 500, 8, 4):
        shares = counts / counts.sum()

        def loss(x, shares=shares):
            return -float(shares @ np.log(np.kron(x[:3], x[3:]) @ channel))

        fitted, _ = independence_fit(shares[None], channel, 3, 4)
        ours = -float(shares @ np.log(fitted[0]))
        sums = [{"type": "eq", "fun": lambda x: x[:3].sum() - 1}, {"type": "eq", "fun": lambda x: x[3:].sum() - 1}]
        start = np.repeat([1 / 3, 1 / 4], [3, 4])
        best = minimize(loss, start, bounds=[(0, 1)] * 7, constraints=sums, options={"ftol": 1e-14, "maxiter": 500})
        assert ours <= best.fun + 1e-8
        on_boundary += best.x.min() < 1e-6
    assert on_boundary > 0


def test_statistic_is_pearsons_against_the_fit_inside_the_simplex():
    """With positive margins nothing is left to take out of the residuals."""
    channels = pair([3, 3, 2], [2.0, 2.0, 1.0])
    counts = tables(channels.matrix(None), np.outer([0.3, 0.3, 0.4], [0.2, 0.5, 0.3]), 3000, 1, 5)[0]
    fitted, _ = independence_fit((counts / 3000)[None], channels.matrix(None), 3, 3)
    test = joint_independence_test(Evidence(counts), channels)
    assert test.statistic == pytest.approx(np.sum((counts - 3000 * fitted) ** 2 / (3000 * fitted)), rel=1e-6)
    assert (test.method, test.df, test.notes) == ("score", 4, ())


def test_statistic_has_the_stated_moments():
    """Over all tables of four people at known margins: mean df, and the stated variance."""
    channels = pair([2, 2, 2], [1.0, 1.0, 1.0], "free")
    law = np.outer([0.8, 0.2], [0.7, 0.3]).reshape(-1)
    fitted, directions = independence_fit((law @ channels.matrix(None))[None], channels.matrix(None), 2, 2)
    basis = interaction_basis(fitted, directions)
    n = 4
    every = np.array([c for c in itertools.product(range(n + 1), repeat=4) if sum(c) == n])
    chance = multinomial.pmf(every, n, fitted[0])
    values, variance = zip(*(score_statistic((c / n)[None], n, fitted, basis) for c in every), strict=True)
    values = np.concatenate(values)
    assert chance @ values == pytest.approx(1.0)
    assert chance @ (values - 1) ** 2 == pytest.approx(float(variance[0][0]))


def test_moments_given_margins_over_all_orders():
    """Haldane's mean and variance are those over all ways to pair the reports of seven people."""
    first, second = np.array([0, 0, 0, 1, 1, 2, 2]), np.array([0, 0, 0, 0, 1, 1, 1])
    values = []
    for order in itertools.permutations(range(7)):
        table = np.bincount(first * 2 + second[list(order)], minlength=6).reshape(3, 2)
        expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / 7
        values.append(np.sum((table - expected) ** 2 / expected))
    assert _moments_given_margins(table.astype(float)) == pytest.approx((np.mean(values), np.var(values)))


def test_sparse_tables_say_where_the_p_value_comes_from():
    """Statistic and degrees of freedom are Pearson's, the p-value is not, and a note says so."""
    mechanism = GeneralizedResponse(3, 3.0)
    counts = np.array([[60, 2, 1], [3, 4, 0], [2, 0, 1]])
    test = independence_test(Evidence(counts.reshape(-1)), Channels.of(mechanism), Channels.of(mechanism))
    reference = chi2_contingency(counts, correction=False)
    assert test.statistic == pytest.approx(reference.statistic)
    assert test.df == reference.dof
    assert test.p_value > 2 * reference.pvalue
    assert "scaled χ²" in str(test)


def test_one_attribute_that_holds_two_variables():
    """Without noise the score test is Pearson's test, and values that nobody has are left out of it."""
    counts = np.array([[300, 200, 0], [150, 400, 0]])
    test = score_test(Evidence(counts.reshape(-1)), np.eye(6), 2, 3)
    reference = chi2_contingency(counts[:, :2], correction=False)
    assert test.statistic == pytest.approx(reference.statistic)
    assert test.p_value == pytest.approx(reference.pvalue)
    assert test.df == 1
    with pytest.raises(EstimationError, match="only one report"):
        score_test(Evidence(np.array([3, 4, 0, 0])), np.eye(4), 2, 2)


def test_weights_and_clusters_with_a_joint_block():
    """Equal weights give nearly the plain test; people who are alike in clusters need the survey's, which holds."""
    joint = design.attributes([2, 2, 2], [2.0, 2.0, 2.0], pairs="free").mechanism
    generator = np.random.default_rng(6)
    channel, views = joint.view(0, 1).matrix(), (joint.view(0), joint.view(1))
    who = np.repeat(np.arange(40), 25)
    runs, plain, robust = 150, 0, 0
    for _ in range(runs):
        shared = (generator.random((2, 40)) < 0.3)[:, who]
        truth = np.where(generator.random((2, who.size)) < 0.7, shared, generator.random((2, who.size)) < 0.3)
        cell = truth[0] * 2 + truth[1]
        draws = generator.random((who.size, 1))
        reports = np.divmod((draws > channel.cumsum(axis=1)[cell, :-1]).sum(axis=1), 2)
        plain += crosstab_of_reports(*reports, *views).chi_square().p_value < 0.05
        robust += crosstab_of_reports(*reports, *views, clusters=who).chi_square().p_value < 0.05
    assert plain > runs / 4
    assert binom.sf(robust - 1, runs, MOST) > 1e-6
    weighted = crosstab_of_reports(*reports, *views, weights=np.full(who.size, 2.0)).chi_square()
    assert weighted.method == "rao-scott"
    assert weighted.p_value == pytest.approx(
        crosstab_of_reports(*reports, *views).chi_square().p_value, rel=0.2, abs=1e-3
    )


@pytest.mark.parametrize("clusters", [None, np.repeat(np.arange(20), 10)])
def test_own_terms_are_sums_over_units(clusters):
    """What every unit adds to tr V² by meeting itself, by explicit sums over rows or clusters."""
    generator = np.random.default_rng(7)
    mechanism = GeneralizedResponse(3, 2.0)
    reports = generator.integers(0, 3, (2, 200))
    table = crosstab_of_reports(*reports, mechanism, mechanism, weights=np.full(200, 3.0), clusters=clusters)
    contrasts = generator.standard_normal((4, 9))
    rows = contrasts[:, reports[0] * 3 + reports[1]].T
    units = (rows - rows.mean(axis=0)) / 200
    factor = 1.0
    if clusters is not None:
        units, factor = units.reshape(20, 10, 4).sum(axis=1), (20 / 19) ** 2
    assert _own_terms(table.cells.evidence, contrasts) == pytest.approx(factor * np.sum(np.sum(units**2, axis=1) ** 2))


def test_rare_reports_do_not_make_a_clustered_test_timid():
    """Six by six values in 30 clusters: without the units' own terms the test rejected 1.6 % instead of 5 %."""
    generator = np.random.default_rng(8)
    mechanism = GeneralizedResponse(6, 3.0)
    who, runs = np.repeat(np.arange(30), 10), 400
    count = 0
    for _ in range(runs):
        reports = generator.integers(0, 6, (2, 300))
        count += crosstab_of_reports(*reports, mechanism, mechanism, clusters=who).chi_square().p_value < 0.05
    assert binom.cdf(count, runs, 0.05) > 1e-4
    assert binom.sf(count - 1, runs, MOST) > 1e-6


def test_a_statistic_that_cannot_vary_is_no_test():
    """Everybody has a report of their own: all tables with these margins have the same χ², and one sentence says so."""
    table = crosstab_of_reports(np.arange(6), [0, 1, 0, 1, 1, 0], None, GeneralizedResponse(2, 1.0))
    with pytest.raises(EstimationError, match="has the same statistic"):
        table.chi_square()
