"""Weights that meet known totals, and the errors of estimates that use them."""

from __future__ import annotations

from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from scipy import optimize

from discreet import Box, EstimationError, Plan, Randomness, Release, ReleaseError, estimate, release
from discreet.estimate import calibrate
from discreet.mechanisms import BinaryResponse, GeneralizedResponse, ZeroInflatedLaplace

RNG = np.random.default_rng(31)
N = 80
TABLE = {
    "region": np.array(["north", "south", "east"])[RNG.integers(0, 3, N)],
    "sex": np.array(["f", "m"])[RNG.integers(0, 2, N)],
    "age": RNG.integers(18, 80, N).astype(float),
}
D = RNG.uniform(5, 20, N)
PEOPLE = 1_000.0
TOTALS = {
    "region": {"north": 300, "south": 400, "east": 300},
    "sex": {"f": 520, "m": 480},
    "age": 49.0 * PEOPLE,
}
METHODS = [("raking", None), ("linear", None), ("logit", (0.2, 5.0)), ("linear", (0.3, 3.0))]
ASKED = GeneralizedResponse(3, 2.0)
REPORTS = ASKED.privatize(RNG.integers(0, 3, N), Randomness.seeded(1))


def auxiliary():
    """The auxiliary numbers, written out."""
    regions = [TABLE["region"] == name for name in ("north", "south", "east")]
    sexes = [TABLE["sex"] == name for name in ("f", "m")]
    return np.column_stack([*regions, *sexes, TABLE["age"]]).astype(float)


KNOWN = np.array([300, 400, 300, 520, 480, 49_000.0])


@pytest.mark.parametrize(("method", "bounds"), METHODS)
def test_totals_are_met(method, bounds):
    """Every total is met, and the table of totals says what was known, before and after."""
    found = calibrate(TABLE, TOTALS, method, bounds=bounds, weights=D)
    np.testing.assert_allclose(found.weights @ auxiliary(), KNOWN, rtol=1e-8)
    np.testing.assert_allclose(found.after, KNOWN, rtol=1e-8)
    np.testing.assert_allclose(found.before, D @ auxiliary(), rtol=1e-9)
    np.testing.assert_allclose(found.totals, KNOWN)
    assert found.labels == ["region: north", "region: south", "region: east", "sex: f", "sex: m", "age"]
    ratios = found.weights / D
    assert found.ratios == pytest.approx((ratios.min(), ratios.max()))
    assert found.range == pytest.approx((found.weights.min(), found.weights.max()))
    assert found.design_effect == pytest.approx(N * np.sum(found.weights**2) / found.weights.sum() ** 2)
    if bounds is not None:
        assert ratios.min() >= bounds[0] - 1e-9
        assert ratios.max() <= bounds[1] + 1e-9


def test_linear_weights_are_those_of_the_regression_estimator():
    """``w = d(1 + (t − t̂)'(Σ d x x')⁻¹x)``, by a loop."""
    found = calibrate(TABLE, TOTALS, "linear", weights=D)
    X = auxiliary()
    T = np.zeros((6, 6))
    for d, x in zip(D, X, strict=True):
        T += d * np.outer(x, x)
    multipliers = np.linalg.pinv(T) @ (KNOWN - D @ X)
    np.testing.assert_allclose(found.weights, [d * (1 + x @ multipliers) for d, x in zip(D, X, strict=True)], rtol=1e-9)


def test_raking_is_iterative_proportional_fitting():
    """Two margins, fitted in turn until nothing moves."""
    margins = {key: TOTALS[key] for key in ("region", "sex")}
    found = calibrate(TABLE, margins, "raking", weights=D)
    w = D.copy()
    for _ in range(500):
        for column, totals in margins.items():
            for category, total in totals.items():
                mine = TABLE[column] == category
                w[mine] *= total / w[mine].sum()
    np.testing.assert_allclose(found.weights, w, rtol=1e-9)


