"""Local gradient descent: gradients are right, reports unbiased and private, models learn, and what was printed
leaks.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.utils.estimator_checks import check_estimator

from discreet import DiscreetError, Grid, InputError, Ordinal, PrivacyError, Randomness, design
from discreet.learning import LocalSGDClassifier, LocalSGDRegressor
from discreet.learning.boosting.gradients import LogisticLoss, SoftmaxLoss, SquaredLoss
from discreet.learning.local_sgd.descent import estimated_gradient, report
from discreet.learning.local_sgd.model import Model
from tests.learning.attack import lower_bound

SEED = Randomness.seeded(1)
MECHANISM = design.mean(Grid(-1, 1, 11), 1.0).mechanism


def value_of(loss, z, y):
    if isinstance(loss, SquaredLoss):
        return float((z[0] - y) ** 2 / 2)
    if isinstance(loss, LogisticLoss):
        return float(np.logaddexp(0, z[0]) - y * z[0])
    return float(np.logaddexp.reduce(z) - z[int(y)])


@settings(max_examples=40)
@given(
    st.sampled_from([(SquaredLoss(), 1), (LogisticLoss(), 1), (SoftmaxLoss(3), 3)]),
    st.integers(1, 4),
    st.sampled_from([0, 3]),
    st.integers(0, 2**32),
)
def test_coordinates_are_derivatives(losses, features, hidden, seed):
    """Of every loss, linear and with a hidden layer, against differences."""
    loss, outputs = losses
    rng = np.random.default_rng(seed)
    model = Model(features, outputs, hidden)
    parameters, x = rng.normal(size=model.size), rng.uniform(-1, 1, (1, features))
    y = np.array([float(rng.integers(0, max(outputs, 2)))])
    which = int(rng.integers(model.size))
    slopes = loss.gradients(model.scores(parameters, x), y)
    found = model.gradients(parameters, x, slopes, np.array([which]))[0]
    step = np.zeros(model.size)
    step[which] = 1e-5
    ends = [value_of(loss, model.scores(parameters + sign * step, x)[0], y[0]) for sign in (1, -1)]
    assert found == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=1e-6)


def test_reports_estimate_the_mean_gradient_without_bias():
    """The mean over 400,000 people is within six standard errors of the mean of clipped gradients, in every
    coordinate.
    """
    rng = np.random.default_rng(0)
    model, n = Model(3, 1), 400_000
    X = rng.uniform(-1, 1, (n, 3))
    y = (rng.random(n) < 0.3).astype(float)
    parameters = np.array([1.0, -2.0, 0.5, 0.2])
    slopes = LogisticLoss().gradients(model.scores(parameters, X), y)
    which, values = report(model, parameters, X, slopes, 0.25, MECHANISM, SEED)
    found = estimated_gradient(model, which, values, 0.25)
    inputs = np.hstack([X, np.ones((n, 1))])
    expected = np.clip(inputs * slopes, -0.25, 0.25).mean(axis=0)
    error = np.sqrt(4 * 0.25**2 * (MECHANISM.variances().max() + 1) / n)
    assert np.abs(found - expected).max() < 6 * error
    assert np.abs(found - 1.3 * expected).max() > 6 * error


def test_models_learn():
    """A slope, three classes, and exclusive or with a hidden layer, each from one pass."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (60_000, 2))
    y = 0.5 * X[:, 0] - 0.3 * X[:, 1] + rng.normal(0, 0.1, 60_000)
    assert LocalSGDRegressor(2.0, (-1, 1), (-1, 1), clip=True, randomness=SEED).fit(X, y).score(X, y) > 0.8
    labels = np.array(["low", "mid", "top"])[np.digitize(X[:, 0], [-0.4, 0.4])]
    model = LocalSGDClassifier(4.0, (-1, 1), ["low", "mid", "top"], randomness=SEED).fit(X, labels)
    assert model.score(X, labels) > 0.65
    assert np.allclose(model.predict_proba(X).sum(axis=1), 1)
    either = ((X[:, 0] * X[:, 1]) > 0).astype(int)
    network = LocalSGDClassifier(8.0, (-1, 1), (0, 1), hidden=4, learning_rate=8.0, batch_size=300, randomness=SEED)
    assert network.fit(X, either).score(X, either) > 0.85


