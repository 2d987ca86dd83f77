"""Batches and arrays give the same fit."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from discreet import EstimationError
from discreet.estimate.regressions.likelihood import Batch, binary_regression, binary_regression_batches

from .simulated import rows

N = 50_000


def data(n=N):
    mode = np.arange(n) % 3
    p00, p11 = np.array([0.8, 0.25, 0.9])[mode], np.array([0.7, 0.25, 0.9])[mode]
    X, y, _ = rows(n, p00, p11, seed=30)
    chance = np.random.default_rng(1)
    return X, y, p00, p11, chance.random(n) + 0.5, chance.normal(size=n) / 5, chance.integers(0, 300, n)


def cut(columns, sizes):
    edges = np.cumsum([0, *sizes])
    return [Batch(*(c[a:b] for c in columns)) for a, b in pairwise(edges)]


@pytest.mark.parametrize("n", [4000, N])
def test_streaming_equals_memory(n):
    """Uneven batches, an empty one among them: coefficients and covariances agree to 1e-10."""
    columns = data(n)
    whole = binary_regression(*columns[:4], weights=columns[4], offset=columns[5], clusters=columns[6])
    batches = cut(columns, [1, 0, n // 3, 700, n - 701 - n // 3])
    fit = binary_regression_batches(lambda: iter(batches))
    np.testing.assert_allclose(fit.coefficients, whole.coefficients, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(fit.covariance, whole.covariance, rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(fit.log_likelihood, whole.log_likelihood, rtol=1e-12)
    assert fit.names == whole.names
    assert fit.n == n
    np.testing.assert_allclose(fit.marginal_effects().estimate, whole.marginal_effects().estimate, rtol=1e-9)


def test_few_passes_suffice():
    """At most 15 passes, starts included, at every strength of the randomisation."""
    for epsilon in (0.1, 1.0, 4.0):
        p = 1 / (1 + np.exp(-epsilon))
        X, y, _ = rows(N, p, p, seed=31)
        counted = []

        def batches(X=X, y=y, p=p, counted=counted):
            counted.append(1)
            return [Batch(X[i : i + 9000], y[i : i + 9000], p, p) for i in range(0, N, 9000)]

        fit = binary_regression_batches(batches)
        assert fit.converged
        assert len(counted) <= 15
        assert fit.passes <= 15


def test_batches_must_come_back_the_same():
    """A generator that is exhausted after one pass is recognised, and bad rows are counted over batches."""
    X, y, *_ = data(4000)
    batches = [Batch(X[:2000], y[:2000], 0.8, 0.8), Batch(X[2000:], y[2000:], 0.8, 0.8)]
    shrinking = iter([batches, batches, batches[:1], batches[:1], batches[:1]])
    with pytest.raises(EstimationError, match="4,000 rows on the first pass and 2,000"):
        binary_regression_batches(lambda: next(shrinking))
    bad = [batches[0], Batch(X[2000:], np.where(np.arange(2000) == 7, 2, y[2000:]), 0.8, 0.8)]
    with pytest.raises(EstimationError, match="y: row 2007"):
        binary_regression_batches(bad)
    with pytest.raises(EstimationError, match="in every batch or in none"):
        binary_regression_batches([batches[0], Batch(X, y, 0.8, 0.8, weights=np.ones(4000))])
    with pytest.raises(EstimationError, match="4 columns in every batch, not 3"):
        binary_regression_batches([batches[0], Batch(X[:, :3], y, 0.8, 0.8)])
    with pytest.raises(EstimationError, match="no batches"):
        binary_regression_batches([])
