"""The marginal likelihood of groups with an intercept of their own."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize

from discreet.estimate.regressions.likelihood.links import link_named
from discreet.estimate.regressions.likelihood.random_intercept import RandomInterceptModel, maximise_marginal
from discreet.estimate.regressions.likelihood.rows import Rows

LINKS = ["logit", "probit", "cloglog", "cauchit"]


def sample(groups=150, rows=5, theta=(-0.5, 0.8, 1.2), right=0.85, link="logit", seed=1):
    """Groups of rows, answered by Warner's design with this chance of a true report."""
    rng = np.random.default_rng(seed)
    n = groups * rows
    X = np.column_stack([np.ones(n), rng.normal(size=n)])
    eta = X @ theta[:-1] + theta[-1] * np.repeat(rng.normal(size=groups), rows)
    truth = rng.random(n) < link_named(link).probability(eta)
    report = np.where(rng.random(n) < right, truth, ~truth)
    design = np.array([[right, 1 - right], [1 - right, right]])
    made = report.astype(np.uint8)
    held = Rows(X, made, design[:, :, None], given_no=design[0, made], given_yes=design[1, made])
    return RandomInterceptModel(
        rows=held,
        starts=np.arange(0, n, rows),
        link=link_named(link),
    )


def integrated(model, theta):
    """The log-likelihood group by group with a general integrator, from the definition."""
    total = 0.0
    for first, last in zip(model.starts, [*model.starts[1:], model.rows.X.shape[0]], strict=True):
        rows = slice(first, last)

        def integrand(u, rows=rows):
            yes = model.link.probability(model.rows.X[rows] @ theta[:-1] + theta[-1] * u)
            return np.prod(model.rows.given_no[rows] * (1 - yes) + model.rows.given_yes[rows] * yes) * math.exp(
                -u * u / 2
            )

        total += math.log(quad(integrand, -12, 12, epsabs=1e-13, points=[0.0])[0] / math.sqrt(2 * math.pi))
    return total


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("sigma", [0.0, 0.4, 3.0])
def test_the_likelihood_is_the_integral(link, sigma):
    """Against a general integrator, for small and large spreads."""
    model = sample(groups=12, link=link).with_nodes(255)
    theta = np.array([-0.3, 0.6, sigma])
    assert model.value_and_slope(theta)[0] == pytest.approx(integrated(model, theta), abs=1e-5)


@pytest.mark.parametrize("link", LINKS)
def test_the_gradient_is_that_of_the_likelihood(link):
    """Against central differences."""
    model, theta = sample(groups=40, link=link).with_nodes(63), np.array([-0.2, 0.5, 0.9])
    slope = model.value_and_slope(theta)[1]
    for j in range(3):
        step = np.zeros(3)
        step[j] = 1e-5
        difference = model.value_and_slope(theta + step)[0] - model.value_and_slope(theta - step)[0]
        assert slope[j] == pytest.approx(difference / 2e-5, rel=1e-5, abs=1e-5)


def test_the_maximum_agrees_with_a_plain_quadrature_of_many_points():
    """Nodes that do not move, another optimiser: the same to five digits."""
    model = sample()
    points, weights = np.polynomial.hermite.hermgauss(90)

    def plain(theta):
        fixed = model.rows.X @ theta[:-1]
        value = np.zeros(model.groups)
        for z, w in zip(points, weights, strict=True):
            yes = model.link.probability(fixed + theta[-1] * math.sqrt(2) * z)
            made = np.log(model.rows.given_no * (1 - yes) + model.rows.given_yes * yes)
            value += w / math.sqrt(math.pi) * np.exp(np.add.reduceat(made, model.starts))
        return -np.log(value).sum()

    reference = minimize(plain, [0.0, 0.0, 1.0], method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-10})
    found = maximise_marginal(model, np.zeros(2))
    assert found.converged
    assert found.quadrature_error < 1e-6
    np.testing.assert_allclose(found.theta, [*reference.x[:2], abs(reference.x[2])], rtol=1e-5)
    assert found.value == pytest.approx(-reference.fun, abs=1e-6)


def test_the_truth_is_within_its_error_bars():
    """Eight samples: the squared distance in units of the information is χ² with 24 degrees of freedom."""
    truth, distance = np.array([-0.5, 0.8, 1.2]), 0.0
    for seed in range(8):
        found = maximise_marginal(sample(groups=200, seed=100 + seed), np.zeros(2))
        distance += float((found.theta - truth) @ found.information @ (found.theta - truth))
    assert 3 < distance < 90  # chances of about 1e-9 below and above


def test_the_intercepts_of_groups_shrink_towards_zero():
    """Their means have a smaller spread than σ, and go with the share of "yes" in the group."""
    model = sample(groups=200, rows=8)
    found = maximise_marginal(model, np.zeros(2))
    mean, deviation = found.model.effects(found.theta)
    assert 0.2 < mean.std() < found.theta[-1]
    assert (deviation < found.theta[-1]).all()
    said_yes = np.add.reduceat(model.rows.given_yes > model.rows.given_no, model.starts)
    assert np.corrcoef(mean, said_yes)[0, 1] > 0.8


def quadrature_of_groups(model, theta):
    """Every group's log-likelihood by a plain sum over many points, from the definition."""
    fixed, points = model.rows.X @ theta[:-1], np.linspace(-9, 9, 2001)
    density = np.exp(-(points**2) / 2) / math.sqrt(2 * math.pi) * (points[1] - points[0])
    yes = model.link.probability(fixed[:, None] + theta[-1] * points)
    made = np.log(model.rows.given_no[:, None] * (1 - yes) + model.rows.given_yes[:, None] * yes)
    return np.log(np.exp(np.add.reduceat(made, model.starts, axis=0)) @ density)


def test_weights_of_groups_are_those_of_their_log_likelihoods():
    """Weighted values and scores of groups against a plain sum and its differences."""
    plain, theta = sample(groups=30).with_nodes(63), np.array([-0.2, 0.5, 0.9])
    weights = np.random.default_rng(3).uniform(0.2, 3, 30)
    model = replace(plain, weights=weights)
    assert model.value_and_slope(theta)[0] == pytest.approx(weights @ quadrature_of_groups(plain, theta), abs=1e-8)
    scores = model.group_scores(theta)
    np.testing.assert_allclose(scores.sum(axis=0), model.value_and_slope(theta)[1], atol=1e-10)
    for j in range(3):
        step = np.zeros(3)
        step[j] = 1e-5
        change = quadrature_of_groups(plain, theta + step) - quadrature_of_groups(plain, theta - step)
        np.testing.assert_allclose(scores[:, j], weights * change / 2e-5, atol=1e-6)


def test_a_weight_of_two_is_the_group_twice():
    """The weighted maximum is that of a sample in which groups are repeated."""
    once = sample(groups=80)
    twice = np.arange(80) % 3 == 0
    rows = np.concatenate([np.arange(400), np.flatnonzero(np.repeat(twice, 5))])
    repeated = RandomInterceptModel(rows=once.rows.take(rows), starts=np.arange(0, rows.size, 5), link=once.link)
    weighted = maximise_marginal(replace(once, weights=np.where(twice, 2.0, 1.0)), np.zeros(2))
    found = maximise_marginal(repeated, np.zeros(2))
    np.testing.assert_allclose(weighted.theta, found.theta, atol=1e-5)
    np.testing.assert_allclose(weighted.information, found.information, rtol=1e-4)
