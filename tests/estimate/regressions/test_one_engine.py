"""One engine: however a formula is spelled and whatever its units are, the fit is the same."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import t as student

from discreet import Box, Randomness, Release, design, release
from discreet.errors import EstimationError
from discreet.estimate import m_estimate, regression
from discreet.estimate.regressions.coefficient_tests import likelihood_ratio_test
from discreet.estimate.regressions.optimise import Terms, maximise
from discreet.estimate.regressions.over_copies import box_is_better
from discreet.mechanisms import ZeroInflatedLaplace

FAMILIES = [("z", "linear"), ("z", "quantile"), ("z", "huber"), ("k", "poisson"), ("y", "binary"), ("y", "hinge")]


def released(n=2_500, seed=1, **survey):
    """A number with noise, a randomised yes/no predictor, public columns and outcomes of every kind."""
    rng = np.random.default_rng(seed)
    x, s, u = rng.uniform(0, 2, n), rng.integers(0, 2, n), rng.standard_normal(n)
    index = 0.2 + 0.5 * x + 0.4 * u
    words = np.array(["no", "yes"])
    table = pa.table(
        {
            "x": x, "s": words[s], "u": u, "z": index + rng.standard_normal(n), "k": rng.poisson(np.exp(index / 2)),
            "y": words[(rng.random(n) < 1 / (1 + np.exp(-index))).astype(int)], "c": np.arange(n) % 6,
            "q": words[(rng.random(n) < 0.4).astype(int)],
            "three": np.where(rng.random(n) < 0.02, "rare", np.where(rng.random(n) < 0.5, "a", "b")),
        }
    )  # fmt: skip
    numbers = {"domain": {"box": {"low": [0], "high": [2]}}, "mechanism": "zero-inflated-laplace"}
    yes_no = {"domain": {"binary": ["no", "yes"]}, "mechanism": "randomized-response", "epsilon": 3.0}
    plan = {
        "format": 1,
        "survey": survey,
        "output": {"order": "keep"},
        "public": [{"columns": ["u", "z", "k", "y", "c", "three"]}],
        "private": [
            {"columns": ["x"], "epsilon": 4.0, "delta": 0.2, "zero_probability": 0.15, **numbers},
            {"columns": ["s"], **yes_no},
            {"columns": ["q"], **yes_no},
        ],
    }
    return release(table, plan, randomness=Randomness.seeded(seed))


@pytest.fixture(scope="module")
def made():
    return released()


def changed(made, name, function):
    """The same release with a public column in other units."""
    table = made.to_arrow()
    values = pa.array(function(table[name].to_numpy().astype(float)))
    return Release.from_table(made.manifest, table.set_column(table.column_names.index(name), name, values))


@pytest.mark.parametrize("method", ["auto", "corrected", "box", "exact"])
@pytest.mark.parametrize(("outcome", "family"), FAMILIES)
def test_a_straight_line_of_a_number_is_the_number(made, outcome, family, method):
    """``x`` and ``I(x + 0)`` have the same coefficients, errors and intervals."""
    one, other = (regression(f"{outcome} ~ {x} + u", made, family, method=method) for x in ("x", "I(x + 0)"))
    assert one.names == ("Intercept", "x", "u")
    assert one.method == other.method
    np.testing.assert_allclose(one.estimate, other.estimate, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(one.covariance, other.covariance, rtol=1e-8, atol=1e-8)


def test_likelihood_takes_the_same_spelling(made):
    """By name, and with every link the others have."""
    one, other = (regression(f"y ~ {x}", made, method="likelihood") for x in ("x", "I(x + 0)"))
    np.testing.assert_allclose(one.estimate, other.estimate, rtol=1e-8)
    assert one.names == ("Intercept", "x")
    assert regression("y ~ x + u", made, link="cloglog").converged


@pytest.mark.parametrize("unit", [lambda v: 1e6 * v, lambda v: 1e-6 * v, lambda v: v + 2_000])
@pytest.mark.parametrize("method", ["box", "exact"])
@pytest.mark.parametrize(("outcome", "family"), FAMILIES)
def test_units_and_shifts_of_a_predictor_change_nothing(made, outcome, family, method, unit):
    """The slope of the number with noise and its error, to 1e-6 standard errors."""
    base = regression(f"{outcome} ~ x + u", made, family, method=method)
    other = regression(f"{outcome} ~ x + u", changed(made, "u", unit), family, method=method)
    assert base.status.split(":")[0] == other.status.split(":")[0]
    if base.converged:
        assert abs(other.estimate[1] - base.estimate[1]) < 1e-6 * base.std_error[1]
        assert other.std_error[1] == pytest.approx(base.std_error[1], rel=1e-6)


@pytest.mark.parametrize("unit", [lambda v: 1e4 * v, lambda v: 1e-3 * v, lambda v: 1e6 * v + 2e9])
@pytest.mark.parametrize("formula", ["z ~ x + u", "z ~ x + s + u"])
@pytest.mark.parametrize("family", ["linear", "quantile", "huber"])
def test_units_and_shifts_of_an_outcome_change_nothing(made, family, formula, unit):
    """Controls that were fitted for one loss do not enter the start of another."""
    base, other = regression(formula, made, family), regression(formula, changed(made, "z", unit), family)
    factor = unit(1.0) - unit(0.0)
    assert abs(other.estimate[1] / factor - base.estimate[1]) < 1e-4 * base.std_error[1]
    assert other.std_error[1] / factor == pytest.approx(base.std_error[1], rel=1e-4)


def test_a_curve_of_a_number_is_fitted(made):
    """Copies outside the box are at its ends, where a square is a line: that makes no column collinear."""
    fit = regression("z ~ x + I(x**2) + u", made)
    assert fit.converged
    assert abs(fit.estimate[fit.names.index("I(x ** 2)")]) < 4.5 * fit.std_error[fit.names.index("I(x ** 2)")]


def test_a_rare_class_is_one_of_the_classes_of_every_copy(made):
    """Classes, and the family, are those of the records, also where no copy outside the box has one of them."""
    fit = regression("three ~ x", made, "multinomial")
    assert fit.family.classes == ("a", "b", "rare")
    for seed in range(3):
        regression("three ~ x + s", released(300, seed), "multinomial")


@pytest.mark.parametrize("formula", ["y ~ x + u", "y ~ 0 + x + u", "y ~ x + s + u"])
def test_average_effects_of_numbers_with_noise(made, formula):
    """Errors of effects are about those of slopes times the average of p(1 − p), with and without an intercept."""
    fit = regression(formula, made)
    effects = fit.marginal_effects()
    for name in ("x", "u"):
        j, place = fit.names.index(name), effects.names.index(name)
        ratio = effects.estimate[place] / fit.estimate[j]
        assert 0.1 < ratio < 0.25
        assert effects.std_error[place] == pytest.approx(ratio * fit.std_error[j], rel=0.25)


def test_exact_fits_and_likelihoods_predict_test_and_have_effects(made):
    """The same functions of every fit, near those of the fit inside the box."""
    box = regression("y ~ x + u", made)
    rows = {"x": [0.5, 1.5], "u": [0.0, 1.0]}
    fit = regression("y ~ x + u", made, method="exact")
    assert np.all(np.abs(fit.predict(rows).estimate - box.predict(rows).estimate) < 0.15)
    assert fit.test("u").p_value < 0.01
    place = fit.marginal_effects().names.index("u")
    assert abs(fit.marginal_effects().estimate[place] - box.marginal_effects().estimate[place]) < 0.03
    likely = regression("y ~ x", made, method="likelihood")
    found = likely.marginal_effects()
    assert found.names == ("x",)
    assert found.std_error[0] == pytest.approx(found.estimate[0] / likely.estimate[1] * likely.std_error[1], rel=0.3)


@pytest.mark.parametrize("method", ["box", "exact", "likelihood"])
def test_few_clusters_have_students_t(method):
    """Six clusters: five degrees of freedom, in intervals, p values and tests."""
    fit = regression("y ~ x", released(1_500, 3, cluster="c"), method=method)
    assert fit.degrees_of_freedom == 5
    wald = fit.interval(method="wald")
    np.testing.assert_allclose(wald[:, 1] - fit.estimate, student.ppf(0.975, 5) * fit.std_error)
    np.testing.assert_allclose(fit.p_values, 2 * student.sf(np.abs(fit.z), 5))
    assert fit.test("x").p_value == pytest.approx(fit.p_values[1])
    assert "P>|t|" in fit.summary()


def test_arrays_have_them_too(made):
    """M-estimates of arrays: t, tests, predictions and effects."""
    rng, n = np.random.default_rng(5), 1_200
    mechanism = ZeroInflatedLaplace(Box(-1, 1), 0.5, 0.2)
    x = rng.uniform(-1, 1, (n, 1))
    y = (rng.random(n) < 1 / (1 + np.exp(-x[:, 0]))) * 1.0
    reports = mechanism.privatize(x, Randomness.seeded(5))
    fit = m_estimate("logistic", reports, mechanism, outcome=y, public=np.ones(n), clusters=np.arange(n) % 6)
    assert fit.degrees_of_freedom == 5
    assert fit.predict(np.array([[0.0, 1.0]])).estimate[0] == pytest.approx(0.5, abs=0.1)
    assert fit.test("x1").denominator == 5
    assert fit.marginal_effects().names == ("x1",)


def test_the_default_supposes_nothing_about_the_outcome(made):
    """Logit on a number with noise is a corrected loss with a sandwich; the likelihood is fitted by name."""
    fit = regression("y ~ x", made)
    assert (fit.method, fit.default_interval) == ("box", "score")
    likely = regression("y ~ x", made, method="likelihood")
    middle = np.linalg.inv(likely.hessian) @ likely.scores @ np.linalg.inv(likely.hessian) / likely.n
    np.testing.assert_allclose(likely.covariance, middle, rtol=1e-8)


def test_the_method_is_chosen_by_the_design_alone():
    """Outcomes do not take part; where exact records are very rare the exact correction is expected to be better."""
    assert box_is_better(design.zero_inflated_laplace(Box([0.0], [10.0]), 4.0, 0.1).mechanism)
    assert not box_is_better(ZeroInflatedLaplace(Box(0, 1), 0.2, 1e-4))
    assert not box_is_better(ZeroInflatedLaplace(Box(0, 1), 0.2, 0.0))


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_default_intervals_of_uneven_numbers_cover(loss):
    """A skewed number in a wide box, n = 500: 95 % intervals cover; 85 % would be noticed."""
    mechanism = design.zero_inflated_laplace(Box([0.0], [10.0]), 4.0, 0.1).mechanism
    covered = []
    for seed in range(120):
        rng = np.random.default_rng(seed)
        x = 10 * rng.beta(1.2, 4, 500)
        reports = mechanism.privatize(x[:, None], Randomness.seeded(seed))
        fit = m_estimate(loss, reports, mechanism, outcome=1 + 0.5 * x + rng.normal(size=500), public=np.ones(500))
        if fit.converged:
            low, high = fit.interval()[0]
            covered.append(low <= 0.5 <= high)
    assert len(covered) > 60
    assert np.mean(covered) > 0.95 - 6.1 * math.sqrt(0.05 * 0.95 / len(covered))


class Falling:
    """A surface whose score is wrong: every step is rejected."""

    observed_only = True
    metric, rows = np.eye(1), 100

    def value(self, theta):
        return float(theta[0])

    def terms(self, theta, curvature):
        return Terms(float(theta[0]), np.array([-1.0]), np.eye(1))


def test_rejected_steps_are_no_convergence():
    """A reach that shrinks to nothing with a gradient of one is no maximum."""
    assert maximise(Falling(), np.zeros(1), scale=np.ones(1)).outcome != "maximum"


def test_a_negative_likelihood_ratio_is_no_test():
    """The restricted maximum is higher: the fit is a local maximum, and the test says so."""
    found = likelihood_ratio_test(("x",), -101.0, -100.0, 1)
    assert math.isnan(found.statistic)
    assert "local maximum" in found.summary()
    assert likelihood_ratio_test(("x",), -100.0, -100.0 + 1e-9, 1).statistic == 0.0


def test_a_curvature_of_noise_is_called_so():
    """So much noise that second derivatives are positive by chance: no standard errors, or a warning."""
    mechanism = ZeroInflatedLaplace(Box(-1, 1), 20.0, 0.02)
    for seed in range(6):
        rng = np.random.default_rng(seed)
        x = rng.uniform(-1, 1, (400, 1))
        reports = mechanism.privatize(x, Randomness.seeded(seed))
        fit = m_estimate("squared", reports, mechanism, outcome=x[:, 0], public=np.ones(400))
        assert fit.status != "converged"


@pytest.mark.parametrize("unit", [lambda v: v + 2_000, lambda v: 1e4 * v, lambda v: 1e6 * v, lambda v: 1e-6 * v])
def test_random_intercepts_do_not_depend_on_units(unit):
    """Shifted by thousands of standard deviations, or in millions: the same slope and error."""
    rng, n = np.random.default_rng(2), 1_200
    group, u = np.arange(n) % 40, rng.standard_normal(n)
    index = -0.3 + 0.8 * u + rng.normal(0, 0.7, 40)[group]
    words = np.array(["no", "yes"])
    truth = words[(rng.random(n) < 1 / (1 + np.exp(-index))).astype(int)]
    plan = {
        "format": 1,
        "public": [{"columns": ["u", "g"]}],
        "private": [
            {"columns": ["q"], "domain": {"binary": ["no", "yes"]}, "mechanism": "randomized-response", "epsilon": 3.0}
        ],
    }
    made = release(pa.table({"u": u, "g": group, "q": truth}), plan, randomness=Randomness.seeded(2))
    base, other = regression("q ~ u + (1 | g)", made), regression("q ~ u + (1 | g)", changed(made, "u", unit))
    factor = unit(1.0) - unit(0.0)
    assert base.converged
    assert other.converged
    assert abs(other.estimate[1] * factor - base.estimate[1]) < 1e-6 * base.std_error[1]
    assert other.std_error[1] * factor == pytest.approx(base.std_error[1], rel=1e-6)
    assert base.freedom[0] == 40 - 1  # the intercept is the same in all rows of a group
    assert base.freedom[1] > 1_000


def test_bends_are_refused_by_the_exact_correction(made):
    """One sentence that names what to do."""
    with pytest.raises(EstimationError, match='use method="box"'):
        regression("z ~ x + I(x**2)", made, method="exact")
    with pytest.raises(EstimationError, match='use method="box"'):
        regression("z ~ x + s", made, method="likelihood")
