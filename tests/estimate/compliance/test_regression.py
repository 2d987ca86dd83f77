"""Regressions under models of non-compliance: derivatives, published fits, special cases, survey designs."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from discreet import Plan, Release
from discreet.errors import EstimationError
from discreet.estimate import binary_regression, noncompliance, noncompliance_regression
from discreet.estimate.compliance.models import MODELS
from discreet.mechanisms import BinaryResponse
from tests.estimate.compliance.test_shares import DESIGNS, FORCED, MANGAT, MINARETS


def simulated(model, beta, second, n=4000, seed=1):
    """Covariates, reports and groups; the second number is the probability of the second trait."""
    generator = np.random.default_rng(seed)
    chosen = MODELS[model]
    X = np.column_stack([np.ones(n), generator.normal(size=n)])
    first = (generator.random(n) < 1 / (1 + np.exp(-X @ beta))).astype(int)
    other = (generator.random(n) < second).astype(int)
    groups = generator.choice(["a", "b"], n)
    reports = np.zeros(n, int)
    for name, one in DESIGNS[model].items():
        table = chosen.by_traits(chosen.rows(chosen.design(one, name), 0))[:, :, 1]
        mine = groups == name
        reports[mine] = generator.random(mine.sum()) < table[first[mine], other[mine]]
    return X, reports, groups


@pytest.mark.parametrize("model", MODELS)
def test_derivatives(model):
    """Score against differences of the value, observed information against differences of the score."""
    X, reports, groups = simulated(model, np.array([-0.5, 0.6]), 0.7, n=300)
    second = X if MODELS[model].traits[1] else None
    fit = noncompliance_regression(X, reports, groups, DESIGNS[model], model=model, second=second, link="probit")
    surface = fit.objective
    theta = np.array([-0.3, 0.4, 0.2, -0.5])[: fit.coefficients.size]
    here = surface.terms(theta, "observed")
    np.testing.assert_allclose(fit.objective.model.scores(theta, fit.rows).sum(axis=0), here.score, rtol=1e-9)
    for j, step in enumerate(np.eye(theta.size) * 1e-5):
        slope = (surface.value(theta + step) - surface.value(theta - step)) / 2e-5
        assert here.score[j] == pytest.approx(slope, rel=1e-5, abs=1e-6)
        ahead, behind = (surface.terms(theta + sign * step, "observed").score for sign in (1, -1))
        np.testing.assert_allclose(here.information[j], -(ahead - behind) / 2e-5, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("model", ["cheating-detection", "stochastic-lie"])
def test_expected_information_is_the_mean_of_the_observed(model):
    """Over all reports that each row could have made, weighted by how likely they are."""
    X, reports, groups = simulated(model, np.array([-0.5, 0.6]), 0.7, n=60)
    fit = noncompliance_regression(X, reports, groups, DESIGNS[model], model=model)
    theta = np.array([-0.3, 0.4, 0.5])
    total = np.zeros((3, 3))
    for report in (0, 1):
        from dataclasses import replace

        rows = replace(fit.rows, report=np.full(60, report))
        made = fit.objective.model._slopes(
            fit.objective.model._reported(rows), fit.objective.model._parts(theta, rows)
        ).made  # fmt: skip
        total += fit.objective.model.terms(theta, replace(rows, weights=made), "observed").information
    np.testing.assert_allclose(fit.objective.terms(theta, "expected").information, total, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("model", ["cheating-detection", "stochastic-lie", "unrelated-question"])
def test_an_intercept_alone_is_the_univariate_fit(model):
    """The same likelihood in other coordinates: shares and errors agree."""
    _, reports, groups = simulated(model, np.array([-0.5, 0.0]), 0.6)
    fit = noncompliance_regression(np.ones((4000, 1)), reports, groups, DESIGNS[model], model=model)
    plain = noncompliance(reports, groups, DESIGNS[model], model=model)
    assert fit.log_likelihood == pytest.approx(plain.log_likelihood, rel=1e-10)
    assert fit.second_share == pytest.approx(plain.estimate[1], abs=1e-6)
    assert fit.second_error == pytest.approx(plain.std_error[1], rel=1e-5)
    first = float(fit.predict([[1.0]])[0])
    joint = first * (1 - fit.second_share) if model == "cheating-detection" else first
    assert joint == pytest.approx(plain.estimate[0], abs=1e-6)
    np.testing.assert_allclose(fit.second_interval(), plain.interval()[1], atol=1e-5)
    if model != "unrelated-question":
        assert fit.honesty_test().statistic == pytest.approx(plain.honesty_test().statistic, rel=1e-6)


def test_everybody_complies_is_a_regression_with_mixed_designs():
    """The extended crosswise model has one trait, and the fit is that of binary_regression."""
    X, reports, groups = simulated("extended-crosswise", np.array([-0.5, 0.6]), 0.5)
    designs = DESIGNS["extended-crosswise"]
    fit = noncompliance_regression(X, reports, groups, designs, model="extended-crosswise")
    plain = binary_regression(X, reports, mechanism=designs, designs=groups)
    np.testing.assert_allclose(fit.coefficients, plain.coefficients, rtol=1e-6)
    np.testing.assert_allclose(fit.covariance, plain.covariance_of("observed"), rtol=1e-5)
    with pytest.raises(EstimationError, match="no share of people"):
        fit.honesty_test()
    with pytest.raises(EstimationError, match="has one trait"):
        noncompliance_regression(X, reports, groups, designs, model="extended-crosswise", second=X)
    with pytest.raises(EstimationError, match="evasive has no meaning"):
        noncompliance_regression(X, reports, groups, designs, model="extended-crosswise", evasive=1)


@pytest.mark.parametrize("model", ["cheating-detection", "stochastic-lie", "unrelated-question"])
def test_coefficients_are_recovered(model):
    """Within five standard errors; the naive reading of the same reports is far off."""
    beta, second = np.array([-0.5, 0.8]), 0.75 if model == "stochastic-lie" else 0.25
    X, reports, groups = simulated(model, beta, second, n=20_000, seed=6)
    fit = noncompliance_regression(X, reports, groups, DESIGNS[model], model=model)
    assert fit.converged
    goal = np.array([*beta, np.log(second / (1 - second))])
    assert np.all(np.abs(fit.coefficients - goal) < 5 * fit.std_error)
    naive = binary_regression(X, reports, 1.0, 1.0)
    assert abs(naive.coefficients[1] - beta[1]) > 5 * naive.std_error[1]


def test_cheating_may_depend_on_covariates():
    """Its own coefficients, named after it; the test of honesty is then refused."""
    generator = np.random.default_rng(2)
    n = 30_000
    X = np.column_stack([np.ones(n), generator.normal(size=n)])
    cheats = generator.random(n) < 1 / (1 + np.exp(1.0 - X[:, 1]))
    carries = generator.random(n) < 1 / (1 + np.exp(0.5 - 0.7 * X[:, 1]))
    groups = generator.choice(["a", "b"], n)
    chance = np.where(
        groups == "a", FORCED["a"].matrix()[carries.astype(int), 1], FORCED["b"].matrix()[carries.astype(int), 1]
    )
    reports = ((generator.random(n) < chance) & ~cheats).astype(int)
    fit = noncompliance_regression(X, reports, groups, FORCED, second=X, names=["const", "age"])
    assert fit.names == ("const", "age", "cheating: x1", "cheating: x2")
    assert np.all(np.abs(fit.coefficients - [-0.5, 0.7, -1.0, 1.0]) < 5 * fit.std_error)
    assert fit.predict_second(X[:3]).shape == (3,)
    with pytest.raises(EstimationError, match="common to all"):
        fit.honesty_test()
    with pytest.raises(EstimationError, match="common to all"):
        _ = fit.second_share


def test_nobody_cheats():
    """The coefficient of a share of zero runs to infinity, which is said; the others are those without cheaters."""
    rows = np.repeat([0, 1, 0, 1], [540, 460, 310, 690])
    groups = np.repeat(["a", "b"], 1000)
    fit = noncompliance_regression(np.ones((2000, 1)), rows, groups, FORCED)
    assert "infinite" in fit.status
    assert "cheating" in fit.status
    assert fit.honesty_test().p_value == 1.0
    honest = binary_regression(np.ones((2000, 1)), rows, mechanism=FORCED, designs=groups)
    assert fit.coefficients[0] == pytest.approx(honest.coefficients[0], abs=1e-4)
    plain = noncompliance(rows, groups, FORCED)
    assert plain.estimate[1] == 0
    np.testing.assert_allclose(fit.second_interval(), plain.interval()[1], atol=1e-4)
    assert fit.to_dict()["second"]["std_error"] is None


def test_survey_weights_repeat_rows():
    """A weight of two gives the estimate of a row that occurs twice, and robust errors."""
    X, reports, groups = simulated("stochastic-lie", np.array([0.3, 0.5]), 0.7, n=1500)
    twice = np.arange(1500) % 3 == 0
    order = np.repeat(np.arange(1500), np.where(twice, 2, 1))
    weighted = noncompliance_regression(
        X, reports, groups, MANGAT, model="stochastic-lie", weights=np.where(twice, 2.0, 1.0)
    )
    repeated = noncompliance_regression(X[order], reports[order], groups[order], MANGAT, model="stochastic-lie")
    np.testing.assert_allclose(weighted.coefficients, repeated.coefficients, atol=1e-6)
    assert weighted.covariance_kind == "robust"
    clustered = noncompliance_regression(
        X[order], reports[order], groups[order], MANGAT, model="stochastic-lie", clusters=order
    )
    np.testing.assert_allclose(clustered.std_error, weighted.std_error, rtol=1e-6)


PLAN = """
format = 1
[[public]]
columns = ["spinner", "age", "sex"]
[[private]]
columns = ["ban"]
domain = { binary = ["no", "yes"] }
collected = true
by = "spinner"
designs.a = { mangat = "2/12" }
designs.b = { mangat = "10/12" }
"""


def released(n=2000, blank=()):
    """A collected survey with an age and a sex."""
    X, reports, groups = simulated("stochastic-lie", np.array([0.3, 0.5]), 0.7, n=n)
    age = X[:, 1].tolist()
    for row in blank:
        age[row] = None
    table = pa.table({"spinner": groups, "age": age, "sex": np.arange(n) % 2, "ban": np.where(reports, "yes", "no")})
    return Release.from_reports(table, Plan.parse(PLAN)), X, reports, groups


def test_by_formula_on_a_release():
    """The manifest names designs and groups; the fit is the one on arrays."""
    release, X, reports, groups = released()
    fit = noncompliance_regression("ban ~ age", release, model="stochastic-lie")
    plain = noncompliance_regression(X, reports, groups, MANGAT, model="stochastic-lie")
    np.testing.assert_allclose(fit.coefficients, plain.coefficients, rtol=1e-6)
    assert fit.names == ("Intercept", "age", "honesty: Intercept")
    assert fit.modelled == 'prevalence of ban = "yes"'
    assert "Honesty" in fit.summary()
    assert fit.to_dict()["model"] == "stochastic-lie"
    with_sex = noncompliance_regression("ban ~ age", release, model="stochastic-lie", second="~ C(sex)")
    assert with_sex.coefficients.size == 4


def test_missing_values_are_refused_or_counted():
    """As in every regression on a release."""
    release, *_ = released(blank=(3, 5))
    with pytest.raises(EstimationError, match="row 3"):
        noncompliance_regression("ban ~ age", release, model="stochastic-lie")
    fit = noncompliance_regression("ban ~ age", release, model="stochastic-lie", missing="drop")
    assert fit.n == 1998
    assert any("2 rows with a missing value" in note for note in fit.notes)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"formula": "spinner ~ age"}, "the outcome must be the one randomised column"),
        ({"formula": "ban ~ height"}, '"height", which the release does not have'),
        ({"groups": ["a"]}, "come from its manifest"),
        ({"second": 3}, "second must be text"),
        ({"model": "extended"}, "model must be one of"),
        ({"reports": [0, 1]}, "a release"),
    ],
)
def test_wrong_formulas_and_arguments(arguments, message):
    """One sentence each."""
    release, *_ = released(50)
    with pytest.raises(ValueError, match=message):
        noncompliance_regression(**({"formula": "ban ~ age", "reports": release} | arguments))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"groups": None}, "groups must name the group"),
        ({"groups": ["a"] * 100}, "designs differ"),
        ({"groups": ["c"] * 100}, "names no design"),
        ({"second": np.ones((3, 1))}, "one row per row of X"),
        ({"formula": np.ones((100, 2))}, "collinear|linear"),
        ({"reports": np.ones(99, int)}, "one entry per report|100"),
    ],
)
def test_wrong_arrays(changed, message):
    """What is wrong is named; nothing foreign comes out."""
    X, reports, groups = simulated("stochastic-lie", np.array([0.3, 0.5]), 0.7, n=100)
    right = {"formula": X, "reports": reports, "groups": groups, "designs": MANGAT, "model": "stochastic-lie"}
    with pytest.raises(EstimationError, match=message):
        noncompliance_regression(**(right | changed))


def test_a_direct_group_is_taken_at_its_word():
    """Asked directly people say what they are; a covariate for how they were asked takes up that fewer admit it."""
    spun = np.concatenate([np.repeat([0, 1], pair) for pair in MINARETS.values()])
    reports = np.concatenate([spun, np.repeat([0, 1], [207, 158])])
    groups = np.repeat(["a", "b", "direct"], [564, 692, 365])
    format_ = np.where(groups == "direct", -1.0, 1.0)
    X = np.column_stack([np.ones(1621), format_])
    designs = MANGAT | {"direct": BinaryResponse.direct()}
    fit = noncompliance_regression(X, reports, groups, designs, model="stochastic-lie")
    assert fit.predict([[1.0, -1.0]])[0] == pytest.approx(158 / 365, rel=1e-6)
    assert fit.predict([[1.0, 1.0]])[0] == pytest.approx(0.870695, abs=1e-6)
    assert fit.second_share == pytest.approx(0.635806, abs=1e-6)
    assert fit.test("x2", "likelihood-ratio").statistic > 80  # "G²(1) = 84" in section 4.1 of Heck and Moshagen (2018)


MINARET_FILE = Path(os.environ.get("DISCREET_DATA", "/nowhere")) / "minarets.csv"


@pytest.mark.skipif(not MINARET_FILE.exists(), reason="minarets.csv (R package RRreg) is not in DISCREET_DATA")
def test_the_published_regression():
    """RRlog of RRreg with left-right orientation and question format (Heck and Moshagen 2018, section 4.3)."""
    data = np.genfromtxt(MINARET_FILE, delimiter=",", names=True)
    groups = data["condition"].astype(int).astype(str)
    designs = {"0": BinaryResponse.direct(), "1": MANGAT["a"], "2": MANGAT["b"]}
    asked, side = data["RRdesign"], data["leftRight_c"]
    X = np.column_stack([np.ones(asked.size), asked, side, asked * side])
    fit = noncompliance_regression(X, data["rrt"].astype(int), groups, designs, model="stochastic-lie")
    np.testing.assert_allclose(fit.coefficients[:4], [0.76516, 1.05568, 0.47765, 0.09676], atol=1e-4)
    np.testing.assert_allclose(fit.std_error[:4], [0.17804, 0.17804, 0.08001, 0.08001], atol=1e-4)
    assert (fit.second_share, fit.second_error) == pytest.approx((0.65300, 0.01805), abs=1e-4)
    assert fit.log_likelihood == pytest.approx(-1051.466, abs=1e-3)
    assert fit.honesty_test().statistic == pytest.approx(237.1835, abs=1e-3)


def hard_case(model, seed):
    """Five hundred people of whom nearly all (none, for cheating) have the second trait."""
    rng = np.random.default_rng(seed)
    n = 500
    x = rng.normal(size=n)
    X, groups = np.column_stack([np.ones(n), x]), rng.choice(["a", "b"], n, p=[0.3, 0.7])
    first = rng.random(n) < expit(-0.5 + x)
    second = rng.random(n) < (0.97 if model == "unrelated-question" else 0.02)
    if model == "unrelated-question":
        share = np.where(groups == "a", 0.7, 0.3)
        reports = np.where(rng.random(n) < share, first, second).astype(int)
        designs = {"a": BinaryResponse.unrelated("7/10", "1/2"), "b": BinaryResponse.unrelated("3/10", "1/2")}
    else:
        no = np.where(groups == "a", 1 / 6, 1 / 2)
        reports = ((rng.random(n) < np.where(first, 5 / 6, no)) & ~second).astype(int)
        designs = {"a": BinaryResponse.forced("1/6", "1/6"), "b": BinaryResponse.forced("1/2", "1/6")}

    def log_likelihood(theta):
        p, q = expit(X @ theta[:2]), expit(X @ theta[2:])
        if model == "unrelated-question":
            yes = np.where(groups == "a", 0.7, 0.3) * p + np.where(groups == "a", 0.3, 0.7) * q
        else:
            yes = (1 - q) * (no * (1 - p) + 5 / 6 * p)
        with np.errstate(divide="ignore"):
            return float(np.sum(np.log(np.where(reports == 1, yes, 1 - yes))))

    return X, reports, groups, designs, log_likelihood


@pytest.mark.parametrize(
    ("model", "seed", "finite"),
    [("unrelated-question", 12, True), ("unrelated-question", 52, True), ("unrelated-question", 41, False),
     ("cheating-detection", 42, True), ("cheating-detection", 17, False)],
)  # fmt: skip
def test_no_fit_that_is_called_converged_is_only_a_local_maximum(model, seed, finite):
    """A general optimiser from many starts finds nothing higher; where the maximum is infinite, the fit says so."""
    X, reports, groups, designs, log_likelihood = hard_case(model, seed)
    fit = noncompliance_regression(X, reports, groups, designs, model=model, second=X)
    assert fit.log_likelihood == pytest.approx(log_likelihood(fit.coefficients), abs=1e-6)
    rng = np.random.default_rng(1)
    starts = [rng.normal(size=4) * scale for scale in (1, 2, 4, 8) for _ in range(4)]
    with np.errstate(all="ignore"):
        best = max(-minimize(lambda t: -log_likelihood(t), start, method="BFGS").fun for start in starts)
    if finite:
        assert fit.converged
        assert fit.log_likelihood >= best - 1e-4
    else:
        assert not fit.converged
        assert "local maximum" in fit.status or "infinite" in fit.status
        assert any("intercept alone" in note or "infinite" in fit.status for note in fit.notes)
