"""The pilot: two waves, one answer each, and a guarantee that covers both."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from discreet import DesignError, Randomness, design, estimate
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
    with pytest.raises(DesignError):
        label_with_pilot(**({"labels": y, "covariates": X, "epsilon": 1.0} | arguments))


def test_a_pilot_that_says_little_is_not_taken_at_its_word():
    """With n = 500 and ε = .3 most estimates are infinite, and designs made for them alone cost more."""
    from discreet.design import label

    infinite, old, new = 0, [], []
    chance = np.random.default_rng(11)
    for run in range(25):
        X, _ = data(500, seed=run)
        beta = np.array([chance.choice([-2.0, 0.0, 2.0]), 0.8])
        y = (chance.random(500) < 1 / (1 + np.exp(-X @ beta))).astype(np.uint8)
        done = label_with_pilot(y, X, 0.3, 0.02, randomness=Randomness.seeded(run))
        infinite += not done.fit.converged
        best = label(0.3, 0.02, X, beta).objective
        alone = label(0.3, 0.02, X, done.fit.coefficients).mechanism
        for mechanism, regrets in ((alone, old), (done.design.mechanism, new)):
            regrets.append(criterion_of(mechanism, X, beta) / best - 1)
        named = "is no finite maximum" if not done.fit.converged else "is finite"
        assert named in done.summary()
        assert named in done.to_dict()["basis"]
        assert done.to_dict()["estimate_is_finite"] == done.fit.converged
    assert infinite >= 13
    assert np.mean(new) < 0.7 * np.mean(old)


def criterion_of(mechanism, X, beta):
    """A of one answer at the true coefficients, written out."""
    p00, p11 = float(mechanism.p00), float(mechanism.p11)
    pi = 1 / (1 + np.exp(-X @ beta))
    q = 1 - p00 + (p00 + p11 - 1) * pi
    Z = X / np.where(X.std(axis=0) > 0, X.std(axis=0), 1)
    weights = ((p00 + p11 - 1) * pi * (1 - pi)) ** 2 / (q * (1 - q))
    return np.trace(np.linalg.inv((Z * weights[:, None]).T @ Z / len(Z)))


def test_the_average_is_smallest_at_a_corner():
    """No design on the tight edges has a smaller average log criterion over the draws."""
    from discreet.design.private_labels.pilot_sample import label_on_average

    X, _ = data(200)
    draws = np.random.default_rng(5).normal([-1, 0.5], 1.5, (30, 2))
    e, delta = math.exp(0.6), 0.15
    found = label_on_average(0.6, delta, X, draws)
    own = np.mean([np.log(criterion_of(found.mechanism, X, beta)) for beta in draws])

    class Point:
        def __init__(self, p00, p11):
            self.p00, self.p11 = p00, p11

    for p11 in np.linspace(delta, (e + delta) / (e + 1), 25):
        p00 = min(1.0, 1 - (p11 - delta) / e)
        for point in (Point(p00, p11), Point(p11, p00)):
            assert own <= np.mean([np.log(criterion_of(point, X, beta)) for beta in draws]) + 1e-7


def test_a_large_pilot_leaves_little_open():
    """The draws narrow to the estimate, with its covariance."""
    from discreet.design.private_labels.pilot_sample import plausible

    X, y = data(200_000, seed=6)
    keep = math.e / (1 + math.e)
    reports = design.binary(1.0).mechanism.privatize(y, Randomness.seeded(6))
    fit = estimate.binary_regression(X, reports, keep, keep)
    draws = plausible(fit, 4000)
    assert np.allclose(draws.mean(axis=0), fit.coefficients, atol=0.2 * fit.std_error.max())
    assert np.allclose(draws.std(axis=0), fit.std_error, rtol=0.1)
