"""Weights, strata, clusters, groups and several designs: against brute force, and against simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import t as student

from discreet.errors import EstimationError
from discreet.estimate import frequencies
from discreet.mechanisms import BinaryResponse, ChannelResponse, GeneralizedResponse
from tests.estimate.enumeration import mean_and_covariance, report_vectors

GENERALISED = GeneralizedResponse(3, 1.5)
ORDERED = ChannelResponse([["1/2", "1/3", "1/6"], ["1/4", "1/2", "1/4"], ["1/6", "1/3", "1/2"]])
FOUR = ChannelResponse([["1/5", 0, "1/2", "3/10"], [0, "1/5", "3/10", "1/2"]])


def survey(mechanism, rows=400, seed=0):
    """A made-up survey: reports, weights, strata, clusters (labels recur in every stratum), groups."""
    rng = np.random.default_rng(seed)
    return {
        "reports": rng.integers(0, mechanism.shape[1], rows),
        "weights": rng.uniform(0.2, 5, rows),
        "strata": np.array(["north", "south", "west"])[rng.integers(0, 3, rows)],
        "clusters": rng.integers(0, 12, rows),
        "groups": np.array(["a", "b", "c"])[rng.integers(0, 3, rows)],
    }


def linearised(phi, weights, strata, clusters, chosen, totals=False):
    """Hájek estimate and linearised covariance of the chosen rows, by loops over strata and clusters."""
    size = len(phi)
    weights = np.ones(size) if weights is None else weights
    strata = np.zeros(size) if strata is None else strata
    clusters = np.arange(size) if clusters is None else clusters
    w = weights * chosen
    estimate = w @ phi if totals else w @ phi / w.sum()
    z = w[:, None] * phi if totals else w[:, None] * (phi - estimate) / w.sum()
    covariance = np.zeros((phi.shape[1],) * 2)
    for stratum in np.unique(strata):
        inside = strata == stratum
        sums = np.array([z[inside & (clusters == c)].sum(axis=0) for c in np.unique(clusters[inside])])
        centred = sums - sums.mean(axis=0)
        covariance += len(sums) / (len(sums) - 1) * centred.T @ centred
    return estimate, covariance


@pytest.mark.parametrize("mechanism", [GENERALISED, ORDERED, FOUR, BinaryResponse.crosswise("1/4")])
@pytest.mark.parametrize("use", ["w", "s", "c", "ws", "wc", "sc", "wsc"])
def test_linearised_variance_equals_brute_force(mechanism, use):
    """Hájek shares, Horvitz–Thompson totals and both covariances, for every mix of weights, strata and clusters."""
    data = survey(mechanism)
    w = data["weights"] if "w" in use else None
    s = data["strata"] if "s" in use else None
    c = data["clusters"] if "c" in use else None
    phi = mechanism.inverse.as_matrix().T[data["reports"]]
    everyone = np.ones(len(phi))
    result = frequencies(data["reports"], mechanism, weights=w, strata=s, clusters=c)
    estimate, covariance = linearised(phi, w, s, c, everyone)
    np.testing.assert_allclose(result.estimate, estimate, atol=1e-12)
    np.testing.assert_allclose(result.covariance, covariance, atol=1e-13)
    np.testing.assert_allclose(result.std_error**2, np.diag(covariance), atol=1e-13)
    if w is not None:
        estimate, covariance = linearised(phi, w, s, c, everyone, totals=True)
        np.testing.assert_allclose(result.totals().estimate, estimate, rtol=1e-10)
        np.testing.assert_allclose(result.totals().covariance, covariance, rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(result.totals().std_error ** 2, np.diag(covariance), rtol=1e-8)


@pytest.mark.parametrize("use", ["w", "ws", "wc", "wsc"])
def test_groups_keep_the_whole_design(use):
    """A group is a domain of the survey: clusters in which it is absent still count, with a total of zero."""
    data = survey(GENERALISED, rows=120, seed=4)
    s = data["strata"] if "s" in use else None
    c = data["clusters"] if "c" in use else None
    phi = GENERALISED.inverse.as_matrix().T[data["reports"]]
    result = frequencies(data["reports"], GENERALISED, weights=data["weights"], strata=s, clusters=c, by=data["groups"])
    assert result.groups == ["a", "b", "c"]
    for group in result.groups:
        estimate, covariance = linearised(phi, data["weights"], s, c, data["groups"] == group)
        np.testing.assert_allclose(result[group].estimate, estimate, atol=1e-12)
        np.testing.assert_allclose(result[group].covariance, covariance, atol=1e-13)


def test_equal_weights_are_a_simple_random_sample():
    """Equal weights change nothing but the factor n/(n − 1) of a sample variance."""
    reports = survey(GENERALISED)["reports"]
    plain = frequencies(reports, GENERALISED)
    weighted = frequencies(reports, GENERALISED, weights=np.full(len(reports), 3.0))
    np.testing.assert_allclose(weighted.estimate, plain.estimate, atol=1e-13)
    np.testing.assert_allclose(weighted.covariance, plain.covariance * 400 / 399, atol=1e-15)
    np.testing.assert_allclose(weighted.interval(), plain.interval(), atol=2e-3)


def test_recurring_cluster_labels_are_noted():
    """Cluster 1 of one stratum is not cluster 1 of another, and the result says so."""
    data = survey(GENERALISED)
    result = frequencies(data["reports"], GENERALISED, strata=data["strata"], clusters=data["clusters"])
    assert any("recur in several strata" in note for note in result.notes)
    distinct = np.char.add(data["strata"], data["clusters"].astype(str))
    other = frequencies(data["reports"], GENERALISED, strata=data["strata"], clusters=distinct)
    assert not other.notes
    np.testing.assert_allclose(result.covariance, other.covariance, rtol=1e-12)


def test_wald_uses_students_t():
    """Degrees of freedom are clusters − strata."""
    data = survey(GENERALISED)
    result = frequencies(data["reports"], GENERALISED, strata=data["strata"], clusters=data["clusters"])
    expected = result.estimate + student.ppf(0.975, 36 - 3) * result.std_error
    np.testing.assert_allclose(result.interval(method="wald")[:, 1], expected, atol=1e-12)


def test_wilson_uses_an_effective_sample_size():
    """With clusters Wilson and Clopper–Pearson widen like the standard error; Chebyshev is refused."""
    rng = np.random.default_rng(2)
    mechanism = GeneralizedResponse(2, 2.0)
    clusters = np.repeat(np.arange(60), 20)
    truths = (rng.random(60)[clusters] < 0.4).astype(int)  # everyone in a cluster alike
    reports = np.where(rng.random(1200) < mechanism.matrix()[0, 0], truths, 1 - truths)
    plain = frequencies(reports, mechanism)
    clustered = frequencies(reports, mechanism, clusters=clusters)
    ratio = clustered.std_error[1] / plain.std_error[1]
    assert ratio > 2
    for method in ("wilson", "clopper-pearson"):
        widths = [np.ptp(r.interval(method=method)[1]) for r in (clustered, plain)]
        assert widths[0] / widths[1] == pytest.approx(ratio, rel=0.1)
    with pytest.raises(EstimationError, match="sampled independently"):
        clustered.interval(method="chebyshev")


def test_share_of_zero_has_a_wide_interval():
    """Where no report was given its variance says nothing: each cluster counts as one person."""
    mechanism = BinaryResponse.direct()
    clusters = np.repeat(np.arange(8), 50)
    low, high = frequencies(np.zeros(400, int), mechanism, clusters=clusters).interval(method="clopper-pearson")[1]
    assert low == 0
    assert high > 1 - 0.025 ** (1 / 8)


def test_table_covariance_with_weights_by_enumeration():
    """Given the truths: Σ w² Var(φ | x)/(Σw)², unbiasedly estimated; strata and clusters play no part."""
    weights = np.array([1.0, 4.0, 0.5, 2.0])
    truths = [0, 2, 1, 1]
    for mechanism in (GENERALISED, ORDERED):
        vectors, probability = report_vectors(mechanism, truths)
        results = [frequencies(v, mechanism, weights=weights, target="table", clusters=[1, 1, 2, 2]) for v in vectors]
        mean, covariance = mean_and_covariance(np.array([r.estimate for r in results]), probability)
        truth = np.bincount(truths, weights, 3) / weights.sum()
        np.testing.assert_allclose(mean, truth, atol=1e-12)
        A, Q = mechanism.inverse.as_matrix(), mechanism.matrix()
        exact = sum(
            w**2 * A @ (np.diag(Q[x]) - np.outer(Q[x], Q[x])) @ A.T for w, x in zip(weights, truths, strict=True)
        )
        np.testing.assert_allclose(covariance, exact / weights.sum() ** 2, atol=1e-12)
        if not any(r.notes for r in results):
            expected = np.tensordot(probability, np.array([r.covariance for r in results]), 1)
            np.testing.assert_allclose(expected, covariance, atol=1e-12)


def test_unequal_sampling_by_simulation():
    """People drawn with unequal chances: weights remove the bias, and the standard error is the spread seen.

    3,000 samples of 250: the mean is known to 1/55 of a standard deviation and the spread to 1.3 %. The
    thresholds are 6 of these; without weights the estimate is off by many standard errors.
    """
    rng = np.random.default_rng(11)
    mechanism = GeneralizedResponse(2, 2.0)
    keep = mechanism.matrix()[0, 0]
    people = 2000
    truth = (rng.random(people) < 0.3).astype(int)
    size = rng.uniform(1, 4, people) * (1 + truth)  # those with "yes" are met more often
    chance = size / size.sum()
    runs, n = 3000, 250
    estimates, errors, naive = np.empty(runs), np.empty(runs), np.empty(runs)
    for run in range(runs):
        drawn = rng.choice(people, n, p=chance)
        reports = np.where(rng.random(n) < keep, truth[drawn], 1 - truth[drawn])
        result = frequencies(reports, mechanism, weights=1 / (n * chance[drawn]))
        estimates[run], errors[run] = result.estimate[1], result.std_error[1]
        naive[run] = frequencies(reports, mechanism).estimate[1]
    spread = estimates.std()
    assert estimates.mean() == pytest.approx(truth.mean(), abs=6 * spread / math.sqrt(runs) + 0.02 * spread)
    assert math.sqrt((errors**2).mean()) == pytest.approx(spread, rel=6 / math.sqrt(2 * runs))
    assert abs(naive.mean() - truth.mean()) > 3 * spread / math.sqrt(10)


def test_several_designs_are_the_mean_of_debiased_answers():
    """Direct and crosswise rows in one column: f̂ is the mean of every row's own φ, with its sample covariance."""
    designs = {"direct": BinaryResponse.direct(), "crosswise": BinaryResponse.crosswise("1/4")}
    rng = np.random.default_rng(6)
    mode = np.array(["direct", "crosswise"])[rng.integers(0, 2, 500)]
    reports = rng.integers(0, 2, 500)
    phi = np.array([designs[m].inverse.as_matrix()[:, y] for m, y in zip(mode, reports, strict=True)])
    result = frequencies(reports, designs, designs=mode)
    np.testing.assert_allclose(result.estimate, phi.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(result.covariance, np.cov(phi.T, bias=True) / 500, atol=1e-14)
    np.testing.assert_allclose(result.std_error**2, np.diag(result.covariance), atol=1e-15)
    assert result.default_interval == "wilson"
    assert result.mechanism == designs
    weights = rng.uniform(1, 2, 500)
    weighted = frequencies(reports, designs, designs=mode, weights=weights, clusters=np.arange(500) // 5)
    estimate, covariance = linearised(phi, weights, None, np.arange(500) // 5, np.ones(500))
    np.testing.assert_allclose(weighted.estimate, estimate, atol=1e-12)
    np.testing.assert_allclose(weighted.covariance, covariance, atol=1e-13)


def test_several_designs_given_the_table():
    """Randomisation error only: rows asked directly contribute none."""
    designs = {"direct": BinaryResponse.direct(), "warner": BinaryResponse.warner("3/4")}
    mode = np.array(["direct", "direct", "warner", "warner"])
    result = frequencies([0, 1, 1, 0], designs, designs=mode, target="table")
    one = frequencies([1, 0], designs["warner"], target="table")
    np.testing.assert_allclose(result.covariance, one.covariance / 4, atol=1e-14)


def test_several_designs_by_maximum_likelihood():
    """Pooled likelihood: the assumption of equal frequencies is stated, and precision is that of both designs."""
    designs = {"direct": BinaryResponse.direct(), "crosswise": BinaryResponse.crosswise("1/4")}
    mode = np.repeat(["direct", "crosswise"], 1000)
    reports = np.concatenate([np.arange(1000) < 300, np.arange(1000) < 1000 * (0.3 * 0.25 + 0.7 * 0.75)])
    result = frequencies(reports, designs, designs=mode, method="mle")
    assert result.estimate[1] == pytest.approx(0.3, abs=1e-4)
    assert any("same under every design" in note for note in result.notes)
    precision = sum(frequencies(reports[mode == m], designs[m]).std_error[1] ** -2 for m in ("direct", "crosswise"))
    assert result.std_error[1] == pytest.approx(precision**-0.5, rel=2e-3)
    assert result.std_error[1] < frequencies(reports, designs, designs=mode).std_error[1]


def test_unknown_design_names_the_row():
    """A row whose design is not declared is an error."""
    designs = {"direct": BinaryResponse.direct(), "warner": BinaryResponse.warner("3/4")}
    with pytest.raises(EstimationError, match=r'row 1 .*"direct", "warner"'):
        frequencies([0, 1], designs, designs=["direct", "phone"])
    with pytest.raises(EstimationError, match=r"row 1 .*out of range"):
        frequencies([0, 2], designs, designs=["direct", "direct"])


def test_groups_have_their_own_results():
    """Groups in label order, the missing label last under its name; each is what its rows alone give."""
    rng = np.random.default_rng(1)
    reports = rng.integers(0, 3, 300)
    labels = rng.choice(np.array(["b", "a", None], object), 300)
    result = frequencies(reports, GENERALISED, by=labels, labels=["x", "y", "z"])
    assert result.groups == ["a", "b", "(missing)"]
    assert result.estimate.shape == (3, 3)
    assert result.std_error.shape == (3, 3)
    assert result.covariance.shape == (3, 3, 3)
    assert result.interval(0.9, "chebyshev").shape == (3, 3, 2)
    assert result.empty().shape == (3, 3)
    for group, value in (("a", "a"), ("b", "b"), ("(missing)", None)):
        alone = frequencies(reports[labels == value], GENERALISED)
        np.testing.assert_array_equal(result[group].estimate, alone.estimate)
        np.testing.assert_array_equal(result[group].std_error, alone.std_error)
    assert result.n.sum() == 300
    assert len(result) == 3
    text = str(result)
    assert "(missing)" in text
    assert "3 groups, n = 300" in text
    data = result.to_dict()
    assert [part["group"] for part in data["groups"]] == ["a", "b", "(missing)"]


@pytest.mark.parametrize("labels", [np.array([2, 1, 2]), np.array([2.0, 1.0, np.nan]), np.array([True, False, True])])
def test_group_labels_of_any_type(labels):
    """Numbers and booleans group as well as text, in their own order."""
    result = frequencies([0, 1, 1], GeneralizedResponse(2, 1.0), by=labels)
    assert result.groups[:2] == [
        labels.dtype.type(v).item() for v in sorted({v for v in labels.tolist() if not math.isnan(v)})
    ]


def test_many_groups_and_values_are_shortened():
    """A summary of many groups stays readable."""
    mechanism = GeneralizedResponse(50, 3.0)
    rng = np.random.default_rng(0)
    text = frequencies(rng.integers(0, 50, 4000), mechanism, by=rng.integers(0, 30, 4000)).summary()
    assert len(text.splitlines()) < 60
    assert "more groups" in text
    assert "more values" in text


def test_batches_do_not_matter(monkeypatch):
    """Rows taken a few at a time give the same sums."""
    data = survey(GENERALISED)
    arguments = {
        "weights": data["weights"],
        "strata": data["strata"],
        "clusters": data["clusters"],
        "by": data["groups"],
    }
    whole = frequencies(data["reports"], GENERALISED, **arguments)
    monkeypatch.setattr("discreet.estimate.data.rows._ROWS", 7)
    parts = frequencies(data["reports"], GENERALISED, **arguments)
    np.testing.assert_allclose(parts.estimate, whole.estimate, atol=1e-13)
    np.testing.assert_allclose(parts.covariance, whole.covariance, atol=1e-14)


def test_large_domain_with_weights():
    """Weights, strata and clusters at 10⁵ values: standard errors and totals without an N × N matrix."""
    size = 100_000
    mechanism = GeneralizedResponse(size, 9.0)
    rng = np.random.default_rng(0)
    reports, weights, clusters = rng.integers(0, 50, 20_000), rng.uniform(1, 3, 20_000), np.arange(20_000) // 10
    result = frequencies(reports, mechanism, weights=weights, clusters=clusters, strata=clusters % 4)
    assert result.std_error.shape == (size,)
    assert result.interval().shape == (size, 2)
    chosen = mechanism.inverse.scale * (reports == 3) + mechanism.inverse.shift
    estimate, variance = linearised(chosen[:, None], weights, clusters % 4, clusters, np.ones(20_000))
    assert result.estimate[3] == pytest.approx(estimate[0], rel=1e-9)
    assert result.std_error[3] ** 2 == pytest.approx(variance[0, 0], rel=1e-9)
    estimate, variance = linearised(chosen[:, None], weights, clusters % 4, clusters, np.ones(20_000), totals=True)
    assert result.totals().std_error[3] ** 2 == pytest.approx(variance[0, 0], rel=1e-9)
