"""Errors by replication."""

from __future__ import annotations

from functools import cache

import numpy as np
import pyarrow as pa
import pytest

from discreet import EstimationError, Plan, PlanError, Randomness, Release, estimate, release
from discreet.estimate.replication.weights import Bootstrap, Jackknife, read_units

STRATA, CLUSTERS, SIZE = 3, 10, 20
PLAN = """
format = 1
[survey]
weight = "w"
strata = "region"
cluster = "school"
[[public]]
columns = ["age", "sex"]
[[private]]
columns = ["cheated"]
domain = { binary = ["no", "yes"] }
mechanism = "randomized-response"
epsilon = 2.0
[[private]]
columns = ["hours"]
domain = { ordinal = [0, 1, 2, 3, 4] }
mechanism = "randomized-response"
epsilon = 3.0
"""


def table(seed=1):
    rng = np.random.default_rng(seed)
    school = np.repeat(np.arange(STRATA * CLUSTERS), SIZE)
    n, own = school.size, rng.normal(size=STRATA * CLUSTERS)[school]
    age = rng.normal(size=n) + own
    return pa.table(
        {
            "region": (school // CLUSTERS).astype(str),
            "school": school.astype(str),
            "w": rng.uniform(1, 3, n),
            "age": age,
            "sex": np.where(rng.random(n) < 0.5, "f", "m"),
            "cheated": np.where(rng.random(n) < 1 / (1 + np.exp(-age)), "yes", "no"),
            "hours": rng.integers(0, 5, n),
        }
    )


@cache
def released() -> Release:
    return release(table(), Plan.parse(PLAN), randomness=Randomness.seeded(2))


STATISTICS = {
    "frequencies": lambda r: estimate.frequencies(r, "cheated"),
    "groups": lambda r: estimate.frequencies(r, "hours", by="sex"),
    "mean": lambda r: estimate.mean(r, "hours", by="sex"),
    "difference": lambda r: estimate.mean(r, "hours", by="sex").compare("f", "m"),
    "total": lambda r: estimate.total(r, "cheated"),
    "crosstab": lambda r: estimate.crosstab(r, "cheated", "sex"),
    "correlation": lambda r: estimate.correlation(r, "age", "hours"),
    "logit": lambda r: estimate.regression("cheated ~ age", r),
    "several columns": lambda r: estimate.regression("age ~ cheated + hours", r),
}


@pytest.mark.parametrize("name", STATISTICS)
def test_the_jackknife_is_near_the_linearised_error(name):
    """For smooth estimates the two agree to the first order; for totals to the last digit."""
    statistic = STATISTICS[name]
    linearised, found = np.ravel(statistic(released()).std_error), estimate.replicate(statistic, released())
    assert found.method == "jackknife"
    assert len(found.replicates) == STRATA * CLUSTERS
    assert found.degrees_of_freedom == STRATA * (CLUSTERS - 1)
    assert found.std_error == pytest.approx(linearised, rel=1e-9 if name == "total" else 0.12)


def test_the_jackknife_by_hand():
    """Leave out every school, reweight its region, and add up: in plain numpy."""
    data = released().to_arrow().to_pandas()
    score = released().mechanism("cheated").inverse.as_matrix()[1]
    z, w = score[(data["cheated"] == "yes").to_numpy(int)], data["w"].to_numpy()
    region, school = data["region"].to_numpy(), data["school"].to_numpy()
    full, variance = np.sum(w * z) / np.sum(w), 0.0
    for one in np.unique(school):
        own = region == region[school == one][0]
        factor = np.where(school == one, 0, np.where(own, CLUSTERS / (CLUSTERS - 1), 1)) * w
        variance += (CLUSTERS - 1) / CLUSTERS * (np.sum(factor * z) / np.sum(factor) - full) ** 2
    found = estimate.replicate(lambda r: estimate.mean(r, "cheated"), released())
    assert found.std_error[0] ** 2 == pytest.approx(variance, rel=1e-9)
    assert found.estimate[0] == pytest.approx(full)


def test_the_bootstrap_has_the_right_variance_on_average():
    """Rao and Wu's rescaling is exact for totals: 2,000 replicates agree within their own error."""
    found = estimate.replicate(STATISTICS["total"], released(), "bootstrap", replicates=2_000)
    linearised = STATISTICS["total"](released()).std_error
    assert found.std_error == pytest.approx(linearised, rel=6 / np.sqrt(2 * 2_000))
    low, high = found.interval(method="percentile")[0]
    wald = found.interval()[0]
    assert abs(low - wald[0]) < found.std_error[0]
    assert abs(high - wald[1]) < found.std_error[0]


def test_weights_of_replicates():
    """Every replicate keeps the total of every stratum on average; the jackknife leaves one unit out."""
    units = read_units(released())
    nothing = pa.record_batch({"a": np.zeros(units.unit.size)})
    jackknife = Jackknife(units)
    for one in (0, 17):
        weights = jackknife.weights(one, nothing, 0)
        assert (weights[units.unit == one] == 0).all()
        assert (weights > 0).sum() == units.unit.size - SIZE
    bootstrap = Bootstrap(units, 10, 3)
    drawn = np.array([bootstrap.weights(r, nothing, 0) for r in range(10)]) / units.weights
    by_unit = np.array([[row[units.unit == u][0] for u in range(units.count)] for row in drawn])
    assert by_unit.reshape(10, STRATA, CLUSTERS).sum(axis=2) == pytest.approx(np.full((10, STRATA), float(CLUSTERS)))
    halves = [bootstrap.weights(4, nothing.slice(0, 100), 0), bootstrap.weights(4, nothing.slice(100), 100)]
    assert np.concatenate(halves) == pytest.approx(bootstrap.weights(4, nothing, 0))


def test_rows_without_clusters_are_left_out_in_random_groups():
    """A simple random sample of 3,000 rows: a hundred groups, and an error near the plain one."""
    rng = np.random.default_rng(4)
    plan = "format = 1\n" + PLAN[PLAN.index("[[private]]") :]
    answers = {"cheated": np.where(rng.random(3_000) < 0.3, "yes", "no"), "hours": rng.integers(0, 5, 3_000)}
    made = release(pa.table(answers), Plan.parse(plan), randomness=Randomness.seeded(5))
    found = estimate.replicate(lambda r: estimate.mean(r, "hours"), made)
    assert len(found.replicates) == 100
    assert found.std_error[0] == pytest.approx(estimate.mean(made, "hours").std_error[0], rel=6 / np.sqrt(2 * 99))


def test_replicate_weights_that_are_declared(tmp_path):
    """A plan names them; they are copied, and used by default. Checked against the jackknife that made them."""
    made = released()
    units, whole = read_units(made), made.to_arrow()
    jackknife = Jackknife(units)
    nothing = pa.record_batch({"a": np.zeros(units.unit.size)})
    names = [f"rw{r}" for r in range(STRATA * CLUSTERS)]
    weights = {name: jackknife.weights(r, nothing, 0) for r, name in enumerate(names)}
    answers = whole.select(["w", "age", "sex", "cheated", "hours"])
    for name, column in weights.items():
        answers = answers.append_column(name, pa.array(column))
    listed = ", ".join(f'"{name}"' for name in names)
    survey = f'[survey]\nweight = "w"\nreplicates = [{listed}]\nreplication = "jackknife"\nreplicate_scale = 0.9\n'
    plan = "format = 1\n" + survey + '[[public]]\ncolumns = ["age", "sex"]\n' + PLAN[PLAN.index("[[private]]") :]
    again = release(answers, Plan.parse(plan), tmp_path / "out.csv", randomness=Randomness.seeded(1))
    opened = Release.open(tmp_path / "out.csv")
    assert opened.survey == again.survey
    assert opened.survey.replicates == tuple(names)
    found = estimate.replicate(lambda r: estimate.mean(r, "age"), opened)
    expected = estimate.replicate(lambda r: estimate.mean(r, "age"), made)
    assert found.std_error == pytest.approx(expected.std_error, rel=1e-9)  # a public column: the same numbers
    fay = estimate.replicate(lambda r: estimate.mean(r, "age"), opened, "brr", weights=names, scale=1.8)
    assert fay.std_error**2 == pytest.approx(2 * found.std_error**2)


def test_statistics_of_ones_own():
    """Any function of a release that gives numbers, here a ratio of two means."""

    def ratio(r):
        return float(estimate.mean(r, "hours")) / float(estimate.mean(r, "cheated"))

    found = estimate.replicate(ratio, released(), "bootstrap", replicates=50)
    assert found.names == ("1",)
    assert found.std_error[0] > 0
    assert "errors by bootstrap, 50 replicates" in found.summary()


BAD = [
    ({"statistic": 3}, "takes a function of a release"),
    ({"release": [1]}, "takes a release"),
    ({"method": "magic"}, "method"),
    ({"replicates": 1}, "replicates"),
    ({"weights": ["nowhere", "w"], "method": "brr"}, 'no public column "nowhere"'),
    ({"weights": ["hours", "w"], "method": "brr"}, 'no public column "hours"'),
    ({"weights": ["w"], "method": "brr"}, "two columns"),
    ({"weights": ["w", "age"]}, "the method that made them"),
    ({"method": "brr"}, "name their columns in weights"),
    ({"weights": ["w", "age"], "method": "brr"}, "must be a number of at least 0"),
    ({"statistic": lambda r: estimate.quantile(r, "hours")}, "does not work for quantiles"),
    ({"statistic": lambda r: float("nan")}, "not finite"),
]


@pytest.mark.parametrize(("more", "said"), BAD)
def test_what_cannot_be_replicated(more, said):
    """One sentence each."""
    right = {"statistic": lambda r: estimate.mean(r, "hours"), "release": released()}
    with pytest.raises(EstimationError) as error:
        estimate.replicate(**{**right, **more})
    assert said in str(error.value)


def test_replicates_that_fail_are_counted():
    """A statistic that has no value in most replicates is refused."""

    def fragile(r):
        if r.survey.cluster is None:
            raise EstimationError("no")
        return 1.0

    with pytest.raises(EstimationError, match="30 of 30 replicates have no estimate"):
        estimate.replicate(fragile, released())


@pytest.mark.parametrize(
    ("survey", "said"),
    [
        ('replicates = ["a"]', "survey.replicates needs two columns"),
        ('weight = "w"\nreplicates = ["a", "b"]', "survey.replication"),
        ('weight = "w"\nreplicates = ["a", "b"]\nreplication = "magic"', "survey.replication must be one of"),
        ('replication = "brr"', "go with survey.replicates"),
        ('weight = "w"\nreplicates = ["a", "b"]\nreplication = "brr"\nreplicate_scale = 0', "must be above 0"),
        ('weight = "w"\nfpc = "w"', "one column for two purposes"),
    ],
)
def test_plans_that_make_no_sense(survey, said):
    """The key is named."""
    with pytest.raises(PlanError) as error:
        Plan.parse("format = 1\n[survey]\n" + survey + "\n" + PLAN[PLAN.index("[[private]]") :])
    assert said in str(error.value)


CONFINED = """
format = 1
[survey]
weight = "w"
[[private]]
columns = ["hours"]
domain = { grid = { low = 0, high = 10, points = 11 } }
mechanism = "bipartite"
epsilon = 1.0
"""


@pytest.mark.parametrize("method", ["jackknife", "bootstrap"])
@pytest.mark.parametrize(
    "statistic",
    [
        lambda r: estimate.quantile(r, "hours"),
        lambda r: estimate.mean(r, "hours"),
        lambda r: estimate.frequencies(r, "hours", method="bounds"),
    ],
)
def test_what_a_design_only_confines_has_no_error(statistic, method):
    """The middle of a range hardly moves from replicate to replicate: an error of 0 would say that it is known."""
    rng = np.random.default_rng(3)
    private = release(
        pa.table({"hours": rng.integers(0, 11, 500), "w": rng.uniform(1, 2, 500)}),
        Plan.parse(CONFINED),
        randomness=Randomness.seeded(4),
    )
    assert np.isnan(statistic(private).std_error).all()
    with pytest.raises(EstimationError, match="confines it to a range"):
        estimate.replicate(statistic, private, method)


def test_a_correction_in_given_replicate_weights_is_said():
    """Weights of an agency with a finite-population correction correct the randomisation too: a note says so."""
    rng = np.random.default_rng(5)
    n, survey = 300, 'weight = "w"\nfpc = "people"\nreplicates = ["r1", "r2", "r3"]\nreplication = "bootstrap"'
    columns = {name: rng.uniform(0.5, 1.5, n) for name in ("w", "r1", "r2", "r3")}
    answers = pa.table({**columns, "people": np.full(n, 900.0), "hours": rng.integers(0, 11, n)})
    text = CONFINED.replace('weight = "w"', survey).replace("bipartite", "randomized-response")
    private = release(answers, Plan.parse(text), randomness=Randomness.seeded(6))
    mean = estimate.replicate(lambda r: estimate.mean(r, "hours"), private)
    assert any("corrects the error of the randomisation too" in note for note in mean.notes)
    made = estimate.replicate(lambda r: estimate.mean(r, "hours"), private, "bootstrap", replicates=20)
    assert any("is not used by replicates" in note for note in made.notes)
    without = release(answers, Plan.parse(text.replace('fpc = "people"\n', "")), randomness=Randomness.seeded(6))
    small = estimate.replicate(
        lambda r: estimate.mean(r, "hours"), without, "bootstrap", weights=["r1", "r2", "r3"], scale=0.2
    )
    assert any("corrects the error of the randomisation too" in note for note in small.notes)
    usual = estimate.replicate(lambda r: estimate.mean(r, "hours"), without)
    assert not any("correction" in note for note in usual.notes)


def test_replicates_that_do_not_move_are_noticed():
    """The median of a coarse column is one of few values; an error of 0 does not say that it is sure."""
    found = estimate.replicate(lambda r: estimate.quantile(r, "hours", 0.02), released(), "bootstrap", replicates=20)
    assert found.std_error[0] == 0
    assert any("one of few values" in note for note in found.notes)
