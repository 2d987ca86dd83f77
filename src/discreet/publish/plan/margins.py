"""``[budget] split = "margins"``: blocks that state margins get the least ε that meets them.

Blocks with an ε of their own keep it; what the budget allows beyond them is there for the others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from discreet.blocks import ColumnBlock, JointBlock
from discreet.errors import BudgetError, DesignError, PlanError
from discreet.publish.plan.blocks import read_block
from discreet.publish.plan.domains import PlanFiles
from discreet.publish.plan.grammar import LATER_PRIVATE, PRIVATE, Section
from discreet.publish.plan.sections import Budget

if TYPE_CHECKING:
    from discreet.design import BudgetSplit
    from discreet.design.budgets.margin_targets import Wanted

#: Mechanisms whose margins say nothing about ε, or that cannot promise one.
_WITHOUT = ("channel", "zero-inflated-laplace")
#: What a block with a margin is first read with, to learn its domain.
_FIRST_GUESS = 1.0


def split_by_margins(
    sections: Sequence[Section], budget: Budget, files: PlanFiles
) -> tuple[list[Section], BudgetSplit | None]:
    """The blocks with the ε that their margins need, and how it was found."""
    with_margin = [i for i, section in enumerate(sections) if "margin" in section]
    if budget.split is None:
        if with_margin:
            raise PlanError(f'{sections[with_margin[0]].at("margin")} goes with budget.split = "margins"')
        return list(sections), None
    if not with_margin:
        raise PlanError('budget.split = "margins" needs a [[private]] block with a margin')
    probe = PlanFiles(files.folder, files.outside)  # what is read to find ε is read again with it
    targets, owners = {}, {}
    for i in with_margin:
        for name, target in _targets(sections[i], probe).items():
            if name in targets:
                raise PlanError(f'{sections[i].at("columns")} lists "{name}", which is private already')
            targets[name], owners[name] = target, i
    fixed = math.fsum(
        read_block(section, probe)[0].guarantee.epsilon for i, section in enumerate(sections) if i not in with_margin
    )
    split = _solved(targets, budget, fixed)
    found = list(sections)
    for name, i in owners.items():
        found[i] = _filled(sections[i], targets[name], split.shares[name].epsilon, budget)
    return found, split


def _solved(targets: dict[str, Wanted], budget: Budget, fixed: float) -> BudgetSplit:
    from discreet.design import budget as split_budget

    total = None if budget.epsilon is None else budget.epsilon / (budget.rows_per_person or 1) - fixed
    if total is not None and total <= 0:
        raise BudgetError(
            f"the blocks with an epsilon of their own need {fixed:.4g} per row, which leaves nothing for the margins"
        )
    try:
        return split_budget(targets, budget.rows or 1, total, level=budget.level)
    except DesignError as error:
        raise PlanError(f"budget.split: {error}") from None


def _targets(section: Section, files: PlanFiles) -> dict[str, Wanted]:
    """One target per column; one for columns that are randomised together."""
    from discreet.design import JointTarget, Target

    for key in ("epsilon", "epsilons", "total", "ratios", "label", "collected", "delta"):
        if key in section:
            raise PlanError(f"{section.at(key)} cannot stand beside margin, which decides the level")
    mechanism = section.text("mechanism")
    if mechanism in _WITHOUT:
        raise PlanError(f'{section.at("margin")} is not for mechanism = "{mechanism}": give its epsilon')
    columns = section.columns()
    block = _read(section, _FIRST_GUESS, files, len(columns))
    if isinstance(block, JointBlock):
        sizes = [domain.size for domain in block.domains]
        return {", ".join(columns): JointTarget(sizes, _margins(section, len(columns)), **_options(section))}
    if not isinstance(block, ColumnBlock):
        raise PlanError(f"{section.at('margin')} is for frequencies and means: give the block its epsilon")
    learn = "mean" if mechanism == "unbiased" else "frequencies"
    target = Target(
        block.domain,
        _margins(section, 1)[0],
        learn,
        design=lambda epsilon: _read(section, epsilon, files, len(columns)).mechanism,
    )
    return dict.fromkeys(columns, target)


def _options(section: Section) -> dict[str, str]:
    return {key: value for key in ("pairs", "method") if (value := section.text(key)) is not None}


def _margins(section: Section, count: int) -> list[float]:
    """One number, or for columns randomised together one for each."""
    given = section.get("margin")
    listed = list(given) if isinstance(given, (list, tuple)) and count > 1 else [given] * count
    numeric = all(isinstance(one, (int, float)) and not isinstance(one, bool) and 0 < one < math.inf for one in listed)
    if len(listed) != count or not numeric:
        every = f", or {count} of them, one for each column" if count > 1 else ""
        raise PlanError(f"{section.at('margin')} must be a number above 0{every}")
    return [float(one) for one in listed]


def _read(section: Section, epsilon: float, files: PlanFiles, columns: int) -> Any:
    return read_block(_with_level(section, [epsilon] * columns, epsilon), files)[0]


def _filled(section: Section, target: Wanted, epsilon: float, budget: Budget) -> Section:
    from discreet.design import JointTarget

    levels = []
    if isinstance(target, JointTarget):
        levels = target.levels_for(1.0, float(budget.rows or 1), budget.level)
    return _with_level(section, levels, epsilon)


def _with_level(section: Section, levels: list[float], epsilon: float) -> Section:
    """The block as if the plan had stated its level."""
    stated: dict[str, Any] = {key: section.get(key) for key in section.keys() if key != "margin"}  # noqa: SIM118  # a method
    stated |= {"epsilons": levels} if section.text("mechanism") == "joint" else {"epsilon": epsilon}
    return Section(stated, section.path, PRIVATE, LATER_PRIVATE)
