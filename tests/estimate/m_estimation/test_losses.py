"""Losses and their exact corrections: derivatives, averages, and unbiasedness for every true value."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate

from discreet.errors import EstimationError
from discreet.estimate.m_estimation import losses
from discreet.estimate.m_estimation.fit import family_of
from discreet.estimate.regressions.laplace_exact import ExactLoss, Noise, View
from discreet.estimate.regressions.laplace_smoothing import laplace_mixture
from discreet.estimate.regressions.sample import Sample

LOSSES = {
    "squared": (losses.Squared(), 0.7),
    "logistic": (losses.Logistic(), 1.0),
    "probit": (losses.Probit(), 0.0),
    "poisson": (losses.Poisson(), 2.0),
    "check": (losses.Check(0.3, bandwidth=0.25), 0.4),
    "huber": (losses.Huber(0.8), 0.4),
    "hinge": (losses.Hinge(bandwidth=0.3), 1.0),
}
ETA = np.array([-3.1, -0.9, -0.2, 0.13, 0.77, 1.9, 4.2])


@pytest.mark.parametrize("name", LOSSES)
def test_derivatives_are_derivatives(name):
    """ℓ' and ℓ'' agree with differences."""
    loss, y = LOSSES[name]
    outcome, step = np.full_like(ETA, y), 1e-6
    up, down = loss.plain(ETA + step, outcome), loss.plain(ETA - step, outcome)
    middle = loss.plain(ETA, outcome)
    for order in (0, 1):
        np.testing.assert_allclose((up[order] - down[order]) / (2 * step), middle[order + 1], atol=2e-8)


@pytest.mark.parametrize("v", [0.0001, 0.04, 0.6])
@pytest.mark.parametrize("name", LOSSES)
def test_averaged_curvature_is_an_average(name, v):
    """K_v ℓ'' equals the integral of ℓ'' against the Laplace density, and its derivatives are derivatives."""
    loss, y = LOSSES[name]
    outcome, b = np.full_like(ETA, y), math.sqrt(v)
    value, slope, bend = loss.curvature(ETA, outcome, v)

    def integrand(t, at):
        return float(loss.plain(np.array([at + b * t]), np.array([y]))[2][0]) * math.exp(-abs(t)) / 2

    for i, at in enumerate(ETA):
        breaks = [t for t in ((y - 0.8 - at) / b, (y + 0.8 - at) / b, (y - at) / b, (1 - at) / b) if abs(t) < 150]
        parts = sorted({-150.0, -40.0, 0.0, 40.0, 150.0, *breaks})
        total = sum(
            integrate.quad(integrand, low, high, args=(at,), limit=200, epsabs=1e-11)[0]
            for low, high in pairwise(parts)
        )
        assert value[i] == pytest.approx(total, abs=2e-7)
    step = 1e-5
    up, down = loss.curvature(ETA + step, outcome, v), loss.curvature(ETA - step, outcome, v)
    np.testing.assert_allclose((up[0] - down[0]) / (2 * step), slope, atol=2e-6)
    np.testing.assert_allclose((up[1] - down[1]) / (2 * step), bend, atol=2e-5, rtol=1e-4)


def test_closed_forms_of_the_check_and_hinge_losses():
    """ρ(r) − (1/δ₀ − 1)(b/2)e^{−|r|/b}, and the same of 1 − m."""
    zero, q = 0.2, 1.7
    b = math.sqrt(zero * q)
    for loss, y, u in ((losses.Check(0.3), 0.4, 0.4 - ETA), (losses.Hinge(), 1.0, 1 - ETA)):
        outcome = np.full_like(ETA, y)
        tau = 0.3 if isinstance(loss, losses.Check) else 1.0
        expected = np.where(u >= 0, tau * u, (tau - 1) * u) - (1 / zero - 1) * b / 2 * np.exp(-np.abs(u) / b)
        ours = loss.plain(ETA, outcome)[0] - (1 - zero) * q * loss.curvature(ETA, outcome, zero * q)[0]
        np.testing.assert_allclose(ours, expected, atol=1e-12)


def test_closed_form_of_the_poisson_loss():
    """e^η (1 − q)/(1 − δ₀q), and nothing beyond q = 1."""
    zero, q = 0.1, 0.3
    loss, y = losses.Poisson(), np.zeros_like(ETA)
    ours = loss.plain(ETA, y)[0] - (1 - zero) * q * loss.curvature(ETA, y, zero * q)[0]
    np.testing.assert_allclose(ours, np.exp(ETA) * (1 - q) / (1 - zero * q))
    assert "does not exist" in loss.check(1.2)
    assert "no variance" in loss.check(0.3)
    assert loss.check(0.2) is None
    with pytest.raises(EstimationError, match="does not exist"):
        loss.curvature(ETA, y, 1.0)


