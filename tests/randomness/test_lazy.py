"""Numbers whose bits are drawn when needed: the intervals hold the truth, and every decision is the right one."""

from __future__ import annotations

import math
from decimal import Context, Decimal

import numpy as np
import pytest

from discreet.randomness import Randomness
from discreet.randomness.continuous import (
    PRODUCT_ERROR,
    Exponentials,
    LazyExponential,
    LazyNormalPair,
    Normals,
    _Points,
    nearest_step,
    product_bounds,
)
from discreet.randomness.scratch import Scratch
from tests.randomness.scripted import AND_SO_ON, Scripted

MANY = Context(prec=400)
TOP = 2**63


def continued(k, bits=63, words=10, then=AND_SO_ON):
    """The number whose bits start with k and go on with one word for ever."""
    for _ in range(words):
        k, bits = (k << 64) | then, bits + 64
    return MANY.divide(Decimal(k), Decimal(1 << bits))


def directly(k, u, v, side):
    """√W·N from 700 bits with 400 digits."""
    minus_log = MANY.minus(continued(k).ln(MANY))
    x, y = continued(u), continued(v)
    s = MANY.add(MANY.multiply(x, x), MANY.multiply(y, y))
    factor = MANY.sqrt(MANY.divide(MANY.multiply(-2, s.ln(MANY)), s))
    return MANY.multiply(MANY.sqrt(minus_log), MANY.multiply((x, y)[side], factor))


#: Ordinary words and those at which something is extreme: tails of W, W near 0, points near the middle and the circle.
UNIFORMS = [0, 1, 5, 2**20, 2**40, 2**41 + 7, 2**61 + 12345, TOP - 1, TOP - 2, TOP - 2**30, TOP - 2**41]
SLANT = math.isqrt(2**125) - 1
POINTS = [
    (0, 0),
    (-1, 0),
    (3, -7),
    (2**40, -(2**40)),
    (2**61, 2**60),
    (-TOP, 0),
    (TOP - 1, 1),
    (SLANT, -SLANT),
    (SLANT, SLANT - 9),
]


@pytest.mark.parametrize("k", UNIFORMS)
@pytest.mark.parametrize("point", POINTS)
def test_the_interval_holds_the_number(k, point):
    """With every word that is drawn, and it narrows."""
    width = None
    w, pair = LazyExponential(k), LazyNormalPair(*point)
    if not LazyNormalPair(*point).accepted(Scripted()):
        return
    exact = directly(k, *point, 0)
    for _ in range(4):
        low, high = product_bounds(w, pair, 0)
        assert low <= exact <= high
        assert width is None or not high.is_finite() or high - low < width
        width = high - low if high.is_finite() else None
        w.extend(Scripted())
        pair.extend(Scripted())
    assert width is not None
    assert width < Decimal(2) ** -120


def test_floats_err_by_less_than_stated():
    """Over ordinary draws and the edges of what floats may decide; half of the stated error is not exceeded."""
    rng = np.random.default_rng(1)
    edge = 2**41  # of 2^63: the 2^-22 at which floats give up
    first = [*rng.integers(0, TOP, 60), *range(edge, edge + 5), *range(TOP - edge - 2000, TOP - edge - 1000, 200)]
    ring = np.sqrt(1 - 2.0**-22 * np.array([1.001, 1.5, 4.0]))
    small = np.sqrt(2.0**-22 * np.array([1.001, 1.5]))
    angle = rng.uniform(0, 2 * math.pi, 40)
    radius = np.concatenate([np.sqrt(rng.random(25)), np.resize(ring, 9), np.resize(small, 6)])
    points = [(int(r * math.cos(a) * TOP), int(r * math.sin(a) * TOP)) for r, a in zip(radius, angle, strict=True)]
    worst = 0.0
    for i, k in enumerate(first):
        u, v = points[i % len(points)]
        root = math.sqrt(Exponentials.draw(1, Scripted([2 * int(k)])).values[0])
        x, y = (np.array([float(np.int64(one)) * 2.0**-63]) for one in (u, v))
        factor = _Points(x, y, x * x + y * y, np.array([u]), np.array([v]), np.array([0]), {}).factors(Scratch())
        product = float(x[0] * factor[0] * root)
        low, high = product_bounds(LazyExponential(int(k)), LazyNormalPair(u, v), 0)
        worst = max(worst, abs(product - float(low)), abs(product - float(high)))
    assert 0 < worst < PRODUCT_ERROR / 2


