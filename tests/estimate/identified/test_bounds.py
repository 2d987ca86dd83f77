"""Ranges of frequencies that the channel does not identify: they cover, and say what cannot be learned."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import EstimationError, Grid, NotIdentifiedError, Ordinal, Randomness, design, domains, estimate
from discreet.estimate.bounds import Identified, Possible, share_region
from discreet.estimate.sampling.weighted_counts import Evidence
from discreet.mechanisms import BipartiteResponse, ChannelResponse, GeneralizedResponse

LINE = BipartiteResponse(6, 3, 2.0)


def simulated(mechanism, frequencies, n, seed):
    """Counts of reports from n people."""
    return np.random.default_rng(seed).multinomial(n, frequencies @ mechanism.matrix())


def inside(bounds, frequencies):
    """Whether all true frequencies lie in their ranges."""
    return bool(np.all((bounds[:, 0] <= frequencies + 1e-9) & (frequencies - 1e-9 <= bounds[:, 1])))


def test_a_singular_channel_still_refuses_a_point_and_says_what_to_do():
    """The error names the values and the method that gives ranges."""
    with pytest.raises(NotIdentifiedError, match='method="bounds"'):
        estimate.frequencies(counts=[10] * 6, mechanism=LINE)


def test_identified_range_is_what_remains_at_exact_shares():
    """Values at the ends share a row: each can be anything from zero to their sum; the inner ones are points."""
    truth = np.array([0.1, 0.2, 0.3, 0.1, 0.2, 0.1])
    shares = truth @ LINE.matrix()
    programme = Identified(truth, LINE.matrix())
    ranges = np.array([programme.range(row) for row in np.eye(6)])
    assert np.allclose(ranges, [[0, 0.3], [0, 0.3], [0.3, 0.3], [0.1, 0.1], [0, 0.3], [0, 0.3]], atol=1e-9)
    moved = np.array([0.3, 0.0, 0.3, 0.1, 0.0, 0.3])
    assert np.allclose(moved @ LINE.matrix(), shares)


def test_ranges_shrink_to_the_identified_ones_as_people_report():
    """With more and more people only the part that the channel hides remains."""
    truth = np.array([0.1, 0.2, 0.3, 0.1, 0.2, 0.1])
    widths = []
    for n in (10**3, 10**5, 10**9):
        counts = np.round(n * truth @ LINE.matrix()).astype(int)
        result = estimate.frequencies(counts=counts, mechanism=LINE, method="bounds")
        bounds = result.bounds()
        assert inside(bounds, truth)
        assert np.all(bounds[:, 0] <= result.identified[:, 0] + 1e-6)
        assert np.all(bounds[:, 1] >= result.identified[:, 1] - 1e-6)
        widths.append((bounds[:, 1] - bounds[:, 0]).sum())
    assert widths[0] > widths[1] > widths[2]
    assert widths[2] == pytest.approx(1.2, abs=1e-2)


@pytest.mark.parametrize("target", ["population", "table"])
@pytest.mark.parametrize("n", [60, 2_000])
def test_all_ranges_cover_at_once(n, target):
    """At least 95 % of simulated surveys have every true frequency inside, and a region that is too small misses.

    Decided exactly for the frequencies: they all lie inside when their report shares lie in the region.
    """
    mechanism = BipartiteResponse(5, 2, 1.0)
    rng = np.random.default_rng(11)
    Q = mechanism.matrix()
    truth = np.array([0.55, 0.05, 0.2, 0.0, 0.2])
    runs, covered, narrow = 4_000, 0, 0
    people = np.repeat(np.arange(5), np.round(n * truth).astype(int))
    for _ in range(runs):
        if target == "population":
            counts = rng.multinomial(n, truth @ Q)
        else:
            counts = sum(rng.multinomial(k, Q[x]) for x, k in enumerate(np.bincount(people, minlength=5)))
        evidence = Evidence(np.asarray(counts))
        covered += share_region(evidence, target, 0.95).contains(truth @ Q)
        narrow += share_region(evidence, target, 0.3).contains(truth @ Q)
    assert covered / runs > 0.95 - 5 * math.sqrt(0.05 * 0.95 / runs)
    assert covered / runs >= 0.95
    assert narrow < covered


def test_ranges_from_linear_programmes_cover():
    """The same through the whole function, frequencies, mean and median, in simulated surveys."""
    domain = Ordinal(range(4))
    mechanism = BipartiteResponse(4, 2, 1.5)
    truth = np.array([0.4, 0.1, 0.2, 0.3])
    missed = 0
    for seed in range(60):
        counts = simulated(mechanism, truth, 400, seed)
        result = estimate.frequencies(counts=counts, mechanism=mechanism, labels=domain, method="bounds")
        mean, median = result.mean(), result.quantile(0.5)
        good = inside(result.bounds(), truth)
        good &= mean.low - 1e-9 <= truth @ np.arange(4) <= mean.high + 1e-9
        good &= median.low <= 1 <= median.high
        missed += not good
    assert missed <= 3  # 5 % would be 3; the region is conservative


def test_the_mean_of_numbers_is_in_their_units():
    """Months 1 to 12: the range of the mean is that of the numbers, one above that of the codes; also when reopened."""
    mechanism = BipartiteResponse(12, 2, 3.0)
    counts = simulated(mechanism, np.eye(12)[6], 2000, 1)
    months = Ordinal(range(1, 13))
    for labels in (months, domains.from_dict(months.to_dict())):
        mean = estimate.frequencies(counts=counts, mechanism=mechanism, labels=labels, method="bounds").mean()
        assert mean.low <= 7 <= mean.high
        assert mean.low > 6.1
    codes = estimate.frequencies(counts=counts, mechanism=mechanism, labels=list(range(12)), method="bounds").mean()
    assert mean.low == pytest.approx(codes.low + 1, abs=1e-6)


@given(st.integers(0, 10**6), st.integers(2, 7), st.integers(2, 7))
@settings(max_examples=25, deadline=None)
def test_the_region_gives_ranges_that_contain_every_distribution_in_it(seed, truths, reports):
    """Any f whose shares lie in the region lies in the ranges, for frequencies and any linear function."""
    rng = np.random.default_rng(seed)
    Q = rng.dirichlet(np.ones(reports), truths)
    f = rng.dirichlet(np.ones(truths))
    counts = rng.multinomial(500, f @ Q)
    region = share_region(Evidence(counts), "population", 0.95)
    if not region.contains(f @ Q):
        return
    programme = Possible(Q, region)
    for scores in [*np.eye(truths), rng.normal(size=truths)]:
        low, high = programme.range(scores)
        assert low - 1e-6 <= scores @ f <= high + 1e-6


def test_mean_and_quantiles_with_their_identified_range():
    """On a grid the mean is in the units of the grid; ends of quantiles are values of the domain."""
    domain = Grid(0, 10, 6)
    found = design.bipartite(domain, 2.0)
    truth = np.array([0.05, 0.15, 0.4, 0.2, 0.1, 0.1])
    reports = found.mechanism.privatize(np.random.default_rng(1).choice(6, 50_000, p=truth), Randomness.seeded(5))
    result = estimate.frequencies(reports, found.mechanism, labels=domain, method="bounds")
    mean = result.mean()
    assert mean.low <= mean.identified[0] <= mean.identified[1] <= mean.high
    assert mean.low <= truth @ domain.positions <= mean.high
    median = result.quantile(0.5)
    assert median.low <= 4.0 <= median.high
    assert result.functional(np.ones(6)).low == pytest.approx(1, abs=1e-6)
    assert "identified range" in mean.summary()
    json.dumps([mean.to_dict(), median.to_dict()])


def test_an_identified_channel_gives_ranges_around_the_unbiased_estimate():
    """Nothing is hidden there: the identified range is a point, and a note names the sharper method."""
    mechanism = GeneralizedResponse(3, 2.0)
    counts = simulated(mechanism, np.array([0.5, 0.3, 0.2]), 20_000, 3)
    result = estimate.frequencies(counts=counts, mechanism=mechanism, method="bounds")
    unbiased = estimate.frequencies(counts=counts, mechanism=mechanism)
    assert np.allclose(result.identified[:, 0], unbiased.estimate, atol=1e-6)
    assert np.allclose(result.identified[:, 1], unbiased.estimate, atol=1e-6)
    wider = unbiased.interval(0.95, "simultaneous")
    assert np.all(result.bounds()[:, 0] <= wider[:, 0] + 0.01)
    assert any("unbiased" in note for note in result.notes)


def test_reports_that_contradict_the_design_give_empty_ranges():
    """No distribution leads to so many of a rare report."""
    mechanism = ChannelResponse([["9/10", "1/10"], ["9/10", "1/10"], ["8/10", "2/10"]])
    result = estimate.frequencies(counts=[10, 990], mechanism=mechanism, method="bounds")
    assert np.all(np.isnan(result.bounds()))
    assert "contradict" in result.summary()
    assert result.mean().empty
    assert "contradict" in result.mean().summary()
    assert result.quantile(0.5).empty


def test_results_read_and_write():
    """Summary, plain data and repr; printing twice solves once."""
    result = estimate.frequencies(
        counts=[80, 90, 100, 90, 75, 65], mechanism=LINE, labels=list("abcdef"), method="bounds"
    )
    assert "identified range" in result.summary()
    data = json.loads(json.dumps(result.to_dict()))
    assert data["kind"] == "frequency bounds"
    assert len(data["interval"]["low"]) == 6
    assert result.bounds() is result.bounds()
    assert np.array_equal(result.interval(0.95), result.bounds(0.95))
    assert np.all(np.isnan(result.std_error))
    assert "500" in repr(result)
    with pytest.raises(ValueError, match="read-only"):
        result.bounds()[0, 0] = 2
    with pytest.raises(EstimationError, match="positions"):
        result.mean()
    assert result.mean(positions=range(6)).low < 3.5


def test_weighted_reports_use_the_effective_size():
    """Survey weights make the ranges wider than the same counts without."""
    rng = np.random.default_rng(2)
    reports = LINE.privatize(rng.integers(0, 6, 3_000), Randomness.seeded(3))
    weights = rng.exponential(size=3_000)
    plain = estimate.frequencies(reports, LINE, method="bounds").mean().high
    weighted = estimate.frequencies(reports, LINE, weights=weights, method="bounds")
    assert weighted.mean().high - weighted.mean().low > 0
    assert not np.any(np.isnan(weighted.bounds()))
    assert plain > 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: estimate.frequencies(counts=[0] * 6, mechanism=LINE, method="bounds"), "n = 0"),
        (
            lambda: estimate.frequencies(
                np.zeros(4, int), {"a": LINE, "b": LINE}, designs=["a", "b", "a", "b"], method="bounds"
            ),
            "one design",
        ),
        (
            lambda: estimate.frequencies(np.zeros(4, int), BipartiteResponse(2000, 5, 1.0), method="bounds"),
            "1,024",
        ),
        (lambda: estimate.frequencies(counts=[1] * 6, mechanism=LINE, method="bounds").quantile(1.5), "quantile"),
        (lambda: estimate.frequencies(counts=[1] * 6, mechanism=LINE, method="bounds").bounds(95), "level"),
        (lambda: estimate.frequencies(counts=[1] * 6, mechanism=LINE, method="bounds").functional([1]), "scores"),
        (
            lambda: estimate.frequencies(counts=[1] * 6, mechanism=LINE, method="bounds").interval(method="wald"),
            'must be "bounds"',
        ),
    ],
)
def test_bad_input_is_refused(call, message):
    """One clear sentence each."""
    with pytest.raises(EstimationError, match=message):
        call()