@pytest.mark.parametrize(("method", "bounds"), METHODS)
def test_no_other_weights_are_nearer(method, bounds):
    """The distance of Deville and Särndal is least: a general optimiser finds no nearer weights with these totals."""
    few = slice(0, 14)
    table = {name: values[few] for name, values in TABLE.items() if name != "region"}
    d, X = D[few], auxiliary()[few, 3:]
    inside = d * np.random.default_rng(2).uniform(0.8, 1.25, d.size)
    known = inside @ X
    totals = {"sex": {"f": known[0], "m": known[1]}, "age": known[2]}
    found = calibrate(table, totals, method, bounds=bounds, weights=d)
    low, high = bounds or (1e-9, np.inf)

    def distance(g):
        if method == "raking":
            each = g * np.log(g) - g + 1
        elif method == "linear":
            each = (g - 1) ** 2 / 2
        else:
            part = (g - low) * np.log((g - low) / (1 - low)) + (high - g) * np.log((high - g) / (high - 1))
            each = part * (1 - low) * (high - 1) / (high - low)
        return d @ each

    edge = 1e-9
    best = optimize.minimize(
        distance,
        inside / d,
        bounds=[(low + edge, high - edge if np.isfinite(high) else None)] * d.size,
        constraints={"type": "eq", "fun": lambda g: (d * g) @ X / known - 1},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    assert distance(found.weights / d) <= best.fun + 1e-8 * max(best.fun, 1e-3)
    np.testing.assert_allclose(found.weights / d, best.x, atol=2e-4)


@pytest.mark.parametrize("method", ["raking", "linear", "logit"])
def test_one_column_is_post_stratification(method):
    """With totals of one column every weight of a category is multiplied by the same, whatever the method."""
    bounds = (0.01, 100.0) if method == "logit" else None
    found = calibrate(TABLE, {"region": TOTALS["region"]}, method, bounds=bounds, weights=D)
    for category, total in TOTALS["region"].items():
        mine = TABLE["region"] == category
        np.testing.assert_allclose(found.weights[mine], D[mine] * total / D[mine].sum(), rtol=1e-8)


def test_totals_of_cells_and_other_spellings():
    """Combinations of columns by tuples, categories by their text, a pandas Series; equal weights by default."""
    pd = pytest.importorskip("pandas")
    cells = {(r, s): float(np.sum((TABLE["region"] == r) & (TABLE["sex"] == s))) * 10
             for r in TOTALS["region"] for s in TOTALS["sex"]}  # fmt: skip
    found = calibrate(TABLE, {("region", "sex"): cells})
    np.testing.assert_allclose(found.weights, 10.0)
    same = calibrate(pd.DataFrame(TABLE), {("region", "sex"): pd.Series(cells)})
    np.testing.assert_allclose(same.weights, 10.0)
    band = {"band": (TABLE["age"] > 40).astype(int)}
    text = calibrate(band, {"band": {"0": 300, "1": 700}}).weights
    np.testing.assert_array_equal(text, calibrate(band, {"band": {0: 300.0, 1.0: 700}}).weights)
    counted = calibrate(TABLE, {"age": 49_000.0}, people=PEOPLE)
    assert counted.weights.sum() == pytest.approx(PEOPLE)
    assert counted.weights @ TABLE["age"] == pytest.approx(49_000)


# Errors: the derivative of every estimate in the given weights, worked out numerically, adds up to its variance.

CLUSTER, STRATUM = np.arange(N) % 16, np.arange(N) % 2
SAMPLES = {
    "rows": {},
    "clusters": {"clusters": CLUSTER},
    "strata": {"strata": STRATUM},
    "both": {"strata": STRATUM, "clusters": CLUSTER},
}


def statistic(name, weights, **aside):
    """Estimates, and their variances as stated."""
    given = {"weights": weights, **aside}
    if name == "mean":
        found = estimate.mean(REPORTS, ASKED, labels=[0, 1, 5], **given)
    elif name == "total":
        found = estimate.total(REPORTS, ASKED, labels=[0, 1, 5], **given)
    elif name == "groups":
        found = estimate.mean(REPORTS, ASKED, labels=[0, 1, 5], by=TABLE["sex"], **given)
    elif name == "public number":
        found = estimate.mean(TABLE["age"] ** 2, by=TABLE["region"], **given)
    elif name == "frequencies":
        found = estimate.frequencies(REPORTS, ASKED, **given)
    elif name == "totals":
        found = estimate.frequencies(REPORTS, ASKED, **given).totals()
    elif name == "functional":
        found = estimate.frequencies(REPORTS, ASKED, **given).functional([1.0, 4.0, -2.0])
    elif name == "difference":
        found = estimate.frequencies(REPORTS, ASKED, by=TABLE["region"], **given).compare("north", "east")
    else:
        found = estimate.crosstab_of_reports(REPORTS, TABLE["sex"], ASKED, None, **given)
    return np.ravel(found.estimate), np.asarray(found.covariance)


NAMES = ["mean", "total", "groups", "public number", "frequencies", "totals", "functional", "difference", "crosstab"]


@cache
def reweighted(method, bounds, row, step):
    """The calibrated weights when the given weight of one row is a little larger or smaller."""
    d = D.copy()
    d[row] *= 1 + step
    return calibrate(TABLE, TOTALS, method, bounds=bounds, weights=d).weights


def influences(name, method, bounds):
    """``d_k ∂θ̂/∂d_k`` of every row, by central differences."""
    step = 1e-5
    return np.array(
        [
            (statistic(name, reweighted(method, bounds, k, step))[0]
             - statistic(name, reweighted(method, bounds, k, -step))[0]) / (2 * step)
            for k in range(N)
        ]
    )  # fmt: skip


@pytest.mark.parametrize(("method", "bounds"), [METHODS[0], METHODS[1], METHODS[2]])
@pytest.mark.parametrize("name", NAMES)
def test_the_variance_is_that_of_the_derivative_in_the_given_weights(name, method, bounds):
    """Of every estimate and every way to sample; without the totals it would be another one."""
    given = calibrate(TABLE, TOTALS, method, bounds=bounds, weights=D)
    by_row = influences(name, method, bounds)
    for aside in SAMPLES.values():
        stratum, cluster = aside.get("strata", np.zeros(N, int)), aside.get("clusters", np.arange(N))
        expected = np.zeros((by_row.shape[1],) * 2)
        for h in np.unique(stratum):
            units = [by_row[(stratum == h) & (cluster == c)].sum(axis=0) for c in np.unique(cluster[stratum == h])]
            centred = np.array(units) - np.mean(units, axis=0)
            expected += len(units) / (len(units) - 1) * centred.T @ centred
        _, stated = statistic(name, given, **aside)
        np.testing.assert_allclose(stated, expected, rtol=2e-4, atol=1e-6 * np.abs(expected).max())
        _, fixed = statistic(name, given.weights, **aside)
        assert np.abs(fixed - expected).max() > 1e-3 * np.abs(expected).max()


def test_variances_of_many_values_and_of_missing_answers():
    """The diagonal at any size is that of the full matrix; rows without an answer still meet the totals."""
    given = calibrate(TABLE, TOTALS, weights=D)
    for mechanism in (ASKED, GeneralizedResponse(3, 1.0)):
        found = estimate.frequencies(REPORTS, mechanism, weights=given, clusters=CLUSTER)
        np.testing.assert_allclose(found.std_error**2, np.diag(found.covariance), rtol=1e-9)
    gone = np.where(np.arange(N) % 7 == 0, np.nan, TABLE["age"] ** 2)
    found = estimate.mean(gone, weights=given)
    by_row, step = [], 1e-5
    for k in range(N):
        ends = [np.average(gone[~np.isnan(gone)], weights=reweighted("raking", None, k, s)[~np.isnan(gone)])
                for s in (step, -step)]  # fmt: skip
        by_row.append((ends[0] - ends[1]) / (2 * step))
    by_row = np.array(by_row)
    assert found.std_error[0] ** 2 == pytest.approx(N / (N - 1) * np.sum((by_row - by_row.mean()) ** 2), rel=1e-4)


def test_given_the_table_the_totals_change_nothing():
    """The weights are made of public columns: the randomisation's error is that of any weights."""
    given = calibrate(TABLE, TOTALS, weights=D)
    for target in ({"target": "table"}, {"fpc": 1.0}):
        ours = estimate.mean(REPORTS, ASKED, labels=[0, 1, 5], weights=given, **target)
        plain = estimate.mean(REPORTS, ASKED, labels=[0, 1, 5], weights=given.weights, **target)
        np.testing.assert_allclose(ours.covariance, plain.covariance, rtol=1e-9)
    half = estimate.mean(REPORTS, ASKED, labels=[0, 1, 5], weights=given, fpc=0.5).covariance
    none = estimate.mean(REPORTS, ASKED, labels=[0, 1, 5], weights=given).covariance
    whole = estimate.mean(REPORTS, ASKED, labels=[0, 1, 5], weights=given, fpc=1.0).covariance
    np.testing.assert_allclose(half, (none + whole) / 2, rtol=1e-9)
    shares = [estimate.frequencies(REPORTS, ASKED, weights=given, fpc=f).covariance for f in (0.5, 1.0)]
    free = estimate.frequencies(REPORTS, ASKED, weights=given).covariance
    np.testing.assert_allclose(shares[0], (free + shares[1]) / 2, rtol=1e-9)


PLAN = """
format = 1
[survey]
weight = "w"
cluster = "school"
[[public]]
columns = ["region", "age"]
[[private]]
columns = ["cheated"]
domain = { binary = ["no", "yes"] }
mechanism = "randomized-response"
epsilon = 3.0
[[private]]
columns = ["hours"]
domain = { grid = { low = 0, high = 10, points = 11 } }
mechanism = "randomized-response"
epsilon = 4.0
[[private]]
columns = ["weight_kg"]
domain = { box = { low = [0], high = [100] } }
mechanism = "zero-inflated-laplace"
epsilon = 4.0
delta = 0.2
zero_probability = 0.15
"""
PUBLIC = {"region": {"north": 700, "south": 300}, "age": 45_000.0}


@cache
def released() -> Release:
    rng = np.random.default_rng(5)
    n = 600
    age = rng.integers(20, 70, n)
    north = rng.random(n) < 0.4
    rows = pa.table(
        {
            "region": np.where(north, "north", "south"),
            "age": age,
            "school": (np.arange(n) // 12).astype(str),
            "w": rng.uniform(1, 3, n),
            "cheated": np.where(rng.random(n) < age / 100, "yes", "no"),
            "hours": np.clip(np.round(age / 8 + rng.normal(size=n)), 0, 10),
            "weight_kg": np.clip(age + rng.normal(size=n), 0, 100),
        }
    )
    return release(rows, Plan.parse(PLAN), randomness=Randomness.seeded(6))


QUESTIONS = {
    "mean": lambda r, **w: estimate.mean(r, "hours", **w),
    "groups": lambda r, **w: estimate.mean(r, "hours", by="region", **w),
    "box": lambda r, **w: estimate.mean(r, "weight_kg", **w),
    "total": lambda r, **w: estimate.total(r, "cheated", **w),
    "frequencies": lambda r, **w: estimate.frequencies(r, "hours", **w),
    "crosstab": lambda r, **w: estimate.crosstab(r, "cheated", "region", **w),
    "correlation": lambda r, **w: estimate.correlation(r, "age", "hours", **w),
    "difference": lambda r, **w: estimate.mean(r, "cheated", by="region", **w).compare("north", "south"),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_release_under_calibrated_weights_is_asked_like_any(name):
    """As ``weights=`` or as a view of the release: the same; and the jackknife, calibrated anew, is near it."""
    found, ask = calibrate(released(), PUBLIC), QUESTIONS[name]
    given, seen = ask(released(), weights=found), ask(found.release)
    np.testing.assert_array_equal(given.estimate, seen.estimate)
    np.testing.assert_array_equal(given.covariance, seen.covariance)
    assert any("calibration to known totals" in note for note in given.notes)
    again = estimate.replicate(ask, found.release)
    np.testing.assert_allclose(again.estimate, np.ravel(given.estimate))
    large = np.ravel(given.std_error) > 1e-6
    np.testing.assert_allclose(again.std_error[large], np.ravel(given.std_error)[large], rtol=0.12)


def test_quantiles_know_of_the_totals():
    """Of a number that follows age: the interval is shorter than with the same weights taken as given."""
    found = calibrate(released(), PUBLIC)
    for column in ("age", "hours", "weight_kg"):
        given = estimate.quantile(released(), column, weights=found)
        fixed = estimate.quantile(found.release, column, weights=found.release.weight)
        assert float(given) == float(fixed)
        assert np.ptp(given.interval()) <= np.ptp(fixed.interval())
        if column == "age":
            assert np.ptp(given.interval()) < 0.8 * np.ptp(fixed.interval())
    noise = ZeroInflatedLaplace(Box([0], [100]), 1.0, 0.5)
    x = np.random.default_rng(8).integers(0, 100, (400, 1)).astype(float)
    reports = noise.privatize(x, Randomness.seeded(8))
    known = calibrate({"x": x[:, 0] // 25}, {"x": dict.fromkeys(range(4), 100)})
    wide = [np.ptp(estimate.quantile(reports, noise, weights=w).interval()) for w in (known, known.weights)]
    assert wide[0] < 0.7 * wide[1]


def test_a_share_may_be_worth_more_people_than_there_are():
    """Known totals make the effective sample larger, and Wilson's interval shorter, than a simple random sample."""
    rng = np.random.default_rng(12)
    n = 4_000
    x = rng.random(n)
    yes = rng.random(n) < np.where(x > 0.5, 0.97, 0.03)
    asked = BinaryResponse.warner("0.98")
    reports = asked.privatize(yes, Randomness.seeded(2))
    given = calibrate({"x": x > 0.5}, {"x": {True: 500, False: 500}})
    ours = estimate.frequencies(reports, asked, weights=given)
    plain = estimate.frequencies(reports, asked)
    assert np.ptp(ours.interval()[1]) < 0.6 * np.ptp(plain.interval()[1])
    mean = estimate.mean(reports, asked, weights=given)
    np.testing.assert_allclose(mean.interval()[0], ours.interval()[1], rtol=1e-3)
    np.testing.assert_allclose(np.ptp(ours.interval()[1]), 2 * 1.96 * ours.std_error[1], rtol=0.02)
    assert mean.design_effect[0] < 0.5


def test_regressions_take_the_weights_as_fixed_and_say_so():
    """The coefficients are those of the calibrated weights; the note says what the errors do not know."""
    found = calibrate(released(), PUBLIC)
    fit = estimate.regression("cheated ~ age", found.release)
    assert any("taken as fixed" in note for note in fit.notes)
    again = estimate.replicate(lambda r: estimate.regression("cheated ~ age", r), found.release)
    np.testing.assert_allclose(again.estimate, fit.coefficients)
    assert (again.std_error > 0).all()


def covered(draw, runs):
    """How often 95 % intervals hold the truth, and the ratio of stated to actual error: with the totals and without."""
    inside, errors, found = np.zeros(2), [], []
    for run in range(runs):
        truth, results = draw(np.random.default_rng([9, run]), Randomness.seeded(run))
        ends = [one.interval()[0] for one in results]
        inside += [low <= truth <= high for low, high in ends]
        errors.append([one.std_error[0] for one in results])
        found.append(float(results[0]) - truth)
    return inside / runs, np.mean(errors, axis=0) / np.std(found)


def test_calibrated_intervals_cover():
    """A number that follows a public one, in a sample of which the young answer less: bias goes, errors are right.

    400 runs: a coverage of 95 % is below .885 with a chance of 1e-8; errors that ignore the totals are off by a third.
    """
    asked = GeneralizedResponse(11, 5.0)
    rng = np.random.default_rng(3)
    age = rng.integers(0, 5, 20_000)
    number = np.clip(np.round(2 * age + rng.normal(size=age.size)), 0, 10).astype(int)
    totals = {"age": {str(a): int(np.sum(age == a)) for a in range(5)}}

    def draw(rng, source):
        chance = 0.02 * (1 + age)
        chosen = rng.random(age.size) < chance / 4
        reports = asked.privatize(number[chosen], source)
        given = calibrate({"age": age[chosen]}, totals)
        labels = list(range(11))
        ours = estimate.mean(reports, asked, labels=labels, weights=given)
        fixed = estimate.mean(reports, asked, labels=labels, weights=given.weights)
        return number.mean(), (ours, fixed)

    coverage, ratio = covered(draw, 400)
    assert coverage[0] > 0.885
    assert 0.87 < ratio[0] < 1.15
    assert ratio[1] > 1.3


BAD = [
    (lambda: calibrate(TABLE, {}), "nothing to calibrate to"),
    (lambda: calibrate(TABLE, [1, 2]), "must map public columns"),
    (lambda: calibrate(TABLE, {"region": {"north": 1, "south": 1}}), 'the category "east", of which no total is given'),
    (
        lambda: calibrate(TABLE, {"region": {**TOTALS["region"], "west": 5}}),
        'nobody in the sample is in "region: west"',
    ),
    (lambda: calibrate(TABLE, {"region": {**TOTALS["region"], "east": 0}}), "has a total of 0"),
    (lambda: calibrate(TABLE, {"region": {**TOTALS["region"], "east": -1}}), "at least 0"),
    (lambda: calibrate(TABLE, {"region": {**TOTALS["region"], "east": np.nan}}), "east"),
    (lambda: calibrate(TABLE, {**TOTALS, "sex": {"f": 1, "m": 2}}), "must be of the same people"),
    (lambda: calibrate(TABLE, TOTALS, people=999), "must be of the same people"),
    (lambda: calibrate(TABLE, {"nowhere": {"a": 1}}), 'no column "nowhere"'),
    (lambda: calibrate(TABLE, {"region": 5.0}, people=5), "must hold numbers"),
    (lambda: calibrate(TABLE, {"age": 49_000.0}), "how many people a row stands for"),
    (lambda: calibrate(TABLE, {"age": 90_000.0}, people=PEOPLE), 'farthest is "age"'),
    (lambda: calibrate(TABLE, {"age": 79_000.0}, "linear", people=PEOPLE), "would not be positive"),
    (lambda: calibrate(TABLE, {"age": 60_000.0}, "logit", people=PEOPLE, bounds=(0.9, 1.1)), "widen the bounds"),
    (lambda: calibrate(TABLE, TOTALS, "logit"), "needs bounds"),
    (lambda: calibrate(TABLE, TOTALS, "raking", bounds=(0.5, 2)), "raking has no bounds"),
    (lambda: calibrate(TABLE, TOTALS, "logit", bounds=(1.5, 2)), "two factors"),
    (lambda: calibrate(TABLE, TOTALS, "magic"), "method"),
    (lambda: calibrate(TABLE, TOTALS, weights=-D), "must be positive"),
    (lambda: calibrate(TABLE, TOTALS, weights=D[1:]), "one entry per row"),
    (lambda: calibrate(TABLE, {("region", "sex"): {"north": 1}}), "must be a tuple of 2"),
    (lambda: calibrate(TABLE, {("region", "sex"): 5}), "every combination"),
    (lambda: calibrate({**TABLE, "age": np.full(N, np.nan)}, TOTALS), "has no number"),
    (lambda: calibrate({"region": ["north", None]}, {"region": {"north": 1}}), "has no value"),
    (lambda: calibrate({"region": []}, {"region": {"north": 1}}), "n = 0"),
    (lambda: calibrate(3, {"region": {"north": 1}}), 'no column "region"'),
    (lambda: calibrate(released(), {"cheated": {"no": 1, "yes": 1}}), "a private column"),
    (lambda: calibrate(released(), {"nowhere": 3.0}), "no column of the release"),
    (lambda: calibrate(released(), PUBLIC, weights=D), "random order"),
    (lambda: calibrate(TABLE, TOTALS).release, "no release"),
    (lambda: calibrate(calibrate(released(), PUBLIC).release, PUBLIC), "calibrated already"),
    (lambda: estimate.mean(released(), "hours", weights=calibrate(TABLE, TOTALS)), "for other rows"),
    (lambda: estimate.mean([0, 1], ASKED, weights=calibrate(TABLE, TOTALS)), "80 rows, and there are 2"),
    (lambda: estimate.mean(REPORTS, ASKED, weights=calibrate(released(), PUBLIC)), "for other rows"),
]


@pytest.mark.parametrize(("call", "said"), BAD)
def test_bad_input(call, said):
    """One sentence that says what is wrong and what to do."""
    with pytest.raises(EstimationError) as error:
        call()
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_timestamps_keep_their_figures():
    """Numbers with a large common part are calibrated as well as small ones."""
    far = {"when": 1.7e9 + TABLE["age"]}
    ours = calibrate(far, {"when": (1.7e9 + 49.0) * PEOPLE}, people=PEOPLE).weights
    near = calibrate({"when": TABLE["age"]}, {"when": 49.0 * PEOPLE}, people=PEOPLE).weights
    np.testing.assert_allclose(ours, near, rtol=1e-6)


def test_a_view_is_not_saved(tmp_path):
    """A manifest is of the rows as they were released: one sentence, and no file."""
    view = calibrate(released(), PUBLIC).release
    with pytest.raises(ReleaseError, match="is a view and is not saved"):
        view.save(tmp_path / "out.parquet")
    assert not list(tmp_path.iterdir())
    assert view.to_pandas()[view.weight].sum() == pytest.approx(1_000)
