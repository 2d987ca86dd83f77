"""Covariances, intervals, tests, predictions, marginal effects and goodness of fit."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import optimize, stats

from discreet import EstimationError
from discreet.estimate.regressions.likelihood import binary_regression
from discreet.estimate.regressions.likelihood.effects import Predictions

from .simulated import differences, rows


@pytest.fixture(scope="module")
def fit():
    X, y, _ = rows(1500, 0.85, 0.75, seed=20)
    return binary_regression(X, y, 0.85, 0.75)


def row_scores(X, y, p00, p11, theta):
    """Scores by differences of each row's log-likelihood, written out afresh."""

    def log_rows(t):
        q = 1 - p00 + (p00 + p11 - 1) / (1 + np.exp(-X @ t))
        return np.where(y == 1, np.log(q), np.log(1 - q))

    return differences(log_rows, theta)


def test_robust_and_clustered_covariances_are_sandwiches():
    """Against scores and Hessian by differences of an independently written likelihood."""
    X, y, _ = rows(600, 0.85, 0.75, seed=21)
    clusters = np.array([f"c{i // 4}" for i in range(600)])
    fit = binary_regression(X, y, 0.85, 0.75, clusters=clusters)
    scores = row_scores(X, y, 0.85, 0.75, fit.coefficients)
    hessian = differences(lambda t: row_scores(X, y, 0.85, 0.75, t).sum(axis=0), fit.coefficients, 1e-4)
    bread = np.linalg.inv(-hessian)
    robust = bread @ scores.T @ scores @ bread * 600 / 599
    np.testing.assert_allclose(fit.covariance_of("robust"), robust, rtol=1e-4, atol=1e-6)
    totals = np.array([scores[clusters == c].sum(axis=0) for c in np.unique(clusters)])
    clustered = bread @ totals.T @ totals @ bread * 150 / 149
    np.testing.assert_allclose(fit.covariance, clustered, rtol=1e-4, atol=1e-6)
    alone = binary_regression(X, y, 0.85, 0.75, clusters=np.arange(600))
    np.testing.assert_allclose(alone.covariance, fit.covariance_of("robust"), rtol=1e-10)


def test_sandwiches_agree_with_statsmodels_without_randomisation():
    """HC0 and cluster covariances of statsmodels, up to the factors n/(n − 1) and C/(C − 1)."""
    X, _, truth = rows(900, 1, 1, seed=22)
    groups = np.arange(900) // 3
    fit = binary_regression(X, truth, 1, 1, clusters=groups)
    robust = sm.Logit(truth, X).fit(disp=0, tol=1e-12, cov_type="HC0").cov_params()
    np.testing.assert_allclose(fit.covariance_of("robust"), robust * 900 / 899, rtol=1e-8)
    options = {"groups": groups, "use_correction": False}
    clustered = sm.Logit(truth, X).fit(disp=0, tol=1e-12, cov_type="cluster", cov_kwds=options).cov_params()
    np.testing.assert_allclose(fit.covariance, clustered * 300 / 299, rtol=1e-8)


def test_profile_interval_inverts_the_likelihood_ratio_test(fit):
    """Its ends are where a directly maximised likelihood has fallen by χ²/2."""
    X, y = np.concatenate([c.X for c in fit.source.chunks()]), fit._fitted.answer

    def restricted(b, j):
        free = [k for k in range(4) if k != j]

        def loss(t):
            theta = np.empty(4)
            theta[j], theta[free] = b, t
            q = 1 - 0.85 + 0.6 / (1 + np.exp(-X @ theta))
            return -np.sum(np.where(y, np.log(q), np.log(1 - q)))

        return -optimize.minimize(loss, fit.coefficients[free], method="BFGS", options={"gtol": 1e-6}).fun

    bounds = fit.interval(0.9, method="profile")
    threshold = stats.chi2.ppf(0.9, 1)
    for j in (0, 3):
        for end in bounds[j]:
            assert abs(2 * (fit.log_likelihood - restricted(end, j)) - threshold) < 1e-4
    assert (bounds[:, 0] < fit.coefficients).all()
    assert (bounds[:, 1] > fit.coefficients).all()
    np.testing.assert_allclose(bounds, fit.interval(0.9), atol=0.5 * fit.std_error.max())


def test_profile_intervals_hold_the_level_where_wald_does_not_exist():
    """Sixty people, strong randomisation: estimates are often infinite, profile intervals cover all the same."""
    p, truth, runs, covered, infinite = 0.65, -1.5, 150, 0, 0
    chance = np.random.default_rng(5)
    for _ in range(runs):
        y = chance.random(60) < 1 - p + (2 * p - 1) / (1 + np.exp(-truth))
        one = binary_regression(np.ones((60, 1)), y, p, p)
        low, high = one.interval(method="profile")[0]
        covered += low <= truth <= high
        infinite += not one.converged
    assert infinite > 20
    assert covered >= stats.binom.ppf(1e-6, runs, 0.95)


