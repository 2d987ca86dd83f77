"""The reproduction of brr2026 runs, and what it claims is what it computes."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from experiments.brr2026 import curves, places, theorems
from experiments.brr2026.__main__ import CHECKED, main
from experiments.brr2026.problem import DATA_SETS


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Made-up places in the files that the experiment looks for."""
    folder = tmp_path / "data"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for file, *_ in DATA_SETS.values():
        rows = rng.normal([40, -100], [3, 5], (400, 2))
        text = "".join(f"{i},{lat:.6f},{lon:.6f},1,1\n" for i, (lat, lon) in enumerate(rows))
        (folder / file).write_text("poi,lat,lon,checkins,users\n" + text)
    monkeypatch.setenv("DISCREET_DATA", str(folder))
    return folder


def test_the_quick_run_succeeds_and_writes_everything(tmp_path, data, capsys):
    """Every claim holds, every table is a CSV file and every figure a picture."""
    assert main(["--quick", "--output", str(tmp_path)]) == 0
    folder = tmp_path / "brr2026"
    assert {path.stem for path in folder.glob("*.png")} == {"figure5", "figure6", "figure8"}
    tables = {"reference", "formula", "limits", "figure5", "figure6", "figure8", "figure12", "claims"}
    assert {path.stem for path in folder.glob("*.csv")} >= tables
    with (folder / "claims.csv").open(encoding="utf-8") as file:
        claims = list(csv.DictReader(file))
    assert len(claims) > 30
    assert {row["holds"] for row in claims} == {"True"}
    with (folder / "reference.csv").open(encoding="utf-8") as file:
        verdicts = [row["verdict"] for row in csv.DictReader(file)]
    assert verdicts == ["agrees"] * 4 * len(CHECKED)
    assert "UNEXPLAINED" not in capsys.readouterr().out


def test_without_the_data_the_rest_runs_and_says_so(tmp_path, monkeypatch, capsys):
    """Places are skipped by name, with where to get them."""
    monkeypatch.delenv("DISCREET_DATA", raising=False)
    assert main(["--quick", "--output", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "SKIPPED: Gowalla" in out
    assert "SNAP" in out


def test_the_printed_formula_is_the_one_that_differs():
    """The two cases of the erratum, and no difference for the corrected one."""
    assert (theorems.searched(4, 0.1), theorems.printed_formula(4, 0.1)) == (1, 2)
    assert (theorems.searched(10, 1.0), theorems.printed_formula(10, 1.0)) == (3, 4)


def test_regions_hold_every_place_once_and_share_their_prefix(data):
    """A partition: sizes within the limits where that is possible, codes that begin alike."""
    everything = places.load("Gowalla")
    parts = places.regions(everything, 7, 60)
    assert sum(part.domain.size for part in parts) == len(everything)
    assert all(2 <= part.domain.size <= 60 for part in parts)
    assert all(code.startswith(part.prefix) for part in parts for code in part.codes)


def test_jaccard_losses_are_those_of_sets():
    """Different sets, symmetric losses between zero and one."""
    losses = curves.jaccard(15).loss_rows(range(15))
    assert np.allclose(losses, losses.T)
    off = losses[~np.eye(15, dtype=bool)]
    assert 0 < off.min() <= off.max() <= 1


def test_every_stated_number_of_figure_8_has_a_verdict(tmp_path, data):
    """Each row says whether the number lies within our drawings; ε between all places costs more than in regions."""
    main(["--quick", "--output", str(tmp_path)])
    with (tmp_path / "brr2026" / "figure8_gowalla.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 7
    assert {row["verdict"] for row in rows} <= {"within our drawings", "does not reproduce"}
    with (tmp_path / "brr2026" / "regions_gowalla.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            assert float(row["ε between all places"]) > float(row["region published"])
    assert places.verdict(0.087, [0.05, 0.0866]) == "within our drawings"
    assert places.verdict(0.087, [0.05, 0.0864]) == "does not reproduce"
    assert places.verdict(13, [8, 12]) == "does not reproduce"
