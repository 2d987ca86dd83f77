"""Quantiles and correlations: inverted tests, and moments of debiased answers."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from discreet import Box, EstimationError, Grid, Ordinal, Randomness, estimate, release
from discreet.domains import WithBlank
from discreet.estimate import Range, Ranges, correlation, frequencies, quantile
from discreet.estimate.intervals.woodruff import Distribution
from discreet.estimate.means.box_scores import BoxScores
from discreet.estimate.means.correlations import _fieller
from discreet.estimate.proportions.functionals import frequency_distribution
from discreet.mechanisms import ChannelResponse, GeneralizedResponse
from discreet.mechanisms.laplace import ZeroInflatedLaplace

N = 2000
RNG = np.random.default_rng(6)
Z95 = 1.959963984540054


def test_a_public_quantile_is_the_usual_one_with_the_score_interval_of_a_share():
    """The ends are order statistics: the values at which the score test of F(t) = p turns."""
    x = RNG.normal(size=N)
    found = quantile(x, None, 0.3)
    assert float(found) == np.sort(x)[int(np.ceil(0.3 * N)) - 1]
    F = np.arange(1, N + 1) / N
    reach = Z95 * np.sqrt(0.3 * 0.7 / N)
    low, high = np.sort(x)[np.flatnonzero(F + reach >= 0.3)[0]], np.sort(x)[np.flatnonzero(F - reach >= 0.3)[0]]
    np.testing.assert_array_equal(found.interval(), [[low, high]])


def test_weights_strata_and_clusters_are_in_the_tests():
    """Every answer four times over, as a cluster: the interval is that of a quarter of the rows."""
    x = np.random.default_rng(3).normal(size=500)
    single, repeated = (
        quantile(x, None, 0.5),
        quantile(np.repeat(x, 4), None, 0.5, clusters=np.repeat(np.arange(500), 4)),
    )
    assert float(single) == float(repeated)
    ratio = np.diff(repeated.interval()) / np.diff(single.interval())
    assert 0.85 < ratio.item() < 1.2
    weighted = quantile(x, None, 0.5, weights=np.where(x > 0, 3.0, 1.0))
    order = np.argsort(x)
    w = np.where(x > 0, 3.0, 1.0)[order]
    assert float(weighted) == x[order][np.searchsorted(np.cumsum(w), w.sum() / 2)]


def test_the_variance_at_each_threshold_is_that_of_the_frequencies():
    """Away from sampling under the null, it is c'Cov c for the indicator of the values up to there."""
    asked = GeneralizedResponse(6, 1.0)
    reports = asked.privatize(RNG.choice(6, N, p=[0.1, 0.2, 0.3, 0.2, 0.1, 0.1]), Randomness.seeded(2))
    for aside in ({}, {"weights": RNG.uniform(1, 2, N)}, {"target": "table"}, {"clusters": RNG.integers(0, 80, N)}):
        f = frequencies(reports, asked, **aside)
        found = frequency_distribution(f, np.arange(6.0), 0.4)
        for place in range(5):
            c = (np.arange(6) <= place).astype(float)
            F = c @ f.estimate
            expected = c @ f.covariance @ c
            if f.target == "population":
                expected += (0.24 - F * (1 - F)) / f.evidence.kish
            assert found.variances(np.array([place]))[0] == pytest.approx(expected, rel=1e-9)
            assert found.excess[place] == pytest.approx(F - 0.4)
        np.testing.assert_array_equal(f.quantile(0.4).interval(), quantile(reports, asked, 0.4, **aside).interval())


def test_a_band_that_goes_up_and_down_crosses_where_its_middle_does():
    """A noisy distribution function may cross p several times: its first crossing is too far out, by chance alone."""
    excess = np.array([-0.5, -0.01, -0.3, 0.02, -0.02, 0.3, 0.5])
    wavy = Distribution(values=np.arange(7.0), excess=excess, variances=lambda places: np.full(places.size, 0.05**2))
    assert wavy.interval(2.0) == (3.0, 5.0)
    assert wavy.estimate in (3.0, 4.0, 5.0)
    steady = Distribution(
        values=np.arange(3.0), excess=np.array([-0.4, 0.1, 0.5]), variances=lambda p: np.zeros(p.size)
    )
    assert (steady.estimate, steady.interval(2.0)) == (1.0, (1.0, 1.0))


