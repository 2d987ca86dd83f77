"""Fits as readers want them: odds ratios, and a journal table of several fits."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import EstimationError, estimate
from discreet.estimate.regressions.coefficients import Coefficients

from .catalogue_of_results import regression, several

RNG = np.random.default_rng(5)
X = np.column_stack([np.ones(500), RNG.normal(size=500)])
Y = (RNG.random(500) < 1 / (1 + np.exp(-X @ [-0.5, 1.0]))).astype(int)


@pytest.fixture(scope="module")
def fit() -> Coefficients:
    return estimate.binary_regression(X, Y, 0.9, 0.9, names=["Intercept", "x"])


def test_odds_ratios_are_the_exponentials_of_coefficients_and_of_their_intervals(fit):
    """An interval keeps its coverage, whatever its method; tests are those of the coefficients."""
    odds = fit.odds_ratios()
    np.testing.assert_allclose(odds.estimate, np.exp(fit.estimate))
    for method in ("wald", "profile"):
        np.testing.assert_allclose(odds.interval(0.9, method), np.exp(fit.interval(0.9, method)))
    np.testing.assert_array_equal(odds.p_values, fit.p_values)
    np.testing.assert_allclose(odds.std_error, np.exp(fit.estimate) * fit.std_error)
    assert "ratio" in odds.summary()
    assert "coef" not in odds.summary()


def test_what_has_no_odds_ratios_says_so():
    """A probit has none, and a logit has no rate ratios."""
    probit = estimate.binary_regression(X, Y, 0.9, 0.9, link="probit")
    with pytest.raises(EstimationError, match="coefficients of a logit"):
        probit.odds_ratios()
    with pytest.raises(EstimationError, match="this fit has odds ratios"):
        several().rate_ratios()
    assert several().odds_ratios().estimate.size == 2


def test_fits_stand_side_by_side(fit):
    """One column a fit, standard errors below coefficients, empty where a fit has none; no stars unless asked."""
    smaller = estimate.binary_regression(X[:, :1], Y, 0.9, 0.9, names=["Intercept"])
    shown = estimate.table(smaller, fit, names=["alone", "with x"])
    frame = shown.to_frame()
    assert list(frame.columns) == ["name", "alone", "with x"]
    x = frame.index[frame["name"] == "x"][0]
    assert frame["alone"][x] == frame["alone"][x + 1] == ""
    assert float(frame["with x"][x]) == pytest.approx(fit.estimate[1], abs=5e-4)
    assert float(frame["with x"][x + 1].strip("()")) == pytest.approx(fit.std_error[1], abs=5e-4)
    assert frame["alone"][frame["name"] == "Observations"].item() == "500"
    assert "*" not in str(shown)
    assert "***" in str(estimate.table(fit, stars=True))
    assert "in brackets: 90 % intervals" in str(estimate.table(fit, below="interval", level=0.9))
    assert shown.to_latex().count("&") == 2 * (len(frame) + 1)


def test_a_mapping_names_the_columns(fit):
    """As for compare; marginal effects and odds ratios may stand beside coefficients."""
    shown = estimate.table({"logit": fit, "odds": fit.odds_ratios(), "risk": fit.marginal_effects()})
    assert list(shown.to_frame().columns) == ["name", "logit", "odds", "risk"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (estimate.table, "no fits"),
        (lambda: estimate.table(regression(), names=["a", "b"]), "1 different"),
        (lambda: estimate.table(regression(), regression(), names=["a", "a"]), "2 different"),
        (lambda: estimate.table(3), "must be a regression"),
        (lambda: estimate.table(regression(), below="t"), "below"),
    ],
)
def test_what_is_no_table_of_fits_is_refused(call, message):
    """In one sentence."""
    with pytest.raises(EstimationError, match=message):
        call()
