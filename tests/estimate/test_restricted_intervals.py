"""Likelihood-ratio and score intervals for any channel: exact coverage, independent optimisers, named refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import norm

from discreet import design
from discreet.errors import EstimationError
from discreet.estimate import crosstab_of_reports, frequencies
from discreet.estimate.channels.likelihood_intervals import General, ScoreTest, Symmetric, likelihood_ratio
from discreet.estimate.channels.simplex_mle import channel_fit, nearby_fit
from discreet.estimate.intervals.levels import two_sided_quantile
from discreet.mechanisms import BinaryResponse, ChannelResponse, GeneralizedResponse
from tests.estimate.enumeration import report_tables

FOUR = design.binary(0.5, 0.1, reports=4).mechanism
ORDERED = ChannelResponse([["1/2", "1/3", "1/6"], ["1/4", "1/2", "1/4"], ["1/6", "1/3", "1/2"]])
WIDE = ChannelResponse(
    [["1/2", "1/4", "1/8", "1/8", 0], ["1/8", "1/2", "1/8", "1/8", "1/8"], [0, 0, "1/4", "1/4", "1/2"]]
)
Z = two_sided_quantile(0.95)


def brute_force_profile(Q, counts, t, v):
    """The largest ℓ with f_t = v by a general optimiser over the other frequencies, from several starts."""
    others = [x for x in range(Q.shape[0]) if x != t]

    def negative(g):
        shares = v * Q[t] + g @ Q[others]
        return -float(counts @ np.log(np.maximum(shares, 1e-300)))

    best = math.inf
    for start in (np.full(len(others), 1.0), *np.eye(len(others)) + 0.05):
        found = minimize(
            negative,
            start / start.sum() * (1 - v),
            bounds=[(0, 1)] * len(others),
            constraints={"type": "eq", "fun": lambda g: g.sum() - (1 - v)},
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 500},
        )
        best = min(best, found.fun)
    return -best


@pytest.mark.parametrize(("mechanism", "counts"), [(ORDERED, [40, 80, 20]), (WIDE, [30, 22, 19, 18, 3])])
def test_likelihood_ratio_ends_are_where_the_profile_has_fallen_by_half_the_quantile(mechanism, counts):
    """At every end inside (0, 1) an independent optimiser finds 2(max ℓ − ℓ) = z²; at 0 or 1 it finds less."""
    Q, c = mechanism.matrix(), np.array(counts, float)
    result = frequencies(counts=counts, mechanism=mechanism, method="mle")
    top = float(c @ np.log(result.estimate @ Q))
    bounds = result.interval(method="likelihood-ratio")
    for t in range(3):
        for end in bounds[t]:
            drop = 2 * (top - brute_force_profile(Q, c, t, end))
            if 0 < end < 1:
                assert drop == pytest.approx(Z**2, abs=1e-3)
            else:
                assert drop <= Z**2
        assert bounds[t, 0] <= result.estimate[t] <= bounds[t, 1]


def coverage(method, estimator, prevalences, n):
    """Exact coverage for the four-report design at each prevalence."""
    tables, _ = report_tables(np.full(4, 0.25), n)
    bounds = np.array(
        [frequencies(counts=c, mechanism=FOUR, method=estimator).interval_of(1, 0.95, method) for c in tables]
    )
    found = []
    for prevalence in prevalences:
        _, chance = report_tables(np.array([1 - prevalence, prevalence]) @ FOUR.matrix(), n)
        found.append(chance @ ((bounds[:, 0] <= prevalence + 1e-9) & (prevalence - 1e-9 <= bounds[:, 1])))
    return np.array(found)


def test_four_reports_are_covered_where_wald_is_not():
    """Enumerated over all tables of 12 reports: likelihood ratios cover at least 93 % from π = 0 to 1; Wald a third."""
    prevalences = [0, 0.005, 0.02, 0.1, 0.3, 0.5, 0.9, 1]
    assert coverage("likelihood-ratio", "mle", prevalences, 12).min() > 0.93
    assert coverage("score", "mle", prevalences, 12).min() > 0.85
    assert coverage("score", "unbiased", prevalences, 12).min() > 0.92
    assert coverage("wald", "mle", [0.02], 12)[0] < 0.35


def test_likelihood_ratio_is_the_default_of_such_fits():
    """Maximum likelihood through more reports than values: the default, in words, and never outside [0, 1]."""
    result = frequencies(counts=[118, 70, 12, 0], mechanism=FOUR, method="mle")
    assert result.default_interval == "likelihood-ratio"
    assert "(likelihood-ratio)" in result.summary()
    assert result.to_dict()["interval"]["method"] == "likelihood-ratio"
    np.testing.assert_array_equal(result.interval(), result.interval(method="likelihood-ratio"))
    assert result.interval()[1, 0] == 0
    assert 0.02 < result.interval()[1, 1] < 0.3
    np.testing.assert_allclose(result.interval()[0], 1 - result.interval()[1][::-1], atol=1e-7)
    wider = result.interval(method="simultaneous")
    np.testing.assert_array_equal(wider, result.interval())  # of two values one determines the other


def test_with_more_values_the_default_is_the_score():
    """Eight absent values beside it: the likelihood ratio of a common one misses too often, Wilson's score does not."""
    fitted = frequencies(counts=[30, 22, 19, 18, 3], mechanism=WIDE, method="mle")
    assert fitted.default_interval == "score"
    np.testing.assert_array_equal(fitted.interval(), fitted.interval(method="score"))
    mechanism, f = GeneralizedResponse(10, 2.0), np.array([0.9, 0.1, *np.zeros(8)])
    covered = {"likelihood-ratio": 0, "score": 0}
    for counts in np.random.default_rng(6).multinomial(2000, f @ mechanism.matrix(), size=300):
        result = frequencies(counts=counts, mechanism=mechanism, method="mle")
        for method in covered:
            low, high = result.interval_of(0, 0.95, method)
            covered[method] += low <= 0.9 <= high
    assert covered["likelihood-ratio"] < 270
    assert covered["score"] > 262


