"""M-estimates from privatised records: right on average, with the error bars that they state."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
from scipy import special

from discreet import design
from discreet.domains.box import Box
from discreet.errors import EstimationError
from discreet.estimate.m_estimation import losses
from discreet.estimate.m_estimation import m_estimate as any_estimate
from discreet.mechanisms import GeneralizedResponse
from discreet.mechanisms.laplace import ZeroInflatedLaplace
from discreet.randomness import Randomness

#: These are about the exact correction.
m_estimate = partial(any_estimate, method="exact")

TRUE = np.array([1.0, -0.5, 0.8])
BOX = Box([-1, -1, 0], [1, 1, 4])
MECHANISM = ZeroInflatedLaplace(BOX, [0.8, 0.8, 1.6], 0.2)
#: Under more noise a few reports decide a Poisson regression, and it is not called converged.
MILD = ZeroInflatedLaplace(BOX, [0.4, 0.4, 0.8], 0.2)


def truth(n, seed, loss="squared"):
    """Covariates in the box, an intercept of .3, and an outcome that suits the loss."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(BOX.low, BOX.high, (n, 3))
    index = x @ TRUE + 0.3
    if loss in ("logistic", "probit", "hinge"):
        y = (rng.random(n) < 1 / (1 + np.exp(-index))).astype(float)
        if loss == "probit":
            y = (index + rng.standard_normal(n) > 0).astype(float)
    elif loss == "poisson":
        y = rng.poisson(np.exp(index / 3)).astype(float)
    else:
        y = index + rng.standard_normal(n)
    return x, y


def released(n, seed, loss="squared"):
    x, y = truth(n, seed, loss)
    return noise(loss).privatize(x, Randomness.seeded(seed)), y


def noise(loss):
    return MILD if loss == "poisson" else MECHANISM


def fit(loss, n, seed, **options):
    reports, y = released(n, seed, loss if isinstance(loss, str) else "squared")
    return m_estimate(loss, reports, noise(loss), outcome=y, public=np.ones(n), **options)


EXPECTED = {
    "squared": [1.0, -0.5, 0.8, 0.3],
    "logistic": [1.0, -0.5, 0.8, 0.3],
    "probit": [1.0, -0.5, 0.8, 0.3],
    "poisson": [1 / 3, -0.5 / 3, 0.8 / 3, 0.1],
    "check": [1.0, -0.5, 0.8, 0.3],
    "huber": [1.0, -0.5, 0.8, 0.3],
}


@pytest.mark.parametrize("loss", EXPECTED)
def test_the_truth_is_recovered_within_its_error_bars(loss):
    """Every coefficient within 4.5 standard errors, where the naive fit is off by more than 8."""
    result = fit(loss, 30_000, 3)
    assert result.converged, result.status
    z = (result.coefficients - EXPECTED[loss]) / result.std_error
    assert np.abs(z).max() < 4.5
    naive = fit(loss, 30_000, 3, method="naive")
    assert np.abs((naive.coefficients - EXPECTED[loss]) / naive.std_error).max() > 8
    assert any("biased" in note for note in naive.notes)


@pytest.mark.parametrize("method", ["drcl", "sdrcl", "sl"])
@pytest.mark.parametrize("loss", ["squared", "logistic", "probit", "poisson"])
def test_the_methods_of_the_paper_agree_with_ours(loss, method):
    """Unbiased too, with larger standard errors than ``exact`` but for those of sDRCL on the squared loss."""
    ours = fit(loss, 20_000, 5)
    theirs = fit(loss, 20_000, 5, method=method, randomness=Randomness.seeded(9))
    assert theirs.converged
    z = (theirs.coefficients - EXPECTED[loss]) / theirs.std_error
    assert np.abs(z).max() < 4.5
    assert np.all(theirs.std_error[:3] > 0.8 * ours.std_error[:3])


def test_the_squared_loss_is_corrected_least_squares():
    """(X'X − n(1 − δ₀)Λ²)⁻¹ X'y, with a rounding term far below the noise."""
    reports, y = released(5_000, 1)
    x = np.column_stack([reports, np.ones(len(y))])
    correction = np.diag([0.8 * s**2 for s in MECHANISM.noise_scale] + [0.0])
    expected = np.linalg.solve(x.T @ x / len(y) - correction, x.T @ y / len(y))
    np.testing.assert_allclose(fit("squared", 5_000, 1).coefficients, expected, rtol=1e-8)


