"""Maximum likelihood on the simplex: certified optimal, never negative, and honest about its limits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.domains import Categorical
from discreet.errors import EstimationError, NotIdentifiedError
from discreet.estimate import frequencies
from discreet.estimate.channels.simplex_mle import channel_fit, uniform_fit
from discreet.mechanisms import BinaryResponse, ChannelResponse, GeneralizedResponse

ORDERED = ChannelResponse([["1/2", "1/3", "1/6"], ["1/4", "1/2", "1/4"], ["1/6", "1/3", "1/2"]])
SINGULAR = ChannelResponse([["1/2", "1/2"], ["1/2", "1/2"], ["1/4", "3/4"]])


def certificate(Q, counts, f):
    """max_x Σ_y c_y Q[x, y]/(Qᵀf)_y − n, an upper bound on what the log-likelihood misses."""
    seen = counts > 0
    return float((Q[:, seen] @ (counts[seen] / (f @ Q)[seen])).max() - counts.sum())


@settings(max_examples=150)
@given(
    truths=st.integers(2, 12),
    extra=st.integers(0, 6),
    sharpness=st.sampled_from([0.05, 0.3, 1.0, 10.0]),
    log_n=st.floats(0, 8),
    seed=st.integers(0, 10**6),
)
def test_every_fit_carries_its_certificate(truths, extra, sharpness, log_n, seed):
    """For random channels, sample sizes and sparse truths the certificate closes the gap to the maximum."""
    rng = np.random.default_rng(seed)
    Q = rng.dirichlet(np.full(truths + extra, sharpness), truths)
    f = rng.dirichlet(np.full(truths, 0.3))
    counts = rng.multinomial(int(10**log_n), f @ Q / (f @ Q).sum()).astype(float)
    fit = channel_fit(Q, counts)
    tolerance = 1e-5 + 1e-11 * counts.sum()
    assert fit.frequencies.min() >= 0
    assert fit.frequencies.sum() == pytest.approx(1, abs=1e-12)
    assert certificate(Q, counts, fit.frequencies) <= tolerance
    assert fit.gap <= tolerance


@pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 0.1, 3.0])
def test_nearly_uninformative_channels(epsilon):
    """Rows that differ by ε = 1e-6 only are still fitted to the maximum."""
    rng = np.random.default_rng(3)
    Q = 1 + epsilon * rng.random((8, 9))
    Q /= Q.sum(axis=1, keepdims=True)
    counts = rng.multinomial(100_000, Q[2]).astype(float)
    fit = channel_fit(Q, counts)
    assert certificate(Q, counts, fit.frequencies) <= 1e-5


def test_certificate_rejects_a_slightly_wrong_fit():
    """The certificate has power: moving one percent of mass away from the maximum is seen."""
    Q, counts = ORDERED.matrix(), np.array([300.0, 340.0, 360.0])
    f = channel_fit(Q, counts).frequencies
    moved = f + 0.01 * np.array([1, -1, 0]) * (1 if f[1] > 0.01 else -1)
    assert certificate(Q, counts, moved) > 0.01


@settings(max_examples=100)
@given(
    counts=st.lists(st.integers(0, 200), min_size=2, max_size=9).filter(lambda c: sum(c) > 0),
    epsilon=st.floats(0.01, 6),
)
def test_water_filling_equals_the_general_solver(counts, epsilon):
    """Generalised response in closed form is the same maximum, with zeros in the same places or nearly so."""
    mechanism = GeneralizedResponse(len(counts), epsilon)
    Q, c = mechanism.matrix(), np.array(counts, float)
    fit = uniform_fit(c, Q[0, 0], Q[0, 1])
    assert certificate(Q, c, fit.frequencies) <= 1e-7 * c.sum()
    assert fit.gap <= 1e-7 * c.sum()
    general = channel_fit(Q, c).frequencies
    p, q = fit.frequencies @ Q, general @ Q
    np.testing.assert_allclose(p, q, atol=2e-3 / np.sqrt(c.sum()))  # a gap of 1e-6 is about 1e-3 standard errors


def test_interior_estimate_equals_the_unbiased_one():
    """For a square channel the two methods agree whenever the unbiased estimate lies inside the simplex."""
    for mechanism, counts in [
        (BinaryResponse.crosswise("1/4"), [400, 600]),
        (GeneralizedResponse(4, 1.0), [300, 250, 240, 210]),
        (ORDERED, [310, 390, 300]),
    ]:
        one = frequencies(counts=counts, mechanism=mechanism)
        other = frequencies(counts=counts, mechanism=mechanism, method="mle")
        assert one.estimate.min() > 0
        np.testing.assert_allclose(other.estimate, one.estimate, atol=1e-4)
        np.testing.assert_allclose(other.std_error, one.std_error, rtol=1e-3)
        assert not other.notes


def test_binary_boundary_is_named_not_silent():
    """Too few "yes": the estimate is zero, a note says where normal theory ends, and Wilson does not change."""
    mechanism = BinaryResponse.warner("3/4")
    unbiased = frequencies(counts=[780, 220], mechanism=mechanism)
    fitted = frequencies(counts=[780, 220], mechanism=mechanism, method="mle")
    assert unbiased.estimate[1] < 0
    assert fitted.estimate.tolist() == [1, 0]
    assert any("boundary" in note and "wilson" in note for note in fitted.notes)
    for method in ("wilson", "clopper-pearson", "chebyshev"):
        np.testing.assert_array_equal(fitted.interval(method=method), unbiased.interval(method=method))


def test_covariance_is_the_inverse_information():
    """With more reports than truths: the inverse Fisher information on the simplex, by a parametrisation of it."""
    mechanism = ChannelResponse([["1/5", 0, "1/2", "3/10"], [0, "1/5", "3/10", "1/2"]])
    counts = np.array([60, 140, 330, 470])
    result = frequencies(counts=counts, mechanism=mechanism, method="mle")
    Q = mechanism.matrix()
    p = result.estimate @ Q
    information = counts.sum() * np.sum((Q[1] - Q[0]) ** 2 / p)
    assert result.std_error[1] == pytest.approx(information**-0.5, rel=1e-9)
    assert result.std_error[1] < frequencies(counts=counts, mechanism=mechanism).std_error[1] * 1.01


def test_singular_channel_is_refused_by_label():
    """Values with the same row cannot be separated: they are named, with what to do instead."""
    with pytest.raises(NotIdentifiedError, match=r'"a", "b".*[Mm]erge.*mle') as caught:
        frequencies(counts=[40, 60], mechanism=SINGULAR, labels=Categorical(["a", "b", "c"]))
    assert caught.value.groups == ((0, 1),)
    with pytest.raises(NotIdentifiedError, match="apart: 0, 1;"):
        frequencies(counts=[40, 60], mechanism=SINGULAR)


def test_singular_channel_is_fitted_without_error_bars():
    """method="mle" answers, says that the answer is one of many, and gives no standard errors."""
    result = frequencies(counts=[40, 60], mechanism=SINGULAR, method="mle")
    assert certificate(SINGULAR.matrix(), np.array([40.0, 60.0]), result.estimate) < 1e-5
    assert any("one of many" in note for note in result.notes)
    assert np.all(np.isnan(result.std_error))
    assert np.all(np.isnan(result.covariance))
    assert np.all(np.isnan(result.interval()))
    assert not result.empty().any()
    assert "contradict" not in result.summary()
    assert result.to_dict()["std_error"] == [None, None, None]


def test_impossible_report_is_an_error():
    """A report that the design never gives cannot be explained by any frequencies."""
    mechanism = ChannelResponse([["2/3", "1/3", 0], ["1/3", "2/3", 0]])
    with pytest.raises(EstimationError, match="never produce"):
        frequencies(counts=[4, 4, 1], mechanism=mechanism, method="mle")


def test_table_target_uses_the_same_fit():
    """target="table" leaves the estimate and removes the sampling error."""
    counts = [310, 390, 300]
    population = frequencies(counts=counts, mechanism=ORDERED, method="mle")
    table = frequencies(counts=counts, mechanism=ORDERED, method="mle", target="table")
    np.testing.assert_array_equal(population.estimate, table.estimate)
    assert np.all(table.std_error < population.std_error)


def test_large_ordered_channel():
    """Two hundred values and a sparse truth: certified, with exact zeros."""
    size = 200
    Q = np.exp(-np.abs(np.subtract.outer(np.arange(size), np.arange(size))) / 20.0)
    Q /= Q.sum(axis=1, keepdims=True)
    rng = np.random.default_rng(8)
    counts = rng.multinomial(50_000, rng.dirichlet(np.full(size, 0.05)) @ Q).astype(float)
    fit = channel_fit(Q, counts)
    assert certificate(Q, counts, fit.frequencies) <= 1e-5
    assert fit.on_boundary


def test_flat_likelihood_is_climbed_to_the_top():
    """At ε = 1e-6 and ten people the likelihood hardly varies; the maximum is still a vertex, as in closed form."""
    mechanism = GeneralizedResponse(3, 1e-6)
    Q, counts = mechanism.matrix(), np.array([2.0, 7.0, 1.0])
    np.testing.assert_allclose(uniform_fit(counts, Q[0, 0], Q[0, 1]).frequencies, [0, 1, 0], atol=1e-9)
    np.testing.assert_allclose(channel_fit(Q, counts).frequencies, [0, 1, 0], atol=1e-9)


def test_one_singular_design_among_several():
    """A design that says nothing adds nothing: both estimates and their errors are those of the direct answers."""
    designs = {"coin": ChannelResponse([["1/2", "1/2"], ["1/2", "1/2"]]), "direct": BinaryResponse.direct()}
    mode = np.repeat(["coin", "direct"], 50)
    reports = np.arange(100) % 4 == 0
    alone = frequencies(reports[50:], BinaryResponse.direct())
    for method in ("unbiased", "mle"):
        result = frequencies(reports, designs, designs=mode, method=method)
        np.testing.assert_allclose(result.estimate, alone.estimate, atol=1e-6)
        np.testing.assert_allclose(result.std_error, alone.std_error, rtol=1e-6)
        assert result.interval().shape == (2, 2)
