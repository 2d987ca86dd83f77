"""Reports and copies inside the box: weights that undo the noise of any function on it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.domains.box import Box
from discreet.estimate.noisy_numbers.copies import Copies, NoisyBlock
from discreet.estimate.noisy_numbers.inside import Inside
from discreet.mechanisms.laplace import ZeroInflatedLaplace
from discreet.randomness import Randomness

#: Standard errors that a right answer may be off: one in 10⁹.
SIGMAS = 6.1


def copies_of(mechanism, truth, n, seed, count=8):
    reports = mechanism.privatize(np.tile(truth, (n, 1)), Randomness.seeded(seed))
    return Copies([NoisyBlock(reports, mechanism)], count)


def answers(copies, function):
    kept = copies.kept
    return np.bincount(kept.record, kept.weight * function(kept.values), copies.n)


def off(found, truth):
    """How many standard errors a mean is away."""
    return abs(found.mean() - truth) / (found.std() / math.sqrt(found.size))


@pytest.mark.parametrize("dimension", [1, 3])
@pytest.mark.parametrize("place", [0.0, 0.3, 1.0])
def test_they_correct_any_function_at_every_point(dimension, place):
    """Also a jump, and also at an edge; weights that forget the exact records are off by far."""
    mechanism = ZeroInflatedLaplace(Box([0] * dimension, [1] * dimension), 1.5, 0.2)
    truth = np.full(dimension, place)
    copies = copies_of(mechanism, truth, 60_000, 1)
    for function in (lambda x: np.exp(x).sum(axis=1), lambda x: (x[:, 0] <= 0.45) * 2.0 + 1):
        assert off(answers(copies, function), function(truth[None])[0]) < SIGMAS
    kept = copies.kept
    wrong = np.bincount(kept.record, np.where(kept.half == 0, 0.9 * kept.weight, kept.weight), copies.n)
    assert off(wrong, 1.0) > SIGMAS


def test_edges_between_grid_points_count_as_inside():
    """Records at .1 on a grid of 2⁻¹⁰ keep their weight; in the box as declared they lose most of it."""
    mechanism = ZeroInflatedLaplace(Box(0.1, 0.9), 1.0, 0.2, grid=2.0**-10)
    copies = copies_of(mechanism, np.array([0.1]), 60_000, 2)
    ones = answers(copies, lambda x: np.ones(len(x)))
    assert off(ones, 1.0) < SIGMAS
    declared = sum(draw.weight * ((draw.values >= 0.1) & (draw.values <= 0.9)).all(axis=1) for draw in copies.draws())
    assert off(declared, 1.0) > SIGMAS
    assert copies.kept.values.min() >= 0.1
    assert copies.kept.values.max() <= 0.9


def test_blocks_are_undone_one_after_the_other():
    """Two independently randomised blocks: a product of functions of both, weights of four kinds."""
    first = ZeroInflatedLaplace(Box([0, 0], [1, 1]), 1.0, 0.3)
    second = ZeroInflatedLaplace(Box(0, 2), 1.5, 0.25)
    n, truths = 60_000, (np.array([0.2, 0.7]), np.array([1.3]))
    blocks = [
        NoisyBlock(m.privatize(np.tile(x, (n, 1)), Randomness.seeded(k)), m)
        for k, (m, x) in enumerate(((first, truths[0]), (second, truths[1])))
    ]
    found = answers(Copies(blocks, 6), lambda x: (1 + x[:, 0]) * x[:, 1] * np.exp(-x[:, 2]))
    assert off(found, 1.2 * 0.7 * math.exp(-1.3)) < SIGMAS


def test_copies_are_the_same_every_time_and_add_little():
    """Fixed, and more even than chance: eight copies leave about half of what independent ones would."""
    mechanism = ZeroInflatedLaplace(Box(-1, 1), 2.0, 0.1)
    x1 = mechanism.privatize(np.random.default_rng(3).uniform(-1, 1, 4000), Randomness.seeded(3)).reshape(-1, 1)
    first, again = (Copies([NoisyBlock(x1, mechanism)], 8).kept for _ in range(2))
    np.testing.assert_array_equal(first.values, again.values)
    copies = Copies([NoisyBlock(x1, mechanism)], 8)
    single = first.weight[:, None]
    total = np.bincount(first.record, first.weight, 4000)[:, None]
    share = copies.share(single, total)
    # Independent copies: (1 − 1/δ₀)² p(1 − p)/R, p the chance that a copy of this report is inside.
    chance = np.mean([draw.inside for draw in list(Copies([NoisyBlock(x1, mechanism)], 200).draws())[1:]], axis=0)
    chaotic = (1 - 1 / 0.1) ** 2 * np.mean(chance * (1 - chance)) / 8 / total.var()
    assert share < chaotic / 1.5


def test_inside_is_the_closed_box_widened_to_the_grid():
    """Half a step beyond the grid point at or outside each edge; values are put back into the declared box."""
    inside = Inside.of(ZeroInflatedLaplace(Box([0.0, 0.1], [1.0, 0.9]), 1.0, 0.1, grid=0.25))
    np.testing.assert_array_equal(inside.low, [-0.125, -0.125])
    np.testing.assert_array_equal(inside.high, [1.125, 1.125])
    np.testing.assert_array_equal(inside.clip(np.array([[1.1, -0.1]])), [[1.0, 0.1]])
