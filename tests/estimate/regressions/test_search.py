"""Units of columns change nothing but the coefficients: predictions, and their errors, stay."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from discreet import Release
from discreet.estimate.regressions.formula import corrected_regression

from .test_formula import released, truth

CASES = {
    "logit": ("cheated ~ age + smokes", {}),
    "probit": ("cheated ~ age + smokes", {"link": "probit"}),
    "cloglog": ("cheated ~ age + smokes", {"link": "cloglog"}),
    "cauchit": ("cheated ~ age + smokes", {"link": "cauchit"}),
    "linear": ("grade ~ age + smokes", {}),
    "interaction": ("grade ~ age * smokes", {}),
    "poisson": ("visits ~ age + smokes", {"family": "poisson"}),
    "multinomial": ("region ~ age + smokes", {}),
    "ordinal": ("hours ~ age + smokes", {"family": "ordinal"}),
    "huber": ("grade ~ age + smokes", {"family": "huber"}),
    "quantile": ("grade ~ age + smokes", {"family": "quantile"}),
    "hinge": ("cheated ~ age + smokes", {"family": "hinge"}),
}


@pytest.fixture(scope="module")
def made():
    """Randomised at ε = 2.5."""
    return released(truth(3_000), 2.5)


def changed(made, name, function):
    """The same release with a public column in other units."""
    table = made.to_arrow()
    values = pa.array(function(table[name].to_numpy()))
    return Release.from_table(made.manifest, table.set_column(table.column_names.index(name), name, values))


@pytest.mark.parametrize("name", CASES)
def test_a_predictor_may_be_a_year(made, name):
    """Mean 2000, spread 7; or in millions."""
    formula, options = CASES[name]
    rows = {"age": np.array([-1.0, 0.5]), "smokes": ["daily", "never"]}
    base = corrected_regression(formula, made, **options)
    wanted = base.predict(rows)
    assert base.converged
    for unit in (lambda x: 2000 + 7 * x, lambda x: 1e6 * x, lambda x: 1e-6 * x):
        fit = corrected_regression(formula, changed(made, "age", unit), **options)
        found = fit.predict(rows | {"age": unit(rows["age"])})
        assert fit.converged
        np.testing.assert_allclose(found.estimate, wanted.estimate, atol=1e-5)
        np.testing.assert_allclose(found.std_error, wanted.std_error, rtol=1e-4)


@pytest.mark.parametrize("name", ["linear", "interaction", "huber", "quantile"])
def test_an_outcome_may_have_any_unit(made, name):
    """Millions away from zero, or a hundred thousandth."""
    formula, options = CASES[name]
    rows = {"age": [-1.0, 0.5], "smokes": ["daily", "never"]}
    wanted = corrected_regression(formula, made, **options).predict(rows)
    for shift, unit in ((3e6, 1e5), (0.0, 1e-5), (0.0, 1e-9)):
        other = changed(made, "grade", lambda y, shift=shift, unit=unit: shift + unit * y)
        found = corrected_regression(formula, other, **options).predict(rows)
        np.testing.assert_allclose((found.estimate - shift) / unit, wanted.estimate, atol=1e-5)
        np.testing.assert_allclose(found.std_error / unit, wanted.std_error, rtol=1e-4)
