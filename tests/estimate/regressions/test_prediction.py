"""Predictions, effects and tests of a regression on randomised columns."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest

from discreet import EstimationError
from discreet.estimate.formulas.new_rows import new_rows
from discreet.estimate.regressions.formula import corrected_regression

from .test_formula import released, truth


@pytest.fixture(scope="module")
def bare():
    """Hardly randomised."""
    return released(truth())


@pytest.fixture(scope="module")
def fit(bare):
    """A logit."""
    return corrected_regression("cheated ~ age + smokes * hours", bare)


def test_predictions_are_about_true_values(fit):
    """By hand, with the delta method; intervals stay between 0 and 1, and any table will do."""
    rows = {"age": [0.5, -1.0], "smokes": ["daily", "never"], "hours": [2.0, 4.0]}
    found = fit.predict(rows)
    by_name = dict(zip(fit.names, fit.estimate, strict=True))
    eta = by_name["Intercept"] + 0.5 * by_name["age"] + by_name["smokes[T.daily]"]
    eta += 2 * by_name["hours"] + 2 * by_name["smokes[T.daily]:hours"]
    assert np.isclose(found.estimate[0], 1 / (1 + np.exp(-eta)))
    low, high = found.interval(0.9999).T
    assert np.all((low > 0) & (low < found.estimate) & (found.estimate < high) & (high < 1))
    assert np.allclose(fit.predict(pd.DataFrame(rows)).std_error, found.std_error)
    X = fit.matrices.matrix(new_rows(fit.matrices, rows))
    p = found.estimate
    assert np.allclose(found.std_error, p * (1 - p) * np.sqrt(np.einsum("ij,jk,ik->i", X, fit.covariance, X)))


def test_predictions_refuse_what_they_do_not_know(fit):
    """A missing column, a value that the column does not have, something that is no table."""
    with pytest.raises(EstimationError, match='no column "hours"'):
        fit.predict({"age": [1.0], "smokes": ["daily"]})
    with pytest.raises(EstimationError, match=r'column "smokes", row 0 .*not one that the model knows'):
        fit.predict({"age": [1.0], "smokes": ["weekly"], "hours": [1.0]})
    with pytest.raises(EstimationError, match="the value is missing"):
        fit.predict({"age": [None], "smokes": ["daily"], "hours": [1.0]})
    with pytest.raises(EstimationError, match="must be a table"):
        fit.predict(3)


def test_class_probabilities_sum_to_one(bare):
    """Multinomial and ordinal predictions have a column per class."""
    rows = {"age": [0.0, 1.0], "smokes": ["daily", "never"]}
    for outcome, family, classes in (("region", "multinomial", 3), ("hours", "ordinal", 5)):
        found = corrected_regression(f"{outcome} ~ age + smokes", bare, family=family).predict(rows)
        assert found.estimate.shape == found.std_error.shape == (2, classes)
        assert np.allclose(found.estimate.sum(axis=1), 1)
        assert found.interval().shape == (2, classes, 2)


@pytest.mark.parametrize(
    ("formula", "family"),
    [
        ("cheated ~ age + smokes + hours", "binary"),
        ("visits ~ age + smokes", "poisson"),
        ("region ~ age", "multinomial"),
        ("hours ~ age", "ordinal"),
    ],
)
def test_effects_are_averages_over_truths(bare, formula, family):
    """At ε = 40 they are differences of mean predictions when a covariate moves."""
    fit = corrected_regression(formula, bare, family=family)
    effects = fit.marginal_effects()
    table = bare.to_arrow()
    moved = table.set_column(table.column_names.index("age"), "age", [table["age"].to_numpy() + 1e-5])
    slope = (fit.predict(moved).estimate - fit.predict(table).estimate).mean(axis=0) / 1e-5
    at = [k for k, name in enumerate(effects.names) if name.endswith("age")]
    assert np.allclose(effects.estimate[at], slope, atol=1e-6)
    if "smokes" in formula:
        ends = []
        for label in ("never", "daily"):
            fixed = table.set_column(table.column_names.index("smokes"), "smokes", [[label] * table.num_rows])
            ends.append(fit.predict(fixed).estimate.mean())
        at = effects.names.index("smokes[T.daily]")
        assert np.isclose(effects.estimate[at], ends[1] - ends[0])
    assert np.all(effects.std_error > 0)


def test_effects_have_the_right_spread():
    """Over two dozen releases at ε = 2 the standard errors agree with the spread, and the mean with the truth."""
    table = truth(3_000, 3)
    found = [
        corrected_regression("cheated ~ smokes + age", released(table, 2.0, seed)).marginal_effects()
        for seed in range(24)
    ]
    values = np.array([one.estimate for one in found])
    bare = corrected_regression("cheated ~ smokes + age", released(table)).marginal_effects()
    errors = np.array([one.std_error for one in found])
    # The table is the same in all runs: the spread is that of the randomisation alone.
    randomisation = np.sqrt(np.mean(errors**2, axis=0) - bare.std_error**2)
    assert np.all(np.abs(values.mean(axis=0) - bare.estimate) < 5 * values.std(axis=0) / np.sqrt(24))
    assert np.all(np.abs(values.std(axis=0, ddof=1) / randomisation - 1) < 0.6)


def test_wald_tests(fit):
    """One coefficient: the square of z. Unknown names are refused."""
    one = fit.test("age")
    assert np.isclose(one.statistic, fit.z[fit.names.index("age")] ** 2)
    assert np.isclose(one.p_value, fit.p_values[fit.names.index("age")], atol=1e-12)
    assert fit.test(["age", "hours"]).degrees_of_freedom == 2
    with pytest.raises(EstimationError, match="names to test"):
        fit.test("height")


def test_results_are_frozen(fit):
    """Nothing can be set; intervals widen with the level."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        fit.n = 3
    with pytest.raises(ValueError, match="read-only"):
        fit.estimate[0] = 0.0
    assert np.all(np.diff(fit.interval(0.99)) > np.diff(fit.interval(0.9)))
    with pytest.raises(EstimationError, match="interval method"):
        fit.interval(method="profile")
