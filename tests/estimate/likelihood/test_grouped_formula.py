"""Intercepts of groups in a release that declares weights, strata and clusters."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from discreet import Plan, Randomness, estimate, release
from discreet.errors import EstimationError

GROUPS, ROWS = 120, 6


def released(survey, seed=4, factor=1.0, **changed):
    """Schools of six pupils, in 30 districts of 3 strata; schools with few "yes" stand for three times as many."""
    rng = np.random.default_rng(seed)
    school = np.repeat(np.arange(GROUPS), ROWS)
    own = rng.normal(size=GROUPS)
    x = rng.normal(size=GROUPS * ROWS)
    yes = rng.random(x.size) < 1 / (1 + np.exp(0.5 - 0.8 * x - 1.2 * own[school]))
    columns = {
        "school": school,
        "x": x,
        "y": np.where(yes, "yes", "no"),
        "weight": factor * np.where(own > 0, 1.0, 3.0)[school],
        "district": school % 30,
        "region": school % 3,
    }
    domain = {"binary": ["no", "yes"]}
    plan = Plan.from_dict(
        {
            "public": [{"columns": ["school", "x"]}],
            "private": [{"columns": ["y"], "domain": domain, "mechanism": "randomized-response", "epsilon": 3}],
            "survey": survey,
        }
    )
    return release(pa.table(columns | changed), plan, randomness=Randomness.seeded(seed))


SURVEY = {"weight": "weight", "strata": "region", "cluster": "district"}


def test_errors_are_those_of_clusters_within_strata():
    """The sandwich by loops, over the scores of groups."""
    fit = estimate.regression("y ~ x + (1 | school)", released(SURVEY))
    assert fit.converged
    model = fit.maximum.model
    scores = model.group_scores(fit.coefficients)
    middle, district = np.zeros((3, 3)), np.arange(GROUPS) % 30
    where = np.array(fit.labels)
    sums = {d: scores[where % 30 == d].sum(axis=0) for d in np.unique(district)}
    for region in range(3):
        own = np.array([total for d, total in sums.items() if d % 3 == region])
        centred = own - own.mean(axis=0)
        middle += len(own) / (len(own) - 1) * centred.T @ centred
    inverse = np.linalg.inv(model.information(fit.coefficients))
    np.testing.assert_allclose(fit.covariance, inverse @ middle @ inverse, rtol=1e-8)
    assert 15 < fit.degrees_of_freedom <= 27
    assert any("district" in note and "region" in note for note in fit.notes)


def test_schools_that_stand_for_more_pull_the_intercept():
    """Weights of three for schools with few "yes": a lower intercept in every sample, by far more than rounding."""
    fits = [
        [estimate.regression("y ~ x + (1 | school)", released(survey, seed)).coefficients[0] for seed in range(6)]
        for survey in ({}, {"weight": "weight"})
    ]
    assert (np.subtract(*fits) > 0.2).all()


def test_the_scale_of_weights_means_nothing():
    """Tenfold weights: the same estimates, errors and log-likelihoods."""
    one, ten = (
        estimate.regression("y ~ x + (1 | school)", released({"weight": "weight"}, factor=factor))
        for factor in (1.0, 10.0)
    )
    np.testing.assert_allclose(ten.coefficients, one.coefficients, rtol=1e-6)
    np.testing.assert_allclose(ten.std_error, one.std_error, rtol=1e-6)
    assert ten.log_likelihood == pytest.approx(one.log_likelihood)
    assert ten.log_likelihood_without == pytest.approx(one.log_likelihood_without)
    assert one.log_likelihood > one.log_likelihood_without


@pytest.mark.parametrize(
    ("survey", "changed", "words"),
    [
        ({"weight": "weight"}, {"weight": np.linspace(1, 2, GROUPS * ROWS)}, "differ within a group"),
        ({"cluster": "district"}, {"district": np.arange(GROUPS * ROWS) % 30}, "several clusters"),
        ({"strata": "region"}, {"region": np.arange(GROUPS * ROWS) % 3}, "several strata"),
    ],
)
def test_what_does_not_hold_whole_groups_is_refused(survey, changed, words):
    """One sentence that names the group."""
    with pytest.raises(EstimationError, match=words) as error:
        estimate.regression("y ~ x + (1 | school)", released(survey, **changed))
    assert "school" in str(error.value)


def test_a_likelihood_ratio_needs_a_likelihood():
    """A weighted sum of log-likelihoods is none."""
    fit = estimate.regression("y ~ x + (1 | school)", released({"weight": "weight"}))
    with pytest.raises(EstimationError, match="without weights"):
        fit.test_of_groups()
    assert "Groups differ" not in fit.summary()