def test_several_coefficients_are_tested_at_once(fit):
    """Wald and likelihood ratio agree roughly; a single Wald test is the square of z."""
    single = fit.test("x4")
    np.testing.assert_allclose(single.statistic, fit.z[3] ** 2, rtol=1e-10)
    np.testing.assert_allclose(single.p_value, fit.p_values[3], rtol=1e-9)
    wald, ratio = fit.test(["x2", "x4"]), fit.test(["x2", "x4"], method="likelihood-ratio")
    assert wald.degrees_of_freedom == ratio.degrees_of_freedom == 2
    X, y = np.concatenate([c.X for c in fit.source.chunks()]), fit._fitted.answer
    small = binary_regression(X[:, [0, 2]], y, 0.85, 0.75)
    np.testing.assert_allclose(ratio.statistic, 2 * (fit.log_likelihood - small.log_likelihood), rtol=1e-7)
    np.testing.assert_allclose(ratio.p_value, stats.chi2.sf(ratio.statistic, 2), rtol=1e-10)
    assert 0.5 < wald.statistic / ratio.statistic < 2
    assert "χ²(2)" in ratio.summary()
    assert ratio.to_dict()["degrees_of_freedom"] == 2
    with pytest.raises(EstimationError, match="must be among x1, x2, x3, x4, not 'x9'"):
        fit.test(["x9"])
    with pytest.raises(EstimationError, match='"wald" or "likelihood-ratio"'):
        fit.test("x1", method="score")


def test_likelihood_ratio_p_values_are_uniform_under_the_hypothesis():
    """Kolmogorov–Smirnov over 200 data sets with a zero coefficient; a doubled statistic would be noticed."""
    statistics = []
    for seed in range(200):
        X, y, _ = rows(800, 0.8, 0.8, beta=(0.5, 0.5, 0.0), seed=seed)
        statistics.append(binary_regression(X, y, 0.8, 0.8).test("x3", method="likelihood-ratio").statistic)
    assert stats.kstest(stats.chi2.sf(statistics, 1), "uniform").pvalue > 1e-4
    assert stats.kstest(stats.chi2.sf(2 * np.array(statistics), 1), "uniform").pvalue < 1e-4