def test_people_who_come_later_go_on_where_the_model_is():
    """partial_fit counts people; fit starts again; a larger sample is better."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (40_000, 3))
    y = (X[:, 0] > 0).astype(int)
    model = LocalSGDClassifier(1.0, (-1, 1), randomness=SEED)
    model.partial_fit(X[:500], y[:500], classes=[0, 1])
    early = model.predict_proba(X)[:, 1]
    for start in range(500, 40_000, 5000):
        model.partial_fit(X[start : start + 5000], y[start : start + 5000])
    assert model.descent_.people == 40_000
    assert np.mean((model.predict_proba(X)[:, 1] - y) ** 2) < np.mean((early - y) ** 2)
    assert model.set_params(classes=(0, 1)).fit(X[:300], y[:300]).descent_.people == 300


def first_reports(y, parameters=(0.0, 0.0)):
    """The reports of many people with the feature 1 and this outcome."""
    n, model = 100_000, Model(1, 1)
    X, start = np.ones((n, 1)), np.array(parameters)
    slopes = LogisticLoss().gradients(model.scores(start, X), np.full(n, y))
    return report(model, start, X, slopes, 0.5, MECHANISM, Randomness.seeded(int(y) + 3))


def test_a_report_keeps_its_promise():
    """Gradients at both ends of [−C, C]: the attack finds most of ε = 1, and not more."""
    found = lower_bound(first_reports(0.0)[1], first_reports(1.0)[1])
    assert 0.85 < found <= 1.0
    assert MECHANISM.guarantee.epsilon <= 1.0


def test_an_interval_chosen_by_the_sign_is_found_out():
    """As printed: a gradient is randomised within [−C, 0] or [0, C], whichever holds it. The report shows the sign."""
    channel = design.bipartite(Ordinal(range(11)), 1.0).mechanism
    below = channel.privatize(np.full(100_000, 5), Randomness.seeded(1)) / 10 - 1
    above = channel.privatize(np.full(100_000, 5), Randomness.seeded(2)) / 10
    assert lower_bound(below, above) > 3.0


def test_a_bound_read_off_the_batch_is_found_out():
    """As printed: C is a mean of gradient norms of the batch. One person's large gradient moves the points of all
    reports.
    """
    channel = design.bipartite(Ordinal(range(11)), 1.0).mechanism
    found = []
    for person in (0.1, 1.0):
        others = np.full(9, 0.1)
        bound = np.append(others, person).mean()
        codes = np.full((20_000, 10), 10)
        found.append((channel.privatize(codes, Randomness.seeded(int(10 * person))) / 10 * bound).max(axis=1))
    assert lower_bound(*found) > 3.0


EXPECTED = {
    "check_dtype_object": "its labels are not among the declared classes",
    "check_classifiers_classes": "its labels are not among the declared classes",
    "check_classifiers_one_label": "that all records have one class is nothing a private model may say",
    "check_classifiers_train": "it has two classes where three are declared",
}


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [
        (LocalSGDRegressor(1.0, (-100, 100), (-1000, 1000), clip=True, randomness=SEED), {}),
        (LocalSGDClassifier(1.0, (-100, 100), (0, 1, 2), clip=True, randomness=SEED), EXPECTED),
    ],
    ids=["regressor", "classifier"],
)
def test_scikit_learn_accepts_it(estimator, expected):
    """All checks but those that bring labels of their own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(estimator, expected_failed_checks=expected, on_fail=None, on_skip=None)
    assert not {f"{one['check_name']}: {one['exception']!r}" for one in results if one["status"] == "failed"}
    assert sum(one["status"] == "passed" for one in results) > 35


def test_the_promise_is_local():
    """One record, asked once; δ = 0."""
    X, y = np.zeros((50, 1)), np.zeros(50)
    model = LocalSGDRegressor(1.5, (-1, 1), (-1, 1)).fit(X, y)
    assert (model.guarantee_.unit, model.guarantee_.delta) == ("record", 0.0)
    assert 1.5 * (1 - 1e-8) < model.guarantee_.epsilon <= 1.5
    assert "local promise" in model.explain()
    assert "once" in model.guarantee_.caveats[0]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": 20.0}, "epsilon"),
        ({"bounds": None}, "bounds must be given"),
        ({"outcome_bounds": None}, "outcome_bounds must be given"),
        ({"hidden": -1}, "hidden"),
        ({"batch_size": 0}, "batch_size"),
        ({"gradient_clip": 0}, "gradient_clip"),
        ({"learning_rate": np.nan}, "learning_rate"),
    ],
)
def test_wrong_settings_are_refused(changed, message):
    """One sentence of discreet each."""
    right = {"epsilon": 1.0, "bounds": (-1, 1), "outcome_bounds": (-1, 1)}
    with pytest.raises(DiscreetError, match=message) as caught:
        LocalSGDRegressor(**{**right, **changed}).fit(np.zeros((9, 1)), np.zeros(9))
    if "epsilon" in changed:
        assert caught.type is PrivacyError


def test_rows_outside_of_the_bounds_are_refused():
    """Unless they are clipped by name."""
    X, y = np.full((9, 1), 2.0), np.zeros(9)
    with pytest.raises(InputError, match=r"row 0.*clip=True"):
        LocalSGDRegressor(1.0, (-1, 1), (-1, 1)).fit(X, y)
    LocalSGDRegressor(1.0, (-1, 1), (-1, 1), clip=True).fit(X, y)
