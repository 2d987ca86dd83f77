"""Discrete Laplace noise and the exponential mechanism: exact laws, also where floats are in doubt."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet import PrivacyError, Randomness
from discreet.randomness import discrete_laplace as laplace_module
from discreet.randomness import exponential_choice as choice_module
from discreet.randomness.discrete_laplace import SMALLEST_RATE, discrete_laplace, geometric
from discreet.randomness.exponential_choice import exponential_choice


def surprise(draws, expected):
    """Pearson's statistic of counts against expected ones, and how many standard deviations too large it is."""
    statistic = float(((draws - expected) ** 2 / expected).sum())
    freedom = expected.size - 1
    return (statistic - freedom) / math.sqrt(2 * freedom)


def laplace_counts(rate, n, seed):
    """Counts of −15 … 15, everything beyond in the two outer cells."""
    draws = discrete_laplace(Fraction(rate), n, Randomness.seeded(seed))
    return np.bincount(np.clip(draws, -15, 15) + 15, minlength=31)


def laplace_law(rate, n):
    z = np.arange(-15, 16)
    law = math.tanh(rate / 2) * np.exp(-rate * np.abs(z))
    law[[0, -1]] /= -math.expm1(-rate)  # the tails
    return law * n


def test_discrete_laplace_has_its_law():
    """400,000 draws at two rates; a rate that is two per cent off is noticed."""
    n = 400_000
    for rate in (0.25, 1.0):
        assert surprise(laplace_counts(rate, n, 3), laplace_law(rate, n)) < 6
        assert surprise(laplace_counts(rate * 1.02, n, 3), laplace_law(rate, n)) > 6


def test_tails_go_on():
    """At a rate of 2⁻²⁰ draws reach far beyond a million, and their mean absolute value is that of the law."""
    rate = Fraction(1, 1 << 20)
    draws = discrete_laplace(rate, 100_000, Randomness.seeded(5))
    assert np.abs(draws).max() > 9 << 20
    assert abs(np.abs(draws).mean() / (1 << 20) - 1) < 6 / math.sqrt(100_000)


def test_draws_in_doubt_are_decided_by_their_bits(monkeypatch):
    """With an error so large that floats decide nothing the bits decide the same."""
    rate = Fraction(3, 1000)
    in_floats = geometric(rate, 500, Randomness.seeded(7))
    monkeypatch.setattr(laplace_module, "_DRAW_ERROR", 1.0)
    assert geometric(rate, 500, Randomness.seeded(7)).tolist() == in_floats.tolist()


def test_noise_that_cannot_be_drawn_exactly_is_refused():
    """A rate below the smallest one."""
    with pytest.raises(PrivacyError, match="larger epsilon"):
        discrete_laplace(SMALLEST_RATE / 2, 1, Randomness())


SCORES = np.array([0, 3, 3, 7, -20, 11])


def choice_counts(rate, n, seed):
    scores = np.tile(SCORES, (n, 1)).astype(np.int64)
    chosen = exponential_choice(scores, Fraction(rate), Randomness.seeded(seed))
    return np.bincount(chosen, minlength=SCORES.size)


def choice_law(rate, n):
    weights = np.exp(rate * (SCORES - SCORES.max()))
    return weights / weights.sum() * n


def test_choices_have_their_law():
    """Weights e^(rate·score), and all alike at rate zero; a rate that is three per cent off is noticed."""
    n = 300_000
    for rate in (0.0, 0.125, 0.25):
        assert surprise(choice_counts(rate, n, 1), choice_law(rate, n)) < 6
    assert surprise(choice_counts(0.1289, n, 1), choice_law(0.125, n)) > 6


def test_choices_in_doubt_are_decided_by_fractions(monkeypatch):
    """With an error so large that floats decide nothing the enclosures choose the same."""
    rng = np.random.default_rng(2)
    scores = rng.integers(-(10**6), 10**6, (40, 25))
    in_floats = exponential_choice(scores, Fraction(1, 10**5), Randomness.seeded(3))
    monkeypatch.setattr(choice_module, "_ERROR_PER_CANDIDATE", 1.0)
    assert exponential_choice(scores, Fraction(1, 10**5), Randomness.seeded(3)).tolist() == in_floats.tolist()


def test_scores_that_are_hopeless_are_never_chosen():
    """Differences beyond what any exponential holds, in floats and in fractions."""
    scores = np.array([[0, 1 << 50, 0]])
    assert exponential_choice(scores, Fraction(1), Randomness.seeded(1)).tolist() == [1]
    assert choice_module._exact_choice([1 << 50, 0, 1 << 50], Fraction(1), 5, Randomness.seeded(1)) == 1
