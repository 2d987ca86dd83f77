"""Linear regression by moments is linear regression over cells."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from discreet import Plan, Randomness, release
from discreet.estimate.regressions import formula as formula_module
from discreet.estimate.regressions.formula import corrected_regression
from discreet.estimate.regressions.model import OverCells

PLAN = """
format = 1
[survey]
weight = "w"
[[public]]
columns = ["age", "grade", "w"]
[[private]]
columns = ["smokes", "region", "hours"]
domains = [
  { binary = ["never", "daily"] },
  { categorical = ["south", "north", "east"] },
  { grid = { low = 0, high = 3, points = 4 } },
]
mechanism = "joint"
epsilons = [1.5, 2.0, 2.0]
[[private]]
columns = ["drinks"]
domain = { binary = ["no", "yes"] }
mechanism = "randomized-response"
epsilon = 2.0
[[private]]
columns = ["score"]
domain = { ordinal = [0, 1, 2, 5] }
mechanism = "randomized-response"
epsilon = 3.0
"""


def truth(n, seed=0):
    """Three columns that are randomised together and two that are not."""
    rng = np.random.default_rng(seed)
    age = rng.normal(size=n)
    smokes, region, hours = rng.random(n) < 0.4, rng.integers(0, 3, n), rng.integers(0, 4, n)
    drinks = rng.random(n) < np.where(smokes, 0.6, 0.3)
    return pa.table(
        {
            "age": age,
            "w": rng.uniform(0.5, 2, n),
            "smokes": np.where(smokes, "daily", "never"),
            "region": np.array(["south", "north", "east"])[region],
            "hours": hours.astype(float),
            "drinks": np.where(drinks, "yes", "no"),
            "score": np.array([0, 1, 2, 5])[rng.integers(0, 4, n)],
            "grade": 1
            + 0.5 * age
            + 0.8 * smokes
            - 0.4 * (region == 1)
            + 0.3 * hours
            + 0.5 * drinks
            + rng.normal(size=n),
        }
    )


def released(n):
    """The table, released."""
    return release(truth(n), Plan.parse(PLAN), randomness=Randomness.seeded(3))


@pytest.mark.parametrize(
    "formula",
    [
        "grade ~ age + smokes + region + hours + drinks",
        "grade ~ smokes * drinks + I(hours ** 2) + hours",
        "score ~ age + drinks + smokes",
        "hours ~ smokes + region + drinks + age",
        "hours ~ smokes:drinks + region",
    ],
)
def test_moments_agree_with_cells(formula, monkeypatch):
    """Estimate, covariance and value to rounding: joint and independent blocks, interactions, both sides."""
    made = released(2_000)
    moments = corrected_regression(formula, made, family="linear")
    assert moments.cells == 0
    monkeypatch.setattr(formula_module, "model_of", OverCells)
    cells = corrected_regression(formula, made, family="linear")
    assert cells.cells > 0
    assert np.allclose(moments.estimate, cells.estimate, rtol=1e-8, atol=1e-9)
    assert np.allclose(moments.covariance, cells.covariance, rtol=1e-6, atol=1e-12)
    here, there = moments.risk.moments(moments.estimate), cells.risk.moments(cells.estimate)
    assert np.isclose(here.value, there.value, rtol=1e-9)


def test_coefficients_come_back():
    """At n = 60,000 every coefficient is within five standard errors of the truth."""
    fit = corrected_regression("grade ~ age + smokes + region + hours + drinks", released(60_000))
    wanted = {
        "Intercept": 1,
        "age": 0.5,
        "smokes[T.daily]": 0.8,
        "region[T.north]": -0.4,
        "region[T.east]": 0,
        "hours": 0.3,
        "drinks[T.yes]": 0.5,
    }
    for name, value, error in zip(fit.names, fit.estimate, fit.std_error, strict=True):
        assert abs(value - wanted[name]) < 5 * error < 0.6, name
    assert "by moments" in str(fit)
    effects = fit.marginal_effects()
    assert np.allclose(effects.estimate, fit.estimate[1:])
