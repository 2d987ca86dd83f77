"""The reproduction of Zhang et al. (2025): its formulas, its files, and that it notices when a figure is missed."""

from __future__ import annotations

import csv
import math
import os
from dataclasses import replace

import numpy as np
import pytest
from benchmarks import regression
from experiments.reporting import Comparison
from experiments.store import RunFile
from experiments.zhang2025 import coverage, designs, prediction, simulation, survey
from experiments.zhang2025.__main__ import main
from experiments.zhang2025.problem import (
    COEFFICIENTS,
    NAMES,
    SIZE,
    Setting,
    covariates,
    expected_information,
    information,
    truths,
    variance_bound,
    warner,
)

from discreet.estimate import binary_regression
from discreet.estimate.regressions.likelihood.links import LINKS
from discreet.estimate.regressions.likelihood.rows import checked_rows
from discreet.estimate.regressions.likelihood.score import ScoreTest

CELL = coverage.Cell(Setting("I", "logit", 2.0, n=500), runs=6)
#: 5 regular standard deviations of a share of 200 at 95 %.
WIDE = 5 * math.sqrt(0.95 * 0.05 / 200)


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_information_is_that_of_the_fit(link):
    """Equation (5) as written here equals n times less the information that a fit reports at its estimate."""
    generator = np.random.default_rng(1)
    X = covariates("II", 3_000, generator)
    fit = binary_regression(X, truths(X, link, generator), 0.9, 0.8, link=link)
    ours = information(X, fit.coefficients, link, 0.9, 0.8)
    np.testing.assert_allclose(np.linalg.inv(ours) / 3_000, fit.covariance, rtol=1e-8)


@pytest.mark.parametrize("scenario", ["I", "II"])
@pytest.mark.parametrize("keep", [0.6, 1.0])
def test_expected_information_is_the_average_over_the_covariates(scenario, keep):
    """Quadrature agrees with an average over 400,000 rows within its error, and the covariance with its definition."""
    X = covariates(scenario, 400_000, np.random.default_rng(2))
    average = information(X, COEFFICIENTS, "probit", keep, keep)
    exact = expected_information(scenario, "probit", keep, keep)
    np.testing.assert_allclose(average, exact, atol=0.02 * exact.max())
    wanted = {"I": [1, 0, 0, 2.25, 0, 0.25], "II": [1, 0.5, 0.25, 1, 0.5, 1]}[scenario]
    np.testing.assert_allclose(np.cov(X[:, 1:].T)[np.triu_indices(3)], wanted, atol=0.02)


def test_information_bounds_of_section_5():
    """Log MSE cannot be −15: the bounds are −.35 at ε = .05, −5.6 at ε = .7 and −8.0 without privacy."""
    found = [math.log(variance_bound("I", "logit", p, p, SIZE).sum()) for p in (warner(0.05), warner(0.7), 1.0)]
    np.testing.assert_allclose(found, [-0.352, -5.575, -7.989], atol=5e-4)


def test_scenario_two_has_the_smaller_bound():
    """The correlation costs less than the larger spread gains, for both links and with or without privacy."""
    for link in ("logit", "probit"):
        for keep in (warner(0.05), warner(1.0), 1.0):
            bounds = [variance_bound(s, link, keep, keep, SIZE).sum() for s in ("I", "II")]
            assert bounds[1] < 0.9 * bounds[0]


def test_runs_are_taken_up_where_they_stopped(tmp_path):
    """A file that was interrupted in the middle of a line ends up as one that was written in one go."""
    whole, torn = RunFile(tmp_path / "whole.csv", ["a", "b"], 2), RunFile(tmp_path / "torn.csv", ["a", "b"], 2)
    lines = [[0, 0.5], [0, math.inf], [1, -2.25], [1, 1e-9]]
    assert whole.take_up() == 0
    whole.append(lines)
    torn.take_up()
    torn.append(lines[:3])
    with torn.path.open("a") as file:
        file.write("1,0.00")
    assert torn.done == 1
    assert torn.take_up() == 1
    torn.append(lines[2:])
    assert torn.path.read_text() == whole.path.read_text()
    np.testing.assert_array_equal(whole.read()["b"], [0.5, math.inf, -2.25, 1e-9])
    assert whole.read(1)["b"].size == 2


