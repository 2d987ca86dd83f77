"""Several numbers of a person: the split and the draw, their error and their promise."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet import DesignError, DomainError, Grid, Ordinal, PrivacyError, Randomness, design, estimate
from discreet.design.numbers.mean_variance import mean_variance

THREE = [Grid(0, 1, 5), Grid(0, 100, 5), Grid(18, 65, 5)]


def relative(domain, epsilon):
    """The worst variance of a mean, in squared widths."""
    mechanism = design.mean(domain, epsilon).mechanism
    return mean_variance(mechanism) / (mechanism.points[-1] - mechanism.points[0]) ** 2


def test_drawing_one_number_is_better_at_small_levels_and_splitting_at_large_ones():
    """At ε = 1 a third of the people each; at ε = 8 a third of the budget each."""
    small, large = design.means(THREE, 1.0), design.means(THREE, 8.0)
    assert small.chances == pytest.approx([1 / 3] * 3)
    assert small.epsilons == (1.0, 1.0, 1.0)
    assert small.objective == pytest.approx(9 * relative(THREE[0], 1.0), rel=1e-6)
    assert large.chances is None
    assert sum(large.epsilons) <= 8.0
    assert large.epsilons == pytest.approx([8 / 3] * 3, rel=1e-3)
    for found, total in ((small, 1.0), (large, 8.0)):
        assert total * (1 - 1e-6) <= found.guarantee.epsilon <= total
        assert found.guarantee.unit == "record"
        assert all(found.objective < other.value * (1 + 1e-9) for other in found.alternatives)
        assert "drawn" in found.summary() or "all" in found.summary()


def test_the_split_follows_the_weights():
    """A number that counts ten times as much gets more; no other split on a grid is better."""
    domains = [Grid(0, 1, 4), Grid(0, 100, 4)]
    found = design.means(domains, 2.0, [1, 10], method="split")
    assert found.epsilons[1] > 2 * found.epsilons[0]
    for first in np.linspace(0.2, 1.8, 9):
        other = relative(domains[0], first) + 10 * relative(domains[1], 2 - first)
        assert other >= found.objective * (1 - 2e-3)
    even = design.means(domains, 2.0, method="split")
    assert even.objective == pytest.approx(2 * relative(domains[0], 1.0), rel=1e-3)


def test_the_chances_follow_the_weights():
    """Chances ∝ √(w V), the least of Σ w V/q."""
    found = design.means([Grid(0, 1, 3), Ordinal(["a", "b", "c"], [0, 1, 9])], 0.5, [1, 4])
    values = [relative(Grid(0, 1, 3), 0.5), relative(Ordinal(["a", "b", "c"], [0, 1, 9]), 0.5)]
    roots = np.sqrt(np.array([1, 4]) * values)
    assert found.chances == pytest.approx(roots / roots.sum())
    assert found.objective == pytest.approx(roots.sum() ** 2, rel=1e-6)


@pytest.mark.parametrize("method", ["one", "split"])
def test_reported_numbers_are_unbiased_with_the_stated_error(method):
    """Means of columns over those who reported them; where one is drawn, everybody reports exactly one."""
    n = 60_000
    rng = np.random.default_rng(1)
    truths = np.column_stack([rng.random(n), 100 * rng.beta(2, 5, n), rng.uniform(18, 65, n)])
    found = design.means(THREE, 2.0, method=method)
    reports = found.privatize(truths, Randomness.seeded(2))
    there = ~np.isnan(reports)
    assert np.all(there.sum(axis=1) == (1 if method == "one" else 3))
    total = 0.0
    for j, width in enumerate((1, 100, 47)):
        mean = estimate.mean(reports[there[:, j], j])
        assert abs(mean.estimate[0] - truths[:, j].mean()) < 6.5 * mean.std_error[0]
        total += (mean.std_error[0] / width) ** 2 * n
    assert total < found.objective * 1.05  # the objective is for the worst distributions
    if method == "one":
        assert np.all(np.abs(there.mean(axis=0) - 1 / 3) < 6.5 * math.sqrt(2 / 9 / n))


@pytest.mark.parametrize(
    ("arguments", "kind", "says"),
    [
        (([Grid(0, 1, 3)], 1.0), DesignError, "at least two"),
        (([Grid(0, 1, 3), "x"], 1.0), DesignError, "Grid or an Ordinal"),
        (([Grid(0, 1, 3), Grid(0, 1, 100)], 1.0), DesignError, "64 points"),
        (([Grid(0, 1, 3)] * 2, 0.01), PrivacyError, "from 0.02 to 8"),
        (([Grid(0, 1, 3)] * 2, 1.0, [1, -1]), DesignError, "weights"),
        (([Grid(0, 1, 3)] * 2, 1.0, [1, 2, 3]), DesignError, "weights must be 2"),
    ],
)
def test_bad_input(arguments, kind, says):
    """One sentence each."""
    with pytest.raises(kind, match=says):
        design.means(*arguments)


def test_rows_of_another_length_are_refused():
    """And numbers outside their interval, by row, without their value."""
    found = design.means(THREE[:2], 1.0)
    with pytest.raises(DomainError, match="2 columns"):
        found.privatize(np.zeros((4, 3)))
    with pytest.raises(DomainError, match="row 1"):
        found.privatize([[0.5, 3.0], [0.5, 777.0]])
