"""Margins in place of ε: what a plan gets for them, and what it is told when they cannot be had."""

from __future__ import annotations

import pytest

from discreet import Plan, design
from discreet.errors import BudgetError, PlanError

BLOCK = {"columns": ["a"], "domain": {"binary": ["no", "yes"]}, "mechanism": "randomized-response", "margin": 0.03}


def plan(*blocks, **budget):
    """A plan whose blocks state margins for 20,000 rows."""
    return {"budget": {"split": "margins", "rows": 20_000} | budget, "private": list(blocks)}


def test_every_block_has_the_margin_that_it_states():
    """Columns of their own, large domains and columns randomised together; a block with an ε keeps it."""
    read = Plan.from_dict(
        plan(
            BLOCK | {"columns": ["a", "b"]},
            {"columns": ["c"], "domain": {"categorical": list("nsew")}, "mechanism": "frequencies", "margin": 0.04},
            {
                "columns": ["d", "e"],
                "domains": [{"binary": ["no", "yes"]}, {"categorical": list("xyz")}],
                "mechanism": "joint",
                "margin": [0.05, 0.06],
            },
            {"columns": ["f"], "domain": {"binary": [0, 1]}, "mechanism": "randomized-response", "epsilon": 0.25},
            epsilon=4.0,
            rows_per_person=1,
        )
    )
    read.check_budget()
    margins = [design.margin(read.blocks[0].mechanism, 20_000), design.margin(read.blocks[1].mechanism, 20_000)]
    joint = read.blocks[2].mechanism
    margins += [design.margin(joint.view(i), 20_000) for i in (0, 1)]
    assert margins == pytest.approx([0.03, 0.04, 0.05, 0.06], rel=1e-6)
    assert all(got <= want for got, want in zip(margins, (0.03, 0.04, 0.05, 0.06), strict=True))
    assert read.blocks[3].guarantee.epsilon == pytest.approx(0.25)
    assert read.guarantee.epsilon == pytest.approx(read.split.epsilon + 0.25, abs=1e-6)
    assert set(read.split.shares) == {"a", "b", "c", "d, e"}


def test_the_budget_of_a_person_is_for_all_their_rows():
    """Two rows per person leave half of the budget for each."""
    assert Plan.from_dict(plan(BLOCK, epsilon=1.0, rows_per_person=2)).guarantee.epsilon == pytest.approx(
        0.941, abs=0.001
    )
    with pytest.raises(BudgetError, match=r"budget is 0.45; the best that it reaches is every margin 1.0"):
        Plan.from_dict(plan(BLOCK, epsilon=0.9, rows_per_person=2))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"private": [BLOCK]}, r'private\[0\].margin goes with budget.split = "margins"'),
        (plan({**BLOCK, "margin": 0}), r"private\[0\].margin must be a number above 0"),
        (plan({**BLOCK, "epsilon": 1.0}), r"private\[0\].epsilon cannot stand beside margin"),
        (plan({k: v for k, v in BLOCK.items() if k != "margin"} | {"epsilon": 1.0}), "needs a .* block with a margin"),
        ({"budget": {"split": "margins"}, "private": [BLOCK]}, "budget.rows is missing"),
        ({"budget": {"level": 0.9}, "private": [BLOCK]}, "budget.level goes with split"),
        (plan(BLOCK, level=1.0), "budget.level must lie between 0 and 1"),
        (plan(BLOCK, split="evenly"), "budget.split must be one of"),
        (plan({**BLOCK, "mechanism": "channel", "matrix": [[1, 0], [0, 1]]}), "is not for mechanism"),
        (plan(BLOCK, BLOCK), "private already"),
        (
            plan(
                {"columns": ["c"], "domain": {"ordinal": list("abcdefghij")}, "mechanism": "bipartite", "margin": 0.1}
            ),
            "a margin cannot be promised",
        ),
    ],
)
def test_what_does_not_fit_is_said_with_its_key(data, words):
    """One sentence, with the path."""
    with pytest.raises((PlanError, BudgetError), match=words):
        Plan.from_dict(data)


def test_margins_out_of_reach_say_the_best_reachable():
    """Too little ε, or too few people for any."""
    with pytest.raises(
        BudgetError, match=r"need ε = 0.4705, and the budget is 0.2; the best that it reaches is every margin 2"
    ):
        Plan.from_dict(plan(BLOCK, epsilon=0.2))
    with pytest.raises(
        BudgetError, match=r'"a": no ε gives a margin of 0.03 with 50 people; the best that can be reached is'
    ):
        Plan.from_dict(plan(BLOCK, rows=50))


def test_a_number_states_the_margin_of_its_mean():
    """In its own units; the block is one of unbiased numbers."""
    grid = {"grid": {"low": 0, "high": 40, "points": 5}}
    read = Plan.from_dict(plan({"columns": ["h"], "domain": grid, "mechanism": "unbiased", "margin": 1.0}, rows=5000))
    assert read.split.margins["h"][0] == pytest.approx(1.0, rel=1e-4)
    assert read.split.margins["h"][0] <= 1.0
