"""Reports that no truth could have given are called improbable, and others never are."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from discreet import design
from discreet.audit.plausibility import improbable
from discreet.mechanisms import BipartiteResponse, GeneralizedResponse
from tests.mechanisms.catalogue import FINITE

THREE = GeneralizedResponse(3, 1.0).matrix()


def law(channel, truths):
    """The exact law of the counts of reports, one truth after another."""
    counts = {(0,) * channel.shape[1]: 1.0}
    for x in truths:
        after: dict[tuple[int, ...], float] = {}
        for old, chance in counts.items():
            for y, p in enumerate(channel[x]):
                new = (*old[:y], old[y] + 1, *old[y + 1 :])
                after[new] = after.get(new, 0.0) + chance * p
        counts = after
    return counts


@pytest.mark.parametrize("chance", [0.5, 0.05, 0.001])
@pytest.mark.parametrize(
    "channel", [THREE, design.binary(1.0).mechanism.matrix(), np.array([[0.9, 0.1, 0.0], [0.2, 0.3, 0.5]])]
)
def test_a_true_release_is_accused_with_at_most_the_stated_chance(channel, chance):
    """Exactly, by enumerating all counts of small tables, for every composition of truths."""
    for n in (4, 7):
        accused: dict[tuple[int, ...], bool] = {}
        for truths in itertools.combinations_with_replacement(range(channel.shape[0]), n):
            wrong = 0.0
            for counts, p in law(channel, truths).items():
                if counts not in accused:
                    accused[counts] = improbable(np.array(counts), channel, chance) is not None
                wrong += p * accused[counts]
            assert wrong <= chance


def test_the_bound_is_not_empty():
    """The enumeration above would notice a test that accuses too often: some counts are accused at 1 in 1,000."""
    assert improbable(np.array([40, 0, 0]), THREE, 0.001) is not None
    assert improbable(np.array([20, 12, 8]), THREE, 0.001) is None


@pytest.mark.parametrize("name", list(FINITE))
def test_no_mechanism_is_accused(name):
    """Reports of every mechanism, from truths at the corners and in the middle."""
    mechanism = FINITE[name][0]
    if math.prod(mechanism.shape) > 1 << 20:
        pytest.skip("larger than what an audit compares")
    channel = mechanism.matrix()
    rng = np.random.default_rng(3)
    for truths in (channel[0], channel[-1], channel.mean(axis=0)):
        for n in (1, 50, 100_000):
            assert improbable(rng.multinomial(n, truths / truths.sum()), channel, 1e-9) is None


@pytest.mark.parametrize(("epsilon", "n"), [(1.0, 100), (0.1, 50), (3.0, 500)])
def test_all_yes_is_improbable(epsilon, n):
    """Whatever the truth is, some answer "no"."""
    channel = design.binary(epsilon).mechanism.matrix()
    found = improbable(np.array([0, n]), channel, 1e-9)
    assert found is not None
    assert (found.report, found.share) == (1, 1.0)
    assert found.possible == pytest.approx(channel[1, 1])


def test_counts_outside_the_hull_are_found_although_every_report_alone_is_possible():
    """Near reports come together; every second one often and the others hardly ever is no mixture of truths."""
    n = 20_000
    near = BipartiteResponse(5, 2, 2.0).matrix()
    ends = near[0] * 0.5 + near[-1] * 0.5
    assert improbable((n * ends).astype(int), near, 1e-9) is None
    low = near.min() + 1e-3
    often = (1 - 2 * low) / 3
    shares = np.array([often, low, often, low, often])
    assert (shares <= near.max(axis=0)).all()
    assert (shares >= near.min(axis=0)).all()
    assert improbable((n * shares).astype(int), near, 1e-9) is not None


def test_nothing_counted_is_nothing_strange():
    """No answer at all, where blanks are public."""
    assert improbable(np.zeros(3, int), THREE, 1e-9) is None
