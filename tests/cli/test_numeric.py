"""Numeric columns on the command line: design, release, regression, audit."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.test_commands import discreet

PLAN = """
format = 1
[[private]]
columns = ["income", "age", "bmi"]
domain = { box = { low = [0, 18, 15], high = [100, 78, 45] } }
mechanism = "zero-inflated-laplace"
epsilon = 3.0
delta = 0.4
zero_probability = 0.2
unit = "attribute"
clip = true
[[public]]
columns = ["rich", "note"]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """True data with two values outside the box, and a plan."""
    path = tmp_path_factory.mktemp("numeric")
    rng = np.random.default_rng(1)
    age, bmi = rng.uniform(18, 78, 20_000), rng.uniform(15, 45, 20_000)
    income = np.clip(10 + 0.5 * age + 0.8 * bmi + 8 * rng.standard_normal(20_000), 0, 100)
    rich = pa.array((income > 50).tolist())
    note = pa.array([None] + [1.0] * 19_999)
    age[:2] = 101.0
    pq.write_table(
        pa.table({"income": income, "age": age, "bmi": bmi, "rich": rich, "note": note}), path / "data.parquet"
    )
    (path / "plan.toml").write_text(PLAN)
    return path


def test_from_plan_to_regression(folder):
    """Design says the noise, release counts what it moved, regression reads everything from the manifest."""
    told = discreet("design", "plan.toml", "--rows", 20_000, folder=folder)
    assert told.returncode == 0, told.stderr
    assert "noise of" in told.stdout
    assert "published exactly" in told.stdout
    done = discreet("release", "data.parquet", "plan.toml", "-o", "out.parquet", "--no-ledger", folder=folder)
    assert done.returncode == 0, done.stderr
    assert '"age": 2 numbers outside' in done.stderr
    fit = discreet(
        "estimate",
        "regression",
        "out.parquet",
        "income ~ age + bmi",
        "--family",
        "quantile",
        "--tau",
        "0.5",
        folder=folder,
    )
    assert fit.returncode == 0, fit.stderr
    assert "quantile, τ = 0.5" in fit.stdout
    data = json.loads(
        discreet("estimate", "regression", "out.parquet", "income ~ age + bmi", "--json", folder=folder).stdout
    )
    low, high = data["interval"][data["names"].index("age")]
    assert low - 0.1 < 0.5 < high + 0.1
    assert discreet("audit", "out.parquet", folder=folder).returncode == 0
    wrong = discreet("estimate", "regression", "out.parquet", "income ~ height", folder=folder)
    assert wrong.returncode == 2
    assert "height" in wrong.stderr


def test_losses_and_missing_rows_on_the_command_line(folder):
    """A threshold for Huber, a public yes/no outcome as it is stored, and advice in the words of the command."""
    done = discreet("release", "data.parquet", "plan.toml", "-o", "more.parquet", "--no-ledger", folder=folder)
    assert done.returncode == 0, done.stderr
    regress = ("estimate", "regression", "more.parquet")
    fit = discreet(*regress, "income ~ age + bmi", "--family", "huber", "--threshold", 20, folder=folder)
    assert fit.returncode == 0, fit.stderr
    assert "huber, threshold 20" in fit.stdout
    assert discreet(*regress, "income ~ age", "--threshold", 20, folder=folder).returncode == 2
    fit = discreet(*regress, "rich ~ age + bmi", "--family", "binary", folder=folder)
    assert fit.returncode == 0, fit.stderr
    wrong = discreet(*regress, "income ~ age + note", folder=folder)
    assert wrong.returncode == 2
    assert "--missing drop" in " ".join(wrong.stderr.split())