@pytest.mark.parametrize("size", [50, 3000])
def test_many_values_are_searched_by_halving(size):
    """Above a thousand values the ends come from halving, and are the same as by trying each."""
    values, excess = np.arange(float(size)), np.linspace(-0.5, 0.5, size)
    one = Distribution(values=values, excess=excess, variances=lambda places: np.full(places.size, 0.04**2))
    low, high = one.interval(2.0)
    assert low == values[np.flatnonzero(excess >= -0.08)[0]]
    assert high == values[np.flatnonzero(excess >= 0.08)[0]]


def test_intervals_cover_a_column_with_many_values():
    """A grid of 60 points under ε = 3, at 95 %, 200 runs: between 88 and 100; half the noise would be noticed."""
    asked, grid = GeneralizedResponse(60, 3.0), Grid(0, 59, 60)
    f = np.exp(-((np.arange(60) - 25.0) ** 2) / 200)
    f /= f.sum()
    truth = float(np.searchsorted(np.cumsum(f), 0.7))
    shares, rng = f @ asked.matrix(), np.random.default_rng(12)
    covered = narrow = 0
    for _ in range(200):
        result = frequencies(counts=rng.multinomial(4000, shares), mechanism=asked, labels=grid).quantile(0.7)
        low, high = result.interval()[0]
        covered += low <= truth <= high
        low, high = result.distributions[0].interval(Z95 / 2)
        narrow += low <= truth <= high
    assert covered >= 176
    assert narrow < 170  # the same check fails for intervals that are half as long


def test_ordered_words_keep_their_names():
    """A median of bands is a band; its place on the line is the number."""
    asked = GeneralizedResponse(3, 6.0)
    bands = Ordinal(["low", "middle", "high"])
    found = quantile(np.repeat([0, 1, 2], [100, 300, 100]), asked, labels=bands)
    assert found.labels == ["middle"]
    assert float(found) == 1.0
    assert "middle to middle" in str(found)
    blank = quantile(
        np.repeat([0, 1, 2, 3], [100, 300, 100, 1000]), GeneralizedResponse(4, 6.0), labels=WithBlank(bands)
    )
    assert blank.labels == ["middle"]


def test_numbers_in_a_box_are_corrected_for_the_noise():
    """The corrected distribution function crosses p at the true quantile, where that of the reports does not."""
    noise = ZeroInflatedLaplace(Box([0], [10]), 3.0, 0.3)
    truth = 10 * RNG.beta(1, 4, (20_000, 1))
    reports = noise.privatize(truth, Randomness.seeded(3))
    found = quantile(reports, noise, 0.9)
    low, high = found.interval(0.9999)[0]
    assert low < np.quantile(truth, 0.9) < high
    assert not low < np.quantile(reports, 0.9) < high
    group = np.where(truth[:, 0] < 2, "young", "old")
    parts = quantile(reports, noise, 0.5, by=group)
    assert abs(parts["young"].estimate[0] - np.median(truth[group == "young"])) < 5 * parts["young"].std_error[0]
    assert parts.compare("old", "young").p_values[0] < 1e-6
    with pytest.raises(EstimationError, match="published exactly"):
        quantile(reports, ZeroInflatedLaplace(Box([0], [10]), 3.0, 0.0), 0.5)


