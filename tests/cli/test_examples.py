"""The help of every command ends with an example, and every example works as it stands."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pytest

from discreet.cli.app import app
from discreet.cli.examples import EXAMPLES, commands
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
    done = discreet("release", "data.csv", "plan.toml", "-o", "out.parquet", "--no-ledger", folder=place)
    assert done.returncode == 0, done.stderr
    return place


@pytest.mark.parametrize("path", EXAMPLES)
def test_an_example_works(folder, path, monkeypatch):
    """Exit code 0, from the words of the help."""
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
    program, *words = shlex.split(EXAMPLES[path])
    assert program == "discreet"
    assert " ".join(words).startswith(path)
    done = discreet(*words, folder=folder)
    assert done.returncode == 0, done.stderr


def test_every_command_has_an_example():
    """The commands of surveys speak for themselves on their page."""
    known = {path for path, _ in commands(app) if not path.startswith("survey ")}
    assert known == set(EXAMPLES)
    for path, command in commands(app):
        if path in EXAMPLES:
            assert command.epilog.endswith(EXAMPLES[path])
