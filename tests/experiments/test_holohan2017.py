"""The reproduction of Holohan, Leith and Mason (2017): its numbers, and that it notices when they change."""

from __future__ import annotations

import csv
import math

import numpy as np
import pytest
from experiments.holohan2017 import coverage, example, region
from experiments.holohan2017.__main__ import main
from experiments.holohan2017.problem import EXAMPLE_1, LEVEL
from experiments.reporting import Comparison, Report, share_error

from discreet import design, estimate
from discreet.design.binary_response.feasible_region import switch_prevalence

#: g, variance at the Warner point, at the better corner: computed elsewhere, to four digits.
EXPECTED = {
    1: (0.2428, 2.3724, 2.4375),
    2: (0.1967, 0.3850, 0.2400),
    3: (0.3818, 0.8537, 0.2900),
    4: (0.2500, 0.9375, 0.9375),
}


@pytest.mark.parametrize("case", EXAMPLE_1, ids=lambda case: f"case {case.number}")
def test_example_1_gives_the_checked_numbers(case):
    """The threshold g and the variances of every case are the checked ones."""
    values = example.candidates(case)
    ours = (switch_prevalence(case.epsilon, case.delta), values["warner"], values["corner"])
    np.testing.assert_allclose(ours, EXPECTED[case.number], rtol=0, atol=5e-5)


@pytest.mark.parametrize("case", EXAMPLE_1, ids=lambda case: f"case {case.number}")
def test_example_1_by_closed_forms(case):
    """At a corner the variance is x/δ − x², x the prevalence that the corner randomises; Warner's has its own form."""
    values, keep = example.candidates(case), (math.exp(case.epsilon) + case.delta) / (math.exp(case.epsilon) + 1)
    rare = min(case.prevalence, 1 - case.prevalence)
    assert values["corner"] == pytest.approx(rare / case.delta - rare**2, rel=1e-12)
    assert values["other corner"] == pytest.approx((1 - rare) / case.delta - (1 - rare) ** 2, rel=1e-12)
    assert values["warner"] == pytest.approx(((2 * keep - 1) ** -2 - (1 - 2 * rare) ** 2) / 4, rel=1e-12)


def test_example_1_agrees_with_the_paper_but_for_two_known_errata():
    """Thirteen printed numbers: eleven agree to their last digit, two are errata, none is unexplained."""
    verdicts = [row.verdict for row in example.comparisons()]
    assert verdicts.count("agrees") == 11
    assert sum(verdict.startswith("erratum") for verdict in verdicts) == 2
    assert len(verdicts) == 13


def test_a_difference_beyond_rounding_is_noticed():
    """The last printed digit decides; a known erratum is named, anything else differs."""
    assert Comparison("x", "0.243", 0.24276).verdict == "agrees"
    assert Comparison("x", "0.243", 0.24249).verdict == "DIFFERS"
    assert Comparison("x", "15/16", 0.9375).verdict == "agrees"
    assert Comparison("x", "15/16", 0.93751).verdict == "DIFFERS"
    assert Comparison("x", "0.143", 0.29, "wrong in print").verdict == "erratum: wrong in print"
    assert Comparison("x", "0.24", 0.26, error=0.01).verdict == "agrees"


def test_the_quick_run_succeeds_and_writes_everything(tmp_path, capsys):
    """Every claim holds, every table is a CSV file and every figure a picture."""
    assert main(["--quick", "--output", str(tmp_path)]) == 0
    folder = tmp_path / "holohan2017"
    pictures = {path.stem for path in folder.glob("*.png")}
    assert pictures == {"figure1", "figure2", "coverage_population", "coverage_table"}
    with (folder / "claims.csv").open(encoding="utf-8") as file:
        claims = list(csv.DictReader(file))
    assert len(claims) > 30
    assert {row["holds"] for row in claims} == {"True"}
    with (folder / "example1.csv").open(encoding="utf-8") as file:
        assert {"paper", "ours", "difference"} <= set(csv.DictReader(file).fieldnames or ())
    assert "UNEXPLAINED" not in capsys.readouterr().out


def test_a_failed_claim_is_reported(tmp_path, capsys):
    """A surprise is printed and gives exit code 1."""
    report = Report("paper", tmp_path)
    report.compare("table", "A table", [Comparison("the answer", "41.0", 42.0)])
    assert report.finish() == 1
    assert "UNEXPLAINED: the answer" in capsys.readouterr().out


@pytest.mark.parametrize("target", coverage.TARGETS)
@pytest.mark.parametrize("method", coverage.METHODS)
def test_coverage_is_the_sum_over_all_outcomes(method, target):
    """The fast sum equals the slow one that asks estimate.frequencies about every outcome."""
    n, prevalence, mechanism = 40, 0.2, design.binary(1.0).mechanism
    setting = coverage.Setting(mechanism, n)
    truth, first, law = coverage.law_of_reports(setting, prevalence, target)
    fast, _ = coverage.exact_coverage(setting.intervals(np.arange(n + 1.0), method, target), truth, first, law)
    slow = 0.0
    for yes, probability in enumerate(law, start=first):
        low, high = estimate.frequencies(counts=[n - yes, yes], mechanism=mechanism, target=target).interval(
            LEVEL, method
        )[1]
        slow += probability * (low <= truth <= high)
    assert fast == pytest.approx(slow, abs=1e-12)
    assert law.sum() == pytest.approx(1, abs=1e-12)


def test_the_law_of_the_reports_has_the_right_moments():
    """Given the table, the count varies less than when people are sampled too."""
    setting = coverage.Setting(design.binary(1.0).mechanism, 1_000)
    keep = math.e / (1 + math.e)
    for target, variance in {
        "population": 1_000 * (q := 1 - keep + 0.2 * (2 * keep - 1)) * (1 - q),
        "table": 1_000 * keep * (1 - keep),
    }.items():
        _, first, law = coverage.law_of_reports(setting, 0.2, target)
        counts = first + np.arange(law.size)
        mean = law @ counts
        assert mean == pytest.approx(1_000 * q)
        assert law @ (counts - mean) ** 2 == pytest.approx(variance)


def test_plugged_in_chebyshev_covers_a_quarter():
    """4.5 standard errors from the reports cover 24 % at ε = 4, n = 10, π = .01; the inverted inequality 99 %."""
    table, _ = coverage.plugged_in()
    found = {row[0]: row[1] for row in table.rows}
    assert next(iter(found.values())) == pytest.approx(0.2443, abs=1e-4)
    assert found["chebyshev"] >= 0.95
    assert found["clopper-pearson"] >= 0.95


def test_level_sets_have_two_branches_where_g_turns_back():
    """At ε = .3 the line g = ½ is met twice, at ε = .5 never, and the line g = ¼ once at ln 2."""
    low, high = region.level_set(0.5, 0.3)
    assert switch_prevalence(0.3, low) == pytest.approx(0.5)
    assert switch_prevalence(0.3, high) == pytest.approx(0.5)
    assert low < high < 1
    assert all(math.isnan(end) for end in region.level_set(0.5, 0.5))
    assert region.level_set(0.25, math.log(2))[0] == pytest.approx(0.25)


def test_monte_carlo_errors_are_never_zero():
    """A simulation that never failed still has an error bar."""
    assert share_error(1.0, 1_000) > 0
    assert share_error(0.5, 1_000) == pytest.approx(math.sqrt(0.25 / 1_000))
