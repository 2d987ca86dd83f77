"""Weights and levels at the edge of what numbers hold: right, or refused in one sentence."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import Box, Ordinal, design
from discreet.errors import MechanismError, PrivacyError
from discreet.mechanisms import (
    BipartiteResponse,
    ExponentialResponse,
    GeneralizedResponse,
)
from discreet.mechanisms.published_baselines import calibrated_staircase, square_codes


def answer(make):
    """The guarantee of what was made, or the sentence with which it was refused."""
    try:
        return make().guarantee
    except PrivacyError as error:
        return str(error)


LOSSES = [[0, 1, 2], [1, 0, 1], [2, 1, 0]]


@pytest.mark.parametrize("kind", [np.int64, np.uint64, int])
def test_weights_of_numpy_do_not_overflow(kind):
    """2^62 and 2^60 are a ratio of four, whatever type they come in."""
    big, small = kind(2**62), kind(2**60)
    assert GeneralizedResponse.from_weights(4, big, small).guarantee.epsilon == pytest.approx(np.log(4))
    assert BipartiteResponse.from_weights(4, 2, big, small).guarantee.epsilon == pytest.approx(np.log(4))
    assert type(GeneralizedResponse.from_weights(4, big, small).keep) is int


@pytest.mark.parametrize("bad", [2.5, "3", True, np.float64(3)])
def test_weights_that_are_no_whole_numbers_are_refused(bad):
    """Not rounded, not read from text."""
    with pytest.raises(MechanismError, match="must be a whole number"):
        GeneralizedResponse.from_weights(3, bad, 1)
    with pytest.raises(MechanismError, match="must be a whole number"):
        BipartiteResponse.from_weights(3, 1, 5, bad)


@pytest.mark.parametrize("epsilon", [1e-16, 1e-12, 1e-9, 1e-7, 1e-5, 1.0])
def test_small_levels_are_met_to_nine_digits_or_refused(epsilon):
    """Exact integers meet any level; channels computed in floats say when they cannot."""
    makers = [
        lambda: design.binary(epsilon).mechanism,
        lambda: GeneralizedResponse(3, epsilon),
        lambda: BipartiteResponse(4, 2, epsilon),
        lambda: ExponentialResponse(LOSSES, epsilon),
        lambda: calibrated_staircase(square_codes([[0, 0], [1, 1], [2, 5], [7, 7]], 3), epsilon, 3),
        lambda: design.expected_error(Ordinal(list("abcd")), epsilon).mechanism,
    ]
    for number, make in enumerate(makers):
        found = answer(make)
        if isinstance(found, str):
            assert number >= 3
            assert epsilon < 1e-5
            assert "too small" in found or "at least" in found
        else:
            assert epsilon * (1 - 1e-9) <= found.epsilon <= epsilon


@pytest.mark.parametrize("epsilon", [1e-16, 1e-9, 170.0, 710.0])
@pytest.mark.parametrize("delta", [0.0, 1e-9, 0.1])
@pytest.mark.parametrize("prevalence", [None, 0.1, (0.1, 0.4)])
def test_binary_designs_at_extreme_levels(epsilon, delta, prevalence):
    """Within nine digits of what was asked, or a sentence that names epsilon; never an overflow."""
    found = answer(lambda: design.binary(epsilon, delta, prevalence).mechanism)
    if isinstance(found, str):
        assert "epsilon" in found
        return
    assert found.fits(epsilon, delta)
    assert found.delta >= delta * (1 - 2e-9)
    assert delta > 0 or found.epsilon >= epsilon * (1 - 2e-9)


@pytest.mark.parametrize("target", ["mean", "median"])
@pytest.mark.parametrize("delta", [3e-9, 2e-8, 5e-8])
def test_small_deltas_of_noise_are_met(delta, target):
    """Down to 2e-9, for smooth and kinked targets."""
    for dimension in (1, 2):
        mechanism = design.zero_inflated_laplace(
            Box([0] * dimension, [1] * dimension), 1.0, delta, target=target
        ).mechanism
        assert 0.98 * delta < mechanism.guarantee.delta <= delta


def test_one_dimension_needs_no_delta_and_several_do():
    """δ = 0 is the Laplace mechanism, λ = √2 w/ε; in two dimensions one sentence says why not."""
    for epsilon in (1e-3, 1.0, 44.0):
        mechanism = design.zero_inflated_laplace(Box(0, 10), epsilon, 0.0).mechanism
        assert mechanism.guarantee.pure
        assert mechanism.scale[0] == pytest.approx(10 * np.sqrt(2) / epsilon, rel=1e-12)
    for delta in (0.0, 1e-12, 2e-9):
        with pytest.raises(PrivacyError, match="delta must be above 2e-09"):
            design.zero_inflated_laplace(Box([0, 0], [1, 1]), 1.0, delta)
    with pytest.raises(PrivacyError, match="delta must be 0"):
        design.zero_inflated_laplace(Box(0, 1), 1.0, 1e-12)
