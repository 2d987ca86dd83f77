"""The exact trade-off curve of multivariate Laplace noise: the best test does no better, and hardly worse."""

from __future__ import annotations

import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from discreet.domains.box import Box
from discreet.mechanisms.laplace import ZeroInflatedLaplace
from discreet.mechanisms.laplace.curve import trade_off_bound
from discreet.mechanisms.laplace.density import RadialLaw
from discreet.mechanisms.laplace.trade_off import trade_off_exact

ALPHA = np.array([0.002, 0.02, 0.1, 0.4, 0.8])


def best_test(alpha, c, dimension, n=400_000):
    """Misses of the likelihood-ratio test by simulation, at false alarms α, and their standard error."""
    rng, law = np.random.default_rng(dimension), RadialLaw(dimension)
    knots = np.geomspace(1e-9, 300, 20_000)
    table = law.log_density(knots)
    noise = np.sqrt(rng.standard_exponential((n, 1))) * rng.standard_normal((n, dimension))

    def evidence(y):  # for the second truth, at c along the first axis
        near, far = np.linalg.norm(y, axis=1), np.sqrt((y[:, 0] - c) ** 2 + (y[:, 1:] ** 2).sum(axis=1))
        return np.interp(np.log(far), np.log(knots), table) - np.interp(np.log(near), np.log(knots), table)

    moved = noise.copy()
    moved[:, 0] += c
    first, second = evidence(noise), evidence(moved)
    if dimension == 1:  # the ratio is flat in the tails: ties are broken at random, as the best test does
        first, second = (one + 1e-9 * rng.standard_normal(n) for one in (first, second))
    cut = np.quantile(first, 1 - alpha)
    misses = np.array([np.mean(second <= one) for one in cut])
    # The cut has an error too: a false alarm more is e^L misses fewer, L the evidence at the cut.
    error = np.sqrt(misses * (1 - misses) / n + np.exp(2 * cut) * alpha * (1 - alpha) / n)
    return misses, error


@pytest.mark.parametrize(("dimension", "c"), [(1, 0.91), (2, 0.745), (6, 1.5)])
def test_simulated_best_tests_lie_on_the_curve(dimension, c):
    """Within Monte Carlo error of the likelihood-ratio test; the bound for every dimension is clearly below it."""
    misses, error = best_test(ALPHA, c, dimension)
    curve = trade_off_exact(ALPHA, c, dimension)
    assert np.all(curve <= misses + 6 * error)
    assert np.all(curve >= misses - 6 * error - 2e-5)
    assert np.any(misses - trade_off_bound(ALPHA, c) > 8 * error + 0.01)


def test_checked_figure_in_one_dimension():
    """C = .91, δ₀ = .1, α = .02: .828 where the bound for every dimension says .620."""
    mechanism = ZeroInflatedLaplace(Box(0, 0.91), 1.0, 0.1)
    assert float(mechanism.trade_off(0.02)) == pytest.approx(0.828, abs=5e-4)
    assert float(mechanism.trade_off(0.02, bound=True)) == pytest.approx(0.620, abs=5e-4)


@pytest.mark.parametrize("c", [0.05, 0.91, 3.0])
def test_one_dimension_against_laplace_tails(c):
    """The best tests are half-lines: α = P(y > t), β = P(y + √2 c ≤ t) in units of the Laplace scale."""
    from scipy.stats import laplace

    t = np.linspace(-3, 6, 40)
    alpha, beta = laplace.sf(t), laplace.cdf(t - math.sqrt(2) * c)
    np.testing.assert_allclose(trade_off_exact(alpha, c, 1), beta, rtol=1e-9, atol=1e-13)
    assert np.all(trade_off_exact(alpha, c, 1) <= beta)


@pytest.mark.parametrize(("dimension", "c"), [(1, 0.7), (3, 0.7)])
def test_the_curve_is_a_trade_off_curve(dimension, c):
    """Falling from one to zero, convex, its own inverse up to the levels that were tried, above the bound."""
    alpha = np.linspace(0, 1, 9)
    curve = trade_off_exact(alpha, c, dimension)
    assert (curve[0], curve[-1]) == (1.0, 0.0)
    assert np.all(np.diff(curve) < 0)
    assert np.all(np.diff(curve, 2) > -2e-5)
    again = trade_off_exact(curve[1:4], c, dimension)
    np.testing.assert_allclose(again, alpha[1:4], atol=1e-4)
    assert np.all(curve >= trade_off_bound(alpha, c) - 1e-13)


