"""Two groups that notice cheaters: the power that is promised is the one that the test has."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.design import detect_cheating
from discreet.design.planning.cheating_detection import exact_power
from discreet.errors import DesignError, PrivacyError
from discreet.estimate import noncompliance


def rejection_rate(found, carriers, cheaters, runs, seed):
    """How often the public test of honesty rejects, by simulation."""
    generator = np.random.default_rng(seed)
    honest = np.array([1 - carriers - cheaters, carriers])
    draws = {
        name: generator.binomial(n, honest @ found.designs[name].matrix()[:, 1], runs)
        for name, n in found.people.items()
    }
    low = 0
    for row in range(runs):
        counts = {name: [n - int(draws[name][row]), int(draws[name][row])] for name, n in found.people.items()}
        low += noncompliance(counts=counts, designs=found.designs).honesty_test().p_value <= found.level
    return low / runs


def test_the_power_is_what_was_asked_for():
    """Simulated through the public estimator: 80 % when the stated share cheats, 5 % when nobody does."""
    found = detect_cheating(0.15, 0.8, epsilon=1.5, prevalence=0.3)
    assert found.exact
    assert 0.8 <= found.power < 0.81
    runs = 400
    error = math.sqrt(0.8 * 0.2 / runs)
    assert abs(rejection_rate(found, 0.3, 0.15, runs, 1) - found.power) < 5 * error
    assert rejection_rate(found, 0.3, 0.0, runs, 2) < 0.05 + 5 * math.sqrt(0.05 * 0.95 / runs)


def test_exact_power_agrees_with_the_public_test():
    """Summed over all tables of two small groups."""
    from scipy.stats import binom

    found = detect_cheating(0.4, 0.8, epsilon=1.0, prevalence=0.3, truthful=0.4)
    says_yes = np.array([one.matrix()[:, 1] for one in found.designs.values()])
    honest, sizes = np.array([0.3, 0.3]), (11, 14)
    weights = [binom.pmf(np.arange(n + 1), n, chance) for n, chance in zip(sizes, says_yes @ honest, strict=True)]
    total = 0.0
    for first in range(sizes[0] + 1):
        for second in range(sizes[1] + 1):
            counts = {"few": [sizes[0] - first, first], "many": [sizes[1] - second, second]}
            test = noncompliance(counts=counts, designs=found.designs).honesty_test()
            total += weights[0][first] * weights[1][second] * (test.p_value < 0.05)
    assert exact_power(says_yes, sizes, honest, 0.05) == pytest.approx(total, abs=1e-7)


@pytest.mark.parametrize("mirrored", [False, True])
def test_privacy_and_truthfulness_are_kept(mirrored):
    """ε is not exceeded by the rounded fractions, and the floor is missed by their rounding at most."""
    for epsilon in (0.05, 0.5, 2.0):
        floor = 0.4 * math.tanh(epsilon / 2)
        found = detect_cheating(0.3, epsilon=epsilon, prevalence=0.2, truthful=floor, mirrored=mirrored)
        assert found.guarantee.epsilon <= epsilon
        for one in found.designs.values():
            assert abs(float(one.p00 + one.p11) - 1) > floor - 0.003


def test_no_random_pair_needs_fewer_people():
    """The search against 3,000 random admissible pairs with random splits, by the same normal approximation."""
    from discreet.design.planning.cheating_detection import _Problem

    generator = np.random.default_rng(5)
    for mirrored in (False, True):
        problem = _Problem(0.1, np.array([0.25]), (1.645, 0.8416), 1.2, 0.2, mirrored)
        pair, split = problem.solve()
        (a1, b1), (a2, b2) = (one.matrix()[:, 1] for one in pair)
        found = float(problem.people(a1, b1, a2, b2, np.array(split), 0.25))
        asked = generator.uniform(0.2, math.tanh(0.6), (2, 3000))
        rare = asked / math.expm1(1.2)
        a = generator.uniform(rare, 1 - rare - asked)
        b = a + asked
        if mirrored:
            turned = generator.random((2, 3000)) < 0.5
            a, b = np.where(turned, b, a), np.where(turned, a, b)
        random = problem.people(a[0], b[0], a[1], b[1], generator.uniform(0.05, 0.95, 3000), 0.25)
        assert found < 1.01 * random.min()


def test_less_truth_notices_cheaters_sooner():
    """The trade: fewer people, and a less precise prevalence for as many."""
    more = detect_cheating(0.1, epsilon=1.0, prevalence=0.3, truthful=0.3)
    less = detect_cheating(0.1, epsilon=1.0, prevalence=0.3, truthful=0.1)
    assert less.objective < more.objective
    assert less.std_error > more.std_error
    mirrored = detect_cheating(0.1, epsilon=1.0, prevalence=0.3, truthful=0.3, mirrored=True)
    assert mirrored.objective < more.objective


def test_unknown_prevalence_is_the_worst():
    """Without a prevalence there are at least as many people as for any."""
    worst = detect_cheating(0.2, epsilon=1.0)
    assert worst.objective >= 0.97 * max(
        detect_cheating(0.2, epsilon=1.0, prevalence=p).objective for p in (0.1, 0.5)
    )  # fmt: skip
    assert "notices" not in worst.summary()
    assert "is noticed with probability" in worst.summary()
    assert worst.to_dict()["objective"] == sum(worst.people.values())


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"share": 0}, DesignError, "share"),
        ({"power": 0.04}, DesignError, "power must be above the level"),
        ({"epsilon": 0}, PrivacyError, "epsilon"),
        ({"truthful": 0.9}, DesignError, "truthful must be below 0.46"),
        ({"prevalence": 0.95}, DesignError, "prevalence"),
    ],
)
def test_what_cannot_be_designed(changed, error, message):
    """One sentence that names the argument and its bound."""
    with pytest.raises(error, match=message):
        detect_cheating(**({"share": 0.1, "epsilon": 1.0} | changed))
