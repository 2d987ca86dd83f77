"""What was chosen for a block of a plan, why nothing else does better, and what else there was."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from discreet.blocks import ColumnBlock, OneNumberBlock
from discreet.domains.losses import HasLosses
from discreet.mechanisms import FiniteMechanism, GeneralizedResponse, UnbiasedResponse
from discreet.plain_text import one_line

if TYPE_CHECKING:
    from discreet.blocks import Block
    from discreet.design import Design, MetricComparison
    from discreet.mechanisms import Mechanism
    from discreet.publish import Plan

#: Values up to which channels are written out and all mechanisms of an ordered domain compared: the linear programme
#: among them takes a third of a second.
_MAX_COMPARED = 100


@dataclass(frozen=True)
class Choice:
    """The reasons for the mechanism of a block: a line each for people, and plain data."""

    lines: tuple[str, ...]
    facts: dict[str, Any]


def choices(plan: Plan, rows: int) -> list[Choice]:
    """The choice behind every block of a plan."""
    regressions = {i: spec.formula for i, spec in plan.labels}
    return [
        _choice(block, design, regressions.get(i), rows)
        for i, (block, design) in enumerate(zip(plan.blocks, plan.designs, strict=True))
    ]


def _choice(block: Block, design: Design[Mechanism] | None, regression: str | None, rows: int) -> Choice:
    """What a block was given or had chosen; ``regression`` names what a label will be designed for."""
    lines = [] if regression is None else [_stand_in(regression)]
    facts: dict[str, Any] = {"given": design is None, "stand_in_for": regression}
    table = _comparison(block, design, rows)
    if design is None:
        return _given(block, table, facts)
    if table is not None:
        design = replace(design, alternatives=table.instead_of(_finite(block)))
    lines += [f"Chosen: {how}" for how in _truthful(block)]
    if (curve := getattr(design, "trade_off", None)) is not None:  # noise for numbers: error against exact people
        facts["trade_off"] = curve.rows(rows)
        shown = ["Error of a mean against people published exactly:", *curve.summary(rows).splitlines()]
        return Choice((*lines, *design.reasons(), *shown), {**facts, **design.reasons_to_dict()})
    return Choice((*lines, *design.reasons()), {**facts, **design.reasons_to_dict()})


def _given(block: Block, table: MetricComparison | None, facts: dict[str, Any]) -> Choice:
    if block.by:
        levels = "; ".join(f"{one_line(name)}: {one.guarantee.summary()}" for name, one in block.designs.items())
        return Choice((f"Given in the plan: {levels}",), facts)
    if isinstance(block, OneNumberBlock):
        return Choice(_one_number(block), facts)
    level = "" if block.mechanism is None else block.mechanism.guarantee.summary()
    lines = ["; ".join([f"Given in the plan: {level}", *_truthful(block)])]
    found = None if table is None else table.of(_finite(block))
    if table is not None and found is not None:
        others = table.instead_of(found.mechanism)
        facts |= {"expected_error": found.expected_error, "alternatives": [vars(one) for one in others]}
        lines += [
            f"Expected error of a report: {found.expected_error:.6g}",
            f"Instead: {'; '.join(map(str, others))}",
        ]
    cost = _cost_of_generalized(block)
    return Choice((*lines, *cost), facts | ({"cost": cost[0]} if cost else {}))


def _one_number(block: OneNumberBlock) -> tuple[str, ...]:
    """Why one number: what all of them would cost at the same ε."""
    count = len(block.columns)
    return (
        f"Chosen: one of {count} numbers per row, drawn at random with all of ε, through the unbiased channel of least "
        "variance",
        "Numbers with the larger variance are drawn more often, so that the relative errors of all means sum to the "
        "least",
        f"Instead: all of them with ε/{count} each (report absent), which at small ε has about {count} times the "
        "variance",
    )


def _cost_of_generalized(block: Block) -> list[str]:
    """What generalised response costs on a large domain, and what is better."""
    from discreet.design.large_domains import cost_of_generalized

    if not isinstance(block.mechanism, GeneralizedResponse):
        return []
    cost = cost_of_generalized(block.mechanism.size, block.mechanism.guarantee.epsilon)
    return [] if cost is None else [f"{cost[0].upper()}{cost[1:]}"]


def _stand_in(formula: str) -> str:
    return (
        f"A stand-in, which assumes nothing: the design for the regression on {one_line(formula)} is made when the "
        "public columns are read"
    )


def _finite(block: Block) -> FiniteMechanism:
    assert isinstance(block.mechanism, FiniteMechanism)
    return block.mechanism


def _truthful(block: Block) -> list[str]:
    """How often the truth is reported, where reports are truths; nothing for large domains."""
    if not isinstance(block, ColumnBlock) or max(block.mechanism.shape) > _MAX_COMPARED:
        return []
    mechanism = block.mechanism
    if mechanism.shape[0] != mechanism.shape[1]:
        return [f"{mechanism.shape[1]} reports for {mechanism.shape[0]} true values"]
    kept = mechanism.matrix().diagonal()
    if mechanism.shape[0] == 2:
        no, yes = (f'"{one_line(str(block.domain.label(code)))}"' for code in (0, 1))
        return [f"a true {no} is reported as it is with probability {kept[0]:.2%}, a true {yes} with {kept[1]:.2%}"]
    low, high = kept.min(), kept.max()
    chance = f"{low:.2%}" if high - low < 1e-9 else f"{low:.2%} to {high:.2%}"
    return [f"{mechanism.title}, the true value is reported with probability {chance}"]


def _comparison(block: Block, design: Design[Mechanism] | None, rows: int) -> MetricComparison | None:
    """Every mechanism for a domain with an order or a distance, at the level of the block; None elsewhere."""
    from discreet.design import MetricDesign, compare

    metric = design if isinstance(design, MetricDesign) else None
    if not isinstance(block, ColumnBlock) or isinstance(block.mechanism, UnbiasedResponse):
        return None  # unbiased numbers are not meant to be near the truth
    domain: Any = block.domain if metric is None else metric.domain
    if not isinstance(domain, HasLosses):
        return None
    epsilon = block.mechanism.guarantee.epsilon
    if domain.size > _MAX_COMPARED or not 0 < epsilon < math.inf:
        return None
    return compare(domain, epsilon, rows, prior=None if metric is None else metric.prior)
