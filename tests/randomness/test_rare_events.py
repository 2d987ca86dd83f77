"""Rare events: the exact law of their number, and independent rows."""

from __future__ import annotations

from decimal import ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import InputError, Randomness
from discreet.randomness import StreamKey
from discreet.randomness.bernoulli import BLOCK, MOST, RareEvents
from tests.randomness.scripted import Scripted

CHANCES = [Fraction(1, 128), Fraction(1, 385), Fraction(217, 100_000), Fraction(1, 10**7), Fraction(3, 2**70)]


def stream(partition=0):
    """The secure stream, and yet the same in every run."""
    return Randomness.keyed(StreamKey.of_seed(1), "noise", partition)


def by_decimals(chance, bits):
    """The first bits of the Poisson sums, by decimals of 900 digits."""
    with localcontext(prec=900):
        none = 1 - Decimal(chance.numerator) / Decimal(chance.denominator)
        mean = -BLOCK * none.ln()
        term = none**BLOCK
        sums, k = [term], 0
        while (1 - sums[-1]) * 2**bits > 1:
            k += 1
            term = term * mean / k
            sums.append(sums[-1] + term)
        return [int((one * 2**bits).to_integral_value(ROUND_FLOOR)) for one in sums]


@pytest.mark.parametrize("chance", CHANCES)
@pytest.mark.parametrize("bits", [64, 192])
def test_sums_are_right_to_their_last_bit(chance, bits):
    """Integers between two bounds and plain decimals of many digits agree on every bit."""
    assert RareEvents(chance).sums(bits) == by_decimals(chance, bits)


@settings(max_examples=40, deadline=None)
@given(st.fractions(min_value=Fraction(1, 10**12), max_value=MOST, max_denominator=10**15))
def test_more_bits_never_contradict_fewer(chance):
    """The first 64 of 128 bits are the 64 bits."""
    events = RareEvents(chance)
    short, long = events.sums(64), events.sums(128)
    assert short == [one >> 64 for one in long[: len(short)]]
    assert short[-1] == 2**64 - 1


@pytest.mark.parametrize("chance", CHANCES[:3])
def test_a_word_that_agrees_with_a_sum_goes_on(chance):
    """Just below and just above a sum, to the 128th bit, the number is that of the exact comparison."""
    events = RareEvents(chance)
    sums = events.sums(128)
    middle = int(BLOCK * chance)
    for k in (middle - 30, middle, middle + 30):
        first, second = divmod(sums[k], 2**64)
        assert events._numbers(np.array([first], np.uint64), Scripted([second - 1]))[0] == k
        assert events._numbers(np.array([first], np.uint64), Scripted([second + 1]))[0] == k + 1
        # Agreeing in 128 bits: the next 64 decide.
        third = events.sums(192)[k] % 2**64
        assert events._numbers(np.array([first], np.uint64), Scripted([second, third - 1]))[0] == k
        assert events._numbers(np.array([first], np.uint64), Scripted([second, third + 1]))[0] == k + 1


def test_a_word_of_ones_is_beyond_the_table():
    """The largest word has the number that further bits give it, not that of the last entry."""
    events = RareEvents(Fraction(1, 385))
    last = len(events.sums(64)) - 1
    ones = np.array([2**64 - 1], np.uint64)
    assert events._numbers(ones, Scripted([2**63]))[0] >= last
    assert events._numbers(ones, Scripted([2**64 - 2]))[0] > events._numbers(ones, Scripted([1]))[0]


@pytest.mark.parametrize("chance", CHANCES[:3])
def test_rows_have_events_with_their_chance_and_on_their_own(chance):
    """Shares of rows, of pairs of neighbours and of rows of one block agree with independence; 5 % more would show."""
    n = 1 << 25
    marked = np.zeros(n, np.int64)
    marked[RareEvents(chance).places(n, stream())] = 1
    c = float(chance)
    error = np.sqrt(n * c * (1 - c))
    assert abs(marked.sum() - n * c) < 6.5 * error
    assert abs(marked.sum() - 1.05 * n * c) > 6.5 * error
    for distance in (1, 7, BLOCK // 2, BLOCK):
        pairs = int((marked[distance:] & marked[:-distance]).sum())
        expected = (n - distance) * c * c
        assert abs(pairs - expected) < 6.5 * np.sqrt(expected) + 10
    per_block = marked.reshape(-1, BLOCK).sum(axis=1)
    spread = per_block.var(ddof=1) / (BLOCK * c * (1 - c))  # binomial, not Poisson and not constant
    assert abs(spread - 1) < 6.5 * np.sqrt(2 / per_block.size)
    by_place = marked.reshape(-1, BLOCK).sum(axis=0).reshape(64, -1).sum(axis=1)
    assert ((by_place - by_place.mean()) ** 2 / by_place.mean()).sum() < 63 + 10 * np.sqrt(126) + 40


@pytest.mark.parametrize("count", [0, 1, 100, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 77])
def test_places_are_rows(count):
    """Also where the last block is not full, whose rows have as many events as all others."""
    places = RareEvents(MOST).places(count, stream())
    assert places.size == 0 or (places.min() >= 0 and places.max() < count)
    full = RareEvents(MOST).places(-(-count // BLOCK) * BLOCK, stream())
    np.testing.assert_array_equal(places, full[full < count])


def test_impossible_chances():
    """Never is never; frequent events are refused."""
    assert RareEvents(Fraction(0)).places(10**6, stream()).size == 0
    for chance in (Fraction(-1, 10), Fraction(1, 127), Fraction(1)):
        with pytest.raises(InputError, match="from 0 to 1/128"):
            RareEvents(chance)
