"""Samples without replacement, and design effects."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import EstimationError, Plan, Randomness, estimate, release
from discreet.estimate.means.input import scored_column
from discreet.estimate.means.pair_scores import POWERS, BothColumns, pair_scores
from discreet.mechanisms import BinaryResponse, GeneralizedResponse

ASKED = BinaryResponse("0.8", "0.7")
FOUR = GeneralizedResponse(4, 1.5)


def sample(seed=1, strata=3, clusters=8, size=15):
    """A survey of clusters in strata, with weights that differ."""
    rng = np.random.default_rng(seed)
    stratum = np.repeat(np.arange(strata), clusters * size)
    cluster = np.repeat(np.arange(strata * clusters), size)
    truth = (rng.random(stratum.size) < 0.2 + 0.2 * rng.random(strata * clusters)[cluster]).astype(int)
    return {
        "reports": ASKED.privatize(truth, Randomness.seeded(seed)),
        "weights": rng.uniform(1, 4, stratum.size),
        "strata": stratum,
        "clusters": cluster,
        "population": np.array([20.0, 8.0, 50.0])[stratum],
    }


def by_hand(z, alone, weights, strata, clusters, fractions):
    """``Σ_h (1 − f_h) m_h/(m_h − 1) Σ_c (t_hc − t̄_h)² + f_h Σ_i w_i² r_i``, in plain loops."""
    centre = np.sum(weights * z) / np.sum(weights)
    total = 0.0
    for h, f in fractions.items():
        sums = [np.sum((weights * (z - centre))[clusters == c]) for c in np.unique(clusters[strata == h])]
        m = len(sums)
        total += (1 - f) * m / (m - 1) * np.sum((np.array(sums) - np.mean(sums)) ** 2)
        total += f * np.sum((weights**2 * alone)[strata == h])
    return total / np.sum(weights) ** 2


def test_clusters_in_strata_by_hand():
    """Frequencies, means and totals have the variance of the formula, written once more in loops."""
    data = sample()
    A = ASKED.inverse.as_matrix()
    z = A[1][data["reports"]]
    fractions = {0: 8 / 20, 1: 1.0, 2: 8 / 50}
    expected = by_hand(z, z**2 - z, data["weights"], data["strata"], data["clusters"], fractions)
    aside = {key: data[key] for key in ("weights", "strata", "clusters")} | {"fpc": data["population"]}
    frequencies = estimate.frequencies(data["reports"], ASKED, **aside)
    assert frequencies.std_error[1] ** 2 == pytest.approx(expected, rel=1e-9)
    assert frequencies.covariance[1, 1] == pytest.approx(expected, rel=1e-9)
    mean = estimate.mean(data["reports"], ASKED, **aside)
    assert mean.std_error[0] ** 2 == pytest.approx(expected, rel=1e-9)
    assert estimate.total(data["reports"], ASKED, **aside).std_error[0] == pytest.approx(
        frequencies.totals().std_error[1], rel=1e-9
    )
    low, high = frequencies.interval()[1]
    plain = estimate.frequencies(data["reports"], ASKED, **{**aside, "fpc": None}).interval()[1]
    assert plain[0] < low < high < plain[1]


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), f=st.floats(0.01, 1.0))
def test_between_no_correction_and_a_census(seed, f):
    """The variance is (1 − f) times that of the survey plus f times that given the table, for every fraction."""
    data = sample(seed)
    aside = {key: data[key] for key in ("weights", "strata", "clusters")}
    found = [
        estimate.frequencies(data["reports"], ASKED, **aside, **more).std_error ** 2
        for more in ({}, {"target": "table"}, {"fpc": f})
    ]
    assert found[2] == pytest.approx((1 - f) * found[0] + f * found[1], rel=1e-9)


@pytest.mark.parametrize("kind", ["mean", "quantile", "crosstab", "joint"])
def test_every_estimate_takes_it(kind):
    """A census has the errors of the table, whatever is estimated."""
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 4, 2_000)
    reports = FOUR.privatize(truth, Randomness.seeded(2))
    other = ASKED.privatize(truth > 1, Randomness.seeded(3))
    aside: list[dict] = [{"fpc": 2_000}, {"target": "table"}]
    if kind == "mean":
        found = [estimate.mean(reports, FOUR, **more).std_error for more in aside]
    elif kind == "quantile":
        found = [estimate.quantile(reports, FOUR, 0.4, **more).interval() for more in aside]
    elif kind == "crosstab":
        found = [estimate.crosstab_of_reports(reports, other, FOUR, ASKED, **more).std_error for more in aside]
    else:
        from discreet import design

        joint = design.attributes([2, 2], [2.0, 2.0]).mechanism
        both = joint.privatize(np.stack([truth % 2, truth // 2], axis=1), Randomness.seeded(4))
        found = [estimate.joint_table(both, joint, (0, 1), **more).std_error for more in aside]
    assert found[0] == pytest.approx(found[1], rel=1e-9)


def test_the_variance_is_right_over_many_samples():
    """300 of 400 people drawn without replacement: the spread of 3,000 estimates is the stated one.

    Correcting the randomisation too, as for answers that are not randomised, would state a third of it.
    """
    rng, runs = np.random.default_rng(9), 3_000
    population = (rng.random(400) < 0.3).astype(int)
    A = ASKED.inverse.as_matrix()[1]
    estimates, stated, wrong = [], [], []
    for run in range(runs):
        truth = population[rng.permutation(400)[:300]]
        reports = ASKED.privatize(truth, Randomness.seeded(run))
        z = A[reports]
        estimates.append(z.mean())
        with_replacement = z.var(ddof=1) / 300
        stated.append(0.25 * with_replacement + 0.75 * np.mean(z**2 - z) / 300)
        wrong.append(0.25 * with_replacement)
        if run == 0:
            once = estimate.mean(reports, ASKED, fpc=400)
            assert once.std_error[0] ** 2 == pytest.approx(stated[0], rel=1e-9)
    spread = np.var(estimates, ddof=1)
    within = 6.2 * np.sqrt(2 / runs)  # p < 1e-9
    assert abs(np.mean(stated) / spread - 1) < within
    assert abs(np.mean(wrong) / spread - 1) > within


def test_design_effects():
    """Variance over that of a simple random sample of as many people; in headings, and None without a survey."""
    data = sample(4)
    plain = estimate.frequencies(data["reports"], ASKED)
    assert plain.design_effect is None
    assert estimate.mean(data["reports"], ASKED).design_effect is None
    assert "design effect" not in plain.heading()
    weights = data["weights"]
    found = estimate.frequencies(data["reports"], ASKED, weights=weights)
    share = np.sum(weights * data["reports"]) / np.sum(weights)
    slope, n = 1 / (0.8 + 0.7 - 1), weights.size
    simple = slope**2 * share * (1 - share) / n
    assert found.design_effect == pytest.approx(found.std_error**2 / simple, rel=1e-9)
    mean = estimate.mean(data["reports"], ASKED, weights=weights)
    assert mean.design_effect == pytest.approx(found.design_effect[1:], rel=1e-9)
    kish = n * np.sum(weights**2) / np.sum(weights) ** 2
    assert mean.design_effect[0] == pytest.approx(kish, rel=0.1)  # weights have nothing to do with the answers
    assert f"design effect {mean.design_effect[0]:.2f}" in mean.heading()
    assert mean.to_dict()["design_effect"] == list(mean.design_effect)
    assert (
        "design effects"
        in estimate.crosstab_of_reports(
            data["reports"], data["strata"], ASKED, None, clusters=data["clusters"]
        ).heading()
    )
    by = estimate.mean(data["reports"], ASKED, weights=weights, by=data["strata"])
    assert by[1].design_effect == pytest.approx(by.design_effect[[1]])


@pytest.mark.parametrize(
    ("fpc", "said"),
    [
        (np.full(360, -1.0), "fpc: row 0 (counted from 0) must be a population size"),
        (np.full(360, np.nan), "must be a population size"),
        (np.repeat([20.0, 0.5, 30.0], 120), "population sizes (above 1) or sampling fractions (at most 1), not both"),
        (np.repeat([20.0, 7.0, 30.0], 120), "more clusters in the sample than in its population"),
        (np.arange(2.0, 362.0), "differs from other rows of its stratum"),
        (np.full(10, 30.0), "one entry per row"),
        (0, "must be a population size"),
        ("N", "column name, which needs a release"),
    ],
)
def test_what_cannot_be_a_population(fpc, said):
    """One sentence each."""
    data = sample()
    aside = {key: data[key] for key in ("strata", "clusters")}
    for function in (estimate.frequencies, estimate.mean):
        with pytest.raises(EstimationError) as error:
            function(data["reports"], ASKED, **aside, fpc=fpc)
        assert said in str(error.value)


def two_columns(first, second, together=None):
    """A release of two numbers, apart or together, each with its mechanism."""
    rng = np.random.default_rng(15)
    n = 1_500
    x = rng.choice([0, 1, 4], n, p=[0.5, 0.3, 0.2])
    y = np.where(rng.random(n) < 0.6, x, rng.choice([0, 1, 4], n))
    plan = {"private": [{"columns": ["x", "y"], **together}] if together else [{"columns": ["x"], **first}]}
    if second is not None:
        plan["private"].append({"columns": ["y"], **second})
    elif together is None:
        plan["public"] = [{"columns": ["y"]}]
    table = pa.table({"x": x.astype(float), "y": y.astype(float)})
    return lambda seed: release(table, Plan.from_dict(plan), randomness=Randomness.seeded(seed))


LISTED = {"domain": {"ordinal": [0.0, 1.0, 4.0]}, "mechanism": "randomized-response", "epsilon": 3.0}
NOISE = {"mechanism": "zero-inflated-laplace", "epsilon": 6.0, "delta": 0.3}
NOISY = {**NOISE, "domain": {"box": {"low": [0], "high": [4]}}, "zero_probability": 0.2}
BOTH = {"domain": {"box": {"low": [0, 0], "high": [4, 4]}}, **NOISE}
PAIRS = {
    "two lists": (LISTED, LISTED),
    "a list and a public column": (LISTED, None),
    "one joint block": (None, None, {"domains": [LISTED["domain"]] * 2, "mechanism": "joint", "epsilons": [3.0, 3.0]}),
}


@pytest.mark.parametrize("kind", PAIRS)
def test_correlations_of_a_census_vary_by_the_randomisation_alone(kind):
    """With fpc = 1 the stated error is the spread over fresh randomisations of one table; without, it is larger.

    120 randomisations: a ratio outside [.75, 1.3] has a chance below 1e-4 for a normal law, and the seeds are fixed.
    """
    make = two_columns(*PAIRS[kind])
    found, stated, free = [], [], []
    for seed in range(120):
        private = make(seed)
        one = estimate.correlation(private, "x", "y", fpc=1.0)
        assert not any("not used" in note for note in one.notes)
        found.append(float(one))
        stated.append(one.std_error[0] ** 2)
        free.append(estimate.correlation(private, "x", "y").std_error[0] ** 2)
    assert 0.75 < np.sqrt(np.mean(stated)) / np.std(found) < 1.3
    assert np.mean(free) > np.mean(stated)


@pytest.mark.parametrize("plan", [(NOISY, NOISY), (None, None, {**BOTH, "zero_probability": 0.2}), (LISTED, NOISY)])
def test_products_of_noisy_numbers_are_unbiased(plan):
    """Of everybody with the same two truths the debiased ``x^a y^b`` have that mean, within 6 Monte Carlo errors."""
    private = two_columns(*plan)(1)
    pair = [scored_column(private, name, None, None, None, None, "correlation") for name in "xy"]
    scores = pair_scores(pair)
    rows = pa.table({"x": np.full(60_000, 4.0), "y": np.full(60_000, 1.0)})
    again = Plan.from_dict({"private": _blocks(*plan), "output": {"order": "keep"}})
    reports = release(rows, again, randomness=Randomness.seeded(2)).to_arrow()
    read = BothColumns([one.source.readers[0] for one in pair])
    values, _ = read.encode(lambda name: reports[name].combine_chunks(), slice(0, 60_000))
    products = scores.products(values)
    x, y = (truth - one.scores.centre for truth, one in zip((4.0, 1.0), pair, strict=True))
    expected = np.array([[x ** (a + c) * y ** (b + d) for c, d in POWERS] for a, b in POWERS])
    error = products.std(axis=0) / np.sqrt(len(products))
    assert (np.abs(products.mean(axis=0) - expected) < 6 * error + 1e-3 * np.abs(expected).max()).all()
    np.testing.assert_allclose(products, products.transpose(0, 2, 1))


def _blocks(first, second, together=None):
    if together:
        return [{"columns": ["x", "y"], **together}]
    return [{"columns": ["x"], **first}, {"columns": ["y"], **second}]


def test_a_correction_that_correlations_cannot_make_is_said():
    """Numbers whose noise has no exact records go together in their squares: a note, and the larger error."""
    private = two_columns(None, None, {**BOTH, "zero_probability": 0.0})(1)
    ours = estimate.correlation(private, "x", "y", fpc=0.5)
    assert any("not used for these columns" in note for note in ours.notes)
    assert ours.std_error == estimate.correlation(private, "x", "y").std_error


def test_tests_of_independence_say_that_they_do_without():
    """They ask how the population came about; the error of every cell is corrected, the test is not."""
    data = sample()
    aside = {key: data[key] for key in ("weights", "strata", "clusters")} | {"fpc": data["population"]}
    other = np.arange(data["reports"].size) % 2
    table = estimate.crosstab_of_reports(data["reports"], other, ASKED, None, **aside)
    test = table.chi_square()
    assert any("correction is not used in the test" in note for note in test.notes)
    plain = estimate.crosstab_of_reports(data["reports"], other, ASKED, None, **{**aside, "fpc": None})
    assert test.p_value == plain.chi_square().p_value
    assert not plain.chi_square().notes
    assert (table.std_error < plain.std_error).all()
