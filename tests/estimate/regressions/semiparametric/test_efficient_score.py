"""Scores whose mean is zero whatever the law is, and the intervals that fits by the likelihood have from them."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.domains.box import Box
from discreet.errors import EstimationError
from discreet.estimate.m_estimation import m_estimate
from discreet.estimate.m_estimation.losses import Logistic, Poisson
from discreet.estimate.noisy_numbers.sample import read_sample
from discreet.estimate.regressions.semiparametric import efficient_score
from discreet.estimate.regressions.semiparametric.efficient_score import EfficientScore, _outcomes, _Records
from discreet.estimate.regressions.semiparametric.law import CellLaw
from discreet.estimate.regressions.semiparametric.model import CellModel
from discreet.mechanisms import BinaryResponse
from discreet.mechanisms.laplace import ZeroInflatedLaplace
from discreet.randomness import Randomness

THETA = np.array([1.2, -0.3])


def sampled(loss, n, channel=None, shares=(0.5, 0.25, 0.05, 0.02, 0.03, 0.15), theta=THETA):
    """Numbers in steps on six cells, most of them low."""
    rng, mechanism = np.random.default_rng(5), ZeroInflatedLaplace(Box(-1, 1), 1.0, 0.15)
    law = CellLaw.of(mechanism, np.zeros((1, 1)), 150)
    assert law.cells == 6
    edges = np.linspace(law.inside.low[0], law.inside.high[0], 7)
    place = rng.choice(6, n, p=shares)
    x = np.clip(rng.uniform(edges[place], edges[place + 1]), -1, 1)[:, None]
    y = _outcomes(loss, x[:, 0] * theta[0] + theta[1], rng.random(n))
    y = y if channel is None else channel.privatize(y.astype(int), Randomness.seeded(2))
    return read_sample(mechanism.privatize(x, Randomness.seeded(1)), mechanism, np.ones(n), y, channel), law


@pytest.mark.parametrize(
    ("loss", "channel"), [(Logistic(), None), (Logistic(), BinaryResponse(0.85, 0.9)), (Poisson(), None)]
)
def test_the_mean_is_zero_under_a_working_law_that_is_wrong(loss, channel):
    """An even working law for numbers of which half are in the lowest sixth; the plain scores are far off then."""
    sample, law = sampled(loss, 40_000, channel)
    scores = EfficientScore(loss, sample, law, THETA)
    even = np.full(law.cells, 1 / law.cells)
    scores._laws = [np.tile(even, (5, 1))]
    found = scores.at(THETA)
    error = found.rows.std(axis=0) / np.sqrt(sample.n)
    assert np.all(np.abs(found.rows.mean(axis=0)) < 4.5 * error)
    model = CellModel(loss, sample, law)
    plain = _Records.of(model, 0, THETA).scores(even, slice(None))[0]
    assert np.abs(plain.mean(axis=0) / (plain.std(axis=0) / np.sqrt(sample.n))).max() > 10


def test_far_cells_do_not_decide_what_is_expected(monkeypatch):
    """Counts that would be 400 where nobody is: with a twentieth of the working law there, integration went astray."""
    theta = np.array([3.0, 3.0])
    sample, law = sampled(Poisson(), 2_000, shares=(0.93, 0.06, 0.01, 0, 0, 0), theta=theta)

    def distance():
        rows = EfficientScore(Poisson(), sample, law, theta).at(theta).rows
        return float(rows.sum(axis=0) @ np.linalg.solve(rows.T @ rows, rows.sum(axis=0)))

    assert distance() < 20  # χ² with two degrees of freedom: a chance of 5e-5
    monkeypatch.setattr(efficient_score, "_EVEN", 84.0)
    assert distance() > 40


@pytest.mark.parametrize("loss", [Logistic(), Poisson()])
def test_the_mean_falls_as_the_information_says(loss):
    """Expected information under the working law, which is nearly right here, is the slope of the mean score."""
    sample, law = sampled(loss, 40_000)
    scores = EfficientScore(loss, sample, law, THETA)
    information = scores.at(THETA).information
    step = np.diag(1.0 / np.sqrt(np.diag(information))) * 10
    falls = np.stack(
        [scores.at(THETA - s / 2).rows.sum(axis=0) - scores.at(THETA + s / 2).rows.sum(axis=0) for s in step]
    )
    np.testing.assert_allclose(falls / np.diag(step)[:, None], information, rtol=0.06, atol=0.06 * information.max())


def survey(n=600, **more):
    """Few counts on a skewed number."""
    rng, mechanism = np.random.default_rng(7), ZeroInflatedLaplace(Box(-1, 1), 1.0, 0.15)
    x = 2 * rng.beta(1, 3, (n, 1)) - 1
    y = rng.poisson(np.exp(x[:, 0] + 0.2)).astype(float)
    reports = mechanism.privatize(x, Randomness.seeded(7))
    return m_estimate("poisson", reports, mechanism, outcome=y, public=np.ones(n), method="likelihood", **more)


def test_a_fit_by_the_likelihood_has_score_intervals():
    """The default, named in the summary; they widen with the level; standard errors are there by name."""
    fit = survey()
    assert fit.default_interval == "score"
    found, wide = fit.interval(), fit.interval(0.99)
    assert np.all((wide[:, 0] < found[:, 0]) & (found[:, 1] < wide[:, 1]))
    np.testing.assert_array_equal(found, fit.interval(method="score"))
    assert f"{found[0, 1]:.3f}" in fit.summary()
    np.testing.assert_allclose(fit.interval(method="wald").mean(axis=1), fit.estimate)
    with pytest.raises(EstimationError, match="score"):
        fit.interval(method="profile")
    found[:] = 0  # a copy: what is kept stays
    assert np.all(fit.interval()[:, 1] > fit.interval()[:, 0])


def test_rows_that_were_counted_twice_are_told_apart_by_clusters():
    """Every row given twice as one cluster has the interval of the rows once, but for the parts that they fall in."""
    rng, n, mechanism = np.random.default_rng(8), 1_500, ZeroInflatedLaplace(Box(-1, 1), 0.7, 0.2)
    x = rng.uniform(-1, 1, (n, 1))
    y = (rng.random(n) < 1 / (1 + np.exp(-x[:, 0]))) * 1.0
    reports = mechanism.privatize(x, Randomness.seeded(8))
    twice = np.repeat(np.arange(n), 2)

    def widths(rows, **more):
        given = {"outcome": y[rows], "public": np.ones(len(rows)), "method": "likelihood"}
        return np.ptp(m_estimate("logistic", reports[rows], mechanism, **given, **more).interval(), axis=1)

    once = widths(np.arange(n))
    np.testing.assert_allclose(widths(twice, clusters=twice), once, rtol=0.15)
    assert np.all(widths(twice) < 0.85 * once)


def test_weights_are_counts_of_rows():
    """A weight of two for some rows, and clusters of rows given twice: nearly the same interval."""
    rng, n, mechanism = np.random.default_rng(9), 1_500, ZeroInflatedLaplace(Box(-1, 1), 0.7, 0.2)
    x = rng.uniform(-1, 1, (n, 1))
    y = (rng.random(n) < 1 / (1 + np.exp(-x[:, 0]))) * 1.0
    reports, times = mechanism.privatize(x, Randomness.seeded(9)), 1 + (np.arange(n) % 3 == 0)
    rows = np.repeat(np.arange(n), times)
    weighed = m_estimate(
        "logistic", reports, mechanism, outcome=y, public=np.ones(n), weights=times, method="likelihood"
    )
    written_out = m_estimate(
        "logistic", reports[rows], mechanism, outcome=y[rows], public=np.ones(len(rows)), clusters=rows,
        method="likelihood",
    )  # fmt: skip
    np.testing.assert_allclose(weighed.estimate, written_out.estimate, atol=0.05 * written_out.std_error.min())
    np.testing.assert_allclose(weighed.interval(), written_out.interval(), atol=0.25 * written_out.std_error.max())
