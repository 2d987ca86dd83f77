"""Fits do not depend on units, and say when no number of rows helps."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from discreet.domains.box import Box
from discreet.errors import EstimationError
from discreet.estimate.m_estimation import losses
from discreet.estimate.m_estimation import m_estimate as any_estimate
from discreet.mechanisms.laplace import ZeroInflatedLaplace
from discreet.randomness import Randomness

#: These are about the exact correction.
m_estimate = partial(any_estimate, method="exact")

BOX = Box([0, 0], [1, 1])
MECHANISM = ZeroInflatedLaplace(BOX, 0.5, 0.2)


def data(n=4_000, seed=1):
    """Two covariates, an intercept, residuals of spread .3."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 1, (n, 2))
    return MECHANISM.privatize(x, Randomness.seeded(seed)), x @ [1, -1] + 0.3 + 0.3 * rng.standard_normal(n), np.ones(n)


REPORTS, Y, ONES = data()


@pytest.mark.parametrize("loss", ["squared", "check", "huber"])
@pytest.mark.parametrize("factor", [1e-6, 1e-4, 100.0, 1e6])
def test_the_units_of_the_outcome_do_not_matter(loss, factor):
    """Coefficients and standard errors grow with the outcome, and nothing else changes."""
    plain = m_estimate(loss, REPORTS, MECHANISM, public=ONES, outcome=Y)
    scaled = m_estimate(loss, REPORTS, MECHANISM, public=ONES, outcome=Y * factor)
    assert plain.status == scaled.status == "converged"
    # Steps of the search are of a power of two near the spread: within a hundredth of a standard error.
    assert np.abs(scaled.coefficients / factor - plain.coefficients).max() < 0.02 * plain.std_error.min()
    np.testing.assert_allclose(scaled.std_error / factor, plain.std_error, rtol=0.02)


@pytest.mark.parametrize("loss", ["check", "huber"])
def test_the_units_of_a_noisy_outcome_do_not_matter(loss):
    """Its noise and its grid are measured in the same units."""
    found = []
    for factor in (1.0, 2.0**-20):
        own = ZeroInflatedLaplace(Box(-4 * factor, 4 * factor), factor, 0.3)
        y = own.privatize(np.clip(Y, -4, 4) * factor, Randomness.seeded(2))
        fit = m_estimate(loss, REPORTS, MECHANISM, public=ONES, outcome=y, outcome_mechanism=own)
        found.append(fit.coefficients / factor)
    np.testing.assert_allclose(*found, rtol=1e-6)


@pytest.mark.parametrize("width", [1e7, 1e10])
def test_a_wide_column_beside_a_narrow_one(width):
    """Cents beside shares: the squared loss is not called singular."""
    scale = np.array([width, 1.0])
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 1, (4_000, 2))
    wide = ZeroInflatedLaplace(Box([0, 0], [width, 1]), 0.5 * scale, 0.2)
    y = x @ [1, -1] + 0.3 * rng.standard_normal(4_000)
    fit = m_estimate("squared", wide.privatize(x * scale, Randomness.seeded(3)), wide, public=ONES, outcome=y)
    assert fit.status == "converged"
    assert np.abs((fit.coefficients * [width, 1, 1] - [1, -1, 0]) / (fit.std_error * [width, 1, 1])).max() < 4.5


def test_the_threshold_of_huber_follows_the_residuals():
    """1.345 spreads by default, stated; one far below the spread is called out."""
    fit = m_estimate("huber", REPORTS, MECHANISM, public=ONES, outcome=100 * Y)
    assert "huber (threshold = " in fit.loss
    assert 25 < float(fit.loss.split("= ")[1].rstrip(")")) < 60
    assert any("1.345 times" in note for note in fit.notes)
    low = m_estimate(losses.Huber(1.345), REPORTS, MECHANISM, public=ONES, outcome=100 * Y)
    assert low.status != "converged"  # too few rows are inside it to know the curvature
    assert "1.345)" in low.loss


@pytest.mark.parametrize(
    ("public", "outcome", "loss", "says"),
    [
        (np.zeros(4_000), Y, "squared", '"public1" is zero'),
        (np.ones((4_000, 2)), Y, "squared", '"public2" is a combination'),
        (np.ones((4_000, 2)), Y, "check", '"public2" is a combination'),
        (ONES, ONES, "logistic", "every outcome is the same"),
        (ONES, 0 * ONES, "probit", "every outcome is the same"),
        (ONES, 0 * ONES, "poisson", "every count is zero"),
    ],
)
def test_problems_that_rows_cannot_solve_promise_nothing(public, outcome, loss, says):
    """The reason is named, and no number of rows."""
    fit = m_estimate(loss, REPORTS, MECHANISM, public=public, outcome=outcome)
    assert not fit.converged
    assert says in fit.status
    assert "rows would" not in fit.status


