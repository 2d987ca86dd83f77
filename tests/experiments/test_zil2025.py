"""The reproduction of zil2025: its numbers, and that it notices when they change."""

from __future__ import annotations

import csv
import math

import numpy as np
import pytest
from experiments.zil2025 import privacy, simulation
from experiments.zil2025.__main__ import main
from experiments.zil2025.problem import TABLE_1, TABLE_2

from discreet.mechanisms.laplace.curve import delta_bound


def test_the_quick_run_succeeds_and_writes_everything(tmp_path, capsys):
    """Every claim holds, every table is a CSV file and the figure a picture."""
    assert main(["--quick", "--output", str(tmp_path)]) == 0
    folder = tmp_path / "zil2025"
    assert {path.stem for path in folder.glob("*.png")} - {"network"} == {"figure1"}
    names = {path.stem for path in folder.glob("*.csv")}
    assert {"levels", "levels_text", "table1_all", "table2", "table3", "proposition", "coverage", "claims"} <= names
    with (folder / "claims.csv").open(encoding="utf-8") as file:
        assert {row["holds"] for row in csv.DictReader(file)} == {"True"}
    assert "UNEXPLAINED" not in capsys.readouterr().out


def test_the_printed_formula_for_delta_is_wrong():
    """With e^−ε Theorem 3.3 gives .2128 where the curve has .1253; at ε = 0 both agree."""
    assert privacy.printed_delta(0.8, 0.5) == pytest.approx(0.2128, abs=1e-4)
    assert delta_bound(0.8, 0.5) == pytest.approx(0.1253, abs=1e-4)
    assert privacy.printed_delta(0.0, 0.5) == pytest.approx(delta_bound(0.0, 0.5))


def test_table_1_by_simulation():
    """DRCL at n = 500, δ₀ = .1, λ = .94: .1053, .1801, .1737; exact is better for every function."""
    errors = {name: np.sqrt((e**2).mean(axis=0)) for name, e in simulation.means(TABLE_1[0], 400).items()}
    np.testing.assert_allclose(errors["drcl"], [0.1053, 0.1801, 0.1737], rtol=0.16)
    assert np.all(errors["exact"] < errors["drcl"])
    assert np.all(errors["box"] < errors["exact"])
    assert errors["oracle"][0] == pytest.approx(1 / math.sqrt(12 * 500), rel=0.16)


def test_the_covariates_are_truncated_normals():
    """Within their bounds, with the variance of a truncated normal."""
    x, y = simulation.data("logistic", 50_000, 0.5, np.random.default_rng(1))
    assert np.abs(x).max() <= 0.5
    assert x.var() == pytest.approx(0.0806, abs=0.001)
    assert set(np.unique(y)) == {0.0, 1.0}


def test_exact_beats_drcl_on_the_same_data(tmp_path):
    """Twelve runs of Table 2's first setting; runs that were kept are read, not repeated."""
    path = tmp_path / "errors.csv"
    errors = simulation.regression_errors(TABLE_2[0], 12, ("drcl", "exact"), path=path)
    assert np.mean(errors["exact"] ** 2) < 0.4 * np.mean(errors["drcl"] ** 2)
    before = path.read_bytes()
    again = simulation.regression_errors(TABLE_2[0], 12, ("drcl", "exact"), path=path)
    np.testing.assert_array_equal(again["exact"], errors["exact"])
    assert path.read_bytes() == before
