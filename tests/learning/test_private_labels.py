"""Classifiers from private labels: consistent, calibrated, for several classes and designs, and as private as the
reports.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator

from discreet import (
    DiscreetError,
    InputError,
    NotIdentifiedError,
    Ordinal,
    Plan,
    Randomness,
    Release,
    design,
    estimate,
    release,
)
from discreet.learning import FromPrivateLabels, FromRelease
from discreet.learning.labels.calibration import calibrated, log_guess
from discreet.learning.labels.undoing import on_simplex, undone
from discreet.mechanisms import BinaryResponse, ChannelResponse, GeneralizedResponse
from tests.learning.attack import lower_bound

N = 20_000
DATA = Path(os.environ.get("DISCREET_DATA", "/nowhere"))


def world(classes, n=N, seed=0):
    """Features, true probabilities (multinomial logit) and labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    scores = np.column_stack([np.zeros(n)] + [0.5 * k + (-1) ** k * 1.5 * X[:, k % 2] for k in range(1, classes)])
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    return X, p, (rng.random(n)[:, None] > p.cumsum(axis=1)).sum(axis=1)


CHANNELS = {
    "two classes": GeneralizedResponse(2, 1.0),
    "unequal errors": BinaryResponse(0.9, 0.6),
    "four reports": design.binary(1.0, delta=0.05, reports=4).mechanism,
    "four classes": GeneralizedResponse(4, 2.0),
    "a channel of its own": ChannelResponse([[5, 3, 2], [2, 6, 2], [1, 2, 7]]),
}


@pytest.mark.parametrize("name", CHANNELS)
@pytest.mark.parametrize("model", [LogisticRegression(), DecisionTreeClassifier(min_samples_leaf=500)])
def test_probabilities_of_the_truth_are_found(name, model):
    """Any classifier: the mean absolute error against the true probabilities is small, that of an uncorrected fit
    is not.
    """
    channel = CHANNELS[name]
    X, p, y = world(channel.shape[0])
    reports = channel.privatize(y, Randomness.seeded(1))
    found = FromPrivateLabels(model, channel).fit(X, reports).predict_proba(X)
    assert np.allclose(found.sum(axis=1), 1)
    assert np.abs(found - p).mean() < (0.05 if isinstance(model, LogisticRegression) else 0.12)
    if channel.shape[0] == channel.shape[1]:
        naive = clone(model).fit(X, reports).predict_proba(X)
        assert np.abs(naive - p).mean() > 1.5 * np.abs(found - p).mean()


@pytest.mark.parametrize("name", ["two classes", "four classes"])
def test_probabilities_are_calibrated(name):
    """Of rows whose predicted probability is near v, a share near v has the class, in fresh rows, for an overfitted
    model.
    """
    channel = CHANNELS[name]
    X, _, y = world(channel.shape[0])
    reports = channel.privatize(y, Randomness.seeded(2))
    overfitted = DecisionTreeClassifier(min_samples_leaf=40)
    fresh, _, truth = world(channel.shape[0], seed=5)
    errors = {}
    for calibration in ("likelihood", "none"):
        model = FromPrivateLabels(overfitted, channel, calibration=calibration).fit(X, reports)
        found = model.predict_proba(fresh)[:, 1]
        cells = np.minimum((found * 10).astype(int), 9)
        gaps = [
            found[cells == c].mean() - (truth[cells == c] == 1).mean() for c in range(10) if (cells == c).sum() > 500
        ]
        errors[calibration] = np.max(np.abs(gaps))
    assert errors["likelihood"] < 0.07 < errors["none"]


def test_calibration_is_the_likelihood_fit_through_the_channel():
    """For two classes it is logistic regression on the log-odds with known misclassification."""
    _, p, y = world(2)
    channel = BinaryResponse(0.9, 0.7)
    reports = channel.privatize(y, Randomness.seeded(3))
    guess = np.column_stack([1 - (g := 0.1 + 0.8 * p[:, 1] ** 1.5), g])
    found = calibrated(guess, channel.matrix()[:, reports].T, np.ones(len(guess)))
    logs = log_guess(guess)
    reference = estimate.binary_regression(
        np.column_stack([np.ones(N), logs[:, 1] - logs[:, 0]]), reports, 0.9, 0.7
    ).coefficients
    assert found.shifts[1] == pytest.approx(reference[0], abs=2e-3)
    assert found.slope == pytest.approx(reference[1], abs=2e-3)


