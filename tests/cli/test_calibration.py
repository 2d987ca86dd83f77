"""discreet estimate calibrate, and the option --totals of the other commands."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from discreet import Plan, Randomness, Release, estimate, release
from discreet.cli.app import app

PLAN = """
format = 1
[survey]
weight = "w"
[[public]]
columns = ["region", "sex", "age"]
[[private]]
columns = ["cheated"]
domain = { binary = ["no", "yes"] }
mechanism = "randomized-response"
epsilon = 3.0
[[private]]
columns = ["hours"]
domain = { ordinal = [0, 1, 2, 3] }
mechanism = "randomized-response"
epsilon = 3.0
"""
TOTALS = """
method = "logit"
bounds = [0.2, 5]
[[margin]]
columns = ["region"]
totals = { 1 = 600, 2 = 400 }
[[margin]]
columns = ["region", "sex"]
file = "cells.csv"
[[margin]]
columns = ["age"]
total = 44000
"""
CELLS = "region,sex,total\n1,f,310\n1,m,290\n2,f,205\n2,m,195\n"
N = 400


@pytest.fixture(params=["parquet", "csv"])
def folder(request, tmp_path):
    """A release, and files with totals."""
    rng = np.random.default_rng(3)
    table = pa.table(
        {
            "region": rng.integers(1, 3, N),
            "sex": np.array(["f", "m"])[rng.integers(0, 2, N)],
            "age": rng.integers(20, 70, N),
            "w": rng.uniform(1, 3, N),
            "cheated": np.where(rng.random(N) < 0.3, "yes", "no"),
            "hours": rng.integers(0, 4, N),
        }
    )
    release(table, Plan.parse(PLAN), tmp_path / f"out.{request.param}", randomness=Randomness.seeded(4))
    (tmp_path / "totals.toml").write_text(TOTALS)
    (tmp_path / "cells.csv").write_text(CELLS)
    return tmp_path, str(tmp_path / f"out.{request.param}")


def run(*words: str):
    return CliRunner().invoke(app, [*words], catch_exceptions=False)


def test_weights_are_calibrated_and_shown(folder):
    """The table of totals, as text and as JSON, from a file of margins, cells and a number."""
    path, out = folder
    found = run("estimate", "calibrate", out, str(path / "totals.toml"))
    assert found.exit_code == 0
    assert "Weights calibrated to 7 known totals: logit, bounds 0.2 and 5" in found.stdout
    assert "region, sex: 1, f" in found.stdout
    data = json.loads(run("estimate", "calibrate", out, str(path / "totals.toml"), "--json").stdout)
    np.testing.assert_allclose(data["after"], data["known"], rtol=1e-6)
    assert data["known"] == [600, 400, 310, 290, 205, 195, 44_000]


COMMANDS = {
    "frequencies": (("cheated",), lambda r: estimate.frequencies(r, "cheated")),
    "mean": (("hours", "--by", "sex"), lambda r: estimate.mean(r, "hours", by="sex")),
    "total": (("cheated",), lambda r: estimate.total(r, "cheated")),
    "quantile": (("age", "0.5"), lambda r: estimate.quantile(r, "age")),
    "crosstab": (("cheated", "sex"), lambda r: estimate.crosstab(r, "cheated", "sex")),
    "correlation": (("hours", "age"), lambda r: estimate.correlation(r, "hours", "age")),
    "regression": (("cheated ~ age",), lambda r: estimate.regression("cheated ~ age", r)),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_estimate_takes_totals(folder, command):
    """With --totals the figures are those of the calibrated release."""
    path, out = folder
    words, ask = COMMANDS[command]
    found = json.loads(run("estimate", command, out, *words, "--totals", str(path / "totals.toml"), "--json").stdout)
    totals = {
        "region": {"1": 600, "2": 400},
        ("region", "sex"): {("1", "f"): 310, ("1", "m"): 290, ("2", "f"): 205, ("2", "m"): 195},
        "age": 44_000,
    }
    weighted = estimate.calibrate(Release.open(out), totals, "logit", bounds=(0.2, 5)).release
    expected = ask(weighted).to_dict()
    key = "estimate" if "estimate" in found else "coefficients"
    assert found[key] == expected[key]
    assert found["std_error"] == expected["std_error"]
    assert any("calibrat" in note for note in found["notes"])


def test_errors_by_replication_calibrate_every_replicate(folder):
    """--totals goes together with --errors."""
    path, out = folder
    found = run(
        "estimate", "mean", out, "age", "--totals", str(path / "totals.toml"), "--errors", "bootstrap", "--json"
    )
    data = json.loads(found.stdout)
    assert data["estimate"][0] == pytest.approx(44)
    assert data["std_error"][0] < 1e-6  # the total of age and the number of people are known


BAD = {
    "nothing": ("", "nothing to calibrate to"),
    "no TOML": ("[[margin", "is not valid TOML"),
    "a key": ("magic = 3", 'the key "magic"'),
    "a margin": ("margin = 3", "[[margin]]"),
    "a key of a margin": ('[[margin]]\ncolumns = ["sex"]\nvalue = 3', 'the key "value"'),
    "no columns": ("[[margin]]\ntotal = 3", "must name public columns"),
    "two kinds": ('[[margin]]\ncolumns = ["age"]\ntotal = 3\nfile = "a"', "one of them only"),
    "a file": ('[[margin]]\ncolumns = ["sex"]\nfile = "none.csv"', "there is no file"),
    "a column of a file": ('[[margin]]\ncolumns = ["age"]\nfile = "cells.csv"', 'cells.csv has no column "age"'),
    "rows": ('[[margin]]\ncolumns = ["region", "sex"]\ntotals = [["1", 5]]', "rows such as"),
    "twice": ('[[margin]]\ncolumns = ["age"]\ntotal = 3\n' * 2, "the columns of an earlier one"),
    "a private column": ('[[margin]]\ncolumns = ["cheated"]\ntotals = { no = 1, yes = 1 }', "a private column"),
    "a category": ('[[margin]]\ncolumns = ["sex"]\ntotals = { f = 1 }', 'the category "m"'),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_totals(folder, case):
    """Exit code 2 and one sentence, for the command and for the option."""
    path, out = folder
    text, said = BAD[case]
    (path / "bad.toml").write_text(text)
    for words in (
        ("calibrate", out, str(path / "bad.toml")),
        ("mean", out, "hours", "--totals", str(path / "bad.toml")),
    ):
        found = run("estimate", *words)
        assert found.exit_code == 2
        assert said in found.stderr
        assert len(found.stderr.strip().splitlines()) == 1


def test_a_file_that_is_not_there(folder):
    """Its name, and exit code 2."""
    _, out = folder
    found = run("estimate", "calibrate", out, "nowhere.toml")
    assert found.exit_code == 2
    assert "there is no file nowhere.toml" in found.stderr
