"""The corrected loss, its gradient and its second derivatives have the expectation that they must have."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from discreet.estimate.regressions.model import needed_parts

from .worlds import FAMILIES, independent, loss_of, model_rows, outcome_size, parameters, together, with_blank


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
    randomisation, reports, truths, chance = world(family)
    theta = parameters(family)
    for truth, weights in zip(truths, chance, strict=True):
        found = loss_of(family, randomisation, reports, weights).moments(theta)
        value, gradient, hessian = plain(family, truth, theta)
        assert np.isclose(found.value, value, rtol=0, atol=1e-11)
        assert np.allclose(found.gradient, gradient, rtol=0, atol=1e-11)
        assert np.allclose(found.hessian, hessian, rtol=0, atol=1e-11)


@pytest.mark.parametrize("name", ["linear", "logit", "multinomial", "probit"])
def test_a_blank_truth_weighs_nothing(name):
    """Enumerated: the loss of those who have an answer, and zero for those who have none."""
    family = FAMILIES[name]
    randomisation, reports, truths, chance = with_blank(family)
    theta = parameters(family)
    for truth, weights in zip(truths, chance, strict=True):
        found = loss_of(family, randomisation, reports, weights).moments(theta)
        blank = truth[2] == outcome_size(family)
        value, gradient, hessian = plain(family, truth % [2, 3, outcome_size(family)], theta)
        assert np.isclose(found.value, 0 if blank else value, rtol=0, atol=1e-10)
        assert np.allclose(found.gradient, 0 if blank else gradient, rtol=0, atol=1e-10)
        assert np.allclose(found.hessian, 0 if blank else hessian, rtol=0, atol=1e-10)


def test_a_blank_predictor_needs_everything_together():
    """Whether an answer is there is one more factor of every part of the loss."""
    family = FAMILIES["logit"]
    randomisation, _, _, _ = together(family)
    whole = frozenset({0, 1, 2})
    assert not needed_parts((0, 1), family.curvature, randomisation)(whole)
    first = replace(randomisation.columns[0], blank=True)
    blank = replace(randomisation, columns=(first, *randomisation.columns[1:]))
    assert needed_parts((0, 1), family.curvature, blank)(whole)


def test_a_wrong_channel_is_noticed():
    """The enumeration has power: chances that are off by one in a hundred do not pass."""
    family = FAMILIES["logit"]
    randomisation, reports, truths, chance = independent(family)
    theta = parameters(family)
    wrong = 0.99 * chance[3] + 0.01 / chance.shape[1]
    found = loss_of(family, randomisation, reports, wrong).moments(theta)
    assert not np.allclose(found.gradient, plain(family, truths[3], theta)[1], atol=1e-4)


@pytest.mark.parametrize("name", FAMILIES)
def test_derivatives(name):
    """Gradient and second derivatives agree with differences; rows add up to the gradient."""
    family = FAMILIES[name]
    randomisation, reports, _, chance = independent(family)
    risk = loss_of(family, randomisation, reports, np.random.default_rng(1).random(chance.shape[1]) + 0.5)
    theta, step = parameters(family, 2), 1e-6
    here = risk.moments(theta)
    for j in range(theta.size):
        move = np.zeros(theta.size)
        move[j] = step
        up, down = risk.moments(theta + move), risk.moments(theta - move)
        assert np.isclose((up.value - down.value) / (2 * step), here.gradient[j], rtol=1e-6, atol=1e-8)
        assert np.allclose((up.gradient - down.gradient) / (2 * step), here.hessian[j], rtol=1e-5, atol=1e-7)
    weights = risk.only.sample.weights
    assert np.allclose(weights @ risk.row_scores(theta) / weights.sum(), here.gradient, rtol=0, atol=1e-12)
