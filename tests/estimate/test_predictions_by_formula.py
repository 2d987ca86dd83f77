"""One ``predict(table)`` with intervals, tests and marginal effects for every fit by formula."""

from __future__ import annotations

from functools import cache

import numpy as np
import pyarrow as pa
import pytest

from discreet import EstimationError, Randomness, estimate, release

N = 4_000
NEW = {"x": [0.0, 1.0], "g": ["f", "m"], "s": ["yes", "no"], "h": [1, 2], "c": ["a", "b"], "y": ["yes", "no"]}
FORMULAS = {
    "binary": ("y ~ x", "binary"),
    "multinomial": ("c ~ x", "multinomial"),
    "predictor, linear": ("v ~ x + s", "linear", "likelihood"),
    "predictor, yes/no": ("d ~ x + c", "binary", "likelihood"),
    "predictor, number": ("d ~ x + h", "binary", "likelihood"),
    "one predictor": ("v ~ x + s", "linear"),
    "random intercept": ("y ~ x + (1 | school)", "binary"),
    "binary, several": ("y ~ x + s", "binary"),
    "multinomial, several": ("c ~ x + s", "multinomial"),
    "ordinal": ("h ~ x + s", "ordinal"),
    "linear, several": ("v ~ x + s + h", "linear"),
    "poisson": ("k ~ x + s", "poisson"),
    "quantile": ("v ~ x + s + c", "quantile"),
    "huber": ("v ~ x + s + c", "huber"),
    "hinge": ("y ~ x + s", "hinge"),
}


@cache
def released(epsilon=3.0):
    rng = np.random.default_rng(3)
    x, school = rng.normal(size=N), rng.integers(0, 60, N)
    own = rng.normal(size=60)[school]
    s = np.where(rng.random(N) < 0.4, "yes", "no")
    c = rng.integers(0, 3, N)
    table = pa.table(
        {
            "x": x,
            "school": school.astype(str),
            "town": (school % 3).astype(str),
            "g": np.where(rng.random(N) < 0.5, "f", "m"),
            "v": x + 0.5 * (s == "yes") + rng.normal(size=N),
            "d": rng.random(N) < 1 / (1 + np.exp(0.3 - 0.5 * x - 0.6 * (c == 1))),
            "k": rng.poisson(np.exp(0.2 * x + 0.3 * (s == "yes"))),
            "y": np.where(rng.random(N) < 1 / (1 + np.exp(-x - own)), "yes", "no"),
            "s": s,
            "h": rng.integers(0, 5, N),
            "c": np.array(["a", "b", "c"])[c],
        }
    )
    domains = {"y": {"binary": ["no", "yes"]}, "s": {"binary": ["no", "yes"]}, "h": {"ordinal": [0, 1, 2, 3, 4]}}
    domains["c"] = {"categorical": ["a", "b", "c"]}
    asked = {"mechanism": "randomized-response", "epsilon": epsilon}
    plan = {
        "public": [{"columns": ["x", "school", "town", "g", "v", "d", "k"]}],
        "private": [{**asked, "columns": [name], "domain": domain} for name, domain in domains.items()],
    }
    return release(table, plan, randomness=Randomness.seeded(1))


@cache
def fitted(name):
    formula, family, *method = FORMULAS[name]
    return estimate.regression(formula, released(), family, method=method[0] if method else "auto")


@pytest.mark.parametrize("name", FORMULAS)
def test_every_fit_has_the_same_three(name):
    """Predictions of a table with intervals, a test by name, and marginal effects."""
    fit = fitted(name)
    assert fit.converged
    found = fit.predict(NEW)
    assert len(found.estimate) == 2
    low, high = np.moveaxis(found.interval(), -1, 0)
    assert ((low <= found.estimate) & (found.estimate <= high)).all()
    assert (found.std_error > 0).all()
    test = fit.test(fit.names[1], "wald", 0.0)
    z = fit.coefficients[1] / fit.std_error[1]
    assert test.statistic == pytest.approx(z**2)
    effects = fit.marginal_effects()
    assert np.isfinite(effects.std_error).all()
    assert (effects.std_error > 0).all()


