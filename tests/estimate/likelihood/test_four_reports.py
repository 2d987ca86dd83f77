"""A yes/no truth with more than two reports: links, goodness of fit, naive comparison, score intervals, releases."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from discreet import EstimationError, Plan, Randomness, estimate, release
from discreet.design import binary
from discreet.estimate.data import map_reduce as passes
from discreet.estimate.regressions.likelihood import binary_regression
from discreet.estimate.regressions.likelihood.links import LINKS
from discreet.estimate.regressions.likelihood.multinomial import multinomial_regression
from discreet.estimate.regressions.likelihood.rows import checked_rows
from discreet.estimate.regressions.likelihood.score import ScoreTest
from discreet.estimate.regressions.likelihood.yes_no import BinaryModel

from .simulated import differences

MECHANISM = binary(1.0, 0.2, reports=4).mechanism
Q = MECHANISM.matrix()
BETA = np.array([-0.5, 0.8])


def survey(n, seed, link="logit", beta=BETA, bend=0.0):
    """Covariates, reports and truths; ``bend`` adds a square that the model does not have."""
    chance = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), chance.normal(size=(n, len(beta) - 1))])
    truth = chance.random(n) < LINKS[link].probability(X @ beta + bend * (X[:, 1] ** 2 - 1))
    return X, MECHANISM.privatize(truth, Randomness.seeded(seed)), truth


@pytest.mark.parametrize("link", LINKS)
def test_likelihood_and_informations(link):
    """Value from the definition, derivatives by differences, expected information as a mean over all four reports."""
    X, y, _ = survey(50, 1, link)
    model, some = BinaryModel(LINKS[link]), checked_rows(X, y, mechanism=MECHANISM)
    theta = np.array([0.3, -0.4])
    G = LINKS[link].probability(X @ theta)
    chances = np.outer(1 - G, Q[0]) + np.outer(G, Q[1])
    assert model.value(theta, some) == pytest.approx(np.log(chances[np.arange(50), y]).sum(), rel=1e-12)
    observed = model.terms(theta, some, "observed")
    np.testing.assert_allclose(observed.score, differences(lambda t: np.array(model.value(t, some)), theta), atol=1e-6)
    slopes = differences(lambda t: model.terms(t, some, "observed").score, theta)
    np.testing.assert_allclose(observed.information, -slopes, atol=1e-5)
    mean = np.zeros(50)
    for report in range(4):
        made = checked_rows(X, np.full(50, report), mechanism=MECHANISM)
        mean += chances[:, report] * model.rowwise(theta, made, "observed")[2]
    np.testing.assert_allclose(model.rowwise(theta, some, "expected")[2], mean, rtol=1e-9)


def test_logit_is_the_multinomial_logit_of_two_classes():
    """Two independent likelihoods, the same fit."""
    X, y, _ = survey(3_000, 2)
    ours, other = binary_regression(X, y, mechanism=MECHANISM), multinomial_regression(X, y, MECHANISM)
    np.testing.assert_allclose(ours.coefficients, other.coefficients, atol=1e-6)
    np.testing.assert_allclose(ours.std_error, other.std_error, rtol=1e-6)
    assert ours.log_likelihood == pytest.approx(other.log_likelihood, rel=1e-12)
    assert "4 reports, some of which reveal the truth" in ours.summary()


@pytest.mark.parametrize("link", LINKS)
def test_every_link_finds_the_truth(link):
    """Within five standard errors, which are smaller than those of two reports at the same promise."""
    X, y, truth = survey(20_000, 3, link)
    fit = binary_regression(X, y, mechanism=MECHANISM, link=link)
    assert fit.converged
    assert np.all(np.abs(fit.coefficients - BETA) < 5 * fit.std_error)
    two = binary(1.0, 0.2).mechanism
    beside = binary_regression(X, two.privatize(truth, Randomness.seeded(3)), mechanism=two, link=link)
    assert np.all(fit.std_error < beside.std_error)


def test_two_reports_as_a_channel_are_p00_and_p11():
    """A 2×2 mechanism, p00 and p11, and a channel padded with reports that never come: one fit."""
    X, _, truth = survey(2_000, 4)
    two = binary(1.0).mechanism
    y, p = two.privatize(truth, Randomness.seeded(4)), float(two.p00)
    plain = binary_regression(X, y, p, p)
    for mechanism in (two, np.pad(two.matrix(), ((0, 0), (0, 2)))):
        other = binary_regression(X, y, mechanism=mechanism)
        np.testing.assert_allclose(other.coefficients, plain.coefficients, atol=1e-7)
        np.testing.assert_allclose(other.std_error, plain.std_error, rtol=1e-7)
        np.testing.assert_allclose(other.interval(method="score"), plain.interval(method="score"), atol=1e-6)


def test_designs_with_different_numbers_of_reports():
    """Two reports in some rows, four in others: each row by its own channel."""
    X, y, truth = survey(20_000, 5)
    two = binary(1.0).mechanism
    mode = np.where(np.arange(20_000) % 2 == 0, "two", "four")
    y = np.where(mode == "two", two.privatize(truth, Randomness.seeded(5)), y)
    fit = binary_regression(X, y, mechanism={"two": two, "four": MECHANISM}, designs=mode)
    assert np.all(np.abs(fit.coefficients - BETA) < 5 * fit.std_error)
    assert "2 designs" in fit.design


def test_goodness_of_fit_keeps_its_level_and_has_power():
    """Over 200 true models the statistic has the mean of its chi-square; a missing square is found."""
    found = [
        binary_regression(X, y, mechanism=MECHANISM).goodness_of_fit()
        for X, y, _ in (survey(800, 100 + seed) for seed in range(200))
    ]
    df = found[0].degrees_of_freedom
    assert df == 8
    mean = np.mean([one.statistic for one in found])
    assert abs(mean - df) < 6.5 * np.sqrt(2 * df / 200)
    X, y, _ = survey(20_000, 6, bend=0.8)
    fit = binary_regression(X, y, mechanism=MECHANISM)
    assert fit.goodness_of_fit().p_value < 1e-9
    assert fit.fitted_reports.shape == (20_000, 4)
    np.testing.assert_allclose(fit.fitted_reports.sum(axis=1), 1.0)
    np.testing.assert_allclose(np.sum(fit.residuals("deviance") ** 2), fit.deviance, rtol=1e-10)


def test_the_naive_fit_reads_flagged_answers_as_answers():
    """Reports 1 and 3 sound like a yes; ignoring the randomisation shrinks the slope."""
    X, y, _ = survey(20_000, 7)
    naive = binary_regression(X, y, mechanism=MECHANISM).naive()
    by_hand = binary_regression(X, np.isin(y, (1, 3)), 1, 1)
    np.testing.assert_allclose(naive.coefficients, by_hand.coefficients, atol=1e-8)
    assert naive.coefficients[1] < 0.6


def test_score_intervals_of_four_reports():
    """They agree with Wald's in large samples, and the test keeps its level in small ones."""
    X, y, _ = survey(20_000, 8)
    fit = binary_regression(X, y, mechanism=MECHANISM)
    np.testing.assert_allclose(fit.interval(method="score"), fit.interval(), atol=0.1 * fit.std_error.max())
    rejected = np.zeros(2)
    for seed in range(300):
        X, y, _ = survey(300, 1_000 + seed)
        test = ScoreTest(checked_rows(X, y, mechanism=MECHANISM), LINKS["logit"])
        rejected += [test.statistic(j, b) > 3.8415 for j, b in enumerate(BETA)]
    assert np.all(np.abs(rejected / 300 - 0.05) < 6.5 * np.sqrt(0.05 * 0.95 / 300))


