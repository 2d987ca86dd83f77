"""Coins: a byte per row and rare second tosses have exactly the probability that was asked for."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import Randomness
from discreet.mechanisms import BinaryResponse
from discreet.randomness import Coins, StreamKey
from discreet.randomness.bernoulli import MOST, FirstByte
from tests.randomness.scripted import Scripted

PROBABILITIES = [
    Fraction(1, 3),
    Fraction(139, 512),
    Fraction(1, 256),
    Fraction(2, 7),
    Fraction(1, 10**6),
    Fraction(999, 1000),
    Fraction(1),
]


def stream(partition=0):
    """The secure stream, and yet the same in every run."""
    return Randomness.keyed(StreamKey.of_seed(2), "noise", partition)


@given(st.fractions(min_value=0, max_value=1))
def test_a_byte_and_a_second_toss_make_the_probability(p):
    """By fractions: (1 − c)·t/256 + c·s = p with a probability s, and second tosses are rare."""
    coins = Coins([p.numerator], p.denominator)
    (first,), c = coins.bytes, coins.events.chance
    (s,) = coins.second
    assert 0 <= first.below <= 256
    assert (1 - c) * Fraction(first.below, 256) + c * s == p
    assert c == first.again <= MOST
    assert s in (0, 1)


@given(st.fractions(min_value=0, max_value=1), st.fractions(min_value=0, max_value=1))
def test_two_coins_share_their_second_tosses(p, q):
    """Both probabilities are met exactly although second tosses come equally often for both."""
    denominator = p.denominator * q.denominator
    coins = Coins([int(p * denominator), int(q * denominator)], denominator)
    c = coins.events.chance
    for first, s, target in zip(coins.bytes, coins.second, (p, q), strict=True):
        assert 0 <= s <= 1
        assert (1 - c) * Fraction(first.below, 256) + c * s == target
    assert c <= MOST


def test_the_nearer_multiple_is_taken():
    """Just below a multiple of 1/256 few are turned to "no", just above few to "yes"."""
    assert FirstByte.of(Fraction(69, 256) - Fraction(1, 10**6)) == (69, Fraction(256, 69 * 10**6))
    assert FirstByte.of(Fraction(69, 256) + Fraction(1, 10**6)) == (69, Fraction(256, 187 * 10**6))
    assert FirstByte.of(Fraction(69, 256)) == (69, 0)


def test_a_second_toss_that_ties_goes_on():
    """Words that agree with the first 32 bits of a probability are decided by further bits, exactly."""
    coins = Coins([123_457, 654_321], 1_000_003)
    code = next(i for i, s in enumerate(coins.second) if s not in (0, 1))
    first, rest = divmod(math.floor(coins.second[code] * 2**96), 2**64)
    codes = np.array([code], np.uint8)
    for more, expected in ((rest - 1, True), (rest + 1, False)):
        script = Scripted([first, more])
        script.words = lambda count, dtype=np.uint64, script=script: np.array([script.script.pop(0)], dtype)
        assert coins._second_tosses(codes, script)[0] == expected
    sure = Coins([7, 0], 7)
    assert sure._second_limits.max() == 0  # no second tosses
    certain = Coins([139, 1], 512)  # the first is rounded down, so that a second toss is a "yes"
    ones = Scripted([2**32 - 1])
    ones.words = lambda count, dtype=np.uint64: np.array([2**32 - 1], dtype)
    assert certain.second[0] == 1
    assert certain._second_tosses(np.array([0], np.uint8), ones)[0]


@pytest.mark.parametrize("p", PROBABILITIES)
def test_every_way_to_toss_has_the_probability(p):
    """Plain tosses, codes that are turned and one coin for each code, in the stream; 2 % off would be noticed."""
    n = 6_000_000
    codes = (np.arange(n) % 3 == 0).astype(np.uint8)
    coins, turned, each = Coins([p.numerator], p.denominator), np.empty(n, np.uint8), np.empty(n, np.bool_)
    coins.turn(codes, stream(1), turned)
    two = Coins([p.numerator, p.denominator - p.numerator], p.denominator)
    two.toss_each(codes, stream(2), each)
    assert set(np.unique(turned)) <= {0, 1}
    shares = [coins.toss(n, stream(0)), turned ^ codes, (turned ^ codes)[codes == 1]]
    shares += [each[codes == 0], ~each[codes == 1]]
    for said in shares:
        error = float(said.size * p * (1 - p)) ** 0.5
        assert abs(int(said.sum()) - said.size * p) <= 6.5 * error
        if Fraction(1, 100) < p < Fraction(9, 10):
            assert abs(int(said.sum()) - said.size * p * Fraction(98, 100)) > 6.5 * error


def test_second_tosses_put_the_bytes_right():
    """Without them the share is 1/512 too low, which as many tosses as above show: the test has teeth."""
    n, p = 6_000_000, Fraction(139, 512)
    coins = Coins([139], 512)
    coins.__dict__["events"] = Coins([1], 1).events  # none
    said = coins.toss(n, stream())
    assert abs(int(said.sum()) - n * p) > 6.5 * float(n * p * (1 - p)) ** 0.5


@pytest.mark.parametrize(("no", "yes"), [(0, 7), (7, 0), (0, 0), (7, 7), (1, 7), (7, 6), (0, 3)])
def test_certainty_is_certain_for_each_code(no, yes):
    """Probabilities of zero and one never fail, beside each other and beside others."""
    codes = np.tile(np.array([0, 1], np.uint8), 500_000)
    out = np.empty(codes.size, np.bool_)
    Coins([no, yes], 7).toss_each(codes, stream(), out)
    for code, t in enumerate((no, yes)):
        share = out[codes == code].mean()
        assert share == t / 7 if t in (0, 7) else abs(share - t / 7) < 6.5 * (t / 7 * (1 - t / 7) / 500_000) ** 0.5


@pytest.mark.parametrize("n", [0, 1, 1000, (1 << 15) - 1, 1 << 15, (1 << 20) + 1])
def test_any_number_of_rows(n):
    """Few rows, many, and none."""
    coins, codes = Coins([2, 5], 7), np.zeros(n, np.uint8)
    out = np.empty(n, np.bool_)
    coins.toss_each(codes, stream(), out)
    assert Coins([2], 7).toss(n, stream()).shape == (n,)
    assert n < 1000 or 0.2 < out.mean() < 0.4


def test_rows_are_independent():
    """Neighbours, and rows a step or a block apart, say "yes" together as often as chance has it."""
    n, p = 1 << 23, 0.6
    said = Coins([3], 5).toss(n, stream(3)).astype(np.int8)
    for distance in (1, 8, 1 << 16, 1 << 20):
        both = int((said[distance:] & said[:-distance]).sum())
        # The variance of the count of pairs, which overlap: p²(1 − p²) + 2p³(1 − p) each.
        error = np.sqrt((n - distance) * (p**2 * (1 - p**2) + 2 * p**3 * (1 - p)))
        assert abs(both - (n - distance) * p**2) < 6.5 * error


def test_a_seed_means_the_same_in_every_version():
    """A seeded source is read digit by digit, half a million rows at a time, as it has always been."""
    coins, n = Coins([2], 7), 600_000
    codes, out, each = np.zeros(n, np.uint8), np.empty(n, np.uint8), np.empty(n, np.bool_)
    coins.turn(codes, Randomness.seeded(4), out)
    Coins([2, 5], 7).toss_each(codes, Randomness.seeded(4), each)
    source = Randomness.seeded(4)
    expected = np.concatenate([coins.digits.below(part, source) for part in (1 << 19, n - (1 << 19))])
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(each, expected)
    assert int(BinaryResponse.forced("1/6", "1/6").privatize(codes, Randomness.seeded(1)).sum()) == 99977