def test_fewer_rows_than_coefficients():
    """Two rows for three coefficients, and no invented number of rows from a handful."""
    fit = m_estimate("squared", REPORTS[:2], MECHANISM, public=ONES[:2], outcome=Y[:2])
    assert fit.status == "not identified: 2 rows for 3 coefficients"
    few = m_estimate("check", REPORTS[:5], MECHANISM, public=ONES[:5], outcome=Y[:5])
    assert "about" not in few.status


@pytest.mark.parametrize("zero", [0.02, 0.2, 0.5])
@pytest.mark.parametrize("scale", [1.0, 1.5, 3.0])
def test_functions_that_jump_on_a_coarse_grid(zero, scale):
    """Whole numbers on a grid of one: a threshold, a kink and a square, each within its error bars."""
    rng = np.random.default_rng(6)
    x = rng.integers(0, 11, 100_000).astype(float)
    mechanism = ZeroInflatedLaplace(Box(0, 10), scale, zero, grid=1)
    f = losses.Expectation(lambda t: np.column_stack([t >= 4, t >= 4.5, np.abs(t - 5), t * t]))
    fit = m_estimate(f, mechanism.privatize(x, Randomness.seeded(7)), mechanism)
    # The rows are fixed, so the error of sampling is in the truth too.
    assert np.abs((fit.coefficients - f.function(x[:, None]).mean(axis=0)) / fit.std_error).max() < 4.5
    assert "multiples of 1" in fit.notes[0]


def test_a_coarse_grid_without_exact_records():
    """The inverse of rounded noise exists at zero probability 0 too."""
    x = np.random.default_rng(6).integers(0, 11, 100_000).astype(float)
    mechanism = ZeroInflatedLaplace(Box(0, 10), 2.0, 0.0, grid=1)
    f = losses.Expectation(lambda t: np.column_stack([t >= 4, t]))
    fit = m_estimate(f, mechanism.privatize(x, Randomness.seeded(7)), mechanism)
    assert np.abs((fit.coefficients - f.function(x[:, None]).mean(axis=0)) / fit.std_error).max() < 4.5


def test_rows_far_apart_on_a_coarse_grid():
    """A wide box is not tabulated, and gives the same corrections."""
    from discreet.estimate.noisy_numbers.corrected_means import on_the_grid
    from discreet.estimate.noisy_numbers.sample import read_sample

    mechanism = ZeroInflatedLaplace(Box(0, 2.0**30), 4.0, 0.2, grid=1)
    near, far = [[5.0], [9.0]], [[5.0], [2.0**30]]

    def f(t):
        return np.asarray(t >= 6, float)

    tables = [on_the_grid(f, read_sample(rows, mechanism, None, None, None)) for rows in (near, far)]
    np.testing.assert_allclose(tables[0][0], tables[1][0], rtol=1e-12)


@pytest.mark.parametrize(("dimension", "method"), [(1, "box"), (1, "drcl"), (2, "exact"), (2, "drcl")])
def test_what_a_coarse_grid_does_not_allow_is_refused(dimension, method):
    """Functions without a promise of smoothness, where no discrete correction is at hand."""
    mechanism = ZeroInflatedLaplace(Box([0] * dimension, [10] * dimension), 2.0, 0.2, grid=1)
    with pytest.raises(EstimationError, match="too coarse"):
        m_estimate(losses.Expectation(lambda t: t[:, 0] >= 4), np.zeros((5, dimension)), mechanism, method=method)