def test_whole_numbers_on_a_coarse_grid_have_whole_quantiles():
    """Reports on the grid of the data: thresholds are the values themselves."""
    noise = ZeroInflatedLaplace(Box([0], [10]), 2.0, 0.3, grid=1.0)
    truth = RNG.binomial(10, 0.3, (20_000, 1)).astype(float)
    found = quantile(noise.privatize(truth, Randomness.seeded(4)), noise, 0.6)
    assert float(found) == float(np.quantile(truth, 0.6, method="inverted_cdf"))
    assert set(np.mod(found.interval(), 1).ravel()) == {0.0}


def test_too_few_rows_leave_an_end_open():
    """Ten rows do not bound the quantile at 99 %: the end is infinite, with a note, and null in plain data."""
    found = quantile(RNG.normal(size=10), None, 0.99)
    assert np.isinf(found.interval()[0, 1])
    assert any("infinite" in note for note in found.notes)
    assert found.to_dict()["interval"]["high"] == [None]
    constant = quantile(np.ones(5000), None, 0.5)
    np.testing.assert_array_equal(constant.interval(), [[1.0, 1.0]])


def test_values_that_are_not_told_apart_have_a_range():
    """Where the channel merges values, the quantile is the range over all distributions that go with the reports."""
    merged = ChannelResponse([["3/4", "1/4"], ["3/4", "1/4"], ["1/4", "3/4"]])
    found = quantile(RNG.integers(0, 2, 500), merged, 0.5)
    assert isinstance(found, Range)
    reports, groups = RNG.integers(0, 2, 500), RNG.integers(0, 2, 500)
    by_group = quantile(reports, merged, 0.5, by=groups)
    assert isinstance(by_group, Ranges)
    assert list(by_group) == [0, 1]
    for group in (0, 1):
        alone = quantile(reports[groups == group], merged, 0.5)
        assert by_group[group].identified == alone.identified
        np.testing.assert_array_equal(by_group[group].interval(), alone.interval())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: quantile([1.0, 2.0], None, 0.0), "above 0 and below 1"),
        (lambda: quantile([1.0, 2.0], None, 1.5), "above 0 and below 1"),
        (lambda: quantile([1.0, 2.0], None, "half"), "above 0 and below 1"),
        (lambda: quantile([0, 1], GeneralizedResponse(3, 1.0), labels=["a", "b", "c"]), "values without numbers"),
        (lambda: quantile([0, 1], GeneralizedResponse(3, 1.0), positions=[1, 1, 2]), "same number"),
        (lambda: quantile(["a"], None), "must hold numbers"),
        (lambda: quantile([], None), "n = 0"),
        (lambda: quantile([0, 1], "hours"), "needs a release"),
        (
            lambda: quantile([1.0] * 9, None, clusters=[0] * 3 + [1] * 6, by=[0, 1, 1] * 3).compare(0, 1),
            "share clusters",
        ),
        (lambda: quantile([1.0, 2.0], None).interval(method="wald"), "woodruff"),
        (lambda: correlation([1, 2], "a", "b"), "takes a release"),
    ],
)
def test_bad_input(call, message):
    """One sentence that says what is wrong and what to do."""
    with pytest.raises(EstimationError, match=message):
        call()


@pytest.fixture(scope="module")
def pairs():
    """Two yes/no columns with correlation one half, in two blocks and in one joint block; two numbers in a box."""
    n, rng = 20_000, np.random.default_rng(10)
    a = rng.random(n) < 0.3
    b = np.where(rng.random(n) < 0.5, a, rng.random(n) < 0.3)
    x = rng.uniform(-2, 2, n)
    y, names = 0.6 * x + 0.8 * rng.uniform(-2, 2, n), np.array(["no", "yes"])
    own = {"a": a, "b": b, "c": a, "d": b, "x": x, "y": y, "z": y + rng.normal(size=n)}
    columns = {k: names[v * 1] if v.dtype == bool else v for k, v in own.items()}
    asked, yes = {"mechanism": "randomized-response", "epsilon": 2.0}, {"binary": ["no", "yes"]}
    noise = {"mechanism": "zero-inflated-laplace", "epsilon": 6.0, "delta": 0.3, "zero_probability": 0.2}
    plan = {
        "public": [{"columns": ["z"]}],
        "private": [
            {"columns": ["a"], "domain": yes, **asked},
            {"columns": ["b"], "domain": yes, **asked},
            {"columns": ["c", "d"], "domains": [yes, yes], "mechanism": "joint", "epsilons": [2.0, 2.0]},
            {"columns": ["x", "y"], "domain": {"box": {"low": [-4, -4], "high": [4, 4]}}, **noise},
        ],
    }
    return release(pa.table(columns), plan, randomness=Randomness.seeded(11)), own


