"""Ways to release numbers side by side: the figures are those of the designs themselves."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet import Box, DesignError, Grid, PrivacyError, Randomness, design, estimate
from discreet.design.numbers.mean_variance import finite_mean_margin, mean_variance, noisy_mean_variance
from discreet.errors import NotIdentifiedError
from discreet.mechanisms import GeneralizedResponse, ZeroInflatedLaplace


def test_one_number_at_pure_epsilon():
    """Unbiased numbers first; bipartite response does not identify a mean; nobody is exposed."""
    table = design.compare_numbers(Grid(0, 60, 13), 1.0, 10_000)
    assert [one.name for one in table.contenders] == [
        "unbiased numbers",
        "Laplace noise",
        "generalised response",
        "bipartite",
    ]
    assert math.isinf(table["bipartite"].variance)
    assert table["unbiased numbers"].margin(10_000) == pytest.approx(
        finite_mean_margin(design.mean(Grid(0, 1, 9), 1.0).mechanism, 10_000)
    )
    assert table["Laplace noise"].variance == pytest.approx(2.25)
    assert "not identified" in table.summary()
    with pytest.raises(DesignError, match="unbiased numbers"):
        table["magic"]


def test_two_numbers_with_delta():
    """One column per person at pure ε comes close to noise with δ = .1, and beats sharing ε."""
    table = design.compare_numbers(Box([0, 0], [1, 10]), 1.0, 10_000, 0.1)
    names = [one.name for one in table.contenders]
    assert names.index("unbiased numbers, one column per person") < names.index("unbiased numbers")
    noise, share = table["noise for vectors"], table["a random share published, nothing else"]
    assert noise.exposed == pytest.approx(0.05)
    assert share.variance == pytest.approx(2.5)
    assert (share.epsilon, share.delta) == (0.0, 0.1)
    assert table.to_dict()["contenders"][0]["exposed"] == pytest.approx(500)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_the_worst_variance_of_a_mean(epsilon):
    """No distribution of the truth has more, and one has as much."""
    mechanism = design.mean(Grid(-1, 1, 7), epsilon).mechanism
    points, moments = np.array(mechanism.points), mechanism.matrix() @ mechanism.values**2
    worst = mean_variance(mechanism)
    p = np.random.default_rng(0).dirichlet(np.full(7, 0.3), 20_000)
    reached = p @ moments - (p @ points) ** 2
    assert reached.max() <= worst + 1e-9
    ends = np.zeros(7)
    ends[[0, -1]] = 0.5
    assert max(reached.max(), ends @ moments) > 0.99 * worst


def test_the_worst_variance_of_a_generalised_column():
    """By its own inverse; a channel that does not tell the mean is refused."""
    mechanism = GeneralizedResponse(4, 1.0)
    points = np.arange(4.0)
    scores = mechanism.inverse.scores(points - 1.5)
    moments = mechanism.matrix() @ scores**2
    assert mean_variance(mechanism, points) == pytest.approx(float(np.array([0.5, 0, 0, 0.5]) @ moments))
    with pytest.raises(NotIdentifiedError):
        mean_variance(design.bipartite(Grid(0, 1, 9), 1.0).mechanism, np.linspace(0, 1, 9))
    with pytest.raises(DesignError, match="positions"):
        mean_variance(mechanism)
    with pytest.raises(DesignError, match="4 numbers"):
        mean_variance(mechanism, [1, 2])


def test_the_worst_variance_with_noise_is_reached():
    """Truths at both ends: the variance of the estimator, by simulation."""
    mechanism = ZeroInflatedLaplace(Box(0, 1), 1.3, 0.05)
    n = 300_000
    truths = np.repeat([0.0, 1.0], n // 2)
    reports = mechanism.privatize(truths[:, None], Randomness.seeded(2))[:, 0]
    simulated = estimate.mean(reports, mechanism).std_error[0] ** 2 * n
    worst = noisy_mean_variance(1.3, 0.05)
    assert simulated <= worst * 1.02
    assert worst < 1.05 * simulated
    assert noisy_mean_variance(1.3, 0.0) == 0.25 + 1.3**2


@pytest.mark.parametrize(
    ("arguments", "kind", "says"),
    [
        (((0, 1), 1.0, 10), DesignError, "Box"),
        ((Box(0, 1), 0.0, 10), PrivacyError, "epsilon"),
        ((Box(0, 1), 1.0, 0), DesignError, "n must"),
        ((Box(0, 1), 1.0, 10, 1.0), PrivacyError, "delta"),
    ],
)
def test_bad_input(arguments, kind, says):
    """One sentence each."""
    with pytest.raises(kind, match=says):
        design.compare_numbers(*arguments)
