"""The mechanism of least variance for the frequencies of a domain, and the bound that none passes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet import Categorical, DesignError, PrivacyError, design
from discreet.design.large_domains import (
    cost_of_generalized,
    plain_total,
    total_variance_bound,
    worst_total_variance,
)
from discreet.mechanisms import ChannelResponse, CyclicResponse, GeneralizedResponse, PaleySet, SingerSet


def _summed(mechanism, frequencies):
    """The variances of all frequencies together, from the channel written out."""
    A, shares = mechanism.inverse.as_matrix(), frequencies @ mechanism.matrix()
    return float((A**2 @ shares).sum() - ((A @ shares) ** 2).sum())


def test_thirteen_values_reach_the_bound():
    """At ε = ln(9/4) the (13, 4, 1) design has what no mechanism passes; at ln 3 it is 1.8 % above."""
    found = design.frequencies(13, math.log(9 / 4))
    assert found.mechanism.design == SingerSet(3, 1, 2)
    assert found.objective == pytest.approx(63.803, abs=5e-4)
    assert found.certificate.gap < 1e-6
    three = worst_total_variance(CyclicResponse.from_weights(13, 3, 1, SingerSet(3, 1, 2)))
    assert (three, total_variance_bound(13, math.log(3))) == (
        pytest.approx(33.92, abs=5e-3),
        pytest.approx(33.32, abs=5e-3),
    )


def test_the_bound_is_the_least_over_all_set_sizes():
    """Against every w, and for two values against randomised response itself, which reaches it."""
    for size, epsilon in ((2, 1.0), (13, 0.3), (40, 2.0), (100, 4.0), (1_000, 6.0)):
        e = math.exp(epsilon)
        every = [
            (size - 1) ** 2 * (w * e + size - w) ** 2 / (size * w * (size - w) * (e - 1) ** 2) for w in range(1, size)
        ]
        assert total_variance_bound(size, epsilon) == pytest.approx(min(every), rel=1e-12)
    assert plain_total(GeneralizedResponse(2, 1.0)) == pytest.approx(total_variance_bound(2, 1.0), rel=1e-8)


def test_no_private_channel_passes_the_bound():
    """Random ε-private channels at equally frequent values, by Cramér and Rao; some come close to the bound."""
    rng = np.random.default_rng(1)
    size, e = 7, math.exp(1.0)
    found = []
    for _ in range(400):
        # All shifts of a few columns together: every row then has the same sum.
        columns = e ** ((rng.random((3, size)) < rng.uniform(0.1, 0.6)) * rng.choice([1.0, 1.0, 0.5]))
        weights = rng.dirichlet(np.full(3, 0.3))
        Q = np.hstack(
            [w * np.stack([np.roll(c, x) for x in range(size)]) for w, c in zip(weights, columns, strict=True)]
        )
        Q /= Q.sum(axis=1, keepdims=True)
        assert (Q.max(axis=0) / Q.min(axis=0)).max() <= e * (1 + 1e-9)
        information = np.linalg.eigvalsh((Q / Q.mean(axis=0)) @ Q.T)[:-1]  # the last is that of the sum of all
        if information[0] > 1e-9:
            found.append(float((1 / information).sum()))
    bound = total_variance_bound(size, 1.0)
    assert len(found) > 200
    assert bound * (1 - 1e-9) <= min(found) < 1.2 * bound


def test_the_worst_distribution_is_found():
    """Random distributions, sparse and even, never have more than the worst; for k = v it is the uniform one."""
    rng = np.random.default_rng(2)
    for size, chosen in ((13, SingerSet(3, 1, 2)), (9, SingerSet(3, 1, 2)), (15, PaleySet(19)), (30, None)):
        mechanism = CyclicResponse(size, 1.0, design=chosen)
        worst = worst_total_variance(mechanism)
        tried = [_summed(mechanism, rng.dirichlet(np.full(size, a))) for a in (0.05, 1.0, 50.0) for _ in range(20)]
        uniform = _summed(mechanism, np.full(size, 1 / size))
        assert max(*tried, uniform) <= worst * (1 + 1e-12)
        assert worst <= uniform * 1.05
        if mechanism.shape[0] == mechanism.shape[1]:
            assert worst == pytest.approx(uniform, rel=1e-12)


@pytest.mark.parametrize(
    ("size", "epsilon", "kind", "excess"),
    [
        (2, 1.0, GeneralizedResponse, 1e-6),
        (5, 1.0, GeneralizedResponse, 1e-6),
        (100, 4.0, GeneralizedResponse, 0.09),
        (1_000, 1.0, CyclicResponse, 0.003),
        (1_000, 0.01, CyclicResponse, 1e-4),
        (50_000, 2.0, CyclicResponse, 0.02),
    ],
)
def test_the_better_mechanism_is_taken_and_its_distance_from_the_bound_is_said(size, epsilon, kind, excess):
    """Small domains keep generalised response; large ones a design within a few per cent of the bound."""
    found = design.frequencies(size, epsilon)
    assert isinstance(found.mechanism, kind)
    assert found.guarantee.epsilon <= epsilon
    assert 0 <= found.certificate.gap <= excess * found.certificate.bound
    other = plain_total(GeneralizedResponse(size, epsilon))
    assert found.objective <= other * (1 + 1e-12)
    if kind is CyclicResponse:
        assert f"{other / found.objective:,.3g} times as many people" in found.notes[0]


def test_the_criterion_for_rare_values():
    """At ε = 4 and a hundred values generalised response has .0531 for a rare value, the best cyclic design .0753."""
    rare = design.frequencies(100, 4.0, criterion="rare")
    assert isinstance(rare.mechanism, GeneralizedResponse)
    assert rare.objective == pytest.approx(0.0531, abs=5e-5)
    assert "0.0753" in rare.notes[0]
    thousand = design.frequencies(1_000, 1.0, criterion="rare")
    assert thousand.objective == pytest.approx(3.685, abs=5e-4)


def test_domains_stand_for_their_size():
    """A domain may be given in place of the number of its values."""
    assert design.frequencies(Categorical(range(1_000)), 1.0).mechanism == design.frequencies(1_000, 1.0).mechanism


def test_the_cost_of_generalised_response_is_said_where_it_is_one():
    """One sentence with the factor on large domains, nothing on small ones."""
    assert "92.1 times as many people" in cost_of_generalized(Categorical(range(1_000)), 1.0)
    assert cost_of_generalized(3, 1.0) is None
    assert cost_of_generalized(100, 6.0) is None


def test_bad_input_is_one_sentence():
    """Sizes, levels and criteria out of bounds."""
    for size in (1, 10**7 + 1, None, "x"):
        with pytest.raises(DesignError, match="number of values must be a whole number from 2 to 10,000,000"):
            design.frequencies(size, 1.0)
    with pytest.raises(DesignError, match="criterion"):
        design.frequencies(10, 1.0, criterion="mean")
    with pytest.raises(PrivacyError, match="too small"):
        design.frequencies(10, 1e-90)
    with pytest.raises(PrivacyError, match="too large"):
        design.frequencies(10, 500.0)


def test_the_channel_of_a_design_is_what_it_says():
    """Written out and certified as any matrix, the design has the ε that it states."""
    found = design.frequencies(31, 1.5).mechanism
    assert ChannelResponse(found.weights()).guarantee.epsilon == found.guarantee.epsilon