def coverage(loss, n, runs, mechanism=MECHANISM, expected=None, **options):
    expected = np.array(EXPECTED[loss] if expected is None else expected)
    hits = []
    for seed in range(runs):
        x, y = truth(n, 1000 + seed, loss)
        result = m_estimate(
            loss, mechanism.privatize(x, Randomness.seeded(seed)), mechanism, outcome=y, public=np.ones(n), **options
        )
        low, high = result.interval().T
        hits.append((low <= expected) & (expected <= high))
    return np.mean(hits)


@pytest.mark.parametrize(("loss", "runs"), [("squared", 250), ("logistic", 80), ("check", 80)])
def test_intervals_cover(loss, runs):
    """About 95 % of all coefficients; 90 % or 99.5 % would be noticed."""
    assert 0.92 < coverage(loss, 4_000, runs) < 0.985


SIX = np.ones(7)


def median_runs(n, scale, runs, method="exact", tau=0.5):
    """Six truncated normal covariates in [−1, 1], slopes and intercept one, standard normal errors."""
    mechanism = ZeroInflatedLaplace(Box([-1] * 6, [1] * 6), scale, 0.2)
    for run in range(runs):
        rng = np.random.default_rng([7, run])
        x = special.ndtri(special.ndtr(-1) + rng.random((n, 6)) * (1 - 2 * special.ndtr(-1)))
        y = 1 + x.sum(axis=1) + rng.standard_normal(n)
        reports = mechanism.privatize(x, Randomness.seeded(run))
        yield m_estimate(
            losses.Check(tau),
            reports,
            mechanism,
            method=method,
            outcome=y,
            public=np.ones(n),
            randomness=Randomness.seeded(10**6 + run),
        )


def test_median_regression_under_strong_noise():
    """With 2,500 rows and noise twice the half-width of the box every fit converges, with intervals that cover.

    With the curvature of the corrected risk itself half the fits had none, and intervals covered 42 %.
    """
    fits = list(median_runs(2_500, 2.0, 40))
    assert all(one.converged for one in fits)
    bounds = np.array([one.interval() for one in fits])
    assert 0.89 < np.mean((bounds[..., 0] <= 1) & (bounds[..., 1] >= 1)) < 0.999
    errors = np.array([one.coefficients - SIX for one in fits])[:, :6]
    assert math.sqrt(np.mean(errors**2)) < 0.40
    drcl = np.array([one.coefficients - SIX for one in median_runs(2_500, 2.0, 40, "drcl")])[:, :6]
    assert np.mean(errors**2) < 0.45 * np.mean(drcl**2)


def test_a_tail_under_strong_noise_is_called_too_noisy():
    """The ninth decile of the same data: most fits say that they cannot be trusted, and how many rows would do."""
    said = [one.status for one in median_runs(2_500, 2.0, 20, tau=0.9)]
    noisy = [text for text in said if "too noisy" in text or "not identified" in text]
    assert len(noisy) >= 8
    assert all(int(text.split("about ")[1].split(" rows")[0].replace(",", "")) > 2_500 for text in noisy)
    assert all(one.status == "converged" for one in median_runs(20_000, 1.0, 3))


@pytest.mark.parametrize("tau", [0.25, 0.9])
def test_quantiles_with_errors_that_depend_on_a_covariate(tau):
    """Slopes of conditional quantiles, errors growing with x: intervals cover, those of equal errors would not."""
    box = Box([-1, -1], [1, 1])
    mechanism = ZeroInflatedLaplace(box, 0.8, 0.2)
    quantile, hits, n = special.ndtri(tau), [], 6_000
    for run in range(40):
        rng = np.random.default_rng([17, run])
        x = rng.uniform(-1, 1, (n, 2))
        y = x @ [1.0, -1.0] + (1 + 0.8 * x[:, 0]) * rng.standard_normal(n)
        reports = mechanism.privatize(x, Randomness.seeded(run))
        found = m_estimate(losses.Check(tau), reports, mechanism, outcome=y, public=np.ones(n))
        assert found.converged
        truth = np.array([1 + 0.8 * quantile, -1.0, quantile])
        hits.append(np.abs(found.coefficients - truth) < 1.96 * found.std_error)
    assert np.mean(hits) > 0.87