def test_direct_answers_at_the_boundary():
    """No "yes" among twenty direct answers: the upper end is 1 − exp(−z²/40), by hand."""
    result = frequencies(counts=[20, 0], mechanism=BinaryResponse.direct(), method="mle")
    low, high = result.interval(method="likelihood-ratio")[1]
    assert low == 0
    assert high == pytest.approx(1 - math.exp(-(norm.ppf(0.975) ** 2) / 40), abs=1e-7)


@settings(max_examples=40, deadline=None)
@given(counts=st.lists(st.integers(0, 60), min_size=3, max_size=6).filter(lambda c: sum(c) > 2), t=st.integers(0, 2))
def test_water_filling_is_the_general_profile(counts, t):
    """Generalised response in closed form and by restricted fits of the written-out channel: the same profile."""
    mechanism = GeneralizedResponse(len(counts), 1.5)
    Q, c = mechanism.matrix(), np.array(counts, float)
    fast, slow = Symmetric(c, Q[0, 0], Q[0, 1]), General(Q, c)
    for v in (0.0, 0.03, 0.4, 0.9, 1.0):
        assert fast.log_likelihood(t, v) == pytest.approx(slow.log_likelihood(t, v), abs=2e-5)


@pytest.mark.parametrize("counts", [[30, 50, 20], [90, 60, 3], [60, 40, 0], [5, 2, 1]])
def test_the_general_score_interval_is_wilsons_where_that_exists(counts):
    """Through restricted fits of the written-out channel, generalised response gives Wilson's interval."""
    mechanism = GeneralizedResponse(3, 1.0)
    result = frequencies(counts=counts, mechanism=mechanism)
    wilson = result.interval(method="wilson")
    np.testing.assert_array_equal(result.interval(method="score"), wilson)
    profile = General(mechanism.matrix(), np.array(counts, float))
    for correction in (None, mechanism.inverse.as_matrix()):
        for t in range(3):
            test = ScoreTest(profile, t, None if correction is None else correction[t])
            ends = test.interval(float(result.estimate[t]), float(result.std_error[t]), Z)
            np.testing.assert_allclose(ends, wilson[t], atol=1e-6)


