"""Numeric columns through a plan, a release and a regression."""

from __future__ import annotations

import warnings

import numpy as np
import pyarrow as pa
import pytest

from discreet import DomainError, Plan, PlanError, Randomness, Release, release
from discreet.audit import audit
from discreet.errors import EstimationError
from discreet.estimate import frequencies, regression
from discreet.mechanisms import ZeroInflatedLaplace
from discreet.publish.plan.numeric import ClippedWarning

N = 20_000
BLOCK = {
    "columns": ["age", "bmi", "income"],
    "domain": {"box": {"low": [18, 15, 0], "high": [78, 45, 100]}},
    "mechanism": "zero-inflated-laplace",
    "epsilon": 3.0,
    "delta": 0.4,
    "zero_probability": 0.2,
    "unit": "attribute",
}
ANSWER = {
    "columns": ["ill"],
    "domain": {"binary": ["no", "yes"]},
    "mechanism": "randomized-response",
    "epsilon": 3.0,
}


def people(n=N, seed=1):
    rng = np.random.default_rng(seed)
    age, bmi = rng.uniform(18, 78, n), rng.uniform(15, 45, n)
    income = np.clip(10 + 0.5 * age + 0.8 * bmi + 8 * rng.standard_normal(n), 0, 100)
    ill = rng.random(n) < 1 / (1 + np.exp(-(age - 48) / 15))
    return pa.table(
        {
            "sex": np.where(rng.random(n) < 0.5, "f", "m"),
            "score": age / 10 + rng.standard_normal(n),
            "age": age,
            "bmi": bmi,
            "income": income,
            "ill": np.where(ill, "yes", "no"),
        }
    )


def plan_of(*blocks, **changes):
    return Plan.from_dict(
        {"format": 1, "public": [{"columns": ["sex", "score"]}], "private": [{**BLOCK, **changes}, *blocks]}
    )


@pytest.fixture(scope="module")
def released():
    return release(people(), plan_of(ANSWER), randomness=Randomness.seeded(3))


def test_a_plan_designs_the_noise_and_promises_per_row():
    """The attribute level is met by the mechanism; the row promise is that of whole records."""
    plan = plan_of()
    mechanism = plan.blocks[0].mechanism
    assert isinstance(mechanism, ZeroInflatedLaplace)
    assert mechanism.guarantee.fits(3.0, 0.4)
    assert plan.guarantee.unit == "record"
    assert plan.guarantee.delta > mechanism.guarantee.delta
    assert "published exactly" in plan.guarantee.explain(1000)
    assert "numbers within bounds" in plan.summary()
    assert Plan.from_dict(plan.to_dict()).blocks == plan.blocks


def test_one_pair_of_bounds_serves_all_columns():
    """A box with one low and one high."""
    plan = plan_of(domain={"box": {"low": 0, "high": 100}})
    assert plan.blocks[0].domain.low == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"domain": {"box": {"low": [0, 0], "high": [1, 1]}}}, "2 bounds, but there are 3 columns"),
        ({"domain": {"box": {"low": [0, 0, 1], "high": [1, 1, 1]}}}, "low < high"),
        ({"domain": {"box": {"low": 0}}}, "high is missing"),
        ({"delta": 0.1}, "above zero_probability"),
        ({"delta": None}, "delta is missing"),
        ({"missing": "category"}, "missing must be one of"),
        ({"grid": "fine"}, "power of two"),
        ({"grid": 0.3}, "power of two"),
        ({"prevalence": 0.1}, "does not belong"),
        ({"unit": "person"}, "unit must be one of"),
        ({"target": "mode"}, "target"),
    ],
)
def test_plans_that_make_no_sense_are_refused(changes, message):
    """One clear sentence with the key path."""
    data = {key: value for key, value in {**BLOCK, **changes}.items() if value is not None}
    with pytest.raises(PlanError, match=message):
        Plan.from_dict({"format": 1, "private": [data]})


def test_values_outside_are_refused_or_counted_on_the_terminal_only(tmp_path):
    """An error by default; with clip = true a warning with the count, which no file holds."""
    table = people(500)
    table = table.set_column(2, "age", pa.array(np.r_[[99.0, 3.0, 120.5], table["age"].to_numpy()[3:]]))
    with pytest.raises(DomainError, match='"age"') as caught:
        release(table, plan_of())
    assert "99" not in str(caught.value)
    with pytest.warns(ClippedWarning, match='"age": 3 numbers'):
        done = release(table, plan_of(clip=True), tmp_path / "out.parquet")
    manifest = done.manifest.to_json()
    assert '"clip": true' in manifest.replace('"clip":true', '"clip": true')
    assert "3 numbers" not in manifest
    with warnings.catch_warnings():
        warnings.simplefilter("error", ClippedWarning)
        release(people(500), plan_of(clip=True))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_missing_and_infinite_numbers(bad):
    """NaN is a missing value, an infinite number is never one of the box, clipped or not."""
    table = people(100)
    ages = table["age"].to_numpy().copy()
    ages[7] = bad
    table = table.set_column(2, "age", pa.array(ages))
    for changes in ({}, {"clip": True}):
        with pytest.raises(DomainError, match='"age", row 7'):
            release(table, plan_of(**changes))
    if np.isnan(bad):
        done = release(table, plan_of(missing="public"), randomness=Randomness.seeded(1))
        assert done.to_arrow()["age"].null_count == 1
        assert done.to_arrow()["bmi"].null_count == 0
        with pytest.raises(EstimationError, match="missing"):
            regression("score ~ age", done)
        assert regression("score ~ age", done, missing="drop").n == 99


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_reports_survive_a_file(tmp_path, kind):
    """Numbers outside the box come back exactly, from Parquet and from CSV; the audit passes."""
    path = tmp_path / f"out.{kind}"
    done = release(people(2_000), plan_of(ANSWER), path)
    again = Release.open(path)
    ages = again.to_arrow()["age"].to_numpy()
    assert ages.min() < 18
    assert ages.max() > 78
    step = again.mechanism("age").grid[0]
    assert np.all(ages / step == np.rint(ages / step))
    np.testing.assert_array_equal(ages, done.to_arrow()["age"].to_numpy())
    assert audit(again).passed
    assert "zero-inflated" in again.summary()


