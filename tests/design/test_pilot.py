"""The pilot: two waves, one answer each, and a guarantee that covers both."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from discreet import EstimationError, Randomness, estimate
from discreet.design import label_with_pilot


def data(n, seed=0):
    """Covariates and labels with few "yes": a corner design pays."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.normal(size=n)])
    y = (rng.random(n) < 1 / (1 + np.exp(3 - 0.8 * X[:, 1]))).astype(np.uint8)
    return X, y


def test_everybody_answers_once_under_a_known_design():
    """Pilot and rest partition the people, and p00, p11 say who answered under which design."""
    X, y = data(20_000)
    done = label_with_pilot(y, X, 1.0, 0.3, share=0.2, randomness=Randomness.seeded(1))
    assert done.pilot.sum() == 4000
    keep = math.e / (1 + math.e)
    assert np.allclose(done.p00[done.pilot], keep)
    assert np.allclose(done.p00[~done.pilot], float(done.design.mechanism.p00))
    assert np.allclose(done.p11[~done.pilot], float(done.design.mechanism.p11))
    assert done.design.mechanism.p00 == 1  # rare "yes": the corner is best
    json.dumps(done.to_dict())
    assert "Pilot of 4,000" in str(done)


def test_the_guarantee_is_the_weaker_of_the_two():
    """A pilot at a larger ε counts, and δ and exposure come from the second wave."""
    X, y = data(5_000)
    done = label_with_pilot(y, X, 1.0, 0.3, pilot_epsilon=1.5, randomness=Randomness.seeded(2))
    assert done.guarantee.epsilon == pytest.approx(1.5)
    assert done.guarantee.epsilon <= 1.5
    assert done.guarantee.delta == pytest.approx(0.3)
    assert done.guarantee.unit == "label"


def test_the_regression_on_both_waves_is_right():
    """The fit on all reports, each corrected by its own design, finds the true coefficients."""
    X, y = data(60_000, seed=3)
    done = label_with_pilot(y, X, 1.0, 0.3, randomness=Randomness.seeded(3))
    fit = estimate.binary_regression(X, done.reports, done.p00, done.p11)
    assert np.all(np.abs(fit.coefficients - [-3, 0.8]) < 5 * fit.std_error)


def test_the_pilot_pays():
    """With rare "yes" the two-wave design has clearly smaller errors than the symmetric one for everybody."""
    X, y = data(40_000, seed=4)
    done = label_with_pilot(y, X, 1.0, 0.3, randomness=Randomness.seeded(4))
    two_waves = estimate.binary_regression(X, done.reports, done.p00, done.p11).std_error
    from discreet import design

    plain = design.binary(1.0).mechanism
    p = float(plain.p00)
    one_wave = estimate.binary_regression(X, plain.privatize(y, Randomness.seeded(5)), p, p).std_error
    assert np.all(two_waves < 0.7 * one_wave)


@pytest.mark.parametrize("arguments", [{"share": 0}, {"share": 1}, {"share": 0.0001}, {"labels": np.zeros(3)}])
def test_impossible_pilots_are_refused(arguments):
    """One clear sentence."""
    X, y = data(1000)
    with pytest.raises(EstimationError):
        label_with_pilot(**({"labels": y, "covariates": X, "epsilon": 1.0} | arguments))