def test_score_intervals_of_the_table():
    """Only the randomisation varies: the score interval of a general channel covers the table, by enumeration."""
    truths = np.array([0] * 5 + [1] * 3)
    mechanism = design.binary(2.0, 0.2, reports=4).mechanism
    Q = mechanism.matrix()
    first, chance_first = report_tables(Q[0], 5)
    second, chance_second = report_tables(Q[1], 3)
    covered = {"population": 0.0, "table": 0.0}
    width = {"population": 0.0, "table": 0.0}
    for a, p in zip(first, chance_first, strict=True):
        for b, q in zip(second, chance_second, strict=True):
            if p * q < 1e-6:
                continue
            for target in covered:
                result = frequencies(counts=a + b, mechanism=mechanism, target=target)
                low, high = result.interval(0.9, "score")[1]
                covered[target] += p * q * (low <= truths.mean() <= high)
                width[target] += p * q * (0.0 if math.isnan(low) else high - low)
    assert covered["table"] > 0.88
    assert width["table"] < width["population"]


@settings(max_examples=60, deadline=None)
@given(truths=st.integers(2, 10), extra=st.integers(0, 4), seed=st.integers(0, 10**6))
def test_a_nearby_start_reaches_the_same_maximum(truths, extra, seed):
    """From any start, with values entering and leaving, the certificate of the fit holds."""
    rng = np.random.default_rng(seed)
    Q = rng.dirichlet(np.full(truths + extra, 0.5), truths)
    counts = rng.multinomial(500, rng.dirichlet(np.full(truths, 0.3)) @ Q).astype(float)
    start = rng.dirichlet(np.ones(truths)) * (rng.random(truths) < 0.7)
    fit = nearby_fit(Q, counts, start if start.sum() > 0 else np.ones(truths))
    assert fit.gap <= 1e-3
    assert fit.frequencies.min() >= 0
    seen = counts > 0
    best = channel_fit(Q, counts).frequencies
    gained = counts[seen] @ np.log((best @ Q)[seen] / (fit.frequencies @ Q)[seen])
    assert abs(gained) < 1e-3


def test_ten_thousand_values_by_the_closed_form():
    """Generalised response keeps its likelihood ratios at any size; values with the same count share an interval."""
    rng = np.random.default_rng(2)
    counts = rng.multinomial(50_000, np.full(10_000, 1e-4))
    result = frequencies(counts=counts, mechanism=GeneralizedResponse(10_000, 8.0), method="mle")
    bounds = result.interval(method="likelihood-ratio")
    assert np.all((bounds[:, 0] <= result.estimate + 1e-9) & (result.estimate <= bounds[:, 1] + 1e-9))
    inside = (bounds[:, 0] <= 1e-4) & (bounds[:, 1] >= 1e-4)
    assert 0.93 < inside.mean() < 0.99


