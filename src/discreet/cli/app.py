"""The command line: plan, design, release, collect, estimate, show, audit, keys, demo."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet._version import __version__
from discreet.cli.audit import audit_command
from discreet.cli.collect import collect_command
from discreet.cli.demo import demo_command
from discreet.cli.design import design_command
from discreet.cli.estimate import estimate_app
from discreet.cli.help_pages import add_help
from discreet.cli.keys import keys_app
from discreet.cli.plan import plan_command
from discreet.cli.release import release_command
from discreet.cli.show import show_command
from discreet.cli.statistics import add_statistics
from discreet.cli.survey import survey_app
from discreet.cli.survey_paper import add_paper
from discreet.cli.survey_running import add_running

# Pretty tracebacks show local variables, and these can hold private values.
app = typer.Typer(
    rich_markup_mode=None,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Private answers, honest statistics: randomise a table, publish it, and estimate with correct error bars.",
    epilog="Start with: discreet demo. Exit codes: 0 done, 1 the machine failed, 2 bad input, 3 an audit failed, "
    "130 interrupted, 143 terminated.",
)
app.command("plan")(plan_command)
app.command("design")(design_command)
app.command("release")(release_command)
app.command("collect")(collect_command)
add_statistics(estimate_app)
app.add_typer(estimate_app, name="estimate", short_help="Learn from a release, with correct error bars.")
app.command("show")(show_command)
add_running(survey_app)
add_paper(survey_app)
app.add_typer(survey_app, name="survey", short_help="Ask people; their own device randomises.")
app.command("audit")(audit_command)
app.add_typer(keys_app, name="keys", short_help="Keys that sign releases.")
app.command("demo")(demo_command)
add_help(app)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"discreet {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Private answers, honest statistics."""
