"""The ``zero-inflated-laplace`` blocks of a plan: numeric columns in a box, randomised together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from discreet.blocks import Missing, NumericBlock
from discreet.domains import Box
from discreet.errors import PlanError
from discreet.publish.plan.domains import PlanFiles, read_domain
from discreet.publish.plan.grammar import LAPLACE, Section, at

if TYPE_CHECKING:
    from discreet.design import Design
    from discreet.mechanisms import ZeroInflatedLaplace

_ALLOWED = ("columns", "domain", "mechanism", "epsilon", "delta", "missing", "collected", *LAPLACE)


class ClippedWarning(UserWarning):
    """How many numbers were moved to the bounds of a box: for the steward's terminal, never written."""


def read_numeric(section: Section, files: PlanFiles) -> tuple[NumericBlock, Design[ZeroInflatedLaplace]]:
    """``epsilon`` and ``delta``; options ``zero_probability``, ``unit``, ``grid``, ``clip``, ``target``."""
    for key in list(section.keys()):
        if key not in _ALLOWED:
            raise PlanError(f'{section.at(key)} does not belong to mechanism = "zero-inflated-laplace"')
    columns = section.columns()
    domain = read_domain(section.required("domain"), section.at("domain"), files)
    if not isinstance(domain, Box):
        raise PlanError(f"{section.at('domain')} must be a box: {{ box = {{ low = [...], high = [...] }} }}")
    if domain.dimension == 1 and len(columns) > 1:  # one pair of bounds for all columns
        domain = Box(list(domain.low) * len(columns), list(domain.high) * len(columns))
    if domain.dimension != len(columns):
        raise PlanError(f"{section.at('domain')} has {domain.dimension} bounds, but there are {len(columns)} columns")
    epsilon, delta = section.epsilon(), section.delta()
    if epsilon is None or delta is None:
        raise PlanError(f"{section.at('epsilon' if epsilon is None else 'delta')} is missing")
    if "target" in section and "zero_probability" in section:
        raise PlanError(f"{section.at('target')} chooses the zero probability, which is given: leave out one of them")
    missing = cast("Missing", section.choice("missing", ("reject", "public")) or "reject")
    collected, clip = section.flag("collected"), section.flag("clip")
    if collected and clip:
        raise PlanError(
            f"{section.at('clip')} moves true numbers into the box, but these were randomised by the respondents, "
            "and reports outside the box are as good as others; leave it out"
        )
    from discreet.design import zero_inflated_laplace

    with at(section.path):
        design = zero_inflated_laplace(
            domain,
            epsilon,
            delta,
            section.number("zero_probability"),
            cast("Any", section.choice("unit", ("record", "attribute")) or "record"),
            cast("Any", section.text("target") or "mean"),
            grid=_grid(section),
            exposure=section.number("exposure"),
        )
        block = NumericBlock(
            columns=columns, mechanism=design.mechanism, missing=missing, clip=clip, collected=collected
        )
    return block, design


def _grid(section: Section) -> Any:
    grid = section.get("grid")
    listed = grid if isinstance(grid, (list, tuple)) else [] if grid is None else [grid]
    if any(isinstance(one, bool) or not isinstance(one, (int, float)) for one in listed):
        raise PlanError(f"{section.at('grid')} must be a power of two, or one per column")
    return grid
