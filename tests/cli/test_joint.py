"""The command line with columns that are randomised together."""

from __future__ import annotations

import json
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.test_commands import discreet

PLAN = """
format = 1
[[private]]
columns = ["smokes", "region", "drinks"]
domains = [{ binary = ["no", "yes"] }, { categorical = ["n", "s", "e", "w"] }, { binary = ["no", "yes"] }]
mechanism = "joint"
epsilons = [1.0, 2.0, 0.5]
"""


def test_design_prints_the_alternatives_side_by_side(tmp_path):
    """Product, heuristic and optimum, and what a column level is worth."""
    (tmp_path / "plan.toml").write_text(PLAN, encoding="utf-8")
    shown = discreet("design", tmp_path / "plan.toml", "--rows", 10_000)
    assert shown.returncode == 0
    assert re.search(
        r"independent 3\.5, published heuristic 2\.\d+ \(need not keep cross-tables\), this design 2\.\d+", shown.stdout
    )
    assert "somebody who sees only that column" in shown.stdout
    data = json.loads(discreet("design", tmp_path / "plan.toml", "--rows", 10_000, "--json").stdout)
    block = data["blocks"][0]
    assert block["record_epsilon"]["independent"] == pytest.approx(3.5)
    assert block["record_epsilon"]["this design"] < 3.0
    assert len(block["margin"]) == 3


def test_release_estimate_and_audit(tmp_path):
    """A joint block goes through the whole chain."""
    (tmp_path / "plan.toml").write_text(PLAN, encoding="utf-8")
    table = pa.table({"smokes": ["no", "yes"] * 500, "region": ["n", "s", "e", "w"] * 250, "drinks": ["no"] * 1000})
    pq.write_table(table, tmp_path / "data.parquet")
    out = tmp_path / "out.parquet"
    ledger = {"XDG_STATE_HOME": str(tmp_path / "state")}
    done = discreet("release", tmp_path / "data.parquet", tmp_path / "plan.toml", "-o", out, env=ledger)
    assert done.returncode == 0, done.stderr
    assert discreet("audit", out).returncode == 0
    assert "region" in discreet("estimate", "frequencies", out, "region").stdout
    crossed = discreet("estimate", "crosstab", out, "smokes", "drinks")
    assert crossed.returncode == 0, crossed.stderr
    assert "Odds ratio" in crossed.stdout or "No odds ratio" in crossed.stdout
    three = discreet("estimate", "crosstab", out, "smokes", "region", "drinks", "--json")
    assert three.returncode == 0, three.stderr
    assert len(json.loads(three.stdout)["labels"]) == 3
    attacked = discreet("audit", out, "--attack", "--samples", 2_000)
    assert attacked.returncode == 0, attacked.stderr
    assert "smokes, region" in attacked.stdout


def test_a_plan_does_not_change_levels_silently(tmp_path):
    """The heuristic changes levels; a plan that asks for it is refused with the column and both levels."""
    changed = PLAN.replace("epsilons = [1.0, 2.0, 0.5]", 'epsilons = [1.0, 0.3, 2.0]\nmethod = "inductive"')
    (tmp_path / "plan.toml").write_text(changed, encoding="utf-8")
    shown = discreet("design", tmp_path / "plan.toml", "--rows", 100)
    assert shown.returncode == 2
    assert "the heuristic would" in shown.stderr
