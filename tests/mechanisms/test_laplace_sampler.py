"""The released numbers follow the ideal law, at any ε: the stated δ holds for what the sampler really does."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pytest
from scipy.special import ndtr

from discreet.domains.box import Box
from discreet.mechanisms.laplace import ZeroInflatedLaplace
from discreet.mechanisms.laplace.sampler import noisy_steps
from discreet.randomness import Randomness, Thresholds
from discreet.randomness import continuous as draws
from discreet.randomness.scratch import Scratch
from tests.randomness.scripted import Scripted
from tests.randomness.test_lazy import MANY, directly

LEVELS = [1.0, 10.0, 44.0, 80.0]
#: The far end of a law of W with so many bits, and how much of its tail is written out atom by atom.
ATOMS = 4096


def tail(t, bits):
    """P(√W·N < −t) when W = −ln((k + ½)/2^bits): the last atoms one by one, the others as the density they resemble."""
    k = np.arange(ATOMS)
    atoms = -(np.log(k + 0.5) - bits * math.log(2))
    value = float(ndtr(-t / np.sqrt(atoms)).sum()) * 2.0**-bits
    end = math.sqrt(bits * math.log(2) - math.log(ATOMS))
    nodes, weights = np.polynomial.legendre.leggauss(60)
    for low, high in zip(*(np.linspace(0, end, 81)[cut] for cut in (slice(-1), slice(1, None))), strict=True):
        root = (low + high) / 2 + (high - low) / 2 * nodes
        value += float((weights * (high - low) / 2) @ (2 * root * np.exp(-(root**2)) * ndtr(-t / root)))
    return value


def realised(epsilon, c, bits):
    """δ that an adversary gets with "the report lies far on the first truth's other side", for this law of W."""
    return max(tail(t, bits) - math.exp(epsilon) * tail(t + c, bits) for t in np.linspace(0, 8, 17))


def test_the_tail_formula_is_the_laplace_tail():
    """With many bits it is e^{−√2 t}/2, far out too."""
    for t in (0.0, 1.0, 30.0, 60.0):
        assert tail(t, 511) == pytest.approx(math.exp(-math.sqrt(2) * t) / 2, rel=1e-11)


@pytest.mark.parametrize("epsilon", LEVELS)
def test_the_stated_delta_holds_for_the_sampler_itself(epsilon):
    """One coordinate at δ = 1e-6. W has as many bits as are needed: with 127 of them no δ is above the stated one."""
    c = (epsilon - 2 * math.log1p(-1e-6)) / math.sqrt(2)
    mechanism = ZeroInflatedLaplace(Box(0, 1), 1 / c, 0.0, epsilon)
    stated = mechanism.guarantee.delta
    assert stated == pytest.approx(1e-6, rel=1e-3)
    assert mechanism.sampling_slack == 0
    assert realised(epsilon, c, 511) <= stated * (1 + 1e-5)
    # What the earlier sampler, with 52 bits, really gave: right at small ε, wrong at large.
    earlier = realised(epsilon, c, 52)
    if epsilon > 40:
        assert earlier > 50 * stated
    honest = ZeroInflatedLaplace(Box(0, 1), 1 / c, 0.0, epsilon, sampling="52-bit").guarantee.delta
    assert earlier <= honest
    assert honest == 1.0 if epsilon > 40 else honest < 3e-5


def test_figures_of_the_earlier_sampler():
    """At ε = 44 it stated 1e-6 where 8.6e-5 is real, at ε = 80 at least .37."""
    for epsilon, least in ((44.0, 8.5e-5), (80.0, 0.37)):
        c = (epsilon - 2 * math.log1p(-1e-6)) / math.sqrt(2)
        assert realised(epsilon, c, 52) >= least


#: Words for W, at most of which floats are in doubt.
EXTREME_W = [0, 2, 2**41, 2**64 - 1, 2**63, 2**64 - 2**42, 2**62, 12345 << 40]


def test_every_report_is_the_rounded_function_of_its_bits():
    """All numbers of a batch with extreme words, against 400 digits; without asking the bits some would be wrong."""
    rows, columns = len(EXTREME_W), 3
    count = rows * columns
    pairs = (count + 1) // 2
    tries = int(pairs * 1.2733) + 4 * int(pairs**0.5) + 16
    rng = np.random.default_rng(5)
    u = [
        0,
        1,
        -(2**41),
        2**62,
        -(2**63) + 2**30,
        2**63 - 2**40,
        2**20,
        5,
        *rng.integers(-(2**62), 2**62, tries - 8).tolist(),
    ]
    v = [0, -3, 2**41, 2**62, 0, 2**20, 2**63 - 2**41, -5, *rng.integers(-(2**62), 2**62, tries - 8).tolist()]
    truth = rng.integers(0, 1000, (rows, columns)) / 64 + 2.0**-40
    scale = np.tile([4096.0, 1.0, 2.0**20], (rows, 1))
    out = np.empty((rows, columns))
    noisy_steps(truth, out, scale, None, Scripted([*u, *v, *EXTREME_W]))
    kept = draws._Points.draw(pairs, Scripted([*u, *v]), Scratch()).at
    for place in range(count):
        row, column = divmod(place, columns)
        side, pair = divmod(place, pairs)
        noise = directly(EXTREME_W[row] >> 1, u[kept[pair]], v[kept[pair]], side)
        exact = MANY.add(MANY.multiply(noise, Decimal(scale[0, column])), Decimal(truth[row, column]))
        assert out[row, column] == float(exact.to_integral_value()), (row, column)


def test_doubtful_numbers_are_few_and_each_is_decided(monkeypatch):
    """With floats in doubt everywhere the reports are the same as with floats trusted wherever they may be."""
    mechanism = ZeroInflatedLaplace(Box([0, 0], [1, 1]), 2.0, 0.2)
    x = np.random.default_rng(1).random((60, 2))
    fast = mechanism.privatize(x, Randomness.seeded(4))
    monkeypatch.setattr("discreet.mechanisms.laplace.sampler.PRODUCT_ERROR", 1.0)
    np.testing.assert_array_equal(mechanism.privatize(x, Randomness.seeded(4)), fast)


def test_exact_records_stay_exact_whatever_the_noise_would_be():
    """Zero noise beside words that floats cannot hold; ties are rounded to even as in the batch."""
    rows = np.array([[0.5, 1.5, 2.5], [7.25, 8.0, -0.5]])
    out = np.empty_like(rows)
    noisy_steps(rows, out, np.ones((2, 3)), Thresholds([1], 1), Scripted([0] * 100))
    np.testing.assert_array_equal(out, np.rint(rows))
