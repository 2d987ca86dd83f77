"""discreet survey serve, invite, verify, close: a survey while it runs, and its end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.survey import AsJson, OutsideFiles, PlanPath, survey_app
from discreet.cli.terminal import AUDIT_FAILED, command, emit

DatabaseOption = Annotated[
    str | None,
    typer.Option(
        "--database", help="Where reports are kept: a file (default: the plan's name with .sqlite), or postgresql://…"
    ),
]


def database_of(plan: Path, address: str | None, *, test: bool = False) -> Any:
    """The database of a survey."""
    from discreet.survey.database import Database

    return Database(address or plan.with_suffix(".sqlite"), test=test)


@survey_app.command("serve")
@command
def serve_command(
    plan: PlanPath,
    port: Annotated[int, typer.Option(help="The port; 0 takes a free one.", min=0, max=65535)] = 8787,
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    database: DatabaseOption = None,
    certificate: Annotated[Path | None, typer.Option(help="For HTTPS: a certificate in PEM form.")] = None,
    key: Annotated[Path | None, typer.Option(help="For HTTPS: its private key.")] = None,
    insecure_lan: Annotated[
        bool,
        typer.Option("--insecure-lan", help="Let phones in your network answer without HTTPS. For trials only: warns."),
    ] = False,
    test: Annotated[bool, typer.Option("--test", help="Try it out: these answers never enter a release.")] = False,
    outside_files: OutsideFiles = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one line of JSON first, and nothing else.")] = False,
) -> None:
    """Serve a survey: prints its address with a QR code, and the private address of the dashboard.

    Reports are on the disk before they are acknowledged. Stop with Ctrl-C and serve again whenever you like; the
    survey ends with discreet survey close.
    """
    from discreet.survey import Questionnaire
    from discreet.survey.invitations import qr_terminal
    from discreet.survey.serving import Place, Served, serve

    survey = Questionnaire.read(plan, outside_files=outside_files)
    place = Place(host, port, certificate, key, insecure_lan)

    def ready(served: Served, _: Any) -> None:
        if as_json:
            print(json.dumps(served.to_dict()), flush=True)
            return
        if insecure_lan:
            typer.echo(
                "warning: no HTTPS. Whoever is between a phone and this machine can alter the page and read the "
                "answers; for a trial in your own network only",
                err=True,
            )
        typer.echo(qr_terminal(served.address))
        kind = "Test run: nothing that is sent now is ever released.\n" if test else ""
        typer.echo(
            f"{kind}Answer at    {served.address}\nDashboard    {served.dashboard}   (private: keep it to yourself)\n"
            f"Page SHA-256 {served.page_sha256}\nStop with Ctrl-C; nothing is lost."
        )

    kept = serve(survey, database_of(plan, database, test=test), place, ready)
    if not as_json:
        typer.echo(f"Stopped. {kept:,} {'report is' if kept == 1 else 'reports are'} kept.")


@survey_app.command("invite")
@command
def invite_command(
    plan: PlanPath,
    count: Annotated[int, typer.Option("--count", min=1, help="How many codes.")],
    url: Annotated[str, typer.Option("--url", help="Where the page is: https://survey.example.org/")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the list and the sheets.")] = Path(
        "invitations"
    ),
    database: DatabaseOption = None,
    outside_files: OutsideFiles = False,
    as_json: AsJson = False,
) -> None:
    """Make one-time codes: a CSV for mailing, and a sheet with QR codes for printing.

    Only digests of the codes are kept beside the reports. The two files are yours alone: whoever has them can answer
    in the place of somebody else.
    """
    from discreet.survey import Questionnaire
    from discreet.survey.invitations import send_invitations

    survey = Questionnaire.read(plan, outside_files=outside_files)
    listed, sheet = send_invitations(survey, database_of(plan, database), count, url, output)
    text = f'Wrote "{listed}" and "{sheet}": {count:,} invitations, readable by you only.'
    emit(text, {"count": count, "csv": str(listed), "sheet": str(sheet)}, as_json, made=text.rstrip("."))


@survey_app.command("verify")
@command
def verify_command(
    url: Annotated[str, typer.Argument(help="The address of the page.")],
    plan: PlanPath,
    collector: Annotated[str | None, typer.Option(help="As given to survey page, for a page hosted elsewhere.")] = None,
    outside_files: OutsideFiles = False,
    as_json: AsJson = False,
) -> None:
    """Check that what is served is byte for byte what the plan builds; exit code 3 if it is not."""
    from discreet.survey import Questionnaire
    from discreet.survey.verifying import verify_page

    found = verify_page(url, Questionnaire.read(plan, outside_files=outside_files), collector)
    emit(found.summary(), found.to_dict(), as_json)
    if not found.same:
        raise typer.Exit(AUDIT_FAILED)


@survey_app.command("close")
@command
def close_command(
    plan: PlanPath,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write: .parquet or .csv.")],
    database: DatabaseOption = None,
    small_cells: Annotated[
        str,
        typer.Option(
            help="People with rare public answers: refuse, blank (leave these answers out) or keep (your decision)."
        ),
    ] = "refuse",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing output.")] = False,
    sign: Annotated[
        Path | None, typer.Option("--sign", metavar="KEY.PEM", help="Sign the manifest with this private key.")
    ] = None,
    outside_files: OutsideFiles = False,
    as_json: AsJson = False,
) -> None:
    """End a survey: write its reports as a release in random order, and forget who came when.

    The result is an ordinary release: discreet estimate and discreet audit read it as always.
    """
    from discreet.cli.release import signing_key
    from discreet.files import refuse_inputs
    from discreet.survey import Questionnaire
    from discreet.survey.closing import close_survey

    survey = Questionnaire.read(plan, outside_files=outside_files)
    key, kept = None if sign is None else signing_key(sign), database_of(plan, database)
    refuse_inputs([output], [("the survey", plan), *kept.files()])
    done = close_survey(
        survey,
        kept,
        output,
        small_cells=small_cells,
        overwrite=overwrite,
        signing_key=key,
    )
    withdrawn, refused = done.progress.total("withdrawn"), done.progress.total("refused")
    lines = [
        f'Wrote "{output}": {done.release.rows:,} reports; {withdrawn:,} were withdrawn, {refused:,} requests refused.',
        "The order in which they came is forgotten.",
    ]
    if done.small:
        what = "were left out" if done.blanked else "were kept, as you decided"
        lines.append(f"Public answers of {done.small:,} people that few others share {what}.")
    data = {
        "output": str(output),
        "rows": done.release.rows,
        "withdrawn": withdrawn,
        "refused": refused,
        "small": done.small,
        "blanked": done.blanked,
        "manifest": done.release.manifest.to_dict(),
    }
    emit("\n".join([*lines, "", done.release.explain()]), data, as_json, made=f'the release "{output}" was made')
