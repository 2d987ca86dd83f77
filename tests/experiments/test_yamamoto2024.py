"""The reproduction of Yamamoto and Shibuya (2024)."""

from __future__ import annotations

import csv
import dataclasses

import numpy as np
import pytest
from experiments.reporting import Table
from experiments.yamamoto2024 import genomes, independence, levels, times
from experiments.yamamoto2024.__main__ import main
from experiments.yamamoto2024.problem import GENOTYPE_LEVELS
from scipy.stats import chi2_contingency

from discreet import design
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


def test_claims_about_the_heuristic_can_fail():
    """Sets in which the heuristic keeps every level refute that it changes or raises any."""
    kept = Table("sets", levels.COLUMNS, [["levels vary", 3, 6.0, 6.0, 4.0, 4.5, 4.2, 0, 0, 6.0]])
    held = {check.claim: check.holds for check in levels.claims(kept)}
    assert not held["the heuristic changes levels in some sets"]
    assert not held["and raises some of them, less privacy than asked for"]
    worse = Table("sets", levels.COLUMNS, [["levels vary", 3, 6.0, 6.0, 4.0, 4.5, 3.9, 0, 0, 6.0]])
    held = {check.claim: check.holds for check in levels.claims(worse)}
    assert not held["the heuristic is never below the optimum where it keeps the levels"]


def test_pearson_counts_rejections():
    """The share of tables rejected is that of scipy's test without a continuity correction."""
    tables = np.random.default_rng(0).multinomial(200, [0.2, 0.3, 0.2, 0.1, 0.1, 0.1], 50).reshape(50, 2, 3)
    expected = np.mean([chi2_contingency(table, correction=False).pvalue < 0.05 for table in tables])
    assert independence._pearson(tables.astype(float)) == expected
    assert 0 < expected < 1


def test_naive_test_is_wrong_where_errors_are_correlated():
    """The three attributes at level 1 tell the tests apart; a naive test called right would be refuted."""
    rows = [
        ["dependent", "free", "90 %", 2.2, 0.9, 1.0, 0.9, 0.05, 0.007],
        ["product", "keep", "90 %", 1.0, 0.05, 0.9, 0.05, 0.05, 0.007],
    ]
    assert all(check.holds for check in independence._claims(rows))
    rows[0][6], rows[0][7], rows[1][6] = 0.05, 0.3, 0.3
    assert not any(check.holds for check in independence._claims(rows))
    found = design.attributes([2] * 3, [1.0] * 3, pairs="free")
    tables = independence._tables(found, [np.array([0.9, 0.1])] * 3, 60)
    assert tables.sum(axis=(1, 2)).tolist() == [1000] * 60
    reports, corrected, wald, ours = independence._rates(found, tables)
    assert min(reports, corrected, wald) > 0.8
    assert ours < 0.3


def test_genotypes_are_found_again_at_high_levels(tmp_path):
    """Where hardly any noise is left, the SNPs of the original data are found again, the decisive one among them."""
    generator = np.random.default_rng(0)
    file = tmp_path / "asthma_snps.csv"
    with file.open("w", encoding="utf-8") as stream:
        stream.write("country,casecontrol,rs1,rs2,rs3\n")
        for _ in range(600):
            sick = int(generator.integers(2))
            cause = "AA" if generator.random() < 0.2 + 0.6 * sick else "AG"
            stream.write(f"Spain,{sick},{cause},{generator.choice(['CC', 'CT', 'NA'])},GG\n")
    sweep, each, checks = genomes.genotypes(file, 3)
    assert [row[0] for row in each.rows] == ["rs1", "rs2"]  # rs3 does not vary
    assert len(sweep.rows) == 2 * len(GENOTYPE_LEVELS)
    assert sweep.rows[-1][4] == sum(row[2] < 0.05 for row in each.rows)
    assert each.rows[0][-1] == 1.0
    assert len(checks) == len(GENOTYPE_LEVELS)
    for per_snp, _, record, *_ in sweep.rows:
        assert record <= per_snp * 2 * (1 + 1e-9)


def test_run_times_show_what_a_design_fell_back_on(monkeypatch):
    """The note of a design that was not found as asked for stands in the table; the usual remark does not."""
    real = times._timed

    def timed(sizes, levels, method):
        seconds, found = real(sizes, levels, "kronecker")
        notes = ("the simplest design was taken", "pairs were left free: look") if method == "exact" else ()
        return seconds, dataclasses.replace(found, notes=notes)

    monkeypatch.setattr(times, "_timed", timed)
    monkeypatch.setattr(times, "TIMED", (3, 100, 1001))
    rows = times.run_times(quick=False).rows
    note = times.COLUMNS.index("note")
    assert [row[note] for row in rows] == ["the simplest design was taken"] * 2 + [""]
    assert rows[1][2] == "–"
    assert rows[2][3] == "–"