def test_what_is_not_multinomial_is_refused_by_name():
    """Weights, clusters, a fixed table, cells of tables and very large channels: a sentence each."""
    reports, n = np.tile([0, 1, 0, 2], 50), 200
    weighted = frequencies(reports, FOUR, method="mle", weights=np.linspace(1, 2, n))
    clustered = frequencies(reports, FOUR, method="mle", clusters=np.repeat(np.arange(20), 10))
    for result in (weighted, clustered):
        assert result.default_interval == "wald"
        for method in ("score", "likelihood-ratio"):
            with pytest.raises(EstimationError, match="simple random samples"):
                result.interval(method=method)
    table = frequencies(reports, FOUR, method="mle", target="table")
    with pytest.raises(EstimationError, match="given the table"):
        table.interval(method="likelihood-ratio")
    size = 301
    rows = np.full((size, size + 1), 1)
    rows[np.arange(size), np.arange(size)] = 1000
    rows[:, size] += np.arange(size)
    rows[:, size] += rows.sum(axis=1).max() - rows.sum(axis=1)
    large = ChannelResponse(rows.tolist())
    fitted = frequencies(counts=np.full(size + 1, 3), mechanism=large, method="mle")
    assert fitted.default_interval == "wald"
    with pytest.raises(EstimationError, match="limited to 300 values"):
        fitted.interval(method="score")


def test_several_designs_and_groups():
    """Direct and crosswise answers side by side: one likelihood, a narrower interval, and one per group."""
    designs = {"direct": BinaryResponse.direct(), "crosswise": BinaryResponse.crosswise("1/4")}
    rng = np.random.default_rng(3)
    mode = np.repeat(["direct", "crosswise"], 300)
    truth = rng.random(600) < 0.2
    reports = np.where((mode == "direct") | (rng.random(600) < 0.25), truth, ~truth).astype(int)
    both = frequencies(reports, designs, designs=mode, method="mle")
    alone = frequencies(reports[:300], designs["direct"], method="mle")
    assert both.default_interval == "likelihood-ratio"
    width = np.diff(both.interval()[1])[0]
    assert width < np.diff(alone.interval(method="likelihood-ratio")[1])[0]
    grouped = frequencies(reports, designs, designs=mode, method="mle", by=np.tile(["a", "b"], 300))
    assert grouped.interval().shape == (2, 2, 2)
    assert "(likelihood-ratio)" in grouped.summary()


def test_unidentified_channels_keep_their_refusal():
    """A rank-deficient channel has no likelihood-ratio interval for single frequencies: nan, as for standard errors."""
    singular = ChannelResponse([["1/2", "1/2"], ["1/2", "1/2"], ["1/4", "3/4"]])
    result = frequencies(counts=[40, 60], mechanism=singular, method="mle")
    assert np.all(np.isnan(result.interval(method="likelihood-ratio")))


def test_a_frequency_of_one():
    """All reports certain: the interval of the value ends at one, that of the other begins at zero."""
    result = frequencies(counts=[0, 0, 0, 30], mechanism=FOUR, method="mle")
    bounds = result.interval()
    assert bounds[1, 1] == 1
    assert bounds[0, 0] == 0
    assert bounds[1, 0] == pytest.approx(math.exp(-(Z**2) / 60), abs=1e-7)


def test_the_likelihood_ratio_needs_no_starting_error():
    """A standard error of zero (all reports agree) does not hide the interval."""
    profile = General(WIDE.matrix(), np.array([0.0, 0, 0, 0, 12]))
    low, high = likelihood_ratio(profile, 2, 1.0, 0.0, Z)
    assert high == 1
    assert 0 < low < 1


def test_cells_of_a_table_are_refused():
    """Pairs of columns have Wald and Chebyshev, and say so."""
    codes = np.tile([0, 1], 50)
    table = crosstab_of_reports(codes, codes, GeneralizedResponse(2, 1.0), GeneralizedResponse(2, 1.0))
    for method in ("score", "likelihood-ratio"):
        with pytest.raises(EstimationError, match="cells of a table"):
            table.interval(method=method)


def test_a_level_of_next_to_nothing():
    """The interval is then the estimate itself, and is found at once."""
    result = frequencies(counts=[30, 70], mechanism=BinaryResponse("3/4", "3/4"), method="mle")
    bounds = result.interval(level=5e-324, method="likelihood-ratio")
    np.testing.assert_allclose(bounds, np.repeat(result.estimate[:, None], 2, axis=1))