def test_no_exact_records_are_needed_for_smooth_losses():
    """The limit at zero probability 0: ℓ − (λ²/2)Δℓ at x1."""
    mechanism = ZeroInflatedLaplace(BOX, [0.6, 0.6, 1.2], 0.0)
    for loss in ("squared", "logistic", "probit", "poisson"):
        x, y = truth(30_000, 4, loss)
        reports = mechanism.privatize(x, Randomness.seeded(4))
        result = m_estimate(loss, reports, mechanism, outcome=y, public=np.ones(30_000))
        assert np.abs((result.coefficients - EXPECTED[loss]) / result.std_error).max() < 4.5
    for loss in ("check", "hinge", "huber"):
        with pytest.raises(EstimationError, match="zero probability 0"):
            m_estimate(loss, reports, mechanism, outcome=np.ones(30_000))
    with pytest.raises(EstimationError, match="zero probability above 0"):
        m_estimate("squared", reports, mechanism, outcome=y, method="drcl")


def test_the_hinge_loss_finds_the_oracle():
    """The corrected hinge is near the fit on true records, the naive one is not."""
    rng, n = np.random.default_rng(8), 30_000
    x = rng.uniform(-1, 1, (n, 2))
    y = (x @ [2.0, -1.0] + 0.5 * rng.standard_normal(n) > 0).astype(float)
    box = Box([-1, -1], [1, 1])
    tiny, mechanism = ZeroInflatedLaplace(box, 1e-3, 0.2), ZeroInflatedLaplace(box, 0.8, 0.2)
    reports = mechanism.privatize(x, Randomness.seeded(8))
    oracle = m_estimate("hinge", tiny.privatize(x, Randomness.seeded(1)), tiny, outcome=y)
    ours = m_estimate("hinge", reports, mechanism, outcome=2 * y - 1)
    naive = m_estimate("hinge", reports, mechanism, outcome=y, method="naive")
    assert np.all(np.abs(ours.coefficients - oracle.coefficients) < 3 * np.hypot(ours.std_error, oracle.std_error))
    assert np.all(np.abs(naive.coefficients - oracle.coefficients) > 3.5 * ours.std_error)


def test_grids_of_the_data_are_accounted_for():
    """Whole-number data on a grid of one, as coarse as the noise allows: still unbiased."""
    rng = np.random.default_rng(5)
    x = rng.integers(0, 9, (60_000, 2)).astype(float)
    y = x @ [1.0, -1.0] + rng.standard_normal(60_000)
    mechanism = ZeroInflatedLaplace(Box([0, 0], [8, 8]), 1.5, 0.2, grid=1)
    reports = mechanism.privatize(x, Randomness.seeded(5))
    result = m_estimate("squared", reports, mechanism, outcome=y, public=np.ones(60_000))
    assert np.abs((result.coefficients - [1, -1, 0]) / result.std_error).max() < 4.5
    forgotten = ZeroInflatedLaplace(Box([0, 0], [8, 8]), 1.5, 0.2, grid=2.0**-8)
    off = m_estimate("squared", reports, forgotten, outcome=y, public=np.ones(60_000))
    assert (
        np.abs((off.coefficients - [1, -1, 0]) / off.std_error).max()
        > np.abs((result.coefficients - [1, -1, 0]) / result.std_error).max()
    )


def test_fully_private_logistic_regression():
    """Covariates by zero-inflated Laplace, outcome by randomised response: unbiased, and honest about it."""
    x, y = truth(60_000, 6, "logistic")
    channel = design.binary(2.0).mechanism
    answers = channel.privatize(y.astype(int), Randomness.seeded(7))
    reports = MECHANISM.privatize(x, Randomness.seeded(6))
    result = m_estimate(
        "logistic", reports, MECHANISM, outcome=answers, outcome_mechanism=channel, public=np.ones(60_000)
    )
    assert np.abs((result.coefficients - EXPECTED["logistic"]) / result.std_error).max() < 4.5
    ignored = m_estimate("logistic", reports, MECHANISM, outcome=answers, public=np.ones(60_000))
    assert np.abs((ignored.coefficients - EXPECTED["logistic"]) / ignored.std_error).max() > 4.5