def test_regression_by_formula_with_the_outcome_in_the_same_block(released):
    """Income ~ age + bmi: all three are noisy, and the coefficients come back."""
    for family in ("auto", "quantile"):
        result = regression("income ~ age + bmi", released, family)
        assert result.names == ("Intercept", "age", "bmi")
        assert np.all(np.abs((result.coefficients - [10, 0.5, 0.8]) / result.std_error)[1:] < 4.5)


def test_regression_by_formula_with_other_outcomes(released):
    """A public outcome with public terms beside; a randomised yes/no answer."""
    public = regression("score ~ age + sex", released)
    assert public.names == ("Intercept", "age", "sex[T.m]")
    assert np.all(np.abs((public.coefficients - [0, 0.1, 0]) / public.std_error) < 4.5)
    yes = regression("ill ~ age", released)
    assert (yes.family.name, yes.modelled) == ("binary", 'P(ill = "yes")')
    assert np.all(np.abs((yes.coefficients - [-48 / 15, 1 / 15]) / yes.std_error) < 4.5)
    quantile = regression("score ~ age", released, "quantile", tau=0.25)
    assert quantile.family.described() == "quantile, τ = 0.25"
    assert regression("score ~ age", released, "huber", threshold=2.0).converged


@pytest.mark.parametrize(
    ("formula", "options", "message"),
    [
        ("score ~ sex", {}, "no column of the formula was randomised"),
        ("score ~ weight", {}, "does not have"),
        ("age ~ age", {}, "both sides"),
        ("score ~ age", {"family": "binary"}, "an outcome with two values"),
        ("score ~ age", {"link": "probit"}, "is for a yes/no outcome"),
        ("ill ~ age", {"link": "cauchit", "method": "exact"}, "logit and probit"),
        ("score ~ age", {"method": "likelihood"}, "logistic, probit or poisson"),
        ("score ~ age", {"family": "multinomial"}, "too many for the classes"),
        ("score ~ scale(age)", {}, "depends on the distribution"),
        ("score ~ age", {"family": "poisson", "method": "sdrcl"}, "counts"),
        ("score ~ age", {"penalty": "firth"}, "yes/no outcome only"),
        ("score ~ age", {"threshold": 0.5}, "threshold belongs"),
        ("score ~ age", {"tau": 0.5}, "tau belongs"),
        ("score ~ age", {"missing": "guess"}, "missing"),
        ("score", {}, "outcome ~"),
    ],
)
def test_formulas_that_cannot_be_fitted(released, formula, options, message):
    """One clear sentence each."""
    with pytest.raises(EstimationError, match=message):
        regression(formula, released, **options)


def test_other_estimators_say_that_numbers_are_not_theirs(released):
    """Frequencies and tables are for finitely many reports, and numbers have other questions."""
    with pytest.raises(EstimationError, match="no list of values: ask for its mean"):
        frequencies(released, "age")


def test_the_noise_ignored_stands_beside_the_corrected_fit(released):
    """compare: noise in a predictor draws its coefficient to zero, and the correction undoes that."""
    both = regression("score ~ age", released, compare=True)
    corrected, naive = both.estimate[:, 1]
    assert abs(corrected - 0.1) < 4.5 * both.std_error[0, 1]
    assert naive < 0.1 - 8 * both.std_error[1, 1]
    assert regression("score ~ age", released, method="naive").coefficients[1] == naive


def test_a_public_outcome_of_two_values_is_a_yes_no_outcome(released):
    """Text or numbers: two values mean a logistic loss, and the second one counts as "yes"."""
    fit = regression("sex ~ age", released)
    assert (fit.family.name, fit.modelled) == ("binary", 'P(sex = "m")')
    assert abs(fit.coefficients[1]) < 4.5 * fit.std_error[1]


def test_two_numeric_blocks_are_corrected_each_by_its_own(released):
    """An outcome with noise from another block than the predictors."""
    first, second = dict(BLOCK), {**BLOCK, "columns": ["income"], "domain": {"box": {"low": [0], "high": [100]}}}
    first |= {"columns": ["age", "bmi"], "domain": {"box": {"low": [18, 15], "high": [78, 45]}}}
    plan = Plan.from_dict({"format": 1, "private": [first, second]})
    fit = regression("income ~ age + bmi", release(people(), plan, randomness=Randomness.seeded(5)))
    assert np.all(np.abs((fit.coefficients - [10, 0.5, 0.8]) / fit.std_error) < 4.5)