@pytest.mark.parametrize(
    "name",
    ["binary", "multinomial", "predictor, linear", "predictor, yes/no", "predictor, number", "random intercept"],
)
def test_errors_of_predictions_are_those_of_the_delta_method(name):
    """Predictions of fits with shifted coefficients, as numerical derivatives."""
    from dataclasses import replace

    fit = fitted(name)
    full = fit.predict(NEW)
    slopes = []
    for j in range(fit.coefficients.size):
        h = 1e-4 * fit.std_error[j]
        up, down = (
            replace(fit, coefficients=fit.coefficients + side * h * np.eye(fit.coefficients.size)[j]).predict(NEW)
            for side in (1, -1)
        )
        slopes.append((up.estimate - down.estimate) / (2 * h))
    jacobian = np.stack(slopes, axis=-1)
    variance = np.einsum("...j,jk,...k->...", jacobian, fit.covariance, jacobian)
    assert full.std_error**2 == pytest.approx(variance, rel=1e-4)


def test_the_truth_behind_a_report():
    """Bayes' theorem by hand; all reports together give back the prediction without one."""
    fit = fitted("binary")
    rows = {"x": [0.4, 0.4], "y": ["no", "yes"]}
    channel = released().mechanism("y").matrix()
    share = fit.predict({"x": [0.4]}).estimate[0]
    expected = share * channel[1] / (share * channel[1] + (1 - share) * channel[0])
    found = fit.truth_given_report(rows)
    assert found.estimate == pytest.approx(expected)
    assert np.sum(found.estimate * (share * channel[1] + (1 - share) * channel[0])) == pytest.approx(share)
    many = fitted("multinomial")
    channel = released().mechanism("c").matrix()
    shares = many.predict({"x": [0.4]}).estimate[0]
    rows = {"x": [0.4] * 3, "c": ["a", "b", "c"]}
    expected = (shares[:, None] * channel / (shares @ channel)).T
    assert many.truth_given_report(rows).estimate == pytest.approx(expected)


@pytest.mark.parametrize("name", ["binary, several", "multinomial, several", "ordinal", "random intercept"])
def test_the_truth_behind_a_report_of_every_fit_with_classes(name):
    """Bayes' theorem with the fit's own prediction, at true predictors."""
    fit = fitted(name)
    column = FORMULAS[name][0].split()[0]
    reports = {"y": ["no", "yes"], "c": ["a", "b", "c"], "h": [0, 1, 2, 3, 4]}[column]
    channel = released().mechanism(column).matrix()
    share = fit.predict({"x": [0.4], "s": ["yes"]}).estimate[0]
    shares = np.array([1 - share, share]) if np.ndim(share) == 0 else share
    found = fit.truth_given_report({"x": [0.4] * len(reports), "s": ["yes"] * len(reports), column: reports})
    expected = (shares[:, None] * channel / (shares @ channel)).T
    assert found.estimate == pytest.approx(expected[:, 1] if column == "y" else expected)


def test_only_classes_of_a_randomised_outcome_have_a_truth_behind_their_reports():
    """A number, a count and a score have none; one sentence."""
    for name in ("linear, several", "poisson", "hinge"):
        with pytest.raises(EstimationError, match="classes of a randomised outcome"):
            fitted(name).truth_given_report(NEW | {"v": [1.0, 2.0], "k": [1, 2]})


def test_errors_of_the_truth_behind_a_report():
    """Numerical derivatives again."""
    from dataclasses import replace

    rows = {"x": [0.4, -1.0], "s": ["yes", "no"], "y": ["no", "yes"], "c": ["a", "c"], "h": [1, 4]}
    for name in ("binary", "multinomial", "binary, several", "multinomial, several", "ordinal", "random intercept"):
        fit = fitted(name)
        slopes = []
        for j in range(fit.coefficients.size):
            h = 1e-4 * fit.std_error[j]
            move = h * np.eye(fit.coefficients.size)[j]
            up, down = (
                replace(fit, coefficients=fit.coefficients + side * move).truth_given_report(rows) for side in (1, -1)
            )
            slopes.append((up.estimate - down.estimate) / (2 * h))
        jacobian = np.stack(slopes, axis=-1)
        variance = np.einsum("...j,jk,...k->...", jacobian, fit.covariance, jacobian)
        assert fit.truth_given_report(rows).std_error ** 2 == pytest.approx(variance, rel=1e-4)


def test_marginal_effects_of_a_randomised_predictor():
    """In a linear model the coefficients; in a logit near the differences of predictions at the same rows."""
    linear = fitted("predictor, linear")
    assert linear.names[2] == "s[T.yes]"
    effects = linear.marginal_effects()
    assert effects.coefficients == pytest.approx([linear.coefficients[1], *linear.effects], rel=1e-6)
    assert effects.std_error == pytest.approx(linear.std_error[[1, 2]], rel=1e-4)
    logit = fitted("predictor, yes/no")
    x = released().to_arrow()["x"].to_numpy()
    at = [logit.predict({"x": x, "c": [value] * N}).estimate.mean() for value in ("a", "b", "c")]
    assert logit.marginal_effects().coefficients[1:] == pytest.approx([at[1] - at[0], at[2] - at[0]], abs=1e-9)


