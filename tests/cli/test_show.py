"""discreet show: whoever receives a release learns what it is, and gets commands that work."""

from __future__ import annotations

import json
import shlex

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from discreet import release
from discreet.cli.app import app
from discreet.estimate.data.capabilities import questions

N = 3_000
RNG = np.random.default_rng(2)
TABLE = pa.table(
    {
        "rr q.1": RNG.choice(["no", "yes"], N),
        "band": RNG.integers(1, 13, N),
        "x": RNG.random(N),
        "smokes": RNG.choice(["no", "yes"], N),
        "drinks": RNG.choice(["no", "yes"], N),
        "place": RNG.choice(["a", "b", "c"], N),
        "sex": RNG.choice(["f", "m"], N),
        "age": RNG.integers(18, 80, N),
    }
)
YES = {"binary": ["no", "yes"]}
PLAN = {
    "title": "All kinds",
    "public": [{"columns": ["sex", "age"]}],
    "private": [
        {"columns": ["rr q.1"], "domain": YES, "mechanism": "randomized-response", "epsilon": 2.0},
        {"columns": ["band"], "domain": {"ordinal": list(range(1, 13))}, "mechanism": "bipartite", "epsilon": 1.0},
        {"columns": ["x"], "domain": {"box": {"low": [0.0], "high": [1.0]}}, "mechanism": "zero-inflated-laplace",
         "epsilon": 2.0, "delta": 0.1},
        {"columns": ["smokes", "drinks"], "domains": [YES, YES], "mechanism": "joint", "epsilons": [2.0, 2.0]},
        {"columns": ["place"], "domain": {"categorical": ["a", "b", "c"]}, "mechanism": "randomized-response",
         "epsilon": 2.0},
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    path = tmp_path_factory.mktemp("shown") / "out file.parquet"
    return release(TABLE, PLAN, path, ledger=None), path


def test_every_command_that_is_shown_works(released):
    """Names with spaces and dots are quoted, in the shell and in formulas."""
    run = CliRunner()
    said = run.invoke(app, ["show", str(released[1]), "--json"])
    assert said.exit_code == 0, said.output
    commands = json.loads(said.output)["commands"]
    assert len(commands) >= 6
    for line in commands:
        words = shlex.split(line)
        assert words[0] == "discreet"
        done = run.invoke(app, words[1:])
        assert done.exit_code == 0, f"{line}\n{done.output}"


def test_what_can_be_asked_depends_on_the_column(released):
    """Words have no mean, merged values only ranges, numbers with noise no frequencies."""
    asked = {one.column: one for one in questions(released[0])}
    assert "mean" not in asked["place"].estimates
    assert "frequencies --method bounds" in asked["band"].estimates
    assert "ranges" in asked["band"].caveat
    assert asked["x"].estimates == ("mean", "quantile", "regression")
    assert "frequencies" in asked["smokes"].estimates
    assert asked["age"].estimates == ("frequencies", "mean", "quantile")
    assert asked["sex"].estimates == ("frequencies",)


def test_the_page_for_people_says_who_is_protected(released):
    """Title, promise, columns and commands."""
    text = CliRunner().invoke(app, ["show", str(released[1])]).output
    for part in ("All kinds: 3,000 rows", "The promise", "Columns", "public, copied as it is", "Ask, for example"):
        assert part in text


def test_a_file_that_is_no_release_is_bad_input(tmp_path):
    """One sentence, exit code 2."""
    (tmp_path / "x.csv").write_text("a\n1\n")
    said = CliRunner().invoke(app, ["show", str(tmp_path / "x.csv")])
    assert said.exit_code == 2


def test_the_most_frequent_values_first(released):
    """--top, --sort and --all choose what is printed."""
    run, path = CliRunner(), str(released[1])
    lines = run.invoke(app, ["estimate", "frequencies", path, "place", "--sort"]).output.splitlines()
    figures = [float(line.split()[1]) for line in lines if line.startswith(("a ", "b ", "c "))]
    assert figures == sorted(figures, reverse=True)
    assert len(figures) == 3
    best = run.invoke(app, ["estimate", "frequencies", path, "place", "--top", "1", "--json"])
    assert len(json.loads(best.output)["labels"]) == 1
    refused = run.invoke(app, ["estimate", "frequencies", path, "place", "--by", "sex", "--top", "1"])
    assert refused.exit_code == 2
