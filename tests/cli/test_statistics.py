"""discreet estimate mean, total, quantile and correlation."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from discreet import Randomness, estimate, release
from discreet.cli.app import app


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """A release with a private grid, a private yes/no answer and two public columns, as a file of each kind."""
    n, rng = 3000, np.random.default_rng(3)
    table = pa.table(
        {
            "hours": rng.integers(0, 11, n).astype(float),
            "cheated": np.where(rng.random(n) < 0.3, "yes", "no"),
            "town": np.array(["n", "s", "e"])[rng.integers(0, 3, n)],
            "age": rng.integers(18, 90, n),
        }
    )
    asked = {"mechanism": "randomized-response", "epsilon": 3.0}
    plan = {
        "public": [{"columns": ["town", "age"]}],
        "private": [
            {"columns": ["hours"], "domain": {"grid": {"low": 0, "high": 10, "points": 11}}, **asked},
            {"columns": ["cheated"], "domain": {"binary": ["no", "yes"]}, **asked},
        ],
    }
    folder = tmp_path_factory.mktemp("released")
    for ending in ("parquet", "csv"):
        release(table, plan, folder / f"out.{ending}", randomness=Randomness.seeded(4))
    return folder


def run(*arguments):
    """The command in this process: exit code, what was printed, what was said about errors."""
    result = CliRunner().invoke(app, ["estimate", *map(str, arguments)])
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_one_number_about_a_column(released, ending):
    """Each command prints what the function gives, also from text files."""
    path = released / f"out.{ending}"
    code, text, _ = run("mean", path, "hours", "--level", 0.9)
    assert code == 0
    assert 'Mean of "hours" of the population, n = 3,000' in text
    assert "90 % interval (wilson)" in text
    for name in ("mean", "total", "quantile"):
        code, text, _ = run(name, path, "age", "--by", "town", "--json")
        data = json.loads(text)
        assert code == 0
        assert data["groups"] == ["e", "n", "s"]
        assert len(data["interval"]["low"]) == 3
    code, text, _ = run("quantile", path, "hours", 0.9, "--json")
    assert json.loads(text)["p"] == 0.9
    code, text, _ = run("correlation", path, "hours", "age")
    assert code == 0
    assert "95 % interval (fieller)" in text


def test_groups_are_compared(released):
    """All pairs, with simultaneous intervals; differences or ratios."""
    path = released / "out.parquet"
    code, text, _ = run("mean", path, "hours", "--by", "town", "--compare", "--json")
    assert code == 0
    comparison = json.loads(text)["comparison"]
    assert comparison["interval"]["method"] == "simultaneous"
    assert len(comparison["pairs"]) == 3
    code, text, _ = run("mean", path, "cheated", "--by", "town", "--compare", "--ratio")
    assert code == 0
    assert "Ratios of the mean" in text


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("quantile", "hours", "1.5"), "above 0 and below 1"),
        (("mean", "town"), "must hold numbers"),
        (("mean", "nothing"), 'no column "nothing"'),
        (("mean", "hours", "--by", "cheated"), "private"),
        (("mean", "hours", "--compare"), "one group"),
        (("mean", "hours", "--ratio"), "add --compare"),
        (("mean", "hours", "--level", "2"), "level"),
        (("correlation", "hours", "town"), "must hold numbers"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(released, arguments, sentence):
    """No traceback, and what to do instead."""
    code, _, said = run(arguments[0], released / "out.parquet", *arguments[1:])
    assert code == 2
    assert sentence in said
    assert said.count("\n") == 1


def test_the_library_gives_the_same(released):
    """The command line has no mathematics of its own."""
    from discreet import Release

    found = estimate.mean(Release.open(released / "out.csv"), "hours", by="town")
    _, text, _ = run("mean", released / "out.csv", "hours", "--by", "town", "--json")
    np.testing.assert_allclose(json.loads(text)["estimate"], found.estimate)


@pytest.mark.parametrize("asked", [("mean", "hours"), ("frequencies", "cheated"), ("correlation", "hours", "age")])
def test_errors_by_replication(released, asked):
    """The estimate is the same, the error near the linearised one."""
    name, *columns = asked
    path = released / "out.parquet"
    plain, again = (
        json.loads(run(name, path, *columns, "--json", *more)[1]) for more in ((), ("--errors", "bootstrap"))
    )
    assert again["estimate"] == pytest.approx(plain["estimate"])
    assert again["std_error"] == pytest.approx(plain["std_error"], rel=0.5)
    assert again["method"] == "bootstrap"


def test_errors_by_replication_of_tables_and_regressions(released):
    """Also for these; with nothing declared there are no replicates to use."""
    path = released / "out.parquet"
    code, text, _ = run("crosstab", path, "cheated", "town", "--errors", "jackknife")
    assert (code, "errors by jackknife, 100 replicates" in text) == (0, True)
    code, text, _ = run("regression", path, "cheated ~ age", "--errors", "jackknife")
    assert (code, "errors by jackknife" in text) == (0, True)
    for wrong, said in (("replicates", "declares no replicate weights"), ("magic", "--errors must be")):
        code, _, error = run("mean", path, "hours", "--errors", wrong)
        assert (code, said in error) == (2, True)


def test_intervals_by_name_and_contamination(released):
    """A confidence sequence for a mean, and intervals that allow for made-up reports."""
    path = released / "out.parquet"
    code, text, _ = run("mean", path, "hours", "--interval", "anytime")
    assert (code, "(anytime)" in text) == (0, True)
    plain, wide = (
        json.loads(run("frequencies", path, "cheated", "--json", *more)[1])["interval"]["high"][1]
        for more in ((), ("--contamination", "0.05"))
    )
    assert wide > plain


@pytest.mark.parametrize("family", ["linear", "poisson", "quantile", "huber", "ordinal", "hinge"])
def test_every_family(released, family):
    """Each runs from the command line."""
    formula = {"ordinal": "hours ~ age", "hinge": "cheated ~ age"}.get(family, "age ~ hours + cheated")
    code, text, error = run("regression", released / "out.parquet", formula, "--family", family)
    assert (code, error) == (0, "")
    assert "age" in text
