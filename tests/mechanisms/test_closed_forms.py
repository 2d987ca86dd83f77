"""Closed forms against the full channel, extreme sizes, and channels that cannot be undone."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import MechanismError, NotIdentifiedError, PrivacyError, Randomness, privacy
from discreet.mechanisms import ChannelResponse, GeneralizedResponse
from discreet.mechanisms.exact_integers import close_enough
from discreet.mechanisms.inverse import exact_rank, indistinguishable


@given(size=st.integers(2, 12), epsilon=st.floats(1e-6, 40))
def test_generalized_equals_its_own_full_channel(size, epsilon):
    """ε, δ(ε), f(α), exposure and inverse from the closed form are those of the written-out matrix."""
    closed = GeneralizedResponse(size, epsilon)
    full = ChannelResponse(closed.weights())
    assert closed.certificate.epsilon == full.certificate.epsilon
    assert closed.guarantee.exposure == full.guarantee.exposure
    for e in (0.0, epsilon / 2, epsilon * 0.99):
        assert closed.certificate.delta(e) == full.certificate.delta(e)
    assert closed.certificate.trade_off(0.2) == full.certificate.trade_off(0.2)
    assert np.allclose(closed.inverse.as_matrix(), full.inverse.as_matrix(), rtol=1e-9)


@pytest.mark.parametrize("size", [2, 3, 1000, 10**6, 10**7])
@pytest.mark.parametrize("epsilon", [1e-6, 1.0, 20.0, 50.0, 100.0])
def test_extreme_sizes_and_levels(size, epsilon):
    """From two values to ten million, from 1e-6 to 100: the realised ε is right, and no matrix is needed."""
    mechanism = GeneralizedResponse(size, epsilon)
    assert close_enough(Fraction(mechanism.keep, mechanism.other), epsilon)
    assert mechanism.keep + (size - 1) * mechanism.other == mechanism.denominator
    reports = mechanism.privatize(np.array([0, size - 1]))
    assert reports.max() < size
    assert mechanism.guarantee.epsilon <= epsilon


def test_epsilon_too_large_for_the_denominator_is_said():
    """Beyond the largest denominator the request is refused, not approximated."""
    with pytest.raises(PrivacyError, match="too large"):
        GeneralizedResponse(4, 200.0)


@pytest.mark.parametrize("bad", [0, -1.0, math.inf, math.nan, "x", None])
def test_epsilon_must_be_positive_and_finite(bad):
    """A privacy level that makes no sense is refused by name."""
    with pytest.raises(PrivacyError, match="epsilon"):
        GeneralizedResponse(4, bad)


@pytest.mark.parametrize("bad", [1, 0, -3, 10**7 + 1, 2.5, True, "4"])
def test_sizes_are_checked(bad):
    """Sizes from 2 to ten million."""
    with pytest.raises(MechanismError, match="size"):
        GeneralizedResponse(bad, 1.0)


def test_large_matrices_are_refused_with_the_limit():
    """Ten thousand values work; their matrix is not written out."""
    with pytest.raises(MechanismError, match="4096"):
        GeneralizedResponse(10_000, 1.0).matrix()


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[1, 2], [3, 1]], "row 1 sums to 4"),
        ([["1/2", "1/3"], ["1/2", "1/2"]], "row 0 must sum to 1 exactly"),
        ([[0.5, 0.6], [0.5, 0.5]], "row 0 must sum to 1"),
        ([[0.5, 0.5], [1.0]], "row 1 has 1 entries"),
        ([], "at least one row"),
        ([[1, 1]], "two truths"),
        ([[-1, 3], [1, 1]], "negative"),
        ("abc", "list of rows"),
        ([[float("nan"), 1.0], [0.5, 0.5]], "finite"),
    ],
)
def test_what_is_not_a_channel_is_refused(matrix, message):
    """One clear sentence names the row."""
    with pytest.raises(MechanismError, match=message):
        ChannelResponse(matrix)


def test_values_that_look_alike_are_named():
    """Equal rows, and values that hide behind combinations of others, are found exactly."""
    assert indistinguishable(((1, 1), (1, 1), (0, 2))) == ((0, 1),)
    assert indistinguishable(((2, 0, 0), (0, 2, 0), (1, 1, 0))) == ((0, 1, 2),)
    assert indistinguishable(((2, 0), (0, 2))) == ()
    with pytest.raises(NotIdentifiedError, match="0, 1") as caught:
        _ = ChannelResponse([[1, 1], [1, 1], [0, 2]]).inverse
    assert caught.value.groups == ((0, 1),)


def test_rank_is_exact_where_floats_fail():
    """A channel at ε = 1e-6 has full rank; an almost equal one with equal rows has not."""
    weights = GeneralizedResponse(6, 1e-6).weights()
    assert exact_rank(weights) == 6
    assert exact_rank((weights[0], weights[0], weights[2])) == 2


@given(st.lists(st.lists(st.integers(0, 50), min_size=3, max_size=3), min_size=2, max_size=4))
def test_alias_table_reproduces_any_row(rows):
    """Whatever the integers are, a report of weight zero never comes and one of full weight always does."""
    rows = [row if sum(row) else [1, 0, 0] for row in rows]
    total = math.lcm(*(sum(row) for row in rows))
    rows = [[v * (total // sum(row)) for v in row] for row in rows]
    mechanism = ChannelResponse(rows)
    for x, row in enumerate(rows):
        seen = set(mechanism.privatize(np.full(200, x), Randomness.seeded(1)).tolist())
        assert all(row[y] > 0 for y in seen)


@given(epsilon=st.floats(0.1, 5), size=st.integers(2, 6), seed=st.integers(0, 2**32 - 1))
def test_post_processing_never_raises_epsilon(epsilon, size, seed):
    """A garbling of a private channel is at least as private, by exact certification."""
    rng = np.random.default_rng(seed)
    Q = np.array(GeneralizedResponse(size, epsilon).weights(), dtype=object)
    G = rng.integers(0, 10, (size, 3)) + np.eye(size, 3, dtype=int)
    G = np.array([[int(v) for v in row] for row in G], dtype=object)
    total = math.lcm(*(int(sum(row)) for row in G))
    G = np.array([[int(v) * (total // int(sum(row))) for v in row] for row in G], dtype=object)
    before = privacy.certify(Q.tolist())
    after = privacy.certify((Q @ G).tolist())
    assert after.epsilon <= before.epsilon
    assert after.delta(epsilon / 2) <= before.delta(epsilon / 2) * (1 + 1e-15)


@given(seed=st.integers(0, 2**32 - 1), epsilon=st.floats(0.01, 8), size=st.integers(2, 6), reports=st.integers(2, 9))
def test_any_private_channel_of_floats_is_rounded_to_certainty(seed, epsilon, size, reports):
    """A matrix with entries between l and e^ε·l becomes integers that certify at ε, never above, and stays close."""
    rng = np.random.default_rng(seed)
    levels = rng.uniform(0.2, 1, reports)
    pattern = np.where(rng.random((size, reports)) < 0.5, np.exp(epsilon), 1.0) * levels
    matrix = pattern / pattern.sum(axis=1, keepdims=True)
    ratio = (matrix.max(axis=0) / matrix.min(axis=0)).max()
    level = max(float(np.log(ratio)), 1e-3)
    mechanism = ChannelResponse.private(matrix, level)
    assert mechanism.guarantee.epsilon <= level
    if ratio > np.exp(1e-3):
        assert mechanism.guarantee.epsilon >= level * (1 - 1e-9)
    assert np.allclose(mechanism.matrix(), matrix, atol=1e-7)


def test_a_matrix_that_is_not_private_at_all_is_refused():
    """A wrong claim is not rounded away."""
    with pytest.raises(PrivacyError, match="only at"):
        ChannelResponse.private([[0.9, 0.1], [0.1, 0.9]], 1.0)
