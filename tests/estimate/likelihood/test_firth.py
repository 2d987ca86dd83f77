"""Firth's penalty: its derivatives, closed forms, finite estimates, and intervals of its own."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from discreet import EstimationError
from discreet.design import binary
from discreet.estimate.regressions.likelihood import Batch, binary_regression, binary_regression_batches
from discreet.estimate.regressions.likelihood.firth import Firth
from discreet.estimate.regressions.likelihood.links import LINKS
from discreet.estimate.regressions.likelihood.objective import Objective
from discreet.estimate.regressions.likelihood.rows import ArrayRows, checked_rows
from discreet.estimate.regressions.likelihood.yes_no import BinaryModel

from .simulated import differences, rows

FOUR = binary(1.0, 0.1, reports=4).mechanism.matrix()
CHI_SQUARE = 3.841458820694124


def channel_rows(Q, n=60, d=3, seed=0):
    """Random rows through one channel."""
    chance = np.random.default_rng(seed)
    X = chance.normal(size=(n, d))
    return checked_rows(X, chance.integers(0, Q.shape[1], n), offset=chance.normal(size=n), mechanism=Q)


def penalised(theta, some, link):
    """The penalised log-likelihood, written out from the definition."""
    no, G, _ = LINKS[link].parts(some.X @ theta + some.offset)
    g = differences(lambda e: LINKS[link].probability(some.X @ theta + some.offset + e[0]), np.zeros(1))[:, 0]
    Q = some.channel[:, :, 0]
    chances = np.outer(no, Q[0]) + np.outer(G, Q[1])
    information = (some.X * (g**2 * ((Q[1] - Q[0]) ** 2 / chances).sum(axis=1))[:, None]).T @ some.X
    made = chances[np.arange(len(G)), some.report]
    return np.log(made).sum() + 0.5 * np.linalg.slogdet(information)[1]


@pytest.mark.parametrize("Q", [np.array([[0.7, 0.3], [0.2, 0.8]]), FOUR], ids=["two reports", "four reports"])
@pytest.mark.parametrize("link", LINKS)
def test_value_and_derivatives(link, Q):
    """The value is the definition's; score and second derivatives are finite differences of it."""
    some = channel_rows(Q)
    surface = Firth(Objective(BinaryModel(LINKS[link]), ArrayRows(some), np.eye(3), some.size))
    theta = np.array([0.4, -0.3, 0.2])
    terms = surface.terms(theta, "observed")
    assert terms.value == pytest.approx(penalised(theta, some, link), abs=1e-7)
    assert surface.value(theta) == terms.value
    np.testing.assert_allclose(terms.score, differences(lambda t: np.array(surface.value(t)), theta), atol=1e-6)
    slopes = differences(lambda t: surface.terms(t, "expected").score, theta)
    np.testing.assert_allclose(terms.information, -slopes, atol=1e-6 * (1 + np.abs(slopes).max()))


def test_a_share_gets_half_a_case_on_each_side():
    """Direct answers and an intercept: log((k + ½)/(n − k + ½)), finite also for k = 0."""
    for cases in (0, 3, 40):
        fit = binary_regression(np.ones((40, 1)), np.arange(40) < cases, 1, 1, penalty="firth")
        assert fit.converged
        np.testing.assert_allclose(fit.coefficients, np.log((cases + 0.5) / (40.5 - cases)), rtol=1e-6)


def test_the_estimate_is_the_maximum_of_the_definition():
    """A general optimiser on the written-out definition ends at the same point."""
    some = channel_rows(FOUR, n=200, seed=1)
    fit = binary_regression(some.X, some.report, mechanism=FOUR, offset=some.offset, penalty="firth", link="probit")
    found = minimize(lambda t: -penalised(t, some, "probit"), np.zeros(3), method="Nelder-Mead", tol=1e-10)
    np.testing.assert_allclose(fit.coefficients, found.x, atol=1e-4)
    assert fit.height == pytest.approx(-found.fun, abs=1e-6)


def test_separated_answers_have_finite_estimates_and_intervals():
    """Where the plain fit runs to infinity."""
    x = np.linspace(-2, 2, 60)
    X = np.column_stack([np.ones(60), x])
    assert not binary_regression(X, x > 0, 1, 1).converged
    fit = binary_regression(X, x > 0, 1, 1, penalty="firth")
    assert fit.converged
    assert np.isfinite(fit.coefficients).all()
    assert np.isfinite(fit.std_error).all()
    low, high = fit.interval()[1]
    assert 0 < low < fit.coefficients[1] < high


def test_default_intervals_invert_the_penalised_likelihood_ratio():
    """At each end twice the penalised log-likelihood has fallen by the chi-square quantile; tests use the same."""
    X, y, _ = rows(600, 0.73, 0.73, beta=(-2.0, 0.8), seed=3)
    fit = binary_regression(X, y, 0.73, 0.73, penalty="firth", names=["const", "slope"])
    assert np.array_equal(fit.interval(), fit.interval(method="profile"))
    for name, ends in zip(fit.names, fit.interval(), strict=True):
        for end in ends:
            test = fit.test(name, "likelihood-ratio", value=float(end))
            assert test.statistic == pytest.approx(CHI_SQUARE, abs=1e-4)
    assert np.isnan(fit.aic)
    assert "Firth's penalty" in fit.summary()
    assert fit.to_dict()["penalty"] == "firth"


def test_the_penalty_vanishes_in_large_samples():
    """With 40,000 rows the two fits agree to a small part of a standard error; batches give the same fit."""
    X, y, _ = rows(40_000, 0.8, 0.8, seed=4)
    plain, firth = (binary_regression(X, y, 0.8, 0.8, penalty=penalty) for penalty in (None, "firth"))
    np.testing.assert_allclose(firth.coefficients, plain.coefficients, atol=0.05 * plain.std_error.max())
    halves = [Batch(X[part], y[part], 0.8, 0.8) for part in (slice(0, 15_000), slice(15_000, None))]
    streamed = binary_regression_batches(halves, penalty="firth")
    np.testing.assert_allclose(streamed.coefficients, firth.coefficients, atol=1e-7)


def test_what_has_no_penalty_says_so():
    """Unknown names, weights and clusters."""
    X, y, _ = rows(200, 0.8, 0.8)
    with pytest.raises(EstimationError, match='penalty must be "firth" or None'):
        binary_regression(X, y, 0.8, 0.8, penalty="ridge")
    for extra in ({"weights": np.ones(200)}, {"clusters": np.arange(200)}):
        with pytest.raises(EstimationError, match="no weights, no clusters"):
            binary_regression(X, y, 0.8, 0.8, penalty="firth", **extra)
