"""Sample sizes and margins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import DesignError, Randomness, design
from discreet.design.planning.efficient_variance import efficient_variance, worst_efficient_variance
from discreet.design.planning.sample_sizes import answer_variance, precision_method
from discreet.estimate import frequencies
from discreet.mechanisms import BinaryResponse, ChannelResponse, GeneralizedResponse


def test_two_percent_at_epsilon_one():
    """± 2 % at ε = 1 takes 11,243 people; directly asked it takes 2,401."""
    assert design.sample_size(design.binary(1.0).mechanism, 0.02) == 11_243
    assert design.sample_size(BinaryResponse.direct(), 0.02) == 2_401


@given(n=st.integers(1, 10**9), epsilon=st.floats(0.01, 10), level=st.floats(0.5, 0.999))
def test_margin_and_sample_size_are_inverse(n, epsilon, level):
    """The people needed for the margin of n people are n."""
    mechanism = GeneralizedResponse(5, epsilon)
    width = design.margin(mechanism, n, level)
    assert design.sample_size(mechanism, width * (1 + 1e-9), level) <= n
    assert design.sample_size(mechanism, width * (1 - 1e-6), level) > n * (1 - 1e-6)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=30)
def test_worst_variance_is_not_beaten_by_random_distributions(seed):
    """No distribution of truths has a larger variance than the stated worst, and some come close."""
    rng = np.random.default_rng(seed)
    matrix = rng.dirichlet(np.ones(4), size=3)
    mechanism = ChannelResponse(matrix)
    worst = answer_variance(mechanism)
    values = [answer_variance(mechanism, f) for f in rng.dirichlet(np.full(3, 0.3), size=400)]
    assert max(values) <= worst * (1 + 1e-9)
    assert max(values) >= 0.7 * worst


def test_large_domains_use_the_closed_form():
    """Ten million values, and the small case agrees with the dense computation."""
    big = GeneralizedResponse(10**7, 10.0)
    keep, other = big.keep / big.denominator, big.other / big.denominator
    t = np.linspace(0, 1, 100_001)
    p = other + (keep - other) * t
    assert answer_variance(big) == pytest.approx((p * (1 - p)).max() / (keep - other) ** 2, rel=1e-9)
    f = np.zeros(10**6)
    f[0] = 1.0
    assert answer_variance(GeneralizedResponse(10**6, 5.0), f) > 0


def test_margin_is_what_simulation_shows():
    """The half-width at 95 % contains 95 % of estimates, within what 4,000 runs can tell."""
    mechanism, n, runs = GeneralizedResponse(4, 1.0), 500, 4000
    truth = np.repeat(np.arange(4), n // 4)
    width = design.margin(mechanism, n, prevalence=np.full(4, 0.25))
    source = Randomness.seeded(11)
    rng = np.random.default_rng(5)
    inside = 0
    for _ in range(runs):
        reports = mechanism.privatize(rng.integers(0, 4, truth.size), source)
        shares = np.bincount(reports, minlength=4) / n
        inside += abs(mechanism.inverse.apply(shares)[0] - 0.25) <= width
    assert abs(inside / runs - 0.95) < 0.025
    assert abs(inside / runs - 0.90) > 0.025


@pytest.mark.parametrize(
    "call",
    [
        lambda m: design.sample_size(m, 0),
        lambda m: design.sample_size(m, float("nan")),
        lambda m: design.sample_size(m, 0.1, level=1.0),
        lambda m: design.margin(m, 0),
        lambda m: design.margin(m, 10, prevalence=[0.5, 0.6]),
        lambda m: design.margin(m, 10, prevalence=1.5),
    ],
)
def test_impossible_questions_are_refused(call):
    """One clear sentence."""
    with pytest.raises(DesignError):
        call(design.binary(1.0).mechanism)


def test_a_design_stands_for_its_mechanism():
    """What design.binary returns can be asked directly."""
    found = design.binary(1.0)
    assert design.sample_size(found, 0.02) == design.sample_size(found.mechanism, 0.02)


@pytest.mark.parametrize(
    "call",
    [
        lambda m: design.sample_size(m, "a"),
        lambda m: design.sample_size(m, 1e-300),
        lambda m: design.margin(m, "a"),
        lambda m: design.margin(m, 10, level="a"),
        lambda m: design.sample_size(m, 0.02, prevalence="a"),
        lambda m: design.sample_size(3, 0.02),
    ],
)
def test_nonsense_gets_a_sentence(call):
    """Not a Python error."""
    with pytest.raises(DesignError):
        call(design.binary(1.0).mechanism)


FOUR = design.binary(0.5, 0.1, prevalence=0.02, reports=4)


def test_four_reports_are_counted_with_the_estimator_they_are_for():
    """(½, .1) at π = .02, ± 2 %: 1,802 people with maximum likelihood, 13,380 with the unbiased estimate."""
    assert design.sample_size(FOUR, 0.02, prevalence=0.02) == 1_802
    assert design.sample_size(FOUR, 0.02, prevalence=0.02, method="mle") == 1_802
    assert design.sample_size(FOUR, 0.02, prevalence=0.02, method="unbiased") == 13_380
    assert precision_method(FOUR, 0.02) == "mle"
    assert precision_method(FOUR) == "unbiased"
    assert precision_method(design.binary(1.0), 0.02) == "unbiased"


def test_the_stated_variance_of_the_design_is_the_one_that_is_used():
    """The objective of the four-report design at its prevalence is the efficient variance."""
    for prevalence in (0.02, 0.3):
        found = design.binary(0.5, 0.1, prevalence=prevalence, reports=4)
        f = np.array([1 - prevalence, prevalence])
        assert efficient_variance(found.mechanism, f) == pytest.approx(found.objective, rel=1e-9)


def test_the_promised_sample_gives_the_promised_interval():
    """1,802 people: likelihood-ratio intervals of half-width .0195 on average that cover 95 %; Wald covers less."""
    rng = np.random.default_rng(5)
    mechanism = FOUR.mechanism
    shares = np.array([0.98, 0.02]) @ mechanism.matrix()
    inside = {"likelihood-ratio": 0, "wald": 0}
    widths, runs = [], 600
    for counts in rng.multinomial(1_802, shares, size=runs):
        fit = frequencies(counts=counts, mechanism=mechanism, method="mle")
        for method in inside:
            low, high = fit.interval(method=method)[1]
            inside[method] += low <= 0.02 <= high
            if method == "likelihood-ratio":
                widths.append((high - low) / 2)
    assert np.mean(widths) == pytest.approx(0.02, rel=0.06)
    assert inside["likelihood-ratio"] / runs > 0.95 - 6.2 * (0.05 * 0.95 / runs) ** 0.5
    assert inside["wald"] < inside["likelihood-ratio"] - 20


def test_rare_values_are_not_promised_too_much():
    """At π = 0 the information is infinite: the sample is that of a likelihood-ratio interval, not of one person."""
    n = design.sample_size(FOUR, 0.02, prevalence=0.0)
    assert 400 < n < 460
    expected = frequencies(counts=np.rint(n * FOUR.mechanism.matrix()[0]), mechanism=FOUR.mechanism, method="mle")
    assert np.diff(expected.interval()[1])[0] / 2 == pytest.approx(0.021, rel=0.05)
    for people in (n, 5 * n):
        width = design.margin(FOUR, people, prevalence=0.001)
        assert design.sample_size(FOUR, width * 1.0001, prevalence=0.001) <= people


def test_worst_case_of_maximum_likelihood():
    """No distribution has a larger efficient variance than the stated worst, and it is not above the unbiased one."""
    rng = np.random.default_rng(8)
    for _ in range(3):
        mechanism = ChannelResponse(rng.dirichlet(np.ones(6), size=3))
        worst = worst_efficient_variance(mechanism)
        values = [efficient_variance(mechanism, f) for f in rng.dirichlet(np.full(3, 0.5), size=400)]
        assert 0.9 * worst <= max(values) <= worst * (1 + 1e-9)
        assert worst <= answer_variance(mechanism) * (1 + 1e-6)
    assert design.sample_size(FOUR, 0.02, method="mle") == design.sample_size(FOUR, 0.02)


@pytest.mark.parametrize("method", ["best", None, 3])
def test_unknown_estimators_are_refused(method):
    """The message lists the choices."""
    with pytest.raises(DesignError, match='"auto", "unbiased", "mle"'):
        design.sample_size(FOUR, 0.02, method=method)
