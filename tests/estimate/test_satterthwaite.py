"""Degrees of freedom of variances that are added up over strata."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import Randomness, estimate
from discreet.estimate.sampling.degrees_of_freedom import degrees_of_strata
from discreet.mechanisms import GeneralizedResponse

ASKED = GeneralizedResponse(3, 2.0)
NUMBERS = np.array([0.0, 1.0, 5.0])


def test_one_stratum_has_its_own_degrees():
    """A single stratum of m units has m − 1, whatever the variance."""
    assert degrees_of_strata(np.array([3.7]), np.array([12]), 11.0) == pytest.approx(11)


def test_a_small_stratum_with_most_of_the_variance_decides():
    """Two units that make nearly all of it leave one degree of freedom, however many others there are."""
    units = np.array([2, 500])
    assert degrees_of_strata(np.array([1.0, 1e-6]), units, 500.0) == pytest.approx(1, abs=1e-3)
    assert degrees_of_strata(np.array([1e-6, 1.0]), units, 500.0) == pytest.approx(499, rel=0.01)
    assert degrees_of_strata(np.zeros(2), units, 500.0) == 500


def test_it_is_right_on_average():
    """The variance of normal samples in strata: 2V²/Var(v) is met by the mean of v²/D − 2 within a few per cent."""
    rng = np.random.default_rng(2)
    units, V = np.array([2, 3, 5, 9, 30]), np.array([4.0, 1.0, 2.0, 0.5, 3.0])
    v = V * rng.chisquare(units - 1, (200_000, 5)) / (units - 1)
    exact = V.sum() ** 2 / np.sum(V**2 / (units - 1))
    spread = np.mean(np.sum(v**2 / (units + 1), axis=1))
    assert (np.mean(v.sum(axis=1) ** 2) / spread - 2) == pytest.approx(exact, rel=0.02)
    assert np.var(v.sum(axis=1)) == pytest.approx(2 * V.sum() ** 2 / exact, rel=0.02)


def sample(clustered):
    """People in three strata of 2, 4 and 20 units, and weights."""
    rng = np.random.default_rng(4)
    stratum = np.repeat([0, 1, 2], [2, 4, 20])
    size = 6 if clustered else 1
    strata, unit = np.repeat(stratum, size), np.repeat(np.arange(26), size)
    reports = ASKED.privatize(rng.integers(0, 3, strata.size), Randomness.seeded(3))
    return reports, rng.uniform(1, 4, strata.size) * np.array([10, 3, 1])[strata], strata, unit


@pytest.mark.parametrize("clustered", [True, False])
def test_means_and_frequencies_by_hand(clustered):
    """The variances of the strata are those of the linearised values, in loops."""
    reports, weights, strata, unit = sample(clustered)
    aside = {"weights": weights, "strata": strata} | ({"clusters": unit} if clustered else {})
    mean = estimate.mean(reports, ASKED, labels=NUMBERS.tolist(), **aside)
    frequencies = estimate.frequencies(reports, ASKED, **aside)
    scores = (ASKED.inverse.as_matrix().T @ NUMBERS)[reports]
    for found, values in (
        (mean.degrees_of_freedom[0], (scores - float(mean))[:, None]),
        (frequencies.spread.degrees_of_freedom, np.eye(3)[reports] - frequencies.evidence.shares),
    ):
        u = weights[:, None] * values
        by_stratum, units = [], []
        for h in range(3):
            sums = np.array([u[unit == c].sum(axis=0) for c in np.unique(unit[strata == h])])
            m = len(sums)
            by_stratum.append(m / (m - 1) * np.sum((sums - sums.mean(axis=0)) ** 2))
            units.append(m)
        v, m = np.array(by_stratum), np.array(units)
        expected = np.clip(v.sum() ** 2 / np.sum(v**2 / (m + 1)) - 2, 1, m.sum() - 3)
        assert found == pytest.approx(expected, rel=1e-9)
        assert found < m.sum() - 3


def test_few_clusters_in_a_large_stratum_are_covered():
    """Strata of 8, 6, 4 and 2 clusters of which each stands for as many: 16 degrees of freedom would cover too little.

    600 runs: below .91 has a chance of 1e-5 at a coverage of .95, and the seeds are fixed.
    """
    rng = np.random.default_rng(6)
    sizes = [8, 6, 4, 2]
    strata = np.repeat(np.arange(4), sizes)
    weights = (1 / np.array(sizes))[strata]
    ours = usual = 0
    for _ in range(600):
        x = rng.normal(size=20)
        found = estimate.mean(x, weights=weights, strata=strata, clusters=np.arange(20))
        low, high = found.interval()[0]
        ours += low <= 0 <= high
        usual += abs(float(found)) <= 2.1199 * found.std_error[0]  # t with 16 degrees of freedom
    assert ours / 600 > 0.91
    assert usual / 600 < 0.92
