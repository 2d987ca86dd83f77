"""discreet plan: a skeleton plan for a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.terminal import command, emit


@command
def plan_command(
    source: Annotated[Path, typer.Argument(help="A CSV or Parquet file.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the plan here instead of printing it.")
    ] = None,
    overwrite: Annotated[bool, typer.Option(help="Replace an existing plan.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the column names and types as JSON.")] = False,
) -> None:
    """Write a skeleton plan: column names and types only, no values.

    Every column starts as dropped. Move what may be published as it is to [[public]], and declare a domain and
    an epsilon for what must be randomised in [[private]]. Domains are yours to declare: they are never read off
    the private data.
    """
    from discreet.publish import columns_of, skeleton, write_plan

    text = skeleton(source)
    if output is not None:
        write_plan(text, output, source, overwrite)
        text = f'Wrote "{output}". Edit it, then: discreet design {output} --rows N'
    emit(text, {"columns": columns_of(source)}, as_json)
