"""A plan keeps the design of every block: what was chosen, with its certificate."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pytest

from discreet import Box, Grid, Plan, design
from discreet.publish.label_design import with_labels_designed
from tests.publish.conftest import block_of, plan_of

GRID = {"grid": {"low": 0, "high": 24, "points": 25}}
NEAR = {"columns": ["cheated"], "domain": GRID, "epsilon": 1.0}


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (block_of(), lambda: design.binary(1.0)),
        (block_of(delta=0.1, prevalence=0.05), lambda: design.binary(1.0, 0.1, 0.05)),
        (block_of(delta=0.1, reports=4), lambda: design.binary(1.0, 0.1, reports=4)),
        (NEAR | {"mechanism": "bipartite"}, lambda: design.bipartite(Grid(0, 24, 25), 1.0)),
        (NEAR | {"mechanism": "expected-error"}, lambda: design.expected_error(Grid(0, 24, 25), 1.0)),
        (block_of(collected=True), lambda: design.binary(1.0)),
        (
            {
                "columns": ["a", "b"],
                "domains": [{"binary": ["no", "yes"]}, {"categorical": ["n", "s", "e"]}],
                "mechanism": "joint",
                "epsilons": [1.0, 2.0],
            },
            lambda: design.attributes([2, 3], [1.0, 2.0]),
        ),
        (
            {
                "columns": ["x"],
                "domain": {"box": {"low": 0, "high": 1}},
                "mechanism": "zero-inflated-laplace",
                "epsilon": 1.0,
                "delta": 0.1,
            },
            lambda: design.zero_inflated_laplace(Box(0, 1), 1.0, 0.1),
        ),
    ],
    ids=["binary", "delta", "four", "bipartite", "expected-error", "collected", "joint", "numeric"],
)
def test_the_design_of_a_block_is_the_one_of_its_designer(block, expected):
    """Mechanism, objective, certificate and notes, as the designer returns them."""
    plan = Plan.from_dict(plan_of(block))
    assert plan.designs == (expected(),)
    assert plan.designs[0].mechanism == plan.blocks[0].mechanism
    assert pickle.loads(pickle.dumps(plan)) == plan


@pytest.mark.parametrize(
    "block",
    [
        block_of(domain={"categorical": ["a", "b", "c"]}),
        NEAR | {"mechanism": "exponential"},
        block_of(mechanism="channel", epsilon=None, matrix=[[3, 1], [1, 3]]),
        block_of(mechanism=None, epsilon=None, collected=True, warner="3/4"),
    ],
    ids=["generalised", "exponential", "channel", "procedure"],
)
def test_what_is_given_has_no_design(block):
    """Nothing was chosen where the plan names the mechanism outright."""
    assert Plan.from_dict(plan_of(block)).designs == (None,)


def test_the_design_of_a_label_replaces_its_stand_in():
    """Once the public columns are read, the plan holds the design that was made for the regression."""
    label = {"formula": "age", "coefficients": [-3.0, 0.02]}
    plan = Plan.from_dict(plan_of(block_of(delta=0.3, label=label), public=[{"columns": ["age"]}]))
    ages = np.arange(18.0, 70.0)
    made = with_labels_designed(plan, pa.table({"age": ages, "cheated": ["no"] * ages.size}))
    expected = design.label(1.0, 0.3, np.column_stack([np.ones(ages.size), ages]), [-3.0, 0.02])
    assert made.designs == (expected,)
    assert made.designs != plan.designs