def test_runs_of_another_version_are_refused(tmp_path):
    """Different columns are not mixed."""
    path = tmp_path / "runs.csv"
    RunFile(path, ["a"]).take_up()
    with pytest.raises(ValueError, match="--fresh"):
        RunFile(path, ["b"]).take_up()


def test_coverage_runs_can_be_stopped_and_taken_up(tmp_path, capsys):
    """Time that is up stops the run; the same call goes on, and the result is that of one go."""
    assert not coverage.simulate(tmp_path / "a", [CELL], minutes=0.0)
    assert "goes on from here" in capsys.readouterr().out
    assert coverage.simulate(tmp_path / "a", [replace(CELL, runs=2)])
    assert coverage.simulate(tmp_path / "a", [CELL])
    assert coverage.simulate(tmp_path / "b", [CELL])
    first, second = (coverage.run_file(tmp_path / name, CELL).path.read_text() for name in "ab")
    assert first == second
    assert len(first.splitlines()) == 1 + CELL.runs


def runs(estimate, error, ratio, status):
    """A file of runs that are all alike in every coefficient."""
    data = {"status": np.array(status, float)}
    for name, value in zip(NAMES, COEFFICIENTS, strict=True):
        data |= {f"estimate_{name}": value + np.array(estimate), f"error_{name}": np.array(error, float)}
        data[f"ratio_{name}"] = np.array(ratio, float)
    return data


def test_summaries_count_what_intervals_cover():
    """Infinite intervals cover, missing ones do not; infinite fits are left out of the mean squared error only."""
    data = runs([1.0, 3.0, 50.0, 0.0], [1.0, 1.0, math.inf, math.nan], [1.0, 9.0, 9.0, 0.0], [0, 0, 1, 2])
    ends = {f"{end}_{name}": np.array([-9.0, -9.0, -math.inf, math.nan]) for name in NAMES for end in ("low", "high")}
    ends |= {f"high_{name}": np.array([9.0, 9.0, math.inf, math.nan]) for name in NAMES}
    found = coverage.summarise(CELL, data, ends)
    assert found.infinite == found.unfinished == 0.25
    np.testing.assert_array_equal(found.coverage["wald"], 0.5)
    np.testing.assert_array_equal(found.coverage["profile"], 0.5)
    np.testing.assert_array_equal(found.coverage["score"], 0.75)
    keep = warner(2.0)
    np.testing.assert_allclose(found.ratio, 5.0 / variance_bound("I", "logit", keep, keep, 500))


def test_a_missed_figure_is_noticed():
    """Coverage below 93 % where theory applies fails; elsewhere it is an exception, which needs a repair."""
    sharp = coverage.Cell(Setting("I", "logit", 1.0, n=100_000), runs=2_000)
    vague = coverage.Cell(Setting("I", "logit", 0.1, n=2_000), runs=2_000)
    assert sharp.theory_applies
    assert not vague.theory_applies
    generator = np.random.default_rng(3)
    bound = np.sqrt(variance_bound("I", "logit", warner(1.0), warner(1.0), 100_000)[0])
    off = generator.standard_normal(2_000) * bound
    good = runs(off, np.full(2_000, bound), np.full(2_000, 9.0), np.zeros(2_000))
    bad = runs(off, np.full(2_000, 0.8 * bound), np.full(2_000, 9.0), np.zeros(2_000))
    assert coverage.checks([coverage.summarise(sharp, good)])[0].holds
    assert not coverage.checks([coverage.summarise(sharp, bad)])[0].holds
    assert not coverage.checks([coverage.summarise(vague, bad)])[0].holds
    ends = {}
    for name, value in zip(NAMES, COEFFICIENTS, strict=True):
        ends |= {f"low_{name}": value + off - 1.96 * bound, f"high_{name}": value + off + 1.96 * bound}
    repaired = coverage.checks([coverage.summarise(vague, bad, ends)])[0]
    assert repaired.holds
    assert repaired.claim.endswith("repaired by: score")


def test_a_misleading_sample_does_not_hide_the_maximum():
    """At ε = .1 this run's sample of rows is highest far from the maximum of all rows, which must be found still."""
    X, reports, p00, p11 = coverage.sample(Setting("I", "logit", 0.1, n=100_000), 181)
    fit = binary_regression(X, reports, p00, p11)
    assert fit.log_likelihood > -69278.9
    np.testing.assert_allclose(fit.coefficients, [1.187, -0.203, 0.130, 0.446], atol=1e-3)