def test_tails_go_on_for_ever():
    """M zero bits and a one put W between m ln 2 and (m + 1) ln 2, so that P(W > w) = e^−w far beyond 52 bits."""
    for words in (1, 2, 8):
        source = Scripted([0] * words, then=2**63)
        value = Exponentials.draw(1, source).lazy(0).value(source)
        zeros = 63 + 64 * (words - 1)
        assert zeros * math.log(2) < value <= (zeros + 1) * math.log(2) * (1 + 1e-12)
    pair = LazyNormalPair(0, 0)
    assert abs(pair.value(0, Scripted([0] * 8, then=2**63))) > math.sqrt(2 * 2 * 4 * 64 * math.log(2)) / 2


@pytest.mark.parametrize("scale", [1.0, 4096.0, 2.0**20])
def test_the_nearest_step_is_decided_by_as_many_bits_as_it_takes(scale):
    """Offsets that put the number within 2^-50, 2^-100 and 2^-300 of a boundary, on either side."""
    k, u, v = 2**61 + 12345, 2**61, 2**60
    exact = MANY.multiply(directly(k, u, v, 0), Decimal(scale))
    for side in (-1, 1):
        for bits in (20, 50, 100, 300):
            # A lattice point of doubles cannot come so near: the scale is moved instead, as an exact decimal.
            wanted = MANY.add(exact.to_integral_value(), Decimal("0.5"))
            wanted = MANY.add(wanted, MANY.multiply(Decimal(side), Decimal(2) ** -bits))
            factor = MANY.divide(wanted, directly(k, u, v, 0))
            found = nearest_step(0.0, factor, LazyExponential(k), LazyNormalPair(u, v), 0, Scripted())
            assert found == float(exact.to_integral_value()) + (1 if side > 0 else 0)


def test_points_on_the_circle_in_floats_are_decided_by_their_bits():
    """(−1, 0) is on the circle and the cell beside it inside; 45° points on either side; a float could not tell."""
    for point, inside in [
        ((-TOP, 0), True),
        ((-TOP, -1), True),
        ((SLANT, SLANT), True),
        ((SLANT + 2, SLANT + 2), False),
    ]:
        pair = LazyNormalPair(*point)
        answer = pair.accepted(Scripted())
        x, y = continued(point[0]), continued(point[1])
        assert answer == (MANY.add(MANY.multiply(x, x), MANY.multiply(y, y)) < 1) == inside
    # A rejected point leaves the draws in order, and the accepted one keeps the bits that were asked.
    tries = int(4 * 1.2733) + 4 * 2 + 16
    across = [2**62, SLANT + 2, SLANT, 2**61] + [2**60] * (tries - 4)
    points = _Points.draw(4, Scripted([*across, *across]), Scratch())
    assert points.at.tolist() == [0, 2, 3]
    assert points.s.tolist() == [2 * one**2 for one in points.x]
    assert list(points.drawn) == [1]
    assert points.drawn[1].u >> (points.drawn[1].bits - 63) == SLANT


def test_more_points_than_one_round_gives():
    """Draws of two rounds are joined in order, with their own words."""
    source = Randomness.seeded(3)
    first, second = _Points.draw(5, source, Scratch()), _Points.draw(7, source, Scratch())
    both = first.followed_by(second)
    for pair in range(12):
        lazy = both.lazy(pair)
        assert float(lazy.u) * 2.0**-63 == both.x[pair]
        assert float(lazy.v) * 2.0**-63 == both.y[pair]
    draws = Normals.draw(9, source)
    for index in range(9):
        pair, side = draws.lazy(index)
        assert pair.value(side, source) == pytest.approx(draws.values[index], rel=1e-12)
