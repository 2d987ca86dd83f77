"""discreet show: what a release is, for somebody who received one."""

from __future__ import annotations

import shlex
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.terminal import command, emit
from discreet.plain_text import one_line

if TYPE_CHECKING:
    from discreet.estimate.data.capabilities import Questions
    from discreet.reading import Release


@command
def show_command(
    path: Annotated[Path, typer.Argument(help="A released CSV or Parquet file.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """What a release is: who is protected how, which columns it has, what can be asked of each, with ready commands.

    Reads the manifest and checks that it is that of the file. Nothing is estimated and nothing written.
    """
    from discreet.estimate.data.capabilities import questions
    from discreet.reading import Release

    release = Release.open(path)
    found = questions(release)
    commands = ready_commands(release, found, str(path))
    lines = [_title(release), "", *release.explain().splitlines(), "", "Columns", *_columns(found)]
    lines += ["", "Ask, for example", *(f"  {line}" for line in commands)]
    data = {
        "title": release.manifest.title,
        "rows": release.rows,
        "guarantee": release.guarantee.to_dict(),
        "columns": [one.to_dict() for one in found],
        "commands": commands,
    }
    emit("\n".join(lines), data, as_json)


def _title(release: Release) -> str:
    from discreet.manifest.parts import described

    manifest = release.manifest
    order = "in random order" if manifest.order == "shuffle" else "in the order of the source"
    unsafe = "\nNOT SECURE: whoever knows the seed can undo the randomisation" if manifest.insecure else ""
    added = f"\n{described(manifest.additions)}" if manifest.additions else ""
    return f"{one_line(manifest.title or 'Release')}: {release.rows:,} rows, {order}{added}{unsafe}"


def _columns(found: list[Questions]) -> list[str]:
    lines = []
    for one in found:
        lines.append(f"  {one_line(one.column)}: {one.holds}; {one.how if one.private else 'public, copied as it is'}")
        if one.estimates:
            lines.append(f"      ask for {', '.join(one.estimates)}")
        if one.caveat:
            lines.append(f"      {one.caveat}")
    return lines


def ready_commands(release: Release, found: list[Questions], path: str) -> list[str]:
    """Commands that work on this release as they stand, one for each kind of question."""
    file = shlex.quote(path)
    aside = {block.by for block in release.manifest.blocks}  # the name of a design is no question
    free = [one for one in found if not one.private and release.survey.role(one.column) is None]
    known = [one for one in free if one.column not in aside]
    # Groups are words before they are numbers, and a regression is on a number before it is on words.
    public = [one.column for one in sorted(known, key=lambda one: not one.holds.startswith("text"))]
    numbers = [one.column for one in known if not one.holds.startswith("text")]
    private = [one for one in found if one.private]
    commands = []
    for what in ("frequencies", "frequencies --method bounds", "mean", "quantile"):
        asked = [one.column for one in private if what in one.estimates]
        if asked:
            name, *options = what.split(" ", 1)
            commands.append(" ".join([f"discreet estimate {name} {file} {shlex.quote(asked[0])}", *options]))
    counted = [one.column for one in private if "frequencies" in one.estimates]
    if counted and public:
        commands.append(f"discreet estimate frequencies {file} {shlex.quote(counted[0])} --by {shlex.quote(public[0])}")
    crossed = sorted((one.column for one in private if "crosstab" in one.estimates), key=partial(_values, release))
    others = [name for name in (*crossed, *public) if crossed and name != crossed[0]]
    if others:
        commands.append(f"discreet estimate crosstab {file} {shlex.quote(crossed[0])} {shlex.quote(others[0])}")
        formula = f"{_in_formula(crossed[0])} ~ {_in_formula((numbers or public or others)[0])}"
        commands.append(f"discreet estimate regression {file} {shlex.quote(formula)}")
    return [*commands, f"discreet audit {file}"]


def _values(release: Release, column: str) -> int:
    """How many values a private column has: a table of few is read more easily."""
    return next(iter(release.block(column).channels_of(column).values())).shape[0]


def _in_formula(name: str) -> str:
    """A column as a formula names it."""
    return name if name.isidentifier() else f"`{name}`"