def test_one_row_has_no_standard_error():
    """An expectation of a single report says so."""
    fit = m_estimate(losses.Expectation(lambda t: t[:, 0]), [[0.5]], MECHANISM.coordinates([0]))
    assert not fit.converged
    assert fit.status == "one row has no standard error"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"public": 1.0}, "public must be an array"),
        ({"public": np.nan}, "public must be an array"),
        ({"public": np.ones((10, 1, 1))}, "rows × columns"),
        ({"outcome": float("nan")}, "outcome must be an array"),
        ({"reports": None}, "reports must be an array"),
        ({"outcome": np.ones(10) * 1j}, "real numbers"),
        ({"outcome": -np.ones(10), "loss": "poisson"}, "none of them negative"),
        ({"start": "a"}, "2 finite numbers"),
        ({"start": [1.0]}, "2 finite numbers"),
        ({"start": "a", "loss": lambda t, x, y: y}, "finite numbers"),
        ({"names": "ab"}, "list of 2 names"),
        ({"names": "a", "loss": lambda t, x, y: y, "start": [0.0]}, "list of 1 names"),
        ({"loss": lambda t, x, y: np.array(["a"] * 10), "start": [0.0]}, "real numbers"),
        ({"loss": lambda t, x, y: x @ t, "start": [0.0]}, "one number per parameter"),
        ({"loss": lambda t, x, y: y + np.inf, "start": [0.0]}, "finite at the start"),
        ({"loss": lambda t, x, y: y + np.nan, "start": [0.0]}, "finite at the start"),
        ({"loss": losses.Expectation(lambda x: x[:, :0]), "outcome": None}, "one number per row"),
        ({"loss": losses.Expectation(lambda x: np.log(x[:, 0] - 1)), "outcome": None}, "also outside"),
        ({"loss": losses.Expectation(lambda x: ["a"] * len(x)), "outcome": None}, "real numbers"),
    ],
)
def test_more_bad_input_gets_one_clear_sentence(changes, says):
    """What is wrong, never an error of numpy."""
    options = {"loss": "squared", "reports": np.zeros((10, 2)), "mechanism": MECHANISM, "outcome": np.zeros(10)}
    method = "box" if callable(changes.get("loss")) else "exact"
    with pytest.raises(EstimationError, match=says):
        any_estimate(**(options | changes), method=method)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: losses.Check("a"), "tau"),
        (lambda: losses.Check(None), "tau"),
        (lambda: losses.Huber("a"), "threshold"),
        (lambda: losses.Huber(0.0), "threshold"),
        (lambda: losses.Expectation(5), "callable"),
        (lambda: losses.Expectation(abs, laplacian=5), "callable"),
        (lambda: losses.Expectation(abs, draws=-1), "draws"),
        (lambda: losses.Expectation(abs, draws=2.5), "draws"),
        (lambda: losses.Expectation(abs, draws=0), "draws"),
    ],
)
def test_losses_check_their_numbers(make, says):
    """When they are made."""
    with pytest.raises(EstimationError, match=says):
        make()


def test_people_are_whole_numbers():
    """A large count is written out, not in powers of ten."""
    from discreet.privacy import Guarantee

    text = Guarantee(1.0, 0.44, unit="person", exposure=0.44).explain(people=8_000)
    assert "about 3,520 of 8,000 people" in text


def test_a_poisson_risk_without_a_minimum_gives_its_start():
    """Strong noise and no exact records: no coefficients from where a runaway search ended."""
    mechanism, found = ZeroInflatedLaplace(Box(0, 1), 0.8, 0.0), []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        x = rng.uniform(0, 1, 500)
        reports = mechanism.privatize(x, Randomness.seeded(seed))
        found.append(m_estimate("poisson", reports, mechanism, public=ONES[:500], outcome=rng.poisson(np.exp(x + 0.3))))
    lost = [fit for fit in found if not fit.converged and "trustworthy" not in fit.status]
    assert lost
    assert all("those of the start" in " ".join(fit.notes) for fit in lost)
    assert all(np.abs(fit.coefficients).max() < 3 for fit in lost)


@pytest.mark.parametrize("width", [1e-4, 1e6])
def test_the_units_of_a_column_do_not_matter_to_a_loss_of_ones_own(width):
    """Parameters are searched for, and derivatives taken, in units that the loss itself shows."""

    def bend(theta, x, y):
        return np.sqrt(1 + (y - x @ theta) ** 2)

    found = []
    for scale in (np.ones(2), np.array([width, 1.0])):
        x = np.random.default_rng(1).uniform(0, 1, (1_000, 2))
        mechanism = ZeroInflatedLaplace(Box([0, 0], scale.tolist()), (0.4 * scale).tolist(), 0.2)
        y = x @ [1, -1] + 0.3 * np.random.default_rng(2).standard_normal(1_000)
        reports = mechanism.privatize(x * scale, Randomness.seeded(3))
        fit = any_estimate(bend, reports, mechanism, [0.0, 0.0], outcome=y)
        assert fit.converged
        found.append([fit.coefficients * scale, fit.std_error * scale])
    np.testing.assert_allclose(found[1], found[0], rtol=0.02, atol=1e-3)
