"""Exact draws, fresh bytes."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import InputError, Randomness
from discreet.randomness import AliasTable, Thresholds, chosen, permutation, sampling, uniform


class Scripted(Randomness):
    """Bytes from a given list, to force ties and deep comparisons."""

    def __init__(self, script):
        super().__init__()
        self.script = list(script)

    def bytes(self, count):
        out, self.script = self.script[:count], self.script[count:]
        assert len(out) == count
        return np.array(out, np.uint8)

    draws = bytes


@given(st.integers(1, 10**30), st.data())
def test_a_comparison_decides_as_the_exact_number_would(denominator, data):
    """Reading u = 0.b₁b₂… digit by digit, "yes" means u < t/d exactly, however deep the tie goes."""
    numerator = data.draw(st.integers(0, denominator))
    thresholds = Thresholds([numerator], denominator)
    exact = Fraction(numerator, denominator)
    draws = data.draw(st.lists(st.integers(0, 255), min_size=4, max_size=4))
    # Follow the threshold's own digits for a while, then leave it: the hardest case.
    depth = data.draw(st.integers(0, 3))
    digits, rest = [], exact
    for _ in range(40):
        rest *= 256
        digits.append(min(255, int(rest)) if exact == 1 else int(rest))
        rest -= int(rest)
    # numpy reads words little-endian: each run of eight bytes is reversed.
    value = digits[: 1 + 8 * depth] + draws[:1] + [data.draw(st.integers(0, 255)) for _ in range(39 - 8 * depth - 1)]
    script = value[:1] + [b for i in range(1, len(value) - 7, 8) for b in reversed(value[i : i + 8])]
    u = sum(Fraction(b, 256 ** (i + 1)) for i, b in enumerate(value[: 1 + 8 * ((len(value) - 1) // 8)]))
    said = bool(thresholds.below(1, Scripted(script))[0])
    used = len(value) - 1
    if abs(u - exact) > Fraction(1, 256**used):
        assert said == (u < exact)


@pytest.mark.parametrize("p", [Fraction(0), Fraction(1)])
def test_certainty_is_certain(p):
    """Probability zero never happens and probability one always does, over a million draws."""
    draws = Thresholds([p.numerator], p.denominator).below(1_000_000, Randomness.seeded(1))
    assert draws.all() if p == 1 else not draws.any()


@pytest.mark.parametrize(
    "p", [Fraction(1, 3), Fraction(1, 256), Fraction(255, 256), Fraction(1, 10**6), Fraction(2, 7)]
)
def test_frequencies_of_exact_draws(p):
    """Draws come with their probability, and a probability off by 2 % would be noticed."""
    n = 4_000_000
    hits = int(Thresholds([p.numerator], p.denominator).below(n, Randomness.seeded(2)).sum())
    error = float((n * p * (1 - p)) ** Fraction(1, 2))
    assert abs(hits - n * p) < 6.5 * error
    if p > Fraction(1, 100) and p < Fraction(9, 10):
        assert abs(hits - n * p * Fraction(98, 100)) > 6.5 * error


def test_three_ways_to_compare_agree():
    """One threshold, a table of thresholds and the binary shortcut decide alike on the same bytes."""
    codes = np.tile(np.array([0, 1], np.uint8), 5000)
    table = Thresholds([1, 5], 7)
    by_table = table.below_each(codes, Randomness.seeded(4))
    by_arithmetic = table.below_binary(codes, Randomness.seeded(4))
    assert np.array_equal(by_table, by_arithmetic)
    single = Thresholds([5], 7)
    assert np.array_equal(
        single.below(1000, Randomness.seeded(4)), table.below_each(np.ones(1000, int), Randomness.seeded(4))
    )


@pytest.mark.parametrize("size", [1, 2, 3, 16, 17, 255, 256, 257, 1000, 1025, 70_000])
def test_uniform_draws_are_uniform(size):
    """Every value is equally likely: χ² far from its extreme tail; the ends are reached."""
    n = 400_000
    draws = uniform(size, n, Randomness.seeded(6))
    assert draws.min() >= 0
    assert draws.max() < size
    counts = np.bincount(draws, minlength=size)
    chi2 = ((counts - n / size) ** 2 / (n / size)).sum()
    assert chi2 < size - 1 + 10 * np.sqrt(2 * size) + 40
    biased = np.bincount(np.minimum(draws, max(size - 2, 0)), minlength=size)
    if 1 < size < 1000:
        assert ((biased - n / size) ** 2 / (n / size)).sum() > size - 1 + 10 * np.sqrt(2 * size) + 40


def test_uniform_refuses_impossible_sizes():
    """No values, or more than the generator's words can hold."""
    with pytest.raises(InputError):
        uniform(0, 1, Randomness())
    with pytest.raises(InputError):
        uniform(1 << 27, 1, Randomness())


