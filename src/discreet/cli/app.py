"""The command line: plan, design, release, collect, estimate, show, survey, audit, keys, demo.

A command is read in when it is called: the others would take longer to describe than many a release takes.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet._version import __version__
from discreet.cli.help_pages import GROUPS, add_help

if TYPE_CHECKING:
    app: typer.Typer

#: Every command, in the order of the help, and the modules in which it is: the first has ``release_command`` or, for a
#: group of commands, ``estimate_app``, to which the others add theirs.
COMMANDS: dict[str, tuple[str, ...]] = {
    "plan": ("plan",),
    "design": ("design",),
    "release": ("release",),
    "collect": ("collect",),
    "estimate": ("estimate", "statistics", "calibrate", "noncompliance"),
    "show": ("show",),
    "survey": ("survey", "survey_running", "survey_paper"),
    "audit": ("audit",),
    "keys": ("keys",),
    "demo": ("demo",),
}


@cache
def application(only: str | None = None) -> typer.Typer:
    """The application with one of its commands, or with all."""
    # Pretty tracebacks show local variables, and these can hold private values.
    made = typer.Typer(
        rich_markup_mode=None,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        help="Private answers, honest statistics: randomise a table, publish it, and estimate with correct error bars.",
        epilog="Start with: discreet demo. Exit codes: 0 done, 1 the machine failed, 2 bad input, 3 an audit failed, "
        "130 interrupted, 143 terminated.",
    )
    made.callback()(_main)
    for name in COMMANDS if only is None else (only,):
        home, *_ = [import_module(f"discreet.cli.{module}") for module in COMMANDS[name]]
        if hasattr(home, f"{name}_app"):
            made.add_typer(getattr(home, f"{name}_app"), name=name, short_help=GROUPS[name])
        else:
            made.command(name)(getattr(home, f"{name}_command"))
    add_help(made)
    return made


def __getattr__(name: str) -> Any:
    """``app``: all commands."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return application()


def _version(value: bool) -> None:
    if value:
        typer.echo(f"discreet {__version__}")
        raise typer.Exit


def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Private answers, honest statistics."""
