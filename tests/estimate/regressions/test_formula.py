"""Regressions by formula on a release with several randomised columns."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

from discreet import EstimationError, NotIdentifiedError, Plan, Randomness, Release, release
from discreet.estimate.regressions import reading
from discreet.estimate.regressions.formula import corrected_regression

PLAN = """
format = 1
[survey]
{survey}
[[public]]
columns = ["age", "sex", "grade", "visits", "town", "w"]
[[private]]
columns = ["cheated"]
domain = {{ binary = ["no", "yes"] }}
mechanism = "randomized-response"
epsilon = {epsilon}
{options}
[[private]]
columns = ["smokes"]
domain = {{ binary = ["never", "daily"] }}
mechanism = "randomized-response"
epsilon = {epsilon}
[[private]]
columns = ["region"]
domain = {{ categorical = ["south", "north", "east"] }}
mechanism = "randomized-response"
epsilon = {epsilon}
[[private]]
columns = ["hours"]
domain = {{ grid = {{ low = 0, high = 4, points = 5 }} }}
mechanism = "randomized-response"
epsilon = {epsilon}
"""
LOGIT = (-1.0, 0.8, 1.0, -0.5, 0.7)


def truth(n=4_000, seed=0):
    """A table with a known relation between its columns."""
    rng = np.random.default_rng(seed)
    age, sex = rng.normal(size=n), rng.choice(["f", "m"], n)
    smokes = rng.random(n) < 1 / (1 + np.exp(-age))
    region, hours = rng.integers(0, 3, n), rng.integers(0, 5, n)
    eta = LOGIT[0] + LOGIT[1] * age + LOGIT[2] * smokes + LOGIT[3] * (region == 1) + LOGIT[4] * (region == 2)
    return pa.table(
        {
            "age": age,
            "sex": sex,
            "town": rng.integers(0, 40, n),
            "w": rng.uniform(0.5, 2, n),
            "cheated": np.where(rng.random(n) < 1 / (1 + np.exp(-eta)), "yes", "no"),
            "smokes": np.where(smokes, "daily", "never"),
            "region": np.array(["south", "north", "east"])[region],
            "hours": hours.astype(float),
            "grade": 2 + 0.5 * smokes + 0.3 * hours + 0.4 * age + rng.normal(size=n),
            "visits": rng.poisson(np.exp(0.3 + 0.2 * hours + 0.4 * smokes)),
        }
    )


def released(table, epsilon=40.0, seed=1, survey="", options=""):
    """The table, released; at ε = 40 the reports are the truths."""
    plan = Plan.parse(PLAN.format(epsilon=epsilon, survey=survey, options=options))
    return release(table, plan, randomness=Randomness.seeded(seed))


@pytest.fixture(scope="module")
def bare():
    """Hardly randomised."""
    return released(truth())


@pytest.fixture(scope="module")
def noisy():
    """Randomised at ε = 2."""
    return released(truth(30_000), 2.0)


def smokes_region(table):
    """Dummies in declared order."""
    region = np.array(table["region"].to_pylist())
    smokes = np.array(table["smokes"].to_pylist()) == "daily"
    return [np.ones(len(region)), table["age"].to_numpy(), region == "north", region == "east", smokes]


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog", "cauchit"])
def test_binary_without_noise_is_maximum_likelihood(bare, link):
    """At ε = 40 the fit is that of statsmodels on the true columns, with its robust standard errors."""
    import statsmodels.api as sm

    table = bare.to_arrow()
    X = np.column_stack(smokes_region(table)).astype(float)
    y = np.array(table["cheated"].to_pylist()) == "yes"
    links = sm.families.links
    chosen = {"logit": links.Logit, "probit": links.Probit, "cloglog": links.CLogLog, "cauchit": links.Cauchy}[link]()
    theirs = sm.GLM(y.astype(float), X, sm.families.Binomial(chosen)).fit(tol=1e-12, maxiter=200)
    ours = corrected_regression("cheated ~ age + region + smokes", bare, link=link)
    assert ours.names == ("Intercept", "age", "region[T.north]", "region[T.east]", "smokes[T.daily]")
    assert ours.converged
    assert np.allclose(ours.estimate, theirs.params, atol=1e-5)
    assert np.allclose(ours.std_error, theirs.bse, rtol=0.15)


def test_linear_and_poisson_without_noise(bare):
    """A squared loss is least squares with White's errors, a Poisson loss a Poisson regression."""
    import statsmodels.api as sm

    table = bare.to_arrow()
    smokes = np.array(table["smokes"].to_pylist()) == "daily"
    X = np.column_stack([np.ones(len(smokes)), table["age"].to_numpy(), table["hours"].to_numpy(), smokes])
    theirs = sm.OLS(table["grade"].to_numpy(), X).fit(cov_type="HC0")
    ours = corrected_regression("grade ~ age + hours + smokes", bare)
    assert ours.family.name == "linear"
    assert np.allclose(ours.estimate, theirs.params, atol=1e-9)
    assert np.allclose(ours.std_error, theirs.bse * np.sqrt(ours.n / (ours.n - 1)), rtol=1e-6)
    counts = corrected_regression("visits ~ age + hours + smokes", bare, family="poisson")
    theirs = sm.GLM(table["visits"].to_numpy(), X, sm.families.Poisson()).fit(cov_type="HC0")
    assert np.allclose(counts.estimate, theirs.params, atol=1e-6)
    assert np.allclose(counts.std_error, theirs.bse, rtol=1e-3)


