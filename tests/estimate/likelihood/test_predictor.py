"""A randomised answer as a predictor of a public outcome."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats

from discreet import EstimationError
from discreet.estimate.regressions.likelihood.predictor import predictor_regression

from .simulated import differences

FAMILIES = ("logit", "probit", "gaussian")


def data(n, family, seed, k=2):
    """X, outcome and truth; the effects of the classes are 1, 2, …"""
    chance = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), chance.normal(size=n)])
    eta = np.column_stack([np.zeros(n), *[X @ (np.array([-0.4, 0.8]) / j) for j in range(1, k)]])
    shares = np.exp(eta) / np.exp(eta).sum(axis=1, keepdims=True)
    truth = (chance.random(n)[:, None] > shares.cumsum(axis=1)[:, :-1]).sum(axis=1)
    line = X @ np.array([-0.5, 0.5]) + truth
    if family == "gaussian":
        return X, 2 * line + 1.5 * chance.normal(size=n), truth
    if family == "probit":
        return X, (line + chance.normal(size=n) > 0).astype(float), truth
    return X, (chance.random(n) < 1 / (1 + np.exp(-line))).astype(float), truth


def randomised(truth, keep, k, seed):
    chance = np.random.default_rng(seed + 10_000)
    return np.where(chance.random(truth.size) < keep, truth, chance.integers(0, k, truth.size))


def channel(keep, k):
    return keep * np.eye(k) + (1 - keep) / k


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("k", [2, 3])
def test_derivatives(family, k):
    """Score and observed information of the mixture are derivatives of its log-likelihood."""
    X, outcome, truth = data(60, family, 1, k)
    y = randomised(truth, 0.6, k, 1)
    weights = np.linspace(0.5, 1.5, 60)
    fit = predictor_regression(outcome, X, y, channel(0.6, k), family=family, weights=weights)
    theta = np.random.default_rng(2).normal(size=fit.coefficients.size) / 3
    terms = fit.objective.terms(theta, "observed")
    scale = 1 + np.abs(terms.information).max()
    numeric = differences(lambda t: np.array(fit.objective.value(t)), theta)
    np.testing.assert_allclose(terms.score, numeric, atol=1e-7 * scale)
    hessian = differences(lambda t: fit.objective.terms(t, "observed").score, theta)
    np.testing.assert_allclose(terms.information, -hessian, atol=1e-6 * scale)


@pytest.mark.parametrize(("family", "peer"), [("logit", sm.Logit), ("probit", sm.Probit), ("gaussian", sm.OLS)])
def test_without_randomisation_it_is_the_ordinary_regression(family, peer):
    """A direct answer is a dummy variable like any other."""
    X, outcome, truth = data(1500, family, 3)
    fit = predictor_regression(outcome, X, truth, np.eye(2), family=family)
    Z = np.column_stack([X, truth])
    reference = peer(outcome, Z).fit() if family == "gaussian" else peer(outcome, Z).fit(disp=0, tol=1e-12)
    np.testing.assert_allclose(fit.coefficients[:3], reference.params, rtol=1e-6)
    np.testing.assert_allclose(fit.std_error[:3], reference.bse, rtol=2e-3)
    np.testing.assert_allclose(fit.effects, reference.params[2:], rtol=1e-6)


@pytest.mark.parametrize("family", FAMILIES)
def test_effects_are_calibrated(family):
    """Over 100 data sets the standardised error of the effect is N(0, 1); using reports as truths is not."""
    runs, errors, naive = 100, [], []
    effect = 2.0 if family == "gaussian" else 1.0
    for seed in range(runs):
        X, outcome, truth = data(1500, family, seed)
        y = randomised(truth, 0.6, 2, seed)
        for kept, Q in ((errors, channel(0.6, 2)), (naive, np.eye(2))):
            if kept is errors or seed < 15:
                fit = predictor_regression(outcome, X, y, Q, family=family)
                kept.append((fit.effects[0] - effect) / fit.std_error[2])
    low, high = stats.chi2.ppf(1e-6, runs), stats.chi2.isf(1e-6, runs)
    assert low < np.sum(np.square(errors)) < high
    assert np.sum(np.square(naive)) > stats.chi2.isf(1e-6, len(naive))


def test_the_naive_fit_is_that_of_the_reports():
    """Reports read as truths: least squares on them, and the logit of the reports, both of statsmodels."""
    import statsmodels.api as sm

    chance = np.random.default_rng(9)
    X = np.column_stack([np.ones(3000), chance.normal(size=3000)])
    truth = (chance.random(3000) < 0.4).astype(int)
    outcome = X @ [1.0, 0.5] + truth + chance.normal(size=3000)
    y = randomised(truth, 0.8, 2, 9)
    fit = predictor_regression(outcome, X, y, channel(0.8, 2), family="gaussian").naive()
    plain, law = sm.OLS(outcome, np.column_stack([X, y])).fit(), sm.Logit(y, X).fit(disp=0)
    np.testing.assert_allclose(fit.coefficients[:3], plain.params, atol=1e-6)
    np.testing.assert_allclose(fit.coefficients[4:], law.params, atol=1e-6)


def test_marginal_truth_model_and_summary():
    """With a truth that does not depend on X, the smaller model gives the same effect."""
    chance = np.random.default_rng(7)
    X = np.column_stack([np.ones(4000), chance.normal(size=4000)])
    truth = (chance.random(4000) < 0.3).astype(int)
    outcome = X @ [1.0, 0.5] + 2 * truth + chance.normal(size=4000)
    y = randomised(truth, 0.7, 2, 7)
    small = predictor_regression(outcome, X, y, channel(0.7, 2), family="gaussian", truth="marginal")
    large = predictor_regression(outcome, X, y, channel(0.7, 2), family="gaussian")
    assert small.names == ("x1", "x2", "answer 1", "log sigma", "truth 1: x1")
    assert abs(small.effects[0] - large.effects[0]) < 0.1
    assert abs(small.effects[0] - 2) < 5 * small.std_error[2]
    assert "randomised predictor" in small.summary()
    low, high = small.interval(method="profile")[2]
    np.testing.assert_allclose([low, high], small.interval()[2], atol=0.05)
    assert small.test("answer 1", method="likelihood-ratio").p_value < 1e-9


def test_bad_input_is_refused():
    """One sentence each."""
    X, outcome, truth = data(100, "logit", 8)
    with pytest.raises(EstimationError, match=r"outcome: row 0 .* must be 0 or 1"):
        predictor_regression(outcome + 2, X, truth, np.eye(2))
    with pytest.raises(EstimationError, match="family must be one of"):
        predictor_regression(outcome, X, truth, np.eye(2), family="poisson")
    with pytest.raises(EstimationError, match="truth must be"):
        predictor_regression(outcome, X, truth, np.eye(2), truth="saturated")
    with pytest.raises(EstimationError, match="constant first column"):
        predictor_regression(outcome, X[:, ::-1], truth, np.eye(2), truth="marginal")
    with pytest.raises(EstimationError, match="nothing to explain"):
        predictor_regression(np.ones(100), X, truth, np.eye(2), family="gaussian")