def test_rows_with_different_designs():
    """Some asked directly, some by two kinds of dice, with more reports for some: one model, better than one
    design's rows.
    """
    X, p, y = world(2)
    designs = {
        "direct": GeneralizedResponse(2, 3.0),
        "dice": BinaryResponse(0.8, 0.6),
        "flagged": design.binary(0.5, delta=0.05, reports=4).mechanism,
    }
    names = np.array(list(designs))[np.arange(N) % 3]
    reports = np.zeros(N, int)
    for number, (name, channel) in enumerate(designs.items()):
        reports[names == name] = channel.privatize(y[names == name], Randomness.seeded(number))
    model = FromPrivateLabels(LogisticRegression(), designs, classes=[0, 1]).fit(X, reports, designs=names)
    error = np.abs(model.predict_proba(X) - p).mean()
    alone = FromPrivateLabels(LogisticRegression(), designs["dice"]).fit(X[1::3], reports[1::3])
    assert error < 0.03
    assert error < np.abs(alone.predict_proba(X) - p).mean()
    assert model.guarantee_.epsilon == max(one.guarantee.epsilon for one in designs.values())
    with pytest.raises(InputError, match="designs must be given"):
        FromPrivateLabels(LogisticRegression(), designs).fit(X, reports)
    with pytest.raises(InputError, match=r"row 2 .* names none"):
        FromPrivateLabels(LogisticRegression(), designs).fit(
            X, reports, designs=np.where(np.arange(N) == 2, "x", names)
        )


