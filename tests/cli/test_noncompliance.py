"""discreet estimate noncompliance."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from discreet import Plan, Release, estimate
from discreet.cli.app import app

PLAN = """
format = 1
[[public]]
columns = ["age", "town", "spinner"]
[[private]]
columns = ["cheated"]
domain = { binary = ["no", "yes"] }
collected = true
by = "spinner"
designs.few = { forced = ["1/6", "1/6"] }
designs.many = { forced = ["1/2", "1/6"] }
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Answers of people of whom some say no whatever they are told."""
    rng = np.random.default_rng(5)
    n = 3_000
    spinner = np.where(np.arange(n) % 2 == 0, "few", "many")
    no, yes = np.where(spinner == "few", 1 / 6, 1 / 2), 5 / 6
    carries, cheats = rng.random(n) < 0.3, rng.random(n) < 0.15
    says = ~cheats & (rng.random(n) < np.where(carries, yes, no))
    answers = {"spinner": spinner, "cheated": np.where(says, "yes", "no"), "age": rng.normal(size=n)}
    table = pa.table({**answers, "town": rng.choice(["n", "s"], n)})
    out = tmp_path_factory.mktemp("survey") / "out.parquet"
    Release.from_reports(table, Plan.parse(PLAN)).save(out)
    return str(out)


def run(*words):
    return CliRunner().invoke(app, ["estimate", "noncompliance", *words])


def test_shares_and_tests(path):
    """The same as from Python, as text and as JSON."""
    found = run(path, "cheated")
    assert found.exit_code == 0, found.stderr
    assert "Cheating detection" in found.stdout
    assert "everybody complies" in found.stdout
    data = json.loads(run(path, "cheated", "--level", "0.9", "--json").stdout)
    expected = estimate.noncompliance(Release.open(path), "cheated")
    assert data["estimate"] == expected.to_dict()["estimate"]
    assert data["level"] == 0.9


def test_a_formula_with_covariates_of_cheating(path):
    """Both traits have a linear predictor."""
    data = json.loads(run(path, "cheated ~ age", "--second", "~ age", "--json").stdout)
    fit = estimate.noncompliance_regression("cheated ~ age", Release.open(path), second="~ age")
    np.testing.assert_allclose(data["estimate"] if "estimate" in data else data["coefficients"], fit.coefficients)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("age",), "public"),
        (("nothing",), 'no column "nothing"'),
        (("cheated", "--model", "magic"), "model"),
        (("cheated", "--second", "~ age"), "goes with a formula"),
        (("cheated ~ nothing",), "nothing"),
        (("cheated", "--level", "7"), "level"),
    ],
)
def test_bad_input(path, words, said):
    """Exit code 2 and one sentence."""
    found = run(path, *words)
    assert found.exit_code == 2
    assert said in found.stderr
    assert len(found.stderr.strip().splitlines()) == 1