@pytest.mark.parametrize(
    ("formula", "options"),
    [
        ("y ~ x + g", {}),
        ("c ~ x + g", {}),
        ("d ~ x + g + s", {"method": "likelihood"}),
        ("y ~ x + g + (1 | school)", {}),
        ("y ~ x + g + s", {}),
        ("h ~ x + g", {"family": "ordinal"}),
    ],
)
def test_effects_of_zero_or_one_are_differences(formula, options):
    """Whatever the fit: everybody as "m" minus everybody as "f", with the errors of the delta method."""
    fit = estimate.regression(formula, released(), **options)
    effects = fit.marginal_effects()
    at = [place for place, name in enumerate(effects.names) if name.endswith("g[T.m]")]
    table = released().to_arrow()
    if "s" in formula.split():  # averaged over truths that nobody has seen: the reports only come near
        table = table.set_column(table.column_names.index("s"), "s", [["no"] * N])
        shifted = [fit.predict(_with(table, "g", value)).estimate.mean(axis=0) for value in ("f", "m")]
        assert abs(effects.estimate[at[0]] - (shifted[1] - shifted[0])) < 0.1 * abs(effects.estimate[at[0]]) + 1e-3
    else:
        shifted = [fit.predict(_with(table, "g", value)).estimate.mean(axis=0) for value in ("f", "m")]
        assert effects.estimate[at] == pytest.approx(np.atleast_1d(shifted[1] - shifted[0]), abs=1e-8)
    assert (effects.std_error[at] > 0).all()


@pytest.mark.parametrize(
    ("formula", "column", "options"),
    [
        ("y ~ x + C(town)", "town", {}),
        ("c ~ x + C(town)", "town", {}),
        ("y ~ x + C(town) + (1 | school)", "town", {}),
        ("d ~ x + C(town) + s", "town", {"method": "likelihood"}),
        ("y ~ x + c", "c", {}),
        ("h ~ x + c", "c", {"family": "ordinal"}),
        ("k ~ x + c", "c", {"family": "poisson"}),
    ],
)
def test_effects_of_a_category_compare_everybody_with_its_reference(formula, column, options):
    """Nobody has two values of a category at once, whatever the fit; errors as by numerical derivatives."""
    from dataclasses import replace

    table = released(40.0).to_arrow()
    fit = estimate.regression(formula, released(40.0), **options)
    effects = fit.marginal_effects()
    first, *others = {"town": ["0", "1", "2"], "c": ["a", "b", "c"]}[column]
    for value in others:
        at = [place for place, name in enumerate(effects.names) if name.endswith(f"[T.{value}]")]
        ends = [fit.predict(_with(table, column, one)).estimate.mean(axis=0) for one in (first, value)]
        assert effects.estimate[at] == pytest.approx(np.atleast_1d(ends[1] - ends[0]), abs=1e-7)
    if column == "town":
        slopes = []
        for j in range(fit.coefficients.size):
            move = 1e-4 * fit.std_error[j] * np.eye(fit.coefficients.size)[j]
            up, down = (
                replace(fit, coefficients=fit.coefficients + side * move).marginal_effects() for side in (1, -1)
            )
            slopes.append((up.estimate - down.estimate) / (2 * move[j]))
        jacobian = np.array(slopes).T
        variance = np.einsum("ij,jk,ik->i", jacobian, fit.covariance, jacobian)
        assert effects.std_error**2 == pytest.approx(variance, rel=1e-3)


def test_effects_of_a_variable_in_several_terms_say_so():
    """x:g beside x and g: the effects are those of terms, and the note names both."""
    effects = estimate.regression("y ~ x * g", released()).marginal_effects()
    assert '"g", "x" stands in several' in effects.notes[0]
    assert effects.notes[0] in effects.summary()
    assert not estimate.regression("y ~ x + g", released()).marginal_effects().notes


def _with(table, name, value):
    return table.set_column(table.column_names.index(name), name, [[value] * table.num_rows])


