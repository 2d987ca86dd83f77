"""Exponential and normal draws: the right law, and a test that would notice a slightly wrong one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from discreet.randomness import Randomness
from discreet.randomness.continuous import Exponentials, exponential, normal
from tests.randomness.scripted import Scripted

#: Fixed seeds; with a law that is right, p below this has never been seen and would be a defect.
TINY = 1e-9
N = 200_000


def test_draws_that_floats_cannot_hold_are_left_to_the_bits():
    """NaN first, then the number that the bits give: the far tail is there, and never infinite."""
    words = [0, 2**63, 2**64 - 1]
    assert np.isnan(Exponentials.draw(3, Scripted(words)).values).tolist() == [True, False, True]
    tail, middle, near = exponential(3, Scripted(words))
    assert tail == pytest.approx((63 - np.log2(2 / 3)) * np.log(2))  # 63 zeros, then 1010…
    assert middle == pytest.approx(np.log(2))
    assert 0 < near < 2.0**-62


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