def test_exact_records_and_earlier_sampling_cost():
    """A share δ₀ is never missed; noise from 52 bits gives both errors away by its slack."""
    box = Box([0, 0], [1, 1])
    plain, inflated = ZeroInflatedLaplace(box, 2.0, 0.0), ZeroInflatedLaplace(box, 2.0, 0.1)
    assert float(inflated.trade_off(0.09)) == pytest.approx(0.9 * float(plain.trade_off(0.1)), abs=1e-12)
    assert float(inflated.trade_off(0.95)) == 0.0
    earlier = ZeroInflatedLaplace(box, 2.0, 0.1, sampling="52-bit")
    assert 0 < float(inflated.trade_off(0.09) - earlier.trade_off(0.09)) < 5 * earlier.sampling_slack


def in_high_precision(alpha, c):
    """β(α) = b(h), b(−h) = α, by bisection with 60 digits on the formulas of the theorem."""
    with localcontext(Context(prec=60)):
        c, goal = Decimal(c), Decimal(alpha)

        def b(h):
            root = (2 + h * h).sqrt()
            s = h + root if h >= 0 else 2 / (root - h)
            return (-c / s).exp() / (1 + 2 / (s * s))

        low, high = Decimal(-(10**12)), Decimal(10**12)
        for _ in range(260):
            middle = (low + high) / 2
            low, high = (middle, high) if b(-middle) > goal else (low, middle)
        return Fraction(b(low)), Fraction(b(high))


@pytest.mark.parametrize("c", [1e-6, 0.05, 0.5025, 1.0, 3.0, 30.0, 200.0])
def test_the_bound_is_never_above_the_truth_and_hardly_below(c):
    """Rounded down: against an independent computation with 60 digits, at ends and in the middle."""
    rng = np.random.default_rng(5)
    alphas = [1e-300, 1e-12, 0.02, 0.5, 1 - 1e-9, *rng.random(20), *(10 ** rng.uniform(-15, 0, 20))]
    for alpha, found in zip(alphas, trade_off_bound(alphas, c), strict=True):
        low, high = in_high_precision(alpha, c)
        assert Fraction(found) <= high
        assert float(low) * (1 - 1e-10) - 1e-300 <= found


@pytest.mark.parametrize(("zero", "bound"), [(0.0, True), (0.1, True), (0.3, True), (0.1, False)])
def test_zero_inflation_is_rounded_down_too(zero, bound):
    """(1 − δ₀) f(α/(1 − δ₀)) in fractions is never below what is returned."""
    mechanism = ZeroInflatedLaplace(Box(0, 0.7), 1.0, zero)
    for alpha in np.random.default_rng(6).random(40) * (1 - zero):
        keep = 1 - Fraction(zero)
        inner = Fraction(alpha) / keep
        if bound:
            with localcontext(Context(prec=60)):
                exact = keep * in_high_precision(Decimal(inner.numerator) / inner.denominator, mechanism.ratio())[1]
        else:
            exact = keep * laplace_misses(inner, mechanism.ratio())
        found = float(mechanism.trade_off(alpha, bound=bound))
        assert Fraction(found) <= exact + Fraction(1, 10**50)
        assert found >= float(exact) * (1 - 1e-10) - 1e-12


def laplace_misses(alpha, c):
    """The curve of the Laplace mechanism with 60 digits."""
    with localcontext(Context(prec=60)):
        mu, a = Decimal(2).sqrt() * Decimal(c), Decimal(alpha.numerator) / alpha.denominator
        if 2 * a < (-mu).exp():
            return Fraction(1 - mu.exp() * a)
        return Fraction((-mu).exp() / (4 * a) if a <= Decimal("0.5") else (-mu).exp() * (1 - a))


@pytest.mark.parametrize("c", [5.0, 50.0, 300.0])
def test_large_noise_ratios_are_rounded_down_in_one_dimension(c):
    """The rounding of √2 c, which an exponential multiplies, stays on the safe side."""
    for alpha in (math.exp(-math.sqrt(2) * c) * np.array([0.1, 0.3, 0.49, 0.51, 0.7, 2.0, 100.0])).tolist():
        assert Fraction(float(trade_off_exact(alpha, c, 1))) <= laplace_misses(Fraction(alpha), c)
