"""Counts on randomised predictors: rows whose error grows with the square of the mean weigh less."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from discreet import Plan, Randomness, release
from discreet.estimate.regressions.families import Poisson
from discreet.estimate.regressions.formula import corrected_regression

TRUTH = (-0.3, 0.5, 1.0, -0.4)
PLAN = """
[[public]]
columns = ["w", "y"]
[[private]]
columns = ["x"]
domain = {{ binary = ["no", "yes"] }}
mechanism = "randomized-response"
epsilon = {epsilon}
[[private]]
columns = ["v"]
domain = {{ ordinal = [0, 1, 2, 3] }}
mechanism = "randomized-response"
epsilon = {epsilon}
"""


def counts(n, seed):
    """A rare yes, a number that goes with a public one, and a count."""
    rng = np.random.default_rng(seed)
    w = 1.1 * rng.normal(size=n) + 0.45
    x = rng.random(n) < 1 / (1 + np.exp(2.4 - 0.5 * w))
    v = rng.binomial(3, 1 / (1 + np.exp(0.5 - w)))
    y = rng.poisson(np.exp(TRUTH[0] + TRUTH[1] * w + TRUTH[2] * x + TRUTH[3] * v))
    return pa.table({"w": w, "x": np.where(x, "yes", "no"), "v": v, "y": y})


def fitted(n, epsilon, seed):
    plan = Plan.parse(PLAN.format(epsilon=epsilon))
    made = release(counts(n, seed), plan, randomness=Randomness.seeded(seed))
    return corrected_regression("y ~ w + x + v", made, family="poisson")


def test_strong_randomisation_leaves_a_minimum(monkeypatch):
    """ε = 1, n = 5,000: twelve fits converge, near the truth; the plain loss of counts has no minimum in some."""
    fits = [fitted(5_000, 1.0, seed) for seed in range(12)]
    assert all(fit.converged for fit in fits)
    for fit in fits:
        assert np.all(np.abs(fit.estimate - TRUTH) < 5 * fit.std_error)
        assert fit.family.alpha == 1
        assert "variance μ + 1μ²" in str(fit)
        assert any("changes errors, not coefficients" in note for note in fit.notes)
    monkeypatch.setattr(Poisson, "tamed", lambda self, _: self)
    assert not all(fitted(5_000, 1.0, seed).converged for seed in range(12))


def test_little_randomisation_is_a_poisson_regression():
    """The inflation of a yes/no and a four-valued answer, by hand; none at ε = 40."""
    assert fitted(500, 40.0, 1).family.alpha == 0
    assert "variance μ" not in str(fitted(500, 40.0, 1))
    for epsilon in (2.0, 3.0):
        inflation = 1.0
        for size in (2, 4):
            keep = np.exp(epsilon) / (np.exp(epsilon) + size - 1)
            other = (1 - keep) / (size - 1)
            inflation *= ((1 - other) ** 2 + (size - 1) * other**2) / (keep - other) ** 2
        fit = fitted(2_000, epsilon, 1)
        assert fit.risk.inflation == pytest.approx(inflation)
        assert fit.family.alpha == pytest.approx(min(inflation - 1, 1))


def test_a_randomised_count_alone_inflates_nothing():
    """Public predictors: the loss of a Poisson count, as it is."""
    rng = np.random.default_rng(2)
    w = rng.normal(size=3_000)
    table = pa.table({"w": w, "y": np.minimum(rng.poisson(np.exp(0.3 * w)), 6)})
    plan = Plan.parse("""
        [[public]]
        columns = ["w"]
        [[private]]
        columns = ["y"]
        domain = { ordinal = [0, 1, 2, 3, 4, 5, 6] }
        mechanism = "randomized-response"
        epsilon = 2.0
    """)
    fit = corrected_regression("y ~ w", release(table, plan, randomness=Randomness.seeded(1)), family="poisson")
    assert fit.risk.inflation == pytest.approx(1)
    assert fit.family.alpha == 0


def test_columns_randomised_together_keep_the_loss_that_needs_less():
    """Of five columns at ε = 1 no three are known together: a count on two others has the plain loss, and is fitted."""
    rng = np.random.default_rng(3)
    b, c = rng.integers(0, 2, 20_000), rng.integers(0, 2, 20_000)
    a = rng.random(20_000) < 0.3 * np.exp(0.5 * b + 0.4 * c)
    others = {name: rng.integers(0, 2, 20_000) for name in "de"}
    table = pa.table({"a": a.astype(int), "b": b, "c": c} | others)
    domains = ", ".join(["{ ordinal = [0, 1] }"] * 5)
    plan = Plan.parse(f"""
        [[private]]
        columns = ["a", "b", "c", "d", "e"]
        domains = [{domains}]
        mechanism = "joint"
        epsilons = [1.0, 1.0, 1.0, 1.0, 1.0]
    """)
    fit = corrected_regression("a ~ b + c", release(table, plan, randomness=Randomness.seeded(1)), family="poisson")
    assert fit.family.alpha == 0
    assert fit.converged
    assert np.all(np.abs(fit.estimate - [np.log(0.3), 0.5, 0.4]) < 5 * fit.std_error)