def test_survey_data_have_no_likelihood_ratio():
    """With weights or clusters, likelihood-ratio methods are refused, not wrong."""
    X, y, _ = rows(400, 0.8, 0.8, seed=23)
    weighted = binary_regression(X, y, 0.8, 0.8, weights=np.linspace(1, 2, 400))
    clustered = binary_regression(X, y, 0.8, 0.8, clusters=np.arange(400) // 2)
    for one in (weighted, clustered):
        with pytest.raises(EstimationError, match="not chi-square"):
            one.interval(method="profile")
        with pytest.raises(EstimationError, match="not chi-square"):
            one.test("x2", method="likelihood-ratio")
        with pytest.raises(EstimationError, match="equally weighted"):
            one.goodness_of_fit()
    with pytest.raises(EstimationError, match="needs clusters="):
        weighted.covariance_of("cluster")
    with pytest.raises(EstimationError, match='must be one of "model"'):
        weighted.covariance_of("jackknife")
    with pytest.raises(EstimationError, match='must be one of "wald", "profile"'):
        weighted.interval(method="exact")


def test_another_covariance_can_be_chosen(fit):
    """Intervals, tests and the summary follow it; an unknown one is refused."""
    robust = fit.with_covariance("robust")
    np.testing.assert_allclose(robust.covariance, fit.covariance_of("robust"))
    np.testing.assert_allclose(robust.test("x2").statistic, (fit.coefficients[1] / robust.std_error[1]) ** 2)
    assert "robust" in robust.summary()
    with pytest.raises(EstimationError, match='must be one of "model"'):
        fit.with_covariance("hc3")


def test_the_unit_of_weights_does_not_matter():
    """Weights that sum to one or to a population give the same coefficients, robust errors and verdicts."""
    X, y, _ = rows(700, 0.8, 0.8, seed=25)
    weights = np.random.default_rng(0).random(700) + 0.5
    fits = [binary_regression(X, y, 0.8, 0.8, weights=weights * unit) for unit in (1e-6, 1.0, 1e6)]
    for one in fits:
        assert one.converged
        np.testing.assert_allclose(one.coefficients, fits[1].coefficients, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(one.covariance, fits[1].covariance, rtol=1e-6)
    np.testing.assert_allclose(fits[2].log_likelihood, 1e6 * fits[1].log_likelihood)


def test_predictions_have_delta_method_errors(fit):
    """Against differences of the prediction in the coefficients; intervals stay inside [0, 1]."""
    X = np.array([[1.0, 0, 0, 0], [1, 2, -1, 3], [1, -9, 0, -9]])
    found = fit.predict(X, interval=True)
    assert isinstance(found, Predictions)
    np.testing.assert_allclose(found.estimate, 1 / (1 + np.exp(-X @ fit.coefficients)), rtol=1e-12)
    slope = differences(lambda t: 1 / (1 + np.exp(-X @ t)), np.array(fit.coefficients))
    np.testing.assert_allclose(found.std_error**2, np.diag(slope @ fit.covariance @ slope.T), rtol=1e-6)
    bounds = found.interval(0.99)
    assert ((bounds >= 0) & (bounds <= 1)).all()
    assert ((bounds[:, 0] < found.estimate) & (found.estimate < bounds[:, 1])).all()
    np.testing.assert_array_equal(fit.predict(X), found.estimate)
    shifted = fit.predict(X, offset=np.ones(3))
    np.testing.assert_allclose(shifted, 1 / (1 + np.exp(-X @ fit.coefficients - 1)), rtol=1e-12)
    with pytest.raises(EstimationError, match="4 columns, not 2"):
        fit.predict(X[:, :2])


def test_marginal_effects_agree_with_statsmodels_without_randomisation():
    """Derivatives and discrete changes, with their errors."""
    X, _, truth = rows(1200, 1, 1, seed=24)
    X[:, 2] = X[:, 2] > 0
    fit, peer = binary_regression(X, truth, 1, 1), sm.Logit(truth, X).fit(disp=0, tol=1e-12)
    effects, reference = fit.marginal_effects(), peer.get_margeff()
    assert effects.names == ("x2", "x3", "x4")
    np.testing.assert_allclose(effects.estimate, reference.margeff, rtol=1e-8)
    np.testing.assert_allclose(effects.std_error, reference.margeff_se, rtol=1e-7)
    switched, reference = fit.marginal_effects(discrete=["x3"]), peer.get_margeff(dummy=True)
    np.testing.assert_allclose(switched.estimate, reference.margeff, rtol=1e-8)
    np.testing.assert_allclose(switched.std_error, reference.margeff_se, rtol=1e-7)
    assert "x3" in switched.summary()
    assert switched.interval().shape == (3, 2)
    with pytest.raises(EstimationError, match="'x8' is none"):
        fit.marginal_effects(discrete=["x8"])


def test_goodness_of_fit_accepts_the_model_and_rejects_a_wrong_one():
    """Statistics of 150 right models are chi-square; a forgotten square is found."""
    values = []
    for seed in range(150):
        X, y, _ = rows(1000, 0.85, 0.85, seed=seed)
        values.append(binary_regression(X, y, 0.85, 0.85).goodness_of_fit())
    assert {one.degrees_of_freedom for one in values} == {8}
    statistics = np.array([one.statistic for one in values])
    assert stats.kstest(statistics, stats.chi2(8).cdf).pvalue > 1e-4
    assert stats.kstest(1.5 * statistics, stats.chi2(8).cdf).pvalue < 1e-4
    chance = np.random.default_rng(0)
    x = chance.normal(size=20_000)
    truth = chance.random(20_000) < 1 / (1 + np.exp(1 - x**2))
    y = np.where(chance.random(20_000) < 0.85, truth, ~truth)
    wrong = binary_regression(np.column_stack([np.ones(20_000), x]), y, 0.85, 0.85).goodness_of_fit()
    assert wrong.p_value < 1e-9
    assert "Hosmer–Lemeshow" in wrong.summary()
    with pytest.raises(EstimationError, match="from 3 to"):
        binary_regression(X, y[:1000], 0.85, 0.85).goodness_of_fit(groups=2)


def test_residuals_add_up(fit):
    """Squared deviance residuals add up to the deviance; Pearson residuals have unit variance."""
    np.testing.assert_allclose(np.sum(fit.residuals("deviance") ** 2), fit.deviance, rtol=1e-12)
    np.testing.assert_allclose(fit.deviance, -2 * fit.log_likelihood)
    assert abs(np.mean(fit.residuals("pearson") ** 2) - 1) < 0.1
    np.testing.assert_allclose(fit.residuals("response"), fit._fitted.answer - fit.fitted_reports)
    with pytest.raises(EstimationError, match="pearson, deviance or response"):
        fit.residuals("working")
