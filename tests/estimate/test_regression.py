"""Regressions by formula on a release: the manifest is read, per row where it says so; mistakes get one sentence."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

from discreet import EstimationError, Plan, Randomness, Release, estimate, release
from discreet.estimate.data import map_reduce as passes
from discreet.mechanisms import BinaryResponse

PLAN = """
format = 1
[[public]]
columns = ["age", "sex", "grade", "passed"]
[[private]]
columns = ["cheated"]
domain = { binary = ["no", "yes"] }
mechanism = "randomized-response"
epsilon = 1.5
[[private]]
columns = ["region"]
domain = { categorical = ["n", "s", "e"] }
mechanism = "randomized-response"
epsilon = 2.0
"""


def truth(n=20_000, seed=0):
    """A table with a known relation between its columns."""
    rng = np.random.default_rng(seed)
    age, sex = rng.normal(40, 10, n), rng.choice(["f", "m"], n)
    eta = -1 + 0.05 * (age - 40) + 0.7 * (sex == "m")
    cheated = rng.random(n) < 1 / (1 + np.exp(-eta))
    return pa.table(
        {
            "age": age,
            "sex": sex,
            "cheated": np.where(cheated, "yes", "no"),
            "region": rng.choice(["n", "s", "e"], n),
            "grade": 2 + 0.5 * cheated + 0.01 * age + rng.normal(size=n),
            "passed": np.where(rng.random(n) < 1 / (1 + np.exp(-(0.2 + 1.0 * cheated))), "yes", "no"),
        }
    )


@pytest.fixture(scope="module")
def released():
    """The table, released."""
    return release(truth(), Plan.parse(PLAN), randomness=Randomness.seeded(1))


def test_formula_equals_arrays(released):
    """The formula interface gives exactly the fit of the same matrix."""
    fit = estimate.regression("cheated ~ age + C(sex)", released)
    table = released.to_arrow()
    X = np.column_stack(
        [np.ones(table.num_rows), table["age"].to_numpy(), np.array(table["sex"].to_pylist()) == "m"]
    ).astype(float)
    y = np.array(table["cheated"].to_pylist()) == "yes"
    p = float(released.mechanism("cheated").p00)
    direct = estimate.binary_regression(X, y.astype(int), p, p)
    assert fit.names == ("Intercept", "age", "C(sex)[T.m]")
    assert np.allclose(fit.coefficients, direct.coefficients, rtol=1e-6)
    assert np.all(np.abs(fit.coefficients - [-3, 0.05, 0.7]) < 5 * fit.std_error)


def test_a_comparison_shows_what_the_naive_fit_gets_wrong(released):
    """Side by side: the naive age effect is far from the truth, the corrected one is not."""
    both = estimate.regression("cheated ~ age + C(sex)", released, compare=True)
    corrected, naive = both.estimate[:, 1]
    assert abs(corrected - 0.05) < 5 * both.std_error[0, 1]
    assert abs(naive - 0.05) > 8 * both.std_error[1, 1]


def test_an_outcome_with_several_values_is_a_multinomial_logit(released):
    """Region does not depend on age: no effect is found."""
    fit = estimate.regression("region ~ age", released)
    assert len(fit.coefficients) == 4
    assert np.all(np.abs(fit.coefficients / fit.std_error) < 5)


@pytest.mark.parametrize("method", ["likelihood", "corrected"])
@pytest.mark.parametrize(("formula", "effect"), [("grade ~ age + cheated", 0.5), ("passed ~ cheated", 1.0)])
def test_a_randomised_predictor(released, formula, effect, method):
    """Mixed over the unknown truth or weighed over it: the effect on a public outcome is found, under one name."""
    fit = estimate.regression(formula, released, method=method)
    position = fit.names.index("cheated[T.yes]")
    assert abs(fit.coefficients[position] - effect) < 5 * fit.std_error[position]
    assert abs(fit.coefficients[position]) > 5 * fit.std_error[position]


@pytest.mark.parametrize("link", ["cauchit", "cloglog"])
def test_a_randomised_predictor_refuses_links_it_does_not_have(released, link):
    """A link that was asked for is used or refused, never replaced by another; the corrected loss has them all."""
    with pytest.raises(EstimationError, match=f'logit or probit, not "{link}"'):
        estimate.regression("passed ~ cheated", released, link=link, method="likelihood")
    assert f"{link} link" in estimate.regression("passed ~ cheated", released, link=link).summary()


def test_the_default_needs_neither_normal_errors_nor_a_law_of_the_predictor():
    """Exponential errors: the corrected loss has the effect of one; the likelihood is far off, and says why."""
    rng, n = np.random.default_rng(12), 6_000
    x = rng.normal(size=n)
    s = rng.random(n) < 1 / (1 + np.exp(0.85 - 0.5 * x))
    table = pa.table({"x": x, "s": np.where(s, "yes", "no"), "v": 1 + 0.5 * x + s + rng.exponential(size=n)})
    private = {
        "columns": ["s"],
        "domain": {"binary": ["no", "yes"]},
        "mechanism": "randomized-response",
        "epsilon": 1.0,
    }
    made = release(table, {"public": [{"columns": ["x", "v"]}], "private": [private]}, randomness=Randomness.seeded(1))
    fit = estimate.regression("v ~ x + s", made)
    assert abs(fit.coefficients[2] - 1) < 5 * fit.std_error[2] < 0.6
    other = estimate.regression("v ~ x + s", made, method="likelihood")
    assert other.coefficients[2] > 2
    assert any("normal with the same spread" in note for note in other.notes)


def test_a_number_that_is_not_told_apart_alone_has_a_slope():
    """A bipartite channel and nothing else that is randomised: fitted to the values between, which a note says."""
    rng, n = np.random.default_rng(13), 20_000
    w = rng.normal(size=n)
    h = np.clip(np.round(5 + 1.5 * w + 2 * rng.normal(size=n)), 0, 10)
    table = pa.table({"w": w, "h": h, "y": 1 + 0.25 * h + 0.5 * w + rng.normal(size=n)})
    grid = {"grid": {"low": 0, "high": 10, "points": 11}}
    private = [{"columns": ["h"], "domain": grid, "mechanism": "bipartite", "epsilon": 2.0}]
    made = release(table, {"public": [{"columns": ["w", "y"]}], "private": private}, randomness=Randomness.seeded(1))
    fit = estimate.regression("y ~ w + h", made)
    assert fit.names == ("Intercept", "w", "h")
    assert np.all(np.abs(fit.coefficients - [1, 0.5, 0.25]) < 5 * fit.std_error)
    assert any("values apart" in note for note in fit.notes)
    with pytest.raises(EstimationError, match="does not tell all classes apart"):
        estimate.regression("y ~ w + h", made, method="likelihood")


def test_designs_that_differ_by_row_are_corrected_each_by_its_own():
    """Direct and crosswise answers in one survey."""
    table = truth(30_000, seed=2)
    rng = np.random.default_rng(3)
    mode = rng.choice(["direct", "crosswise"], table.num_rows)
    cheated = np.array(table["cheated"].to_pylist()) == "yes"
    crosswise = BinaryResponse.crosswise("1/4").privatize(cheated, Randomness.seeded(4))
    reports = np.where(mode == "direct", cheated, crosswise).astype(int)
    plan = Plan.parse("""
        format = 1
        [[public]]
        columns = ["age", "mode"]
        [[private]]
        columns = ["cheated"]
        domain = { binary = [0, 1] }
        collected = true
        by = "mode"
        designs.direct = { direct = true }
        designs.crosswise = { crosswise = "1/4" }
    """)
    survey = Release.from_reports(pa.table({"age": table["age"], "mode": mode, "cheated": reports}), plan)
    fit = estimate.regression("cheated ~ age", survey)
    p = np.where(mode == "direct", 1.0, 0.25)
    X = np.column_stack([np.ones(len(p)), table["age"].to_numpy()])
    direct = estimate.binary_regression(X, reports, p, p)
    assert np.allclose(fit.coefficients, direct.coefficients, rtol=1e-6)
    assert abs(fit.coefficients[1] - 0.05) < 5 * fit.std_error[1]


def test_missing_values_are_refused_or_dropped_and_counted():
    """Nothing is left out silently."""
    table = truth(5_000, seed=5)
    age = table["age"].to_pylist()
    age[7] = age[100] = None
    table = table.set_column(0, "age", pa.array(age, pa.float64()))
    done = release(table, Plan.parse(PLAN + '\n[output]\norder = "keep"\n'), randomness=Randomness.seeded(6))
    with pytest.raises(EstimationError, match='column "age", row 7'):
        estimate.regression("cheated ~ age", done)
    fit = estimate.regression("cheated ~ age", done, missing="drop")
    assert fit.n == 4_998
    assert "2 rows with a missing value left out" in fit.notes


def test_streaming_gives_the_same_fit(released, monkeypatch):
    """Batch by batch or in memory: the same coefficients."""
    plain = estimate.regression("cheated ~ age + C(sex)", released)
    monkeypatch.setattr(passes, "HELD_BYTES", 0)
    streamed = estimate.regression("cheated ~ age + C(sex)", released)
    assert np.allclose(plain.coefficients, streamed.coefficients, rtol=1e-6)
    assert streamed.passes <= 15


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("cheated ~ agee", "agee"),
        ("name ~ age", "name"),
        ("age ~ sex", "no column of the formula was randomised"),
        ("cheated", "outcome ~"),
        ("cheated ~ age + (", "cannot be read"),
        ("log(cheated) ~ age", "name of one column"),
        ("cheated ~ cheated", "both sides"),
        ("sex ~ age", "no column"),
        (3, "formula"),
    ],
)
def test_bad_formulas_get_one_sentence(released, formula, message):
    """What is wrong with the formula is said."""
    with pytest.raises(EstimationError, match=message) as caught:
        estimate.regression(formula, released)
    assert len(str(caught.value).splitlines()) == 1


def test_bad_choices_are_refused(released):
    """Unknown policies and links."""
    with pytest.raises(EstimationError, match="missing"):
        estimate.regression("cheated ~ age", released, missing="ignore")
    with pytest.raises(EstimationError, match="link"):
        estimate.regression("cheated ~ age", released, link="log")
    with pytest.raises(EstimationError, match="logit only"):
        estimate.regression("region ~ age", released, link="probit")
    with pytest.raises(EstimationError, match="penalty must be"):
        estimate.regression("cheated ~ age", released, penalty="ridge")
    for formula in ("region ~ age", "grade ~ cheated"):
        with pytest.raises(EstimationError, match="yes/no outcome only"):
            estimate.regression(formula, released, penalty="firth")


def test_a_jointly_randomised_column_is_corrected_by_its_own_channel():
    """Outcome or predictor: the channel of one column of a joint block is what counts."""
    table = truth(20_000, seed=7)
    plan = Plan.parse("""
        [[public]]
        columns = ["age", "grade"]
        [[private]]
        columns = ["cheated", "region"]
        domains = [{ binary = ["no", "yes"] }, { categorical = ["n", "s", "e"] }]
        mechanism = "joint"
        epsilons = [1.5, 2.0]
    """)
    done = release(table, plan, randomness=Randomness.seeded(8))
    outcome = estimate.regression("cheated ~ age", done)
    assert abs(outcome.coefficients[1] - 0.05) < 5 * outcome.std_error[1]
    predictor = estimate.regression("grade ~ age + cheated", done)
    position = predictor.names.index("cheated[T.yes]")
    assert abs(predictor.coefficients[position] - 0.5) < 5 * predictor.std_error[position]


def test_a_summary_names_what_was_modelled(released):
    """Formula, outcome and the level that counts as "yes" stand above the coefficients, and in the plain data."""
    for formula, modelled in [
        ("cheated ~ age", 'P(cheated = "yes")'),
        ("region ~ age", 'P(region = each value), reference "n"'),
        ("passed ~ cheated", 'P(passed = "yes")'),
        ("grade ~ cheated", "E(grade)"),
    ]:
        fit = estimate.regression(formula, released)
        assert (fit.formula, fit.modelled) == (formula, modelled)
        head = fit.summary().split("coef")[0]
        assert formula in head
        assert modelled in head
        assert fit.to_dict()["modelled"] == modelled


def test_plain_data_hold_the_intervals_at_the_asked_level(released):
    """One [low, high] per coefficient, as the summary prints them."""
    for formula in ("cheated ~ age", "region ~ age", "grade ~ cheated"):
        fit = estimate.regression(formula, released)
        for level in (0.8, 0.95):
            data = json.loads(json.dumps(fit.to_dict(level=level)))
            assert data["level"] == level
            np.testing.assert_allclose(data["interval"], fit.interval(level))
    assert estimate.regression("cheated ~ age", released, compare=True, level=0.8).level == 0.8


def test_the_declared_order_of_a_private_column_is_kept(released):
    """The first declared value is the reference (n, s, e), whatever the alphabet says, on either side."""
    assert [name.split(":")[0] for name in estimate.regression("region ~ 1", released).names] == ["s", "e"]
    for method in ("likelihood", "corrected"):
        plain, called = (
            estimate.regression(formula, released, method=method) for formula in ("grade ~ region", "grade ~ C(region)")
        )
        assert plain.names[:3] == ("Intercept", "region[T.s]", "region[T.e]")
        assert called.names[:3] == ("Intercept", "C(region)[T.s]", "C(region)[T.e]")
        np.testing.assert_array_equal(plain.coefficients, called.coefficients)
    other = estimate.regression('grade ~ C(region, contr.treatment("s"))', released)
    assert [name[-5:] for name in other.names if "region" in name] == ["[T.n]", "[T.e]"]


@pytest.mark.parametrize(
    ("formula", "options", "message"),
    [
        ("region ~ age", {"family": "binary"}, 'a binary family needs an outcome with two values; "region" has 3'),
        (
            "grade ~ cheated",
            {"family": "poisson"},
            'a poisson family needs counts, whole numbers from 0; "grade" holds',
        ),
        ("grade ~ cheated", {"family": "binary"}, "a binary family needs an outcome with two values"),
        (
            "grade ~ cheated",
            {"family": "binary", "method": "likelihood"},
            'needs an outcome with two values, and "grade" has not',
        ),
        ("passed ~ cheated", {"family": "linear", "method": "likelihood"}, '"passed" must be a number'),
        ("grade ~ cheated", {"link": "probit"}, 'link "probit" is for a yes/no outcome'),
        ("grade ~ cheated", {"link": "probit", "method": "likelihood"}, "link belongs to a yes/no outcome"),
        ("grade ~ cheated - 1", {"method": "likelihood"}, "needs the intercept"),
        ("cheated ~ age", {"family": "logit"}, "family must be one of"),
        ("cheated ~ age", {"method": "mle"}, "method must be one of"),
        ("cheated ~ age", {"tau": 0.5}, "tau belongs to family"),
    ],
)
def test_what_was_asked_for_is_done_or_refused(released, formula, options, message):
    """A family, link or method is used or refused in one sentence that says what there is; never replaced."""
    with pytest.raises(EstimationError, match=message) as caught:
        estimate.regression(formula, released, **options)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("formula", "family", "randomised"),
    [
        ("cheated ~ region + age", "auto", {"cheated", "region"}),
        ("grade ~ age + cheated", "auto", {"cheated"}),
        ("passed ~ cheated", "binary", {"cheated"}),
        ("grade ~ age:cheated", "auto", {"cheated"}),
        ("grade ~ cheated * age", "auto", {"cheated"}),
        ("cheated ~ age", "linear", {"cheated"}),
    ],
)
def test_what_no_likelihood_is_for_is_fitted_by_a_corrected_loss(released, formula, family, randomised):
    """Randomised predictors, several or one, and one inside an interaction: the summary names them and the method."""
    fit = estimate.regression(formula, released, family)
    assert isinstance(fit, estimate.CorrectedRegression)
    assert set(fit.randomised) == randomised
    assert fit.converged
    assert "corrected loss" in fit.summary()


def test_likelihood_and_corrected_loss_agree(released):
    """Two consistent ways to the same logit: closer than their errors, and not the same numbers."""
    sharp, robust = (estimate.regression("cheated ~ age", released, method=way) for way in ("likelihood", "corrected"))
    assert robust.names == sharp.names
    assert (np.abs(robust.coefficients - sharp.coefficients) < sharp.std_error).all()
    assert (robust.std_error > 0.9 * sharp.std_error).all()


def test_a_yes_no_outcome_is_also_a_multinomial_one(released):
    """Two classes through the multinomial logit: the same coefficients as the binary one, under its names."""
    binary = estimate.regression("cheated ~ age", released, "binary", method="likelihood")
    classes = estimate.regression("cheated ~ age", released, "multinomial")
    assert classes.classes == ("no", "yes")
    np.testing.assert_allclose(classes.coefficients, binary.coefficients, rtol=1e-6)
    np.testing.assert_allclose(classes.std_error, binary.std_error, rtol=1e-6)


def test_a_predictor_with_a_probit_link(released):
    """The link of a public yes/no outcome is the one that was asked for."""
    fit = estimate.regression("passed ~ cheated", released, link="probit", method="likelihood")
    assert fit.family == "probit"
    assert "maximum likelihood" in fit.summary()
    logit = estimate.regression("passed ~ cheated", released)
    ratio = logit.coefficients[1] / fit.coefficients[1]
    assert 1.5 < ratio < 1.8  # the scale of the logistic law, 1.6 to 1.8


def test_a_weight_that_is_none_is_refused_never_dropped():
    """No release is made with such a weight, so the table was changed: the row is named."""
    table = truth(2_000, seed=9).append_column("w", pa.array([1.0, 2.0] * 1_000))
    text = PLAN.replace('"passed"]', '"passed", "w"]') + '\n[output]\norder = "keep"\n[survey]\nweight = "w"\n'
    good = release(table, Plan.parse(text), randomness=Randomness.seeded(10))
    assert estimate.regression("cheated ~ age", good).weighted
    for wrong in (None, -1.0, 0.0, float("inf")):
        weights = pa.array([1.0] * 5 + [wrong] + [2.0] * 1_994, pa.float64())
        place = good.columns.index("w")
        bad = Release.from_table(good.manifest, good.to_arrow().set_column(place, "w", weights))
        for missing in ("error", "drop"):
            with pytest.raises(EstimationError, match=r'column "w": row 5 \(counted from 0\) must be positive'):
                estimate.regression("cheated ~ age", bad, missing=missing)


def test_all_estimators_read_rows_alike():
    """Frequencies, tables and regressions name the same row when a design is unknown: there is one reader."""
    plan = Plan.parse("""
        [[public]]
        columns = ["mode", "age"]
        [[private]]
        columns = ["a"]
        domain = { binary = [0, 1] }
        collected = true
        by = "mode"
        designs.direct = { direct = true }
        designs.warner = { warner = "3/4" }
    """)
    modes = ["direct", "warner"] * 200
    table = pa.table({"mode": modes, "age": np.arange(400.0), "a": [0, 1, 1, 1] * 100})
    good = Release.from_reports(table, plan)
    other = pa.array([*modes[:7], "phone", *modes[8:]])
    bad = Release.from_table(good.manifest, table.set_column(0, "mode", other))
    for learn in (
        lambda: estimate.frequencies(bad, "a"),
        lambda: estimate.crosstab(bad, "a", "mode"),
        lambda: estimate.regression("a ~ age", bad),
        lambda: estimate.regression("age ~ a", bad),
    ):
        with pytest.raises(EstimationError, match=r'"mode": row 7 \(counted from 0\) names no design; known are'):
            learn()


def test_a_formula_without_predictors(released):
    """Only an intercept: its fit is the logit of the estimated share."""
    fit = estimate.regression("cheated ~ 1", released)
    share = estimate.frequencies(released, "cheated").estimate[1]
    np.testing.assert_allclose(fit.coefficients, [np.log(share / (1 - share))], rtol=1e-5)


def test_groups_may_have_intercepts_of_their_own(released):
    """``(1 | group)``: the marginal likelihood; without a spread it is the plain fit, and the test does not reject."""
    fit = estimate.regression("cheated ~ age + (1 | sex)", released)
    plain = estimate.regression("cheated ~ age", released)
    assert isinstance(fit, estimate.RandomInterceptRegression)
    assert fit.names == ("Intercept", "age", "sd(1 | sex)")
    assert fit.groups == len(fit.group_effects()) == 2
    assert fit.log_likelihood >= plain.log_likelihood - 1e-6
    assert fit.log_likelihood_without == pytest.approx(plain.log_likelihood)
    assert 0 <= fit.test_of_groups().p_value <= 1
    assert "(1 | sex)" in fit.summary()


def test_a_spread_of_groups_is_found(tmp_path):
    """400 schools of six pupils: spread, slope and the test; the plain fit's slope is drawn towards zero."""
    rng = np.random.default_rng(21)
    school, age = np.repeat(np.arange(400), 6), rng.normal(size=2_400)
    odds = -0.5 + 0.8 * age + 1.3 * rng.normal(size=400)[school]
    cheated = rng.random(2_400) < 1 / (1 + np.exp(-odds))
    table = pa.table({"school": school, "age": age, "cheated": np.where(cheated, "yes", "no")})
    asked = {
        "columns": ["cheated"],
        "domain": {"binary": ["no", "yes"]},
        "mechanism": "randomized-response",
        "epsilon": 2.5,
    }
    plan = {"public": [{"columns": ["school", "age"]}], "private": [asked | {"columns": ["cheated"]}]}
    done = release(table, plan, randomness=Randomness.seeded(5))
    fit = estimate.regression("cheated ~ age + (1 | school)", done)
    assert fit.converged
    assert (np.abs(fit.coefficients - [-0.5, 0.8, 1.3]) < 5 * fit.std_error).all()
    assert fit.test_of_groups().p_value < 1e-6
    assert estimate.regression("cheated ~ age", done).coefficients[1] < fit.coefficients[1]
    low, high = fit.interval()[-1]
    assert 0 < low < fit.coefficients[-1] < high


