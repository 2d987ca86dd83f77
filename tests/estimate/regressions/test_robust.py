"""Quantiles, Huber and the hinge on randomised predictors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from discreet import EstimationError
from discreet.estimate.regressions.formula import corrected_regression
from discreet.estimate.regressions.objective import CorrectedLoss

from .test_formula import released, truth

FORMULA = "grade ~ age + smokes + hours"


@pytest.fixture(scope="module")
def bare():
    """Hardly randomised."""
    return released(truth())


def columns(made):
    """The true model matrix and outcome."""
    table = made.to_arrow()
    smokes = np.array(table["smokes"].to_pylist()) == "daily"
    X = np.column_stack([np.ones(table.num_rows), table["age"].to_numpy(), smokes, table["hours"].to_numpy()])
    return X, table["grade"].to_numpy()


@pytest.mark.parametrize("tau", [0.5, 0.8])
def test_quantiles_without_noise(bare, tau):
    """At ε = 40 within three quarters of a standard error of statsmodels; standard errors agree to a tenth."""
    import statsmodels.api as sm

    X, y = columns(bare)
    theirs = sm.QuantReg(y, X).fit(q=tau)
    ours = corrected_regression(FORMULA, bare, family="quantile", tau=tau)
    order = [ours.names.index(name) for name in ("Intercept", "age", "smokes[T.daily]", "hours")]
    assert ours.converged
    assert np.all(np.abs(ours.estimate[order] - theirs.params) < 0.75 * theirs.bse)
    assert np.allclose(ours.std_error[order], theirs.bse, rtol=0.1)
    assert f"quantile, τ = {tau:g}" in str(ours)


def test_huber_without_noise(bare):
    """The minimum that scipy finds for the same threshold."""
    X, y = columns(bare)
    ours = corrected_regression(FORMULA, bare, family="huber", threshold=0.7)

    def loss(b):
        r = np.abs(y - X @ b)
        return np.mean(np.where(r < 0.7, r * r / 2, 0.7 * r - 0.245))

    best = minimize(loss, np.zeros(4), method="BFGS", options={"gtol": 1e-7}).x
    order = [ours.names.index(name) for name in ("Intercept", "age", "smokes[T.daily]", "hours")]
    assert np.allclose(ours.estimate[order], best, atol=1e-5)
    assert "threshold 0.7" in str(ours)


@pytest.mark.parametrize("family", ["quantile", "huber"])
def test_slopes_come_back_through_the_noise(family):
    """ε = 2, symmetric errors: the slopes of the mean, within five standard errors."""
    fit = corrected_regression(FORMULA, released(truth(20_000, 4), 2.0), family=family)
    wanted = {"Intercept": 2, "age": 0.4, "smokes[T.daily]": 0.5, "hours": 0.3}
    assert fit.converged
    for name, value, error in zip(fit.names, fit.estimate, fit.std_error, strict=True):
        assert abs(value - wanted[name]) < 5 * error < 0.6


def test_hinge_on_both_sides():
    """A randomised outcome and predictor: near the fit to the truth, in standard errors."""
    table = truth(20_000, 5)
    near = corrected_regression("cheated ~ age + smokes", released(table), family="hinge")
    far = corrected_regression("cheated ~ age + smokes", released(table, 3.0), family="hinge")
    assert near.converged
    assert far.converged
    assert np.all(np.abs(near.estimate - far.estimate) < 5 * far.std_error)


def test_mistakes_get_one_sentence(bare):
    """Options that belong elsewhere, and a quantile of a few values."""
    for formula, options, message in [
        (FORMULA, {"tau": 0.5}, "tau belongs"),
        (FORMULA, {"family": "quantile", "tau": 1.5}, "strictly between 0 and 1"),
        (FORMULA, {"family": "huber", "threshold": -1.0}, "above 0"),
        (FORMULA, {"threshold": 1.0}, "threshold belongs"),
        ("hours ~ age", {"family": "quantile"}, "jumps between them"),
        (FORMULA, {"family": "hinge"}, "two values"),
    ]:
        with pytest.raises(EstimationError, match=message):
            corrected_regression(formula, bare, **options)


def test_the_average_over_the_kink_knows_how_strong_the_correction_is(monkeypatch):
    """ε = 1, .9 quantile: with the width of as many true rows the curvature is noise, and errors are too small."""
    made = [released(truth(4_000, seed), 1.0, seed) for seed in range(4)]

    def errors():
        fits = [corrected_regression("grade ~ age + smokes + hours", one, family="quantile", tau=0.9) for one in made]
        return np.mean([fit.std_error for fit in fits if fit.converged], axis=0)

    known = errors()
    monkeypatch.setattr(CorrectedLoss, "inflation", 1.0)
    assert np.mean(known / errors()) > 1.2
