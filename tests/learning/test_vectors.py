"""Private vectors: what is reported, promised and refused."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from discreet import Binary, Categorical, DiscreetError, Grid, InputError, Ordinal, Randomness
from discreet.learning import FromPrivateLabels, PrivateVectors
from discreet.learning.vectors import MECHANISMS
from tests.learning.attack import lower_bound

SEED = Randomness.seeded(1)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_levels_add_up_to_epsilon(mechanism):
    """Never above it, whatever the mechanism; the unit is the record, and the public label is said."""
    domains = [Grid(0, 1, 9), Ordinal([1, 2, 4]), Categorical(["a", "b", "c"]), Binary("no", "yes")]
    model = PrivateVectors(2.0, domains, mechanism=mechanism, randomness=SEED)
    X = np.array([[0.3, 2, "b", "no"], [0.9, 4, "a", "yes"]], object)
    found = model.fit(X).transform(X)
    assert found.shape == (2, 1 + 1 + 3 + 2)
    assert sum(model.epsilons_) == pytest.approx(model.guarantee_.epsilon)
    assert model.guarantee_.epsilon <= 2.0
    assert model.guarantee_.unit == "record"
    assert any("label is declared public" in one for one in model.guarantee_.caveats)
    assert model.get_feature_names_out()[2:5].tolist() == ["x2_a", "x2_b", "x2_c"]


def test_unbiased_numbers_stay_unbiased():
    """The mean of 200,000 reports of .37 is .37."""
    model = PrivateVectors(1.0, Grid(0, 1, 11), mechanism="unbiased", randomness=SEED)
    found = model.fit_transform(np.full((200_000, 1), 0.37))
    assert abs(found.mean() - 0.37) < 6 * found.std() / 200_000**0.5


def test_a_split_by_error_gives_more_to_what_errs_more():
    """A feature ten times as wide gets more of ε."""
    model = PrivateVectors(3.0, [Grid(0, 1, 21), Grid(0, 10, 21)], split="error").fit(np.zeros((3, 2)))
    assert model.epsilons_[1] > model.epsilons_[0]
    assert model.guarantee_.epsilon <= 3.0


def test_a_randomised_label_adds_to_the_promise_and_is_undone_downstream():
    """The label's level is added; FromPrivateLabels takes its mechanism; a pipeline takes the transformer."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (20_000, 2))
    y = np.where(rng.random(20_000) < X[:, 0], "yes", "no")
    vectors = PrivateVectors(6.0, Grid(0, 1, 11), 2.0, mechanism="unbiased", classes=["no", "yes"], randomness=SEED)
    reports = vectors.fit(X).privatize_label(y)
    assert vectors.guarantee_.epsilon == pytest.approx(8.0)
    model = FromPrivateLabels(LogisticRegression(), vectors.label_mechanism_, classes=["no", "yes"])
    model.fit(vectors.transform(X), reports)
    assert (model.predict(X) == y).mean() > 0.65
    assert make_pipeline(vectors, LogisticRegression()).fit(X, y).score(X, y) > 0.6


def test_a_record_keeps_its_promise_and_a_feature_too_many_is_found_out():
    """Two records that differ in both features: the sum of reports tells at most ε; both features at the full ε
    tell more.
    """
    ends = [np.full((100_000, 2), end) for end in (0.0, 1.0)]
    found, leaky = [], []
    for number, X in enumerate(ends):
        source = Randomness.seeded(number)
        found.append(PrivateVectors(1.0, Grid(0, 1, 3), randomness=source).fit_transform(X).sum(axis=1))
        leaky.append(PrivateVectors(2.0, Grid(0, 1, 3), randomness=source).fit_transform(X).sum(axis=1))
    assert 0.5 < lower_bound(*found) <= 1.0
    assert lower_bound(*leaky) > 1.2


def test_scikit_learn_accepts_it():
    """All checks but those that noise cannot pass, or that want fit to look at values that it must not look at."""
    expected = {
        "check_methods_sample_order_invariance": "every row is randomised anew",
        "check_methods_subset_invariance": "every row is randomised anew",
        "check_estimators_nan_inf": "fit looks at no value; transform refuses them",
        "check_dtype_object": "fit looks at no value; transform refuses them",
    }
    model = PrivateVectors(1.0, Grid(-100, 100, 11), clip=True, randomness=SEED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(model, expected_failed_checks=expected, on_fail=None, on_skip=None)
    assert not {f"{one['check_name']}: {one['exception']!r}" for one in results if one["status"] == "failed"}
    assert sum(one["status"] == "passed" for one in results) > 30


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"domains": None}, "domains must be given"),
        ({"domains": [Grid(0, 1, 3)]}, "one per feature"),
        ({"mechanism": "noise"}, "mechanism must be"),
        ({"label": "private"}, "label"),
        ({"label": -1.0}, "label"),
        ({"label": 1.0}, "classes must be given"),
        ({"split": "error", "domains": Binary(0, 1)}, "ordered domains"),
    ],
)
def test_wrong_settings_are_refused(changed, message):
    """One sentence of discreet each."""
    right = {"epsilon": 1.0, "domains": Grid(0, 1, 5)}
    with pytest.raises(DiscreetError, match=message):
        PrivateVectors(**{**right, **changed}).fit(np.zeros((3, 2)))


def test_wrong_rows_are_refused_without_being_quoted():
    """Outside of the domain, missing, no number."""
    model = PrivateVectors(1.0, Grid(0, 1, 5)).fit(np.zeros((3, 2)))
    for value in (77.7, np.nan, "secret"):
        X = np.zeros((3, 2), object)
        X[1, 1] = value
        with pytest.raises(InputError, match="feature 1") as caught:
            model.transform(X)
        assert str(value) not in str(caught.value).replace("NaN", "")
    with pytest.raises(InputError, match="declared public"):
        model.privatize_label([1, 0])