def test_classes_without_noise(bare):
    """Multinomial logit and proportional odds as statsmodels fits them."""
    import statsmodels.api as sm
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    table = bare.to_arrow()
    smokes = (np.array(table["smokes"].to_pylist()) == "daily").astype(float)
    region = np.array(table["region"].to_pylist())
    codes = np.select([region == "north", region == "east"], [1, 2], 0)
    X = np.column_stack([np.ones(len(smokes)), table["age"].to_numpy(), smokes])
    theirs = sm.MNLogit(codes, X).fit(disp=0)
    ours = corrected_regression("region ~ age + smokes", bare)
    assert ours.family.name == "multinomial"
    assert np.allclose(ours.estimate, theirs.params.T.ravel(), atol=1e-5)
    assert ours.names[0] == "north: Intercept"
    ordered = OrderedModel(table["hours"].to_numpy().astype(int), X[:, 1:], distr="logit").fit(method="bfgs", disp=0)
    ours = corrected_regression("hours ~ age + smokes", bare, family="ordinal")
    assert ours.names == ("age", "smokes[T.daily]", "0.0 | 1.0", "1.0 | 2.0", "2.0 | 3.0", "3.0 | 4.0")
    assert np.allclose(ours.estimate[:2], ordered.params[:2], atol=1e-4)
    assert np.allclose(ours.std_error[:2], ordered.bse[:2], rtol=0.05)


def test_interactions_and_functions_are_evaluated_at_the_truths(bare):
    """age:smokes, hours², a comparison: as statsmodels fits the true columns."""
    import statsmodels.formula.api as smf

    frame = bare.to_arrow().to_pandas()
    frame["smokes"] = (frame["smokes"] == "daily").astype(float)
    theirs = smf.ols("grade ~ age * smokes + hours:smokes + I(hours ** 2) + age:hours", frame).fit()
    ours = corrected_regression(
        'grade ~ age * I(smokes == "daily") + hours:I(smokes == "daily") + I(hours ** 2) + age:hours', bare
    )
    assert len(ours.estimate) == len(theirs.params)
    for name, value in zip(ours.names, ours.estimate, strict=True):
        same = name.replace('I(smokes == "daily")', "smokes").replace("I(smokes == 'daily')", "smokes")
        key = frozenset(same.split(":"))
        matched = [theirs.params[other] for other in theirs.params.index if frozenset(other.split(":")) == key]
        assert np.isclose(value, matched[0], atol=1e-8), name


def test_randomised_columns_on_both_sides(noisy):
    """ε = 2 in three columns: every coefficient within five standard errors, and far from the naive fit."""
    fit = corrected_regression("cheated ~ age + smokes + region", noisy)
    assert fit.converged
    assert fit.randomised == ("region", "smokes", "cheated")
    by_name = dict(zip(fit.names, zip(fit.estimate, fit.std_error, strict=True), strict=True))
    names = ("Intercept", "age", "smokes[T.daily]", "region[T.north]", "region[T.east]")
    for name, wanted in zip(names, LOGIT, strict=True):
        value, error = by_name[name]
        assert abs(value - wanted) < 5 * error < 0.6
    text = str(fit)
    assert "corrected loss, 12 cells" in text
    assert 'P(cheated = "yes")' in text
    assert json.dumps(fit.to_dict())


