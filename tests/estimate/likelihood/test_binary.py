"""Regression of a randomised yes/no answer: agreement, recovery, calibration."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats

from discreet.estimate.regressions.likelihood import BinaryRegression, binary_regression
from discreet.estimate.regressions.likelihood.links import LINKS

from .simulated import rows


@pytest.mark.parametrize(("link", "peer"), [("logit", sm.Logit), ("probit", sm.Probit)])
@pytest.mark.parametrize("n", [300, 40_000])
def test_without_randomisation_it_is_the_ordinary_regression(link, peer, n):
    """p00 = p11 = 1 gives statsmodels' coefficients, standard errors and log-likelihood."""
    X, _, truth = rows(n, 1.0, 1.0, link, seed=4)
    fit, reference = binary_regression(X, truth, 1, 1, link=link), peer(truth, X).fit(disp=0, tol=1e-12)
    np.testing.assert_allclose(fit.coefficients, reference.params, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(fit.covariance_of("observed"), reference.cov_params(), rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(fit.log_likelihood, reference.llf, rtol=1e-12)
    np.testing.assert_allclose([fit.aic, fit.bic], [reference.aic, reference.bic], rtol=1e-12)
    if link == "logit":  # canonical: both informations are the same
        np.testing.assert_allclose(fit.p_values, reference.pvalues, rtol=1e-6, atol=1e-12)


def test_cloglog_and_offset_agree_with_the_ordinary_glm():
    """The GLM of statsmodels with the same link and an offset."""
    X, _, truth = rows(2000, 1.0, 1.0, "cloglog", (-0.5, 0.3), seed=5)
    shift = np.random.default_rng(0).normal(size=2000) / 3
    family = sm.families.Binomial(sm.families.links.CLogLog())
    reference = sm.GLM(truth, X, family=family, offset=shift).fit(tol=1e-13)
    fit = binary_regression(X, truth, 1, 1, link="cloglog", offset=shift)
    np.testing.assert_allclose(fit.coefficients, reference.params, rtol=1e-6)
    np.testing.assert_allclose(fit.std_error, reference.bse, rtol=1e-5)


def test_the_other_coding_of_reports_gives_the_same_fit():
    """Flipping every report turns p00 + p11 > 1 into a crosswise design; coefficients do not notice."""
    X, y, _ = rows(3000, 0.8, 0.7, seed=6)
    fit, flipped = binary_regression(X, y, 0.8, 0.7), binary_regression(X, 1 - y, 0.2, 0.3)
    np.testing.assert_allclose(flipped.coefficients, fit.coefficients, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(flipped.covariance, fit.covariance, rtol=1e-7, atol=1e-10)


def test_repeated_rows_are_weights():
    """Weight 2 is the row twice: same coefficients, same log-likelihood."""
    X, y, _ = rows(1500, 0.8, 0.8, seed=7)
    weights = np.where(np.arange(1500) % 3 == 0, 2.0, 1.0)
    twice = np.repeat(np.arange(1500), weights.astype(int))
    fit, long = binary_regression(X, y, 0.8, 0.8, weights=weights), binary_regression(X[twice], y[twice], 0.8, 0.8)
    np.testing.assert_allclose(fit.coefficients, long.coefficients, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(fit.log_likelihood, long.log_likelihood, rtol=1e-12)
    assert fit.covariance_kind == "robust"
    assert np.isnan(fit.aic)


def test_uninformative_rows_change_nothing_and_are_counted():
    """A mode with p00 + p11 = 1 adds a constant to the log-likelihood."""
    X, y, _ = rows(2000, 0.8, 0.8, seed=8)
    p = np.where(np.arange(2000) < 500, 0.5, 0.8)
    fit, short = binary_regression(X, y, p, p), binary_regression(X[500:], y[500:], 0.8, 0.8)
    np.testing.assert_allclose(fit.coefficients, short.coefficients, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(fit.covariance, short.covariance, rtol=1e-8)
    assert any("500 rows" in note for note in fit.notes)


def mixed_modes(n):
    """Direct, crosswise, forced and two levels of ε in one data set."""
    mode = np.arange(n) % 5
    p00 = np.array([1.0, 0.25, 5 / 6, 0.73, 0.9])[mode]
    p11 = np.array([1.0, 0.25, 0.9, 0.73, 0.6])[mode]
    return p00, p11


def standardised(link, runs, n):
    p00, p11 = mixed_modes(n)
    beta = np.array([-0.4, 0.5, 0.0])
    errors = []
    for seed in range(runs):
        X, y, _ = rows(n, p00, p11, link, beta, seed=1000 + seed)
        fit = binary_regression(X, y, p00, p11, link=link)
        assert fit.converged
        errors.append((fit.coefficients - beta) / fit.std_error)
    return np.array(errors)


def calibrated(errors):
    """Means and mean squares of standardised errors are those of N(0, 1), at p > 1e-6 for each coefficient."""
    runs = errors.shape[0]
    mean = np.abs(errors.mean(axis=0)) * np.sqrt(runs) < stats.norm.isf(1e-6)
    square = (errors**2).sum(axis=0)
    low, high = stats.chi2.ppf(1e-6, runs), stats.chi2.isf(1e-6, runs)
    return bool(mean.all() and ((square > low) & (square < high)).all())


@pytest.mark.parametrize("link", LINKS)
def test_estimates_are_unbiased_and_errors_calibrated_in_mixed_modes(link):
    """Per-row designs; and standard errors that are 30 % off would be noticed."""
    errors = standardised(link, 400 if link == "logit" else 150, 2500)
    assert calibrated(errors)
    if link == "logit":
        assert not calibrated(errors / 1.3)
        assert not calibrated(errors * 1.3)


def test_naive_intervals_miss_and_corrected_ones_cover():
    """ε = 1, n = 40,000, β = (1, ¼, 0, ½): naive intervals cover the zero coefficient only."""
    p, beta, runs = 1 / (1 + np.exp(-1)), np.array([1, 0.25, 0, 0.5]), 60
    corrected, naive = np.zeros(4), np.zeros(4)
    for seed in range(runs):
        X, y, _ = rows(40_000, p, p, seed=seed)
        fit = binary_regression(X, y, p, p)
        for hits, one in ((corrected, fit), (naive, fit.naive())):
            low, high = one.interval().T
            hits += (low <= beta) & (beta <= high)
    floor = stats.binom.ppf(1e-6, runs, 0.95)
    assert (corrected >= floor).all()
    assert naive[2] >= floor
    assert (naive[[0, 1, 3]] == 0).all()


def test_many_starts_find_the_maximum_in_large_data_too():
    """The optimum found through a sample of rows is at least as high as one searched for on all rows."""
    from discreet.estimate.regressions.likelihood.search import random_starts, search

    p = 1 / (1 + np.exp(-0.3))
    X, y, _ = rows(60_000, p, p, seed=9)
    fit = binary_regression(X, y, p, p)
    other = search(fit.objective, random_starts(fit.facts.metric, 6), fit.scale)
    assert fit.converged
    assert fit.log_likelihood >= other.optimum.value - 1e-6
    assert np.abs(fit.moments.score).max() < 1e-5


def test_local_maxima_do_not_trap_the_fit():
    """From some starts the climb ends elsewhere; the fit is never below any of them."""
    from discreet.estimate.regressions.likelihood.search import random_starts
    from discreet.estimate.regressions.optimise import maximise

    for seed in range(10):
        X, y, _ = rows(300, 0.7, 0.7, seed=seed)
        fit = binary_regression(X, y, 0.7, 0.7)
        for start in random_starts(fit.facts.metric, 5):
            assert fit.log_likelihood >= maximise(fit.objective, 2 * start, scale=fit.scale).value - 0.5


def test_result_is_frozen_and_reads_like_a_regression_table():
    """Arrays cannot be changed; the summary has the columns that statsmodels users expect, and the design."""
    X, y, _ = rows(4000, 0.75, 0.75, seed=10)
    fit = binary_regression(X, y, 0.75, 0.75, names=["const", "age", "sex", "term"])
    assert isinstance(fit, BinaryRegression)
    with pytest.raises(ValueError, match="read-only"):
        fit.coefficients[0] = 1.0
    with pytest.raises(AttributeError):
        fit.n = 3
    text = fit.summary()
    for part in ("coef", "std err", "P>|z|", "[0.025", "0.975]", "Log-likelihood", "4,000", "ε = 1.099", "age"):
        assert part in text
    data = fit.to_dict()
    assert data["names"] == ["const", "age", "sex", "term"]
    assert data["designs"] == [{"p00": 0.75, "p11": 0.75}]
    np.testing.assert_allclose(fit.epsilon, np.log(3))
    assert fit.estimate is fit.coefficients


def test_names_come_from_a_table():
    """The header of a data frame names the coefficients."""
    import pandas as pd

    X, y, _ = rows(500, 0.9, 0.9, seed=11)
    fit = binary_regression(pd.DataFrame(X, columns=list("abcd")), pd.Series(y), 0.9, 0.9)
    assert fit.names == ("a", "b", "c", "d")