def test_score_statistic_without_randomisation_is_raos():
    """With p00 = p11 = 1 and logit it is the classical score test at the restricted maximum."""
    generator = np.random.default_rng(4)
    X = covariates("II", 800, generator)
    y = truths(X, "logit", generator)
    rest = binary_regression(X[:, :3], y, 1.0, 1.0, offset=0.4 * X[:, 3]).coefficients
    beta = np.array([*rest, 0.4])
    slope = X.T @ (y - 1 / (1 + np.exp(-X @ beta)))
    rao = slope @ np.linalg.inv(800 * information(X, beta, "logit", 1.0, 1.0)) @ slope
    assert score(X, y, 1.0, "logit", 3, 0.4) == pytest.approx(rao, rel=1e-4)


def test_score_test_keeps_its_level_where_the_maximum_is_infinite():
    """At ε = .15 and n = 1,000 nearly all fits are infinite; the score test still keeps 95 %, and has power."""
    setting = Setting("I", "logit", 0.15, n=1_000)
    accepted = np.zeros(4)
    for run in range(200):
        X, reports, p, _ = coverage.sample(setting, run)
        test = ScoreTest(checked_rows(X, reports, p, p), LINKS["logit"])
        accepted += [test.statistic(j, value) <= coverage.CHI_SQUARE for j, value in enumerate(COEFFICIENTS)]
    assert np.all(np.abs(accepted / 200 - 0.95) < WIDE)
    X, reports, p, _ = coverage.sample(Setting("I", "logit", 2.0, n=2_000), 0)
    assert score(X, reports, p, "logit", 0, -1.0) > 100


def test_score_test_takes_designs_that_differ_from_row_to_row():
    """Rows of two designs, one of them with p00 + p11 < 1: the truth is kept, a far value rejected."""
    generator = np.random.default_rng(5)
    X = covariates("I", 4_000, generator)
    truth = truths(X, "probit", generator)
    keep = np.where(np.arange(4_000) % 2 == 0, 0.9, 0.2)
    reports = np.where(generator.random(4_000) < keep, truth, 1 - truth)
    assert score(X, reports, keep, "probit", 1, 0.25) < 20
    assert score(X, reports, keep, "probit", 1, -0.75) > 100


def score(X, reports, keep, link, column, value):
    """The score statistic of one value."""
    return ScoreTest(checked_rows(X, reports, keep, keep), LINKS[link]).statistic(column, value)


def test_designs_are_chosen_twice_and_t_is_not_a():
    """The designer agrees with the computation here, and T disagrees with A in some regressions."""
    table, found = designs.disagreement(300)
    assert [check.holds for check in found] == [True, True]
    assert {row[0] for row in table.rows} == {"D", "T", "T, raw"}


def test_only_delta_zero_makes_the_design_free_of_beta():
    """Five intercepts: one design at δ = 0, three at δ > 0."""
    _, found = designs.dependence_on_coefficients()
    assert all(check.holds for check in found)


def test_three_randomisations_of_a_label_spend_nearly_twice():
    """At ε = 1, δ = .1 the three reports together have δ = .19."""
    table, (check,) = designs.repeated_randomisation()
    assert check.holds
    assert table.rows[1][2] == pytest.approx(0.19, abs=1e-4)


