"""Figures 9 to 11 of brr2026 run on the real tables, and are skipped by name without them."""

from __future__ import annotations

import pytest
from experiments.brr2026 import gradients, trees, vectors
from experiments.learning.tables import has
from experiments.reporting import Report

FILES = {
    trees: ("abalone.csv", "temperature_bias.parquet", "superconductivity_78of82.parquet"),
    gradients: ("mnist_10k_2k.npz",),
    vectors: ("adult.parquet", "bank_additional_full.parquet"),
}


@pytest.mark.parametrize("figure", FILES, ids=lambda figure: figure.__name__.rpartition(".")[2])
def test_a_figure_reproduces_on_a_small_part(figure, tmp_path):
    """Every claim holds."""
    if not has(*FILES[figure]):
        pytest.skip(f"{FILES[figure][0]} is not in DISCREET_DATA")
    claims = figure.run(Report("brr2026", tmp_path), quick=True)
    assert claims
    assert [claim.claim for claim in claims if not claim.holds] == []


@pytest.mark.parametrize("figure", FILES, ids=lambda figure: figure.__name__.rpartition(".")[2])
def test_without_the_data_a_figure_is_skipped_by_name(figure, tmp_path, monkeypatch, capsys):
    """One line says so."""
    monkeypatch.delenv("DISCREET_DATA", raising=False)
    assert figure.run(Report("brr2026", tmp_path), quick=True) == []
    assert "SKIPPED: Figure" in capsys.readouterr().out