@pytest.fixture(scope="module")
def released():
    """A release with four reports of a yes/no column."""
    chance = np.random.default_rng(9)
    n = 8_000
    age = chance.normal(size=n)
    cheated = np.where(chance.random(n) < LINKS["probit"].probability(-0.5 + 0.6 * age), "yes", "no")
    plan = Plan.parse("""
        [[public]]
        columns = ["age"]
        [[private]]
        columns = ["cheated"]
        domain = { binary = ["no", "yes"] }
        mechanism = "randomized-response"
        epsilon = 1.0
        delta = 0.2
        reports = ["no", "yes", "surely no", "surely yes"]
    """)
    return release(pa.table({"age": age, "cheated": cheated}), plan, randomness=Randomness.seeded(9))


def test_formulas_take_every_link_penalty_and_comparison(released, monkeypatch):
    """Glm reads four reports from the manifest; in memory and batch by batch."""
    fit = estimate.regression("cheated ~ age", released, link="probit")
    assert fit.names == ("Intercept", "age")
    assert np.all(np.abs(fit.coefficients - [-0.5, 0.6]) < 5 * fit.std_error)
    assert fit.goodness_of_fit().p_value > 1e-9
    both = estimate.regression("cheated ~ age", released, link="probit", compare=True)
    assert both.estimate[1, 1] < both.estimate[0, 1]
    firth = estimate.regression("cheated ~ age", released, link="probit", penalty="firth")
    np.testing.assert_allclose(firth.coefficients, fit.coefficients, atol=0.05 * fit.std_error.max())
    monkeypatch.setattr(passes, "HELD_BYTES", 0)
    streamed = estimate.regression("cheated ~ age", released, link="probit")
    np.testing.assert_allclose(streamed.coefficients, fit.coefficients, atol=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.array([0, 1, 2, 4])}, "y: row 3 .* whole number from 0 to 3"),
        ({"y": np.array([0, 1, 2.5, 3])}, "y: row 2 .* whole number from 0 to 3"),
        ({"p00": 0.8, "p11": 0.8}, "give one of them"),
        ({"mechanism": None}, "the design is missing"),
        ({"mechanism": np.eye(3)}, "two true values, the mechanism has 3"),
        ({"mechanism": {"a": Q}}, "several mechanisms need designs="),
        ({"mechanism": {"a": Q}, "designs": np.array(["a", "a", "b", "a"])}, '"designs": row 2'),
        ({"mechanism": np.array([[0.5, 0.5, 0, 0], [0.2, 0.8, 0, 0]])}, "y: row 2 .* no truth can give"),
    ],
)
def test_bad_input_gets_one_clear_sentence(change, message):
    """What is wrong with the design or the report codes."""
    given = {"X": np.array([[1, 0], [1, 1], [1, 2], [1, 3.0]]), "y": np.array([0, 1, 2, 3]), "mechanism": Q} | change
    with pytest.raises(EstimationError, match=message) as caught:
        binary_regression(given.pop("X"), given.pop("y"), **given)
    assert "\n" not in str(caught.value)