def test_the_naive_fit_takes_reports_for_truths(noisy):
    """It is the plain logit of the reports, and many standard errors from the truth."""
    import statsmodels.api as sm

    table = noisy.to_arrow()
    naive = corrected_regression("cheated ~ age + region + smokes", noisy, method="naive")
    y = np.array(table["cheated"].to_pylist()) == "yes"
    plain = sm.Logit(y, np.column_stack(smokes_region(table)).astype(float)).fit(disp=0)
    assert np.allclose(naive.estimate, plain.params, atol=1e-6)
    assert abs(naive.estimate[-1] - LOGIT[2]) > 10 * naive.std_error[-1]
    assert any("nothing was corrected" in note for note in naive.notes)


def test_weights_clusters_and_strata():
    """Standard errors by cluster and by stratum; weights change the estimate."""
    table = truth()
    plain = corrected_regression("cheated ~ age + smokes", released(table, 3.0))
    weighted = corrected_regression("cheated ~ age + smokes", released(table, 3.0, survey='weight = "w"'))
    clustered = corrected_regression(
        "cheated ~ age + smokes", released(table, 3.0, survey='weight = "w"\ncluster = "town"\nstrata = "sex"')
    )
    assert not np.allclose(plain.estimate, weighted.estimate, atol=1e-4)
    assert np.allclose(weighted.estimate, clustered.estimate)
    assert 40 < clustered.degrees_of_freedom <= 80 - 2  # fewer, as strata of different size make the variance
    assert np.all(clustered.freedom <= 80 - 2)
    assert "P>|t|" in str(clustered)
    assert "those of the survey" in str(weighted)
    assert "those of the survey" not in str(plain)
    assert not np.allclose(weighted.std_error, clustered.std_error, rtol=1e-3)
    assert np.all(clustered.std_error / weighted.std_error < 2)


def test_equal_rows_are_collapsed_without_a_difference(monkeypatch):
    """Public categories only: estimate, standard errors and effects are those of all rows one by one."""
    made = released(truth(3_000), 3.0, survey='weight = "w"\ncluster = "town"')
    few = corrected_regression("cheated ~ sex * smokes", made)
    assert few.risk.rows < 20
    monkeypatch.setattr(reading, "distinct_rows", lambda *_: (None, None))
    many = corrected_regression("cheated ~ sex * smokes", made)
    assert many.risk.rows == 3_000
    assert np.allclose(few.estimate, many.estimate, atol=1e-8)
    assert np.allclose(few.covariance, many.covariance, rtol=1e-6)


@pytest.mark.parametrize("bad", [0.0, -1.0, None, np.inf])
def test_weights_must_be_positive(bad):
    """Zero, negative, missing or infinite: one sentence that names the column."""
    made = released(truth(200), survey='weight = "w"')
    table = made.to_arrow()
    weights = pa.array([bad, *table["w"].to_pylist()[1:]])
    made = Release.from_table(made.manifest, table.set_column(table.column_names.index("w"), "w", [weights]))
    with pytest.raises(EstimationError, match='column "w"'):
        corrected_regression("cheated ~ smokes", made)


def test_a_model_without_predictors_is_a_mean(noisy):
    """Only an intercept: the corrected mean, by any family."""
    from discreet import estimate

    shares = estimate.frequencies(noisy, "cheated")
    linear = corrected_regression("cheated ~ 1", noisy, family="linear")
    assert np.isclose(linear.estimate[0], shares.estimate[1])
    assert np.isclose(linear.std_error[0], shares.std_error[1], rtol=1e-3)
    logit = corrected_regression("cheated ~ 1", noisy)
    assert np.isclose(1 / (1 + np.exp(-logit.estimate[0])), shares.estimate[1])


