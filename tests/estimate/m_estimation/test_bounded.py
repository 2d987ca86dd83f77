"""Averages over true records that use the box: unbiased, and far less noisy than corrected squares."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.domains.box import Box
from discreet.estimate.m_estimation import bounded, kinked, losses
from discreet.estimate.m_estimation.corrections import corrected_objective
from discreet.estimate.m_estimation.sample import read_sample
from discreet.mechanisms.laplace import ZeroInflatedLaplace
from discreet.randomness import Randomness

BOX = Box([-1, 0], [1, 2])


def sample(n, seed, scale=2.0, zero=0.2, joint=False):
    """Two correlated covariates, an intercept, errors whose spread grows with the first covariate."""
    rng = np.random.default_rng(seed)
    x = np.column_stack([rng.uniform(-1, 1, n), rng.uniform(0, 2, n)])
    x[:, 1] = (x[:, 1] + x[:, 0] + 1) / 2
    y = x @ [1.0, -1.0] + 0.5 + (1 + 0.5 * x[:, 0]) * rng.standard_normal(n)
    if joint:
        y = np.clip(y, -6, 6)
        mechanism = ZeroInflatedLaplace(Box([-1, 0, -6], [1, 2, 6]), [scale, scale, scale], zero)
        reports = mechanism.privatize(np.column_stack([x, y]), Randomness.seeded(seed))
        return x, y, read_sample(reports, mechanism, np.ones(n), 2, None)
    mechanism = ZeroInflatedLaplace(BOX, scale, zero)
    return x, y, read_sample(mechanism.privatize(x, Randomness.seeded(seed)), mechanism, np.ones(n), y, None)


@pytest.mark.parametrize("joint", [False, True])
def test_second_moments_are_those_of_true_records(joint):
    """Every entry within 4.5 standard errors, which are a fraction of those of corrected squares."""
    x, y, given = sample(40_000, 1, joint=joint)
    design = np.column_stack([x, np.ones(len(y))])
    found = bounded.second_moments(given, given.outcome)
    error = np.sqrt(found.square.variance)
    assert np.all(np.abs(found.square.mean - design.T @ design / len(y)) < 4.5 * error + 1e-9)
    assert np.all(np.abs(found.cross.mean - design.T @ y / len(y)) < 4.5 * np.sqrt(found.cross.variance))
    squares = np.var(given.private[:, 0] ** 2) / len(y)
    assert error[0, 0] ** 2 < 0.1 * squares
    assert found.residual_spread(np.array([1.0, -1.0, 0.5])) == pytest.approx(np.std(y - x @ [1.0, -1.0]), rel=0.15)


def test_without_exact_records_squares_are_corrected():
    """Clipping needs exact records; at zero probability 0 the corrected squares are used."""
    x, _, given = sample(40_000, 2, scale=0.5, zero=0.0)
    found = bounded.second_moments(given, given.outcome)
    assert np.all(np.abs(found.square.mean[:2, :2] - x.T @ x / len(x)) < 5 * np.sqrt(found.square.variance[:2, :2]))


@pytest.mark.parametrize("joint", [False, True])
def test_the_curvature_sees_errors_that_depend_on_x(joint):
    """E[f(0|x)xx'] for errors of spread 1 + x/2, which f(0)·E[xx'] misses."""
    x, y, given = sample(400_000, 3, scale=1.0, joint=joint)
    objective = corrected_objective(losses.Check(), given, "exact", None)
    found, level = bounded.curvature(objective, given, np.array([1.0, -1.0, 0.5]), 0.15)
    design = np.column_stack([x, np.ones(len(y))])
    density = 1 / np.sqrt(2 * np.pi) / (1 + 0.5 * x[:, 0])
    truth = (design * density[:, None]).T @ design / len(y)
    error = np.sqrt(found.variance)
    assert np.all(np.abs(found.mean - truth) < 4.5 * error + 0.01 * np.abs(truth))
    alike = level.mean * design.T @ design / len(y)
    assert np.abs((alike - truth) / error).max() > 6


def test_the_same_reports_give_the_same_average():
    """Draws come from a fixed seed."""
    _, _, given = sample(2_000, 4)
    first, second = (bounded.second_moments(given, given.outcome).square.mean for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_a_kernel_of_fourth_order_hardly_moves_a_quantile():
    """The mean slope at the ninth decile of normal errors: off in proportion to h² with one width, to h⁴ with two."""
    grid = np.linspace(-9, 9, 400_001)
    density = np.exp(-grid * grid / 2) / np.sqrt(2 * np.pi)
    quantile = np.full_like(grid, 1.2815515655446004)

    def slope(loss):
        return np.trapezoid(loss.plain(quantile, grid)[1] * density, grid)

    loss = losses.Check(0.9)
    plain = [abs(slope(loss.smoothed(h))) for h in (0.1, 0.2)]
    sharp = [abs(slope(kinked.Sharper(loss, h))) for h in (0.1, 0.2)]
    assert plain[1] / plain[0] == pytest.approx(4, rel=0.15)
    assert sharp[1] / sharp[0] > 10
    assert sharp[0] < 0.06 * plain[0]


def test_batches_of_unequal_size_average_to_all_rows():
    """Ten rows in two batches, or eleven: the mean is that of the rows."""
    from discreet.estimate.m_estimation.bounded import Average, _averaged

    for n in (1, 10, 11, 79):
        rows = np.arange(float(n))[:, None]
        np.testing.assert_allclose(Average(_averaged(rows, rows)).mean, np.mean(rows**2))
