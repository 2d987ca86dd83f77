"""``repeat = "memoise"``: the same person and value give the same report in every wave."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from discreet.blocks import Block, ColumnBlock, JointBlock
from discreet.errors import PlanError
from discreet.mechanisms.memoised import check_memoised
from discreet.publish.plan.budget import Budget
from discreet.publish.plan.grammar import Section, at


def with_repeat(section: Section, block: Block, budget: Budget) -> Block:
    """The block as it is, or memoised where the plan says so."""
    if section.choice("repeat", ("memoise",)) is None:
        return block
    path = section.at("repeat")
    if block.collected or "label" in section:
        raise PlanError(
            f"{path} is for answers that are randomised here, and not for a label designed for a regression"
        )
    if budget.person is None or budget.rows_per_person != 1:
        raise PlanError(
            f"{path} needs budget.person, a column that names the person in every wave, with one row per person: "
            "several rows with the same report would count as independent"
        )
    with at(path):
        if type(block) is ColumnBlock:
            check_memoised(block.mechanism)
        elif isinstance(block, JointBlock):
            check_memoised(block.mechanism.view(*range(len(block.columns))))
        else:
            raise PlanError(
                f"{path} is for columns with a list of values, not for numbers that are rounded or get noise"
            )
    return cast("Block", replace(block, memoised=True, guarantee=None))  # type: ignore[arg-type]  # worked out again
