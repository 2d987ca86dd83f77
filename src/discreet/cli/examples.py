"""The example that the help of every command ends with. The tests run each of them as it stands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

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
    "keys new": "discreet keys new steward.pem",
}


def add_examples(app: typer.Typer) -> None:
    """Put its example at the end of the help of every command that has one."""
    for path, command in commands(app):
        if path in EXAMPLES:
            command.epilog = f"Example: {EXAMPLES[path]}"


def commands(app: typer.Typer, above: str = "") -> Iterator[tuple[str, Any]]:
    """Every command with the words that call it."""
    for command in app.registered_commands:
        yield f"{above}{command.name}", command
    for group in app.registered_groups:
        if group.typer_instance is not None:
            yield from commands(group.typer_instance, f"{above}{group.name} ")