def test_a_number_has_a_slope_in_the_likelihood_too():
    """One coefficient under the formula's name, near the corrected one; as categories one for every value."""
    fit, other = fitted("predictor, number"), estimate.regression("d ~ x + h", released())
    assert fit.names[:3] == other.names == ("Intercept", "x", "h")
    assert abs(fit.coefficients[2] - other.coefficients[2]) < other.std_error[2]
    assert fit.marginal_effects().names == ("x", "h")
    slope = fit.marginal_effects().estimate[1] / fit.coefficients[2]
    assert slope == pytest.approx(fit.marginal_effects().estimate[0] / fit.coefficients[1])
    between = fit.predict({"x": [0.0] * 3, "h": [1.0, 1.5, 2.0]})
    assert np.all(np.diff(between.estimate) * np.sign(fit.coefficients[2]) > 0)
    called = estimate.regression("d ~ x + C(h)", released(), method="likelihood")
    assert called.names[2:6] == tuple(f"C(h)[T.{k}]" for k in (1, 2, 3, 4))


def test_effects_know_the_degrees_of_freedom_of_the_fit():
    """Six clusters: intervals of effects and predictions have Student's t with five, in every kind of fit."""
    from dataclasses import replace

    from scipy.stats import t

    base = released()
    table = base.to_arrow()
    cluster = np.arange(N) % 6
    table = table.append_column("cluster", pa.array(cluster))
    plan = {
        "public": [{"columns": ["x", "v", "d", "cluster", "g"]}],
        "survey": {"cluster": "cluster"},
        "private": [
            {"columns": ["y"], "domain": {"binary": ["no", "yes"]}, "mechanism": "randomized-response", "epsilon": 3.0},
            {"columns": ["s"], "domain": {"binary": ["no", "yes"]}, "mechanism": "randomized-response", "epsilon": 3.0},
            {"columns": ["c"], "domain": {"categorical": ["a", "b", "c"]}, "mechanism": "randomized-response",
             "epsilon": 3.0},
        ],
    }  # fmt: skip
    made = release(table, plan, randomness=Randomness.seeded(2))
    asked = [
        ("y ~ x", {}),
        ("c ~ x", {}),
        ("d ~ x + s", {"method": "likelihood"}),
        ("y ~ x + s", {}),
        ("v ~ x + s", {}),
    ]
    for formula, options in asked:
        fit = estimate.regression(formula, made, **options)
        effects = fit.marginal_effects()
        assert fit.degrees_of_freedom == effects.degrees_of_freedom == 5
        width = np.diff(effects.interval(), axis=1)[:, 0] / effects.std_error
        assert width == pytest.approx(2 * t.ppf(0.975, 5))
        predicted = fit.predict({"x": [0.0], "s": ["yes"]})
        assert predicted.degrees_of_freedom == 5
        assert np.all(np.diff(replace(effects, freedom=np.inf).interval(), axis=1)[:, 0] < width * effects.std_error)


def test_marginal_effects_with_groups():
    """The derivative of predictions averaged over rows, which are averaged over groups."""
    fit = fitted("random intercept")
    x = released().to_arrow()["x"].to_numpy()
    up, down = (fit.predict({"x": x + side * 1e-4}).estimate.mean() for side in (1, -1))
    assert fit.marginal_effects().coefficients == pytest.approx([(up - down) / 2e-4], rel=1e-5)


@pytest.mark.parametrize(
    ("name", "rows", "said"),
    [
        ("binary", {"z": [1.0]}, 'no column "x"'),
        ("binary", {"x": [None, 1.0]}, "row 0 (counted from 0): the value is missing"),
        ("multinomial", {"z": [1.0]}, 'no column "x"'),
        ("predictor, linear", {"x": [1.0]}, 'no column "s"'),
        ("predictor, linear", {"x": [1.0], "s": ["maybe"]}, "not one that the model knows"),
        ("random intercept", {"z": [1.0]}, 'no column "x"'),
        ("predictor, linear", 3, "must have two dimensions"),
    ],
)
def test_rows_that_cannot_be_predicted(name, rows, said):
    """One sentence each."""
    with pytest.raises(EstimationError) as error:
        fitted(name).predict(rows)
    assert said in str(error.value)


def test_reports_that_are_none():
    """A truth behind an unknown report, or of a fit that does not know the design."""
    with pytest.raises(EstimationError, match='column "y"'):
        fitted("binary").truth_given_report({"x": [1.0], "y": ["maybe"]})
    plain = estimate.binary_regression(np.ones((100, 1)), [0, 1] * 50, 0.75, 0.75)
    with pytest.raises(EstimationError, match="fits by formula"):
        plain.truth_given_report({"x": [1.0]})
