"""What the help of every command shows: its line in the list of its group, its options, and the example at its end.

The tests run each example as it stands.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer
from typer.core import TyperCommand, TyperOption

#: A line for each group of commands.
GROUPS = {
    "estimate": "Learn from a release, with correct error bars.",
    "survey": "Ask people; their own device randomises.",
    "keys": "Keys that sign releases.",
}

#: One line each, short enough to stand whole in the list of commands.
LINES = {
    "plan": "Write a skeleton plan from the names and types of columns.",
    "design": "Say what a plan promises, and the error bars to expect.",
    "release": "Randomise a table according to a plan.",
    "collect": "Take in answers that the respondents randomised.",
    "show": "Say what a release is, and what can be asked of it.",
    "audit": "Check that a release is what its manifest says.",
    "demo": "Show the whole chain on a real survey.",
    "estimate frequencies": "How frequent each value of a column is.",
    "estimate crosstab": "Two or three columns together, with a test.",
    "estimate regression": "A regression on public and randomised columns.",
    "estimate mean": "The mean of a column.",
    "estimate quantile": "The median, or another quantile, of a column.",
    "estimate total": "The total of a column.",
    "estimate correlation": "The correlation of two columns.",
    "estimate calibrate": "Survey weights that meet known totals.",
    "estimate noncompliance": "When some people do not follow the design.",
    "keys new": "Make a key that signs releases, and one that checks.",
    "survey new": "Print a questionnaire that works as it is.",
    "survey check": "Say what a survey promises, and its error bars.",
    "survey page": "Write the page as one file, with its SHA-256.",
    "survey serve": "Serve a survey and its dashboard.",
    "survey invite": "Make one-time codes, for mailing and for printing.",
    "survey verify": "Check that what is served is what the plan builds.",
    "survey close": "End a survey, and write its reports as a release.",
    "survey import": "Print a survey made from an XLSForm.",
    "survey instructions": "Write sheets for interviews without a device.",
    "survey demo": "Show a survey with simulated respondents.",
}

EXAMPLES = {
    "plan": "discreet plan data.csv --suggest -o skeleton.toml",
    "design": "discreet design plan.toml --rows 2000 --power",
    "release": "discreet release data.csv plan.toml -o out.parquet --overwrite",
    "collect": "discreet collect answers.csv asked.toml -o collected.parquet",
    "show": "discreet show out.parquet",
    "audit": "discreet audit out.parquet",
    "demo": "discreet demo --output demo",
    "estimate frequencies": "discreet estimate frequencies out.parquet cheated --by sex",
    "estimate crosstab": "discreet estimate crosstab out.parquet cheated sex",
    "estimate regression": 'discreet estimate regression out.parquet "cheated ~ age + C(sex)"',
    "estimate mean": "discreet estimate mean out.parquet hours --by sex",
    "estimate quantile": "discreet estimate quantile out.parquet hours 0.5",
    "estimate total": "discreet estimate total out.parquet hours",
    "estimate correlation": "discreet estimate correlation out.parquet hours age",
    "estimate calibrate": "discreet estimate calibrate out.parquet totals.toml",
    "estimate noncompliance": "discreet estimate noncompliance two-designs.parquet cheated",
    "keys new": "discreet keys new steward.pem",
    "survey new": "discreet survey new > survey.toml",
    "survey check": "discreet survey check survey.toml --people 2000 --sheet sheet.html",
    "survey page": "discreet survey page survey.toml -o page.html",
    "survey serve": "discreet survey serve survey.toml --insecure-lan",
    "survey invite": "discreet survey invite survey.toml --count 20 --url https://survey.example.org/",
    "survey verify": "discreet survey verify http://127.0.0.1:8787/ survey.toml",
    "survey close": "discreet survey close survey.toml -o survey.parquet",
    "survey import": "discreet survey import form.xlsx > survey.toml",
    "survey instructions": "discreet survey instructions survey.toml -o sheets.html",
    "survey demo": "discreet survey demo --people 200",
}

#: What is given to options whose own name would not say it.
_GIVEN = {
    "by": "COLUMN",
    "output": "PATH",
    "plot": "FILE",
    "power_plot": "FILE",
    "ledger": "FILE",
    "sheet": "FILE",
    "key": "FILE",
    "certificate": "FILE",
    "interval": "METHOD",
    "errors": "METHOD",
    "top": "N",
    "rows": "N",
    "people": "N",
    "samples": "N",
    "workers": "N",
    "count": "N",
    "collector": "URL",
    "small_cells": "WHAT",
}


class Command(TyperCommand):
    """A command whose options say what they are given in one word: ``--by COLUMN``, not a type of Python."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for one in self.params:
            if isinstance(one, TyperOption) and not one.is_flag and one.metavar is None and one.name is not None:
                one.metavar = _GIVEN.get(one.name, one.name.upper().replace("_", "-"))


def add_help(app: typer.Typer) -> None:
    """Give every command its line, its example, and options that say what they are given."""
    for path, command in commands(app):
        command.short_help = LINES[path]
        command.epilog = f"Example: {EXAMPLES[path]}"
        command.cls = Command


def commands(app: typer.Typer, above: str = "") -> Iterator[tuple[str, Any]]:
    """Every command with the words that call it."""
    for command in app.registered_commands:
        yield f"{above}{command.name}", command
    for group in app.registered_groups:
        if group.typer_instance is not None:
            yield from commands(group.typer_instance, f"{above}{group.name} ")