@pytest.mark.parametrize("loss", ["squared", "check", "huber"])
def test_fully_private_regression_with_a_noisy_outcome(loss):
    """The outcome by its own zero-inflated Laplace, or as one more coordinate of the same records."""
    x, y = truth(60_000, 7)
    y = np.clip(y, -8, 8)
    own = ZeroInflatedLaplace(Box(-8, 8), 1.5, 0.3)
    result = m_estimate(
        loss,
        MECHANISM.privatize(x, Randomness.seeded(1)),
        MECHANISM,
        outcome=own.privatize(y, Randomness.seeded(2)),
        outcome_mechanism=own,
        public=np.ones(60_000),
    )
    assert np.abs((result.coefficients - EXPECTED[loss]) / result.std_error).max() < 4.5
    joint = ZeroInflatedLaplace(Box([*BOX.low, -8], [*BOX.high, 8]), [0.8, 0.8, 1.6, 1.5], 0.2)
    reports = joint.privatize(np.column_stack([x, y]), Randomness.seeded(3))
    result = m_estimate(loss, reports, joint, outcome=3, public=np.ones(60_000))
    assert np.abs((result.coefficients - EXPECTED[loss]) / result.std_error).max() < 4.5


def test_expectations_of_functions():
    """ReLU, an indicator and |sin|: unbiased, with the errors of the checked figures at n = 500."""
    f = losses.Expectation(
        lambda x: np.column_stack(
            [np.maximum(x[:, 0], 0), (x[:, 0] >= 0.5) & (x[:, 0] <= 1), np.abs(np.sin(2 * np.pi * x[:, 0]))]
        )
    )
    mechanism = ZeroInflatedLaplace(Box(0, 1), 0.94, 0.1)
    x = np.random.default_rng(1).random(200_000)
    reports = mechanism.privatize(x, Randomness.seeded(1))
    drcl = m_estimate(f, reports, mechanism, method="drcl", randomness=Randomness.seeded(2))
    ours = m_estimate(f, reports, mechanism)
    box = m_estimate(f, reports, mechanism, method="box")
    for result in (drcl, ours, box):
        assert np.abs((result.coefficients - [0.5, 0.5, 2 / math.pi]) / result.std_error).max() < 4.5
    np.testing.assert_allclose(drcl.std_error * math.sqrt(400), [0.1053, 0.1801, 0.1737], rtol=0.02)
    assert np.all(ours.std_error < drcl.std_error)
    gain = (ours.std_error / box.std_error) ** 2
    assert np.all(gain > 1.2)


def test_expectations_in_two_dimensions():
    """Draws of S stand for the average: x·y has a known mean, its second moment a known correction."""
    mechanism = ZeroInflatedLaplace(Box([0, 0], [1, 1]), 0.7, 0.3)
    x = np.random.default_rng(2).random((50_000, 2))
    reports = mechanism.privatize(x, Randomness.seeded(2))
    f = losses.Expectation(lambda z: np.maximum(z.sum(axis=1) - 1, 0))
    result = m_estimate(f, reports, mechanism, randomness=Randomness.seeded(3))
    assert abs(result.coefficients[0] - np.maximum(x.sum(axis=1) - 1, 0).mean()) < 4.5 * result.std_error[0]
    square = losses.Expectation(lambda z: (z**2).sum(axis=1), laplacian=lambda z: np.full(len(z), 4.0))
    for method in ("sdrcl", "sl"):
        found = m_estimate(square, reports, mechanism, method=method, randomness=Randomness.seeded(4))
        assert abs(found.coefficients[0] - (x**2).sum(axis=1).mean()) < 4.5 * found.std_error[0]


def share_of(result):
    """The share of the variance that the draws leave, from the note that states it."""
    return float(result.notes[0].split("make up ")[1].split("%")[0]) / 100


