"""discreet release: a table in, a private table out."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.engine import EngineName, Master, chosen_engine
from discreet.cli.terminal import command, emit, progress_bar
from discreet.errors import DomainError, ReleaseError

if TYPE_CHECKING:
    from discreet.manifest.signature import SigningKey
    from discreet.publish import Plan
    from discreet.randomness import Randomness
    from discreet.reading import Release


Workers = Annotated[
    int | None, typer.Option(min=1, max=1024, help="Threads that work at once (default: one per core).")
]
MemoiseKey = Annotated[
    Path | None,
    typer.Option(
        "--memoise-key", metavar="FILE", help='The secret of repeat = "memoise": keep it for all waves, mode 0600.'
    ),
]
NewKey = Annotated[
    bool, typer.Option("--new-memoise-key", help="Make the file of --memoise-key if it is not there: wave one.")
]

Sign = Annotated[
    Path | None,
    typer.Option("--sign", metavar="KEY.PEM", help="Sign the manifest with this private key (see: discreet keys new)."),
]
SafeCsv = Annotated[
    bool, typer.Option("--safe-csv", help="Put an apostrophe before public text that a spreadsheet would run.")
]
Append = Annotated[
    bool, typer.Option("--append", help="Add the table to the release in this folder, as new parts (see above).")
]


@command
def release_command(
    source: Annotated[Path, typer.Argument(help="The true data: a CSV or Parquet file, or a folder of Parquet files.")],
    plan: Annotated[Path, typer.Argument(help="The plan, a TOML file.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where to write: .parquet, .csv, or a folder.")
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Validate everything and write nothing.")] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an existing output; never a file that is read.")
    ] = False,
    append: Append = False,
    ledger: Annotated[Path | None, typer.Option(help="Keep the record of releases in this file (SQLite).")] = None,
    no_ledger: Annotated[bool, typer.Option("--no-ledger", help="Keep no record of this release.")] = False,
    safe_csv: SafeCsv = False,
    sign: Sign = None,
    workers: Workers = None,
    memoise_key: MemoiseKey = None,
    new_memoise_key: NewKey = False,
    engine: EngineName = "local",
    master: Master = None,
    show_values: Annotated[  # noqa: ARG001  # read by the guard that prints errors
        bool, typer.Option("--show-values", help="Show an offending private value on this terminal.")
    ] = False,
    outside_files: Annotated[
        bool, typer.Option("--outside-files", help="Let the plan name files outside its own folder.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Randomise a table according to a plan and write what may be published.

    Columns that the plan does not list are dropped, rows are shuffled unless the plan says otherwise, and the
    output appears under its name only when it is complete. Releasing the same truth again spends privacy
    again: a local ledger remembers, and warns.

    With --append a month is added to a release in a folder that was made by the same design. Its rows get noise of
    their own, and the promise becomes that of whoever is in every month: it must fit the budget of the plan.
    """
    from discreet.publish import Plan, count_rows
    from discreet.publish import release as release_table

    read = Plan.read(plan, outside_files=outside_files)
    if output is None and not check:
        raise ReleaseError("say where to write with -o out.parquet, or use --check")
    settings: dict[str, Any] = {
        "overwrite": overwrite,
        "randomness": _memory(memoise_key, create=new_memoise_key),
        "engine": chosen_engine(engine, master),
        "workers": workers,
        "append": append,
        "ledger": None if no_ledger else (ledger or "default"),
        "safe_csv": safe_csv,
        "signing_key": None if sign is None else signing_key(sign),
    }
    if check:
        _check_only(source, read, output, settings, as_json)
        return
    with progress_bar("releasing", count_rows(source)) as advance:
        done = release_table(source, read, output, progress=advance, **settings)
    made = f'the release "{output}" was made'
    text = f'Wrote "{output}": {_written(done)}.\n\n{done.explain()}'
    emit(text, {"output": str(output), "rows": done.rows, "manifest": done.manifest.to_dict()}, as_json, made=made)


def _written(done: Release) -> str:
    """How many rows there are, and how many of them are new."""
    added = done.manifest.additions
    return f"{done.rows:,} rows" + (f", {added[-1].rows:,} of them added now" if added else "")


def _check_only(source: Path, plan: Plan, output: Path | None, settings: dict[str, Any], as_json: bool) -> None:
    """Everything that a release would refuse, without one."""
    from discreet.publish import check, count_rows

    try:
        with progress_bar("checking", count_rows(source)) as advance:
            rows = check(source, plan, output, progress=advance, **settings)
    except DomainError as error:
        if as_json:
            emit("", {"written": False, "violations": [one.to_dict() for one in error.violations]}, as_json)
        raise
    text = f"All {rows:,} rows are valid. {plan.guarantee.summary()}. Nothing was written."
    data = {"rows": rows, "guarantee": plan.guarantee.to_dict(), "written": False, "violations": []}
    emit(text, data, as_json)


def _memory(key: Path | None, *, create: bool) -> Randomness | None:
    """The source of memoised reports, where a key is named."""
    from discreet.randomness import Randomness
    from discreet.randomness.memoised import MemoKey

    if key is not None:  # a new one is written when nothing else can be refused, and never by a check
        return Randomness.memoised(MemoKey.new(key) if create and not os.path.lexists(key) else key)
    if create:
        raise ReleaseError("--new-memoise-key says to make the file of --memoise-key: name it")
    return None


def signing_key(path: Path) -> SigningKey:
    """Read a private key; the passphrase of an encrypted one comes from the environment, or is asked for."""
    from discreet.manifest.signature import PASSPHRASE_VARIABLE, KeyPassphraseError, SigningKey

    try:
        return SigningKey.read(path)
    except KeyPassphraseError:
        if os.environ.get(PASSPHRASE_VARIABLE) or not sys.stdin.isatty():
            raise
        return SigningKey.read(path, typer.prompt(f"Passphrase of {path.name}", hide_input=True, err=True))