@settings(max_examples=50)
@given(st.integers(2, 6), st.floats(0.1, 5), st.integers(0, 2**32))
def test_undoing_is_exact_and_projecting_is_nearest(size, epsilon, seed):
    """A q = p for q = Qᵀp; the projection lies on the simplex and no vertex pulls further."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(size), 4)
    channel = GeneralizedResponse(size, epsilon)
    assert np.allclose(undone(p @ channel.matrix(), channel.inverse.as_matrix()), p)
    away = p + rng.normal(size=p.shape)
    nearest = on_simplex(away)
    assert np.allclose(nearest.sum(axis=1), 1)
    assert nearest.min() >= 0
    # The optimality condition of a projection: (away − nearest)·(vertex − nearest) ≤ 0.
    assert ((away - nearest) - ((away - nearest) * nearest).sum(axis=1, keepdims=True)).max() < 1e-9


def test_names_of_classes_and_reports():
    """Classes by name, in any order; reports that are called otherwise; labels never quoted."""
    X, _, y = world(2, 4000)
    channel = GeneralizedResponse(2, 4.0)
    reports = channel.privatize(y, Randomness.seeded(1))
    words = np.array(["yes", "no"])[reports]
    model = FromPrivateLabels(LogisticRegression(), channel, classes=["yes", "no"]).fit(X, words)
    assert model.classes_.tolist() == ["no", "yes"]
    same = FromPrivateLabels(LogisticRegression(), channel, classes=["yes", "no"], reports=["A", "B"])
    assert np.allclose(same.fit(X, np.array(["A", "B"])[reports]).predict_proba(X), model.predict_proba(X))
    with pytest.raises(InputError, match="declared classes") as caught:
        model.fit(X, np.where(np.arange(4000) == 5, "secret", words))
    assert "secret" not in str(caught.value)


REFUSED = {
    "no classifier": ({"estimator": 3}, "predict_proba"),
    "no mechanism": ({"mechanism": "x"}, "finitely many reports"),
    "classes of another number": ({"classes": ["a", "b", "c"]}, "2 labels"),
    "a calibration that there is not": ({"calibration": "isotonic"}, "calibration must be"),
    "one fold": ({"folds": 1}, "folds"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_wrong_settings_are_refused(name):
    """One sentence of discreet each."""
    X, _, y = world(2, 50)
    changed, message = REFUSED[name]
    right = {"estimator": GaussianNB(), "mechanism": GeneralizedResponse(2, 1.0), **changed}
    with pytest.raises(DiscreetError, match=message):
        FromPrivateLabels(**right).fit(X, y)


def test_a_channel_that_merges_classes_is_refused():
    """Bipartite response does not tell the ends apart."""
    X, _, y = world(4, 50)
    with pytest.raises(NotIdentifiedError):
        FromPrivateLabels(GaussianNB(), design.bipartite(Ordinal(range(4)), 0.5, 2).mechanism).fit(X, y)


def test_scikit_learn_accepts_it():
    """All checks but those that bring labels of their own."""
    expected = dict.fromkeys(
        ("check_dtype_object", "check_classifiers_classes", "check_classifiers_train"),
        "its labels are not reports of the declared mechanism",
    ) | {"check_classifiers_one_label": "a report of one kind does not mean that there is one class"}
    model = FromPrivateLabels(GaussianNB(), GeneralizedResponse(3, 8.0), folds=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(model, expected_failed_checks=expected, on_fail=None, on_skip=None)
    assert not {f"{one['check_name']}: {one['exception']!r}" for one in results if one["status"] == "failed"}
    assert sum(one["status"] == "passed" for one in results) > 35


def test_the_model_is_as_private_as_the_reports():
    """Neighbours differ in one label. A model of reports stays below ε; one that sees the label of one row does not."""
    X = np.array([[100.0], [0.1], [1.0], [0.9], [0.0], [0.2], [1.1], [0.8]])
    channel = GeneralizedResponse(2, 1.0)
    statistic = {leak: [[], []] for leak in (False, True)}
    for label in (0, 1):
        truth = np.array([label, 0, 1, 1, 0, 0, 1, 1])
        for seed in range(250):
            for leak, found in statistic.items():
                reports = channel.privatize(truth, Randomness.seeded(2 * seed + label))
                if leak:
                    reports[0] = truth[0]
                model = FromPrivateLabels(GaussianNB(), channel, calibration="none").fit(X, reports)
                # The row has a feature far from all others, which moves the mean of the report that it gave.
                fitted = model.estimators_[0]
                found[label].append(fitted.theta_[-1, 0] if hasattr(fitted, "theta_") else 0.5)
    assert lower_bound(*statistic[False]) <= 1.0
    assert lower_bound(*statistic[True]) > 1.5


PLAN = """
format = 1
[[public]]
columns = ["hours", "region"]
[[private]]
columns = ["answer"]
domain = { categorical = ["a", "b", "c"] }
mechanism = "randomized-response"
epsilon = 2.0
missing = "%s"
[[private]]
columns = ["other"]
domain = { binary = ["no", "yes"] }
mechanism = "randomized-response"
epsilon = 2.0
"""


def survey_table(n=20_000, blanks=False):
    X, p, y = world(3, n)
    answer = np.array(["a", "b", "c"], object)[y]
    if blanks:
        answer[::7] = None
    other = np.where(X[:, 1] > 0, "yes", "no")
    region = np.where(X[:, 1] > 0, "north", "south")
    return pa.table({"hours": X[:, 0], "region": region, "answer": answer, "other": other}), p


@pytest.mark.parametrize("missing", ["reject", "public", "category"])
def test_a_release_says_everything(missing):
    """Mechanism, classes and columns come from the manifest; texts become columns; blanks as they were released."""
    table, _ = survey_table(blanks=missing != "reject")
    released = release(table, Plan.parse(PLAN % missing), randomness=Randomness.seeded(1))
    model = FromRelease(LogisticRegression(), "answer").fit(released)
    assert model.columns_ == ["hours", "region"]
    assert model.classes_.tolist() == sorted(["a", "b", "c"] + (["blank"] if missing == "category" else []))
    assert model.left_out_ == (2858 if missing == "public" else 0)
    assert model.guarantee_ == released.guarantee
    shares = model.predict_proba(released).mean(axis=0)
    direct = estimate.frequencies(released, "answer").estimate  # a blank comes last
    if missing == "category":
        direct = direct[[0, 1, 3, 2]]
    assert np.abs(shares - direct).max() < 0.03
    assert "local promise" in model.explain()
    assert FromRelease(LogisticRegression(), "answer", ["hours", "other"]).fit(released).columns_ == ["hours", "other"]


BY_MODE = """
format = 1
[output]
order = "keep"
[[public]]
columns = ["x", "mode"]
[[private]]
columns = ["answer"]
domain = { binary = ["0", "1"] }
collected = true
by = "mode"
designs.direct = { direct = true }
designs.crosswise = { crosswise = "1/4" }
"""


def test_designs_by_row_come_from_the_manifest():
    """Some were asked directly and some by a crosswise question."""
    X, p, y = world(2, 20_000)
    mode = np.where(np.arange(20_000) % 2, "crosswise", "direct")
    crosswise = BinaryResponse.crosswise("1/4")
    reports = np.where(mode == "direct", y, crosswise.privatize(y, Randomness.seeded(1)))
    plan = Plan.parse(BY_MODE)
    table = pa.table({"x": X[:, 1], "mode": mode, "answer": reports.astype(str)})
    released = Release.from_reports(table, plan)
    model = FromRelease(LogisticRegression(), "answer").fit(released)
    assert model.columns_ == ["x"]
    assert np.abs(model.predict_proba(pa.table({"x": X[:, 1]})) - p).mean() < 0.03


#: Every row reports one of two columns; a Grid of two points is a yes/no question.
ONE = """
format = 1
[[public]]
columns = ["town"]
[[private]]
columns = ["a", "b"]
domains = [{ grid = { low = 0, high = 1, points = 2 } }, { grid = { low = 0, high = 1, points = 2 } }]
mechanism = "unbiased"
report = "one"
epsilon = 2.0
"""


@pytest.mark.parametrize("label", ["a", "b"])
def test_rows_that_report_another_column_are_left_out(label):
    """Half of the rows report each column; the shares .1, .5 and .9 of three towns are recovered from these alone."""
    n, shares = 60_000, np.array([0.1, 0.5, 0.9])
    rng = np.random.default_rng(0)
    town = rng.integers(0, 3, n)
    yes = (rng.random((2, n)) < shares[town]).astype(float)
    table = pa.table({"town": np.array(["t0", "t1", "t2"])[town], "a": yes[0], "b": yes[1]})
    released = release(table, Plan.parse(ONE), randomness=Randomness.seeded(1))
    model = FromRelease(LogisticRegression(), label).fit(released)
    assert model.left_out_ == released.to_arrow([label]).column(0).null_count > n / 3
    new = pa.table({"town": ["t0", "t1", "t2"]})
    assert np.abs(model.predict_proba(new)[:, 1] - shares).max() < 0.03


@pytest.mark.parametrize("blank", [True, False])
def test_designs_by_row_with_gaps(blank):
    """Missing values that are public are left out under every design, and none is read as the first value."""
    X, p, y = world(2, 20_000)
    mode = np.where(np.arange(20_000) % 2, "crosswise", "direct")
    reports = np.where(mode == "direct", y, BinaryResponse.crosswise("1/4").privatize(y, Randomness.seeded(1)))
    answers = reports.astype(str).astype(object)
    if blank:
        answers[::3] = None
    plan = Plan.parse(BY_MODE + 'missing = "public"\n')
    released = Release.from_reports(pa.table({"x": X[:, 1], "mode": mode, "answer": answers}), plan)
    model = FromRelease(LogisticRegression(), "answer").fit(released)
    assert model.left_out_ == (6667 if blank else 0)
    assert np.abs(model.predict_proba(pa.table({"x": X[:, 1]})) - p).mean() < 0.03


WEIGHTED = """
format = 1
[survey]
weight = "w"
strata = "s"
[[public]]
columns = ["x", "w", "s"]
[[private]]
columns = ["y"]
domain = { binary = ["no", "yes"] }
mechanism = "randomized-response"
epsilon = 2.0
"""


def test_survey_weights_of_a_release_count():
    """Yes was sampled three times as often: weighted, P(yes | x) is .3/2.4 and .7/1.6, not .3 and .7."""
    n = 40_000
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, n).astype(float)
    yes = rng.random(n) < np.where(x > 0, 0.7, 0.3)
    table = pa.table({"x": x, "w": np.where(yes, 1.0, 3.0), "s": ["all"] * n, "y": np.where(yes, "yes", "no")})
    released = release(table, Plan.parse(WEIGHTED), randomness=Randomness.seeded(1))
    new = pa.table({"x": [0.0, 1.0]})
    for weighted, expected in ((True, [0.125, 0.4375]), (False, [0.3, 0.7])):
        model = FromRelease(LogisticRegression(), "y", weighted=weighted).fit(released)
        assert model.columns_ == ["x"]
        assert np.abs(model.predict_proba(new)[:, 1] - expected).max() < 0.03
    assert FromRelease(KNeighborsClassifier(), "y", weighted=False).fit(released).columns_ == ["x"]
    with pytest.raises(InputError, match="takes no sample_weight"):
        FromRelease(KNeighborsClassifier(), "y").fit(released)
    with pytest.raises(DiscreetError, match="must be positive"):
        FromPrivateLabels(LogisticRegression(), GeneralizedResponse(2, 1.0)).fit([[1], [2]], [0, 1], weights=[1, 0])


def test_wrong_releases_are_refused():
    """No release, no such column, a public label, nothing to predict from, tables without a column."""
    table, _ = survey_table(500)
    released = release(table, Plan.parse(PLAN % "reject"), randomness=Randomness.seeded(1))
    with pytest.raises(InputError, match="needs a Release"):
        FromRelease(GaussianNB(), "answer").fit(table)
    with pytest.raises(DiscreetError, match="no column"):
        FromRelease(GaussianNB(), "nothing").fit(released)
    with pytest.raises(DiscreetError, match="public"):
        FromRelease(GaussianNB(), "hours").fit(released)
    with pytest.raises(InputError, match="columns of the release"):
        FromRelease(GaussianNB(), "answer", ["answer"]).fit(released)
    with pytest.raises(InputError, match="no column"):
        FromRelease(GaussianNB(), "answer", []).fit(released)
    model = FromRelease(GaussianNB(), "answer").fit(released)
    with pytest.raises(InputError, match='no column "region"'):
        model.predict(pa.table({"hours": [1.0]}))


@pytest.mark.skipif(not (DATA / "adult.parquet").exists(), reason="adult.parquet is not in DISCREET_DATA")
def test_lightgbm_on_adult_beats_the_corrected_logistic_model():
    """ε = 1 for the label; the log loss on the published test part is at most 1.05 times that of the likelihood fit."""
    lightgbm = pytest.importorskip("lightgbm")
    adult = pytest.importorskip("experiments.learning.tables").adult(DATA)
    channel = GeneralizedResponse(2, 1.0)
    reports = channel.privatize(adult.outcome[adult.train], Randomness.seeded(0))
    model = FromPrivateLabels(lightgbm.LGBMClassifier(verbose=-1, n_jobs=1), channel)
    found = model.fit(adult.features[adult.train], reports).predict_proba(adult.features[~adult.train])[:, 1]
    truth = adult.outcome[~adult.train]
    fit = estimate.binary_regression(adult.design[adult.train], reports, *np.diag(channel.matrix()))
    logistic = 1 / (1 + np.exp(-adult.design[~adult.train] @ fit.coefficients))
    assert log_loss(truth, found) <= 1.05 * log_loss(truth, logistic)
    cells = np.minimum((found * 10).astype(int), 9)
    gaps = [found[cells == c].mean() - truth[cells == c].mean() for c in range(10) if (cells == c).sum() > 300]
    assert np.max(np.abs(gaps)) < 0.12