def test_a_randomised_blank_is_never_dropped():
    """Missing answers are one more value: the slope is about those who had an answer, with reported blanks kept."""
    table = truth(40_000)
    rng = np.random.default_rng(5)
    cheated = np.array(table["cheated"].to_pylist(), object)
    gone = rng.random(len(cheated)) < np.where(np.array(table["smokes"].to_pylist()) == "daily", 0.3, 0.1)
    cheated[gone] = None
    made = released(
        table.set_column(table.column_names.index("cheated"), "cheated", pa.array(cheated)),
        2.5,
        options='missing = "category"',
    )
    fit = corrected_regression("cheated ~ age + smokes + region", made)
    assert fit.n == 40_000
    assert any("not missing" in note for note in fit.notes)
    by_name = dict(zip(fit.names, zip(fit.estimate, fit.std_error, strict=True), strict=True))
    for name, wanted in zip(("Intercept", "age", "smokes[T.daily]"), LOGIT[:3], strict=True):
        assert abs(by_name[name][0] - wanted) < 5 * by_name[name][1] < 1


def test_a_public_blank_is_left_out_and_counted():
    """missing="drop" uses the complete rows and says how many were not."""
    table = truth(2_000)
    cheated = table["cheated"].to_pylist()
    cheated[:100] = [None] * 100
    made = released(
        table.set_column(table.column_names.index("cheated"), "cheated", pa.array(cheated)),
        options='missing = "public"',
    )
    with pytest.raises(EstimationError, match=r'column "cheated", row .* missing="drop"'):
        corrected_regression("cheated ~ age + smokes", made)
    fit = corrected_regression("cheated ~ age + smokes", made, missing="drop")
    assert fit.n == 1_900
    assert "100 rows with a missing value left out" in fit.notes


@pytest.mark.parametrize(
    ("formula", "options", "message"),
    [
        ("cheated ~ nobody", {}, 'names "nobody"'),
        ("cheated ~ cheated", {}, "both sides"),
        ("grade ~ age", {}, "no column of the formula was randomised"),
        ("cheated ~ scale(hours)", {}, r'scale\(hours\) depends on the distribution of "hours"'),
        ("region ~ smokes", {"family": "binary"}, "two values"),
        ("region ~ smokes", {"family": "linear"}, "holds text"),
        ("grade ~ smokes", {"family": "poisson"}, "counts"),
        ("grade ~ smokes", {"link": "probit"}, "link"),
        ("cheated ~ smokes", {"link": "log"}, "link must be one of"),
        ("cheated ~ smokes", {"family": "gamma"}, "family must be"),
        ("cheated ~ smokes", {"missing": "fill"}, "missing must be"),
        ("grade ~ hours + I(2 * hours)", {}, "collinear"),
        ("hours ~ smokes - 1", {"family": "ordinal"}, "thresholds"),
        ("sex ~ smokes", {"family": "ordinal"}, "order is not known"),
    ],
)
def test_mistakes_get_one_sentence(bare, formula, options, message):
    """What cannot be fitted is refused, and why."""
    with pytest.raises(EstimationError, match=message) as caught:
        corrected_regression(formula, bare, **options)
    assert "\n" not in str(caught.value)


def test_too_many_cells_are_counted():
    """The message says how many, and which column to coarsen."""
    plan = """
format = 1
[[private]]
columns = ["y"]
domain = { binary = ["no", "yes"] }
mechanism = "randomized-response"
epsilon = 3
[[private]]
columns = ["place"]
domain = { categorical = { from = 0, to = 2999 } }
mechanism = "randomized-response"
epsilon = 3
"""
    made = release(
        pa.table({"y": ["no", "yes"] * 50, "place": range(100)}), Plan.parse(plan), randomness=Randomness.seeded(1)
    )
    with pytest.raises(EstimationError, match=r'3000 × 2 = 6,000 combinations.*limit of 4,096.*"place"'):
        corrected_regression("y ~ place", made)


DESIGNS = """
format = 1
[[public]]
columns = ["age", "mode"]
[[private]]
columns = ["cheated"]
domain = { binary = ["no", "yes"] }
collected = true
by = "mode"
designs.direct = { direct = true }
designs.crosswise = { crosswise = "1/4" }
[[private]]
columns = ["smokes"]
domain = { binary = ["never", "daily"] }
mechanism = "channel"
matrix = [["3/5", "1/5", "1/5"], ["1/5", "1/5", "3/5"]]
reports = ["no", "maybe", "yes"]
collected = true
"""


