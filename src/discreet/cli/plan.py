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
    suggest: Annotated[
        bool,
        typer.Option("--suggest", help="Propose a mechanism for every type of column, and what else there is."),
    ] = False,
    delimiter: Annotated[
        str | None, typer.Option(help='What separates the cells of a CSV file, if not a comma: ";" or tab.')
    ] = None,
    encoding: Annotated[
        str | None, typer.Option(help="The character encoding of a CSV file, if not UTF-8: latin-1, cp1252, …")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing plan.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the column names and types as JSON.")] = False,
) -> None:
    """Write a skeleton plan: column names and types only, no values.

    It is valid as it is: every column starts as private, with a domain to be corrected; values that a domain does
    not list are refused. Move what may be published as it is to [[public]], and delete what nobody needs: a column
    that is listed nowhere is dropped. Domains are yours to declare: they are never read off the private data.
    """
    from discreet.publish import columns_of, skeleton, write_plan

    delimiter = "\t" if delimiter in ("tab", "\\t") else delimiter
    text = skeleton(source, suggest=suggest, delimiter=delimiter, encoding=encoding)
    made = None
    if output is not None:
        write_plan(text, output, source, overwrite)
        made = f'the plan "{output}" was written'
        text = f'Wrote "{output}". Edit it, then: discreet design {output} --rows N'
    emit(text, {"columns": columns_of(source, delimiter=delimiter, encoding=encoding)}, as_json, made=made)