def test_draws_are_added_until_they_hardly_matter():
    """Below 5 % of the variance by default; two draws leave what their number says, and the note asks for more."""
    mechanism = ZeroInflatedLaplace(Box([0, 0], [1, 1]), 0.7, 0.3)
    reports = mechanism.privatize(np.random.default_rng(2).random((20_000, 2)), Randomness.seeded(2))

    def fitted(draws):
        f = losses.Expectation(lambda z: np.maximum(z.sum(axis=1) - 1, 0), draws=draws)
        return m_estimate(f, reports, mechanism, randomness=Randomness.seeded(3))

    enough, two, many = fitted(None), fitted(2), fitted(200)
    assert share_of(enough) <= 0.05
    assert "more draws" in two.notes[0]
    # What the draws add is the difference to the variance without them.
    lost = 1 - (many.std_error[0] / two.std_error[0]) ** 2
    assert share_of(two) == pytest.approx(lost, abs=0.03)
    assert enough.std_error[0] ** 2 < 1.08 * many.std_error[0] ** 2


def own_loss(theta, x, y):
    """Least absolute deviations, written by a user."""
    return np.abs(y - x @ theta)


def test_a_loss_of_ones_own():
    """A numpy function of θ, records and outcome: near the built-in loss, with similar error bars."""
    n = 8_000
    reports, y = released(n, 13)
    built_in = any_estimate("check", reports, MECHANISM, outcome=y, public=np.ones(n))
    start = built_in.coefficients + 0.1
    own = any_estimate(own_loss, reports, MECHANISM, start=start, outcome=y, public=np.ones(n))
    assert own.loss == "own_loss"
    assert np.abs((own.coefficients - built_in.coefficients) / built_in.std_error).max() < 1.2
    np.testing.assert_allclose(own.std_error, built_in.std_error, rtol=0.6)
    assert "copies of every report" in own.notes[0]
    assert share_of(own) <= 0.05
    with pytest.raises(EstimationError, match='"box" and "naive"'):
        m_estimate(own_loss, reports, MECHANISM, start=start, outcome=y, public=np.ones(n))


def test_a_problem_that_is_too_noisy_says_so():
    """No solution is invented: not converged, and more rows are asked for."""
    mechanism = ZeroInflatedLaplace(BOX, [30.0, 30.0, 60.0], 0.2)
    x, y = truth(500, 2)
    result = m_estimate("squared", mechanism.privatize(x, Randomness.seeded(2)), mechanism, outcome=y)
    assert not result.converged
    assert "more rows" in result.status


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("noise", [30.0, 1e5])
def test_squares_that_no_box_allows_are_noise(loss, noise):
    """A slope of 2 beside an intercept: whatever sign the noise of the squares has, no fit of .0 ± .04 is trusted."""
    mechanism = ZeroInflatedLaplace(Box(-1, 1), noise, 0.0)
    for seed in range(6):
        rng = np.random.default_rng(seed)
        x = rng.uniform(-1, 1, (2_000, 1))
        y = 2 * x[:, 0] + rng.normal(size=2_000)
        y = y if loss == "squared" else (y > 0) * 1.0
        reports = mechanism.privatize(x, Randomness.seeded(seed))
        assert m_estimate(loss, reports, mechanism, outcome=y, public=np.ones(2_000)).status != "converged"


@pytest.mark.parametrize("method", ["box", "likelihood", "auto"])
def test_a_grid_wider_than_the_box_hides_its_numbers(method):
    """Noise of millions of boxes has such a grid: exact records are all at one point, and their slope means nothing."""
    mechanism = ZeroInflatedLaplace(Box(-1, 1), 1e6, 0.1)
    rng = np.random.default_rng(1)
    x = rng.uniform(-1, 1, (2_000, 1))
    y = (rng.random(2_000) < 0.5 + 0.4 * x[:, 0]) * 1.0
    given = {"outcome": y, "public": np.ones(2_000), "method": method}
    reports = mechanism.privatize(x, Randomness.seeded(1))
    if method == "auto":
        found = m_estimate("logistic", reports, mechanism, **given)
        assert (found.method, found.status == "converged") == ("exact", False)
    else:
        with pytest.raises(EstimationError, match="wider than half the box"):
            m_estimate("logistic", reports, mechanism, **given)


