"""discreet collect: answers that respondents randomised become a release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.release import signing_key
from discreet.cli.terminal import command, emit, progress_bar
from discreet.errors import DomainError, ReleaseError


@command
def collect_command(
    answers: Annotated[Path, typer.Argument(help="The answers as they were given: a CSV or Parquet file.")],
    plan: Annotated[Path, typer.Argument(help="The plan, whose private blocks say collected = true.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write: .parquet or .csv.")],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing output.")] = False,
    safe_csv: Annotated[
        bool, typer.Option("--safe-csv", help="Put an apostrophe before public text that a spreadsheet would run.")
    ] = False,
    sign: Annotated[
        Path | None, typer.Option("--sign", metavar="KEY.PEM", help="Sign the manifest with this private key.")
    ] = None,
    outside_files: Annotated[
        bool, typer.Option("--outside-files", help="Let the plan name files outside its own folder.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Take in a survey whose answers the respondents randomised themselves, with dice, a spinner or a device.

    Nothing is randomised again and nothing is spent: the answers are checked against the plan, put into random order
    unless the plan keeps it, and written with a manifest that says how they were randomised. Estimate and audit as
    always.
    """
    from discreet.publish import Plan, count_rows, release

    read = Plan.read(plan, outside_files=outside_files)
    for place, block in enumerate(read.blocks):
        if not block.collected:
            raise ReleaseError(
                f"private[{place}] is not marked collected = true: true answers are randomised by discreet release"
            )
    key = None if sign is None else signing_key(sign)
    try:
        with progress_bar("collecting", count_rows(answers)) as advance:
            done = release(
                answers,
                read,
                output,
                overwrite=overwrite,
                progress=advance,
                ledger=None,
                safe_csv=safe_csv,
                signing_key=key,
            )
    except DomainError as error:  # an answer that was randomised is no secret
        shown = "" if error.value is None else f" (the answer is {error.value!r})"
        raise ReleaseError(error, shown) from None
    made = f'the release "{output}" was made'
    text = f'Wrote "{output}": {done.rows:,} answers.\n\n{done.explain()}'
    emit(text, {"output": str(output), "rows": done.rows, "manifest": done.manifest.to_dict()}, as_json, made=made)
