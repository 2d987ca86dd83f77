"""Multinomial logit through any channel."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from discreet import EstimationError, NotIdentifiedError, Randomness
from discreet.estimate.regressions.likelihood import binary_regression
from discreet.estimate.regressions.likelihood.multinomial import MultinomialModel, multinomial_regression
from discreet.estimate.regressions.likelihood.multinomial_rows import ClassRows, given_truths
from discreet.mechanisms import BinaryResponse, GeneralizedResponse

from .simulated import differences, rows

BETA = np.array([[0.3, 0.5], [-0.2, 0.8]])


def classes(n, seed):
    chance = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), chance.normal(size=n)])
    shares = np.exp(np.column_stack([np.zeros(n), X @ BETA.T]))
    shares /= shares.sum(axis=1, keepdims=True)
    return X, (chance.random(n)[:, None] > shares.cumsum(axis=1)[:, :-1]).sum(axis=1)


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), k=st.integers(2, 4), extra=st.integers(0, 2))
def test_derivatives_for_random_channels(seed, k, extra):
    """Score, observed information; the expected one is the mean of the observed one over reports."""
    chance = np.random.default_rng(seed)
    channels = tuple(chance.dirichlet(np.ones(k + extra), size=k) for _ in range(2))
    n, d = 20, 2
    X, design = chance.normal(size=(n, d)), chance.integers(0, 2, n)
    y = chance.integers(0, k + extra, n)
    model = MultinomialModel(channels)
    theta = chance.normal(size=(k - 1) * d)

    def made(report):
        return ClassRows(X, report, given_truths(report, channels, design)[1], design, chance_weights)

    chance_weights = chance.random(n) + 0.5
    rows_ = made(y)
    terms = model.terms(theta, rows_, "observed")
    scale = 1 + np.abs(terms.information).max()
    np.testing.assert_allclose(
        terms.score, differences(lambda t: np.array(model.value(t, rows_)), theta), atol=1e-6 * scale
    )
    hessian = differences(lambda t: model.terms(t, rows_, "observed").score, theta)
    np.testing.assert_allclose(terms.information, -hessian, atol=1e-6 * scale)
    np.testing.assert_allclose(model.scores(theta, rows_).sum(axis=0), terms.score, atol=1e-10)
    prior = model._split(theta, rows_)[0]
    mean = np.zeros_like(terms.information)
    for report in range(k + extra):
        share = np.einsum("ij,ij->i", prior, np.stack([channels[m][:, report] for m in design]))
        one = made(np.full(n, report))
        part = ClassRows(one.X, one.report, one.given, design, chance_weights * share)
        mean += model.terms(theta, part, "observed").information
    np.testing.assert_allclose(model.terms(theta, rows_, "expected").information, mean, atol=1e-9 * scale)


def test_identity_channel_is_the_ordinary_multinomial_logit():
    """As MNLogit of statsmodels: coefficients, standard errors, log-likelihood."""
    X, truth = classes(1500, 1)
    fit, peer = multinomial_regression(X, truth, np.eye(3)), sm.MNLogit(truth, X).fit(disp=0, tol=1e-12)
    np.testing.assert_allclose(fit.matrix, np.asarray(peer.params).T, rtol=1e-8)
    np.testing.assert_allclose(fit.std_error, np.asarray(peer.bse).T.reshape(-1), rtol=1e-7)
    np.testing.assert_allclose(fit.log_likelihood, peer.llf, rtol=1e-12)


def test_two_classes_are_the_binary_regression():
    """Same coefficients, covariance and profile intervals."""
    X, y, _ = rows(1500, 0.85, 0.7, seed=2)
    fit = multinomial_regression(X, y, BinaryResponse("17/20", "7/10"))
    binary = binary_regression(X, y, 0.85, 0.7)
    np.testing.assert_allclose(fit.coefficients, binary.coefficients, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(fit.covariance, binary.covariance, rtol=1e-6, atol=1e-10)
    np.testing.assert_allclose(fit.interval(method="profile"), binary.interval(method="profile"), rtol=1e-5)
    per_row = multinomial_regression(
        X,
        y,
        {"a": [[0.85, 0.15], [0.3, 0.7]], "b": [[0.85, 0.15], [0.3, 0.7]]},
        designs=np.where(np.arange(1500) % 2, "a", "b"),
    )
    np.testing.assert_allclose(per_row.coefficients, fit.coefficients, rtol=1e-8, atol=1e-9)


def test_estimates_are_calibrated_under_generalised_response():
    """Standardised errors are N(0, 1) over 100 data sets, and naive ones are not."""
    mechanism, runs = GeneralizedResponse(3, 2.0), 100
    errors, naive = [], []
    for seed in range(runs):
        X, truth = classes(1500, 100 + seed)
        y = mechanism.privatize(truth, Randomness.seeded(seed))
        for kept, channel in ((errors, mechanism), (naive, np.eye(3)))[: 2 if seed < 20 else 1]:
            fit = multinomial_regression(X, y, channel)
            kept.append((fit.coefficients - BETA.reshape(-1)) / fit.std_error)
    square, wrong = (np.array(errors) ** 2).sum(axis=0), (np.array(naive) ** 2).sum(axis=0)
    low, high = stats.chi2.ppf(1e-6, runs), stats.chi2.isf(1e-6, runs)
    assert ((square > low) & (square < high)).all()
    assert (wrong > stats.chi2.isf(1e-6, len(naive))).any()


def test_predictions_and_summary():
    """Probabilities sum to one with delta-method errors; the table names class and column."""
    X, truth = classes(800, 3)
    fit = multinomial_regression(X, truth, np.eye(3), classes=["bus", "car", "train"], names=["const", "income"])
    assert fit.names[2:] == ("train: const", "train: income")
    at = np.array([[1.0, 0.0], [1.0, 1.5]])
    np.testing.assert_allclose(fit.predict(at).sum(axis=1), 1.0)

    def shares(t):
        eta = np.column_stack([np.zeros(2), at @ t.reshape(2, 2).T])
        return np.exp(eta) / np.exp(eta).sum(axis=1, keepdims=True)

    slope = differences(shares, np.array(fit.coefficients))
    variance = np.einsum("ijp,pq,ijq->ij", slope, fit.covariance, slope)
    np.testing.assert_allclose(fit.predict_std_error(at) ** 2, variance, rtol=1e-6)
    assert "car: income" in fit.summary()
    assert fit.test(["car: income", "train: income"], method="likelihood-ratio").p_value < 1e-6
    assert fit.to_dict()["classes"] == ["bus", "car", "train"]


def test_what_cannot_be_learned_or_read_is_refused():
    """Channels that do not tell classes apart, reports out of range, matrices that are none."""
    X, truth = classes(100, 4)
    with pytest.raises(NotIdentifiedError, match="tell all classes apart"):
        multinomial_regression(X, truth % 2, [[0.6, 0.4], [0.4, 0.6], [0.5, 0.5]])
    with pytest.raises(EstimationError, match=r"row .* from 0 to 2"):
        multinomial_regression(X, truth + 1, np.eye(3))
    with pytest.raises(EstimationError, match="sum to one"):
        multinomial_regression(X, truth, np.ones((3, 3)))
    with pytest.raises(EstimationError, match="names the one of every row"):
        multinomial_regression(X, truth, {"a": np.eye(3)})
    with pytest.raises(EstimationError, match="names no design"):
        multinomial_regression(X, truth, {"a": np.eye(3)}, designs=["b"] * 100)
    with pytest.raises(EstimationError, match="a whole number"):
        multinomial_regression(X, truth + 0.5, np.eye(3))
    with pytest.raises(EstimationError, match='"x3" is a linear combination of "x1", "x2"'):
        multinomial_regression(np.column_stack([X, X.sum(axis=1)]), truth, np.eye(3))
    with pytest.raises(EstimationError, match="that no truth can give"):
        multinomial_regression(X, np.full(100, 3), np.column_stack([np.eye(3), np.zeros(3)]))


def _simulated(n=6000, seed=4):
    """A three-class label through generalised response."""
    from discreet import Randomness
    from discreet.mechanisms import GeneralizedResponse

    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.normal(size=n), rng.random(n) < 0.5]).astype(float)
    B = np.array([[0.3, 0.8, -0.5], [-0.4, 0.2, 0.6]])
    eta = np.column_stack([np.zeros(n), X @ B.T])
    P = np.exp(eta) / np.exp(eta).sum(axis=1, keepdims=True)
    truth = (rng.random((n, 1)) > np.cumsum(P, axis=1)).sum(axis=1)
    mechanism = GeneralizedResponse(3, 2.0)
    return X, truth, mechanism.privatize(truth, Randomness.seeded(seed)), mechanism, B, P


def test_marginal_effects_are_derivatives_of_mean_probabilities():
    """Against finite differences of predictions, and their errors against finite differences in the coefficients."""
    from discreet.estimate.regressions.likelihood.multinomial import (
        class_effects,
        class_probabilities,
        multinomial_regression,
    )

    X, _, y, mechanism, _, _ = _simulated()
    fit = multinomial_regression(X, y, mechanism, names=["const", "x", "d"])
    effects = fit.marginal_effects()
    h = 1e-5
    numeric = []
    for c in range(3):
        for j in (1, 2):
            step = np.eye(3)[j] * h
            up, down = (class_probabilities(X + s * step, fit.matrix)[:, c].mean() for s in (1, -1))
            numeric.append((up - down) / (2 * h))
    assert np.allclose(effects.estimate, numeric, atol=1e-8)
    _, jacobian = class_effects(X, fit.matrix, np.full(len(X), 1 / len(X)), [1, 2], {})
    for p in range(fit.coefficients.size):
        shift = np.eye(fit.coefficients.size)[p].reshape(fit.matrix.shape) * h
        up, down = (
            class_effects(X, fit.matrix + s * shift, np.full(len(X), 1 / len(X)), [1, 2], {})[0] for s in (1, -1)
        )
        assert np.allclose(jacobian[:, p], (up - down) / (2 * h), atol=1e-7)
    assert effects.names[0] == "0: x"
    assert np.abs(effects.estimate.reshape(3, 2).sum(axis=0)).max() < 1e-12


def test_naive_multinomial_is_the_fit_of_the_reports():
    """The naive fit reads reports as truths; the corrected one is nearer to the true coefficients."""
    from discreet.estimate.regressions.likelihood.multinomial import multinomial_regression

    X, _, y, mechanism, B, _ = _simulated(40_000, 9)
    fit = multinomial_regression(X, y, mechanism)
    naive = fit.naive()
    direct = multinomial_regression(X, y, np.eye(3))
    assert np.allclose(naive.coefficients, direct.coefficients, atol=1e-6)
    assert np.abs(fit.matrix - B).max() < np.abs(naive.matrix - B).max()
    assert np.all(np.abs(fit.coefficients - B.ravel()) < 5 * fit.std_error)