def test_a_spread_without_end_is_said(tmp_path):
    """Two rows a group, which always agree: the likelihood rises with the spread, and no error bar is given."""
    school = np.repeat(np.arange(150), 2)
    cheated = np.repeat(np.random.default_rng(2).random(150) < 0.5, 2)
    table = pa.table({"school": school, "cheated": np.where(cheated, "yes", "no")})
    asked = {"domain": {"binary": ["no", "yes"]}, "mechanism": "randomized-response", "epsilon": 20.0}
    plan = {"public": [{"columns": ["school"]}], "private": [asked | {"columns": ["cheated"]}]}
    fit = estimate.regression("cheated ~ (1 | school)", release(table, plan, randomness=Randomness.seeded(5)))
    assert not fit.converged
    assert np.isnan(fit.std_error).all()
    assert "goes on rising" in fit.summary()


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("cheated ~ (1 | region)", "was randomised"),
        ("cheated ~ (1 | sex) + (1 | age)", "one random intercept"),
        ("cheated ~ age - (1 | sex)", r"with \+"),
        ("cheated ~ (1 | nobody)", "nobody"),
        ("region ~ (1 | sex)", "yes/no outcome only"),
        ("grade ~ cheated + (1 | sex)", "yes/no outcome only"),
    ],
)
def test_intercepts_that_cannot_be_fitted(released, formula, message):
    """One sentence each."""
    with pytest.raises(EstimationError, match=message):
        estimate.regression(formula, released)


