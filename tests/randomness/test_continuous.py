"""Exponential and normal draws: the right law, and a test that would notice a slightly wrong one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from discreet.randomness import Randomness
from discreet.randomness.continuous import exponential, grid_slack, normal, unit_interval

#: Fixed seeds; with a law that is right, p below this has never been seen and would be a defect.
TINY = 1e-9
N = 200_000


def test_uniform_numbers_are_centred_in_their_cells():
    """52 random bits, never zero or one."""
    u = unit_interval(N, Randomness.seeded(1))
    assert 0 < u.min() < u.max() < 1
    assert np.all((u * 2**53) % 2 == 1)
    assert stats.kstest(u, "uniform").pvalue > TINY


@pytest.mark.parametrize(("draw", "law"), [(exponential, "expon"), (normal, "norm")])
def test_draws_follow_their_law(draw, law):
    """Kolmogorov–Smirnov does not reject, and does reject draws that are 3 % too wide."""
    values = draw(N, Randomness.seeded(2))
    assert stats.kstest(values, law).pvalue > TINY
    assert stats.kstest(values * 1.03, law).pvalue < TINY


def test_normals_are_independent_of_each_other():
    """Both members of a pair and neighbours are uncorrelated, also in their squares."""
    values = normal(N, Randomness.seeded(3))
    half = values.size // 2
    for a, b in ((values[:half], values[half : 2 * half]), (values[:-1], values[1:])):
        assert abs(np.corrcoef(a, b)[0, 1]) < 6 / np.sqrt(a.size)
        assert abs(np.corrcoef(a**2, b**2)[0, 1]) < 6 / np.sqrt(a.size)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 1001])
def test_any_number_of_draws(count):
    """Exactly as many as asked for."""
    assert normal(count, Randomness.seeded(4)).shape == (count,)
    assert exponential(count, Randomness()).shape == (count,)


def test_tails_are_there():
    """Large draws occur as often as they should."""
    values = normal(2_000_000, Randomness.seeded(5))
    expected = 2_000_000 * 2 * stats.norm.sf(4.0)
    assert abs(np.count_nonzero(np.abs(values) > 4) - expected) < 6 * np.sqrt(expected)


def test_the_slack_covers_half_a_cell_of_the_uniforms():
    """Moving every uniform by half a cell moves rounded values far less often than the stated slack."""
    u = unit_interval(2 * N, Randomness.seeded(6)) * 2 - 1
    x, y = u[:N], u[N:]
    shift = 2.0**-52
    inside = (x + shift) ** 2 + (y + shift) ** 2 < 1
    x, y = x[inside], y[inside]

    def polar(a, b):
        s = a * a + b * b
        return a * np.sqrt(-2 * np.log(s) / s)

    z, moved = polar(x, y), polar(x + shift, y + shift)
    assert 0 < np.mean(np.abs(moved - z)) < grid_slack(1.0, 1.0)