@pytest.mark.parametrize(("first", "second"), ["ab", "cd", "ad", "xy", "xz", "ax", "az"])
def test_correlations_are_those_of_the_truths(pairs, first, second):
    """Independent blocks, one joint block, a box, and public columns: within five standard errors, and not naive."""
    private, own = pairs
    found = correlation(private, first, second)
    truth = np.corrcoef(own[first], own[second])[0, 1]
    assert abs(float(found) - truth) < 5 * found.std_error[0]
    assert found.std_error[0] < 0.2
    low, high = found.interval()[0]
    assert -1 <= low < float(found) < high <= 1


def test_numbers_of_one_box_under_strong_noise():
    """Exact records are exact in both columns: the product is corrected as one; a product of scores would be off."""
    n, rng = 20_000, np.random.default_rng(12)
    x = rng.uniform(-1, 1, n)
    y = 0.6 * x + 0.4 * rng.uniform(-1, 1, n)
    numbers = {"domain": {"box": {"low": [-1, -1], "high": [1, 1]}}, "mechanism": "zero-inflated-laplace"}
    plan = {"private": [{"columns": ["x", "y"], "epsilon": 2.0, "delta": 0.3, "zero_probability": 0.2, **numbers}]}
    private = release(pa.table({"x": x, "y": y}), plan, randomness=Randomness.seeded(12))
    found = correlation(private, "x", "y")
    assert abs(float(found) - np.corrcoef(x, y)[0, 1]) < 5 * found.std_error[0]
    assert found.std_error[0] < 0.1
    table, block = private.to_arrow(), private.manifest.blocks[0]
    single = [
        BoxScores(block.mechanism.coordinates([j]), None).of(table[c].to_numpy(), 0)[:, 0] for j, c in enumerate("xy")
    ]
    product = single[0] * single[1]
    assert abs(product.mean() - np.mean(x * y)) > 6 * product.std() / np.sqrt(n)


def test_two_yes_no_columns_have_the_correlation_of_their_table(pairs):
    """For two blocks it is φ of the corrected cross-table."""
    private, _ = pairs
    F = estimate.crosstab(private, "a", "b").estimate
    phi = (F[1, 1] - F[1].sum() * F[:, 1].sum()) / np.sqrt(F[0].sum() * F[1].sum() * F[:, 0].sum() * F[:, 1].sum())
    assert float(correlation(private, "a", "b")) == pytest.approx(phi)
    with pytest.raises(EstimationError, match="two different"):
        correlation(private, "a", "a")


@pytest.mark.parametrize("seed", range(40))
def test_fiellers_interval_is_what_the_test_accepts(seed):
    """By trying every correlation: one piece, the whole line, two pieces (their hull) or nothing."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(2, 2)) * rng.choice([0.05, 0.3, 1.0])
    moments, covariance = np.array([rng.normal(), rng.uniform(0.1, 1)]), root @ root.T
    rho = np.linspace(-1, 1, 20_001)
    variance = covariance[0, 0] - 2 * rho * covariance[0, 1] + rho**2 * covariance[1, 1]
    accepted = rho[(moments[0] - rho * moments[1]) ** 2 <= Z95**2 * variance]
    low, high = _fieller(moments, covariance, Z95)
    if accepted.size:
        np.testing.assert_allclose([low, high], [accepted[0], accepted[-1]], atol=1.1e-4)
    else:
        assert np.isnan(low) or high - low < 1e-4
