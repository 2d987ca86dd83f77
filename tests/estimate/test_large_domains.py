"""Frequencies of large domains through cyclic block designs: right, with right errors, and without a k × k table."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet import EstimationError, Randomness, design, estimate
from discreet.estimate.sampling import share_covariance as spread_module
from discreet.mechanisms import CyclicResponse, SingerSet
from discreet.mechanisms.inverse import DenseInverse


@pytest.fixture(scope="module")
def million():
    """200,000 reports on a million values, of which the first are frequent."""
    k, n = 10**6, 200_000
    mechanism = CyclicResponse(k, 1.0)
    weights = 1 / np.arange(1, k + 1) ** 1.2
    truths = np.random.default_rng(1).choice(k, n, p=weights / weights.sum())
    return mechanism, truths, mechanism.privatize(truths, Randomness.seeded(2))


@pytest.fixture(scope="module")
def thousands():
    """100,000 reports on 30,000 equally frequent values, inside a design of 87,381."""
    mechanism = CyclicResponse(30_000, 1.0)
    truths = np.random.default_rng(1).integers(0, 30_000, 100_000)
    return mechanism, truths, mechanism.privatize(truths, Randomness.seeded(2))


def test_a_million_values_have_the_error_that_theory_says(million):
    """The mean squared error over all values is n·Var(0)/n, to five Monte Carlo errors; 3 % more would be noticed."""
    mechanism, truths, reports = million
    k, n = mechanism.size, truths.size
    result = estimate.frequencies(reports, mechanism)
    squared = n * np.mean((result.estimate - np.bincount(truths, minlength=k) / n) ** 2)
    theory = float(mechanism.answer_variance())
    assert abs(squared - theory) < 5 * theory * math.sqrt(2 / k)
    assert 5 * math.sqrt(2 / k) < 0.03
    assert result.estimate.sum() == pytest.approx(1, abs=1e-9)
    assert n * np.mean(result.std_error**2) == pytest.approx(theory, rel=1e-3)


def test_intervals_of_a_million_values_cover(million):
    """95 % intervals hold the share of 95 % of the values, and the frequent ones are found."""
    mechanism, _, reports = million
    weights = 1 / np.arange(1, mechanism.size + 1) ** 1.2
    result = estimate.frequencies(reports, mechanism)
    ends = result.interval()
    share = weights / weights.sum()
    assert np.mean((ends[:, 0] <= share) & (share <= ends[:, 1])) == pytest.approx(0.95, abs=0.003)
    assert set(np.argsort(result.estimate)[-3:]) <= set(range(8))


def test_weights_strata_and_clusters_at_any_size(thousands):
    """Equal weights give the plain errors; what needs a table per cluster says so."""
    mechanism, truths, reports = thousands
    plain = estimate.frequencies(reports, mechanism)
    weighted = estimate.frequencies(reports, mechanism, weights=np.full(truths.size, 2.0))
    assert np.allclose(weighted.estimate, plain.estimate, atol=1e-12)
    assert np.allclose(weighted.std_error, plain.std_error * math.sqrt(truths.size / (truths.size - 1)), rtol=1e-6)
    table = estimate.frequencies(reports, mechanism, target="table")
    positive = plain.estimate > 0
    assert np.all(table.std_error[positive] < plain.std_error[positive])
    clustered = estimate.frequencies(reports, mechanism, clusters=np.arange(truths.size) % 10_000)
    with pytest.raises(EstimationError, match="clusters"):
        _ = clustered.std_error


def test_sums_agree_with_the_written_out_covariance(monkeypatch):
    """For a design small enough for both: weights, strata, clusters and totals, by sums and by matrices."""
    mechanism = CyclicResponse(30, 1.0, design=SingerSet(3, 1, 3))
    rng = np.random.default_rng(4)
    reports = mechanism.privatize(rng.integers(0, 30, 4_000), Randomness.seeded(3))
    designs = [
        {"weights": rng.uniform(0.5, 2, 4_000)},
        {"weights": rng.uniform(0.5, 2, 4_000), "strata": rng.integers(0, 4, 4_000)},
        {"clusters": rng.integers(0, 50, 4_000), "strata": np.zeros(4_000, int)},
    ]
    for given in designs:
        by_matrix = estimate.frequencies(reports, mechanism, **given)
        expected, totals = by_matrix.std_error, by_matrix.totals().std_error
        with monkeypatch.context() as patch:
            patch.setattr(spread_module, "MAX_COVARIANCE", 10)
            by_sums = estimate.frequencies(reports, mechanism, **given)
            assert np.allclose(by_sums.std_error, expected, rtol=1e-9)
            assert np.allclose(by_sums.totals().std_error, totals, rtol=1e-9)
            assert not np.allclose(by_sums.std_error, expected * 1.001, rtol=1e-9)


def test_covariance_of_a_domain_inside_a_larger_design():
    """1,400 values and 5,461 reports: the full matrix agrees with single entries worked out by hand."""
    mechanism = CyclicResponse(1_400, 1.0)
    assert mechanism.shape[1] == 5_461
    truths = np.random.default_rng(5).integers(0, 1_400, 20_000)
    result = estimate.frequencies(mechanism.privatize(truths, Randomness.seeded(5)), mechanism)
    assert np.allclose(np.sqrt(np.diag(result.covariance)), result.std_error, rtol=1e-9)
    assert np.abs(result.covariance.sum(axis=0)).max() < 1e-12  # frequencies that sum to one
    inside, shares = mechanism.shifts.indicator(), result.evidence.shares
    rows = np.stack([np.roll(inside, x) for x in (3, 700, 1_399)]).astype(float)
    everyone = np.stack([np.roll(inside, x) for x in range(1_400)]).mean(axis=0)
    dense = DenseInverse(mechanism.inverse.scale * (rows - everyone) + 1 / 1_400)
    expected = dense.covariance(shares) / 20_000
    assert np.allclose(result.covariance[np.ix_([3, 700, 1_399], [3, 700, 1_399])], expected, rtol=1e-8)
    table = estimate.frequencies(counts=result.evidence.counts, mechanism=mechanism, target="table")
    assert np.allclose(np.sqrt(np.diag(table.covariance)), table.std_error, rtol=1e-9)
    off = table.covariance[3, 700] - (result.covariance[3, 700] + result.estimate[3] * result.estimate[700] / 20_000)
    assert abs(off) < 1e-12


def test_chebyshev_and_margins_at_any_size(thousands):
    """Rigorous intervals and sample sizes need no table either, and are wider than normal ones."""
    mechanism, _, reports = thousands
    result = estimate.frequencies(reports, mechanism)
    assert np.all(result.interval_of(5, method="chebyshev")[1] >= result.interval_of(5)[1])
    half = design.margin(mechanism, 100_000)
    assert 1.96 * result.std_error.max() <= half <= 1.96 * result.std_error.max() * 1.3
    assert design.margin(mechanism, 100_000, prevalence=np.full(30_000, 1 / 30_000)) == pytest.approx(
        1.96 * result.std_error.mean(), rel=1e-2
    )


def test_what_needs_the_whole_matrix_is_refused(million):
    """Maximum likelihood and the full covariance name their limit and what works instead."""
    mechanism, _, reports = million
    with pytest.raises(EstimationError, match="unbiased estimate works at any size"):
        estimate.frequencies(reports, mechanism, method="mle")
    with pytest.raises(EstimationError, match="std_error and interval"):
        _ = estimate.frequencies(reports, mechanism).covariance


def test_maximum_likelihood_of_a_small_design():
    """Where the channel can be written out, everything that other channels have is there."""
    mechanism = CyclicResponse(9, 2.0, design=SingerSet(3, 1, 2))
    truths = np.random.default_rng(6).choice(9, 20_000, p=np.array([40, 20, 10, 10, 10, 5, 3, 2, 0]) / 100)
    reports = mechanism.privatize(truths, Randomness.seeded(6))
    mle, plain = (estimate.frequencies(reports, mechanism, method=method) for method in ("mle", "unbiased"))
    assert mle.estimate.min() >= 0
    assert np.abs(mle.estimate - plain.estimate).max() < 4 * plain.std_error.max()
    assert np.all(mle.std_error <= plain.std_error * 1.001)


def test_the_mean_of_a_large_domain_needs_no_matrix():
    """Scores of reports by one correlation: the same as through the frequencies, at any number of reports."""
    small, n = CyclicResponse(50, 1.0), 4_000
    reports = small.privatize(np.arange(n) % 50, Randomness.seeded(3))
    result = estimate.mean(reports, small, labels=list(range(50)))
    f = estimate.frequencies(reports, small)
    np.testing.assert_allclose(result.estimate, [np.arange(50) @ f.estimate], rtol=1e-9)
    np.testing.assert_allclose(result.std_error**2, [np.arange(50) @ f.covariance @ np.arange(50)], rtol=1e-9)
    large = CyclicResponse(100_000, 1.0)
    truths = np.random.default_rng(4).integers(0, 100_000, 200_000)
    wide = estimate.mean(large.privatize(truths, Randomness.seeded(5)), large, labels=range(100_000))
    assert abs(wide.estimate[0] - truths.mean()) < 6 * wide.std_error[0]
