"""Columns that were randomised together: what can be fitted hangs on which associations the design kept."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from discreet import NotIdentifiedError, Plan, PlanError, Randomness, release
from discreet.estimate.regressions.formula import corrected_regression

#: Five yes/no columns at ε = 1 each: every pair is kept, no three columns together are (λ = 0).
PLAN = """
format = 1
[[private]]
columns = ["a", "b", "c", "d", "e"]
domains = [{ binary = [0, 1] }, { binary = [0, 1] }, { binary = [0, 1] }, { binary = [0, 1] }, { binary = [0, 1] }]
mechanism = "joint"
epsilons = [1.0, 1.0, 1.0, 1.0, 1.0]
"""
BETA = (-0.5, 1.0, -0.8)


@pytest.fixture(scope="module")
def made():
    """A logit of a on b and c."""
    rng = np.random.default_rng(2)
    n = 100_000
    b, c, d, e = (rng.random((4, n)) < 0.45).astype(int)
    a = (rng.random(n) < 1 / (1 + np.exp(-(BETA[0] + BETA[1] * b + BETA[2] * c)))).astype(int)
    table = pa.table({"a": a, "b": b, "c": c, "d": d, "e": e})
    return release(table, Plan.parse(PLAN), randomness=Randomness.seeded(4))


def test_a_canonical_loss_needs_the_outcome_with_one_term_at_a_time(made):
    """The logit on two others works although three columns together are erased: b(η) has two of them, yη pairs."""
    fit = corrected_regression("a ~ b + c", made)
    assert fit.converged
    assert np.all(np.abs(fit.estimate - BETA) < 5 * fit.std_error)
    assert np.all(fit.std_error < 0.12)


def test_other_losses_and_more_predictors_are_refused_by_name(made):
    """A probit has all three columns in one function, an interaction too, and a third predictor makes a triple."""
    with pytest.raises(NotIdentifiedError, match=r'"b" and "c" and "a" go together \(λ = .*pairs = "triples"'):
        corrected_regression("a ~ b + c", made, link="probit")
    with pytest.raises(NotIdentifiedError, match=r'"b" and "c" and "a"'):
        corrected_regression("a ~ b * c", made)
    with pytest.raises(NotIdentifiedError, match=r'"b" and "c" and "d"'):
        corrected_regression("a ~ b + c + d", made)


@pytest.mark.parametrize("pairs", ['"triples"', '[["c", "a", "b"]]'])
def test_a_plan_that_keeps_the_table_gives_the_model(pairs):
    """What was refused above, with every triple kept or with this one named."""
    rng = np.random.default_rng(8)
    n = 30_000
    b, c, d, e = (rng.random((4, n)) < 0.5).astype(int)
    a = (rng.random(n) < 1 / (1 + np.exp(-(BETA[0] + BETA[1] * b + BETA[2] * c)))).astype(int)
    plan = PLAN.replace('mechanism = "joint"', f'mechanism = "joint"\npairs = {pairs}')
    kept = release(
        pa.table({"a": a, "b": b, "c": c, "d": d, "e": e}), Plan.parse(plan), randomness=Randomness.seeded(5)
    )
    fit = corrected_regression("a ~ b * c", kept)
    assert fit.converged
    assert np.all(np.abs(fit.estimate - [*BETA, 0]) < 5.5 * fit.std_error)


@pytest.mark.parametrize("pairs", ['[["a", "x"]]', "[]", "[1]", '"some"', '[["a"]]'])
def test_tables_of_other_columns_are_refused(pairs):
    """The key is named."""
    with pytest.raises(PlanError, match=r"private\[0\]"):
        Plan.parse(PLAN.replace('mechanism = "joint"', f'mechanism = "joint"\npairs = {pairs}'))


def test_a_squared_loss_needs_pairs_only(made):
    """A linear model on all four others."""
    fit = corrected_regression("a ~ b + c + d + e", made, family="linear")
    chance = 1 / (1 + np.exp(-np.add.outer([BETA[0], BETA[0] + BETA[1]], [0, BETA[2]])))
    slope = 0.55 * (chance[1, 0] - chance[0, 0]) + 0.45 * (chance[1, 1] - chance[0, 1])
    assert abs(fit.estimate[1] - slope) < 5 * fit.std_error[1]
    assert np.all(np.abs(fit.estimate[3:]) < 5 * fit.std_error[3:])
