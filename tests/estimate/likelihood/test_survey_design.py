"""Clusters and strata in regressions: the same survey design as for frequencies, against brute force and simulation."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import f as fisher
from scipy.stats import t as student

from discreet.errors import EstimationError
from discreet.estimate import Batch, binary_regression, binary_regression_batches, frequencies, regression
from discreet.estimate.regressions.likelihood.multinomial import multinomial_regression
from discreet.estimate.regressions.likelihood.predictor import predictor_regression
from discreet.mechanisms import BinaryResponse, GeneralizedResponse
from discreet.publish import release as publish
from discreet.randomness import Randomness

WARNER = BinaryResponse.warner("3/4")
THREE = GeneralizedResponse(3, 1.5)
ROWS = 900


@pytest.fixture(scope="module")
def survey():
    """Cluster labels 0 … 6 recur in each of four strata."""
    rng = np.random.default_rng(5)
    strata = rng.integers(0, 4, ROWS)
    clusters = rng.integers(0, 7, ROWS)
    x = rng.normal(size=ROWS)
    shared = rng.normal(size=(4, 7))[strata, clusters]
    truth = rng.random(ROWS) < 1 / (1 + np.exp(0.5 - x - 0.5 * strata + 0.7 * shared))
    return {
        "X": np.column_stack([np.ones(ROWS), x]),
        "truth": truth,
        "y": WARNER.privatize(truth.astype(int), Randomness.seeded(2)),
        "three": THREE.privatize(rng.integers(0, 3, ROWS), Randomness.seeded(3)),
        "outcome": rng.normal(size=ROWS),
        "strata": np.array(["n", "s", "e", "w"])[strata],
        "clusters": clusters,
        "weights": rng.uniform(0.5, 2, ROWS),
    }


def fitted(kind, data, **extra):
    """One of the three likelihood fits."""
    if kind == "binary":
        return binary_regression(data["X"], data["y"], 0.75, 0.75, **extra)
    if kind == "multinomial":
        return multinomial_regression(data["X"], data["three"], THREE, **extra)
    return predictor_regression(data["outcome"], data["X"], data["y"], WARNER, family="gaussian", **extra)


def brute_force(fit, strata, clusters):
    """The sandwich with stratum-centred cluster scores, by loops; H by differences of the scores."""
    chunks = list(fit.objective.source.chunks())

    def scores(theta):
        return np.vstack([fit.objective.model.scores(theta, rows) for rows in chunks])

    theta, size = fit.coefficients, fit.coefficients.size
    step = 1e-5
    moves = [(scores(theta + step * e) - scores(theta - step * e)).sum(axis=0) / (2 * step) for e in np.eye(size)]
    bread = np.linalg.inv(-np.array(moves))
    single = scores(theta)
    strata = np.zeros(len(single)) if strata is None else strata
    clusters = np.arange(len(single)) if clusters is None else clusters
    meat = np.zeros((size, size))
    for stratum in np.unique(strata):
        inside = strata == stratum
        sums = np.array([single[inside & (clusters == c)].sum(axis=0) for c in np.unique(clusters[inside])])
        centred = sums - sums.mean(axis=0)
        meat += len(sums) / (len(sums) - 1) * centred.T @ centred
    return bread @ meat @ bread


@pytest.mark.parametrize("kind", ["binary", "multinomial", "predictor"])
@pytest.mark.parametrize("use", ["s", "c", "sc", "wsc"])
def test_the_survey_covariance_equals_brute_force(survey, kind, use):
    """Cluster scores centred within strata with n_h/(n_h − 1), clusters read within their stratum."""
    strata = survey["strata"] if "s" in use else None
    clusters = survey["clusters"] if "c" in use else None
    weights = survey["weights"] if "w" in use else None
    fit = fitted(kind, survey, strata=strata, clusters=clusters, weights=weights)
    assert fit.covariance_kind == ("survey" if "s" in use else "cluster")
    expected = brute_force(fit, strata, clusters)
    np.testing.assert_allclose(fit.covariance, expected, rtol=2e-5, atol=1e-5 * np.abs(expected).max())


def test_a_regression_on_a_constant_has_the_error_of_the_frequencies(survey):
    """One coefficient is the logit of a prevalence: its standard error is that of frequencies, by the delta method."""
    design = {name: survey[name] for name in ("strata", "clusters", "weights")}
    fit = binary_regression(np.ones((ROWS, 1)), survey["y"], 0.75, 0.75, **design)
    share = frequencies(survey["y"], WARNER, **design)[1]
    prevalence = 1 / (1 + math.exp(-fit.coefficients[0]))
    assert prevalence == pytest.approx(share.estimate, abs=1e-7)
    assert fit.std_error[0] * prevalence * (1 - prevalence) == pytest.approx(share.std_error, rel=1e-6)


def test_recurring_labels_are_different_clusters(survey):
    """One rule for frequencies and regressions: a cluster is read within its stratum, and the summary says so."""
    fit = fitted("binary", survey, strata=survey["strata"], clusters=survey["clusters"])
    own = np.char.add(survey["strata"], survey["clusters"].astype(str))
    other = fitted("binary", survey, strata=survey["strata"], clusters=own)
    assert fit.moments.cluster_count == 28
    np.testing.assert_allclose(fit.covariance, other.covariance, rtol=1e-12)
    assert "survey (28 clusters within 4 strata)" in fit.summary()
    assert "recur in several strata" in fit.summary()
    assert "recur" not in other.summary()


def test_students_t_has_at_most_clusters_minus_strata_degrees_of_freedom(survey):
    """Few clusters make wide intervals, and F in place of chi-square; as for frequencies."""
    fit = fitted("binary", survey, strata=survey["strata"], clusters=survey["clusters"])
    few = fit.freedom
    assert np.all((few >= 1) & (few <= 24))
    assert fit.degrees_of_freedom == few.min()
    reach = student.ppf(0.975, few) * fit.std_error
    np.testing.assert_allclose(fit.interval(), np.column_stack([fit.estimate - reach, fit.estimate + reach]))
    np.testing.assert_allclose(fit.p_values, 2 * student.sf(np.abs(fit.z), few))
    assert "P>|t|" in fit.summary()
    assert fit.test("x2").p_value == pytest.approx(fit.p_values[1])
    both = fit.test(["x1", "x2"])
    df = few.min() - 1
    assert both.p_value == pytest.approx(fisher.sf(both.statistic * df / ((df + 1) * 2), 2, df))
    assert "F(2, " in both.summary()
    whole = fitted("binary", survey, clusters=survey["clusters"])
    assert whole.degrees_of_freedom == np.unique(survey["clusters"]).size - 1
    assert fitted("binary", survey).degrees_of_freedom == math.inf
    two = fitted("binary", survey, clusters=np.arange(len(survey["strata"])) % 2).test(["x1", "x2"])
    assert math.isnan(two.p_value)
    assert two.summary().endswith("there are too few clusters to test 2 coefficients together")


def test_batches_and_the_naive_fit_keep_the_strata(survey):
    """Rows in batches give the same matrix; the naive fit has the same design."""
    names = ("X", "y", "clusters", "strata")
    whole = fitted("binary", survey, strata=survey["strata"], clusters=survey["clusters"])
    parts = [
        Batch(X, y, 0.75, 0.75, clusters=c, strata=s)
        for X, y, c, s in zip(*(np.array_split(survey[name], 5) for name in names), strict=True)
    ]
    np.testing.assert_allclose(binary_regression_batches(parts).covariance, whole.covariance, rtol=1e-6)
    assert whole.naive().covariance_kind == "survey"
    three = fitted("multinomial", survey, strata=survey["strata"])
    assert three.naive().stratified


def test_a_stratum_of_one_cluster_is_refused(survey):
    """Its variance cannot be estimated; the same sentence as for frequencies. Likelihood ratios are refused too."""
    strata = np.where(np.arange(ROWS) < 3, "alone", survey["strata"])
    clusters = np.where(np.arange(ROWS) < 3, 99, survey["clusters"])
    with pytest.raises(EstimationError, match="a stratum has a single cluster, so its variance cannot be estimated"):
        fitted("binary", survey, strata=strata, clusters=clusters)
    with pytest.raises(EstimationError, match=r"strata: row 1 .* has no label"):
        fitted("binary", survey, strata=np.where(np.arange(ROWS) == 1, None, survey["strata"].astype(object)))
    with pytest.raises(EstimationError, match="clusters or strata"):
        fitted("binary", survey, strata=survey["strata"]).interval(method="profile")
    with pytest.raises(EstimationError, match="no strata"):
        fitted("binary", survey, strata=survey["strata"], penalty="firth")


@pytest.mark.parametrize("formula", ["cheated ~ x", "answer ~ x", "x ~ cheated"])
def test_the_manifest_names_clusters_and_strata(survey, formula):
    """A release with a survey design is fitted by it; nothing is left out."""
    table = pa.table(
        {
            "x": survey["X"][:, 1],
            "h": survey["strata"],
            "c": survey["clusters"],
            "w": survey["weights"],
            "cheated": np.where(survey["truth"], "yes", "no"),
            "answer": np.array(["a", "b", "c"])[survey["three"]],
        }
    )
    private = {"mechanism": "randomized-response", "epsilon": 3.0}
    plan = {
        "format": 1,
        "survey": {"weight": "w", "strata": "h", "cluster": "c"},
        "public": [{"columns": ["x"]}],
        "private": [
            {"columns": ["cheated"], "domain": {"binary": ["no", "yes"]}, **private},
            {"columns": ["answer"], "domain": {"categorical": ["a", "b", "c"]}, **private},
        ],
    }
    fit = regression(formula, publish(table, plan, randomness=Randomness.seeded(1)), method="likelihood")
    assert fit.covariance_kind == "survey"
    assert "28 clusters within 4 strata" in fit.summary()
    assert "not used" not in fit.summary()


def test_intervals_of_a_stratified_cluster_sample_cover():
    """Strata that differ a lot: intervals cover at their level, and ignoring the strata makes them far too wide."""
    rng = np.random.default_rng(11)
    strata = np.repeat(np.arange(4), 150)
    clusters = np.repeat(np.arange(40), 15)
    centre = np.array([-3.0, -1.0, 1.0, 3.0])
    ones = np.ones((600, 1))
    # The average of the prevalence over strata and clusters: what the constant estimates.
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    share = (1 / (1 + np.exp(-(centre[:, None] + 0.6 * nodes)))).mean(axis=0) @ weights / weights.sum()
    value, covered, wide, runs = math.log(share / (1 - share)), 0, 0, 300
    for _ in range(runs):
        eta = centre[strata] + 0.6 * rng.normal(size=40)[clusters]
        truth = rng.random(600) < 1 / (1 + np.exp(-eta))
        y = np.where(rng.random(600) < 0.9, truth, ~truth).astype(int)
        fit = binary_regression(ones, y, 0.9, 0.9, clusters=clusters, strata=strata)
        covered += bool(fit.interval()[0, 0] < value < fit.interval()[0, 1])
        without = binary_regression(ones, y, 0.9, 0.9, clusters=clusters)
        wide += bool(without.std_error[0] > 1.5 * fit.std_error[0])
    assert 270 <= covered <= 297  # 285 expected; 3.97 standard deviations
    assert wide == runs