def test_a_predictor_with_blanks_as_a_value():
    """The corrected loss is about those who have a value; by likelihood blanks have an effect of their own."""
    rng, n = np.random.default_rng(14), 6_000
    w, s = rng.normal(size=n), rng.random(n) < 0.4
    told = np.where(s, "yes", "no").astype(object)
    told[rng.random(n) < 0.2] = None
    table = pa.table({"w": w, "s": pa.array(told), "v": 1 + 0.5 * w + s + rng.normal(size=n)})
    private = {
        "columns": ["s"],
        "domain": {"binary": ["no", "yes"]},
        "mechanism": "randomized-response",
        "epsilon": 3.0,
    }
    plan = {"public": [{"columns": ["w", "v"]}], "private": [private | {"missing": "category"}]}
    made = release(table, plan, randomness=Randomness.seeded(1))
    corrected, likelihood = (estimate.regression("v ~ w + s", made, method=way) for way in ("auto", "likelihood"))
    assert corrected.names == ("Intercept", "w", "s[T.yes]")
    assert likelihood.names[:4] == ("Intercept", "w", "s[T.yes]", "s[T.(blank)]")
    for fit in (corrected, likelihood):
        assert np.all(np.abs(fit.coefficients[:3] - [1, 0.5, 1]) < 5 * fit.std_error[:3])
        assert len(fit.predict({"w": [0.0], "s": ["yes"]}).estimate) == 1
    assert any("missing are in the model" in note for note in likelihood.notes)
    assert any("not missing" in note for note in corrected.notes)
