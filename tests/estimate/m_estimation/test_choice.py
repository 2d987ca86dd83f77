"""Which correction is kept: by an estimated variance that does not feed on the estimate's own luck."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import Box, Randomness
from discreet.estimate import m_estimate
from discreet.estimate.m_estimation.choice import least_variance
from discreet.estimate.m_estimation.fit import _covariance_at
from discreet.estimate.m_estimation.losses import Logistic, Squared
from discreet.estimate.m_estimation.result import MEstimate
from discreet.estimate.m_estimation.sample import read_sample
from discreet.mechanisms import ZeroInflatedLaplace


def fitted(method, coefficient, variance, converged=True):
    """A fit with one coefficient."""
    one = np.array([[1.0]])
    return MEstimate(
        coefficients=np.array([coefficient]),
        covariance=np.array([[variance]]),
        names=("x1",),
        n=100,
        loss="logistic",
        method=method,
        converged=converged,
        status="converged",
        notes=(),
        hessian=one,
        scores=one.copy(),
    )


def chosen(box, exact, elsewhere):
    """What is kept of two fits, and what is said of it."""
    found = least_variance({"box": lambda: box, "exact": lambda: exact}, np.ones(1), lambda *_: elsewhere)
    return found.method, found.notes[-1]


def test_a_small_variance_at_an_estimate_that_is_too_small_decides_nothing():
    """The candidate is judged at the other's estimate as well; where both are small it is taken."""
    box, exact = fitted("box", 1.0, 0.10), fitted("exact", 0.3, 0.02)
    assert chosen(box, exact, np.array([[0.5]])) == (
        "box",
        'the method "box" was chosen by its estimated variance: "exact" has 5 times it',
    )
    assert chosen(box, exact, np.array([[0.04]]))[0] == "exact"
    assert chosen(box, exact, None)[0] == "exact"  # not to be had: its own counts
    assert chosen(box, exact, np.array([[np.nan]]))[0] == "box"  # no minimum there
    assert chosen(box, fitted("exact", 0.3, 0.095), np.array([[0.01]]))[0] == "box"  # not clearly below
    assert chosen(fitted("box", 1.0, 0.1, converged=False), exact, np.array([[0.5]]))[0] == "exact"


def test_outcomes_that_are_fitted_exactly_leave_nothing_to_compare():
    """A variance of zero beside another of zero, or beside more; counts that are all zero, say."""
    box = fitted("box", 0.0, 0.0)
    assert "has none either" in chosen(box, fitted("exact", 0.0, 0.0), None)[1]
    assert '"exact" has more' in chosen(box, fitted("exact", 0.1, 1e-9), None)[1]
    mechanism = ZeroInflatedLaplace(Box(-1, 1), 1.0, 0.1)
    reports = mechanism.privatize(np.linspace(-1, 1, 500)[:, None], Randomness.seeded(1))
    fit = m_estimate("squared", reports, mechanism, outcome=np.zeros(500))
    np.testing.assert_array_equal(fit.coefficients, 0.0)


@pytest.mark.parametrize(
    ("outcome", "public", "says"),
    [(np.ones(400), np.ones(400), "every outcome is the same"), (np.arange(400) % 2.0, np.zeros(400), "is zero")],
)
def test_what_has_no_likelihood_has_a_fit_that_says_why(outcome, public, says):
    """One number with noise, for which there would be a likelihood: a status, as for three and more, and no error."""
    mechanism = ZeroInflatedLaplace(Box(-1, 1), 1.0, 0.1)
    reports = mechanism.privatize(np.linspace(-1, 1, 400)[:, None], Randomness.seeded(1))
    fit = m_estimate("logistic", reports, mechanism, outcome=outcome, public=public)
    assert not fit.converged
    assert says in fit.status


@pytest.mark.parametrize("unit", [1.0, 1_000.0])
def test_the_covariance_elsewhere_is_the_sandwich_there(unit):
    """At a fit's own estimate it is the fit's covariance, whatever the units of the outcome."""
    rng = np.random.default_rng(1)
    mechanism = ZeroInflatedLaplace(Box(-1, 1), 0.5, 0.1)
    x = rng.uniform(-1, 1, (4_000, 1))
    reports, ones = mechanism.privatize(x, Randomness.seeded(1)), np.ones(4_000)
    y = (x[:, 0] + rng.normal(size=4_000)) * unit
    squared = m_estimate("squared", reports, mechanism, outcome=y, public=ones, method="exact")
    sample = read_sample(reports, mechanism, ones, y, None)
    np.testing.assert_allclose(
        _covariance_at(Squared(), sample, None, "exact", squared.coefficients), squared.covariance, rtol=1e-8
    )


def test_a_likelihood_is_taken_where_there_is_one():
    """No variances are compared; and without a model of the outcome they are."""
    rng = np.random.default_rng(2)
    mechanism = ZeroInflatedLaplace(Box(-1, 1), 1.0, 0.1)
    x = rng.uniform(-1, 1, (2_000, 1))
    reports, ones = mechanism.privatize(x, Randomness.seeded(2)), np.ones(2_000)
    y = (rng.random(2_000) < 1 / (1 + np.exp(-x[:, 0]))) * 1.0
    assert m_estimate("logistic", reports, mechanism, outcome=y, public=ones).method == "likelihood"
    beside = m_estimate("squared", reports, mechanism, outcome=y, public=ones)
    assert beside.method in ("box", "exact")
    assert "was chosen by its estimated variance" in beside.notes[-1]
    sample = read_sample(reports, mechanism, ones, y, None)
    assert _covariance_at(Logistic(), sample, None, "exact", np.zeros(2)).shape == (2, 2)