@pytest.fixture(scope="module")
def made_up() -> survey.Survey:
    """A survey like the plagiarism data: direct and crosswise rows, two per student."""
    generator = np.random.default_rng(6)
    n = 4_000
    X = np.column_stack(
        [np.ones(n), generator.random(n) < 0.75, np.arange(n) % 2, generator.normal(23, 3, n).round()]
    ).astype(float)
    truth = generator.random(n) < 1 / (1 + np.exp(-X @ [0.5, 1.0, 2.0, -0.2]))
    keep = np.where(X[:, 1] == 1, 0.25, 1.0)
    reports = np.where(generator.random(n) < keep, truth, ~truth).astype(float)
    return survey.Survey(X, reports, keep, (np.arange(n) // 2).astype(str), 0)


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_survey_likelihood_and_scoring_agree_with_the_fit(made_up, link):
    """Value, gradient by differences, and R's algorithm: all lead to the fitted maximum."""
    fit = survey.fit(made_up, link)
    value, gradient = survey.likelihood(made_up, link, fit.coefficients)
    assert value == pytest.approx(fit.log_likelihood, rel=1e-12)
    assert np.abs(gradient).max() < 1e-6
    away = fit.coefficients + 0.01
    moved = [
        survey.likelihood(made_up, link, away + step)[0] for step in 1e-5 * np.array([[0, 1, 0, 0], [0, -1, 0, 0]])
    ]
    assert survey.likelihood(made_up, link, away)[1][1] == pytest.approx((moved[0] - moved[1]) / 2e-5, rel=1e-5)
    stopped, rounds = survey.fisher_scoring(made_up, link)
    assert rounds < survey.R_ROUNDS
    np.testing.assert_allclose(stopped, fit.coefficients, atol=0.01 * fit.std_error.max())


def test_prediction_compares_three_methods_in_two_readings(made_up):
    """With plenty of rows the corrected fit predicts nearly as well as the non-private one, the naive one does not."""
    found = {(o.reading, o.epsilon, o.method): o for o in prediction.outcomes(made_up, 2)}
    assert len(found) == len(prediction.READINGS) * len(prediction.LEVELS) * 3
    for reading in prediction.READINGS:
        free, ours, naive = (found[reading, 1.0, m].mse for m in ("non-private", "corrected", "naive"))
        assert free <= ours + 1e-3
        assert ours < naive


@pytest.mark.skipif("DISCREET_DATA" not in os.environ, reason="the plagiarism survey is not part of the project")
def test_the_survey_agrees_with_r():
    """R's start and stopping rule give R's digits; the fit itself is at the maximum."""
    data = survey.load()
    assert data is not None
    assert all(check.holds for check in survey.checks(data))


def test_an_impossible_printed_number_is_an_erratum():
    """−15 is not explained by rounding or simulation; 0 at ε = .05 is."""
    assert Comparison("x", "-15", -5.6, "impossible", 0.05).verdict == "erratum: impossible"
    assert Comparison("x", "-15", -5.6, "", 0.05).verdict == "DIFFERS"
    assert Comparison("x", "0", -0.35, "", 0.05).verdict == "agrees"


def test_simulated_figures_are_summarised_by_method(tmp_path):
    """Two runs of a tiny plan: three methods, their cells, and the bound of each design."""
    plan = simulation.Plan(n=2_000, runs=2, epsilons=(1.0,))
    simulation.simulate(tmp_path, plan)
    found = simulation.results(tmp_path, plan)
    assert len(found) == 2 * 2 * (2 * 2 + 1)
    free = next(r for r in found if r.method == "non-private")
    assert free.bound == pytest.approx(variance_bound("I", "logit", 1.0, 1.0, 2_000).sum())
    assert all(r.runs == 2 and 0 <= r.coverage <= 1 and r.coverage_error > 0 for r in found)


def test_the_quick_run_succeeds_and_writes_everything(tmp_path, capsys, monkeypatch):
    """Every claim holds, tables are CSV files and figures pictures; without the survey it says so."""
    monkeypatch.delenv("DISCREET_DATA", raising=False)
    assert main(["--quick", "--output", str(tmp_path)]) == 0
    folder = tmp_path / "zhang2025"
    assert {path.stem for path in folder.glob("*.png")} == {"figure2", "figure3", "figure4", "figure5", "coverage"}
    with (folder / "claims.csv").open(encoding="utf-8") as file:
        claims = list(csv.DictReader(file))
    assert len(claims) > 10
    assert {row["holds"] for row in claims} == {"True"}
    printed = capsys.readouterr().out
    assert "SKIPPED: the plagiarism survey is not there" in printed
    assert "UNEXPLAINED" not in printed


def test_the_benchmark_of_streaming_measures_a_fit_that_is_right(tmp_path, monkeypatch):
    """A small file: memory and passes are reported, and nothing is left behind."""
    monkeypatch.setattr(regression, "FOLDER", tmp_path)
    memory, passes = regression.stream_results(30_000)
    assert memory.verdict == passes.verdict == "pass"
    assert 3 <= passes.value <= regression.MAX_PASSES
    assert not list(tmp_path.iterdir())
