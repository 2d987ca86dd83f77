"""discreet survey import, instructions, demo: from other forms, on paper, and to try."""

from __future__ import annotations

import tempfile
import webbrowser
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.survey import AsJson, OutsideFiles, Overwrite, PlanPath, survey_app, write_file
from discreet.cli.terminal import command, emit


@survey_app.command("import")
@command
def import_command(
    form: Annotated[Path, typer.Argument(help="An XLSForm: .xlsx, .xls or .md.")],
    as_json: AsJson = False,
) -> None:
    """Print a survey made from an XLSForm: discreet survey import form.xlsx > survey.toml.

    Questions with a number in the column discreet::epsilon are private; discreet::mechanism names their mechanism.
    Needs pip install 'discreet[xlsform]'.
    """
    from discreet.survey import Questionnaire
    from discreet.survey.xlsform import read_xlsform

    found = read_xlsform(form)
    Questionnaire.parse(found.plan)  # what is printed can be served
    for left_out in found.left_out:
        typer.echo(f"left out: {left_out}", err=True)
    emit(found.plan, {"plan": found.plan, "left_out": found.left_out}, as_json)


@survey_app.command("instructions")
@command
def instructions_command(
    plan: PlanPath,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write: sheets.html.")] = Path(
        "instructions.html"
    ),
    outside_files: OutsideFiles = False,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Write printable sheets for interviews without a device: dice faces or a spinner, in every language.

    Chance by hand comes in sixths or hundredths, so it is a design of its own; every sheet says which, and never
    promises more than the plan.
    """
    from discreet.survey import Questionnaire
    from discreet.survey.by_hand import check_by_hand, instructions

    survey = Questionnaire.read(plan, outside_files=outside_files)
    check_by_hand(survey)
    write_file(output, instructions(survey).encode(), plan, overwrite=overwrite)
    emit(f'Wrote "{output}": print it.', {"output": str(output), "languages": list(survey.collect.languages)}, as_json)


@survey_app.command("demo")
@command
def survey_demo_command(
    people: Annotated[int, typer.Option(min=1, max=100_000, help="How many simulated respondents.")] = 400,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes a free one.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open the page and the dashboard.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print one line of JSON first, and nothing else.")] = False,
) -> None:
    """A survey with a few hundred simulated respondents, in a browser at once. Nothing is kept."""
    import json

    import numpy as np

    from discreet.survey import TEMPLATE, Questionnaire
    from discreet.survey.database import Database
    from discreet.survey.serving import Place, Served, serve
    from discreet.survey.simulating import fill_database, simulated_reports

    survey = Questionnaire.parse(TEMPLATE)
    with tempfile.TemporaryDirectory(prefix="discreet-survey-") as folder:
        database = Database(Path(folder) / "survey.sqlite")
        database.open(survey.design)
        fill_database(database, simulated_reports(survey, people, np.random.default_rng(1)))

        def ready(served: Served, _: Any) -> None:
            if as_json:
                print(json.dumps(served.to_dict()), flush=True)
            else:
                typer.echo(
                    f"{people:,} simulated people have answered.\nAnswer at  {served.address}\n"
                    f"Dashboard  {served.dashboard}\nStop with Ctrl-C; nothing is kept."
                )
            if browser:
                webbrowser.open(served.dashboard)
                webbrowser.open(served.address)

        serve(survey, database, Place(port=port), ready)
        database.close()
