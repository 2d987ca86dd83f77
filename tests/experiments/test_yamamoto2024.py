"""The reproduction of Yamamoto and Shibuya (2024)."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from experiments.yamamoto2024 import genomes, levels
from experiments.yamamoto2024.__main__ import main

from discreet.design.attributes.request import Request
from discreet.design.attributes.simple import inductive


def test_the_quick_run_succeeds_and_writes_everything(tmp_path, capsys):
    """Every claim holds, every table is a CSV file and every figure a picture."""
    assert main(["--quick", "--output", str(tmp_path)]) == 0
    folder = tmp_path / "yamamoto2024"
    pictures = {path.stem for path in folder.glob("*.png")}
    assert pictures == {"figure1", "figure2", "figure3", "figure4", "figure5", "large"}
    with (folder / "claims.csv").open(encoding="utf-8") as file:
        claims = list(csv.DictReader(file))
    assert {row["holds"] for row in claims} == {"True"}
    assert "UNEXPLAINED" not in capsys.readouterr().out


def test_check_figures_hold():
    """The independently computed figures of small sets come out."""
    assert all(check.holds for check in levels.check_figures())


def test_heuristic_levels_meet_the_total():
    """The levels found for a total give that total."""
    found = genomes.heuristic_levels(10, 4, 30.0)
    assert inductive(Request.of([4] * 10, found.tolist())).epsilon == pytest.approx(30.0, rel=1e-3)


def test_statistic_is_pearsons():
    """χ² of a 2 × 2 table agrees with the sum over cells."""
    table = np.array([[30.0, 10.0], [20.0, 40.0]])
    expected = np.outer(table.sum(1), table.sum(0)) / table.sum()
    assert genomes.statistic(table) == pytest.approx(((table - expected) ** 2 / expected).sum())
