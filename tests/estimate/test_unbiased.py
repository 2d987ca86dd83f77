"""The estimate is unbiased and its covariance is right: exactly, by enumerating every table of reports."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.estimate import frequencies
from discreet.mechanisms import BinaryResponse, ChannelResponse, GeneralizedResponse
from tests.estimate.enumeration import mean_and_covariance, report_tables, report_vectors

CHANNELS = {
    "warner": (BinaryResponse.warner("3/4"), [0.3, 0.7]),
    "crosswise": (BinaryResponse.crosswise("1/5"), [0.9, 0.1]),
    "mangat": (BinaryResponse.mangat("2/3"), [0.6, 0.4]),
    "generalised": (GeneralizedResponse(3, 1.0), [0.5, 0.3, 0.2]),
    "generalised by its matrix": (ChannelResponse(GeneralizedResponse(3, 1.0).weights()), [0.5, 0.3, 0.2]),
    "four reports": (ChannelResponse([["1/5", 0, "1/2", "3/10"], [0, "1/5", "3/10", "1/2"]]), [0.25, 0.75]),
    "ordered": (
        ChannelResponse([["1/2", "1/3", "1/6"], ["1/4", "1/2", "1/4"], ["1/6", "1/3", "1/2"]]),
        [0.2, 0.3, 0.5],
    ),
    "a report nobody gives": (ChannelResponse([["2/3", 0, "1/3"], ["1/3", 0, "2/3"]]), [0.4, 0.6]),
}


@pytest.fixture(params=CHANNELS)
def channel(request):
    mechanism, truth = CHANNELS[request.param]
    return mechanism, np.array(truth)


@pytest.mark.parametrize("n", [1, 4])
def test_population_mean_and_covariance_by_enumeration(channel, n):
    """Over all report tables the mean is f and the covariance A(diag p − pp')A'/n; plugged in, (n−1)/n of it."""
    mechanism, f = channel
    p = f @ mechanism.matrix()
    tables, probability = report_tables(p, n)
    results = [frequencies(counts=table, mechanism=mechanism) for table in tables]
    mean, covariance = mean_and_covariance(np.array([r.estimate for r in results]), probability)
    A = mechanism.inverse.as_matrix()
    np.testing.assert_allclose(mean, f, atol=1e-12)
    np.testing.assert_allclose(covariance, A @ (np.diag(p) - np.outer(p, p)) @ A.T / n, atol=1e-12)
    expected = np.tensordot(probability, np.array([r.covariance for r in results]), 1)
    np.testing.assert_allclose(expected, covariance * (n - 1) / n, atol=1e-12)


def test_table_mean_and_covariance_by_enumeration(channel):
    """Given the truths, the mean is their table, and the estimated covariance is unbiased for the true one."""
    mechanism, _ = channel
    truths = [0, 1, 1, mechanism.shape[0] - 1]
    vectors, probability = report_vectors(mechanism, truths)
    results = [frequencies(vector, mechanism, target="table") for vector in vectors]
    mean, covariance = mean_and_covariance(np.array([r.estimate for r in results]), probability)
    np.testing.assert_allclose(mean, np.bincount(truths, minlength=mechanism.shape[0]) / 4, atol=1e-12)
    plain = [r for r in results if not any("negative" in note for note in r.notes)]
    if len(plain) == len(results):
        expected = np.tensordot(probability, np.array([r.covariance for r in results]), 1)
        np.testing.assert_allclose(expected, covariance, atol=1e-12)
    for r in results:
        np.testing.assert_allclose(np.diag(r.covariance), r.std_error**2, atol=1e-12)


def test_table_variance_is_population_variance_without_sampling(channel):
    """Randomisation covariance = population covariance − (diag(f) − ff')/n."""
    mechanism, f = channel
    counts = np.round(1000 * f @ mechanism.matrix()).astype(int)
    whole = frequencies(counts=counts, mechanism=mechanism)
    table = frequencies(counts=counts, mechanism=mechanism, target="table")
    sampling = (np.diag(whole.estimate) - np.outer(whole.estimate, whole.estimate)) / whole.n
    assert not table.notes
    np.testing.assert_allclose(table.covariance, whole.covariance - sampling, atol=1e-12)


def test_negative_plug_in_variance_falls_back_and_says_so():
    """A table variance that would be negative is computed from the simplex estimate, and a note says it."""
    mechanism = ChannelResponse([["9/10", "1/10", 0], ["1/10", "4/5", "1/10"], [0, "1/10", "9/10"]])
    A = mechanism.inverse.as_matrix()
    x, y = next((x, y) for x in range(3) for y in range(3) if 1e-3 < A[x, y] < 1 - 1e-3)
    counts = np.zeros(3, int)
    counts[y] = 50
    result = frequencies(counts=counts, mechanism=mechanism, target="table")
    assert any("negative" in note for note in result.notes)
    assert np.all(result.std_error >= 0)
    assert np.linalg.eigvalsh(result.covariance).min() > -1e-15
    np.testing.assert_allclose(np.diag(result.covariance), result.std_error**2, atol=1e-15)
    assert (A[x, y] ** 2 - A[x, y]) < 0


@pytest.mark.parametrize(
    ("epsilon", "delta", "prevalence", "warner", "corner"),
    [
        (0.5, 0.1, 0.25, 2.3724, 2.4375),
        (1.0, 0.4, 0.1, 0.3850, 0.2400),
        (0.5, 1 / 3, 0.9, 0.8537, 0.2900),
        (math.log(2), 0.25, 0.25, 15 / 16, 15 / 16),
    ],
)
def test_published_variances(epsilon, delta, prevalence, warner, corner):
    """Var(π̂) at n = 1 for Warner's design and the corner design, as recomputed from Holohan et al. (2017)."""
    keep = (math.exp(epsilon) + delta) / (math.exp(epsilon) + 1)
    corner_design = BinaryResponse(1, delta) if prevalence <= 0.5 else BinaryResponse(delta, 1)
    for mechanism, expected in ((BinaryResponse(keep, keep), warner), (corner_design, corner)):
        q = np.array([1 - prevalence, prevalence]) @ mechanism.matrix()
        counts = np.round(q * 10**9).astype(np.int64)
        result = frequencies(counts=counts, mechanism=mechanism)
        assert result.estimate[1] == pytest.approx(prevalence, abs=1e-8)
        assert result.std_error[1] ** 2 * counts.sum() == pytest.approx(expected, abs=6e-5)


def test_four_reports_beat_two():
    """The four-report channel's variance at n = 1 is 1.329 where the two-report optimum has 2.372."""
    for epsilon, delta, prevalence, expected in [
        (0.5, 0.1, 0.25, 1.329),
        (1, 0.4, 0.1, 0.198),
        (math.log(2), 0.25, 0.25, 0.597),
    ]:
        keep = math.exp(epsilon) / (1 + math.exp(epsilon))
        matrix = [
            [delta, 0.0, (1 - delta) * keep, (1 - delta) * (1 - keep)],
            [0.0, delta, (1 - delta) * (1 - keep), (1 - delta) * keep],
        ]
        mechanism = ChannelResponse(matrix)
        f = np.array([1 - prevalence, prevalence])
        counts = np.round(f @ mechanism.matrix() * 10**9).astype(np.int64)
        result = frequencies(counts=counts, mechanism=mechanism, method="mle")
        assert result.std_error[1] ** 2 * counts.sum() == pytest.approx(expected, abs=6e-4)


@settings(max_examples=60, deadline=None)
@given(
    p00=st.fractions(0, 1, max_denominator=50),
    p11=st.fractions(0, 1, max_denominator=50),
    counts=st.tuples(st.integers(0, 10**9), st.integers(0, 10**9)),
)
def test_binary_formula(p00, p11, counts):
    """π̂ = (p00 − 1 + N/n)/(p00 + p11 − 1), in exact fractions."""
    if p00 + p11 == 1 or sum(counts) == 0:
        return
    result = frequencies(counts=counts, mechanism=BinaryResponse(p00, p11))
    gap = p00 + p11 - 1
    share = Fraction(counts[1], sum(counts))
    variance = share * (1 - share) / gap**2 / sum(counts)
    scale = float(1 / abs(gap))
    assert result.estimate[1] == pytest.approx(float((p00 - 1 + share) / gap), rel=1e-12, abs=1e-14 * scale)
    assert result.estimate.sum() == pytest.approx(1, abs=1e-13 * scale)
    assert result.std_error[1] == pytest.approx(math.sqrt(variance), rel=1e-9, abs=1e-300)


@settings(max_examples=30, deadline=None)
@given(size=st.integers(2, 6), epsilon=st.floats(0.05, 8), seed=st.integers(0, 10**6))
def test_closed_form_equals_channel(size, epsilon, seed):
    """Generalised response in closed form and through its matrix give the same numbers, for both targets."""
    mechanism = GeneralizedResponse(size, epsilon)
    matrix = ChannelResponse(mechanism.weights())
    counts = np.random.default_rng(seed).multinomial(1000, np.full(size, 1 / size))
    for target in ("population", "table"):
        one = frequencies(counts=counts, mechanism=mechanism, target=target)
        other = frequencies(counts=counts, mechanism=matrix, target=target)
        np.testing.assert_allclose(one.estimate, other.estimate, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(one.std_error, other.std_error, rtol=1e-7)
        np.testing.assert_allclose(one.covariance, other.covariance, rtol=1e-6, atol=1e-9)
        for method in ("wald", "chebyshev", "simultaneous"):
            if size > 2 and method == "simultaneous":
                continue  # the matrix alone does not show that each frequency depends on one share
            np.testing.assert_allclose(one.interval(method=method), other.interval(method=method), rtol=1e-6, atol=1e-8)


def test_std_error_is_the_diagonal(channel):
    """Standard errors and covariance agree for every channel, target and method."""
    mechanism, f = channel
    counts = np.random.default_rng(5).multinomial(500, f @ mechanism.matrix())
    for target in ("population", "table"):
        for method in ("unbiased", "mle"):
            result = frequencies(counts=counts, mechanism=mechanism, target=target, method=method)
            np.testing.assert_allclose(result.std_error**2, np.diag(result.covariance), rtol=1e-9, atol=1e-15)
            np.testing.assert_allclose(result.covariance.sum(axis=0), 0, atol=1e-12)
