"""The likelihood of yes/no reports: score and informations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.estimate.regressions.likelihood.links import LINKS
from discreet.estimate.regressions.likelihood.rows import checked_rows
from discreet.estimate.regressions.likelihood.yes_no import BinaryModel, report_probabilities

from .simulated import differences


def random_rows(seed, n=40, d=3, direct=False):
    chance = np.random.default_rng(seed)
    X = chance.normal(size=(n, d))
    p00, p11 = (np.ones(n), np.ones(n)) if direct else (chance.random(n), chance.random(n))
    y = chance.integers(0, 2, n)
    rows = checked_rows(X, y, p00, p11, chance.random(n) + 0.5, chance.normal(size=n))
    return rows, chance.normal(size=d)


@pytest.mark.parametrize("link", LINKS)
@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), direct=st.booleans())
def test_score_and_observed_information_are_derivatives(link, seed, direct):
    """For random designs, p00 + p11 < 1 included, weights and offsets."""
    rows, theta = random_rows(seed, direct=direct)
    model = BinaryModel(LINKS[link])
    terms = model.terms(theta, rows, "observed")
    np.testing.assert_allclose(terms.value, model.value(theta, rows), rtol=1e-13)
    scale = 1 + np.abs(terms.information).max()
    numeric = differences(lambda t: np.array(model.value(t, rows)), theta)
    np.testing.assert_allclose(terms.score, numeric, atol=1e-6 * scale)
    hessian = differences(lambda t: model.terms(t, rows, "observed").score, theta)
    np.testing.assert_allclose(terms.information, -hessian, atol=1e-6 * scale)
    np.testing.assert_allclose(model.scores(theta, rows).sum(axis=0), terms.score, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("link", LINKS)
def test_expected_information_is_the_mean_of_the_observed_one(link):
    """Averaged over both reports with their probabilities; and it is the mean square of the score."""
    rows, theta = random_rows(3)
    model = BinaryModel(LINKS[link])
    eta = rows.X @ theta + rows.offset
    q = report_probabilities(eta, LINKS[link], rows)[1]
    mean, square = np.zeros(rows.size), np.zeros(rows.size)
    for report, share in ((0, 1 - q), (1, q)):
        made = checked_rows(
            rows.X, np.full(rows.size, report), rows.channel[0, 0], rows.channel[1, 1], None, rows.offset
        )
        _, first, second = model.rowwise(theta, made, "observed")
        mean += share * second
        square += share * first**2
    _, _, expected = model.rowwise(theta, rows, "expected")
    np.testing.assert_allclose(expected, mean, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(expected, square, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("link", LINKS)
def test_tails_join_smoothly(link):
    """Where probabilities underflow, logarithms take over and nothing jumps or becomes nan."""
    eta = np.array([-1e4, -200.0, -39.0, -37.0, -20.0, 20.0, 37.0, 39.0, 200.0, 1e4])
    model = BinaryModel(LINKS[link])
    for report in (0, 1):
        rows = checked_rows(eta[:, None], np.full(eta.size, report), 1.0, 1.0)
        for curvature in ("expected", "observed"):
            value, first, second = model.rowwise(np.ones(1), rows, curvature)
            assert not np.isnan(value).any()
            assert not np.isnan(first).any()
            assert np.isfinite(second).all()
    probit = BinaryModel(LINKS["probit"])
    rows = checked_rows(np.array([[-50.0]]), np.array([1]), 1.0, 1.0)
    value, first, second = probit.rowwise(np.ones(1), rows, "observed")
    # Mills: log Φ(−x) ≈ −x²/2 − log(x√2π), slope ≈ x + 1/x, curvature ≈ 1 − 1/x².
    np.testing.assert_allclose(value, -1250 - np.log(50 * np.sqrt(2 * np.pi)), rtol=1e-6)
    np.testing.assert_allclose(first, 50 + 1 / 50, rtol=1e-6)
    np.testing.assert_allclose(second, 1, atol=1e-2)