def test_designs_by_row_and_more_reports_than_truths():
    """Half were asked directly, half crosswise; a predictor has three reports. Coefficients come back."""
    n, rng = 40_000, np.random.default_rng(8)
    age, smokes = rng.normal(size=n), rng.random(n) < 0.4
    cheated = rng.random(n) < 1 / (1 + np.exp(-(-0.5 + 0.6 * age + 1.0 * smokes)))
    crosswise = rng.random(n) < 0.5
    answer = np.where(crosswise & (rng.random(n) < 0.75), ~cheated, cheated)
    draws = rng.random(n)
    report = np.where(draws < 0.6, np.where(smokes, 2, 0), np.where(draws < 0.8, 1, np.where(smokes, 0, 2)))
    table = pa.table(
        {
            "age": age,
            "mode": np.where(crosswise, "crosswise", "direct"),
            "cheated": np.where(answer, "yes", "no"),
            "smokes": np.array(["no", "maybe", "yes"])[report],
        }
    )
    fit = corrected_regression("cheated ~ age + smokes", Release.from_reports(table, Plan.parse(DESIGNS)))
    assert fit.converged
    assert np.all(np.abs(fit.estimate - [-0.5, 0.6, 1.0]) < 5 * fit.std_error)
    assert np.all(fit.std_error < 0.1)


def test_a_failed_fit_says_so():
    """Few rows and much noise: no minimum, no standard errors, and a status that says what to do."""
    failed = []
    for seed in range(12):
        fit = corrected_regression("cheated ~ age + smokes * region", released(truth(400, seed), 0.5, seed))
        if not fit.converged:
            failed.append(fit)
            assert fit.status.startswith("not converged")
            assert "larger ε" in str(fit)
            assert np.isnan(fit.std_error).all()
            json.dumps(fit.to_dict())
    assert failed


MERGED = """
format = 1
[[public]]
columns = ["y", "w"]
[[private]]
columns = ["x"]
domain = { grid = { low = 0, high = 10, points = 11 } }
mechanism = "bipartite"
epsilon = 2.0
"""


def test_a_slope_is_identified_where_frequencies_are_not():
    """A bipartite channel merges numbers at both ends; the slope of those between comes back, and a note says so."""
    n, rng = 40_000, np.random.default_rng(9)
    x, w = rng.integers(0, 11, n).astype(float), rng.normal(size=n)
    table = pa.table({"x": x, "w": w, "y": 1 + 0.25 * x + 0.5 * w + rng.normal(size=n)})
    made = release(table, Plan.parse(MERGED), randomness=Randomness.seeded(2))
    fit = corrected_regression("y ~ x + w", made)
    assert fit.converged
    assert np.all(np.abs(fit.estimate - [1, 0.25, 0.5]) < 5 * fit.std_error)
    assert any("values apart" in note for note in fit.notes)
    with pytest.raises(NotIdentifiedError, match='column "x"'):
        corrected_regression("x ~ w", made)
    levels = corrected_regression("y ~ C(x) + w", made)
    assert len(levels.names) < 12  # as categories too only those that are told apart


def test_a_failed_fit_names_the_value_that_is_too_rare():
    """Nobody has the third value: where its estimated share is below zero the fit names it, and no other one."""
    plan = Plan.parse("""
        [[public]]
        columns = ["y", "w"]
        [[private]]
        columns = ["c"]
        domain = { categorical = ["a", "b", "c"] }
        mechanism = "randomized-response"
        epsilon = 1.0
    """)
    failed = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        c, w = rng.integers(0, 2, 2_000), rng.normal(size=2_000)
        table = pa.table({"c": np.array(["a", "b"])[c], "w": w, "y": w + c + rng.normal(size=2_000)})
        fit = corrected_regression("y ~ w + c", release(table, plan, randomness=Randomness.seeded(seed)))
        if not fit.converged:
            failed += 1
            assert 'do not determine "c[T.c]";' in fit.status
    assert failed
