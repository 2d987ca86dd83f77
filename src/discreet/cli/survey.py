"""discreet survey: ask people, with answers that are randomised on their own devices."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.terminal import command, emit
from discreet.errors import InputError

survey_app = typer.Typer(
    no_args_is_help=True,
    help="Ask people; answers are randomised on the respondent's own device, and only reports are collected.",
    epilog="Start with: discreet survey new > survey.toml, then: discreet survey serve survey.toml --insecure-lan",
)

PlanPath = Annotated[Path, typer.Argument(help="The survey: a plan with [collect] and [[question]], a TOML file.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
OutsideFiles = Annotated[bool, typer.Option("--outside-files", help="Let the plan name files outside its own folder.")]

Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace an existing file.")]


def write_file(output: Path, content: bytes, plan: Path | None, *, overwrite: bool) -> None:
    """Write what a survey command makes; never over the plan or a database beside it."""
    from discreet.files import write_whole
    from discreet.survey.database import database_files, trial_path

    inputs = []
    if plan is not None:
        kept = plan.with_suffix(".sqlite")
        inputs = [("the survey", plan), *database_files(kept), *database_files(trial_path(kept))]
    write_whole(output, content, overwrite=overwrite, inputs=inputs)


@survey_app.callback()
def _survey() -> None:
    """Ask people; answers are randomised on the respondent's own device, and only reports are collected."""


@survey_app.command("new")
@command
def new_command(as_json: AsJson = False) -> None:
    """Print a commented questionnaire that works as it is: discreet survey new > survey.toml."""
    from discreet.survey import TEMPLATE

    emit(TEMPLATE.rstrip("\n"), {"plan": TEMPLATE}, as_json)


@survey_app.command("check")
@command
def check_command(
    plan: PlanPath,
    people: Annotated[
        int, typer.Option("--people", "-n", min=1, help="How many people are expected to answer.")
    ] = 1000,
    sheet: Annotated[
        Path | None, typer.Option("--sheet", help="Write one page for the ethics board: sheet.html.")
    ] = None,
    outside_files: OutsideFiles = False,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Say what a survey promises, the error bars it allows, and whether public answers could point at somebody.

    Reads the plan only. What a page cannot draw exactly is refused here, in one sentence.
    """
    from discreet.survey import Questionnaire, check_survey
    from discreet.survey.sheet import ethics_sheet

    checked = check_survey(Questionnaire.read(plan, outside_files=outside_files), people)
    if sheet is not None:
        write_file(sheet, ethics_sheet(checked).encode(), plan, overwrite=overwrite)
    emit(checked.summary(), checked.to_dict(), as_json)


@survey_app.command("page")
@command
def page_command(
    plan: Annotated[Path | None, typer.Argument(help="The survey, a TOML file.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Where to write: page.html.")] = None,
    collector: Annotated[
        str | None,
        typer.Option(help="Where reports go, for a page that is hosted elsewhere: https://collect.example.org"),
    ] = None,
    sampler: Annotated[
        bool, typer.Option("--sampler", help="Write the sampler as an ES module instead, for a page of your own.")
    ] = False,
    outside_files: OutsideFiles = False,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Write the page as one file, and say its SHA-256. The same plan gives the same bytes."""
    import hashlib

    from discreet.survey import Questionnaire, build_page, sampler_source

    if output is None or (plan is None) != sampler:
        raise InputError("say what to write and where: survey.toml -o page.html, or --sampler -o sampler.js")
    if plan is None:
        content = sampler_source().encode()
    else:
        content = build_page(Questionnaire.read(plan, outside_files=outside_files), collector).content
    write_file(output, content, plan, overwrite=overwrite)
    digest = hashlib.sha256(content).hexdigest()
    text = f'Wrote "{output}": {len(content):,} bytes, SHA-256 {digest}'
    emit(text, {"output": str(output), "bytes": len(content), "sha256": digest}, as_json)