def laplace_average(function, at, b):
    """E f(at + b·L) by quadrature, for a smooth-but-for-a-few-points function."""
    points = np.linspace(-45, 45, 400_001)
    density = np.exp(-np.abs(points)) / 2
    return np.trapezoid(function(at + b * points) * density, points)


@pytest.mark.parametrize("zero", [0.05, 0.3])
@pytest.mark.parametrize("name", LOSSES)
def test_the_exact_correction_is_unbiased_for_every_truth(name, zero):
    """δ₀ ℓ̃(η) + (1 − δ₀) E ℓ̃(η + noise) = ℓ(η) at any η; without the correction it is not."""
    loss, y = LOSSES[name]
    q = 0.35
    noise = Noise(zero, np.array([[2 * q]]))
    view = View(np.empty((1, 1)), 1.0, 1 - zero, averaged=True)
    objective = ExactLoss(family_of(loss), (view,), (), noise, Sample(1))

    def corrected(eta):
        return objective._terms(view, eta, np.full_like(eta, y), q)[0]

    def plain(eta):
        return loss.plain(eta, np.full_like(eta, y))[0]

    for eta in (-1.3, 0.2, 0.9):
        truth = plain(np.array([eta]))[0]
        mean = zero * corrected(np.array([eta]))[0] + (1 - zero) * laplace_average(corrected, eta, math.sqrt(q))
        naive = zero * truth + (1 - zero) * laplace_average(plain, eta, math.sqrt(q))
        assert mean == pytest.approx(truth, abs=2e-6)
        assert abs(naive - truth) > 1e-3


@pytest.mark.parametrize("loss", [losses.Check(0.3), losses.Huber(0.8)])
def test_two_independent_noises_are_both_undone(loss):
    """Noise of the outcome beside that of the covariates: the product of both corrections is unbiased."""
    q, zero, own, other_zero = 0.35, 0.2, 0.2, 0.3
    noise = Noise(zero, np.array([[2 * q]]), other=(other_zero, own))
    view = View(np.empty((1, 1)), 1.0, 1 - zero, averaged=True)
    objective = ExactLoss(family_of(loss), (view,), (), noise, Sample(1))

    def corrected(r):
        return objective._terms(view, -r, np.zeros_like(r), q)[0]

    knots = np.linspace(-40, 40, 40_001)
    table = corrected(knots)
    points = np.linspace(-35, 35, 2001)
    weights = np.exp(-np.abs(points)) / 2 * (points[1] - points[0])
    once = other_zero * table
    for t, w in zip(points, weights, strict=True):
        once = once + (1 - other_zero) * w * np.interp(knots + math.sqrt(own) * t, knots, table)
    for r in (-0.6, 0.1, 1.1):
        mean = zero * np.interp(r, knots, once) + (1 - zero) * laplace_average(
            lambda at: np.interp(at, knots, once), r, math.sqrt(q)
        )
        assert mean == pytest.approx(loss.plain(np.array([-r]), np.array([0.0]))[0][0], abs=3e-4)


def test_sum_of_laplace_variables_with_nearly_equal_scales():
    """Partial fractions stay finite, and a density integrates to one."""
    t = np.linspace(-60, 60, 240_001)
    for variances in [(1.0, 1.0), (0.5, 0.5 * (1 + 1e-9)), (1.0, 0.3)]:
        density = laplace_mixture(t, variances)[2]
        assert np.trapezoid(density, t) == pytest.approx(1, abs=1e-4)
        assert density.min() >= -1e-9


@pytest.mark.parametrize("tau", [0, 1, -0.2, 1.5])
def test_a_quantile_lies_between_zero_and_one(tau):
    """Anything else is refused."""
    with pytest.raises(EstimationError, match="tau"):
        losses.Check(tau)


def test_losses_are_found_by_name_class_or_instance():
    """And what is none of these is refused in one sentence."""
    assert losses.resolve("check") == losses.Check(0.5)
    assert losses.resolve(losses.Huber) == losses.Huber()
    with pytest.raises(EstimationError, match="must be one of"):
        losses.resolve("cubic")
    with pytest.raises(EstimationError, match="a loss is"):
        losses.resolve(3)
    with pytest.raises(EstimationError, match="threshold"):
        losses.Huber(0)
