"""Numbers with noise in any formula: beside other randomised columns, in functions, with weights and clusters."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from discreet import Randomness, release
from discreet.errors import EstimationError
from discreet.estimate import regression

TRUE = {"Intercept": 0.3, "a": 0.8, "b": -0.5, "s[T.yes]": 0.7, "u": 0.4, "a:s[T.yes]": 0.5}


def released(n, seed, zero=0.2, **survey):
    """Two numbers with noise in one block, a randomised yes/no predictor and outcome, public columns."""
    rng = np.random.default_rng(seed)
    x, s, u = rng.uniform(-1, 1, (n, 2)), rng.integers(0, 2, n), rng.standard_normal(n)
    index = 0.3 + 0.8 * x[:, 0] - 0.5 * x[:, 1] + 0.7 * s + 0.4 * u + 0.5 * x[:, 0] * s
    y = rng.random(n) < 1 / (1 + np.exp(-index))
    words = np.array(["no", "yes"])
    table = pa.table(
        {
            "a": x[:, 0], "b": x[:, 1], "s": words[s], "y": words[y.astype(int)], "u": u,
            "z": index + rng.standard_normal(n), "w": rng.choice([1.0, 3.0], n), "c": np.arange(n) // 2,
        }
    )  # fmt: skip
    yes_no = {"domain": {"binary": ["no", "yes"]}, "mechanism": "randomized-response", "epsilon": 2.0}
    numbers = {"domain": {"box": {"low": [-1, -1], "high": [1, 1]}}, "mechanism": "zero-inflated-laplace"}
    plan = {
        "format": 1,
        "survey": survey,
        "output": {"order": "keep"},
        "public": [{"columns": ["u", "z", "w", "c"]}],
        "private": [
            {"columns": ["a", "b"], "epsilon": 2.0, "delta": 0.3, "zero_probability": zero, **numbers},
            {"columns": ["s"], **yes_no},
            {"columns": ["y"], **yes_no},
        ],
    }
    return release(table, plan, randomness=Randomness.seeded(seed))


@pytest.fixture(scope="module")
def large():
    return released(12_000, 1)


@pytest.mark.parametrize(("outcome", "options"), [("y", {}), ("z", {}), ("z", {"family": "huber"})])
def test_numbers_beside_randomised_answers(large, outcome, options):
    """An interaction of both, logistic and linear; within error bars, and converged."""
    found = regression(f"{outcome} ~ a + b + s + u + a:s", large, **options)
    assert found.converged
    truth = np.array([TRUE[name] for name in found.names])
    assert np.all(np.abs(found.estimate - truth) < 4.5 * found.std_error)
    assert "inside their box" in found.summary()
    assert found.randomised[:3] == ("a", "b", "s")


def test_functions_of_numbers_and_numbers_as_outcomes(large):
    """A square has its coefficient of zero; a number with noise is an outcome of a mean and of a median."""
    square = regression("z ~ a + I(a**2) + b + s + u + a:s", large)
    place = square.names.index("I(a ** 2)")
    assert abs(square.estimate[place]) < 4.5 * square.std_error[place]
    for family in ("linear", "quantile"):
        found = regression("a ~ s + u", large, family)
        assert found.converged
        assert np.all(np.abs(found.estimate) < 4.5 * found.std_error)


def test_without_other_columns_it_is_the_estimate_of_the_box(large):
    """The two ways to the same fit: rows written out here, and copies of the box."""
    here = regression("z ~ a + b + I(u * 1)", large, method="box")
    from discreet.estimate.regressions.formula import corrected_regression

    there = corrected_regression("z ~ a + b + I(u * 1)", large)
    for name in here.names:
        i, j = here.names.index(name), there.names.index(name)
        assert here.estimate[i] == pytest.approx(there.estimate[j], abs=1e-6)
        assert here.std_error[i] == pytest.approx(there.std_error[j], rel=2e-3)


def test_weights_strata_and_clusters_of_the_manifest_are_used():
    """In both kinds of regression: estimates move with the weights, and errors with the clusters."""
    weighted, plain = released(4_000, 3, weight="w", cluster="c"), released(4_000, 3)
    for formula in ("z ~ a + b + u", "z ~ a + s + u"):
        one, other = regression(formula, weighted), regression(formula, plain)
        assert not np.allclose(one.estimate, other.estimate, rtol=1e-4)
        assert np.all(one.std_error < 2 * other.std_error)
        assert np.all(one.std_error > 0.8 * other.std_error)
        assert not any("not used" in note for note in one.notes)


def test_what_cannot_be_gets_one_clear_sentence():
    """Without exact records the box has no weights."""
    without = released(500, 4, zero=0.0)
    with pytest.raises(EstimationError, match="no exactly published records"):
        regression("z ~ a + s", without)
    assert regression("z ~ a + b", without).method == "exact"
