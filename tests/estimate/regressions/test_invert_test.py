"""Intervals by score tests: against a search of another kind, and what they do where rows say little."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq, minimize

from discreet.estimate.regressions.invert_test import ScoreSearch, standing

Z = 1.959963984540054


def counts(n=150):
    """Poisson regression on three columns, nothing hidden: its scores and their information at any θ."""
    rng = np.random.default_rng(1)
    x = np.c_[rng.beta(1, 4, n), rng.uniform(-1, 1, n), np.ones(n)]
    y = rng.poisson(np.exp(x @ [0.6, -0.5, 0.2]))

    def at(theta):
        mean = np.exp(x @ theta)
        rows = x * (y - mean)[:, None]
        return standing(theta, rows.sum(axis=0), rows.T @ rows, (x * mean[:, None]).T @ x)

    start = np.zeros(3)
    for _ in range(30):
        here = at(start)
        start = start + np.linalg.solve(here.information, here.total)
    return at, start, np.linalg.inv(at(start).information)


def test_the_ends_are_where_the_least_statistic_passes_the_quantile():
    """The others at their best by a simplex search, the end by small steps and bisection; standard errors differ."""
    at, start, covariance = counts()
    found = ScoreSearch(at, start, covariance).intervals(Z)
    for j in range(3):
        free = [k for k in range(3) if k != j]
        error = math.sqrt(covariance[j, j])

        def root(b, j=j, free=free):
            def q(rest):
                theta = np.empty(3)
                theta[j], theta[free] = b, rest
                return at(theta).q

            best = minimize(q, start[free], method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-8}).fun
            return math.sqrt(best) - Z

        for side, end in zip((-1, 1), found[j], strict=True):
            steps = start[j] + side * error * np.arange(0.0, 8.0, 0.2)
            outside = next(b for b in steps if root(b) > 0)  # the first outward
            expected = brentq(root, outside - side * 0.2 * error, outside, xtol=1e-5)
            assert abs(end - expected) < 0.04 * error
    wald = start[:, None] + Z * np.sqrt(np.diag(covariance))[:, None] * [-1, 1]
    assert np.abs(found - wald).max() > 0.2 * np.sqrt(np.diag(covariance)).min()


def test_an_end_is_infinite_where_nothing_is_rejected():
    """Scores that stop falling: the test never rejects large values, and the other end is finite."""
    rng = np.random.default_rng(2)
    own = rng.normal(0.15, 1.0, 100)

    def at(theta):
        rows = own - math.tanh(theta[0]) * (0.25 if theta[0] > 0 else 1.0)
        return standing(theta, rows.sum(keepdims=True), np.array([[rows @ rows]]), np.array([[100.0]]))

    low, high = ScoreSearch(at, np.array([0.1]), np.array([[0.01]])).intervals(Z)[0]
    assert math.isfinite(low)
    assert high == math.inf


def test_where_everything_is_rejected_there_is_no_interval():
    """Scores whose mean is zero nowhere."""

    def at(theta):
        rows = np.linspace(2, 4, 50)
        return standing(theta, rows.sum(keepdims=True), np.array([[rows @ rows]]), np.array([[50.0]]))

    assert np.isnan(ScoreSearch(at, np.zeros(1), np.eye(1)).intervals(Z)).all()


@pytest.mark.parametrize("broken", ["rows", "information", "one direction"])
def test_what_is_not_defined_is_rejected(broken):
    """Scores that are not finite, or that all lie in one direction, stand at infinity and raise no error."""
    rows = np.random.default_rng(3).normal(size=(20, 2))
    information = np.eye(2)
    if broken == "rows":
        rows[0, 0] = math.nan
    elif broken == "information":
        information = np.full((2, 2), math.inf)
    else:
        rows[:, 1] = rows[:, 0]
    assert standing(np.zeros(2), rows.sum(axis=0), rows.T @ rows, information).q == math.inf
