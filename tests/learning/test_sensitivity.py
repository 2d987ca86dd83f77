"""How far one record moves what boosting releases: the proofs beside the code, by brute force."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.learning.boosting.budget import Budget
from discreet.learning.boosting.ensemble import round_weights
from discreet.learning.boosting.gradients import GRID, on_grid
from discreet.learning.boosting.leaves import leaf_sensitivity, leaves_of, plain_means
from discreet.learning.boosting.split_scores import SCORE_RANGE, UNIT, side_scores, split_scores
from discreet.learning.boosting.tree import histograms


@pytest.mark.parametrize("regularisation", [0, Fraction(1, 10), 1, 7])
def test_one_record_moves_a_side_by_minus_three_to_one(regularisation):
    """In fractions, for up to nine records, all sums and gradients in quarters; both ends are nearly met."""
    moves = []
    for n in range(10):
        for quarters, h in product(range(-4 * n, 4 * n + 1), (-1, Fraction(-1, 2), 0, Fraction(1, 4), 1)):
            S = Fraction(quarters, 4)
            before = S**2 / (n + regularisation) if n else Fraction(0)
            moves.append((S + h) ** 2 / (n + 1 + regularisation) - before)
    assert min(moves) >= -3
    assert max(moves) <= 1
    if regularisation == 0:
        assert max(moves) == 1
        assert min(moves) < -2.2  # −3 is the limit for many records


def test_the_range_is_nearly_used_up():
    """A record that falls on a side of its own kind in one split and on one of the other kind in another: 3.99 of 4."""
    n = 4000
    with_it, without = (
        side_scores(np.array([-n * GRID, n * GRID]) + more * GRID, np.array([n, n]) + more, 0.1) for more in (1, 0)
    )
    moved = with_it - without
    assert 3.99 * UNIT < moved.max() - moved.min() <= SCORE_RANGE


@settings(max_examples=60)
@given(st.integers(0, 2**32), st.integers(1, 60), st.sampled_from([0.0, 0.1, 3.0]))
def test_no_record_moves_the_scores_of_a_node_further_apart(seed, records, regularisation):
    """Random tables, one record more; the numbers that are really computed."""
    rng = np.random.default_rng(seed)
    bins = rng.integers(0, 4, (records, 3)).astype(np.uint8)
    gradients = on_grid(np.sign(rng.normal(size=records)) * rng.choice([1.0, 0.3], records))
    node = np.zeros(records, np.intp)
    whole = split_scores(*histograms(bins, gradients, node, 1, 4), regularisation)
    less = split_scores(*histograms(bins[1:], gradients[1:], node[1:], 1, 4), regularisation)
    moved = whole - less
    assert moved.max() - moved.min() <= SCORE_RANGE


def test_scores_are_those_of_fractions():
    """The whole numbers are the scores, rounded down, within one unit; zero where nobody is."""
    rng = np.random.default_rng(3)
    counts = rng.integers(0, 1000, 300)
    sums = rng.integers(-GRID * counts, GRID * counts + 1)
    found = side_scores(sums.astype(float), counts.astype(float), 0.1)
    for S, n, score in zip(sums.tolist(), counts.tolist(), found.tolist(), strict=True):
        exact = UNIT * Fraction(S, GRID) ** 2 / (n + Fraction(0.1))
        assert abs(score - exact) <= 2


@given(st.floats(-1, 1))
def test_a_record_moves_the_two_sums_by_one_together(gradient):
    """(1 + h)/2 and (1 − h)/2 in units of 1/(2·GRID): 2·GRID, whatever the gradient."""
    h = int(on_grid(np.array([gradient]))[0])
    assert GRID + h >= 0
    assert GRID - h >= 0
    assert (GRID + h) + (GRID - h) == 2 * GRID


@pytest.mark.parametrize("regularisation", [0.0, 0.1, 1.0])
def test_a_clipped_leaf_moves_by_its_sensitivity_and_an_unclipped_one_by_more(regularisation):
    """All n ≤ 30 and extreme sums: 1/(1 + λ) at most; clipped at round 20, 2(1 − η)^19, which a leaf that was not
    exceeds.
    """
    clip = 0.9**19
    moves, clipped = [], []
    for n in range(31):
        for share, h in product(np.linspace(-1, 1, 9), (-GRID, 0, GRID)):
            S = round(share * n * GRID)
            pair = plain_means(np.array([S, S + h]), np.array([n, n + 1]), regularisation)
            moves.append(abs(pair[1] - pair[0]))
            clipped.append(abs(np.diff(np.clip(pair, -clip, clip))[0]))
    assert max(moves) == pytest.approx(leaf_sensitivity(1.0, regularisation))
    assert max(clipped) <= leaf_sensitivity(clip, regularisation) + 1e-12
    assert leaf_sensitivity(clip, regularisation) < 0.28
    assert max(moves) >= 0.5


@given(
    st.fractions(Fraction(1, 100), 50),
    st.integers(1, 9),
    st.integers(1, 5),
    st.integers(1, 8),
    st.fractions(0, Fraction(99, 100)),
)
def test_everything_spent_adds_up_to_epsilon(total, ensembles, outputs, depth, share):
    """Exactly, in fractions."""
    budget = Budget(total, ensembles, outputs, depth, share)
    assert budget.composed(budget.leaf) == total


@pytest.mark.parametrize("kind", ["bipartite", "optimum"])
def test_a_channel_of_leaves_spends_what_its_integers_say(kind):
    """Never more than the level it was asked for, and hardly less."""
    leaves = leaves_of(kind, Fraction(1, 3), 0.1, 11)
    assert Fraction(1, 3) * (1 - Fraction(1, 10**8)) < leaves.spent <= Fraction(1, 3)


def test_the_rounds_of_records_are_drawn_by_public_whole_numbers():
    """In proportion to (1 − η)^(j − 1), over 2⁴⁸."""
    weights = round_weights(20, 0.1)
    assert sum(weights) == 1 << 48
    expected = 0.9 ** np.arange(20) * 0.1 / (1 - 0.9**20)
    assert np.allclose(np.array(weights) / 2**48, expected, rtol=1e-9)