@pytest.mark.parametrize("loss", ["squared", "logistic", "check", "hinge", "huber"])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_a_handful_of_rows_is_never_called_enough(loss, n):
    """No error, no warning of numpy, and a status that asks for more rows."""
    x, y = truth(n, 3, "logistic")
    result = m_estimate(loss, MECHANISM.privatize(x, Randomness.seeded(n)), MECHANISM, outcome=y, public=np.ones(n))
    assert result.status != "converged"
    nothing = m_estimate(loss, MECHANISM.privatize(x, Randomness.seeded(n)), MECHANISM, outcome=np.zeros(n))
    assert nothing.coefficients.shape == (3,)


def test_singular_problems_are_not_converged():
    """A public column given twice."""
    reports, y = released(2_000, 1)
    twice = np.ones((2_000, 2))
    for loss in ("squared", "check"):
        result = m_estimate(loss, reports, MECHANISM, outcome=y, public=twice)
        assert not result.converged
        assert result.status != "converged"


def test_results_are_frozen_and_print():
    """Summary, plain data, read-only arrays."""
    result = fit("squared", 3_000, 1, names=["a", "b", "c", "one"])
    text = result.summary()
    assert "squared" in text
    assert "sandwich" in text
    data = result.to_dict()
    assert data["names"] == ["a", "b", "c", "one"]
    assert len(data["interval"]) == 4
    assert result.interval().shape == (4, 2)
    with pytest.raises(ValueError, match="read-only"):
        result.coefficients[0] = 1
    with pytest.raises(EstimationError, match="wald"):
        result.interval(method="profile")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"loss": "cubic"}, "must be one of"),
        ({"method": "magic"}, "method"),
        ({"mechanism": GeneralizedResponse(4, 1.0)}, "ZeroInflatedLaplace"),
        ({"reports": np.zeros((10, 2))}, "rows × 3"),
        ({"reports": np.zeros((0, 3)), "outcome": np.zeros(0)}, "no rows"),
        ({"reports": np.full((10, 3), np.nan)}, "finite"),
        ({"outcome": None}, "needs an outcome"),
        ({"outcome": np.zeros(9)}, "one number per report"),
        ({"outcome": np.full(10, np.inf)}, "finite"),
        ({"outcome": np.full(10, 0.5), "loss": "logistic"}, "0 and 1"),
        ({"outcome": np.full(10, -1.0), "loss": "poisson"}, "counts"),
        ({"public": np.zeros((9, 1))}, "one row per report"),
        ({"loss": "check", "method": "sl"}, "second derivative"),
        ({"loss": "check", "method": "sdrcl"}, "second derivative"),
        ({"start": [1.0], "loss": "logistic", "outcome": np.tile([0.0, 1.0], 5)}, "3 finite numbers"),
        ({"names": ["a"]}, "names"),
        ({"method": "box", "mechanism": ZeroInflatedLaplace(MECHANISM.box, 1.0, 0.0)}, "published exactly"),
        ({"method": "box", "mechanism": ZeroInflatedLaplace(MECHANISM.box, 1.0, 0.1, grid=0.5)}, "too coarse"),
        ({"weights": np.zeros(10)}, "weights: row 0"),
        ({"clusters": np.zeros(9)}, "clusters must have one entry per row"),
        ({"outcome": 7}, "coordinates"),
        ({"loss": lambda t, x, y: np.zeros(3), "start": [0.0]}, "one number per row"),
        ({"loss": lambda t, x, y: np.zeros(10)}, "needs a start"),
        ({"loss": losses.Expectation(lambda x: np.zeros(3)), "outcome": None}, "one number per row"),
        ({"outcome_mechanism": GeneralizedResponse(4, 1.0)}, "yes/no"),
        (
            {
                "loss": "logistic",
                "outcome": np.tile([0.0, 1.0], 5),
                "outcome_mechanism": ZeroInflatedLaplace(Box(0, 1), 1.0, 0.1),
            },
            "logistic",
        ),
    ],
)
def test_bad_input_gets_one_clear_sentence(changes, says):
    """What is wrong, and which bound."""
    options = {"loss": "squared", "reports": np.zeros((10, 3)), "mechanism": MECHANISM, "outcome": np.zeros(10)}
    options["method"] = "box" if callable(changes.get("loss")) else "exact"
    with pytest.raises(EstimationError, match=says):
        any_estimate(**(options | changes))
