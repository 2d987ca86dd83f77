"""Bipartite response: near reports, closed forms at a million values, and what is refused."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import ManifestError, MechanismError, NotIdentifiedError, PrivacyError, Randomness, mechanisms, privacy
from discreet.mechanisms import BipartiteResponse, GeneralizedResponse
from discreet.mechanisms.exact_integers import high_and_low
from discreet.mechanisms.inverse import exact_rank
from discreet.privacy.bounds import log_bounds


def brute_near(size: int, near: int, x: int) -> list[int]:
    """The m nearest by distance, the smaller code first in a tie."""
    return sorted(sorted(range(size), key=lambda y: (abs(x - y), y))[:near])


@given(st.integers(2, 40), st.data())
def test_near_reports_are_the_nearest_with_ties_to_the_smaller_code(size, data):
    """The window of equidistant points is what sorting by distance and code gives, at the edges too."""
    near = data.draw(st.integers(1, size))
    mechanism = BipartiteResponse(size, near, 1.0)
    for x in range(size):
        assert mechanism.near_reports(x).tolist() == brute_near(size, near, x)


@given(st.integers(2, 24), st.data(), st.floats(1e-3, 12))
@settings(max_examples=40, deadline=None)
def test_closed_forms_agree_with_the_written_channel(size, data, epsilon):
    """ε, δ(ε), trade-off and rank of the closed form are those of the full integer matrix."""
    near = data.draw(st.integers(1, size))
    mechanism = BipartiteResponse(size, near, epsilon)
    full = privacy.certify(mechanism.weights())
    assert mechanism.certificate.epsilon == full.epsilon
    assert mechanism.certificate.delta(epsilon / 2) == pytest.approx(full.delta(epsilon / 2), abs=1e-12)
    assert mechanism.certificate.trade_off(0.2) == pytest.approx(full.trade_off(0.2), abs=1e-12)
    assert mechanism.rank == exact_rank(mechanism.weights())
    assert np.allclose(mechanism.matrix(), super(BipartiteResponse, mechanism).matrix(), atol=0, rtol=1e-15)


@given(st.integers(2, 12), st.data())
@settings(max_examples=40, deadline=None)
def test_lists_are_certified_by_their_least_overlap(size, data):
    """With near reports listed one by one the certificate is that of the full matrix."""
    near = data.draw(st.integers(1, size))
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    lists = np.stack([rng.permutation(size)[:near] for _ in range(size)])
    mechanism = BipartiteResponse(size, near, 0.7, lists)
    full = privacy.certify(mechanism.weights())
    assert mechanism.certificate.epsilon == full.epsilon
    assert mechanism.certificate.delta(0.2) == pytest.approx(full.delta(0.2), abs=1e-12)


@pytest.mark.parametrize("epsilon", [1e-8, 0.01, 1.0, 9.0, 80.0])
def test_high_over_low_is_just_below_the_exponential(epsilon):
    """Decided with rational bounds."""
    high, low = high_and_low(epsilon)
    below, above = log_bounds(Fraction(high, low))
    assert above <= Fraction(epsilon)
    assert below >= Fraction(epsilon) * (1 - Fraction(1, 10**9))


def test_one_near_report_is_generalised_response():
    """With m = 1: the same channel to nine digits, and the same kind of inverse."""
    ours, theirs = BipartiteResponse(6, 1, 1.3), GeneralizedResponse(6, 1.3)
    assert np.allclose(ours.matrix(), theirs.matrix(), rtol=1e-9)
    assert np.allclose(ours.inverse.as_matrix(), theirs.inverse.as_matrix(), rtol=1e-8)
    listed = BipartiteResponse(6, 1, 1.3, np.arange(6)[:, None])
    assert np.allclose(listed.inverse.as_matrix(), theirs.inverse.as_matrix(), rtol=1e-8)


def test_a_million_values_without_a_matrix():
    """Made, certified, written, read back and sampled."""
    mechanism = BipartiteResponse(10**6, 377_541, 1.0)
    assert 1 - 1e-9 <= mechanism.guarantee.epsilon <= 1
    assert 0 < mechanism.certificate.delta(0.5) < 1
    assert mechanisms.from_dict(json.loads(json.dumps(mechanism.to_dict()))) == mechanism
    reports = mechanism.privatize(np.full(10_000, 500_000), Randomness.seeded(2))
    near = np.abs(reports.astype(np.int64) - 500_000) <= 377_541 // 2
    expected = 377_541 * mechanism.high / mechanism.denominator
    assert near.mean() == pytest.approx(expected, abs=6.5 * math.sqrt(0.25 / 10_000))
    with pytest.raises(MechanismError, match="4096"):
        mechanism.weights()
    with pytest.raises(MechanismError, match="4096"):
        mechanism.matrix()
    with pytest.raises(NotIdentifiedError, match="0 to 188770") as caught:
        _ = mechanism.inverse
    assert len(caught.value.groups) == 2


def test_the_ends_of_equidistant_points_are_not_told_apart():
    """N = 100, ε = 1, m = 37 has rank 64; the groups are the rows that are equal."""
    mechanism = BipartiteResponse(100, 37, 1.0)
    assert mechanism.rank == 64
    with pytest.raises(NotIdentifiedError) as caught:
        _ = mechanism.inverse
    rows = mechanism.weights()
    groups = caught.value.groups
    assert all(len({rows[x] for x in group}) == 1 for group in groups)
    assert sum(len(group) - 1 for group in groups) == 100 - 64


def test_reports_under_lists_follow_the_channel():
    """Near reports of a metric domain are drawn with weight high, and a slightly wrong list is noticed."""
    mechanism = BipartiteResponse(5, 2, 1.5, [[0, 4], [1, 3], [2, 0], [3, 1], [4, 2]])
    n = 200_000
    counts = np.bincount(mechanism.privatize(np.full(n, 2), Randomness.seeded(4)), minlength=5)
    Q = mechanism.matrix()
    z = lambda row: np.abs(counts - n * row) / np.sqrt(n * row * (1 - row))  # noqa: E731
    assert z(Q[2]).max() < 6.5
    assert z(Q[1]).max() > 50


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1, 1, 1.0), "size"),
        ((5, 0, 1.0), "near"),
        ((5, 6, 1.0), "near"),
        ((5, 2.5, 1.0), "whole number"),
        ((5, True, 1.0), "whole number"),
        ((3, 2, 1.0, [[0, 1], [1, 2]]), "3 lists"),
        ((3, 2, 1.0, [[0, 1], [1, 2], [2, 3]]), "0 to 2"),
        ((3, 2, 1.0, [[0, 1], [1, 1], [0, 2]]), "different"),
        ((3, 2, 1.0, [[0, 1], [1, 2], [0.5, 2]]), "lists"),
    ],
)
def test_bad_numbers_are_refused(arguments, message):
    """One clear sentence each."""
    with pytest.raises(MechanismError, match=message):
        BipartiteResponse(*arguments)


def test_bad_epsilon_and_weights_are_refused():
    """ε must be positive, and high above low."""
    with pytest.raises(PrivacyError):
        BipartiteResponse(5, 2, 0.0)
    with pytest.raises(MechanismError, match="high > low"):
        BipartiteResponse.from_weights(5, 2, 3, 3)
    with pytest.raises(MechanismError, match="2\\^30"):
        BipartiteResponse(40_000, 30_000, 1.0, np.broadcast_to(np.arange(30_000), (40_000, 30_000)))


@pytest.mark.parametrize(
    "data",
    [
        {"kind": "bipartite", "size": 4, "m": 2, "high": "1", "low": "2"},
        {"kind": "bipartite", "size": 4, "m": 5, "high": "2", "low": "1"},
        {"kind": "bipartite", "size": 4, "high": "2", "low": "1"},
        {"kind": "bipartite", "size": 4, "m": 2, "high": 2, "low": "1"},
        {"kind": "bipartite", "size": 2, "m": 1, "high": "2", "low": "1", "neighbours": ["0"]},
        {"kind": "bipartite", "size": 2, "m": 1, "high": "2", "low": "1", "neighbours": ["0", "0-1"]},
        {"kind": "bipartite", "size": 2, "m": 1, "high": "2", "low": "1", "neighbours": ["0", "x"]},
        {"kind": "bipartite", "size": 2, "m": 1, "high": "2", "low": "1", "neighbours": "01"},
        {"kind": "exponential", "denominator": "4", "rows": [["3", "1"], ["1", "2"]]},
        {"kind": "exponential", "denominator": "4", "rows": [["4", "0"], ["1", "3"]]},
        {"kind": "exponential", "denominator": "5", "rows": [["3", "1"], ["1", "3"]]},
    ],
)
def test_damaged_manifests_are_refused(data):
    """Weights that do not fit, missing fields and bad lists are never accepted."""
    with pytest.raises(ManifestError):
        mechanisms.from_dict(data)
