"""The corrected loss, its gradient and its second derivatives have the expectation that they must have."""

from __future__ import annotations

import numpy as np
import pytest

from .worlds import FAMILIES, independent, loss_of, model_rows, parameters, together


def plain(family, truth, theta):
    """Loss, gradient and second derivatives if the truth were known."""
    X = model_rows(truth[None, :])
    _, transform = family.parameters(("Intercept", "w", "a", "b2", "b3", "a:w"))
    full = theta if transform is None else transform @ theta
    B = full.reshape(family.predictors, -1)
    known = family.statistics(np.array([[float(truth[2])]]), np.ones((1, 1, 1)))
    f, first, second = family.terms((X @ B.T)[:, None], known)
    gradient = np.einsum("k,p->kp", first[0, 0], X[0]).ravel()
    hessian = np.einsum("kl,p,q->kplq", second[0, 0], X[0], X[0]).reshape(gradient.size, -1)
    if transform is not None:
        gradient, hessian = transform.T @ gradient, transform.T @ hessian @ transform
    return f[0, 0], gradient, hessian


@pytest.mark.parametrize("world", [independent, together])
@pytest.mark.parametrize("name", FAMILIES)
def test_expectation_over_all_reports_is_the_loss_of_the_truth(name, world):
    """Enumerated: every truth, every report, value and both derivatives, to rounding."""
    family = FAMILIES[name]
    randomisation, truths, chance = world(family)
    theta = parameters(family)
    for truth, weights in zip(truths, chance, strict=True):
        found = loss_of(family, randomisation, weights).moments(theta)
        value, gradient, hessian = plain(family, truth, theta)
        assert np.isclose(found.value, value, rtol=0, atol=1e-11)
        assert np.allclose(found.gradient, gradient, rtol=0, atol=1e-11)
        assert np.allclose(found.hessian, hessian, rtol=0, atol=1e-11)


def test_a_wrong_channel_is_noticed():
    """The enumeration has power: chances that are off by one in a hundred do not pass."""
    family = FAMILIES["logit"]
    randomisation, truths, chance = independent(family)
    theta = parameters(family)
    wrong = 0.99 * chance[3] + 0.01 / chance.shape[1]
    found = loss_of(family, randomisation, wrong).moments(theta)
    assert not np.allclose(found.gradient, plain(family, truths[3], theta)[1], atol=1e-4)


@pytest.mark.parametrize("name", FAMILIES)
def test_derivatives(name):
    """Gradient and second derivatives agree with differences; rows add up to the gradient."""
    family = FAMILIES[name]
    randomisation, _, chance = independent(family)
    risk = loss_of(family, randomisation, np.random.default_rng(1).random(chance.shape[1]) + 0.5)
    theta, step = parameters(family, 2), 1e-6
    here = risk.moments(theta)
    for j in range(theta.size):
        move = np.zeros(theta.size)
        move[j] = step
        up, down = risk.moments(theta + move), risk.moments(theta - move)
        assert np.isclose((up.value - down.value) / (2 * step), here.gradient[j], rtol=1e-6, atol=1e-8)
        assert np.allclose((up.gradient - down.gradient) / (2 * step), here.hessian[j], rtol=1e-5, atol=1e-7)
    weights = risk.sample.weights
    assert np.allclose(weights @ risk.row_scores(theta) / weights.sum(), here.gradient, rtol=0, atol=1e-12)
