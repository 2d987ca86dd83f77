"""What cannot be estimated is recognised and said; bad input gets one clear sentence."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import EstimationError, NotIdentifiedError
from discreet.estimate.regressions.likelihood import binary_regression
from discreet.estimate.regressions.likelihood.links import LINKS

from .simulated import rows


@pytest.mark.parametrize("link", LINKS)
def test_separation_is_recognised(link):
    """A covariate that decides the answer: infinite estimate, named, infinite standard error."""
    x = np.linspace(-2, 2, 200)
    X = np.column_stack([np.ones(200), x, np.random.default_rng(0).normal(size=200)])
    fit = binary_regression(X, x > 0.01, 1, 1, link=link, names=["const", "slope", "noise"])
    assert not fit.converged
    assert "infinite" in fit.status
    assert '"slope"' in fit.status
    assert np.isinf(fit.std_error[1])
    assert "infinite" in fit.summary()
    assert np.isnan(fit.marginal_effects().std_error[0])
    assert np.isnan(fit.test("slope").p_value)
    assert np.isnan(fit.predict(X[:1], interval=True).std_error[0])
    assert fit.to_dict()["std_error"][1] is None


def test_quasi_separation_names_only_the_column_that_runs_away():
    """A group in which everybody says yes; the other coefficients keep their errors."""
    X, _, truth = rows(1000, 1, 1, seed=1)
    group = (np.arange(1000) % 20 == 0).astype(float)
    y = np.where(group == 1, 1, truth)
    fit = binary_regression(np.column_stack([X, group]), y, 1, 1)
    assert fit.status.count('"') == 2
    assert '"x5"' in fit.status
    assert np.isinf(fit.std_error[4])
    rest = binary_regression(X[group == 0], y[group == 0], 1, 1)
    np.testing.assert_allclose(fit.coefficients[:4], rest.coefficients, atol=2e-3 * rest.std_error.min())
    np.testing.assert_allclose(fit.std_error[:4], rest.std_error, rtol=1e-3)
    low, high = fit.interval(method="profile")[4]
    assert np.isfinite(low)
    assert high == np.inf


def test_infinite_estimates_under_randomisation():
    """Intercept only: finite exactly when the share of reports lies between 1 − p00 and p11."""
    p = 1 / (1 + np.exp(-0.1))
    for ones in range(40, 61):
        y = np.arange(100) < ones
        fit = binary_regression(np.ones((100, 1)), y, p, p)
        share = ones / 100
        assert fit.converged == (1 - p < share < p), ones
        if fit.converged:
            np.testing.assert_allclose(1 / (1 + np.exp(-fit.coefficients[0])), (share - 1 + p) / (2 * p - 1), rtol=1e-6)


def test_rare_but_finite_estimates_are_not_called_infinite():
    """Prevalence 1e-4, directly asked, with a few cases: a finite estimate with its error."""
    y = np.arange(100_000) < 10
    fit = binary_regression(np.ones((100_000, 1)), y, 1, 1)
    assert fit.converged
    np.testing.assert_allclose(fit.coefficients[0], np.log(10 / 99_990), rtol=1e-9)


def test_collinear_columns_are_named():
    """The column and those that explain it, and no others."""
    X, y, _ = rows(500, 0.8, 0.8, seed=2)
    bad = np.column_stack([X, 2 * X[:, 1] - X[:, 3]])
    with pytest.raises(EstimationError, match='"e" is a linear combination of "b", "d"'):
        binary_regression(bad, y, 0.8, 0.8, names=list("abcde"))
    for place in range(5):
        with pytest.raises(EstimationError, match=f'"x{place + 1}" of X is zero'):
            binary_regression(np.insert(X, place, 0.0, axis=1), y, 0.8, 0.8)


def test_nearly_collinear_columns_are_fitted():
    """Years and their squares are correlated to ten digits, and still identified."""
    chance = np.random.default_rng(3)
    year = chance.integers(1990, 2021, 3000).astype(float)
    X = np.column_stack([np.ones(3000), year, year**2])
    y = chance.random(3000) < 0.4
    fit = binary_regression(X, y, 1, 1)
    centred = np.column_stack([np.ones(3000), year - 2005, (year - 2005) ** 2])
    assert fit.converged
    np.testing.assert_allclose(fit.log_likelihood, binary_regression(centred, y, 1, 1).log_likelihood, rtol=1e-9)


def test_designs_that_say_nothing_are_refused():
    """p00 + p11 = 1 everywhere; or just where a column varies."""
    X, y, _ = rows(200, 0.5, 0.5)
    with pytest.raises(NotIdentifiedError, match="nothing can be learned"):
        binary_regression(X, y, 0.3, 0.7)
    mode = np.arange(200) < 100
    with pytest.raises(NotIdentifiedError, match='"x5" is not identified'):
        binary_regression(np.column_stack([X, mode * X[:, 1]]), y, np.where(mode, 0.5, 0.8), np.where(mode, 0.5, 0.8))


SECRET = 734.5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.array([0, 1, SECRET, 1])}, "y: row 2 .* must be 0 or 1"),
        ({"y": np.array([0, 1, np.nan, 1])}, "y: row 2 .* must be 0 or 1"),
        ({"y": np.array(["no", "yes", "no", "yes"])}, "y must hold real numbers"),
        ({"y": np.array([0, 1])}, "y must have one entry per row: 4, not 2"),
        ({"X": np.array([[1, 0], [1, np.nan], [1, 2], [1, 3]])}, "X: row 1 .* column 1 is missing"),
        ({"X": np.array([[1, 0], [1, 1], [1, np.inf], [1, 3]])}, "X: row 2 .* column 1 is missing or infinite"),
        ({"X": np.ones(4)}, "X must have two dimensions"),
        ({"X": np.random.default_rng(0).normal(size=(4, 5))}, "4 rows and 5 columns"),
        ({"p00": 1.2}, "p00 must lie between 0 and 1"),
        ({"p11": np.array([0.8, 0.8, -0.1, 0.8])}, "p11: row 2 .* between 0 and 1"),
        ({"p11": np.array([0.8, np.nan, 0.8, 0.8])}, "p11: row 1 .* between 0 and 1"),
        ({"p00": np.array([0.8, 0.8])}, "p00 must be one number, or one per row"),
        ({"weights": np.array([1, 1, 0, 1])}, "weights: row 2 .* positive"),
        ({"weights": np.array([1, 1, np.nan, 1])}, "weights: row 2 .* positive"),
        ({"offset": np.array([1.0, 2.0])}, "offset must have one entry per row"),
        ({"clusters": np.array([1, None, 2, 2], dtype=object)}, "clusters: row 1"),
        ({"clusters": np.array([1, 2])}, "clusters must have one entry per row"),
        ({"link": "loglog"}, "link must be one of"),
        ({"names": ["a"]}, "one name per column of X: 2, not 1"),
        ({"names": ["a", "a"]}, "must differ"),
    ],
)
def test_bad_input_gets_one_clear_sentence(change, message):
    """The argument and the row are named, the value never."""
    good = {"X": np.array([[1, 0], [1, 1], [1, 2], [1, 3.0]]), "y": np.array([0, 1, 0, 1]), "p00": 0.8, "p11": 0.8}
    given = good | change
    positional = [given.pop(key) for key in ("X", "y", "p00", "p11")]
    with pytest.raises(EstimationError, match=message) as caught:
        binary_regression(*positional, **given)
    assert "734" not in str(caught.value)
    assert "\n" not in str(caught.value)