def test_permutations_are_uniform_and_complete():
    """All 24 orders of four things come equally often."""
    source = Randomness.seeded(8)
    n = 24_000
    orders = np.array([permutation(4, source) for _ in range(n)])
    _, counts = np.unique(orders, axis=0, return_counts=True)
    assert counts.size == 24
    assert ((counts - 1000) ** 2 / 1000).sum() < 23 + 10 * np.sqrt(46) + 40
    assert sorted(permutation(1000, source)) == list(range(1000))
    assert permutation(0, source).size == 0


def test_permutation_draws_again_when_keys_repeat():
    """Repeated keys would favour the original order."""
    same, different = [1] * 16, [1] * 8 + [2] * 8
    assert list(permutation(2, Scripted(same + different))) == [0, 1]


def test_alias_cells_reproduce_the_row_exactly():
    """Adding up thresholds over cells gives back every weight, by integer arithmetic."""
    rows = [[5, 0, 7, 1, 3], [16, 0, 0, 0, 0], [3, 3, 3, 3, 4]]
    table = AliasTable(rows, 16)
    cells = 8
    numerators = np.array(table._thresholds.numerators, dtype=object).reshape(3, cells)
    alias = table._alias.reshape(3, cells)
    for x, row in enumerate(rows):
        mass = [0] * cells
        for cell in range(cells):
            mass[cell] += numerators[x, cell]
            mass[alias[x, cell]] += 16 - numerators[x, cell]
        assert mass == [weight * cells for weight in row] + [0] * 3


def test_secure_source_is_fresh_and_marked():
    """Secure bytes do not repeat; a seeded source says so and repeats."""
    assert not np.array_equal(Randomness().bytes(32), Randomness().bytes(32))
    assert np.array_equal(Randomness.seeded(1).bytes(32), Randomness.seeded(1).bytes(32))
    assert Randomness().to_dict() == {"secure": True, "source": "AES-256-CTR, keyed by OpenSSL"}
    assert Randomness.seeded(12345).to_dict()["secure"] is False
    assert "12345" not in str(Randomness.seeded(12345).to_dict())
    assert Randomness().bytes(3_000_000).size == 3_000_000


@pytest.mark.parametrize("bad", [-1, 1.5, "7", None, True])
def test_seeds_are_checked(bad):
    """A seed is a whole number."""
    with pytest.raises(InputError, match="seed"):
        Randomness.seeded(bad)


def _child(queue, source):
    queue.put(source.bytes(32).tobytes())


def test_forked_processes_do_not_repeat_their_parent():
    """A child that inherits the source draws other bytes than its parent and its sibling."""
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    source = Randomness()
    source.bytes(32)
    children = [context.Process(target=_child, args=(queue, source)) for _ in range(3)]
    for child in children:
        child.start()
    drawn = {queue.get(timeout=30) for _ in children}
    for child in children:
        child.join()
    drawn.add(source.bytes(32).tobytes())
    assert len(drawn) == 4


def test_threads_do_not_share_a_stream():
    """Sixteen threads drawing at once get sixteen different blocks."""
    source = Randomness()
    with ThreadPoolExecutor(8) as pool:
        blocks = list(pool.map(lambda _: source.bytes(64).tobytes(), range(16)))
    assert len(set(blocks)) == 16


@pytest.mark.parametrize("size", [0, 1, 7, 8, 16, 4096, 4099, 8192])
@pytest.mark.parametrize("share", [0.0, 0.004, 0.5, 1.0])
def test_few_marks_are_found_as_numpy_finds_them(size, share):
    """At every size and density, in order."""
    marks = np.random.default_rng(size).random(size) < share
    np.testing.assert_array_equal(sampling.sparse_places(marks), np.flatnonzero(marks))


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.uint32])
def test_choosing_by_bits_is_choosing(kind):
    """The same as ``np.where``, for codes of any integer type."""
    rng = np.random.default_rng(1)
    where, no = rng.random(1000) < 0.5, rng.integers(0, np.iinfo(kind).max, 1000, dtype=kind, endpoint=True)
    yes = rng.integers(0, 200, 1000)
    np.testing.assert_array_equal(chosen(where, yes, no), np.where(where, yes, no))
    assert chosen(where, yes, no).dtype == kind
