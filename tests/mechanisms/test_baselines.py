"""The exponential mechanism and two baselines, each at the ε that it really gives."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet import Grid, MechanismError, Ordinal
from discreet.domains import Metric
from discreet.mechanisms import ExponentialResponse
from discreet.mechanisms.exact_integers import power_of_two_rows
from discreet.mechanisms.published_baselines import (
    clamped_laplace,
    shared_prefixes,
    staircase_channel,
    staircase_response,
    tile_codes,
)

PLACES = np.column_stack([np.linspace(40, 41, 30), -100 + np.linspace(0, 1, 30) ** 2])


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize(
    "domain",
    [Ordinal(range(9)), Grid(0, 1, 20), Metric.points(range(30), PLACES, "haversine")],
    ids=["line", "grid", "map"],
)
def test_the_exponential_mechanism_realises_what_is_asked(domain, epsilon):
    """Calibrated it gives ε to nine digits; as usually written it gives less, and a larger loss."""
    calibrated = ExponentialResponse(domain, epsilon)
    published = ExponentialResponse.published(domain, epsilon)
    assert epsilon * (1 - 1e-9) <= calibrated.guarantee.epsilon <= epsilon
    assert published.guarantee.epsilon < 0.8 * epsilon
    loss = domain.loss_rows(np.arange(domain.size))
    assert (calibrated.matrix() * loss).mean() < (published.matrix() * loss).mean()


def test_probabilities_fall_exponentially_with_the_loss():
    """Log-probabilities within a row are a line in the loss."""
    domain = Ordinal(range(6))
    logs = np.log(ExponentialResponse(domain, 2.0).matrix())
    rates = [np.diff(logs[x])[np.diff(domain.loss_row(x)) > 0] for x in range(6)]
    assert np.ptp(np.concatenate(rates)) < 1e-9


def test_on_a_line_the_published_one_realises_half():
    """Between the two ends the normalisation is equal, so the ratio is that of the weights alone."""
    assert ExponentialResponse.published(Ordinal(range(50)), 1.0).guarantee.epsilon == pytest.approx(0.5, abs=1e-9)


def test_clamped_laplace_is_the_law_of_rounded_noise():
    """Simulated noise, clamped and rounded, follows the channel; the realised ε is below the nominal one."""
    positions, epsilon, n = np.array([0.0, 1.0, 2.5, 4.0]), 2.0, 400_000
    mechanism = clamped_laplace(positions, epsilon)
    rng = np.random.default_rng(8)
    for x, row in enumerate(mechanism.matrix()):
        noisy = np.clip(positions[x] + rng.laplace(scale=4 / epsilon, size=n), 0, 4)
        counts = np.bincount(np.abs(noisy[:, None] - positions).argmin(axis=1), minlength=4)
        assert np.all(np.abs(counts - n * row) < 6.5 * np.sqrt(n * row * (1 - row)))
    assert 0.9 * epsilon < mechanism.guarantee.epsilon < epsilon
    assert clamped_laplace(np.arange(7), 50.0).guarantee.epsilon == pytest.approx(46.5187, abs=1e-3)


def test_tile_codes_are_those_of_the_map():
    """A known code, one more digit per level, and near places share more of it."""
    assert tile_codes([[52.52, 13.405]], 6) == ["120210"]
    near, far = tile_codes([[52.5201, 13.4051], [48.85, 2.35]])
    shared = shared_prefixes([tile_codes([[52.52, 13.405]])[0], near, far])
    assert shared[0, 1] > 10 > shared[0, 2]
    assert shared[0, 0] == 23


def test_the_staircase_gives_away_more_than_it_says():
    """The ratio of its steps is e^ε, but the normalisation depends on the truth: the realised ε is larger."""
    codes = tile_codes(PLACES)
    for epsilon in (0.25, 1.0, 2.0):
        channel = staircase_channel(codes, epsilon)
        steps = (channel / channel.min(axis=1, keepdims=True)).max(axis=1)
        assert steps.max() == pytest.approx(math.exp(epsilon))
        assert staircase_response(codes, epsilon).guarantee.epsilon > 1.05 * epsilon
        assert np.all(np.argmax(channel, axis=1) <= np.arange(30))
        assert np.allclose(np.diag(channel), channel.max(axis=1))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ExponentialResponse([[0, 1], [1, 0], [1, 1]], 1.0), "square"),
        (lambda: ExponentialResponse([[0, 0], [0, 0]], 1.0), "zero"),
        (lambda: ExponentialResponse([[0, -1], [1, 0]], 1.0), "≥ 0"),
        (lambda: ExponentialResponse([[0, math.nan], [1, 0]], 1.0), "finite"),
        (lambda: ExponentialResponse(np.ones((3000, 3000)), 1.0), "2,048"),
        (lambda: clamped_laplace([0, 0], 1.0), "increase"),
        (lambda: clamped_laplace([1], 1.0), "two positions"),
        (lambda: staircase_response(["01"], 1.0), "two tile codes"),
        (lambda: staircase_response(["01", "1"], 1.0), "same length"),
        (lambda: staircase_response(["01", "12"], 1.0, groups=1), "groups"),
        (lambda: tile_codes([[89.0, 0.0]]), "85"),
        (lambda: tile_codes([[1.0, 2.0, 3.0]]), "latitude"),
        (lambda: power_of_two_rows(np.array([[1.0, 1e-90], [0.5, 0.5]])), "smaller ε"),
    ],
)
def test_bad_input_is_refused(make, message):
    """One clear sentence each."""
    with pytest.raises(MechanismError, match=message):
        make()
