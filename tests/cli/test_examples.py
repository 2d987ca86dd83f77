"""The help of every command ends with an example, and every example works as it stands."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from discreet.cli.app import app
from discreet.cli.help_pages import EXAMPLES, LINES, commands
from tests.cli.test_commands import discreet

PLAN = """
format = 1
[[public]]
columns = ["sex", "age"]
[[private]]
columns = ["cheated"]
domain = { binary = ["no", "yes"] }
mechanism = "randomized-response"
epsilon = 3.0
[[private]]
columns = ["hours"]
domain = { grid = { low = 0, high = 8, points = 9 } }
mechanism = "frequencies"
epsilon = 3.0
"""
ASKED = """
format = 1
[[private]]
columns = ["cheated"]
domain = { binary = ["no", "yes"] }
collected = true
crosswise = "1/4"
"""
TWO_DESIGNS = """
format = 1
[[public]]
columns = ["sex"]
[[private]]
columns = ["cheated"]
domain = { binary = ["no", "yes"] }
collected = true
by = "sex"
designs.f = { forced = ["1/6", "1/6"] }
designs.m = { forced = ["1/2", "1/6"] }
"""
TOTALS = """
[[margin]]
columns = ["sex"]
totals = { f = 5100, m = 4900 }
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """The files that the examples name."""
    place = tmp_path_factory.mktemp("examples")
    rng = np.random.default_rng(4)
    sexes, answers = rng.choice(["f", "m"], 3000), rng.choice(["no", "yes"], 3000, p=[0.7, 0.3])
    numbers = zip(sexes, rng.integers(18, 70, 3000), answers, rng.integers(0, 9, 3000), strict=True)
    rows = [",".join(map(str, row)) for row in numbers]
    (place / "data.csv").write_text("sex,age,cheated,hours\n" + "\n".join(rows) + "\n")
    (place / "answers.csv").write_text("cheated\n" + "\n".join(row.split(",")[2] for row in rows) + "\n")
    (place / "plan.toml").write_text(PLAN)
    (place / "asked.toml").write_text(ASKED)
    (place / "totals.toml").write_text(TOTALS)
    (place / "two-designs.toml").write_text(TWO_DESIGNS)
    said_yes = rng.random(3000) < np.where(sexes == "f", 0.3, 0.5)
    said = [f"{sex},{'yes' if yes else 'no'}" for sex, yes in zip(sexes, said_yes, strict=True)]
    (place / "said.csv").write_text("sex,cheated\n" + "\n".join(said) + "\n")
    for words in (
        ("release", "data.csv", "plan.toml", "-o", "out.parquet", "--no-ledger"),
        ("collect", "said.csv", "two-designs.toml", "-o", "two-designs.parquet"),
    ):
        done = discreet(*words, folder=place)
        assert done.returncode == 0, done.stderr
    return place


def words_of(path: str) -> tuple[list[str], str | None]:
    """The words of an example, and the file that the shell writes what is printed into."""
    program, *words = shlex.split(EXAMPLES[path])
    assert program == "discreet"
    assert " ".join(words).startswith(path)
    return (words[: words.index(">")], words[words.index(">") + 1]) if ">" in words else (words, None)


def run(path: str, folder: Path, **options) -> None:
    words, into = words_of(path)
    done = discreet(*words, folder=folder, **options)
    assert done.returncode == 0, done.stderr
    if into is not None:
        (folder / into).write_text(done.stdout)


@pytest.mark.parametrize("path", [path for path in EXAMPLES if not path.startswith("survey ")])
def test_an_example_works(folder, path, monkeypatch):
    """Exit code 0, from the words of the help."""
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
    run(path, folder)


def test_the_examples_of_a_survey_work_one_after_the_other(tmp_path):
    """From the questionnaire to its release; only the port is another one, so that tests can run side by side."""
    pytest.importorskip("starlette")
    run("survey new", tmp_path)
    plan = tmp_path / "survey.toml"
    plan.write_text(plan.read_text().replace('access = "open"', 'access = "invitation"'))  # codes are for these
    for path in ("survey check", "survey page", "survey invite", "survey instructions"):
        run(path, tmp_path)
    for file in ("survey.toml", "sheet.html", "page.html", "sheets.html"):
        assert (tmp_path / file).stat().st_size > 500
    assert {path.suffix for path in (tmp_path / "invitations").iterdir()} >= {".csv", ".html"}
    served = [sys.executable, "-m", "discreet", *words_of("survey serve")[0], "--port", "0", "--json"]
    with subprocess.Popen(served, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            address = json.loads(process.stdout.readline())["address"]
            words = [address if word.startswith("http") else word for word in words_of("survey verify")[0]]
            done = discreet(*words, folder=tmp_path)
            assert done.returncode == 0, done.stderr
        finally:
            process.terminate()
    done = discreet(*words_of("survey close")[0], folder=tmp_path)
    assert done.returncode == 2  # nobody has answered, and that is said
    assert "there are no reports to release" in done.stderr


def test_every_command_has_an_example_and_a_line():
    """The example ends its help, and the line stands whole in the list of its group."""
    known = {path for path, _ in commands(app)}
    assert known == set(EXAMPLES) == set(LINES)
    for path, command in commands(app):
        assert command.epilog.endswith(EXAMPLES[path])
    for group in ((), ("estimate",), ("survey",), ("keys",)):
        listed = discreet(*group, "--help", env={"COLUMNS": "80"}).stdout
        assert "..." not in listed.split("Commands:")[1]


def test_options_say_what_they_are_given():
    """In a word, and never a type of Python."""
    for path, _ in commands(app):
        text = discreet(*path.split(), "--help", env={"COLUMNS": "80"}).stdout
        options = text.split("\nOptions:")[1]
        assert not re.search(r"<(list|int|float|str|path|bool)|\b(INTEGER|FLOAT|TEXT)\b", options), path
        assert text.count("Example: ") == 1, path
    assert "--by COLUMN" in discreet("estimate", "mean", "--help").stdout
