"""Losses that explode outside the box: no "converged" that does not cover."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from discreet import Box, Randomness
from discreet.estimate import m_estimate as any_estimate
from discreet.estimate.regressions.diagnosis import LIMIT, few_of, share_of_few
from discreet.mechanisms import ZeroInflatedLaplace

#: These are about the exact correction.
m_estimate = partial(any_estimate, method="exact")

BOX = Box([-1, 0], [1, 1])


def counts(seed, scale, slopes, n):
    """Reports and counts of one simulated survey."""
    rng = np.random.default_rng(seed)
    x = np.c_[rng.uniform(-1, 1, n), rng.uniform(0, 1, n)]
    mechanism = ZeroInflatedLaplace(BOX, scale, 0.15)
    y = rng.poisson(np.exp(x @ slopes + 0.2)).astype(float)
    return mechanism.privatize(x, Randomness.seeded(seed)), mechanism, y


def exponential_loss(theta, x, y):
    """Poisson regression, written as a loss of one's own."""
    eta = x @ theta
    return np.exp(np.minimum(eta, 300)) - y * eta


def test_a_share_carried_by_few_records():
    """All by one record, evenly by all; the worst coefficient counts."""
    scores = np.zeros((1000, 2))
    scores[:, 0] = 1.0
    scores[7, 1] = 3.0
    assert share_of_few(scores, np.eye(2)) == 1.0
    assert share_of_few(scores[:, :1], np.eye(1)) == pytest.approx(0.01)
    assert [few_of(n) for n in (20, 100, 500, 10**6)] == [1, 2, 10, 10]
    assert share_of_few(np.random.default_rng(1).standard_normal((100, 3)), np.eye(3)) < LIMIT / 2


@pytest.mark.parametrize("seed", range(8))
def test_poisson_regression_under_strong_noise_is_not_called_converged(seed):
    """Slopes (1.2, .5) at λ = (.8, .4): a minimum that a few reports decide, or none; its intervals cover .43."""
    reports, mechanism, y = counts(seed, [0.8, 0.4], [1.2, 0.5], 5000)
    fit = m_estimate("poisson", reports, mechanism, outcome=y, public=np.ones(y.size))
    assert not fit.converged
    assert fit.status != "converged"


def test_some_of_these_have_a_minimum_that_was_called_converged():
    """The status then names the share that a few reports carry."""
    fits = []
    for seed in range(30):
        reports, mechanism, y = counts(seed, [0.8, 0.4], [0.8, 0.5], 3000)
        fits.append(m_estimate("poisson", reports, mechanism, outcome=y, public=np.ones(y.size)))
    told = [fit.status for fit in fits if fit.status.startswith("not trustworthy: 10 of 3,000 reports")]
    assert len(told) >= 3
    assert not any(fit.converged for fit in fits)


@pytest.mark.parametrize("seed", range(4))
def test_poisson_regression_under_mild_noise_converges(seed):
    """At half the noise nothing changes, and the truth is within a few standard errors."""
    reports, mechanism, y = counts(seed, [0.4, 0.2], [0.5, 0.5], 2000)
    fit = m_estimate("poisson", reports, mechanism, outcome=y, public=np.ones(y.size))
    assert (fit.converged, fit.status) == (True, "converged")
    assert np.all(np.abs(fit.estimate - [0.5, 0.5, 0.2]) < 5 * fit.std_error)


def test_an_exploding_loss_of_ones_own_stays_inside_the_box():
    """The same loss as a function is never evaluated outside, and has its minimum under strong noise too."""
    for scale, slopes in (([0.8, 0.4], [1.2, 0.5]), ([0.2, 0.1], [0.5, 0.5])):
        reports, mechanism, y = counts(1, scale, slopes, 2000)
        given = {"outcome": y, "public": np.ones(y.size)}
        fit = any_estimate(exponential_loss, reports, mechanism, [*slopes, 0.2], **given)
        assert fit.converged, fit.status
        assert np.all(np.abs(fit.estimate - [*slopes, 0.2]) < 5 * fit.std_error)
