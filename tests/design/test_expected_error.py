"""The optimal channel with its certificate, and all mechanisms side by side."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import DesignError, Ordinal, design
from discreet.design.ordered_values.least_expected_error import _dual_bound
from discreet.domains import Categorical, Metric
from discreet.mechanisms import BipartiteResponse, ChannelResponse


@pytest.mark.parametrize(("size", "epsilon", "value"), [(12, 1.0, 2.550510), (25, 1.0, 5.327286), (32, 2.0, 4.987941)])
def test_check_numbers(size, epsilon, value):
    """The optimum on a line to six places, certified, private, and below the bipartite response."""
    found = design.expected_error(Ordinal(range(size)), epsilon)
    assert round(found.objective, 6) == value
    assert 0 <= found.certificate.gap < 1e-6
    assert epsilon * (1 - 1e-9) <= found.guarantee.epsilon <= epsilon
    assert found.objective < design.bipartite(Ordinal(range(size)), epsilon, "best").objective


@pytest.mark.parametrize(("size", "epsilon", "value"), [(5, 1.0, 1.254744), (12, 1.0, 3.470966), (25, 4.0, 1.853635)])
def test_the_least_worst_case(size, epsilon, value):
    """Certified; no known channel does better under its worst truth, and the optimum on average does worse there."""
    domain = Ordinal(range(size))
    losses = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
    found = design.expected_error(domain, epsilon, worst=True)
    assert round(found.objective, 6) == value
    assert (losses * found.mechanism.matrix()).sum(axis=1).max() == pytest.approx(value, abs=1e-6)
    assert 0 <= found.certificate.gap < 1e-6
    assert epsilon * (1 - 1e-9) <= found.guarantee.epsilon <= epsilon
    for other in (design.expected_error(domain, epsilon), *(design.bipartite(domain, epsilon, m) for m in (1, 2, 3))):
        assert (losses * other.mechanism.matrix()).sum(axis=1).max() > value


@given(st.integers(0, 10**6), st.integers(2, 7), st.floats(0.05, 5))
@settings(max_examples=15, deadline=None)
def test_the_worst_case_is_no_less_than_the_average_under_any_prior(seed, size, epsilon):
    """The minimax theorem: the optimum under a prior is a lower bound, and the least favourable prior attains it."""
    rng = np.random.default_rng(seed)
    losses = rng.random((size, size))
    np.fill_diagonal(losses, 0)
    domain = Metric(range(size), losses)
    found = design.expected_error(domain, epsilon, worst=True)
    assert found.certificate.gap < 1e-6
    assert found.guarantee.epsilon <= epsilon
    for prior in (rng.dirichlet(np.ones(size)), rng.dirichlet(np.full(size, 0.3)), np.full(size, 1 / size)):
        assert design.expected_error(domain, epsilon, prior).certificate.bound <= found.objective + 1e-9


def test_a_prior_beside_the_worst_case_is_refused():
    """And so are domains that are too large for it."""
    with pytest.raises(DesignError, match="no prior"):
        design.expected_error(Ordinal(range(3)), 1.0, [0.2, 0.3, 0.5], worst=True)
    with pytest.raises(DesignError, match="150"):
        design.expected_error(Ordinal(range(200)), 1.0, worst=True)


def test_a_quarter_above_the_optimum():
    """At ε = .25 bipartite response costs about 25 % more than the optimum."""
    domain = Ordinal(range(25))
    ratio = design.bipartite(domain, 0.25).objective / design.expected_error(domain, 0.25).objective
    assert ratio == pytest.approx(1.25, abs=0.05)


def test_the_user_is_told_how_it_wins():
    """Two or three reports near the median: said with numbers; a report that says nothing is named as such."""
    found = design.expected_error(Ordinal(range(25)), 0.5)
    used = (found.mechanism.matrix().max(axis=0) > 0).sum()
    assert used <= 3
    assert f"only {used} of 25 reports" in " ".join(found.notes)
    assert "not identified" in " ".join(found.notes)
    certain = design.expected_error(Ordinal(range(3)), 0.1, prior=[0.98, 0.01, 0.01])
    assert "does not depend on the truth" in " ".join(certain.notes)
    assert design.expected_error(Ordinal(range(5)), 8.0).notes == ()


@given(st.integers(0, 10**6), st.integers(2, 9), st.floats(0.02, 5))
@settings(max_examples=30, deadline=None)
def test_no_channel_we_know_is_better(seed, size, epsilon):
    """The dual bound lies below every private channel, and the optimum meets it."""
    rng = np.random.default_rng(seed)
    losses = rng.random((size, size))
    np.fill_diagonal(losses, 0)
    prior = rng.dirichlet(np.ones(size))
    domain = Metric(range(size), losses)
    found = design.expected_error(domain, epsilon, prior)
    assert found.certificate.gap < 1e-6
    assert found.guarantee.epsilon <= epsilon
    assert design.bipartite(domain, epsilon, "best", prior).objective >= found.certificate.bound - 1e-12
    # A random private channel: columns l_y·r with r in [1, e^ε], rows brought to one by a common last report.
    ratios = 1 + (math.exp(epsilon) - 1) * rng.random((size, size))
    channel = 0.5 * ratios / ratios.sum(axis=1).max()
    channel += (1 - channel.sum(axis=1, keepdims=True)) / size
    if np.all(channel.max(axis=0) <= math.exp(epsilon) * channel.min(axis=0)):
        assert (prior[:, None] * losses * channel).sum() >= found.certificate.bound - 1e-12


def test_any_multipliers_give_a_bound():
    """The certificate does not trust the solver: random multipliers never exceed the optimum."""
    losses = np.abs(np.subtract.outer(np.arange(8), np.arange(8))) / 8.0
    optimum = design.expected_error(Ordinal(range(8)), 1.0).objective
    rng = np.random.default_rng(0)
    for _ in range(200):
        assert _dual_bound(losses, math.e, rng.normal(0.3, 0.3, 8)) <= optimum + 1e-12


@pytest.mark.parametrize("epsilon", [1e-4, 0.01, 15.0, 40.0])
def test_extreme_levels(epsilon):
    """Tiny and huge ε are solved, private and certified."""
    found = design.expected_error(Ordinal(range(12)), epsilon)
    assert found.guarantee.epsilon <= epsilon
    assert found.certificate.gap < 1e-6


def test_bad_input_is_refused():
    """Too many values, a prior that does not sum to one, a domain without losses."""
    with pytest.raises(DesignError, match="300"):
        design.expected_error(Ordinal(range(301)), 1.0)
    with pytest.raises(DesignError, match="sum to 1"):
        design.expected_error(Ordinal(range(3)), 1.0, prior=[1, 1, 1])
    with pytest.raises(DesignError, match="order or a distance"):
        design.expected_error(Categorical(["a", "b"]), 1.0)
    with pytest.raises(DesignError, match="n must"):
        design.compare(Ordinal(range(3)), 1.0, 0)
    with pytest.raises(DesignError, match="512"):
        design.compare(Ordinal(range(513)), 1.0, 10)


def test_compare_on_a_line():
    """Every mechanism, its realised ε, and whether frequencies and the mean can be learned."""
    table = design.compare(Ordinal(range(12)), 1.0, 10_000)
    assert table.names == [
        "generalised",
        "bipartite, search",
        "bipartite, best",
        "exponential, published",
        "exponential",
        "clamped Laplace",
        "optimum",
    ]
    assert round(table["generalised"].expected_error, 6) == 3.474682
    assert round(table["optimum"].expected_error, 6) == 2.550510
    assert table["exponential, published"].epsilon == pytest.approx(0.5, abs=1e-9)
    assert table["bipartite, search"].rank == 12 - 5 + 1
    assert not table["bipartite, search"].identified
    assert math.isnan(table["bipartite, search"].frequency_error)
    assert all(c.worst_error >= c.expected_error for c in table.contenders)
    assert table["generalised"].frequency_error == pytest.approx(
        math.sqrt(table["generalised"].mechanism.inverse.variances(np.full(12, 1 / 12)).mean() / 10_000)
    )
    advice = " ".join(table.advice())
    assert "near the truth: optimum" in advice
    assert "frequencies of the values: generalised" in advice
    json.dumps(table.to_dict())
    assert "not identified" in table.summary()
    with pytest.raises(KeyError):
        table["telepathy"]


def test_standard_error_of_the_mean_is_that_of_the_best_score():
    """For generalised response the score is unique; a simulation of debiased means has this spread."""
    domain, n = Ordinal(range(5)), 2_000
    table = design.compare(domain, 1.0, n)
    mechanism = table["generalised"].mechanism
    rng = np.random.default_rng(3)
    Q, A = mechanism.matrix(), mechanism.inverse.as_matrix()
    counts = rng.multinomial(n, np.full(5, 0.2) @ Q, size=20_000)
    means = counts / n @ A.T @ np.arange(5)
    assert table["generalised"].mean_error == pytest.approx(means.std(), rel=0.03)


def test_compare_on_a_map():
    """L-SRR exceeds ε as published, is marked and never recommended; calibrated it keeps it."""
    rng = np.random.default_rng(0)
    places = np.column_stack([rng.uniform(40, 41, 25), rng.uniform(-100, -99, 25)])
    for domain in (Metric.points(range(25), places, "haversine"), Metric.points(range(25), places)):
        table = design.compare(domain, 1.0, 1000)
        assert table["L-SRR, published"].epsilon > 1.01
        assert 1 - 1e-9 <= table["L-SRR"].epsilon <= 1
        assert "(!)" in table.summary()
        assert "published" not in " ".join(table.advice())
        assert isinstance(table["bipartite, best"].mechanism, BipartiteResponse)
        assert isinstance(table["optimum"].mechanism, ChannelResponse)
        assert table["optimum"].expected_error <= min(c.expected_error for c in table.contenders if c.epsilon <= 1)
