"""Attacks on boosting: neighbouring tables are never told apart better than ε allows, planted leaks are."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from discreet import Randomness
from discreet.learning import PrivateBoostingClassifier, PrivateBoostingRegressor
from discreet.learning.boosting.ensemble import Boosting, draw_rounds, predict_scores, round_weights
from discreet.learning.boosting.gradients import GRID, SquaredLoss
from discreet.learning.boosting.leaves import (
    KINDS,
    NoisyLeaves,
    SummedLeaves,
    leaf_sensitivity,
    leaves_of,
    plain_means,
)
from discreet.learning.boosting.split_scores import SCORE_RANGE, side_scores
from discreet.learning.boosting.tree import Growing
from discreet.randomness.discrete_laplace import discrete_laplace
from discreet.randomness.exponential_choice import exponential_choice
from tests.learning.attack import lower_bound

RUNS = 100_000
CLIP = 0.9**19


def leaf_attack(leaves, clip, n=0):
    """The same leaf with n records of gradient −1, and with one of +1 more, many times over."""
    found = []
    for more in (0, 1):
        sums, counts = np.full(RUNS, (more - n) * GRID), np.full(RUNS, n + more)
        found.append(leaves.means(sums, counts, clip, Randomness.seeded(more + 1)))
    return lower_bound(*found)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("clip", "n"), [(1.0, 0), (CLIP, 1)])
def test_leaves_keep_their_promise(kind, clip, n):
    """At a late round, where clipping decides, and at the first."""
    assert leaf_attack(leaves_of(kind, Fraction(1), 0.1, 9), clip, n) <= 1.0


def test_the_attack_on_leaves_comes_close_to_epsilon():
    """It is not blind: of ε = 1 it finds most where a record moves the release by all of its sensitivity."""
    assert leaf_attack(leaves_of("laplace", Fraction(1), 0.1, 9), 1.0) > 0.9
    assert leaf_attack(leaves_of("bipartite", Fraction(1), 0.1, 9), CLIP) > 0.9


class UnclippedLeaves(NoisyLeaves):
    """Planted: the published sensitivity without the clipping that it supposes."""

    def means(self, sums, counts, clip, randomness):
        noise = discrete_laplace(self.epsilon / round(leaf_sensitivity(clip, 0.1) * GRID), sums.size, randomness)
        return plain_means(sums, counts, 0.1) + noise / GRID


class CountedLeaves(SummedLeaves):
    """Planted: noise for the sums, none for the counts."""

    def means(self, sums, counts, clip, randomness):
        noise = discrete_laplace(self.epsilon / GRID, sums.size, randomness)
        return (sums + noise) / GRID / (counts + 0.1) * 10.0**-counts


def test_leaks_planted_into_leaves_are_found():
    """Noise before clipping; exact counts; half of the noise."""
    assert leaf_attack(UnclippedLeaves(Fraction(1), 0.1, False), CLIP) > 2.0
    assert leaf_attack(CountedLeaves(Fraction(1), 0.1), 1.0) > 1.1
    assert leaf_attack(leaves_of("sums", Fraction(2), 0.1, 9), 1.0) > 1.1


def split_attack(rate, n=400):
    """Two splits, one of which puts the record among its own kind and one among the other; which is chosen?"""
    found = []
    for more in (0, 1):
        sums, counts = np.array([n, -n]) * GRID + more * GRID, np.array([n, n]) + more
        scores = np.tile(side_scores(sums.astype(float), counts.astype(float), 0.1), (RUNS, 1))
        found.append(exponential_choice(scores, rate, Randomness.seeded(more + 5)))
    return lower_bound(*found)


def test_splits_keep_their_promise_and_nearly_use_it_up():
    """Two candidates show half of ε = 2 (the sum of weights moves as well); the score with half its range is found
    out.
    """
    assert 0.9 < split_attack(Fraction(2) / SCORE_RANGE) <= 2.0
    assert split_attack(Fraction(8) / SCORE_RANGE) > 2.0


@dataclass(frozen=True)
class Small:
    """A small fit of the core, without scikit-learn: rounds of trees of depth one on two features of three bins."""

    rounds: int
    rate: float
    epsilon: int = 1

    def statistic(self, bins, outcomes, at, seed):
        leaves = leaves_of("sums", Fraction(self.epsilon, 2), 0.1, 9)
        growing = Growing(1, 3, Fraction(self.epsilon, 2), 0.1, leaves)
        trees = Boosting(SquaredLoss(), growing, self.rounds, 1, self.rate).fit(bins, outcomes, Randomness.seeded(seed))
        return float(predict_scores(trees, at, 1)[0, 0])


def fit_attack(fit, n, runs):
    """N records of one kind, with and without one of another kind; the prediction for that one."""
    bins = np.zeros((n + 1, 2), np.uint8)
    bins[0] = 2
    outcomes = np.full(n + 1, 1.0)
    outcomes[0] = -1.0
    found = [
        [fit.statistic(bins[skip:], outcomes[skip:], bins[:1], 2 * seed + skip) for seed in range(runs)]
        for skip in (0, 1)
    ]
    return lower_bound(*found)


def test_whole_fits_keep_their_promise():
    """Three rounds, ten records and one more."""
    assert fit_attack(Small(3, 0.3), 10, 600) <= 1.0


def noisy_sizes(sizes, seed):
    """The group sizes that trees of one leaf release at ε = 1 each, all gradients being 1."""
    noise = discrete_laplace(Fraction(1, 2 * GRID), sizes.size, Randomness.seeded(seed)).reshape(sizes.shape)
    return sizes + noise / (2 * GRID)


def group_attack(sizes_of):
    """Nine records and ten: how many of ten groups look as if they had somebody?"""
    return lower_bound(
        *(np.clip(noisy_sizes(sizes_of(n), n), 0, 1).sum(axis=1) for n in (9, 10))  # the likelihood ratio, if leaked
    )


def drawn_sizes(n):
    """Everybody draws a group."""
    weights = round_weights(10, 1e-6)
    drawn = draw_rounds(RUNS * n, weights, Randomness.seeded(n)).reshape(RUNS, n)
    return (drawn[:, :, None] == np.arange(10)).sum(axis=1)


def published_sizes(n):
    """Planted: a random order cut into groups whose sizes are worked out from the number of records."""
    return np.tile([n * weight >> 48 for weight in round_weights(10, 1e-6)], (RUNS, 1))


def test_group_sizes_that_depend_on_the_number_of_records_are_found_out():
    """Nine records leave all ten groups empty; the tenth gives five of them somebody, and ε = 1 becomes 5."""
    assert group_attack(drawn_sizes) <= 1.0
    assert group_attack(published_sizes) > 2.5


def test_estimators_keep_their_promise():
    """Fits through scikit-learn's interface, regression and classes."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (8, 1))
    X[0] = 0.9
    y = np.where(X[:, 0] > 0.8, 1, 0)
    options = {"n_estimators": 2, "max_depth": 1, "max_bins": 3}
    for make in (
        lambda seed: PrivateBoostingRegressor(1.0, (0, 1), (0, 1), randomness=Randomness.seeded(seed), **options),
        lambda seed: PrivateBoostingClassifier(1.0, (0, 1), (0, 1), randomness=Randomness.seeded(seed), **options),
    ):
        found = []
        for skip in (0, 1):
            models = (make(2 * seed + skip).fit(X[skip:], y[skip:]) for seed in range(250))
            found.append([model._scores(X[:1])[0, 0] for model in models])
        assert lower_bound(*found) <= 1.0
