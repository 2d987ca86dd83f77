"""Maximum likelihood with the law of the covariates on cells, and the choice among methods."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.domains.box import Box
from discreet.errors import EstimationError
from discreet.estimate.m_estimation import m_estimate
from discreet.estimate.regressions.semiparametric.law import CellLaw
from discreet.mechanisms import BinaryResponse
from discreet.mechanisms.laplace import ZeroInflatedLaplace
from discreet.randomness import Randomness


def drawn(n, d, seed, poisson=False):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, d))
    index = x.sum(axis=1) * 0.8 + 0.2
    y = rng.poisson(np.exp(index)) if poisson else rng.random(n) < 1 / (1 + np.exp(-index))
    return x, y.astype(float)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_density_of_reports_integrates_to_one(d):
    """Over all reports, by simulation of where they fall: its mean over even reports is one over their volume."""
    mechanism = ZeroInflatedLaplace(Box([0] * d, [1] * d), [0.3 + 0.1 * j for j in range(d)], 0.1)
    rng = np.random.default_rng(1)
    law = CellLaw.of(mechanism, rng.random((6_000, d)), 6_000)
    reach = 2.5  # eight scales of the noise: nothing is beyond
    reports = rng.uniform(-reach, 1 + reach, (6_000, d))
    middle = len(law.points) // 2
    found = law.density(reports)[middle] * (1 + 2 * reach) ** d
    assert abs(found.mean() - 1) < 6 * found.std() / math.sqrt(found.size)
    assert law.points_in.sum() == len(law.points)
    assert law.volume.sum() == pytest.approx(1.0, abs=1e-2)


@pytest.mark.parametrize("poisson", [False, True])
def test_the_truth_is_recovered(poisson):
    """Within error bars that are below those of the exact correction."""
    x, y = drawn(6_000, 1, 3, poisson)
    mechanism = ZeroInflatedLaplace(Box(-1, 1), 2.0, 0.15)
    reports = mechanism.privatize(x, Randomness.seeded(3))
    loss, options = "poisson" if poisson else "logistic", {"outcome": y, "public": np.ones(6_000)}
    found = m_estimate(loss, reports, mechanism, method="likelihood", **options)
    assert found.converged, found.status
    assert np.all(np.abs(found.estimate - [0.8, 0.2]) < 4.5 * found.std_error)
    assert "cells" in found.summary()
    chosen = m_estimate(loss, reports, mechanism, **options)
    assert chosen.method == "box"  # nothing is supposed about the outcome unless it is asked for
    exact = m_estimate(loss, reports, mechanism, method="exact", **options)
    assert not exact.converged or found.std_error[0] < 0.8 * exact.std_error[0]


def test_public_groups_have_a_law_of_their_own_and_outcomes_a_channel():
    """A public yes/no column that goes with the numbers, and a randomised outcome."""
    rng = np.random.default_rng(4)
    n, spinner = 8_000, BinaryResponse(0.85, 0.85)
    group = rng.integers(0, 2, n).astype(float)
    x = np.clip(rng.normal(0.5 * (2 * group - 1), 0.3), -1, 1)[:, None]
    y = (rng.random(n) < 1 / (1 + np.exp(-(0.8 * x[:, 0] - 0.6 * group + 0.2)))).astype(int)
    mechanism = ZeroInflatedLaplace(Box(-1, 1), 1.0, 0.2)
    found = m_estimate(
        "logistic",
        mechanism.privatize(x, Randomness.seeded(4)),
        mechanism,
        method="likelihood",
        public=np.c_[group, np.ones(n)],
        outcome=spinner.privatize(y, Randomness.seeded(5)),
        outcome_mechanism=spinner,
    )
    assert found.converged
    assert np.all(np.abs(found.estimate - [0.8, -0.6, 0.2]) < 4.5 * found.std_error)
    assert "2 groups" in found.summary()


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"loss": "squared"}, "logistic, probit or poisson"),
        ({"public": np.arange(200.0)}, "20 combinations"),
        ({"mechanism": ZeroInflatedLaplace(Box(-1, 1), 1.0, 0.0)}, "published exactly"),
        ({"loss": lambda theta, x, y: x[:, 0] * 0, "start": [0.0]}, "model of the outcome"),
    ],
)
def test_what_has_no_likelihood_gets_one_clear_sentence(changes, says):
    """What is missing, and how much would do."""
    options = {
        "loss": "logistic", "reports": np.zeros((200, 1)), "mechanism": ZeroInflatedLaplace(Box(-1, 1), 1.0, 0.1),
        "outcome": np.tile([0.0, 1.0], 100), "method": "likelihood",
    }  # fmt: skip
    with pytest.raises(EstimationError, match=says):
        m_estimate(**{**options, **changes})


def test_the_choice_takes_what_is_valid():
    """Without exact records there is one method; own losses are corrected inside the box."""
    rng = np.random.default_rng(6)
    x = rng.uniform(-1, 1, (2_000, 1))
    plain = ZeroInflatedLaplace(Box(-1, 1), 0.5, 0.0)
    y = x[:, 0] + 0.1 * rng.standard_normal(2_000)
    one = m_estimate("squared", plain.privatize(x, Randomness.seeded(6)), plain, outcome=y)
    assert one.method == "exact"
    noisy = ZeroInflatedLaplace(Box(-1, 1), 2.0, 0.3)
    own = m_estimate(
        lambda theta, x, y: (y - x[:, 0] * theta[0]) ** 2,
        noisy.privatize(x, Randomness.seeded(7)), noisy, outcome=y, start=[0.0],
    )  # fmt: skip
    assert own.method == "box"
    assert abs(own.estimate[0] - 1) < 4.5 * own.std_error[0]


def shared_numbers(rng, n, d):
    """Whole numbers 0 … 5, on the box; zero for half the people."""
    return np.where(rng.random((n, d)) < 0.5, 0, rng.integers(0, 6, (n, d))) * 0.4 - 1


def test_values_that_many_share_are_places_of_their_own():
    """Found where they are, and nowhere else; with smooth numbers beside them the cells stay."""
    rng, mechanism = np.random.default_rng(11), ZeroInflatedLaplace(Box(-1, 1), 1.0, 0.1)
    mixed = np.where(rng.random((8_000, 1)) < 0.4, 0.25, rng.uniform(-1, 1, (8_000, 1)))
    truths = {"whole": shared_numbers(rng, 8_000, 1), "smooth": rng.beta(1, 6, (8_000, 1)) * 2 - 1, "mixed": mixed}
    axes = {
        name: CellLaw.of(mechanism, mechanism.privatize(x, Randomness.seeded(5)), 8_000).axes[0]
        for name, x in truths.items()
    }
    np.testing.assert_allclose(axes["whole"].shared, np.arange(6) * 0.4 - 1, atol=axes["whole"].step)
    assert axes["whole"].cells == 0
    assert axes["smooth"].shared.size == 0
    assert axes["mixed"].cells == 24
    np.testing.assert_allclose(axes["mixed"].shared, [0.25])


def test_shared_values_do_not_bend_the_coefficients():
    """Whole numbers in two dimensions: nine cells a side, wider than their spacing, were off by 1.5 standard errors.

    The sum over 20 samples of the squared distance in units of the covariance is χ² with 60 degrees of freedom; with
    a bias of 1.5 standard errors in one coefficient it is about 105.
    """
    mechanism, truth, distance = ZeroInflatedLaplace(Box([-1, -1], [1, 1]), 1.0, 0.1), np.array([0.8, 0.4, 0.2]), 0.0
    for run in range(20):
        rng = np.random.default_rng([12, run])
        x = shared_numbers(rng, 5_000, 2)
        y = rng.poisson(np.exp(x @ truth[:2] + truth[2])).astype(float)
        reports = mechanism.privatize(x, Randomness.seeded(run))
        fit = m_estimate("poisson", reports, mechanism, outcome=y, public=np.ones(5_000), method="likelihood")
        gap = fit.estimate - truth
        distance += float(gap @ np.linalg.solve(fit.covariance, gap))
    assert 20 < distance < 100  # a chance of about 1e-3 above and 1e-7 below, for one fixed set of seeds
