"""What programs read: one JSON object, with the keys that the page on the command line names."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from discreet.cli.help_pages import LINES
from tests.cli.test_commands import discreet
from tests.cli.test_examples import folder  # noqa: F401  # the files that the commands read

PAGE = (Path(__file__).parents[2] / "docs" / "command_line.md").read_text()


def documented(command: str) -> list[str]:
    """The keys that are always there, of the row of the page that names the command."""
    rows = [line.split("|")[1:3] for line in PAGE.split("## For programs")[1].splitlines() if line.startswith("| `")]
    (cell,) = [keys for names, keys in rows if command in re.findall(r"`([^`]+)`", names)]
    same = documented("estimate mean") if "the same" in cell else []
    return same + re.findall(r"`(\w+)`", cell.split(";")[0])


CASES = [
    ("plan", "plan data.csv", []),
    ("design", "design plan.toml --rows 100 --power", ["power"]),
    ("release --check", "release data.csv plan.toml --check", []),
    ("release", "release data.csv plan.toml -o again.parquet --overwrite --no-ledger", []),
    ("collect", "collect answers.csv asked.toml -o taken.parquet --overwrite", []),
    ("show", "show out.parquet", []),
    ("audit", "audit out.parquet --attack --samples 200", ["attacks"]),
    ("estimate frequencies", "estimate frequencies out.parquet cheated", []),
    ("estimate frequencies --by", "estimate frequencies out.parquet cheated --by sex", []),
    ("estimate mean", "estimate mean out.parquet hours --by sex --compare", ["comparison"]),
    ("estimate total", "estimate total out.parquet hours", []),
    ("estimate quantile", "estimate quantile out.parquet hours", []),
    ("estimate crosstab", "estimate crosstab out.parquet cheated sex", ["odds_ratio"]),
    ("estimate correlation", "estimate correlation out.parquet hours age", []),
    ("estimate regression", "estimate regression out.parquet cheated~age", None),
    ("estimate regression --compare", "estimate regression out.parquet cheated~age --compare", []),
    ("estimate calibrate", "estimate calibrate out.parquet totals.toml", []),
    ("estimate noncompliance", "estimate noncompliance two-designs.parquet cheated", []),
    ("keys new", "keys new other.pem", []),
    ("demo", "demo --output shown --overwrite", []),
    ("survey new", "survey new", []),
    ("survey check", "survey check survey.toml", []),
    ("survey page", "survey page survey.toml -o page.html", []),
    ("survey instructions", "survey instructions survey.toml", []),
]


@pytest.mark.parametrize(("command", "line", "more"), CASES, ids=[command for command, *_ in CASES])
def test_json_has_the_keys_that_are_documented(folder, command, line, more):  # noqa: F811
    """In this order; a model may add its own."""
    if command.startswith("survey ") and command != "survey new" and not (folder / "survey.toml").exists():
        (folder / "survey.toml").write_text(discreet("survey", "new").stdout)
    done = discreet(*line.split(), "--json", folder=folder)
    assert done.returncode == 0, done.stderr
    found = list(json.loads(done.stdout))
    expected = documented(command)
    assert len(expected) > 0
    if more is None:
        assert found[: len(expected)] == expected
    else:
        assert set(found) == {*expected, *more}


def test_the_page_names_every_command():
    """Whoever looks for a command finds it there."""
    named = PAGE.split("## Exit codes")[0]
    for path in LINES:
        assert f"`{path.split()[-1]}`" in named or f"discreet {path}" in named, path


def test_power_leaves_out_what_it_cannot_compare(folder):  # noqa: F811
    """A column whose reports do not tell its values apart is said to be one, and the others are answered."""
    plan = (folder / "plan.toml").read_text().replace('mechanism = "frequencies"', 'mechanism = "bipartite"')
    (folder / "near.toml").write_text(plan.replace("epsilon = 3.0", "epsilon = 1.0"))
    done = discreet("design", "near.toml", "--rows", "2000", "--power", folder=folder)
    assert done.returncode == 0, done.stderr
    power = done.stdout.split("Power, ")[1]
    assert '"hours": the channel does not tell these values apart' in power
    assert re.search(r'"cheated": [\d.]+% with 2,000 rows', power)
