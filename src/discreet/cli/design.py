"""discreet design: what a plan promises and which error bars it allows, without reading any data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.terminal import command, emit

if TYPE_CHECKING:
    from discreet.manifest import Block
    from discreet.publish import Plan


@command
def design_command(
    plan: Annotated[Path, typer.Argument(help="The plan, a TOML file.")],
    rows: Annotated[int, typer.Option("--rows", "-n", min=1, help="How many rows (people) to expect.")],
    level: Annotated[float, typer.Option(help="Confidence level of the error bars.")] = 0.95,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say in plain words what a plan promises, and the error bars its users will get.

    Reads the plan only, never the data: decide on epsilon before anybody's answer is touched.
    """
    from discreet.publish import Plan

    read = Plan.read(plan)
    read.check_budget()
    blocks = [_block(block, rows, level) for block in read.blocks]
    data = {"guarantee": read.guarantee.to_dict(), "rows": rows, "level": level, "blocks": blocks}
    emit(_text(read, blocks, rows, level), data, as_json)


def _block(block: Block, rows: int, level: float) -> dict[str, Any]:
    from discreet.design import margin

    designs = dict(block.designs) if block.by else {"": block.mechanism}
    margins: dict[str, float | str] = {}
    for name, mechanism in designs.items():
        try:
            margins[name] = margin(mechanism, rows, level)  # type: ignore[arg-type]  # finite in this version
        except ValueError as error:
            margins[name] = str(error)
    return {
        "columns": list(block.columns),
        "values": block.domain.size,
        "mechanism": {name: type(mechanism).__name__ for name, mechanism in designs.items()},
        "guarantee": block.guarantee.to_dict(),
        "margin": margins if block.by else margins[""],
    }


def _text(plan: Plan, blocks: list[dict[str, Any]], rows: int, level: float) -> str:
    lines = [f"Plan: {plan.title or '(no title)'}", "", "The promise", plan.guarantee.explain(people=rows), ""]
    lines.append(
        f"Error bars to expect with {rows:,} rows ({level:.0%} confidence, at the worst distribution of answers)"
    )
    for block, facts in zip(plan.blocks, blocks, strict=True):
        names = ", ".join(f'"{c}"' for c in block.columns)
        lines.append(f"  {names}: {facts['values']} values, {block.guarantee.summary()}")
        margins = facts["margin"] if block.by else {"": facts["margin"]}
        for name, value in margins.items():
            prefix = f"    rows with {block.by} = {name}, if they were all: " if block.by else "    every frequency to "
            lines.append(f"{prefix}± {value:.2%}" if isinstance(value, float) else f"    {value}")
        if block.missing != "reject":
            lines.append(f"    missing values: {block.missing}")
    return "\n".join(lines)
